"""Sums, means, variances and deviations of doubles that are correctly rounded, as `math.fsum` and `statistics` give.

A sum is three numbers: `high + low`, and `error`, which bounds what is lost. Two doubles are added without loss by
Knuth's six operations, and multiplied by Dekker's; `low` has what rounding took from `high`, and `error` adds up what
rounding took from `low`. The result is what they round to. Where the bound leaves two doubles to choose from, the
program leaves the call to Python, which computes with fractions: about once in 1e10 calls, and for sums that cancel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.custom.jvp import custom_jvp
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import to_raw

#: For Dekker's products: a double times this, less what that added, has half of the digits.
_SPLIT = 134217729.0
#: Half of the distance of 1 and the next double, and what is above all that rounding makes of a bound.
_UNIT, _ABOVE = 2.0**-53, 1.0 + 2.0**-20
#: Sizes between which products and quotients lose nothing to underflow, and do not overflow.
_LEAST, _MOST = 1e-140, 1e140


class Sum(NamedTuple):
    """`high + low`, as far as `error`."""

    high: Any
    low: Any
    error: Any


def add(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, and what rounding took from it."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def multiply(a: Any, b: Any) -> tuple[Any, Any]:
    """a * b, and what rounding took from it."""
    p = a * b
    t, u = _SPLIT * a, _SPLIT * b
    a1, b1 = t - (t - a), u - (u - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def total(terms: Sum) -> Sum:
    """The sum of arrays of terms, by halves."""
    high, low, error = terms
    while high.shape[0] > 1:
        half, odd = divmod(high.shape[0], 2)
        rest = [x[2 * half :] for x in (high, low, error)]
        high, e = add(high[:half], high[half : 2 * half])
        low, f = add(low[:half], low[half : 2 * half])
        low, g = add(low, e)
        error = error[:half] + error[half : 2 * half] + (abs(f) + abs(g))
        if odd:
            high, low, error = map(tnp.concatenate, zip((high, low, error), rest, strict=True))  # type: ignore[arg-type]
    high, low = add(high[0], low[0])
    return Sum(high, low, error[0] * _ABOVE)


def of(x: Any) -> Sum:
    """Numbers as terms."""
    return Sum(x, tnp.zeros_like(x), tnp.zeros_like(x))


def divided(s: Sum, n: float) -> Sum:
    """A sum by a number."""
    q = s.high / n
    p, e = multiply(q, n)
    rest = ((s.high - p) - e) + s.low
    more = rest / n
    lost = _UNIT * 4 * (abs(rest) + abs(s.low)) * (rest != 0)
    high, low = add(q, more)
    return Sum(high, low, (s.error + lost) / n * _ABOVE)


def inverted(n: float, s: Sum) -> Sum:
    """A number by a sum."""
    q = n / s.high
    p, e = multiply(q, s.high)
    rest = ((n - p) - e) - q * s.low
    more = rest / s.high
    lost = _UNIT * 16 * abs(more) + abs(q / s.high) * (s.error + _UNIT * 4 * abs(s.low)) * 2
    high, low = add(q, more)
    return Sum(high, low, lost * _ABOVE)


def root(s: Sum) -> Sum:
    """The square root of a sum."""
    r = tnp.sqrt(s.high)
    p, e = multiply(r, r)
    rest = ((s.high - p) - e) + s.low
    twice = tnp.where(r > 0, 2 * r, 1.0)
    more = rest / twice
    high, low = add(r, more)
    lost = _UNIT * 16 * abs(more) + s.error / twice * 2
    return Sum(high, low, lost * _ABOVE)


def squares(x: Any, center: Any) -> tuple[Sum, Sum]:
    """The terms of the sums of `x - center` and of its squares."""
    d, e = add(x, -center)
    p, lost = multiply(d, d)
    more = 2 * d * e
    unsure = _UNIT * 16 * (abs(lost) + abs(more)) * (e != 0)
    zero = tnp.zeros_like(d)
    return Sum(d, e, zero), Sum(p, lost + more + e * e, unsure)


def rounded(s: Sum, *sizes: Any) -> Any:
    """The double that a sum rounds to; `sizes`: numbers whose products and quotients are in it."""
    sure = (
        (s.high + (s.low - s.error) == s.high) & (s.high + (s.low + s.error) == s.high) & tnp.isfinite(s.high)
    )
    for x in sizes:
        size = abs(x)
        sure = sure & tnp.all((x == 0) | ((size > _LEAST) & (size < _MOST)))
    leave_if(to_raw(tnp.logical_not(sure)), "a sum that is rounded correctly")
    return s.high + 0.0  # no negative zero


def _deviations(x: Any, ddof: int) -> tuple[Sum, Any]:
    """The variance as a sum, and the deviations."""
    n = x.shape[0]
    first, second = squares(x, divided(total(of(x)), float(n)).high)
    d, s = total(first), total(second)
    shift = d.high * d.high / n
    low, e = add(s.low, -shift)
    lost = abs(e) + 16 * _UNIT * shift + (2 * abs(d.high) * (abs(d.low) + d.error) + d.error**2) * 2
    high, low = add(s.high, low)
    return divided(Sum(high, low, s.error + lost * _ABOVE), float(n - ddof)), first.high


def _with_slope(slope: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator: a function of an array whose derivative `slope(out, x, dx, ...)` has."""

    def decorate(fn: Any) -> Any:
        @functools.cache
        def ruled(*settings: Any) -> Any:
            @custom_jvp
            def function(x: Any) -> Any:
                return fn(x, *settings)

            @function.defjvp
            def _rule(primals: Any, tangents: Any) -> Any:
                out = function(*primals)
                return out, slope(out, *primals, *tangents, *settings)

            return function

        @functools.wraps(fn)
        def call(x: Any, *settings: Any) -> Any:
            with np.errstate(all="ignore"):
                return ruled(*settings)(x)

        return call

    return decorate


