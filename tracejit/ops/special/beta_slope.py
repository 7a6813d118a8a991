"""dx/da of the beta distribution's quantile x at a constant probability I(a, b, x): native code, and for arrays.

It is -(dI/da)/(dI/dx), computed without the factor x**a (1 - x)**b / beta(a, b) that both share, so that nothing
overflows. I is that factor over a, times the continued fraction of DLMF 8.17.22, which converges fast for x below the
mean; beyond it I(a, b, x) is 1 - I(b, a, 1 - x). The fraction is evaluated from the front (Lentz's algorithm), and
carries its derivatives by both parameters. By b, the quantile's slope is that of 1 - x, with a and b exchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.special.building import F64
from tracejit.ops.special.gamma_slope import Arrays

_EPS = 2.0**-53
_MOST_STEPS = 10000.0


def kernel(k: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """Native code for one element, in float64; `y` is 1 - x, to all its digits."""
    out = _slope(k, *(k.cast(v, F64) for v in (a, b, x, y)))
    return k.cast(out, a.dtype)


def evaluate(a: Any, b: Any, x: Any, y: Any) -> Any:
    """The same for arrays of float64."""
    return _slope(Arrays(), *np.broadcast_arrays(*(np.asarray(v, F64) for v in (a, b, x, y))))


def _slope(k: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    proper = k.and_(_inside(k, a, np.inf), _inside(k, b, np.inf))
    active = k.and_(proper, k.and_(_inside(k, x, 1.0), k.gt(y, 0.0)))
    a, b, x, y = (k.select(active, v, safe) for v, safe in ((a, 1.0), (b, 1.0), (x, 0.5), (y, 0.5)))
    left = k.le(x * (a + b + 2.0), a + 1.0)
    p, q, z = (k.select(left, u, v) for u, v in ((a, b), (b, a), (x, y)))
    h, by_p, by_q = _fraction(k, active, p, q, z)
    both = k.math("digamma", a + b)
    # Of the logarithm of the probability on this side, by a.
    log = k.math("log", x)
    steep = log - (k.math("digamma", a) - both)
    slope = k.select(left, h * (steep - 1.0 / a) + by_p, k.neg(h * steep + by_q))
    out = k.neg(x * y / p * slope)
    wrong = k.not_(k.and_(proper, k.and_(k.ge(x, 0.0), k.ge(y, 0.0))))
    return k.select(wrong, np.nan, k.select(active, out, 0.0))


def _inside(k: Any, x: Any, end: float) -> Any:
    return k.and_(k.gt(x, 0.0), k.lt(x, end))


def _fraction(k: Any, active: Any, a: Any, b: Any, x: Any) -> tuple[Any, Any, Any]:
    """1/(1 + d1/(1 + d2/(1 + …))) with its derivatives by a and b."""
    one, zero = k.const(1.0, F64), k.const(0.0, F64)
    # The first step, of d1 = -(a + b) x / (a + 1), is that of m = 0.
    first = k.neg((a + b) * x / (a + 1.0))
    first_a, first_b = x * (b - 1.0) / ((a + 1.0) * (a + 1.0)), k.neg(x / (a + 1.0))
    d = 1.0 / (1.0 + first)
    ds = k.neg(first_a * d * d), k.neg(first_b * d * d)
    start = (one, one, zero, zero, d, *ds, d, *ds, one)

    def more(m: Any, *state: Any) -> Any:
        return k.and_(k.and_(active, k.lt(m, _MOST_STEPS)), k.gt(state[-1], _EPS))

    def step(m: Any, *state: Any) -> Any:
        c, d, h = state[0:3], state[3:6], state[6:9]
        n = a + 2.0 * m
        even = m * x / ((n - 1.0) * n)
        by_a = k.neg(1.0 / (n - 1.0) + 1.0 / n)
        c, d, h, one_change = _advanced(k, ((b - m) * even, (b - m) * even * by_a, even), c, d, h)
        odd = k.neg((a + m) * (a + b + m) * x / (n * (n + 1.0)))
        by_b = 1.0 / (a + b + m)
        by_a = 1.0 / (a + m) + by_b - 1.0 / n - 1.0 / (n + 1.0)
        c, d, h, change = _advanced(k, (odd, odd * by_a, odd * by_b), c, d, h)
        return m + 1.0, *c, *d, *h, one_change + change

    return k.iterate(start, more, step)[7:10]


def _advanced(k: Any, numerator: Any, c: Any, d: Any, h: Any) -> Any:
    """One level more: the numbers with their derivatives, and how much h has changed."""
    e, ea, eb = numerator
    below = 1.0 / (1.0 + e * d[0])
    ds = tuple(k.neg((slope * d[0] + e * t) * below * below) for slope, t in ((ea, d[1]), (eb, d[2])))
    q = e / c[0]
    cs = tuple((slope - q * t) / c[0] for slope, t in ((ea, c[1]), (eb, c[2])))
    top = 1.0 + q
    ratio = top * below
    turns = tuple(t * below + top * s for t, s in zip(cs, ds, strict=True))
    new = h[0] * ratio
    slopes = tuple(s * ratio + h[0] * t for s, t in zip(h[1:], turns, strict=True))
    change = k.float_op("fabs", ratio - 1.0)
    for old, s in zip(h[1:], slopes, strict=True):
        change = change + k.float_op("fabs", s - old) / (k.float_op("fabs", s) + k.float_op("fabs", new))
    return (top, *cs), (below, *ds), (new, *slopes), change
