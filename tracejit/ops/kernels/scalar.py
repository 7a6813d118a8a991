"""Scalar kernel code for NumPy's semantics, where it takes more than one instruction: arithmetic.

Every function is written against the loop IR's builder `k`. Sources: NumPy's
`loops_arithmetic`, `npy_math` and `loops_utils` for the rules quoted here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.ir.kernel import Unsupported

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)


def kind(x: Any) -> str:
    """'b', 'i', 'u', 'f' or 'c'."""
    return "f" if x.dtype == dtypes.bfloat16 else x.dtype.kind


def needs(k: Any, x: Any, kinds: str, what: str) -> None:
    """Raises Unsupported, which makes the op run opaquely, unless `x` is of one of `kinds`."""
    if kind(x) not in kinds:
        raise Unsupported(f"{what} of {x.dtype}")


def real_dtype(d: np.dtype) -> np.dtype:
    """The dtype of |x|: the parts' for complex numbers."""
    return dtypes.real_part_dtype(d)


def bits(x: Any) -> int:
    return 8 * x.dtype.itemsize


def in_float32(kernel: Any) -> Any:
    """`kernel` with half precision operands computed in float32, as NumPy's loops do, and rounded once."""

    def widened(k: Any, *xs: Any, **params: Any) -> Any:
        if xs[0].dtype.itemsize > 2 or kind(xs[0]) != "f":
            return kernel(k, *xs, **params)
        out = kernel(k, *(k.cast(x, F32) if x.dtype == xs[0].dtype else x for x in xs), **params)
        narrow = xs[0].dtype
        if isinstance(out, tuple):
            return tuple(k.cast(o, narrow) if o.dtype == F32 else o for o in out)
        return k.cast(out, narrow)

    return widened


# ---------------------------------------------------------------- + - * / abs sign


def add(k: Any, x: Any, y: Any) -> Any:
    return k.or_(x, y) if kind(x) == "b" else k.add(x, y)


def mul(k: Any, x: Any, y: Any) -> Any:
    return k.and_(x, y) if kind(x) == "b" else k.mul(x, y)


def div(k: Any, x: Any, y: Any) -> Any:
    return complex_div(k, x, y) if kind(y) == "c" else k.div(x, y)


def complex_div(k: Any, x: Any, y: Any) -> Any:
    """Smith's algorithm; division by zero divides both parts by |re y|."""
    wide = k.ge(fabs(k, y.re), fabs(k, y.im))
    big, small = k.select(wide, y.re, y.im), k.select(wide, y.im, y.re)
    zero = k.eq(fabs(k, big), 0.0)  # then both parts are zero
    ratio = small / big
    scale = 1.0 / (big + small * ratio)
    re = k.select(wide, x.re + x.im * ratio, x.re * ratio + x.im) * scale
    im = k.select(wide, x.im - x.re * ratio, x.im * ratio - x.re) * scale
    d = fabs(k, y.re)
    return k.pair(k.select(zero, x.re / d, re), k.select(zero, x.im / d, im))


def fabs(k: Any, x: Any) -> Any:
    return k.float_op("fabs", x)


def absolute(k: Any, x: Any) -> Any:
    if kind(x) == "c":
        return hypot(k, x.re, x.im)
    if kind(x) == "i":
        return k.select(k.lt(x, 0), k.neg(x), x)
    return fabs(k, x) if kind(x) == "f" else x


def hypot(k: Any, a: Any, b: Any) -> Any:
    """sqrt(a*a + b*b) without overflow; f64 by C. F. Borges, "An improved algorithm for hypot" (2019)."""
    if a.dtype != F64:
        wide, narrow = (F64 if a.dtype == F32 else F32), a.dtype
        a, b = k.cast(a, wide), k.cast(b, wide)
        h = k.float_op("sqrt", a * a + b * b) if wide == F64 else hypot(k, a, b)
        inf = k.or_(k.eq(fabs(k, a), np.inf), k.eq(fabs(k, b), np.inf))
        return k.cast(k.select(inf, k.const(np.inf, wide), h), narrow)
    a, b = fabs(k, a), fabs(k, b)
    infinite = k.or_(k.eq(a, np.inf), k.eq(b, np.inf))
    x, y = k.select(k.ge(a, b), a, b), k.select(k.ge(a, b), b, a)
    down, up = k.gt(x, 1e150), k.lt(x, 1e-150)
    factor = k.select(down, k.const(2.0**-600, F64), k.select(up, k.const(2.0**600, F64), 1.0))
    back = k.select(down, k.const(2.0**600, F64), k.select(up, k.const(2.0**-600, F64), 1.0))
    x, y = x * factor, y * factor
    h = k.float_op("sqrt", k.float_op("fma", x, x, y * y))
    h2, x2 = h * h, x * x
    error = k.float_op("fma", k.neg(y), y, h2 - x2) + k.float_op("fma", h, h, k.neg(h2))
    error = error - k.float_op("fma", x, x, k.neg(x2))
    h = k.select(k.eq(h, 0.0), h, h - error / (h * 2.0))
    return k.select(infinite, k.const(np.inf, F64), h * back)


