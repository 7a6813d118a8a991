"""Integrals of functions by adaptive Gauss-Kronrod rules, as native loops.

The algorithm is QUADPACK's QAG (Piessens et al. 1983): the interval with the largest error is halved until the sum of
the errors is small enough, with QUADPACK's estimate of the error of a rule. As its QAGS does, the sums along the way
are extrapolated: at a singularity, halving alone has no end. Derivatives are those of the sum over the points that
were chosen, or of its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy.integrating import extrapolation
from tracejit.scipy.integrating.gauss_kronrod import Rule
from tracejit.tracing import to_raw

Integrand = Callable[[Any], tuple[Any, Any]]
_EPS = float(np.finfo(float).eps)


class How(NamedTuple):
    """The tolerances, how many intervals there is room for, and whether sums are extrapolated where that ends."""

    epsabs: Any
    epsrel: Any
    limit: int
    extrapolates: bool

    def bound(self, total: Any) -> Any:
        """The error that is small enough."""
        return tnp.maximum(self.epsabs, self.epsrel * _norm(lax.stop_gradient(total)))


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
    ratio = 200 * error / safe
    scaled = spread * tnp.minimum(1.0, ratio * tnp.sqrt(ratio))
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
    rule = (
        rule.in_vectors() if how.extrapolates else rule
    )  # else integrands may be integrals, which are no vectors
    pairs = (
        tnp.stack([tnp.asarray(e) for e in edges[:-1]]),
        tnp.diff(tnp.stack([tnp.asarray(e) for e in edges])),
    )
    first = lax.scan(lambda c, p: (c, _apply(rule, g, *p)), None, pairs)[1]
    count = len(edges) - 1
    room = max(how.limit, count)

    values, errors, largest = first[0], first[1], tnp.max(first[2])

    def held(x: Any) -> Any:
        return tnp.concatenate([x, tnp.zeros((room - count, *x.shape[1:]), x.dtype)])

    def halve(p: Parts, which: Any) -> Parts:
        half = 0.5 * p.width[which]
        starts = tnp.stack([p.low[which], p.low[which] + half])
        _, (v, e, i) = lax.scan(lambda c, t: (c, _apply(rule, g, t, half)), None, starts)
        total = p.total + (v[0] + v[1] - p.values[which])
        error = p.error + (e[0] + e[1] - p.errors[which])
        low = _put(p.low, starts[1], p.count)
        width = _put(_put(p.width, half, which), half, p.count)
        values = _put(_put(p.values, v[0], which), v[1], p.count)
        errors = _put(_put(p.errors, e[0], which), e[1], p.count)
        inner = tnp.maximum(p.inner, tnp.max(i))
        return Parts(low, width, values, errors, total, error, inner, p.count + 1)

    def goes_on(p: Parts) -> Any:
        return (p.error > how.bound(p.total)) & (p.count < room)

    def as_they_are(*_: Any) -> tuple[Any, Any, Any]:
        return values.sum(axis=0), tnp.sum(errors), largest

    def divided(*_: Any) -> tuple[Any, Any, Any]:
        low, width, each, of_each = map(held, (*pairs, values, errors))
        parts = Parts(low, width, each, of_each, *as_they_are(), np.int64(count))
        if how.extrapolates:
            return _with_limits(parts, halve, goes_on, how)
        parts = lax.while_loop(goes_on, lambda p: halve(p, p.worst(0.0)[0]), parts)
        return parts.summed()

    total, error, inner = as_they_are()
    if room > count:
        total, error, inner = lax.cond(error <= how.bound(total), as_they_are, divided)
    small = tnp.isfinite(error) & (error <= how.bound(tnp.where(tnp.isfinite(error), total, 0.0)))
    fail_if(
        compare.eq(to_raw(small), np.False_),
        SolverFailedError,
        "The integral does not converge in `limit` intervals.",
    )
    return total, error, inner


class Parts(NamedTuple):
    """The intervals so far, the sums over them along the way, and the largest error of what is integrated."""

    low: Any
    width: Any
    values: Any
    errors: Any
    total: Any
    error: Any
    inner: Any
    count: Any

    def summed(self) -> tuple[Any, Any, Any]:
        """The sums without what was lost along the way, and the largest error."""
        return self.values.sum(axis=0), tnp.sum(self.errors), self.inner

    def worst(self, least: Any) -> tuple[Any, Any, Any]:
        """Which of the intervals that are wider than `least` has the largest error, that error (-1 if there are none),
        and the sum over them."""
        widths, errors = (lax.stop_gradient(x) for x in (self.width, self.errors))

        def look(n: Any, found: Any) -> tuple[Any, Any, Any]:
            at, largest, total = found
            error = lax.dynamic_index_in_dim(errors, n, 0, keepdims=False)
            error = tnp.where(lax.dynamic_index_in_dim(widths, n, 0, keepdims=False) > least, error, -1.0)
            larger = error > largest
            at, largest = tnp.where(larger, n, at), tnp.where(larger, error, largest)
            return at, largest, total + tnp.maximum(error, 0.0)

        return lax.fori_loop(0, self.count, look, (np.int64(0), np.float64(-1), np.float64(0)))


class Limits(NamedTuple):
    """What is extrapolated (QUADPACK's QAGS): the table, the best limit and the error of it, and how many since have
    not been better; the width that intervals must have to be halved before, whether that is so now, which is next."""

    table: extrapolation.Table
    best: Any
    error: Any
    stale: Any
    width: Any
    only_wide: Any
    which: Any


#: An interval is wide at first if it is more than so much of the whole one: the first halves are not.
_WIDE = 0.75
#: So many extrapolations may be no better than one before, if that is so much better than the sum.
_STALE, _MUCH_BETTER = 5, 1e-3
#: How many times larger or smaller than the sum a limit is not believed.
_FAR = 100.0


def _with_limits(parts: Parts, halve: Any, goes_on: Any, how: How) -> tuple[Any, Any, Any]:
    """The sum over intervals, or the limit of the sums, with its error.

    The sums that are extrapolated are those for which the errors of all wide intervals are small, so that each is one
    halving nearer to a singularity than the one before."""
    start = Limits(
        extrapolation.begun(parts.total),
        parts.total,
        np.float64(np.inf),
        np.int64(0),
        _WIDE * lax.stop_gradient(tnp.max(parts.width)),
        np.False_,
        parts.worst(0.0)[0],
    )

    def unsettled(state: tuple[Parts, Limits]) -> Any:
        p, limits = state
        stops = (limits.stale > _STALE) & (limits.error < _MUCH_BETTER * p.error)
        return goes_on(p) & (limits.error > how.bound(limits.best)) & ~stops

    def step(state: tuple[Parts, Limits]) -> tuple[Parts, Limits]:
        p, limits = halve(state[0], state[1].which), state[1]
        worst, _, _ = p.worst(0.0)
        as_before = ~limits.only_wide & (p.width[worst] > limits.width)
        limits = limits._replace(which=worst)
        return p, lax.cond(as_before, lambda limits, _: limits, looks, limits, p)

    def looks(limits: Limits, p: Parts) -> Limits:
        """The widest first, until their errors are small enough to extrapolate."""
        which, largest, of_wide = p.worst(limits.width)
        goal = how.bound(tnp.where(tnp.isfinite(limits.error), limits.best, p.total))
        same = limits._replace(only_wide=np.True_, which=which)
        halves = (of_wide > goal) & (largest >= 0)
        return lax.cond(halves, lambda *_: same, extrapolates, limits, p.total)

    def extrapolates(limits: Limits, total: Any) -> Limits:
        table, limit, error = extrapolation.extended(limits.table, total)
        better = error < limits.error
        best = tnp.where(better, limit, limits.best)
        stale = tnp.where(better, 0, limits.stale + 1)
        error = tnp.minimum(error, limits.error)
        return Limits(table, best, error, stale, 0.5 * limits.width, np.False_, limits.which)

    parts, limits = lax.while_loop(unsettled, step, (parts, start))
    total, error, inner = parts.summed()
    size = tnp.abs(lax.stop_gradient(total))
    best = tnp.abs(lax.stop_gradient(limits.best))
    cancels = tnp.maximum(size, best) <= tnp.sum(tnp.abs(lax.stop_gradient(parts.values))) / _FAR
    alike = (best <= _FAR * size) & (size <= _FAR * best) & (error <= size)
    chosen = (error > how.bound(total)) & (alike | cancels)
    return tnp.where(chosen, limits.best, total), tnp.where(chosen, limits.error, error), inner


def _put(x: Any, value: Any, at: Any) -> Any:
    return lax.dynamic_update_index_in_dim(x, value, at, 0)
