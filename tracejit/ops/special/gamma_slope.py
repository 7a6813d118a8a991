"""dx/da of the gamma distribution's quantile x at a constant probability P(a, x): native code, and the same for arrays.

It is -(dP/da)/(dP/dx), computed without the factor x**a exp(-x)/gamma(a) that both share, so that nothing
overflows. Where a < 32: the power series of P (DLMF 8.11.4) for x <= a + 1, otherwise the continued fraction of Q
(DLMF 8.9.2), both carrying the derivative by a. Where a >= 32 they would take up to sqrt(a) steps; there

    dx/da = x times the integral over u > 0 of (u - s d) exp(-|x - a| u - x (exp(-s u) - 1 + s u)),

with d = log(x) - digamma(a) and s = 1 for x <= a, -1 beyond (the definition of P or Q after t = x exp(-s u)), is a
smooth decaying function of u, for which Gauss' formula of 24 points does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_special
from tracejit.ops.special.building import F64

_LARGE = 32.0
_EPS = 2.0**-54
_MOST_STEPS = 2000.0
#: The integrand is exp(-DECAY) at the end of the interval.
_DECAY = 36.0
_NODES, _WEIGHTS = (tuple(map(float, x / 2)) for x in np.polynomial.legendre.leggauss(24))
#: (exp(v) - 1 - v) / v**2
_E2 = tuple(1 / math.factorial(n + 2) for n in range(15))
#: log(a) - digamma(a) = 1/(2a) + these times a**-2, a**-4 … (DLMF 5.11.2)
_LOG_LESS_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)


def kernel(k: Any, a: Any, x: Any) -> Any:
    """Native code for one element, in float64."""
    out = _slope(k, k.cast(a, F64), k.cast(x, F64))
    return k.cast(out, a.dtype)


def evaluate(a: Any, x: Any) -> Any:
    """The same for arrays of float64."""
    a, x = np.broadcast_arrays(np.asarray(a, F64), np.asarray(x, F64))
    return _slope(Arrays(), a, x)


def _slope(k: Any, a: Any, x: Any) -> Any:
    inside = k.and_(k.and_(k.gt(a, 0.0), k.lt(a, np.inf)), k.and_(k.gt(x, 0.0), k.lt(x, np.inf)))
    large = k.and_(inside, k.ge(a, _LARGE))
    left = k.le(x, a + 1.0)
    body = k.and_(inside, k.lt(a, _LARGE))
    out = k.select(large, _integral(k, k.select(large, a, 64.0), k.select(large, x, 64.0)), 0.0)
    for where, fn in ((k.and_(body, left), _series), (k.and_(body, k.not_(left)), _fraction)):
        out = k.select(where, fn(k, where, k.select(where, a, 1.0), k.select(where, x, 1.0)), out)
    outside = k.or_(k.not_(k.and_(k.gt(a, 0.0), k.lt(a, np.inf))), k.not_(k.ge(x, 0.0)))
    return k.select(outside, np.nan, out)


def _series(k: Any, active: Any, a: Any, x: Any) -> Any:
    """By 1 + x/(a+1) + x**2/((a+1)(a+2)) + …, which is P(a, x) gamma(a + 1) exp(x) / x**a."""
    one, zero = k.const(1.0, F64), k.const(0.0, F64)

    def more(n: Any, term: Any, slope: Any, total: Any, total_slope: Any) -> Any:
        unsettled = k.or_(k.gt(term, _EPS * total), k.gt(k.neg(slope), k.neg(_EPS * total_slope)))
        return k.and_(k.and_(active, k.lt(n, _MOST_STEPS)), unsettled)

    def step(n: Any, term: Any, slope: Any, total: Any, total_slope: Any) -> Any:
        below = 1.0 / (a + n)
        slope = x * below * (slope - term * below)
        term = term * x * below
        return n + 1.0, term, slope, total + term, total_slope + slope

    _, _, _, total, total_slope = k.iterate((one, one, zero, one, zero), more, step)
    steep = k.math("log", x) - k.math("digamma", a + 1.0)
    return k.neg(x / a * (steep * total + total_slope))


def _fraction(k: Any, active: Any, a: Any, x: Any) -> Any:
    """By 1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - …)), which is Q(a, x) gamma(a) exp(x) / x**a, from the front."""
    one, zero = k.const(1.0, F64), k.const(0.0, F64)
    first = x + 1.0 - a
    d = 1.0 / first
    start = (one, first, one * 1e300, zero, d, d * d, d, d * d, one)

    def more(n: Any, b: Any, c: Any, cs: Any, d: Any, ds: Any, h: Any, hs: Any, change: Any) -> Any:
        return k.and_(k.and_(active, k.lt(n, _MOST_STEPS)), k.gt(change, _EPS))

    def step(n: Any, b: Any, c: Any, cs: Any, d: Any, ds: Any, h: Any, hs: Any, change: Any) -> Any:
        numerator = n * (a - n)
        b = b + 2.0
        below = 1.0 / (b + numerator * d)
        ds = (1.0 - n * d - numerator * ds) * below * below
        q = numerator / c
        cs = n / c - q * cs / c - 1.0
        c = b + q
        ratio = c * below
        more_h = h * (ratio - 1.0)
        more_hs = hs * (ratio - 1.0) + h * (cs * below + c * ds)
        size = k.select(k.gt(_abs(k, more_h), _abs(k, more_hs)), _abs(k, more_h), _abs(k, more_hs))
        return n + 1.0, b, c, cs, below, ds, h + more_h, hs + more_hs, size / (h + _abs(k, hs))

    h, hs = k.iterate(start, more, step)[6:8]
    return x * ((k.math("log", x) - k.math("digamma", a)) * h + hs)


def _integral(k: Any, a: Any, x: Any) -> Any:
    left = k.le(x, a)
    distance = k.select(left, a - x, x - a)
    s = k.select(left, k.const(1.0, F64), k.const(-1.0, F64))
    far = (x - a) / a
    near = k.gt(far, -0.5)
    log = k.select(near, k.math("log1p", k.select(near, far, 0.0)), k.math("log", x / a))
    inverse = 1.0 / a
    rest = inverse * (0.5 + inverse * _polynomial(inverse * inverse, _LOG_LESS_DIGAMMA))
    d = s * (log + rest)

    def exponent(u: Any) -> tuple[Any, Any]:
        """Of the integrand, with its derivative."""
        e2 = _polynomial(k.neg(s * u), _E2)
        return u * (distance + x * u * e2), distance + x * u * (1.0 - s * u * e2)

    root = k.float_op("sqrt", x)
    r = distance / root
    end = 2.0 * _DECAY / (root * (r + k.float_op("sqrt", r * r + 2.0 * _DECAY)))
    for _ in range(3):  # Newton's, from the quadratic part
        value, slope = exponent(end)
        end = end - (value - _DECAY) / slope
    total = k.const(0.0, F64)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        u = end * (0.5 + node)
        total = total + weight * (u - d) * k.math("exp", k.neg(exponent(u)[0]))
    return x * end * total


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    out = x * coefficients[-1] + coefficients[-2]
    for c in coefficients[-3::-1]:
        out = out * x + c
    return out


def _abs(k: Any, x: Any) -> Any:
    return k.select(k.lt(x, 0.0), k.neg(x), x)


class Arrays:
    """What the code above asks of `k`, on NumPy arrays: loops run until no element goes on."""

    and_, or_, not_ = np.logical_and, np.logical_or, np.logical_not
    lt, le, gt, ge = np.less, np.less_equal, np.greater, np.greater_equal
    neg, select = np.negative, staticmethod(np.where)

    def const(self, value: float, dtype: np.dtype) -> Any:
        return dtype.type(value)

    def math(self, name: str, x: Any) -> Any:
        return scipy_special().psi(x) if name == "digamma" else getattr(np, name)(x)

    float_op = math

    def iterate(self, state: tuple, cond: Callable[..., Any], step: Callable[..., tuple]) -> tuple:
        while np.any(on := cond(*state)):
            state = tuple(np.where(on, new, old) for new, old in zip(step(*state), state, strict=True))
        return state
