"""Scalar kernel code that works on bits: parts of floats, neighbours, rounding of formats, integer algorithms.

Every function is written against the loop IR's builder `k`, for every width that NumPy has.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tracejit.ops.kernels.scalar import F32, bits, fabs, kind, needs
from tracejit.records import record


@record(frozen=True)
class Layout:
    """Where the parts of a float format lie."""

    int_dtype: np.dtype
    mantissa: int  # stored bits
    exponent: int  # stored bits
    bias: int

    @property
    def exponent_mask(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa


def layout(dtype: np.dtype) -> Layout:
    """The layout of a float dtype."""
    info = ml_dtypes.finfo(dtype)
    exponent = 8 * dtype.itemsize - 1 - int(info.nmant)
    return Layout(np.dtype(f"i{dtype.itemsize}"), int(info.nmant), exponent, (1 << (exponent - 1)) - 1)


# ---------------------------------------------------------------- parts of floats


def frexp(k: Any, x: Any) -> tuple[Any, Any]:
    """(m, e) with x = m * 2**e and |m| in [1/2, 1); e is 0 for zeros, infinities and NaN."""
    form = layout(x.dtype)
    lift = form.mantissa + 2
    tiny = k.lt(fabs(k, x), 2.0 ** (1 - form.bias))
    b = k.bitcast(k.select(tiny, x * 2.0**lift, x), form.int_dtype)
    stored = k.int_op("ashr", k.and_(b, form.exponent_mask), form.mantissa)
    half = (form.bias - 1) << form.mantissa
    m = k.bitcast(k.or_(k.and_(b, ~form.exponent_mask), half), x.dtype)
    e = k.sub(k.cast(stored, np.int32), form.bias - 1)
    e = k.select(tiny, k.sub(e, lift), e)
    plain = k.and_(k.ne(x, 0.0), k.lt(fabs(k, x), np.inf))
    return k.select(plain, m, x), k.select(plain, e, k.const(0, np.int32))


def ldexp(k: Any, x: Any, n: Any) -> Any:
    """x * 2**n with one rounding: three factors reach every exponent, and a result below the normal
    range is only rounded in the last, by a factor that leaves nothing of a value that was inexact."""
    if x.dtype.itemsize == 2:
        return k.cast(ldexp(k, k.cast(x, F32), n), x.dtype)
    form = layout(x.dtype)
    top, low = form.bias, form.mantissa + 1 - (form.bias - 1)  # 2**low: the least power times 2**(mantissa+1)
    limit = 4 * form.bias
    wide = np.dtype(np.int32 if bits(n) <= 32 else np.int64)
    n = k.cast(n, wide)
    n = k.int_op("smax", k.int_op("smin", n, limit), -limit)
    n = k.cast(n, form.int_dtype)
    for _ in range(2):
        up, down = k.gt(n, top), k.lt(n, 1 - form.bias)
        step = k.select(up, k.const(top, n.dtype), k.select(down, k.const(low, n.dtype), k.const(0, n.dtype)))
        x, n = x * _power_of_two(k, step, form), k.sub(n, step)
    n = k.int_op("smax", k.int_op("smin", n, top), 1 - form.bias)
    return x * _power_of_two(k, n, form)


def _power_of_two(k: Any, n: Any, form: Layout) -> Any:
    dtype = np.dtype(f"f{form.int_dtype.itemsize}")
    return k.bitcast(k.int_op("shl", k.add(n, form.bias), form.mantissa), dtype)


def modf(k: Any, x: Any) -> tuple[Any, Any]:
    """(fraction, whole part), both with the sign of x; an infinity has fraction 0."""
    whole = k.float_op("trunc", x)
    rest = k.select(k.eq(fabs(k, x), np.inf), k.const(0.0, x.dtype), x - whole)
    return k.float_op("copysign", rest, x), whole


# ---------------------------------------------------------------- neighbours


#: Before NumPy 2.5, nextafter(-0.0, 0.0) of float16 is -0.0.
_HALF_KEEPS_ZERO = bool(np.signbit(np.nextafter(np.float16(-0.0), np.float16(0.0))))


def nextafter(k: Any, x: Any, y: Any) -> Any:
    """The float after x towards y; itself if they are equal, NaN if one is."""
    form = layout(x.dtype)
    b = k.bitcast(x, form.int_dtype)
    away = k.not_(k.xor(k.lt(x, 0.0), k.lt(y, x)))
    one = k.const(1, b.dtype)
    moved = k.bitcast(k.select(away, k.add(b, one), k.sub(b, one)), x.dtype)
    least = k.float_op("copysign", k.bitcast(one, x.dtype), y)
    out = k.select(k.eq(x, 0.0), least, moved)
    out = k.select(k.eq(x, y), x if x.dtype == np.float16 and _HALF_KEEPS_ZERO else y, out)
    return k.select(k.or_(k.isnan(x), k.isnan(y)), x + y, out)


def spacing(k: Any, x: Any) -> Any:
    """The distance to the next float of larger size, with the sign of x; of float16 to the next larger float."""
    form = layout(x.dtype)
    b = k.bitcast(x, form.int_dtype)
    one = k.const(1, b.dtype)
    if x.dtype == np.float16:
        far = k.bitcast(k.select(k.lt(x, 0.0), k.sub(b, one), k.add(b, one)), x.dtype)
    else:
        far = k.bitcast(k.add(b, one), x.dtype)
    zero = k.bitcast(one, x.dtype)
    if x.dtype not in (np.float16, np.float32, np.float64):  # ml_dtypes keeps the sign of zero
        zero = k.float_op("copysign", zero, x)
    out = k.select(k.eq(x, 0.0), zero, k.sub(far, x))
    return k.select(k.lt(fabs(k, x), np.inf), out, k.const(np.nan, x.dtype))


def reduce_precision(k: Any, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """x rounded to a format with fewer bits, to nearest even; what is below its normal range becomes zero."""
    form = layout(x.dtype)
    b = k.bitcast(x, np.dtype(f"u{x.dtype.itemsize}"))
    if mantissa_bits < form.mantissa:
        cut = form.mantissa - mantissa_bits
        odd = k.and_(k.int_op("lshr", b, cut), 1)
        b = k.add(b, k.add(odd, (1 << (cut - 1)) - 1))
        b = k.and_(b, _ones(x) ^ ((1 << cut) - 1))
    if exponent_bits < form.exponent:
        reduced = (1 << (exponent_bits - 1)) - 1
        sign, e = k.and_(b, 1 << (bits(x) - 1)), k.and_(b, form.exponent_mask)
        over = k.gt(e, (form.bias + reduced) << form.mantissa)
        under = k.le(e, (form.bias - reduced) << form.mantissa)
        b = k.select(under, sign, k.select(over, k.or_(sign, form.exponent_mask), b))
    return k.select(k.isnan(x), x, k.bitcast(b, x.dtype))


def _ones(x: Any) -> int:
    return (1 << bits(x)) - 1


# ---------------------------------------------------------------- integers


def magnitude(k: Any, x: Any) -> Any:
    """|x| as the unsigned integer of the same width, which holds that of the smallest one too."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return k.cast(k.select(k.lt(x, 0), k.neg(x), x) if kind(x) == "i" else x, unsigned)


