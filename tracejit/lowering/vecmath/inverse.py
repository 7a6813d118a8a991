"""Inverse hyperbolic functions: logarithms of sums that are carried as unevaluated pairs.

arcsinh(x) = log(|x| + sqrt(x**2 + 1)), arccosh(x) = log(x + sqrt(x**2 - 1)) and arctanh(x) =
log((1 + |x|)/(1 - |x|))/2 lose everything near a zero of theirs if the argument of the logarithm is rounded.
As a pair it is good to twice the format's precision. Tiny arguments take the first terms of the series.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.vecmath.core import (
    INF,
    NAN,
    at_most,
    bits,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    fmt,
    power_of_two,
    two_prod,
    two_sum,
)  # fmt: skip
from tracejit.lowering.vecmath.logarithm import decompose, log_sum

# From here on sqrt(x**2 ± 1) is x; below the other limit two terms of the series are enough.
_BIG = {8: 2.0**28, 4: 2.0**13}
_TINY = {8: 2.0**-26, 4: 2.0**-11}


def _log_pair(k: Any, hi: Any, lo: Any, doublings: Any = None) -> Any:
    """log((hi + lo) * 2**doublings) for finite hi >= 1 and |lo| <= ulp(hi)/2, accurate near 1 too."""
    form = fmt(hi)
    e, m = decompose(k, hi)
    scale = power_of_two(k, bits(k, form.magic - at_most(k, e, 100.0)) - form.magic_bits)
    f, rest = fast_two_sum(k, m - 1.0, lo * scale)
    e = e if doublings is None else e + doublings
    return log_sum(k, e, f, rest)


def _sqrt_pair(k: Any, hi: Any, lo: Any) -> tuple[Any, Any]:
    """sqrt(hi + lo) as a pair."""
    r = k.float_op("sqrt", hi)
    rest = (fma(k, k.neg(r), r, hi) + lo) / (r + r)
    return r, k.select(k.eq(r, 0.0), r, rest)


def _log_of_root(k: Any, a: Any, shift: float) -> Any:
    """log(a + sqrt(a**2 + shift)) for finite a >= 0, a**2 + shift >= 0."""
    big = k.ge(a, _BIG[fmt(a).size])
    zero, one = k.const(0.0, a.dtype), k.const(1.0, a.dtype)
    b = k.select(big, one, a)
    p, p_lo = two_prod(k, b, b)
    s, s_lo = two_sum(k, p, k.const(shift, a.dtype))
    s, s_lo = fast_two_sum(k, s, s_lo + p_lo)
    r, r_lo = _sqrt_pair(k, s, s_lo)
    w, w_lo = two_sum(k, b, r)
    w, w_lo = fast_two_sum(k, w, w_lo + r_lo)
    return _log_pair(k, k.select(big, a, w), k.select(big, zero, w_lo), k.select(big, one, zero))


def arcsinh(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    finite = k.lt(a, INF)
    y = _log_of_root(k, k.select(finite, a, k.const(1.0, x.dtype)), 1.0)
    y = k.select(k.lt(a, _TINY[fmt(x).size]), fma(k, a * a * (-1.0 / 6.0), a, a), y)
    return copysign(k, k.select(finite, y, a), x)


def arccosh(k: Any, x: Any) -> Any:
    usual = k.and_(k.ge(x, 1.0), k.lt(x, INF))
    y = _log_of_root(k, k.select(usual, x, k.const(1.0, x.dtype)), -1.0)
    return k.select(usual, y, k.select(k.lt(x, 1.0), k.const(NAN, x.dtype), x))


def arctanh(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    usual = k.lt(a, 1.0)
    one, zero = k.const(1.0, x.dtype), k.const(0.0, x.dtype)
    b = k.select(usual, a, zero)
    n, n_lo = two_sum(k, one, b)
    d, d_lo = two_sum(k, one, k.neg(b))
    q = n / d
    q_lo = (fma(k, k.neg(q), d, n) + fma(k, k.neg(q), d_lo, n_lo)) / d
    y = 0.5 * _log_pair(k, *fast_two_sum(k, q, q_lo))
    y = k.select(k.lt(a, _TINY[fmt(x).size]), fma(k, a * a * (1.0 / 3.0), a, a), y)
    outside = k.select(k.eq(a, 1.0), k.const(INF, x.dtype), k.const(NAN, x.dtype))
    return copysign(k, k.select(usual, y, k.select(k.isnan(x), x, outside)), x)