def sign(k: Any, x: Any) -> Any:
    """-1, 0 or 1; NaN for NaN; z/|z| for complex."""
    needs(k, x, "biuf", "sign")
    one, zero = k.const(1, x.dtype), k.const(0, x.dtype)
    if kind(x) in "bu":
        return k.select(k.ne(x, zero), one, zero)
    negative = k.select(k.lt(x, zero), k.const(-1, x.dtype), zero)
    out = k.select(k.gt(x, zero), one, negative)
    if kind(x) != "f":
        return out
    kept = k.isnan(x)
    if x.dtype == dtypes.bfloat16:  # ml_dtypes keeps the sign of zero
        kept = k.or_(kept, k.eq(x, zero))
    return k.select(kept, x, out)


def reciprocal(k: Any, x: Any) -> Any:
    needs(k, x, "fc", "reciprocal")
    if kind(x) != "c":
        return 1.0 / x
    wide = k.le(fabs(k, x.im), fabs(k, x.re))
    big, small = k.select(wide, x.re, x.im), k.select(wide, x.im, x.re)
    ratio = small / big
    scale = big + small * ratio
    one = k.const(1.0, ratio.dtype)
    return k.pair(k.select(wide, one, ratio) / scale, k.neg(k.select(wide, ratio, one)) / scale)


def rounding(name: str) -> Any:
    """floor, ceil, trunc, rint."""

    def kernel(k: Any, x: Any) -> Any:
        if kind(x) == "c":
            return k.pair(k.float_op(name, x.re), k.float_op(name, x.im))
        return k.float_op(name, x)

    return kernel


# ---------------------------------------------------------------- integer division, remainders
#
# Those of floats run opaquely: an exact remainder takes a number of steps that depends on the data.


