"""pow and cbrt.

pow: log(x) as a pair with about 65 good bits, times y as a pair, then the exponential of the pair, so that
the product's size (up to 1075*ln2) does not cost accuracy. float32 goes through float64, which
is exact enough by far. cbrt: Newton's iteration for 1/cbrt, then one step for the root itself with the
residual in twice the precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.lowering.vecmath.core import (
    INF,
    NAN,
    bits,
    clamp,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    fmt,
    halves,
    polynomial,
    power_of_two,
    round_product,
    split,
    two_prod,
    two_sum,
)  # fmt: skip
from tracejit.lowering.vecmath.logarithm import normalised

_WIDE = np.dtype(np.float64)
# 2/3 = _THIRDS[0] + _THIRDS[1], the coefficient of s**3 in log(1 + f), as doubles.
_THIRDS = (2.0 / 3.0, 3.700743415417188e-17)


def _log_pair(k: Any, x: Any) -> tuple[Any, Any]:
    """(hi, lo) of log(x), x > 0 finite: 2s + s**3*(2/3 + z*p(z)) with s, z = s**2 and the cubic term as pairs."""
    e, m = normalised(k, x)
    f = m - 1.0
    d, lost = two_sum(k, m, k.const(1.0, x.dtype))
    inverse = 1.0 / d
    s = f * inverse
    s_lo = fma(k, k.neg(s), lost, fma(k, k.neg(s), d, f)) * inverse
    z, z_lo = two_prod(k, s, s)
    z_lo = fma(k, s + s, s_lo, z_lo)
    t, t_lo = fast_two_sum(k, k.const(_THIRDS[0], x.dtype), z * polynomial(k, z, "POW_LOG"))
    cube, cube_lo = two_prod(k, z, s)
    cube_lo = fma(k, z, s_lo, fma(k, z_lo, s, cube_lo))
    q, q_lo = two_prod(k, cube, t)
    q_lo = fma(k, cube, t_lo + _THIRDS[1], fma(k, cube_lo, t, q_lo))
    l1, l2, l3 = split("LN2", 8, 3, trim=12)
    hi, e1 = two_sum(k, e * l1, s + s)
    hi, e2 = two_sum(k, hi, q)
    lo = (e1 + e2) + (q_lo + (s_lo + s_lo))
    n_hi, n_lo = two_prod(k, e, k.const(l2, x.dtype))
    hi, e3 = two_sum(k, hi, n_hi)
    return fast_two_sum(k, hi, (lo + e3) + fma(k, e, l3, n_lo))


def _exp_pair(k: Any, hi: Any, lo: Any) -> Any:
    """e**(hi + lo)."""
    limit = 800.0
    out = k.gt(fabs(k, hi), limit)
    hi = clamp(k, hi, -limit, limit)
    lo = k.select(out, k.const(0.0, hi.dtype), lo)
    l1, l2 = split("LN2", 8, 2)
    n, i = round_product(k, hi, split("LOG2E", 8, 1)[0])
    exact = fma(k, n, -l1, hi)
    r, c = two_sum(k, exact, fma(k, n, -l2, lo))
    tail = fma(k, r * r, polynomial(k, r, "EXP"), fma(k, c, r, c))
    a, b = halves(k, i)
    s = power_of_two(k, a)
    return fma(k, s, r + tail, s) * power_of_two(k, b)


def _positive_power(k: Any, a: Any, y: Any) -> Any:
    """a**y for finite a > 0 and finite y."""
    hi, lo = _log_pair(k, a)
    y = clamp(k, y, -(2.0**70), 2.0**70)  # the product stays finite, and far beyond the range of exp
    p, e = two_prod(k, hi, y)
    return _exp_pair(k, p, fma(k, lo, y, e))


def power(k: Any, x: Any, y: Any) -> Any:
    """x**y as C's pow."""
    if x.dtype.itemsize == 4:
        return k.cast(power(k, k.cast(x, _WIDE), k.cast(y, _WIDE)), x.dtype)
    one, zero = k.const(1.0, x.dtype), k.const(0.0, x.dtype)
    a = fabs(k, x)
    whole = k.eq(k.float_op("trunc", y), y)
    half = y * 0.5
    odd = k.and_(whole, k.and_(k.ne(k.float_op("trunc", half), half), k.lt(fabs(k, y), INF)))
    regular = k.and_(k.gt(a, 0.0), k.lt(a, INF))
    size = _positive_power(k, k.select(regular, a, one), y)
    # 0 and inf to a power: 0 or inf by the sign of y; |y| = inf: by whether |x| is above 1.
    grows = k.xor(k.gt(a, 1.0), k.lt(y, 0.0))
    extreme = k.select(grows, k.const(INF, x.dtype), zero)
    size = k.select(k.and_(regular, k.lt(fabs(k, y), INF)), size, extreme)
    size = k.select(k.eq(a, 1.0), one, size)
    negative = k.lt(bits(k, x), 0)
    signed = k.select(k.and_(negative, odd), k.neg(size), size)
    undefined = k.and_(k.and_(k.lt(x, 0.0), k.not_(whole)), k.and_(k.gt(x, -INF), k.lt(fabs(k, y), INF)))
    z = k.select(undefined, k.const(NAN, x.dtype), signed)
    z = k.select(k.or_(k.isnan(x), k.isnan(y)), x + y, z)
    return k.select(k.or_(k.eq(y, 0.0), k.eq(x, 1.0)), one, z)


def cbrt(k: Any, x: Any) -> Any:
    """2**(e/3) * cbrt(m): e is divided by 3 in floats, the remainder 0, 1, 2 joins m."""
    form = fmt(x)
    a = fabs(k, x)
    e, m = normalised(k, a)
    third = fma(k, e - 1.0, 1.0 / 3.0, form.magic) - form.magic  # nearest to (e - 1)/3: e/3 rounded down
    left = e - third * 3.0
    m = m * power_of_two(k, bits(k, left + form.magic) - form.magic_bits)
    # m is in [sqrt(1/2), 4*sqrt(2)). Newton's step for 1/cbrt(m) does not divide.
    r = _cbrt_start(k, m)
    for _ in range(5 if form.size == 8 else 4):
        r = r * fma(k, r * r * r, k.neg(m) * (1.0 / 3.0), 4.0 / 3.0)
    y = m * r * r
    square, lost = two_prod(k, y, y)
    rest = fma(k, k.neg(square), y, m) - lost * y
    y = fma(k, rest * (1.0 / 3.0), r * r, y)
    y = y * power_of_two(k, bits(k, third + form.magic) - form.magic_bits)
    usual = k.and_(k.gt(a, 0.0), k.lt(a, INF))
    return copysign(k, k.select(usual, y, a), x)


def _cbrt_start(k: Any, m: Any) -> Any:
    """1/cbrt(m) within 10 % for m in [0.7, 5.7]: a quadratic through three points."""
    return fma(k, m, fma(k, m, 0.0262, -0.2643), 1.2447)
