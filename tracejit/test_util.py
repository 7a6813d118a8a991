"""Checks for users' own functions: derivatives against finite differences, counts of traces."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.api.autodiff.derivatives import jvp, vjp
from tracejit.docstrings import complete as _complete
from tracejit.interpreters.jit import Compiled
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import is_elsewhere, to_host
from tracejit.lazily import LazyModule

_eager: Any = LazyModule("tracejit.interpreters.jit_cuda.eager")
_EPS = {4: 1e-2, 8: 1e-5, 2: 1e-1}


def _random_like(x: Any, rng: np.random.Generator) -> Any:
    a = to_host(x)
    d = dtypes.tangent_dtype(aval_of(x).dtype)
    if d == dtypes.float0:
        return np.zeros(a.shape, dtypes.float0)
    v = rng.standard_normal(a.shape)
    if d.kind == "c":
        v = v + 1j * rng.standard_normal(a.shape)
    return np.asarray(v).astype(d)[()]


def _call(f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """`f` of copies of the arguments, since it may update them."""
    copied = tree.map(lambda x: x.copy() if isinstance(x, np.ndarray) or is_elsewhere(x) else x, tuple(args))
    return f(*copied)


def numerical_jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], eps: float) -> Any:
    """The central difference quotient of `f` along `tangents` (step `eps`)."""

    def shifted(sign: float) -> Any:
        return _call(f, tree.map(lambda x, t: _step(x, t, sign * eps), tuple(primals), tuple(tangents)))

    return tree.map(lambda a, b: (to_host(a) - to_host(b)) / (2 * eps), shifted(1.0), shifted(-1.0))


def _step(x: Any, t: Any, eps: float) -> Any:
    if np.asarray(t).dtype == dtypes.float0:
        return x
    a = to_host(x)
    moved = np.add(a, np.multiply(t, eps)).astype(a.dtype)[()]
    return _eager.beside(x, moved) if is_elsewhere(x) else moved


def _pairs(xs: Any, ys: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The leaves of two trees, on the host, but for those of integers' derivatives."""
    for x, y in zip(map(to_host, tree.leaves(xs)), map(to_host, tree.leaves(ys)), strict=True):
        if dtypes.float0 not in (x.dtype, y.dtype):
            yield x, y


def _inner(xs: Any, ys: Any) -> float:
    total = 0.0
    for x, y in _pairs(xs, ys):
        total += float(np.real(np.sum(x * y)))
    return total


def _close(a: Any, b: Any, atol: float, rtol: float, what: str) -> None:
    for x, y in _pairs(a, b):
        np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, err_msg=what)


def check_jvp(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    atol: float = 1e-5,
    rtol: float = 1e-5,
    eps: float | None = None,
) -> None:
    """Compare `jvp` of `f` at `args` with central differences along a random direction.

    Raises AssertionError when they differ by more than the tolerances.
    """
    rng = np.random.default_rng(0)
    tangents = tree.map(lambda x: _random_like(x, rng), tuple(args))
    out, out_t = jvp(f, tuple(args), tangents)
    _close(out, _call(f, args), 1e-9, 1e-6, "the value under jvp")
    _close(out_t, numerical_jvp(f, args, tangents, eps or _default_eps(args)), atol, rtol, "jvp")


def check_vjp(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    atol: float = 1e-5,
    rtol: float = 1e-5,
    eps: float | None = None,
) -> None:
    """Compare `vjp` of `f` at `args` with central differences: <ct, J t> == <J^T ct, t>.

    Raises AssertionError when they differ by more than the tolerances.
    """
    rng = np.random.default_rng(1)
    tangents = tree.map(lambda x: _random_like(x, rng), tuple(args))
    out, pullback = vjp(f, *args)
    cts = tree.map(lambda x: _random_like(x, rng), out)
    numeric = numerical_jvp(f, args, tangents, eps or _default_eps(args))
    left, right = _inner(numeric, cts), _inner(tangents, pullback(cts))
    np.testing.assert_allclose(left, right, atol=atol, rtol=rtol, err_msg="vjp")


def _default_eps(args: Sequence[Any]) -> float:
    sizes = [dtypes.real_part_dtype(to_host(x).dtype).itemsize for x in tree.leaves(tuple(args))]
    return _EPS[min((s for s in sizes if s in _EPS), default=8)]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float = 1e-5,
    rtol: float = 1e-5,
    eps: float | None = None,
) -> None:
    """Check derivatives of `f` at `args` against finite differences, up to `order`, in every mix of `modes`.

    `args` is a sequence of (trees of) arrays; integers count as constants.
    Raises AssertionError when a derivative is wrong.
    """
    args = tuple(args)
    if "fwd" in modes:
        check_jvp(f, args, atol=atol, rtol=rtol, eps=eps)
        if order > 1:
            check_grads(_forward(f, args), args, order - 1, modes, atol, rtol, eps)
    if "rev" in modes:
        check_vjp(f, args, atol=atol, rtol=rtol, eps=eps)
        if order > 1:
            check_grads(_reverse(f, args), args, order - 1, modes, atol, rtol, eps)


def _forward(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    rng = np.random.default_rng(2)
    tangents = tree.map(lambda x: _random_like(x, rng), args)
    return lambda *xs: jvp(f, xs, tangents)[1]


def _reverse(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    rng = np.random.default_rng(3)
    cts = tree.map(lambda x: _random_like(x, rng), _call(f, args))

    def pulled(*xs: Any) -> Any:
        cotangents = vjp(f, *xs)[1](cts)
        return [c for c in tree.leaves(cotangents) if c.dtype != dtypes.float0]

    return pulled


class Count:
    """How often something happened since; `int(count)` and `count.value` say it at any moment."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._before = now()

    @property
    def value(self) -> int:
        return self._now() - self._before

    def __int__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Count({self.value})"


@contextlib.contextmanager
def count_compiles() -> Iterator[Count]:
    """Counts the programs that are compiled inside the block, in all threads: `with count_compiles() as n`."""
    yield Count(lambda: Compiled.count)


@contextlib.contextmanager
def assert_max_compiles(count: int) -> Iterator[Count]:
    """Inside the block at most `count` programs may be compiled, in all threads.

    Raises AssertionError at the end of the block otherwise.
    """
    with count_compiles() as compiled:
        yield compiled
    n = compiled.value
    assert n <= count, f"{n} programs were compiled, at most {count} were expected"


@contextlib.contextmanager
def assert_max_traces(jitted: Any, count: int) -> Iterator[None]:
    """Inside the block, `jitted` (made by `jit`) may be traced at most `count` times.

    Raises AssertionError at the end of the block otherwise.
    """
    before = jitted.trace_count
    yield
    traced = jitted.trace_count - before
    why = "".join(f"\n  {reason}" for reason in list(jitted.retraces)[-traced:]) if traced else ""
    assert traced <= count, f"{jitted!r} was traced {traced} times, at most {count} were expected{why}"


_complete(__name__)
