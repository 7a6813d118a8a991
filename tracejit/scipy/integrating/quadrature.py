"""SciPy's names for integrals of functions (`adaptive`), for any limits, with 21 points in finite intervals and 15 in
infinite ones, as QUADPACK has them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.scipy.integrating.adaptive import How, Integrand, adaptive
from tracejit.scipy.integrating.gauss_kronrod import RULE15, RULE21
from tracejit.scipy.solving import ask, scalar
from tracejit.tracing import Box, box, call_user, to_raw

#: Intervals that there is room for, at most.
MOST = 500


# ---------------------------------------------------------------- limits


def integral(f: Integrand, a: Any, b: Any, how: How, points: Any = None) -> tuple[Any, Any]:
    """The integral of `f` and its error, for any limits; the larger of it and of those of `f`."""
    low, high = _limit(a), _limit(b)
    if points is not None and not (low or high):
        return _finite(f, a, b, how, points)
    if not (low or high):
        return _finite(f, a, b, how, ())
    if points is not None:
        raise SolverOptionError(
            function="quad", problem="points and an infinite limit", remedy="split the interval"
        )
    if low and high:
        if low == high:
            return tnp.asarray(0.0), tnp.asarray(0.0)
        value, error = _half_line(lambda x: _both(f, x), 0.0, 1, how)
        return (value, error) if low < 0 else (-value, error)
    start, side = (b, low) if low else (a, high)
    value, error = _half_line(f, tnp.asarray(start).astype(float), side, how)
    # From a to +inf, or from -inf to b, what was summed is the integral; the other way about, minus it.
    return (value, error) if (side > 0) == (not low) else (-value, error)


def _both(f: Integrand, x: Any) -> tuple[Any, Any]:
    (left, e), (right, d) = f(-x), f(x)
    return left + right, tnp.maximum(e, d)


def _limit(x: Any) -> int:
    """-1 or 1 for an infinite limit, else 0. What is infinite must be known; a traced limit that is fails."""
    raw = to_raw(x)
    if isinstance(raw, Value):
        fail_if(to_raw(tnp.isinf(x)), SolverFailedError, "A traced limit of an integral is infinite.")
        return 0
    return int(np.sign(raw)) if np.isinf(raw) else 0


def _finite(f: Integrand, a: Any, b: Any, how: How, points: Sequence[Any]) -> tuple[Any, Any]:
    a, b = (tnp.asarray(x).astype(float) for x in (a, b))
    if not len(points):
        edges: list[Any] = [0.0, 1.0]
    else:
        inner = tnp.stack([(tnp.asarray(p).astype(float) - a) / (b - a) for p in points])
        inner = tnp.sort(tnp.clip(lax.stop_gradient(inner), 0.0, 1.0))
        edges = [0.0, *inner, 1.0]

    def g(t: Any) -> tuple[Any, Any]:
        value, error = f(a + (b - a) * t)
        return (b - a) * value, error

    value, error, inner = adaptive(g, RULE21, edges, how)
    return value, tnp.maximum(error, inner)


def _half_line(f: Integrand, start: Any, side: int, how: How) -> tuple[Any, Any]:
    """By x = start + side (1 - t)/t (QUADPACK's QAGI)."""

    def g(t: Any) -> tuple[Any, Any]:
        value, error = f(start + side * ((1 - t) / t))
        return value / t / t, error

    value, error, inner = adaptive(g, RULE15, [0.0, 1.0], how)
    return value, tnp.maximum(error, inner)


# ---------------------------------------------------------------- SciPy's names


def _refuse(name: str, **options: Any) -> None:
    for option, value in options.items():
        if value is not None and value is not False and not (isinstance(value, (int, tuple)) and not value):
            raise SolverOptionError(function=name, problem=f"the option `{option}`", remedy="leave it away")


def of_numbers(func: Any, args: Any) -> Integrand:
    """The integrand of one of Python's numbers."""
    more = args if isinstance(args, tuple) else (args,)
    return lambda x: (scalar(ask(func, box(to_raw(x), True), *more)), np.float64(0))


def numbers(value: Any, error: Any) -> tuple[Any, Any]:
    return box(to_raw(value), True), box(to_raw(error), True)


def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8,
) -> tuple[Any, Any]:
    """The integral of `func(y, x, *args)` for x from `a` to `b`, and y from `gfun(x)` to `hfun(x)`, which may be
    numbers; see `quad`."""

    def inner(x: Any, *_: Any) -> list[Any]:
        return [ask(g, x) if callable(g) else g for g in (gfun, hfun)]

    return nquad(func, [inner, [a, b]], args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8,
) -> tuple[Any, Any]:
    """The integral of `func(z, y, x, *args)`; see `dblquad`."""

    def inner(y: Any, x: Any, *_: Any) -> list[Any]:
        return [ask(g, x, y) if callable(g) else g for g in (qfun, rfun)]

    def middle(x: Any, *_: Any) -> list[Any]:
        return [ask(g, x) if callable(g) else g for g in (gfun, hfun)]

    return nquad(func, [inner, middle, [a, b]], args, {"epsabs": epsabs, "epsrel": epsrel})


