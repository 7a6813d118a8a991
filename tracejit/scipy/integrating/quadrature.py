"""Integrals of functions by adaptive Gauss-Kronrod rules, as native loops.

The algorithm is QUADPACK's QAG (Piessens et al. 1983): the interval with the largest error is halved until the sum of
the errors is small enough, with 21 points in finite intervals and 15 in infinite ones, and QUADPACK's estimate of the
error of a rule. Where there is no room for more intervals, as at a singularity, the sums so far are extrapolated by
Wynn's epsilon algorithm (1956), as QAGS does along the way. Derivatives, by the limits too, are those of the sum over
the points that were chosen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy.integrating.gauss_kronrod import RULE15, RULE21, Rule
from tracejit.scipy.solving import scalar
from tracejit.tracing import Box, box, call_user, to_raw

Integrand = Callable[[Any], tuple[Any, Any]]
_EPS = float(np.finfo(float).eps)
#: Intervals that there is room for, at most.
MOST = 500
#: How many sums are extrapolated, from how much further ahead they are once more, and where they end at the latest:
#: points that are nearer to the end of an interval are too near for the distance of numbers.
_LAST, _MORE, _DEEPEST = 21, 4, 42


class How(NamedTuple):
    """The tolerances, how many intervals there is room for, and whether sums are extrapolated where that ends."""

    epsabs: Any
    epsrel: Any
    limit: int
    extrapolates: bool


def _apply(rule: Rule, g: Integrand, low: Any, width: Any) -> tuple[Any, Any, Any]:
    """The integral of `g` over an interval, its error by QUADPACK's estimate, and the largest error of `g` itself."""
    half = 0.5 * width

    def at(carry: Any, node: Any) -> Any:
        return carry, g(low + half * (1 + node))

    _, (values, inner) = lax.scan(at, None, rule.nodes)
    value = half * tnp.tensordot(rule.kronrod, values, 1)
    v = lax.stop_gradient(values)
    h = lax.stop_gradient(half)
    mean = 0.5 * tnp.tensordot(rule.kronrod, v, 1)
    error = _norm(h * tnp.tensordot(rule.kronrod - rule.gauss, v, 1))
    size = h * tnp.dot(rule.kronrod, _norms(v))
    spread = h * tnp.dot(rule.kronrod, _norms(v - mean))
    safe = tnp.where(spread > 0, spread, 1.0)
    scaled = spread * tnp.minimum(1.0, (200 * error / safe) ** 1.5)
    error = tnp.where((spread > 0) & (error > 0), scaled, error)
    error = tnp.where(size > np.finfo(float).tiny / (50 * _EPS), tnp.maximum(50 * _EPS * size, error), error)
    return value, error, tnp.max(inner)


def _norms(v: Any) -> Any:
    """The size of each row."""
    return tnp.abs(v) if v.ndim == 1 else tnp.sqrt((v * v).reshape(v.shape[0], -1).sum(axis=1))


def _norm(v: Any) -> Any:
    return tnp.abs(v) if v.ndim == 0 else tnp.sqrt(tnp.sum(v * v))


