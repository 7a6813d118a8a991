"""Checks of a function of arrays against plain NumPy code, under every transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax, tree
from tracejit.api.autodiff.derivatives import grad, jvp
from tracejit.api.batching import vmap


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar function of the floating outputs of `f`, curved so that second derivatives are seen."""

    def scalar(*args: Any) -> Any:
        total: Any = 0.0
        for n, x in enumerate(tree.leaves(f(*args))):
            if np.issubdtype(x.dtype, np.floating):
                weights = np.cos(1.0 + n + np.arange(np.size(np.empty(x.shape)))).reshape(x.shape)
                y = (
                    lax.mul(weights, lax.mul(x, lax.add(x, lax.full(x.shape, 0.3))))
                    if x.ndim
                    else x * (x + 0.3)
                )
                total = total + (lax.reduce_sum(y, tuple(range(x.ndim))) if x.ndim else y)
        return total

    return scalar


def numeric_grad(f: Callable[..., Any], args: tuple[Any, ...], n: int, eps: float = 1e-6) -> np.ndarray:
    """Central differences with respect to argument `n`."""
    out = np.zeros(np.shape(args[n]))
    for k in np.ndindex(out.shape):
        values = []
        for sign in (1, -1):
            moved = [np.array(a) for a in args]
            moved[n][k] += sign * eps
            values.append(float(f(*moved)))
        out[k] = (values[0] - values[1]) / (2 * eps)
    return out


def close(a: Any, b: Any, tol: float = 1e-9) -> None:
    """Equal trees up to rounding, in structure, shapes and dtypes."""
    xs, s = tree.flatten(a)
    ys, t = tree.flatten(b)
    assert s == t
    for x, y in zip(xs, ys, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tol, atol=tol)


def check(
    f: Callable[..., Any],
    oracle: Callable[..., Any],
    *args: Any,
    wrt: tuple[int, ...] | None = None,
    forward: bool = True,
    second: bool = True,
    batched: bool = True,
    run: Callable[[Any], Any] = lambda g: g,
) -> None:
    """Values, derivatives to second order, and vmap of all of them; `run` may jit."""
    close(run(f)(*args), oracle(*args))
    args = tuple(np.asarray(a)[()] for a in args)
    which = (
        wrt if wrt is not None else tuple(n for n, a in enumerate(args) if np.asarray(a).dtype.kind == "f")
    )
    if not which:
        return
    scalar, plain = weighted(f), weighted(oracle)
    expected = [numeric_grad(plain, args, n) for n in which]
    found = run(grad(scalar, which))(*args)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
    _check_forward(scalar, args, which, expected, forward, run)
    if second:
        _check_second(scalar, args, which, forward, run)
    if batched:
        _check_batched(f, scalar, args, which, run)


def _directions(args: tuple[Any, ...], which: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=np.shape(args[n])) for n in which]


def _on(g: Callable[..., Any], args: tuple[Any, ...], which: tuple[int, ...]) -> Callable[..., Any]:
    """`g` as a function of the arguments in `which`."""

    def call(*some: Any) -> Any:
        full = list(args)
        for n, x in zip(which, some, strict=True):
            full[n] = x
        return g(*full)

    return call


def _check_forward(scalar: Any, args: Any, which: Any, expected: Any, forward: bool, run: Any) -> None:
    if not forward:
        return
    vs = _directions(args, which)
    ps = tuple(args[n] for n in which)
    _, t = run(lambda: jvp(_on(scalar, args, which), ps, tuple(np.asarray(v)[()] for v in vs)))()
    np.testing.assert_allclose(
        t, sum(np.sum(e * v) for e, v in zip(expected, vs, strict=True)), rtol=1e-5, atol=1e-6
    )


def _check_second(scalar: Any, args: Any, which: Any, forward: bool, run: Any) -> None:
    """grad of (grad . v), and the jvp of grad, against differences of grad."""
    vs = _directions(args, which)
    first = _on(grad(scalar, which), args, which)
    positions = tuple(range(len(which)))

    def along(*some: Any) -> Any:
        gs = first(*some)
        terms = [np.sum(g * v) for g, v in zip(gs, vs, strict=True)]
        return sum(terms[1:], terms[0])

    ps = tuple(args[n] for n in which)
    eps = 1e-6
    plus = first(*(np.asarray(p + eps * v)[()] for p, v in zip(ps, vs, strict=True)))
    minus = first(*(np.asarray(p - eps * v)[()] for p, v in zip(ps, vs, strict=True)))
    expected = [(np.asarray(a) - np.asarray(b)) / (2 * eps) for a, b in zip(plus, minus, strict=True)]
    reverse = run(grad(along, positions))(*ps)
    for x, y in zip(reverse, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    if forward:
        _, ts = run(lambda: jvp(first, ps, tuple(np.asarray(v)[()] for v in vs)))()
        for x, y in zip(ts, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def _check_batched(f: Any, scalar: Any, args: Any, which: Any, run: Any) -> None:
    """vmap over all floating arguments, and over the first only, against a loop."""
    rng = np.random.default_rng(3)
    for mapped in {which, which[:1]}:
        lanes = {
            n: np.stack([args[n] + 0.1 * rng.normal(size=np.shape(args[n])) for _ in range(3)])
            for n in mapped
        }
        axes = tuple(0 if n in mapped else None for n in range(len(args)))
        full = [lanes.get(n, a) for n, a in enumerate(args)]
        rows = [[lanes[n][k] if n in mapped else a for n, a in enumerate(args)] for k in range(3)]
        loop = [f(*row) for row in rows]
        close(run(vmap(f, axes))(*full), tree.map(lambda *xs: np.stack(xs), *loop))
        gs = [grad(scalar, which)(*row) for row in rows]
        expected = tree.map(lambda *xs: np.stack(xs), *gs)
        close(run(vmap(grad(scalar, which), axes))(*full), expected, 1e-7)
        outer = run(grad(lambda *xs, axes=axes: lax.reduce_sum(vmap(scalar, axes)(*xs), (0,)), which))(*full)
        for n, got, rows_ in zip(which, outer, expected, strict=True):
            np.testing.assert_allclose(got, rows_ if n in mapped else rows_.sum(0), rtol=1e-7, atol=1e-9)