def nquad(
    func: Callable[..., Any], ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False
) -> tuple[Any, Any]:
    """The integral of `func(x0, ..., xn, *args)` over `ranges`, the first one innermost; see `quad`. `opts` may have
    `epsabs`, `epsrel`, `limit` and `points`, for all ranges or for each."""
    _refuse("nquad", full_output=full_output)
    more = () if args is None else (args if isinstance(args, tuple) else (args,))
    options = [opts or {}] * len(ranges) if opts is None or isinstance(opts, dict) else list(opts)
    if any(not isinstance(o, dict) or o.keys() - {"epsabs", "epsrel", "limit", "points"} for o in options):
        raise SolverOptionError(function="nquad", problem="these `opts`", remedy="give tolerances only")

    def at(depth: int, known: tuple[Any, ...]) -> tuple[Any, Any]:
        if depth < 0:
            return scalar(ask(func, *known, *more)), np.float64(0)
        span, o = ranges[depth], options[depth]
        low, high = ask(span, *known, *more) if callable(span) else span

        def inner(x: Any) -> tuple[Any, Any]:
            return at(depth - 1, (box(to_raw(x), True), *known))

        how = How(
            o.get("epsabs", 1.49e-8),
            o.get("epsrel", 1.49e-8),
            min(operator.index(o.get("limit", 50)), MOST),
            False,
        )
        return integral(inner, low, high, how, o.get("points"))

    return numbers(*at(len(ranges) - 1, ()))


def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: Any = 1e-200,
    epsrel: Any = 1e-8,
    norm: str = "2",
    cache_size: Any = 100e6,
    limit: int = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> tuple[Any, Any]:
    """The integral of `f(x, *args)`, which gives an array, and an estimate of the norm of its error.

    Raises SolverOptionError for `full_output`, another `norm` than "2" and another `quadrature` than "gk21", and
    SolverFailedError where 500 intervals are not enough."""
    _refuse("quad_vec", full_output=full_output)
    if norm != "2" or quadrature not in (None, "gk21") or workers != 1:
        raise SolverOptionError(
            function="quad_vec", problem="this norm, rule or pool", remedy="leave it away"
        )
    more = args if isinstance(args, tuple) else (args,)

    weak: list[bool] = []

    def values(x: Any) -> tuple[Any, Any]:
        out = ask(f, box(to_raw(x), True), *more)
        weak.append(type(out) is float or (type(out) is Box and out.weak is True))
        return tnp.asarray(out).astype(float), np.float64(0)

    room = min(operator.index(limit), MOST)
    value, error = integral(values, a, b, How(epsabs, epsrel, room, False), points)
    return box(to_raw(value), all(weak)), box(to_raw(error), True)


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """The integral of `func(x, *args)`, which takes a vector, by Gauss' rule of `n` points, and None."""
    nodes, weights = np.polynomial.legendre.leggauss(operator.index(n))
    a, b = tnp.asarray(a).astype(float)[()], tnp.asarray(b).astype(float)[()]
    for limit in (a, b):
        if _limit(limit):
            raise ValueError("Gaussian quadrature is only available for finite limits.")
    x = (b - a) * (nodes + 1) / 2.0 + a
    return (b - a) / 2.0 * tnp.sum(weights * tnp.asarray(call_user(func, x, *args)), axis=-1), None
