"""Checks of derivative rules: forward against differences, reverse against forward, second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.interpreters.autodiff.linearize import linearize_flat
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.interpreters.vmap import batch_flat
from tracejit.ir.values import is_zero


def jvp(fn: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The tangent of `fn` (raw values to one raw value), zeros made real."""
    outs, ts = jvp_flat(lambda *xs: [fn(*xs)], list(primals), list(tangents))
    return np.zeros(np.shape(outs[0]), outs[0].dtype) if is_zero(ts[0]) else ts[0]


def vjp(fn: Callable[..., Any], primals: Any, ct: Any) -> list[Any]:
    """The cotangents of all operands."""
    _, tape = linearize_flat(lambda *xs: [fn(*xs)], list(primals), [True] * len(primals))
    cts = pull_back(tape, [ct])
    return [
        np.zeros(np.shape(x), np.asarray(x).dtype) if is_zero(c) else c
        for c, x in zip(cts, primals, strict=True)
    ]


def vmap(fn: Callable[..., Any], args: Any, dims: Any, size: int) -> Any:
    """`fn` on batched arguments, the batch axis of the result at 0."""
    outs, out_dims = batch_flat(lambda *xs: [fn(*xs)], size, list(args), list(dims))
    return outs[0] if out_dims[0] is None else np.moveaxis(outs[0], out_dims[0], 0)


def directions(rng: np.random.Generator, xs: Any) -> list[Any]:
    """Random tangents of the types of `xs`."""
    out = []
    for x in xs:
        t = rng.standard_normal(np.shape(x))
        if np.asarray(x).dtype.kind == "c":
            t = t + 1j * rng.standard_normal(np.shape(x))
        out.append(np.asarray(t, np.asarray(x).dtype)[()])
    return out


def pair(a: Any, b: Any) -> float:
    """The pairing Re(sum a b) that transposes preserve."""
    return float(np.real(np.sum(np.asarray(a) * np.asarray(b))))


def check_first(fn: Callable[..., Any], xs: Any, rng: np.random.Generator, tolerance: float = 1e-6) -> None:
    """jvp against central differences, vjp against jvp."""
    ts = directions(rng, xs)
    h = 1e-6
    plus = fn(*(x + h * t for x, t in zip(xs, ts, strict=True)))
    minus = fn(*(x - h * t for x, t in zip(xs, ts, strict=True)))
    tangent = jvp(fn, xs, ts)
    assert np.shape(tangent) == np.shape(plus)
    np.testing.assert_allclose(tangent, (plus - minus) / (2 * h), rtol=tolerance, atol=tolerance)
    (ct,) = directions(rng, [tangent])
    back = vjp(fn, xs, ct)
    for x, c in zip(xs, back, strict=True):
        assert np.shape(c) == np.shape(x) and np.asarray(c).dtype == np.asarray(x).dtype
    total = sum(pair(c, t) for c, t in zip(back, ts, strict=True))
    np.testing.assert_allclose(total, pair(ct, tangent), rtol=1e-9, atol=1e-9)


def check_derivatives(
    fn: Callable[..., Any], xs: Any, rng: np.random.Generator, tolerance: float = 1e-6
) -> None:
    """First order, and first order of the jvp and of the vjp."""
    check_first(fn, xs, rng, tolerance)
    ts = directions(rng, xs)
    check_first(
        lambda *ys: jvp_flat(lambda *zs: [fn(*zs)], list(ys), ts)[1][0], xs, rng, tolerance
    ) if _varies(fn, xs, ts) else None
    (ct,) = directions(rng, [fn(*xs)])

    def gradient(*ys: Any) -> Any:
        _, tape = linearize_flat(lambda *zs: [fn(*zs)], list(ys), [True] * len(ys))
        return pull_back(tape, [ct])[0]

    if not is_zero(gradient(*xs)):
        check_first(gradient, xs, rng, tolerance)


def _varies(fn: Callable[..., Any], xs: Any, ts: Any) -> bool:
    return not is_zero(jvp_flat(lambda *zs: [fn(*zs)], list(xs), ts)[1][0])
