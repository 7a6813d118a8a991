"""Scalar kernel code for NumPy's semantics, where it takes more than one instruction.

Every function is written against the loop IR's builder `k`. Sources: NumPy's
`loops_arithmetic`, `npy_math` and `loops_utils` for the rules quoted here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.lowering.loopir import Pair, Unsupported

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)


def kind(x: Any) -> str:
    """'b', 'i', 'u', 'f' or 'c'."""
    return "f" if x.dtype == dtypes.bfloat16 else x.dtype.kind


def needs(x: Any, kinds: str, what: str) -> None:
    """Raises Unsupported unless `x` is of one of `kinds`."""
    if kind(x) not in kinds:
        raise Unsupported(f"{what} of {x.dtype}")


def real_dtype(d: np.dtype) -> np.dtype:
    """The dtype of |x|: the parts' for complex numbers."""
    return dtypes.real_part_dtype(d)


def bits(x: Any) -> int:
    return 8 * x.dtype.itemsize


def lowest(dtype: np.dtype) -> Any:
    """The identity of maximum: -inf, the smallest integer or False."""
    return limit(dtype, "min", -np.inf)


def highest(dtype: np.dtype) -> Any:
    """The identity of minimum: inf, the largest integer or True."""
    return limit(dtype, "max", np.inf)


def limit(dtype: np.dtype, end: str, infinity: float) -> Any:
    if dtype.kind == "b":
        return end == "max"
    return getattr(np.iinfo(dtype), end) if dtype.kind in "iu" else infinity


# ---------------------------------------------------------------- + - * / abs sign


def add(k: Any, x: Any, y: Any) -> Any:
    return k.or_(x, y) if kind(x) == "b" else k.add(x, y)


def mul(k: Any, x: Any, y: Any) -> Any:
    return k.and_(x, y) if kind(x) == "b" else k.mul(x, y)


def div(k: Any, x: Any, y: Any) -> Any:
    return complex_div(k, x, y) if isinstance(y, Pair) else k.div(x, y)


def complex_div(k: Any, x: Pair, y: Pair) -> Pair:
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
    if isinstance(x, Pair):
        return hypot(k, x.re, x.im)
    if kind(x) == "i":
        return k.select(k.lt(x, 0), k.neg(x), x)
    return fabs(k, x) if kind(x) == "f" else x


def hypot(k: Any, a: Any, b: Any) -> Any:
    """sqrt(a*a + b*b) without overflow; f64 by C. F. Borges, "An improved algorithm for hypot" (2019)."""
    if a.dtype == F32:
        a, b = k.cast(a, F64), k.cast(b, F64)
        return k.cast(k.float_op("sqrt", a * a + b * b), F32)
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
    if isinstance(x, Pair):
        raise Unsupported("sign of complex numbers")
    one, zero = k.const(1, x.dtype), k.const(0, x.dtype)
    if kind(x) in "bu":
        return k.select(k.ne(x, zero), one, zero)
    negative = k.select(k.lt(x, zero), k.const(-1, x.dtype), zero)
    out = k.select(k.gt(x, zero), one, negative)
    return k.select(k.isnan(x), x, out) if kind(x) == "f" else out


def reciprocal(k: Any, x: Any) -> Any:
    needs(x, "fc", "reciprocal")
    if not isinstance(x, Pair):
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
        if isinstance(x, Pair):
            return k.pair(k.float_op(name, x.re), k.float_op(name, x.im))
        return k.float_op(name, x)

    return kernel


# ---------------------------------------------------------------- integer division, remainders


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
    """Integers: floor(x / y), 0 where y == 0, INT_MIN for INT_MIN // -1. Floats: `npy_floor_divide`."""
    needs(x, "iuf", "floor_divide")
    if kind(x) == "f":
        return _float_floor_divide(k, x, y)
    q, r, zero = _int_parts(k, x, y)
    if kind(x) == "i":
        q = k.select(_adjust(k, r, y), k.sub(q, 1), q)
    return k.select(zero, k.const(0, x.dtype), q)


def _float_floor_divide(k: Any, x: Any, y: Any) -> Any:
    r = k.math("fmod", x, y)
    q = (x - r) / y
    q = k.select(_adjust(k, r, y), q - 1.0, q)
    down = k.float_op("floor", q)
    down = k.select(k.gt(q - down, 0.5), down + 1.0, down)
    zero = k.float_op("copysign", k.const(0.0, x.dtype), x / y)
    return k.select(k.eq(y, 0.0), x / y, k.select(k.eq(q, 0.0), zero, down))


def remainder(k: Any, x: Any, y: Any) -> Any:
    """Python's %: the sign of the divisor. Integers: 0 where y == 0."""
    needs(x, "iuf", "remainder")
    if kind(x) == "f":
        r = k.math("fmod", x, y)
        out = k.select(_adjust(k, r, y), r + y, r)
        return k.select(k.eq(r, 0.0), k.float_op("copysign", k.const(0.0, x.dtype), y), out)
    _, r, zero = _int_parts(k, x, y)
    if kind(x) == "i":
        r = k.select(_adjust(k, r, y), k.add(r, y), r)
    return k.select(zero, k.const(0, x.dtype), r)


def fmod(k: Any, x: Any, y: Any) -> Any:
    """C's remainder: the sign of the dividend. Integers: 0 where y == 0."""
    needs(x, "iuf", "fmod")
    if kind(x) == "f":
        return k.math("fmod", x, y)
    _, r, zero = _int_parts(k, x, y)
    return k.select(zero, k.const(0, x.dtype), r)