def _gcd(k: Any, x: Any, y: Any) -> Any:
    """Euclid's algorithm on unsigned integers."""
    return k.iterate(
        (x, y),
        lambda a, b: k.ne(b, 0),
        lambda a, b: (b, k.int_op("urem", a, k.select(k.eq(b, 0), k.const(1, b.dtype), b))),
    )[0]


def gcd(k: Any, x: Any, y: Any) -> Any:
    needs(k, x, "iu", "gcd")
    return k.cast(_gcd(k, magnitude(k, x), magnitude(k, y)), x.dtype)


def lcm(k: Any, x: Any, y: Any) -> Any:
    """|x| / gcd * |y|, wrapping as NumPy's, and 0 where both are 0."""
    needs(k, x, "iu", "lcm")
    a, b = magnitude(k, x), magnitude(k, y)
    g = _gcd(k, a, b)
    quotient = k.int_op("udiv", a, k.select(k.eq(g, 0), k.const(1, g.dtype), g))
    return k.cast(k.mul(quotient, b), x.dtype)


def count_bits(name: str, of_magnitude: bool, result: np.dtype | None) -> Any:
    """popcount, clz or ctz, of |x| for NumPy's bitwise_count; the result as `result`, or x's dtype."""

    def kernel(k: Any, x: Any) -> Any:
        needs(k, x, "iu", name)
        n = k.bit_op(name, magnitude(k, x) if of_magnitude else k.cast(x, np.dtype(f"u{x.dtype.itemsize}")))
        return k.cast(n, result or x.dtype)

    return kernel


def shift_right_logical(k: Any, x: Any, n: Any) -> Any:
    """x >> n with zeros shifted in; 0 for counts of the width or more."""
    inside = k.and_(k.ge(n, 0), k.lt(n, bits(x)))
    out = k.int_op("lshr", x, k.select(inside, n, k.const(0, n.dtype)))
    return k.select(inside, out, k.const(0, x.dtype))
