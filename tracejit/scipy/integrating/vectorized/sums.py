"""`nsum` for traced values: sums of the values of a function at equal steps, of finitely or infinitely many.

As SciPy has it: terms are added one by one as far as they count, or all of them where they are few enough, and the
rest is the integral (`tanh_sinh`) with half of the terms at its ends, as in the integral test of convergence.
Derivatives are those of these terms and of the integral.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.values import Value
from tracejit.scipy.integrating.vectorized import rich
from tracejit.scipy.integrating.vectorized.elements import middles, real, several, tolerance, values
from tracejit.scipy.integrating.vectorized.tanh_sinh import (
    EPS,
    NOT_FINITE,
    How,
    apart,
    both,
    integrals,
    times,
    total,
)
from tracejit.scipy.solving import ask
from tracejit.tracing import to_raw

Function = Callable[..., Any]
#: Terms that are computed together.
_TOGETHER = 32
_INVALID, _TOO_LARGE = -1, -4


class _Sum(NamedTuple):
    """The sums of the elements, their errors, what is said of them, and evaluations."""

    value: Any
    error: Any
    status: Any
    nfev: Any


class _Limits(NamedTuple):
    """Limits and steps, one an element."""

    a: Any
    b: Any
    step: Any


def nsum(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    step: Any = 1,
    args: Any = (),
    log: bool = False,
    maxterms: Any = 2**20,
    tolerances: Any = None,
) -> Any:
    """The sums of `f(x, *args)`, a function of elements, for x from `a` to `b` by `step`, which may be arrays; limits
    may be infinite."""
    if not callable(f):
        raise ValueError("`f` must be callable.")
    if log not in (True, False):
        raise ValueError("`log` must be True or False.")
    log, given = bool(log), tolerances or {}
    atol = tolerance(given.get("atol"), -np.inf if log else 0.0, log)
    rtol = tolerance(given.get("rtol"), 0.5 * math.log(EPS) if log else EPS**0.5, log)
    if int(maxterms) != maxterms or maxterms < 0:
        raise ValueError("`maxterms` must be a non-negative integer.")
    how = How(2, 10, atol, rtol, log)
    a, b, step = tnp.broadcast_arrays(*(real("nsum", x) for x in (a, b, step)))
    first, *more = tnp.broadcast_arrays(a, *map(tnp.asarray, several(args)))
    shape, size = first.shape, math.prod(first.shape)
    if values("nsum", ask(f, first, *more)).shape != shape:
        problem = "The shape of the array returned by `func` must be the same as the broadcasted shape of `x` and all"
        raise ValueError(problem + " other `args`.")
    more = [x.reshape(size, 1) for x in more]

    def of_rows(x: Any) -> Any:
        return tnp.broadcast_to(values("nsum", ask(f, x, *more)), x.shape)

    limits = _Limits(*(tnp.broadcast_to(x, shape).reshape(size) for x in (a, b, step)))
    found = _sums(of_rows, limits, int(maxterms), how)
    fields = zip(found, (float, float, np.int32, np.int32), strict=True)
    value, error, status, nfev = (x.astype(dtype).reshape(shape)[()] for x, dtype in fields)
    return rich.result(sum=value, error=error, status=status, success=status == 0, nfev=nfev)


def _surely_none(mask: Any) -> bool:
    """Whether it is known of no element."""
    raw = to_raw(mask)
    return not isinstance(raw, Value) and not np.any(raw)


def _sums(f: Function, limits: _Limits, most: int, how: How) -> _Sum:
    a, b, step = limits
    valid = (b >= a) & tnp.isfinite(step) & (step > 0)
    safe = tnp.where(valid, step, 1.0)
    count = tnp.floor(lax.stop_gradient((b - a) / safe))
    b = tnp.where(tnp.isfinite(count), a + tnp.where(tnp.isfinite(count), count, 0.0) * safe, b)
    few = (count + 1 <= most) & valid
    zero = -np.inf if how.log else 0.0
    none = b < a
    start = tnp.where(none, zero, np.nan)
    found = _Sum(start, start, tnp.where(none, 0, _INVALID), tnp.ones(a.shape, np.int64))

    def merged(mask: Any, new: _Sum) -> _Sum:
        return _Sum(
            tnp.where(mask, new.value, found.value),
            tnp.where(mask, new.error, found.error),
            tnp.where(mask, new.status, found.status),
            found.nfev + tnp.where(mask, new.nfev, 0),
        )

    if not _surely_none(few):
        value, error, nfev = _direct(f, _where(few, _Limits(a, b, safe)), few, True, how.log)
        status = tnp.where(tnp.isfinite(lax.stop_gradient(value)), 0, NOT_FINITE)
        found = merged(few, _Sum(value, error, status, nfev))
    many = valid & ~few
    if not _surely_none(many):
        left = ~tnp.isfinite(a)
        two = left & ~tnp.isfinite(b)
        low = tnp.where(two, 0.0, tnp.where(left, -b, a))
        high = tnp.where(left & ~two, -a, b)
        new = _bounded(
            _folded(f, left, two, how.log), _where(many, _Limits(low, high, safe)), many, most, how
        )
        found = merged(many, new._replace(nfev=tnp.where(two, 2 * new.nfev, new.nfev)))
    return found


def _where(mask: Any, limits: _Limits) -> _Limits:
    """The limits, and such with nothing between them in other elements."""
    return _Limits(*(tnp.where(mask, x, 1.0) for x in limits))


def _folded(f: Function, left: Any, two: Any, log: bool) -> Function:
    """The function to be summed to the right: mirrored where the sum goes to the left, with both sides where it goes to
    both."""
    if _surely_none(left):
        return f
    mirrored = (left & ~two)[:, None]

    def mirror(x: Any) -> Any:
        return f(tnp.where(mirrored, -x, x))

    if _surely_none(two):
        return mirror
    both_sides = two[:, None]

    def sides(x: Any) -> Any:
        one = mirror(x)
        other = f(tnp.where(both_sides | mirrored, -x, x))
        half = tnp.where(x == 0, 0.5, 1.0)  # the middle is a term of both sides
        return tnp.where(both_sides, times(both(one, other, log), half, log), one)

    return sides


def _direct(f: Function, limits: _Limits, mask: Any, inclusive: bool, log: bool) -> tuple[Any, Any, Any]:
    """The sums of all terms, their errors, and how many terms there are."""
    a, b, step = limits
    count = tnp.round(lax.stop_gradient((b - a) / step)) + int(inclusive)
    count = tnp.where(mask, count, 0.0).astype(np.int64)
    most = tnp.max(count) if count.shape[0] else np.int64(0)

    def more(i: Any, s: Any) -> Any:
        n = i * _TOGETHER + np.arange(_TOGETHER)
        wanted = n < count[:, None]
        x = a[:, None] + tnp.where(wanted, n, 0) * step[:, None]
        return both(s, total(tnp.where(wanted, f(x), -np.inf if log else 0.0), log), log)

    zero = tnp.full(a.shape, -np.inf if log else 0.0)
    out = lax.fori_loop(0, (most + _TOGETHER - 1) // _TOGETHER, more, zero)
    plain = lax.stop_gradient(out)
    return out, plain + math.log(EPS) if log else EPS * tnp.abs(plain), count


def _bounded(f: Function, limits: _Limits, mask: Any, most: int, how: How) -> _Sum:
    """The sums of the first terms, and the integral for the rest."""
    a, b, step = limits
    log = how.log

    def integral(low: Any) -> Any:
        return integrals(f, low, b, f(middles(low, b)[:, None])[:, 0], how)

    rough = integral(lax.stop_gradient(a))
    size = lax.stop_gradient(rough.integral)
    lost = rough.status == NOT_FINITE
    small = both(how.atol, how.rtol + size, log) if log else how.atol + how.rtol * size
    small = tnp.where(lost, np.nan, small)
    steps = np.array([*(2.0 ** np.arange(math.floor(math.log2(most)) if most else 0)), float(most)])
    x = a[:, None] + steps * step[:, None]
    terms = f(x)
    plain = lax.stop_gradient(terms)
    after = lax.stop_gradient(f(lax.stop_gradient(x + step[:, None])))
    large = tnp.sum((plain > small[:, None]) | (after > plain), axis=-1)
    picked = tnp.minimum(large, len(steps) - 1)
    first = tnp.where(mask, a + tnp.take(steps, picked) * step, b)
    left, left_error, count = _direct(f, _Limits(a, first, step), mask, False, log)
    endless = lax.stop_gradient(left) == np.inf
    lost = lost | endless
    right = integral(tnp.where(lost, np.nan, first))
    term = tnp.take_along_axis(terms, picked[:, None], axis=-1)[:, 0]
    ends = tnp.isfinite(b)
    last = tnp.full(a.shape, -np.inf if log else 0.0)
    if not _surely_none(ends):
        last = tnp.where(ends, f(tnp.where(ends, b, a)[:, None])[:, 0], last)
    half = math.log(2) if log else 2
    if log:
        width = tnp.log(step)
        rest, term, last = right.integral - width, term - half, last - half
        value = both(both(left, rest, log), both(term, last, log), log)
        error = both(both(left_error, right.error - width, log), term, log)
        error = apart(lax.stop_gradient(error), lax.stop_gradient(last), log)
    else:
        term, last = term / half, last / half
        value = left + right.integral / step + term + last
        error = lax.stop_gradient(left_error + right.error / step + term - last)
    status = tnp.where(lost, tnp.where(endless, NOT_FINITE, rough.status), right.status)
    status = tnp.where((status == 0) & (large == len(steps)), _TOO_LARGE, status)
    nfev = count + right.nfev + 2 * len(steps) + tnp.where(ends, 1, 0) + rough.nfev
    return _Sum(value, error, status, nfev)