def _int_parts(k: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """(quotient and remainder towards zero, y is zero), without traps."""
    zero = k.eq(y, 0)
    if kind(x) == "u":
        d = k.select(zero, k.const(1, x.dtype), y)
        return k.int_op("udiv", x, d), k.int_op("urem", x, d), zero
    overflow = k.and_(k.eq(x, int(np.iinfo(x.dtype).min)), k.eq(y, -1))
    d = k.select(k.or_(zero, overflow), k.const(1, x.dtype), y)
    return k.int_op("sdiv", x, d), k.int_op("srem", x, d), zero


def _adjust(k: Any, r: Any, y: Any) -> Any:
    """True where the truncated remainder `r` has to move to the divisor's sign."""
    return k.and_(k.ne(r, 0), k.xor(k.lt(r, 0), k.lt(y, 0)))


def floor_divide(k: Any, x: Any, y: Any) -> Any:
    """Integers: floor(x / y), 0 where y == 0, INT_MIN for INT_MIN // -1. Floats: as NumPy, exact in the remainder."""
    return divmod_(k, x, y)[0]


def remainder(k: Any, x: Any, y: Any) -> Any:
    """Python's %, with the sign of the divisor. Integers: 0 where y == 0."""
    return divmod_(k, x, y)[1]


def divmod_(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """(floor(x / y), x % y), from one remainder."""
    needs(k, x, "iuf", "divmod")
    return _float_divmod(k, x, y) if kind(x) == "f" else _int_divmod(k, x, y)


def _int_divmod(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    known = k.number(y)
    if known is not None and known > 0 and not known & (known - 1):  # rounding down, as shifts and masks do
        shift = k.const(known.bit_length() - 1, x.dtype)
        return k.int_op("ashr" if kind(x) == "i" else "lshr", x, shift), k.and_(
            x, k.const(known - 1, x.dtype)
        )
    q, r, zero = _int_parts(k, x, y)
    if kind(x) == "i":
        moved = _adjust(k, r, y)
        q, r = k.select(moved, k.sub(q, 1), q), k.select(moved, k.add(r, y), r)
    none = k.const(0, x.dtype)
    return k.select(zero, none, q), k.select(zero, none, r)


@in_float32
def _float_divmod(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """NumPy's: the quotient without its remainder, snapped to the nearest integer below; x / y where y == 0."""
    rest = c_fmod(k, x, y)
    q, moved = k.div(k.sub(x, rest), y), _adjust(k, rest, y)
    q, r = k.select(moved, k.sub(q, 1), q), k.select(moved, k.add(rest, y), rest)
    low = k.float_op("floor", q)
    snapped = k.select(k.gt(k.sub(q, low), 0.5), k.add(low, 1), low)
    ratio, none = k.div(x, y), k.const(0, x.dtype)
    q = k.select(k.eq(q, 0), k.float_op("copysign", none, ratio), snapped)
    return k.select(k.eq(y, 0), ratio, q), k.select(k.eq(r, 0), k.float_op("copysign", none, y), r)


def fmod(k: Any, x: Any, y: Any) -> Any:
    """C's remainder, with the sign of the dividend. Integers: 0 where y == 0."""
    needs(k, x, "iuf", "fmod")
    if kind(x) == "f":
        return c_fmod(k, x, y)
    _, r, zero = _int_parts(k, x, y)
    return k.select(zero, k.const(0, x.dtype), r)


def c_fmod(k: Any, x: Any, y: Any) -> Any:
    """The C library's fmod, which is exact; NumPy calls it too."""
    if x.dtype.itemsize == 2:
        return k.cast(c_fmod(k, k.cast(x, F32), k.cast(y, F32)), x.dtype)
    name, letter = ("fmod", "f64") if x.dtype.itemsize == 8 else ("fmodf", "f32")
    target = k.external(f"c:{name}", f"{letter}({letter},{letter})")
    return k.call(target, (x, y), out=x.dtype, work=50, cost=50)


# ---------------------------------------------------------------- powers


def integer_pow(k: Any, x: Any, *, n: int) -> Any:
    """x**n. Integers by squaring, as NumPy. Floats: exact products for n <= 2, otherwise
    double-word products (n up to 32 in size), within 1 ulp; larger ones through pow."""
    needs(k, x, "iufc" if n >= 0 else "fc", "integer_pow")  # eval raises for negative powers of integers
    if n == 0:
        return k.const(1, x.dtype)
    if kind(x) in "iuc":
        out = _power(abs(n), x, lambda a, b: k.mul(a, b))
        return complex_div(k, k.const(1, x.dtype), out) if n < 0 else out
    if x.dtype.itemsize == 2:
        return k.cast(integer_pow(k, k.cast(x, F32), n=n), x.dtype)
    if n in (1, 2):
        return x if n == 1 else x * x
    if n == -1:
        return 1.0 / x
    return _double_word_pow(k, x, n) if abs(n) <= 32 else k.math("pow", x, float(n))


def _power(n: int, x: Any, product: Any) -> Any:
    out = None
    while True:
        if n & 1:
            out = x if out is None else product(out, x)
        n >>= 1
        if not n:
            return out
        x = product(x, x)


def _double_word_pow(k: Any, x: Any, n: int) -> Any:
    def fma(a: Any, b: Any, c: Any) -> Any:
        return k.float_op("fma", a, b, c)

    def product(a: tuple, b: tuple) -> tuple:
        high = a[0] * b[0]
        low = fma(a[0], b[0], k.neg(high))
        for word, rest in ((a[0], b[1]), (b[0], a[1])):
            low = low if rest is None else fma(word, rest, low)
        return high, low

    if n > 0:
        base = (x, None)
    else:
        r = 1.0 / x
        base = (r, fma(k.neg(x), r, k.const(1.0, x.dtype)) * r)
    high, low = _power(abs(n), base, product)
    total = high + low
    # The low word of infinities is NaN, and that of a negative zero a positive one.
    return k.select(fabs(k, total) > 0, total, high)


def power(k: Any, x: Any, y: Any) -> Any:
    needs(k, x, "f", "pow")
    return k.math("pow", x, y)


# ---------------------------------------------------------------- functions


def sqrt(k: Any, x: Any) -> Any:
    needs(k, x, "f", "sqrt")
    return k.float_op("sqrt", x)
