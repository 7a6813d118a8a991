"""Inverse hyperbolic functions: log1p of sums that are carried as unevaluated pairs.

arcsinh(x) = log1p(a + a**2/(1 + sqrt(1 + a**2))) with a = |x|, arccosh(x) = log1p(w + sqrt(w*(w + 2))) with w = x - 1,
arctanh(x) = log1p(2a/(1 - a))/2: none of them cancels near its zero.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.llvm.vecmath.core import INF, NAN, copysign, fabs, fma, fmt, near_reciprocal
from tracejit.lowering.llvm.vecmath.functions.logarithm import decompose, log1p_pair, log_sum
from tracejit.lowering.llvm.vecmath.rare import rare

# Below it the square does not overflow; above it sqrt(x**2 +- 1) is x.
_BIG = {8: 2.0**500, 4: 2.0**60}


def arcsinh(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    square = a * a
    t = square / (k.float_op("sqrt", square + 1.0) + 1.0)
    q = a + t
    y = log1p_pair(k, q, (a - q) + t)
    return rare(k, k.not_(k.lt(a, _BIG[fmt(x).size])), "arcsinh.any", copysign(k, y, x), x)


def arccosh(k: Any, x: Any) -> Any:
    w = x - 1.0
    twice = w + w
    v = fma(k, w, w, twice)
    r = k.float_op("sqrt", v)
    rest = fma(k, k.neg(r), r, v) + fma(k, w, w, twice - v)
    q = r + w
    y = log1p_pair(k, q, fma(k, rest, near_reciprocal(k, r) * 0.5, (r - q) + w))
    usual = k.and_(k.ge(x, 1.0), k.lt(x, _BIG[fmt(x).size]))
    return rare(k, k.not_(usual), "arccosh.any", y, x)


def arctanh(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    d = 1.0 - a
    inverse = 1.0 / d
    q = (a + a) * inverse
    rest = fma(k, k.neg(q), (1.0 - d) - a, fma(k, k.neg(q), d, a + a))
    y = copysign(k, 0.5 * log1p_pair(k, q, rest * inverse), x)
    return rare(k, k.not_(k.lt(a, 1.0)), "arctanh.any", y, x)


def _log_of_twice(k: Any, a: Any) -> Any:
    """log(2a) for a above 1; infinity and NaN stay."""
    e, m = decompose(k, a)
    return k.select(k.lt(a, INF), log_sum(k, e + 1.0, m - 1.0), a)


def _arcsinh_any(k: Any, x: Any) -> Any:
    """arcsinh of very large numbers and NaN."""
    return copysign(k, _log_of_twice(k, fabs(k, x)), x)


def _arccosh_any(k: Any, x: Any) -> Any:
    """arccosh of very large numbers, of numbers below 1 and NaN."""
    return k.select(k.lt(x, 1.0), k.const(NAN, x.dtype), _log_of_twice(k, x))


def _arctanh_any(k: Any, x: Any) -> Any:
    """arctanh of -1 and 1, and outside of them."""
    at_one = k.select(k.eq(fabs(k, x), 1.0), k.const(INF, x.dtype), k.const(NAN, x.dtype))
    return k.select(k.isnan(x), x, copysign(k, at_one, x))


RARE = {
    "arcsinh.any": (_arcsinh_any, 1),
    "arccosh.any": (_arccosh_any, 1),
    "arctanh.any": (_arctanh_any, 1),
}
