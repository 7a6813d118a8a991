"""Exponentials, logarithms and what is built from them: hyperbolic functions, sigmoid, erf.

exp: x = n*ln2 + r with |r| <= ln2/2 by two exact fused steps, e**r by a minimax polynomial, 2**n through
the exponent bits in two factors so that subnormal results are right. log: x = 2**e * (1 + f) with 1 + f in
[sqrt(1/2), sqrt(2)), log(1 + f) by the atanh series in s = f/(2 + f). Where a function must keep its
relative accuracy near a zero, sums are carried as unevaluated pairs (hi, lo).
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.vecmath.core import (
    INF,
    NAN,
    at_most,
    bits,
    clamp,
    copysign,
    fabs,
    fast_two_sum,
    floats,
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

# Beyond these exp is inf or 0 (expm1: -1, tanh and erf: 1) in the format of 8 or 4 bytes.
_EXP_RANGE = {8: (-746.0, 711.0), 4: (-104.0, 90.0)}
_TANH_ONE = {8: 22.0, 4: 10.0}
_ERF_ONE = {8: 5.9375, 4: 3.9375}


def _reduce(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """(i, r, c): x = i*ln2 + r + c, where c is the rounding error of r. x*log2(e) in range."""
    size = x.dtype.itemsize
    hi, lo = split("LN2", size, 2)
    n, i = round_product(k, x, split("LOG2E", size, 1)[0])
    exact = fma(k, n, -hi, x)
    r = fma(k, n, -lo, exact)
    return i, r, fma(k, n, -lo, exact - r)


def _scaled_exp(k: Any, x: Any, shift: int = 0) -> Any:
    """e**x * 2**shift, with overflow to inf and gradual underflow."""
    i, r, c = _reduce(k, clamp(k, x, *_EXP_RANGE[x.dtype.itemsize]))
    tail = fma(k, r * r, polynomial(k, r, "EXP"), c)
    a, b = halves(k, i + shift if shift else i)
    s = power_of_two(k, a)
    return fma(k, s, r + tail, s) * power_of_two(k, b)


def exp(k: Any, x: Any) -> Any:
    return _scaled_exp(k, x)


def exp2(k: Any, x: Any) -> Any:
    """2**x: the reduction is exact; 2**r - 1 = r*ln2 + r**2*q(r), with ln2 in two parts."""
    size = x.dtype.itemsize
    bound = {8: (-1080.0, 1030.0), 4: (-155.0, 130.0)}[size]
    x = clamp(k, x, *bound)
    n, i = round_product(k, x, 1.0)
    r = x - n
    hi, lo = split("LN2", size, 2)
    p = fma(k, r, hi, fma(k, r * r, polynomial(k, r, "EXP2"), r * lo))
    a, b = halves(k, i)
    s = power_of_two(k, a)
    return fma(k, s, p, s) * power_of_two(k, b)


def _expm1_pair(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """(hi, lo, s): e**x - 1 = (hi + lo)*s to about ten bits more than the format has."""
    i, r, c = _reduce(k, x)
    tail = fma(k, r * r, polynomial(k, r, "EXP"), fma(k, c, r, c))
    a, b = halves(k, i)
    sa, sb = power_of_two(k, a), power_of_two(k, b)
    one = power_of_two(k, k.neg(b))
    top, e0 = two_sum(k, sa, k.neg(one))
    hi, e1 = two_sum(k, top, sa * r)
    return hi, fma(k, sa, tail, e0 + e1), sb


def expm1(k: Any, x: Any) -> Any:
    lo, hi = _EXP_RANGE[x.dtype.itemsize]
    h, low, s = _expm1_pair(k, clamp(k, x, lo / 4, hi))
    return copysign(k, (h + low) * s, x)


def tanh(k: Any, x: Any) -> Any:
    """E/(E + 2) with E = expm1(2|x|) as a pair; the quotient is corrected by its remainder."""
    a = at_most(k, fabs(k, x), _TANH_ONE[x.dtype.itemsize])
    hi, lo, s = _expm1_pair(k, a + a)
    hi, lo = fast_two_sum(k, hi * s, lo * s)
    d, e = two_sum(k, hi, k.const(2.0, x.dtype))
    inverse = 1.0 / d
    q = hi * inverse
    rest = fma(k, k.neg(q), d, hi) + fma(k, k.neg(q), e + lo, lo)
    return copysign(k, fma(k, rest, inverse, q), x)


def sinh(k: Any, x: Any) -> Any:
    """H + H/(2H + 1) with H = expm1(|x|)/2."""
    hi, lo, s = _expm1_pair(k, at_most(k, fabs(k, x), _EXP_RANGE[x.dtype.itemsize][1]))
    h = (hi + lo) * 0.5 * s
    finite = at_most(k, h, 2.0 ** (fmt(x).bias - 8))
    y = h + finite / fma(k, finite, 2.0, 1.0)
    return copysign(k, k.select(k.lt(fabs(k, x), fmt(x).min_normal), fabs(k, x), y), x)


def cosh(k: Any, x: Any) -> Any:
    """A + 1/(4A) with A = e**|x| / 2."""
    a = _scaled_exp(k, fabs(k, x), -1)
    return a + 0.25 / a


def logistic(k: Any, x: Any) -> Any:
    """1/(1 + e**-x), from e**-|x| so that it neither overflows nor cancels."""
    e = _scaled_exp(k, k.neg(fabs(k, x)))
    return k.select(k.lt(x, 0.0), e, k.const(1.0, x.dtype)) / (1.0 + e)


# ---------------------------------------------------------------- logarithms


def _decompose(k: Any, x: Any) -> tuple[Any, Any]:
    """(e, m): x = 2**e * m for normal positive x, m in [sqrt(1/2), sqrt(2)); e is a float."""
    form = fmt(x)
    low = int(bits_of(form, 0.7071067811865476))
    b = bits(k, x)
    up = k.int_op("lshr", b - low + (form.bias << form.mantissa), form.mantissa)
    e = floats(k, k.or_(up, (form.bias + form.mantissa) << form.mantissa)) - (2.0**form.mantissa + form.bias)
    return e, floats(k, b - k.int_op("shl", up - form.bias, form.mantissa))


def bits_of(form: Any, value: float) -> int:
    """The bit pattern of a constant."""
    return form.dtype.type(value).view(form.int_dtype)


def _normalised(k: Any, x: Any) -> tuple[Any, Any]:
    """`_decompose` for subnormal x too."""
    form = fmt(x)
    tiny = k.lt(x, form.min_normal)
    lift = float(form.mantissa + 2)
    e, m = _decompose(k, k.select(tiny, x * 2.0**lift, x))
    return k.select(tiny, e - lift, e), m


def _log1p_tail(k: Any, f: Any) -> Any:
    """log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2))."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    return fma(k, s, fma(k, z, polynomial(k, z, "LOG"), half), k.neg(half))


