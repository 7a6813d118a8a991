"""Integrals of functions of arrays by tanh-sinh quadrature, as native loops.

The points and weights are Takahasi and Mori's (1974), with the estimate of the error by Bailey, Jeyabalan and Li
(2005): each level has half the step of the one before, and an element is at its end where the error is small enough.
The points are those of SciPy's levels, so that levels and numbers of evaluations are SciPy's. Derivatives, by the
limits too, are those of the sum over the points that were chosen.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.tracing import to_raw

Function = Callable[..., Any]
EPS = float(np.finfo(float).eps)
#: Steps of level 0 on each side, and the step, with which the last point is as far out as numbers reach.
_STEPS = 8
_STEP = math.asinh(math.log(2 / (4 * float(np.finfo(float).tiny)) - 1) / math.pi) / _STEPS
#: Points on each side that are computed together, at most, and the largest level.
_TOGETHER, DEEPEST = 32, 20
#: What is said of an element.
CONVERGED, NOT_CONVERGED, NOT_FINITE = 0, -2, -3


class Found(NamedTuple):
    """What is known of each element; the last level is -1 where there was nothing to sum."""

    integral: Any
    error: Any
    status: Any
    level: Any
    nfev: Any


class How(NamedTuple):
    """The levels, the tolerances, and whether functions, sums and tolerances are logarithms."""

    first: int
    last: int
    atol: Any
    rtol: Any
    log: bool


# ---------------------------------------------------------------- sums, and sums of logarithms


def total(x: Any, log: bool) -> Any:
    """The sum of each row of terms."""
    if not log:
        return tnp.sum(x, axis=-1)
    top = lax.stop_gradient(tnp.max(x, axis=-1))
    top = tnp.where(tnp.isfinite(top), top, 0.0)
    return tnp.log(tnp.sum(tnp.exp(x - top[:, None]), axis=-1)) + top


def both(x: Any, y: Any, log: bool) -> Any:
    return tnp.logaddexp(x, y) if log else x + y


def times(x: Any, factor: Any, log: bool) -> Any:
    """`x` by a factor that is not negative."""
    return x + tnp.log(factor) if log else x * factor


def apart(x: Any, y: Any, log: bool) -> Any:
    """The distance of two sums. SciPy's logarithms know none that is less than their rounding."""
    if not log:
        return tnp.abs(x - y)
    top = tnp.maximum(x, y)
    top = tnp.where(tnp.isfinite(top), top, 0.0)
    x, y = tnp.exp(x - top), tnp.exp(y - top)
    return tnp.log(tnp.hypot(x - y, y * math.sin(math.pi))) + top


# ---------------------------------------------------------------- points


