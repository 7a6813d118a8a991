"""Inverse circular functions."""

from __future__ import annotations

from typing import Any

from tracejit.lowering.llvm.vecmath.core import (  # fmt: skip
    INF,
    bits,
    copysign,
    fabs,
    floats,
    fma,
    fmt,
    horner,
    near_reciprocal,
    polynomial,
    split,
    two_sum,
)
from tracejit.lowering.llvm.vecmath.tables import POLYNOMIALS


def _atan_tail(k: Any, t: Any) -> Any:
    """atan(t) - t for |t| <= 1/2, in float32 for |t| <= 1, where even and odd powers would cancel each other."""
    z = t * t
    p = polynomial(k, z, "ATAN") if t.dtype.itemsize == 8 else horner(k, z, POLYNOMIALS["ATAN"][4])
    return z * t * p


def _two(k: Any, x: Any, name: str) -> tuple[Any, Any]:
    hi, lo = split(name, x.dtype.itemsize, 2)
    return k.const(hi, x.dtype), k.const(lo, x.dtype)


# ---------------------------------------------------------------- float32: two ranges


def _atan_single(k: Any, num: Any, den: Any, base: tuple[Any, Any], sign: Any) -> Any:
    """base + sign*atan(num/den) for 0 <= num <= den; `sign` is the bit pattern of a zero."""
    t = num / den
    t = floats(k, k.xor(bits(k, t), sign))
    hi, lo = base
    s = hi + t
    return s + (_atan_tail(k, t) + (((hi - s) + t) + lo))


