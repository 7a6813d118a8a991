"""pow and cbrt.

pow: log(x) as a pair with about 65 good bits, times y as a pair, then the exponential of the pair, so that
the product's size (up to 700) does not cost accuracy. float32 goes through float64, where single numbers are good
enough. Zeros, negative, subnormal and infinite bases and results near the ends of the range are rare ones
(`vecmath.rare`). cbrt: a first value from the bits divided by 3, Newton's iteration for 1/cbrt, then one step
for the root itself with the residual in twice the precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.lowering.llvm.vecmath.core import (  # fmt: skip
    INF,
    NAN,
    bits,
    clamp,
    copysign,
    estrin,
    fabs,
    fast_two_sum,
    floats,
    fma,
    fmt,
    horner,
    split,
    two_prod,
)
from tracejit.lowering.llvm.vecmath.functions.exponential import (
    exp_parts,
    exp_sum,
    nearest,
    power_of_two,
    scaled,
)
from tracejit.lowering.llvm.vecmath.functions.logarithm import decompose, normalised, outside
from tracejit.lowering.llvm.vecmath.rare import rare
from tracejit.lowering.llvm.vecmath.tables import POLYNOMIALS

_F64 = np.dtype(np.float64)
# 2/3 = _THIRDS[0] + _THIRDS[1], the coefficient of s**3 in log(1 + f), as doubles.
_THIRDS = (2.0 / 3.0, 3.700743415417188e-17)
_SLOPE = 2.05  # 2 + 2.05*z is the derivative 2/(1 - z) of the logarithm by s, for the correction of s
_USUAL = {8: 700.0, 4: 120.0}  # of y*log(x), in float32 to base 2: the result is a normal number


def _log_parts(k: Any, e: Any, m: Any) -> tuple[Any, Any]:
    """(hi, lo) of log(2**e * m): 2s + s**3*t with s = (m - 1)/(m + 1), z = s**2 and t = 2/3 + z*p(z), of which cube and
    t are pairs. What is known first is added first: in scalar code the last of it is waited for."""
    f, d = m - 1.0, m + 1.0
    inverse = 1.0 / d
    s = f * inverse
    s_lo = fma(k, k.neg(s), m - (d - 1.0), fma(k, k.neg(s), d, f)) * inverse
    z = s * s
    cube = z * s
    cube_lo = fma(k, s, fma(k, s, s, k.neg(z)), fma(k, z, s, k.neg(cube)))
    p = estrin(k, z, POLYNOMIALS["POW_LOG"][8])
    t = fma(k, z, p, _THIRDS[0])
    t_lo = fma(k, z, p, _THIRDS[0] - t)
    step, less = split("LN2", 8, 2, trim=12)
    twice = s + s
    top = fma(k, e, step, twice)
    lo = fma(k, e, less, twice - fma(k, e, -step, top))
    lo = fma(k, s_lo, fma(k, z, _SLOPE, 2.0), lo)
    lo = fma(k, cube, t_lo, fma(k, cube_lo, t, fma(k, cube, _THIRDS[1], lo)))
    q = cube * t
    hi, more = fast_two_sum(k, top, q)
    return hi, lo + (fma(k, cube, t, k.neg(q)) + more)


def log_pair(k: Any, x: Any) -> tuple[Any, Any]:
    """(hi, lo) of log(x) for normal x > 0."""
    return fast_two_sum(k, *_log_parts(k, *decompose(k, x)))


def _power_double(k: Any, x: Any, y: Any) -> Any:
    hi, lo = _log_parts(k, *decompose(k, x))
    p, rest = two_prod(k, hi, y)
    top, tail, i = exp_parts(k, p, rest, (lo, y))
    s = power_of_two(k, i)
    return _checked(k, p, fma(k, s, tail, s * top), x, y)


def _power_single(k: Any, x: Any, y: Any) -> Any:
    """2**(y*log2(x)) in float64, with polynomials for float32."""
    e, m = decompose(k, k.cast(x, _F64))
    s = (m - 1.0) / (m + 1.0)
    p = k.cast(y, _F64) * fma(k, s, horner(k, s * s, POLYNOMIALS["LOG2_WIDE"][4]), e)
    n, i = nearest(k, p, 1.0)
    q = horner(k, p - n, POLYNOMIALS["EXP2_WIDE"][4])
    return _checked(k, p, k.cast(q * power_of_two(k, i), np.float32), x, y)


def _checked(k: Any, p: Any, z: Any, x: Any, y: Any) -> Any:
    """z, or where x or the exponent p is not a usual one the power by the full function."""
    far = k.not_(k.le(fabs(k, p), _USUAL[x.dtype.itemsize]))
    return rare(k, k.or_(outside(k, x, INF), far), "pow.any", z, x, y)


def power(k: Any, x: Any, y: Any) -> Any:
    """x**y as C's pow."""
    return (_power_double if x.dtype == _F64 else _power_single)(k, x, y)