@functools.cache
def _pairs(low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """How far the points of levels from `low` to `high` are from 1, and their weights, level by level."""
    points, weights = [], []
    for k in range(low, high + 1):
        most = _STEPS << k
        u = (np.arange(most + 1) if k == 0 else np.arange(1, most + 1, 2)) * (_STEP / 2**k)
        inner = np.pi / 2 * np.sinh(u)
        with np.errstate(over="ignore", under="ignore"):
            points.append(1 / (np.exp(inner) * np.cosh(inner)))
            weights.append(np.pi / 2 * np.cosh(u) / np.cosh(inner) ** 2)
        if k == 0:
            weights[-1][0] /= 2  # the middle is a point of both sides
    return np.concatenate(points), np.concatenate(weights)


class _Interval:
    """Intervals, one an element: where points of (0, 1) lie in them."""

    def __init__(self, a: Any, b: Any) -> None:
        self.empty = a == b
        # Points in elements that have no integral would give others' derivatives a NaN.
        unused = self.empty | tnp.isnan(a) | tnp.isnan(b)
        a, b = tnp.where(unused, 1.0, a), tnp.where(unused, 1.0, b)
        self.negative = b < a
        a, b = tnp.where(self.negative, b, a), tnp.where(self.negative, a, b)
        self.whole = tnp.isinf(a) & tnp.isinf(b)
        a, b = tnp.where(self.whole, -1.0, a), tnp.where(self.whole, 1.0, b)
        self.mirrored = tnp.isinf(a)
        a, b = tnp.where(self.mirrored, -b, a), tnp.where(self.mirrored, np.inf, b)
        self.half = tnp.isinf(b)
        self.start = tnp.where(self.half, a, 0.0)
        self.a, self.b = tnp.where(self.half, 0.0, a), tnp.where(self.half, 1.0, b)

    def at(self, far: Any, weights: Any) -> tuple[Any, Any, Any]:
        """For points so far from the ends, those of the right side first: where they lie between the ends that were
        substituted, where the function is asked for, and the weights, which are 0 at an end."""
        a, b, half, whole = (x[:, None] for x in (self.a, self.b, self.half, self.whole))
        width = (b - a) / 2
        t = tnp.concatenate([-width * far + b, width * far + a], axis=-1)
        w = tnp.concatenate([weights * width, weights * width], axis=-1)
        inside = lax.stop_gradient((t > a) & (t < b))
        middle = (a + b) / 2
        inner = tnp.where(inside, t, middle)
        safe = tnp.where(half, inner, 1.0)
        x = tnp.where(half, 1 / safe - 1 + self.start[:, None], inner)
        small = tnp.where(whole, inner, 0.0)
        x = tnp.where(whole, small / (1 - small**2), x)
        x = tnp.where(self.mirrored[:, None], -x, x)
        stretch = tnp.where(whole, (1 + small**2) / (1 - small**2) ** 2, safe**-2.0)
        return t, x, (tnp.where(inside, w, 0.0), stretch)


# ---------------------------------------------------------------- levels


class _Ends(NamedTuple):
    """The outermost points with a finite term on each side: where (outwards), the value, the weight."""

    at: Any
    value: Any
    weight: Any

    @staticmethod
    def none(n: int) -> _Ends:
        return _Ends(tnp.full((2, n), -np.inf), tnp.full((2, n), np.nan), tnp.zeros((2, n)))


class _Terms(NamedTuple):
    """The terms on both sides, shape (2, n, k): values (0 or -inf where they do not count), weights, which count."""

    values: Any
    weights: Any
    good: Any


def _terms(f: Function, where: _Interval, pairs: Sequence[Any], ends: _Ends, log: bool) -> tuple[Any, _Ends]:
    """The terms at some points, and the outermost ones then."""
    t, x, (weights, stretch) = where.at(*pairs)
    # Near infinity it overflows; what does not count must not give a derivative of 0 times infinity.
    usable = lax.stop_gradient(tnp.isfinite(stretch))
    values = times(f(x), tnp.where(usable, stretch, 1.0), log)
    n, k = t.shape[0], t.shape[1] // 2

    def sides(x: Any) -> Any:
        return tnp.moveaxis(x.reshape(n, 2, k), 1, 0)

    values, weights = sides(values), sides(weights)
    good = lax.stop_gradient(tnp.isfinite(values) & (weights != 0)) & sides(usable)
    out = lax.stop_gradient(sides(t)) * np.array([1.0, -1.0])[:, None, None]
    best = tnp.argmax(tnp.where(good, out, -np.inf), axis=-1)[..., None]
    values = tnp.where(good, values, 0.0)

    def picked(x: Any) -> Any:
        return tnp.take_along_axis(x, best, axis=-1)[..., 0]

    at = picked(tnp.where(good, out, -np.inf))
    new = at > ends.at
    ends = _Ends(
        tnp.where(new, at, ends.at),
        tnp.where(new, picked(values), ends.value),
        tnp.where(new, picked(weights), ends.weight),
    )
    return _Terms(values, weights, good), ends


def _weighted(values: Any, weights: Any, wanted: Any, log: bool) -> Any:
    """Terms of the sum, and nothing where they are not wanted."""
    if not log:
        return tnp.where(wanted, values * weights, 0.0)
    some = wanted & (weights != 0)
    return tnp.where(some, values + tnp.log(tnp.where(some, weights, 1.0)), -np.inf)


def _of_sides(terms: Any, log: bool) -> Any:
    """The sum of the terms of both sides."""
    return total(tnp.concatenate([terms[0], terms[1]], axis=-1), log)


def _error(sums: tuple[Any, Any, Any], largest: Any, ends: _Ends, log: bool) -> tuple[Any, Any]:
    """The estimates of the absolute and of the relative error, from the sums of three levels, the last one first."""
    sums = tuple(map(lax.stop_gradient, sums))
    d1, d2 = apart(sums[0], sums[1], log), apart(sums[0], sums[2], log)
    last = _weighted(ends.value, ends.weight, np.bool_(True), log)
    last = tnp.max(lax.stop_gradient(last if log else tnp.abs(last)), axis=0)
    if log:
        first = tnp.where(d1 > -np.inf, d1**2 / d2, -np.inf)
        all_of_them = (first, 2 * d1, math.log(EPS) + largest, last)
        least = math.log(EPS) + sums[0]
    else:
        some = d1 > 0
        first = tnp.where(
            some, tnp.where(some, d1, 1.0) ** (tnp.log(tnp.where(some, d1, 1.0)) / tnp.log(d2)), 0.0
        )
        all_of_them = (first, d1**2, EPS * largest, last)
        least = EPS * tnp.abs(sums[0])
    error = tnp.minimum(tnp.maximum(tnp.max(tnp.stack(all_of_them), axis=0), least), d1)
    return error, error - sums[0] if log else error / tnp.abs(sums[0])


def _first_sums(terms: _Terms, ends: _Ends, how: How) -> tuple[Any, Any, Any]:
    """The sums of the first level and of the two before it, which its points have in them, and the largest term."""
    values = tnp.where(terms.good, terms.values, ends.value[..., None])
    weighted = _weighted(values, terms.weights, np.bool_(True), how.log)
    counts = [weighted.shape[-1], *((_STEPS << k) + 1 for k in (how.first - 1, how.first - 2) if k >= 0)]
    sums = []
    for n, count in enumerate(counts):
        found = _of_sides(weighted[..., :count], how.log)
        sums.append(times(found, _STEP / 2 ** (how.first - n), how.log))
    while len(sums) < 3:
        sums.append(tnp.full_like(sums[0], np.nan))
    plain = lax.stop_gradient(weighted if how.log else tnp.abs(weighted))
    return sums[0], (sums[1], sums[2]), tnp.max(plain, axis=(0, 2))


def _level_sum(f: Function, where: _Interval, level: Any, ends: _Ends, how: How) -> tuple[Any, Any, _Ends]:
    """The sum over the points that a level has more than the one before, the largest term, and the outermost ones."""
    n, log = where.a.shape[0], how.log
    size = min(_TOGETHER, _STEPS << how.first)
    far, weights = (x.reshape(-1, size) for x in _pairs(how.first + 1, how.last))
    per_first = (_STEPS << how.first) // size
    # Levels have per_first, 2 per_first, 4 per_first … blocks.
    blocks = per_first * 2 ** (level - how.first - 1)
    start = blocks - per_first
    zero = -np.inf if log else 0.0

    def block(i: Any, s: Any) -> Any:
        value, bad, worst, largest, ends = s
        pairs = [lax.dynamic_index_in_dim(x, start + i, 0, keepdims=False) for x in (far, weights)]
        terms, ends = _terms(f, where, pairs, ends, log)
        good = _weighted(terms.values, terms.weights, terms.good, log)
        value = both(value, _of_sides(good, log), log)
        left = tnp.where(terms.good, 0.0, terms.weights)
        bad, worst = bad + tnp.sum(left, axis=-1), tnp.maximum(worst, tnp.max(left, axis=-1))
        plain = lax.stop_gradient(good if log else tnp.abs(good))
        return value, bad, worst, tnp.maximum(largest, tnp.max(plain, axis=(0, 2))), ends

    none = (tnp.full((n,), zero), tnp.zeros((2, n)), tnp.zeros((2, n)), tnp.full((n,), zero), ends)
    value, bad, worst, largest, ends = lax.fori_loop(0, blocks, block, none)
    # What is not finite counts as the outermost finite value of its side.
    some = bad > 0
    for side in (0, 1):
        more = _weighted(ends.value[side], bad[side], some[side], log)
        value = both(value, more, log)
        top = _weighted(ends.value[side], worst[side], some[side], log)
        largest = tnp.maximum(largest, lax.stop_gradient(top if log else tnp.abs(top)))
    return times(value, _STEP / 2.0**level, log), largest, ends


def integrals(f: Function, a: Any, b: Any, middle: Any, how: How) -> Found:
    """The integrals of `f` between the elements of the vectors `a` and `b`, whose values in the middle are given. `f`
    takes arrays of the shape (n, k)."""
    log = how.log
    where = _Interval(a, b)
    n = a.shape[0]
    zero = -np.inf if log else 0.0
    unknown = lax.stop_gradient(tnp.isnan(a) | tnp.isnan(b) | tnp.isnan(middle))
    begun = tnp.where(unknown, np.nan, tnp.full((n,), zero))
    status = tnp.where(where.empty, CONVERGED, tnp.where(unknown, NOT_FINITE, 1))
    error = tnp.where(where.empty, begun, np.nan)

    def judged(status: Any, sums: Any, largest: Any, ends: _Ends) -> tuple[Any, Any]:
        error, relative = _error(sums, largest, ends, log)
        plain = lax.stop_gradient(sums[0])
        lost = tnp.isnan(plain) | (plain == np.inf) if log else ~tnp.isfinite(plain)
        found = (relative < how.rtol) | (error < how.atol)
        return error, tnp.where(status != 1, status, tnp.where(found, 0, tnp.where(lost, NOT_FINITE, 1)))

    def kept(active: Any, new: Any, old: Any) -> Any:
        return tnp.where(active, new, old)

    terms, ends = _terms(f, where, _pairs(0, how.first), _Ends.none(n), log)
    sums, before, largest = _first_sums(terms, ends, how)
    active = status == 1
    new_error, status = judged(status, (sums, *before), largest, ends)
    level = tnp.where(active, how.first, -1)
    state = (
        np.int64(how.first),
        kept(active, sums, begun),
        before[0],
        kept(active, new_error, error),
        status,
        level,
        ends,
    )

    def going(s: Any) -> Any:
        return (s[0] < how.last) & tnp.any(s[4] == 1)

    def deeper(s: Any) -> Any:
        at, sums, before, error, status, level, ends = s
        active = status == 1
        more, largest, ends = _level_sum(f, where, at + 1, ends, how)
        new = both(times(sums, 0.5, log), more, log)
        new_error, status = judged(status, (new, sums, before), largest, ends)
        keep = functools.partial(kept, active)
        return (
            at + 1,
            keep(new, sums),
            keep(lax.stop_gradient(sums), before),
            keep(new_error, error),
            status,
            keep(at + 1, level),
            ends,
        )

    state = (*state[:2], lax.stop_gradient(state[2]), *state[3:])
    _, sums, _, error, status, level, _ = (
        lax.while_loop(going, deeper, state) if how.last > how.first else state
    )
    status = tnp.where(status == 1, NOT_CONVERGED, status)
    if log:
        refuse_if(tnp.any(where.negative), "The logarithm of an integral that is negative is complex.")
    else:
        sums = tnp.where(where.negative, -sums, sums)
    nfev = tnp.where(level < 0, 1, 3 + 2 * _STEPS * 2 ** tnp.maximum(level, 0))
    return Found(sums, error, status, level, nfev)


def refuse_if(bad: Any, message: str) -> None:
    fail_if(to_raw(bad), SolverFailedError, message)