# ---------------------------------------------------------------- powers


def integer_pow(k: Any, x: Any, *, n: int) -> Any:
    """x**n. Integers by squaring, as NumPy. Floats: exact products for n <= 2, otherwise
    double-word products (n up to 32 in size), within 1 ulp; larger ones through pow."""
    needs(x, "iuf" if n >= 0 else "f", "integer_pow")  # eval raises for negative powers of integers
    if n == 0:
        return k.const(1, x.dtype)
    if kind(x) in "iu":
        return _power(n, x, lambda a, b: k.mul(a, b))
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
        return high, fma(a[0], b[0], k.neg(high)) + (a[0] * b[1] + a[1] * b[0])

    if n > 0:
        base = (x, k.const(0.0, x.dtype))
    else:
        r = 1.0 / x
        base = (r, fma(k.neg(x), r, k.const(1.0, x.dtype)) * r)
    high, low = _power(abs(n), base, product)
    total = high + low
    return k.select(k.isnan(total), high, total)  # infinities: inf - inf in the low word


def power(k: Any, x: Any, y: Any) -> Any:
    needs(x, "f", "pow")
    return k.math("pow", x, y)


# ---------------------------------------------------------------- order


def maximum(k: Any, x: Any, y: Any) -> Any:
    return _extremum(k, x, y, {"f": "fmaximum", "i": "smax", "u": "umax"}, k.or_)


def minimum(k: Any, x: Any, y: Any) -> Any:
    return _extremum(k, x, y, {"f": "fminimum", "i": "smin", "u": "umin"}, k.and_)


def _extremum(k: Any, x: Any, y: Any, names: dict[str, str], of_bools: Any) -> Any:
    needs(x, "biuf", "maximum or minimum")
    if kind(x) == "b":
        return of_bools(x, y)
    return (k.float_op if kind(x) == "f" else k.int_op)(names[kind(x)], x, y)


def ignoring_nan(which: Any) -> Any:
    """fmax, fmin: the other operand where one is NaN."""

    def kernel(k: Any, x: Any, y: Any) -> Any:
        out = which(k, x, y)
        return k.select(k.isnan(x), y, k.select(k.isnan(y), x, out)) if kind(x) == "f" else out

    return kernel


def order(predicate: str) -> Any:
    """lt, le, gt, ge; complex numbers lexicographically, as NumPy."""

    def kernel(k: Any, x: Any, y: Any) -> Any:
        if kind(x) == "b":
            x, y = k.cast(x, np.uint8), k.cast(y, np.uint8)
        if not isinstance(x, Pair):
            return k.compare(predicate, x, y)
        ordered = k.not_(k.or_(k.isnan(x.im), k.isnan(y.im)))
        first = k.and_(k.compare(predicate[0] + "t", x.re, y.re), ordered)
        return k.or_(first, k.and_(k.eq(x.re, y.re), k.compare(predicate, x.im, y.im)))

    return kernel


def isinf(k: Any, x: Any) -> Any:
    if isinstance(x, Pair):
        return k.or_(isinf(k, x.re), isinf(k, x.im))
    return k.eq(fabs(k, x), np.inf)


def isfinite(k: Any, x: Any) -> Any:
    if isinstance(x, Pair):
        return k.and_(isfinite(k, x.re), isfinite(k, x.im))
    return k.lt(fabs(k, x), np.inf)


def signbit(k: Any, x: Any) -> Any:
    return k.lt(k.float_op("copysign", k.const(1.0, x.dtype), x), 0)


def equal(k: Any, x: Any, y: Any) -> Any:
    return k.not_(k.xor(x, y)) if kind(x) == "b" else k.eq(x, y)


def not_equal(k: Any, x: Any, y: Any) -> Any:
    return k.xor(x, y) if kind(x) == "b" else k.ne(x, y)


# ---------------------------------------------------------------- bits


def shift(op: str) -> Any:
    """Shifts; counts of the width or more (or negative) give what shifting forever would."""

    def kernel(k: Any, x: Any, n: Any) -> Any:
        width = bits(x)
        name = "lshr" if op == "ashr" and kind(x) == "u" else op
        inside = k.and_(k.ge(n, 0), k.lt(n, width)) if kind(n) == "i" else k.lt(n, width)
        last = k.const(width - 1 if name == "ashr" else 0, x.dtype)
        out = k.int_op(name, x, k.select(inside, n, last))
        return out if name == "ashr" else k.select(inside, out, k.const(0, x.dtype))

    return kernel


# ---------------------------------------------------------------- functions


def exp(k: Any, x: Any) -> Any:
    if not isinstance(x, Pair):
        return k.math("exp", x)
    size = k.math("exp", x.re)
    real = k.eq(x.im, 0)  # then the result is real, infinities included
    vanishes = k.eq(size, 0)
    re = k.select(k.or_(real, vanishes), size, size * k.math("cos", x.im))
    im = k.select(vanishes, k.const(0.0, size.dtype), size * k.math("sin", x.im))
    im = k.select(real, x.im, im)
    return k.pair(re, im)


def sqrt(k: Any, x: Any) -> Any:
    needs(x, "f", "sqrt")
    return k.float_op("sqrt", x)


def logistic(k: Any, x: Any) -> Any:
    """In e = exp(-|x|), which does not overflow."""
    needs(x, "f", "logistic")
    e = k.math("exp", k.neg(fabs(k, x)))
    one = k.const(1.0, x.dtype)
    return k.select(k.lt(x, 0), e, one) / (one + e)