@_with_slope(lambda out, x, dx: tnp.sum(dx))
def fsum(x: Any) -> Any:
    """The sum of an array of doubles."""
    return rounded(total(of(x)))


@_with_slope(lambda out, x, dx: tnp.mean(dx))
def mean(x: Any) -> Any:
    """Their mean."""
    q = divided(total(of(x)), float(x.shape[0]))
    return rounded(q, q.high)


def _centered(x: Any, dx: Any, ddof: int) -> Any:
    return tnp.sum((x - tnp.mean(x)) * dx) / (x.shape[0] - ddof)


@_with_slope(lambda out, x, dx, ddof: 2 * _centered(x, dx, ddof))
def variance(x: Any, ddof: int) -> Any:
    """Their variance, with `ddof` fewer in the divisor."""
    v, d = _deviations(x, ddof)
    return rounded(v, d, v.high)


@_with_slope(lambda out, x, dx, ddof: _centered(x, dx, ddof) / out)
def deviation(x: Any, ddof: int) -> Any:
    """The square root of the variance, rounded once."""
    v, d = _deviations(x, ddof)
    return rounded(root(v), d, v.high)


def _spread_slope(out: Any, x: Any, dx: Any, ddof: int, rooted: bool) -> Any:
    slope = tnp.sum(dx) / (x.shape[0] - ddof)
    return slope / (2 * out) if rooted else slope


@_with_slope(_spread_slope)
def spread(x: Any, ddof: int, rooted: bool) -> Any:
    """The sum of squares by their number less `ddof`, or the square root of that."""
    v = divided(total(of(x)), float(x.shape[0] - ddof))
    return rounded(root(v) if rooted else v, v.high)


@_with_slope(lambda out, x, dx: -out * out * tnp.mean(dx))
def reciprocal_mean(x: Any) -> Any:
    """Their number by their sum."""
    s = total(of(x))
    return rounded(inverted(float(x.shape[0]), s), s.high)