def _log_edges(k: Any, x: Any, y: Any) -> Any:
    """y where 0 < x < inf; -inf at 0, NaN below, x itself at inf and NaN."""
    at_zero = k.select(k.eq(x, 0.0), k.const(-INF, x.dtype), x)
    outside = k.select(k.lt(x, 0.0), k.const(NAN, x.dtype), at_zero)
    return k.select(k.and_(k.gt(x, 0.0), k.lt(x, INF)), y, outside)


def _log_sum(k: Any, e: Any, f: Any, tail: Any) -> Any:
    """e*ln2 + f + tail, where e*(high part of ln2) is exact."""
    hi, lo = split("LN2", f.dtype.itemsize, 2, trim=12 if f.dtype.itemsize == 8 else 9)
    s, err = two_sum(k, e * hi, f)
    return s + (fma(k, e, lo, tail) + err)


def log(k: Any, x: Any) -> Any:
    e, m = _normalised(k, x)
    f = m - 1.0
    return _log_edges(k, x, _log_sum(k, e, f, _log1p_tail(k, f)))


def _log_in_base(k: Any, x: Any, unit: str, step: tuple[float, float]) -> Any:
    """e*step + log(1 + f)*unit, the product in twice the precision."""
    e, m = _normalised(k, x)
    f = m - 1.0
    h, low = fast_two_sum(k, f, _log1p_tail(k, f))
    hi, lo = split(unit, x.dtype.itemsize, 2)
    p, err = two_prod(k, h, k.const(hi, x.dtype))
    rest = fma(k, e, step[1], fma(k, low, hi, fma(k, h, lo, err)))
    s, err = two_sum(k, e * step[0], p)
    return _log_edges(k, x, s + (err + rest))


def log2(k: Any, x: Any) -> Any:
    return _log_in_base(k, x, "LOG2E", (1.0, 0.0))


def log10(k: Any, x: Any) -> Any:
    size = x.dtype.itemsize
    hi, lo = split("LOG10_2", size, 2, trim=12 if size == 8 else 9)
    return _log_in_base(k, x, "LOG10E", (hi, lo))


def log1p(k: Any, x: Any) -> Any:
    """log(u) for u = fl(1 + x), with what the sum lost put back into f."""
    form = fmt(x)
    one = k.const(1.0, x.dtype)
    u, lost = two_sum(k, one, x)
    e, m = _decompose(k, u)
    scale = power_of_two(k, bits(k, form.magic - at_most(k, e, 100.0)) - form.magic_bits)
    f, rest = fast_two_sum(k, m - 1.0, lost * scale)
    y = _log_edges(k, u, _log_sum(k, e, f, _log1p_tail(k, f) + fma(k, rest, k.neg(f), rest)))
    return k.select(k.lt(fabs(k, x), form.min_normal), x, y)  # also keeps -0.0


# ---------------------------------------------------------------- erf


def erf(k: Any, x: Any) -> Any:
    """x*(2/sqrt(pi) + x**2*p(x**2)) for |x| < 1, otherwise 1 - e**-q(|x|), where q approximates -log(erfc)."""
    size = x.dtype.itemsize
    a = fabs(k, x)
    z = x * x
    hi, lo = split("TWO_OVER_SQRT_PI", size, 2)
    near = fma(
        k, x, hi, x * fma(k, z, polynomial(k, k.select(k.lt(a, 1.0), z, k.const(0.0, x.dtype)), "ERF"), lo)
    )
    q = polynomial(k, at_most(k, a, _ERF_ONE[size]) - 1.0, "ERFC")
    return copysign(k, k.select(k.lt(a, 1.0), near, 1.0 - _scaled_exp(k, k.neg(q))), x)