def _arctan_single(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    one, zero = k.const(1.0, x.dtype), k.const(0.0, x.dtype)
    big = k.gt(a, one)
    hi, lo = _two(k, x, "PI_2")
    base = k.select(big, hi, zero), k.select(big, lo, zero)
    sign = k.select(big, bits(k, k.const(-0.0, x.dtype)), bits(k, zero))
    y = _atan_single(k, k.select(big, one, a), k.select(big, a, one), base, sign)
    return copysign(k, y, x)


def _arctan2_single(k: Any, y: Any, x: Any) -> Any:
    a, b = fabs(k, y), fabs(k, x)
    zero = k.const(0.0, x.dtype)
    steep, left = k.gt(a, b), k.lt(bits(k, x), 0)
    num, den = k.select(steep, b, a), k.select(steep, a, b)
    den = k.select(k.eq(den, 0.0), k.const(1.0, x.dtype), den)
    (h1, l1), (h2, l2) = _two(k, x, "PI"), _two(k, x, "PI_2")
    base = tuple(k.select(steep, s, k.select(left, r, zero)) for s, r in ((h2, h1), (l2, l1)))
    minus = bits(k, k.const(-0.0, x.dtype))
    sign = k.select(k.xor(steep, left), minus, bits(k, zero))
    both = k.eq(num, INF)  # infinities: the diagonal
    one = k.const(1.0, x.dtype)
    angle = _atan_single(k, k.select(both, one, num), k.select(both, one, den), base, sign)
    return k.select(k.or_(k.isnan(x), k.isnan(y)), x + y, copysign(k, angle, y))


# ---------------------------------------------------------------- float64: three ranges


def _atan_ratio(k: Any, y: Any, x: Any, exact: bool = False) -> tuple[Any, Any]:
    """(hi, lo) of atan(y/x) for finite y, x >= 0 that are not both zero; `exact` where x is 1.

    One of three ranges by which of y/x, (y - x)/(y + x), -x/y is within 1/2.
    """
    low, high = k.lt(y, x * 0.5), k.gt(y, x + x)
    zero = k.const(0.0, x.dtype)
    less, more = y - x, y + x
    if exact:  # y - x is exact where it counts
        less_err, more_err = None, y - (more - x)
    else:
        less_err, more_err = two_sum(k, y, k.neg(x))[1], two_sum(k, y, x)[1]
    middle = k.not_(k.or_(low, high))
    num = k.select(low, y, k.select(high, k.neg(x), less))
    den = k.select(low, x, k.select(high, y, more))
    inverse = 1.0 / den
    t = num * inverse
    rest = fma(k, k.neg(t), k.select(middle, more_err, zero), fma(k, k.neg(t), den, num))
    if less_err is not None:
        rest = rest + k.select(middle, less_err, zero)
    tail = fma(k, rest, inverse, _atan_tail(k, t))
    (q1, q2), (h1, h2) = _two(k, x, "PI_4"), _two(k, x, "PI_2")
    big = k.select(low, zero, k.select(high, h1, q1))
    small = k.select(low, zero, k.select(high, h2, q2))
    s = big + t
    return s, ((big - s) + t) + (tail + small)


def arctan(k: Any, x: Any) -> Any:
    if x.dtype.itemsize == 4:
        return _arctan_single(k, x)
    a = fabs(k, x)
    hi, lo = _atan_ratio(k, k.select(k.gt(a, 1e300), k.const(1e300, x.dtype), a), k.const(1.0, x.dtype), True)
    return copysign(k, hi + lo, x)


def _scaled(k: Any, y: Any, x: Any) -> tuple[Any, Any]:
    """y and x >= 0 brought away from overflow and underflow by a common power of two; infinities become
    numbers of the same ratio."""
    form = fmt(x)
    one, zero = k.const(1.0, x.dtype), k.const(0.0, x.dtype)
    big = k.select(k.gt(y, x), y, x)
    step, limit = 2.0 ** (form.mantissa + 20), 2.0 ** (form.bias // 2)
    shrink = k.select(k.gt(big, limit), k.const(1.0 / step, x.dtype), one)
    scale = k.select(k.lt(big, 1.0 / limit), k.const(step, x.dtype), shrink)
    infinite = k.eq(big, INF)
    y2 = k.select(infinite, k.select(k.eq(y, INF), one, zero), y * scale)
    x2 = k.select(infinite, k.select(k.eq(x, INF), one, zero), x * scale)
    return y2, k.select(k.eq(big, 0.0), one, x2)


def arctan2(k: Any, y: Any, x: Any) -> Any:
    """The angle of (x, y), with the signs of zeros and infinities as C's atan2."""
    if x.dtype.itemsize == 4:
        return _arctan2_single(k, y, x)
    p1, p2 = split("PI", 8, 2)
    negative = k.lt(bits(k, x), 0)
    hi, lo = _atan_ratio(k, *_scaled(k, fabs(k, y), fabs(k, x)))
    h2, e2 = two_sum(k, k.const(p1, x.dtype), k.neg(hi))
    angle = k.select(negative, h2 + (e2 + (p2 - lo)), hi + lo)
    nan = k.or_(k.isnan(x), k.isnan(y))
    return k.select(nan, x + y, copysign(k, angle, y))


def _asin_tail(k: Any, t: Any, z: Any) -> Any:
    """asin(t) - t for z = t*t <= 1/4."""
    return t * z * polynomial(k, z, "ASIN")


def _half_angle(k: Any, a: Any) -> tuple[Any, Any, Any]:
    """(z, s, c): z = (1 - a)/2 and sqrt(z) = s + c."""
    z = fma(k, a, -0.5, 0.5)
    s = k.float_op("sqrt", z)
    return z, s, fma(k, k.neg(s), s, z) * (near_reciprocal(k, s) * 0.5)


def arcsin(k: Any, x: Any) -> Any:
    """The series for |x| <= 1/2, otherwise pi/2 - 2*asin(sqrt((1 - |x|)/2))."""
    a = fabs(k, x)
    small = k.le(a, 0.5)
    zh, s, c = _half_angle(k, a)
    t, z = k.select(small, a, s), k.select(small, a * a, zh)
    tail = _asin_tail(k, t, z)
    hi, lo = split("PI_2", x.dtype.itemsize, 2)
    h, e = two_sum(k, k.const(hi, x.dtype), -2.0 * s)
    far = h + (e + fma(k, tail + c, -2.0, lo))
    return copysign(k, k.select(small, a + tail, far), x)


def arccos(k: Any, x: Any) -> Any:
    """pi/2 - asin(x) for |x| <= 1/2, otherwise 2*asin(sqrt((1 - |x|)/2)), or pi minus that for x < 0."""
    a = fabs(k, x)
    small = k.le(a, 0.5)
    zh, s, c = _half_angle(k, a)
    t, z = k.select(small, x, s), k.select(small, x * x, zh)
    tail = _asin_tail(k, t, z)
    size = x.dtype.itemsize
    (h1, h2), (p1, p2) = split("PI_2", size, 2), split("PI", size, 2)
    h, e = two_sum(k, k.const(h1, x.dtype), k.neg(x))
    near = h + (e + (h2 - tail))
    twice = 2.0 * (tail + c)
    h, e = two_sum(k, k.const(p1, x.dtype), -2.0 * s)
    far = k.select(k.lt(x, 0.0), h + (e + (p2 - twice)), fma(k, s, 2.0, twice))
    return k.select(small, near, far)
