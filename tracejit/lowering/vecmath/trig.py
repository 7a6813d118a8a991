"""Circular functions and their inverses.

sin, cos, tan: x = n*pi/2 + r by fused steps. For |n| < 2**(mantissa - 1), x - n*fl(pi/2) is exact in one fma,
because it is a multiple of the last bit of fl(pi/2) and smaller than 2; two further parts of pi/2 bring r to
twice the precision. Arguments too large for this go through Payne and Hanek's reduction, which is a rare
call (`lowering.vecmath.huge`) that the vectorised loop skips as a block.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.vecmath.core import (
    INF,
    bits,
    constant,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    fmt,
    polynomial,
    split,
    two_prod,
    two_sum,
)  # fmt: skip

_HUGE = {8: 2.0**36, 4: 2.0**12}


def _reduce(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """(q, r, c): x = q*pi/2 + r + c modulo 2*pi; the low bits of the integer q count quarters."""
    size, form = x.dtype.itemsize, fmt(x)
    huge = k.gt(fabs(k, x), _HUGE[size])
    p1, p2, p3 = split("PI_2", size, 3)
    n = fma(k, x, split("TWO_OVER_PI", size, 1)[0], form.magic) - form.magic
    exact = fma(k, n, -p1, x)
    h, low = two_prod(k, n, k.const(p2, x.dtype))
    r, e = two_sum(k, exact, k.neg(h))
    r, c = fast_two_sum(k, r, fma(k, n, -p3, e - low))
    r = rare(k, huge, "huge_rest", x, r)
    c = rare(k, huge, "huge_tail", x, c)
    return k.select(huge, bits(k, c), bits(k, n + form.magic)), r, c


def rare(k: Any, condition: Any, name: str, x: Any, usual: Any) -> Any:
    """`usual`, or where `condition` holds the value of the out-of-line function `name` at x."""
    return k._inst("math", x.dtype, (condition, x, usual), ("rare", name))


def _sin_poly(k: Any, r: Any, c: Any, z: Any) -> Any:
    """sin(r + c) for |r| <= pi/4, z = r*r."""
    cube = r * z
    return r + fma(k, cube, polynomial(k, z, "SIN"), fma(k, z * -0.5, c, c))


def _cos_poly(k: Any, r: Any, c: Any, z: Any) -> Any:
    """cos(r + c): 1 - z/2 is split so that what it loses is added with the tail."""
    half = 0.5 * z
    top = 1.0 - half
    lost = (1.0 - top) - half
    return top + fma(k, z * z, polynomial(k, z, "COS"), fma(k, k.neg(r), c, lost))


def _bit(k: Any, q: Any, mask: int) -> Any:
    return k.ne(k.and_(q, mask), 0)


def _sin_quarters(k: Any, x: Any, ahead: int) -> Any:
    """sin(x + ahead*pi/2)."""
    q, r, c = _reduce(k, x)
    z = r * r
    q = q + ahead if ahead else q
    y = k.select(_bit(k, q, 1), _cos_poly(k, r, c, z), _sin_poly(k, r, c, z))
    return k.select(_bit(k, q, 2), k.neg(y), y)


def sin(k: Any, x: Any) -> Any:
    return k.select(k.eq(x, 0.0), x, _sin_quarters(k, x, 0))


def cos(k: Any, x: Any) -> Any:
    return _sin_quarters(k, x, 1)


def tan(k: Any, x: Any) -> Any:
    """sin/cos, or -cos/sin in odd quarters."""
    q, r, c = _reduce(k, x)
    z = r * r
    s, t = _sin_poly(k, r, c, z), _cos_poly(k, r, c, z)
    odd = _bit(k, q, 1)
    y = k.select(odd, k.neg(t), s) / k.select(odd, s, t)
    return k.select(k.eq(x, 0.0), x, y)


# ---------------------------------------------------------------- inverses


def _atan_ratio(k: Any, y: Any, x: Any) -> tuple[Any, Any]:
    """(hi, lo) of atan(y/x) for finite y, x >= 0 that are not both zero.

    One of three ranges by which of y/x, (y - x)/(y + x), -x/y is within tan(pi/8).
    """
    size = x.dtype.itemsize
    low = k.le(y, k.mul(x, split("TAN_PI_8", size, 1)[0]))
    high = k.gt(y * split("TAN_PI_8", size, 1)[0], x)
    zero = k.const(0.0, x.dtype)
    less, less_err = two_sum(k, y, k.neg(x))
    more, more_err = two_sum(k, y, x)
    num = k.select(low, y, k.select(high, k.neg(x), less))
    den = k.select(low, x, k.select(high, y, more))
    t = num / den
    error = k.select(k.or_(low, high), zero, fma(k, k.neg(t), more_err, less_err))
    rest = (fma(k, k.neg(t), den, num) + error) / den
    z = t * t
    tail = fma(k, t * z, polynomial(k, z, "ATAN"), rest)
    (q1, q2), (h1, h2) = split("PI_4", size, 2), split("PI_2", size, 2)
    big = k.select(low, zero, k.select(high, k.const(h1, x.dtype), k.const(q1, x.dtype)))
    small = k.select(low, zero, k.select(high, k.const(h2, x.dtype), k.const(q2, x.dtype)))
    s, e = two_sum(k, big, t)
    return s, e + (tail + small)


def arctan(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    finite = k.lt(a, INF)
    hi, lo = _atan_ratio(k, k.select(finite, a, k.const(1.0, x.dtype)), k.const(1.0, x.dtype))
    y = k.select(finite, hi + lo, k.select(k.eq(a, INF), constant(k, x, "PI_2"), a))
    return copysign(k, k.select(k.lt(a, fmt(x).min_normal), a, y), x)


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
    p1, p2 = split("PI", x.dtype.itemsize, 2)
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
    c = fma(k, k.neg(s), s, z) / (s + s)
    return z, s, k.select(k.eq(s, 0.0), s, c)


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
