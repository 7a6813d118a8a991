"""Exponentials and what is built from them: hyperbolic functions, sigmoid, erf.

x = n*log(2) + r with |r| <= log(2)/2 by two fused steps, e**r by a minimax polynomial, 2**n through the exponent
bits. n*log(2) is exact in its first part, so r is rounded once; what that loses is added where it counts. Sums
that must keep their relative accuracy near a zero are carried as unevaluated pairs (hi, lo).

exp itself has n such that e**r is from 0.75 to 1.5. There e**r - 1 has no last place above a quarter of the
result's, so that nothing has to be added for what its rounding loses; what x - n*log(2) has beyond its exact first part
is added to the small sum of the higher terms.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tracejit.lowering.llvm.vecmath.core import (  # fmt: skip
    at_most,
    bits,
    by_pairs,
    clamp,
    copysign,
    even_odd,
    fabs,
    fast_two_sum,
    first_last,
    floats,
    fma,
    fmt,
    horner,
    pairs,
    polynomial,
    split,
)
from tracejit.lowering.llvm.vecmath.outline import scale
from tracejit.lowering.llvm.vecmath.rare import rare
from tracejit.lowering.llvm.vecmath.tables import CONSTANTS, POLYNOMIALS

# Beyond these exp is inf or 0 (expm1: -1, tanh and erf: 1) in the format of 8 or 4 bytes.
_EXP_RANGE = {8: (-746.0, 711.0), 4: (-104.0, 90.0)}
_TILT = 0.08496250072115619  # log2(0.75) + 1/2: what exp's quotient is less by when it is rounded
_NORMAL = {8: 708.0, 4: 87.0}  # up to here exp(x) and exp(-x) are normal numbers
_MINUS_ONE = {8: -40.0, 4: -20.0}
_TANH_ONE = {8: 22.0, 4: 10.0}
_TANH_NEAR = 0.97
_ERF_SLOPE = float(Fraction(CONSTANTS["TWO_OVER_SQRT_PI"]) - 1)
_ERF_NEAR = 1.125
_ERF_ONE = {8: 5.9375, 4: 3.9375}


def nearest(k: Any, x: Any, c: float) -> tuple[Any, Any]:
    """(n, i): x*c rounded to an integer, as a float, and as the low bits of an integer."""
    magic = fmt(x).magic
    t = fma(k, x, c, magic)
    return t - magic, bits(k, t)


def _reduce(k: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """(n, i, r, exact): x = n*log(2) + r, where r = exact - n*(low part of log(2)) is rounded."""
    size = x.dtype.itemsize
    hi, lo = split("LN2", size, 2)
    n, i = nearest(k, x, split("LOG2E", size, 1)[0])
    exact = fma(k, n, -hi, x)
    return n, i, fma(k, n, -lo, exact), exact


def _lost(k: Any, n: Any, r: Any, exact: Any) -> Any:
    """What rounding r lost."""
    return fma(k, n, -split("LN2", r.dtype.itemsize, 2)[1], exact - r)


def power_of_two(k: Any, i: Any, ahead: int = 0) -> Any:
    """2.0**(i + ahead) from the low bits of an integer."""
    form = fmt(floats(k, i))
    return floats(k, k.int_op("shl", i, form.mantissa) + ((form.bias + ahead) << form.mantissa))


def exp_parts(
    k: Any, x: Any, low: Any = None, product: tuple[Any, Any] | None = None
) -> tuple[Any, Any, Any]:
    """(top, tail, i): (top + tail) * 2**n = e**(x + low + the product of two), n: the low bits of i.

    top = 1 + r is about 0.7 to 1.35; what it loses is added with the tail.
    """
    n, i, r, exact = _reduce(k, x)
    small = None
    if low is not None:
        small = fma(k, n, -split("LN2", x.dtype.itemsize, 2)[1], low)
        small = fma(k, *product, small) if product else small
        r = exact + small
    top = r + 1.0
    rest = r - (top - 1.0)
    if small is not None:
        rest = rest + ((exact - r) + small)
    return top, fma(k, r * r, by_pairs(k, r, POLYNOMIALS["EXP"][x.dtype.itemsize]), rest), i


def exp_sum(k: Any, x: Any, low: Any = None) -> tuple[Any, Any]:
    """(y, i): the same with y = top + tail."""
    top, tail, i = exp_parts(k, x, low)
    return top + tail, i


def factors(k: Any, y: Any, i: Any, shift: int = 0) -> tuple[Any, Any]:
    """(m, s): y * 2**(n + shift) = m * s for y about 1 with about half of the power in each: neither is subnormal."""
    magic = fmt(y).magic
    half = bits(k, fma(k, floats(k, i) - magic, 0.5, magic))
    return y * power_of_two(k, half), power_of_two(k, i - half, shift)


def scaled(k: Any, y: Any, i: Any, shift: int = 0) -> Any:
    """y * 2**(n + shift) in one step or two, so that overflow and gradual underflow are right."""
    if k.scales:
        return scale(k, y, floats(k, i) - (fmt(y).magic - shift))
    m, s = factors(k, y, i, shift)
    return m * s


def _tilted(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """(n, power, exact): x = n*log(2) + r with e**r from 0.75 to 1.5, where r = exact - n*(low part of log(2)); `power`
    has n where exponents have their bits."""
    form = fmt(x)
    t = fma(k, x, split("LOG2E", form.size, 1)[0], -_TILT) + form.magic
    n = t - form.magic
    return n, k.int_op("shl", bits(k, t), form.mantissa), fma(k, n, -split("LN2", form.size, 2)[0], x)


def _grown(k: Any, n: Any, exact: Any) -> Any:
    """e**r - 1 where that is from -0.25 to 0.5, in a short chain, as loops may wait for it. What r has beyond its exact
    part is added where sums are small, so that nothing is lost of that."""
    lo = -split("LN2", exact.dtype.itemsize, 2)[1]
    r, low = fma(k, n, lo, exact), n * lo
    z, p = r * r, pairs(k, r, POLYNOMIALS["EXP_TILTED"][r.dtype.itemsize])
    if r.dtype.itemsize == 4:
        return exact + fma(k, z, horner(k, z, p), low)
    fourth = z * z
    high = fma(k, fourth, p[4], fma(k, z, p[3], p[2]))
    return exact + fma(k, z, fma(k, fourth, high, fma(k, z, p[1], p[0])), low)


def _power(k: Any, power: Any, shift: int = 0) -> Any:
    """2.0**(n + shift) from n where exponents have their bits."""
    form = fmt(floats(k, power))
    return floats(k, power + ((form.bias + shift) << form.mantissa))


def scaled_exp(k: Any, x: Any, shift: int = 0) -> Any:
    """e**x * 2**shift, with overflow to inf and gradual underflow."""
    form = fmt(x)
    n, power, exact = _tilted(k, clamp(k, x, *_EXP_RANGE[form.size]))
    y = _grown(k, n, exact)
    if k.scales:
        return scale(k, 1.0 + y, n + shift if shift else n)
    half = k.int_op("shl", bits(k, fma(k, n, 0.5, form.magic)), form.mantissa)
    s = _power(k, half)
    return fma(k, s, y, s) * _power(k, power - half, shift)


def exp(k: Any, x: Any) -> Any:
    return scaled_exp(k, x)


def exp_alone(k: Any, x: Any) -> Any:
    """exp where it is not part of a vector, and a loop may wait for each of its steps: without limits of x, and times
    a power of two whose bits are there early."""
    n, power, exact = _tilted(k, x)
    s = _power(k, power)
    beyond = k.not_(k.le(fabs(k, x), _NORMAL[fmt(x).size]))
    return rare(k, beyond, "exp.any", fma(k, s, _grown(k, n, exact), s), x)


def exp2(k: Any, x: Any) -> Any:
    """2**x: the reduction is exact; 2**r - 1 = r*log(2) + r**2*q(r), with log(2) in two parts in float64."""
    size = x.dtype.itemsize
    x = clamp(k, x, *{8: (-1080.0, 1030.0), 4: (-155.0, 130.0)}[size])
    n, i = nearest(k, x, 1.0)
    r = x - n
    hi, lo = split("LN2", size, 2)
    p = polynomial(k, r, "EXP2")
    tail = fma(k, r * r, p, r * lo) if size == 8 else r * r * p
    return scaled(k, 1.0 + fma(k, r, hi, tail), i)


def expm1_pair(k: Any, x: Any) -> tuple[Any, Any]:
    """(hi, lo): e**x - 1 to about ten bits more than the format has; x within the range of normal results."""
    n, i, r, exact = _reduce(k, x)
    c = _lost(k, n, r, exact)
    high = POLYNOMIALS["EXPM1"][x.dtype.itemsize][1:]
    tail = fma(k, r, fma(k, r * r, even_odd(k, r, high), r * 0.5), fma(k, c, r, c))
    s = power_of_two(k, i)
    less = s - 1.0
    hi = fma(k, s, r, less)
    return hi, fma(k, s, tail, fma(k, s, r, less - hi) + ((s - less) - 1.0))


def expm1(k: Any, x: Any) -> Any:
    size = x.dtype.itemsize
    lo = _MINUS_ONE[size]
    hi, low = expm1_pair(k, k.select(k.lt(x, lo), k.const(lo, x.dtype), x))
    out = k.not_(k.le(x, _NORMAL[size]))
    return rare(k, out, "expm1.any", copysign(k, hi + low, x), x)


def _hyperbolic(k: Any, x: Any) -> tuple[Any, ...]:
    """(up, down, r, s, c) for x >= 0: 2**(n - 1) and 2**(-n - 1), r + s = sinh(r) with what rounding r lost,
    c = cosh(r) - 1. sinh(x) = (up - down)*(1 + c) + (up + down)*(r + s), cosh(x) with the signs exchanged."""
    n, i, r, exact = _reduce(k, x)
    z = r * r
    s = fma(k, z * r, _short(k, z, "SINH"), _lost(k, n, r, exact))
    up = power_of_two(k, i, -1)
    down = floats(k, bits_sum(up) - bits(k, up))
    return up, down, r, s, z * _short(k, z, "COSH")


def bits_sum(up: Any) -> int:
    """The sum of the bits of 2**(n - 1) and 2**(-n - 1)."""
    form = fmt(up)
    return (2 * form.bias - 2) << form.mantissa


def _short(k: Any, z: Any, name: str) -> Any:
    return horner(k, z, POLYNOMIALS[name][z.dtype.itemsize])


def _beyond(k: Any, a: Any) -> Any:
    """Whether e**a is too large for `_hyperbolic`, or a NaN."""
    return k.not_(k.le(a, _NORMAL[fmt(a).size]))


def sinh(k: Any, x: Any) -> Any:
    size = fabs(k, x)
    up, down, r, s, c = _hyperbolic(k, size)
    a, b = up - down, up + down
    y = fma(k, b, r, a)
    lost = fma(k, b, r, a - y) + ((up - a) - down)
    return rare(k, _beyond(k, size), "sinh.any", copysign(k, y + fma(k, a, c, fma(k, b, s, lost)), x), x)


def cosh(k: Any, x: Any) -> Any:
    size = fabs(k, x)
    up, down, r, s, c = _hyperbolic(k, size)
    a, b = up - down, up + down
    y = b + fma(k, b, c, fma(k, a, r + s, (up - b) + down))
    return rare(k, _beyond(k, size), "cosh.any", y, x)


def _large_any(k: Any, x: Any) -> Any:
    """cosh(x) = e**|x|/2 beyond the range of normal results of exp."""
    return scaled_exp(k, fabs(k, x), -1)


def _sinh_any(k: Any, x: Any) -> Any:
    return copysign(k, _large_any(k, x), x)


def tanh(k: Any, x: Any) -> Any:
    return (_tanh_single if x.dtype.itemsize == 4 else _tanh_double)(k, x)


def _tanh_double(k: Any, x: Any) -> Any:
    """E/(E + 2) with E = expm1(2|x|) as a pair; the quotient is corrected by its remainder."""
    a = at_most(k, fabs(k, x), _TANH_ONE[8])
    hi, lo = expm1_pair(k, a + a)
    hi, lo = fast_two_sum(k, hi, lo)
    d = hi + 2.0
    lost = hi - (d - 2.0)
    inverse = 1.0 / d
    q = hi * inverse
    rest = fma(k, k.neg(q), d, hi) + fma(k, k.neg(q), lost + lo, lo)
    return copysign(k, fma(k, rest, inverse, q), x)


def _tanh_single(k: Any, x: Any) -> Any:
    """An odd polynomial for |x| < 0.97, otherwise 1 - 2/(e**(2|x|) + 1), where the second part of log(2) is too small
    to count."""
    a = fabs(k, x)
    z = a * a
    near = fma(k, a * z, _short(k, z, "TANH"), a)
    b = at_most(k, a, _TANH_ONE[4])
    b = b + b
    n, i = nearest(k, b, split("LOG2E", 4, 1)[0])
    r = fma(k, n, -split("LN2", 4, 1)[0], b)
    s = power_of_two(k, i)
    far = 1.0 - 2.0 / fma(k, s, fma(k, r * r, polynomial(k, r, "EXP"), r), s + 1.0)
    return copysign(k, k.select(k.lt(a, _TANH_NEAR), near, far), x)


def logistic(k: Any, x: Any) -> Any:
    """1/(1 + e**-x), from e**-|x| so that it neither overflows nor cancels."""
    e = scaled_exp(k, k.neg(fabs(k, x)))
    return k.select(k.lt(x, 0.0), e, k.const(1.0, x.dtype)) / (1.0 + e)


def _expm1_any(k: Any, x: Any) -> Any:
    """expm1 of NaN and of very large numbers, where it is exp."""
    return scaled_exp(k, x)


def erf_near(k: Any, x: Any, z: Any) -> Any:
    """erf(x) for |x| < 1.125 and z = x**2: x + x*(2/sqrt(pi) - 1 + z*p(z))."""
    return fma(k, x, fma(k, z, first_last(k, z, POLYNOMIALS["ERF"][8]), _ERF_SLOPE), x)


def erf(k: Any, x: Any) -> Any:
    return (_erf_single if x.dtype.itemsize == 4 else _erf_double)(k, x)


def _erf_far(k: Any, p: Any) -> Any:
    """1 - p**4 for the fourth root of erfc."""
    square = p * p
    return fma(k, k.neg(square), square, 1.0)


def _erf_double(k: Any, x: Any) -> Any:
    """x + x*p(x**2) for |x| < 1.125, otherwise 1 - p(|x| - 1.125)**4: of the errors of p little is left, as erfc
    is at most 0.12 there."""
    a = fabs(k, x)
    far = _erf_far(k, first_last(k, at_most(k, a, _ERF_ONE[8]) - _ERF_NEAR, POLYNOMIALS["ERFC_ROOT"][8]))
    return copysign(k, k.select(k.lt(a, _ERF_NEAR), erf_near(k, x, x * x), far), x)


def _erf_single(k: Any, x: Any) -> Any:
    """The same by one polynomial with the coefficients of either, as there are about as many."""
    a = fabs(k, x)
    near = k.lt(a, _ERF_NEAR)
    w = k.select(near, x * x, at_most(k, a, _ERF_ONE[4]) - _ERF_NEAR)
    both = zip((_ERF_SLOPE, *POLYNOMIALS["ERF"][4]), POLYNOMIALS["ERFC_ROOT"][4], strict=True)
    p = horner(k, w, [k.select(near, k.const(c, x.dtype), k.const(d, x.dtype)) for c, d in both])
    return copysign(k, k.select(near, fma(k, x, p, x), _erf_far(k, p)), x)


#: What is used in place of functions outside of loops that are vectorised.
ALONE = {"exp": (exp_alone, 1)}
RARE = {
    "exp.any": (exp, 1),
    "expm1.any": (_expm1_any, 1),
    "sinh.any": (_sinh_any, 1),
    "cosh.any": (_large_any, 1),
}