def _positive_power(k: Any, a: Any, y: Any) -> Any:
    """a**y for finite a > 0 and finite y."""
    hi, lo = fast_two_sum(k, *_log_parts(k, *normalised(k, a)))
    y = clamp(k, y, -(2.0**70), 2.0**70)  # the product stays finite, and far beyond the range of exp
    p, e = two_prod(k, hi, y)
    limit = 800.0
    low = k.select(k.gt(fabs(k, p), limit), k.const(0.0, p.dtype), fma(k, lo, y, e))
    return scaled(k, *exp_sum(k, clamp(k, p, -limit, limit), low))


def _power_any(k: Any, x: Any, y: Any) -> Any:
    """x**y for all arguments."""
    if x.dtype.itemsize == 4:
        return k.cast(_power_any(k, k.cast(x, _F64), k.cast(y, _F64)), x.dtype)
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


# 1/cbrt(x) has about the bits start - bits(x)/3 above the shift.
_ROOT = {8: (32, 1430188458.0), 4: (9, 2773276.0)}
_SMALL = {
    8: (2.0**-900, 600),
    4: (2.0**-100, 96),
}  # below it the residual underflows; the power of 2 against that


def cbrt(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    usual = k.and_(k.ge(a, _SMALL[fmt(x).size][0]), k.lt(a, INF))
    return rare(k, k.not_(usual), "cbrt.any", copysign(k, _root(k, a), x), x)


def _root(k: Any, a: Any) -> Any:
    """The cube root of a usual positive number."""
    form = fmt(a)
    shift, start = _ROOT[form.size]
    magic = 2.0**form.mantissa
    number = _as_float(k, k.int_op("lshr", bits(k, a), shift), form)
    r = floats(k, k.int_op("shl", bits(k, fma(k, number, -1.0 / 3.0, start + magic)), shift))
    for terms in ((1 / 3, 2 / 9, 14 / 81), (1 / 3, 2 / 9))[: form.size // 4]:
        h = fma(k, r * r, k.neg(r * a), 1.0)
        r = fma(k, r * h, horner(k, h, terms), r)
    square = r * r
    y = a * square
    y2, lost = two_prod(k, y, y)
    rest = fma(k, k.neg(y2), y, a)
    if form.size == 8:
        rest = rest - lost * y
    return fma(k, rest, square * (1.0 / 3.0), y)


def _as_float(k: Any, i: Any, form: Any) -> Any:
    """A small non-negative integer as a float; from 64 bits through those of 2**mantissa."""
    if form.size == 4:
        return k.cast(i, np.float32)
    return floats(k, k.or_(i, (form.bias + form.mantissa) << form.mantissa)) - 2.0**form.mantissa


def _cbrt_any(k: Any, x: Any) -> Any:
    """cbrt of zero, of very small numbers, infinity and NaN."""
    a = fabs(k, x)
    power = _SMALL[fmt(x).size][1]
    y = _root(k, a * 2.0**power) * 2.0 ** (-power // 3)
    return copysign(k, k.select(k.and_(k.gt(a, 0.0), k.lt(a, INF)), y, a), x)


RARE = {"pow.any": (_power_any, 2), "cbrt.any": (_cbrt_any, 1)}