def adaptive(g: Integrand, rule: Rule, edges: Sequence[Any], how: How) -> tuple[Any, Any, Any]:
    """The integral of `g` from the first of `edges` to the last, the estimate of its error, and the largest error of
    `g`.

    `g(t)` gives a value and its error. Where more than `limit` intervals would be needed, and extrapolation is not
    asked for or not good enough, the program fails."""
    epsabs, epsrel, limit, extrapolates = how
    pairs = (
        tnp.stack([tnp.asarray(e) for e in edges[:-1]]),
        tnp.diff(tnp.stack([tnp.asarray(e) for e in edges])),
    )
    first = lax.scan(lambda c, p: (c, _apply(rule, g, *p)), None, pairs)[1]
    count = len(edges) - 1
    room = max(limit, count)

    def held(x: Any) -> Any:
        return tnp.concatenate([x, tnp.zeros((room - count, *x.shape[1:]), x.dtype)]) if room > count else x

    sums = held(tnp.cumsum(first[0], axis=0)) if extrapolates else None
    state = (*map(held, (*pairs, first[0], first[1])), tnp.max(first[2]), np.int64(count), sums)

    def bound(total: Any) -> Any:
        return tnp.maximum(epsabs, epsrel * _norm(lax.stop_gradient(total)))

    def going(s: Any) -> Any:
        _, _, values, errors, _, n, _ = s
        return (tnp.sum(errors) > bound(values.sum(axis=0))) & (n < room)

    def halve(s: Any) -> Any:
        low, width, values, errors, inner, n, sums = s
        worst = tnp.argmax(errors)
        half = 0.5 * width[worst]
        starts = tnp.stack([low[worst], low[worst] + half])
        _, (v, e, i) = lax.scan(lambda c, t: (c, _apply(rule, g, t, half)), None, starts)
        low = _put(low, starts[1], n)
        width = _put(_put(width, half, worst), half, n)
        values = _put(_put(values, v[0], worst), v[1], n)
        errors = _put(_put(errors, e[0], worst), e[1], n)
        sums = sums if sums is None else _put(sums, values.sum(axis=0), n)
        return low, width, values, errors, tnp.maximum(inner, tnp.max(i)), n + 1, sums

    _, _, values, errors, inner, n, sums = lax.while_loop(going, halve, state) if room > count else state
    total, error = values.sum(axis=0), tnp.sum(errors)
    small = error <= bound(total)
    if sums is not None and room - count >= _LAST + _MORE:
        given = sums, tnp.minimum(n, _DEEPEST)
        total, error = lax.cond(small, lambda _: (total, error), lambda a: _limit_of(*a), given)
        small = tnp.isfinite(error) & (error <= bound(tnp.where(tnp.isfinite(error), total, 0.0)))
    fail_if(
        compare.eq(to_raw(small), np.False_),
        SolverFailedError,
        "The integral does not converge in `limit` intervals.",
    )
    return total, error, inner


def _limit_of(sums: Any, n: Any) -> tuple[Any, Any]:
    """The limit of the first `n` sums, by two parts of them that must agree, and how far they do."""
    starts = n - _LAST - np.array([0, _MORE])
    limits, moved = zip(
        *[_extrapolated(lax.dynamic_slice(sums, (s,), (_LAST,))) for s in starts], strict=True
    )
    error = tnp.maximum(tnp.maximum(*moved), tnp.abs(lax.stop_gradient(limits[0] - limits[1])))
    return limits[0], tnp.where(starts[1] >= 0, error, np.inf)


def _extrapolated(sums: Any) -> tuple[Any, Any]:
    """The limit of a sequence by the epsilon algorithm, from the even column whose end moved least, and by how much."""
    before, column = tnp.zeros(sums.shape[0] + 1), sums
    ends = [column[-1]]
    tiny = float(np.finfo(float).tiny) ** 0.5
    while column.shape[0] > 2:
        for _ in range(2):
            gap = column[1:] - column[:-1]
            before, column = column, before[1:-1] + 1 / tnp.where(tnp.abs(gap) > tiny, gap, tiny)
        ends.append(column[-1])
    ends = tnp.stack(ends)
    moved = lax.stop_gradient(tnp.abs(ends[1:] - ends[:-1]))
    moved = moved[1:] + moved[:-1]
    moved = tnp.where(tnp.isfinite(moved), moved, np.inf)
    best = tnp.argmin(moved)
    return ends[best + 2], tnp.maximum(moved[best], 10 * _EPS * tnp.abs(lax.stop_gradient(ends[best + 2])))


def _put(x: Any, value: Any, at: Any) -> Any:
    return lax.dynamic_update_index_in_dim(x, value, at, 0)


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
    return lambda x: (scalar(call_user(func, box(to_raw(x), True), *more)), np.float64(0))


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
        return [call_user(g, x) if callable(g) else g for g in (gfun, hfun)]

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
        return [call_user(g, x, y) if callable(g) else g for g in (qfun, rfun)]

    def middle(x: Any, *_: Any) -> list[Any]:
        return [call_user(g, x) if callable(g) else g for g in (gfun, hfun)]

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
            return scalar(call_user(func, *known, *more)), np.float64(0)
        span, o = ranges[depth], options[depth]
        low, high = call_user(span, *known, *more) if callable(span) else span

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
        out = call_user(f, box(to_raw(x), True), *more)
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
