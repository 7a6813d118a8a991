"""The error function's complement, the normal distribution function, their inverses and logarithms.

(1 + 2x) exp(x**2) erfc(x) is a polynomial in (x - 4)/(x + 4) on the whole half-line (M. Shepherd, J. Laframboise,
"Chebyshev approximation of (1 + 2x) exp(x**2) erfc(x)", 1981), kept as a pair; x**2 is a pair too, as its
rounding would be magnified by exp. The inverses are polynomials in x**2 in the middle, and in the tails in
s = sqrt(-log q), which makes them smooth (M. Giles, "Approximating the erfinv function", 2010, for the idea).
Coefficients: tools/special_coefficients.py.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.llvm.vecmath.core import INF, NAN, copysign, fabs, fma, two_prod
from tracejit.lowering.llvm.vecmath.functions import logarithm
from tracejit.lowering.llvm.vecmath.functions.exponential import erf_near
from tracejit.lowering.llvm.vecmath.pieces import const, exp_parts, table_pair, times_table, wide, within

_SQRT2 = (1.4142135623730951, -9.667293313452913e-17)
_SQRT_HALF = (0.7071067811865476, -4.833646656726457e-17)
_INVERSE_SQRT_PI = 0.5641895835477563
_LN2 = 0.6931471805599453


def _erfcx_pair(k: Any, x: Any) -> tuple[Any, Any]:
    """exp(x**2) erfc(x) for finite x >= 0 as a pair."""
    d = x + 4.0
    inverse = 1.0 / d
    t = (x - 4.0) * inverse
    t = fma(k, fma(k, k.neg(t), d, x - 4.0), inverse, t)
    two = fma(k, x, 2.0, 1.0)
    p, p_lo = table_pair(k, t, "ERFCX")
    inverse = 1.0 / two
    q = p * inverse
    lost = fma(k, x, 2.0, 1.0 - two)  # 1 + 2x is rounded
    rest = fma(k, k.neg(q), two, p) + (p_lo - q * lost)
    return q, rest * inverse


def _erfcx_positive(k: Any, x: Any) -> Any:
    hi, lo = _erfcx_pair(k, x)
    return hi + lo


def _square_parts(k: Any, x: Any) -> tuple[Any, Any]:
    """-x**2 as a pair."""
    hi, lo = two_prod(k, x, x)
    return k.neg(hi), k.neg(lo)


@wide
def erfc(k: Any, x: Any) -> Any:
    """1 - erf(x)."""
    a = fabs(k, x)
    b = within(k, a, 0.0, 28.0)
    c = within(k, x, -0.5, 0.5)
    near = 1.0 - erf_near(k, c, c * c)
    m, s = exp_parts(k, *_square_parts(k, b))
    g, g_lo = _erfcx_pair(k, b)
    far = fma(k, m, g, m * g_lo) * s
    far = k.select(k.lt(x, 0.0), 2.0 - far, far)
    return k.select(k.isnan(x), x, k.select(k.lt(a, 0.5), near, far))


@wide
def erfcx(k: Any, x: Any) -> Any:
    """exp(x**2) erfc(x); for negative x 2 exp(x**2) - erfcx(-x), which overflows below -26.6."""
    a = fabs(k, x)
    finite = k.lt(a, INF)
    positive = _erfcx_positive(k, k.select(k.lt(a, 1e300), a, const(k, 1e300)))
    positive = k.select(k.lt(a, 1e10), positive, _INVERSE_SQRT_PI / a)
    b = within(k, k.neg(x), 0.0, 27.0)
    hi, lo = two_prod(k, b, b)
    m, s = exp_parts(k, hi, lo)
    negative = (m + m) * s - positive
    z = k.select(k.lt(x, 0.0), negative, positive)
    z = k.select(finite, z, k.select(k.gt(x, 0.0), const(k, 0.0), const(k, INF)))
    return k.select(k.isnan(x), x, z)


def _tail_of_erfcinv(k: Any, minus_log: Any) -> Any:
    """y with erfc(y) = exp(-minus_log), for minus_log from log 2 to 756."""
    s = k.float_op("sqrt", minus_log)
    near, far = within(k, s, 0.83, 6.1), within(k, s, 6.0, 27.5)
    p = times_table(k, near, (near - 2.25) / (near + 2.25), "ERFCINV_NEAR")
    q = times_table(k, far, (far - 13.0) / (far + 13.0), "ERFCINV_FAR")
    return k.select(k.lt(s, 6.05), p, q)


def _erfinv_near(k: Any, x: Any) -> Any:
    return times_table(k, x, x * x, "ERFINV")


def _minus_log(k: Any, q: Any) -> Any:
    """-log(q), of 1/2 where q is no usable number."""
    return k.neg(logarithm.log_of_any(k, k.select(k.and_(k.gt(q, 0.0), k.le(q, 0.51)), q, const(k, 0.5))))


@wide
def erfinv(k: Any, x: Any) -> Any:
    """The inverse of erf on (-1, 1)."""
    a = fabs(k, x)
    near = _erfinv_near(k, within(k, x, -0.5, 0.5))
    far = copysign(k, _tail_of_erfcinv(k, _minus_log(k, 1.0 - a)), x)
    z = k.select(k.le(a, 0.5), near + 0.0, far)  # 0 for -0, as SciPy
    edge = k.select(k.eq(a, 1.0), copysign(k, const(k, INF), x), const(k, NAN))
    return k.select(k.lt(a, 1.0), z, k.select(k.isnan(x), x, edge))


@wide
def erfcinv(k: Any, x: Any) -> Any:
    """The inverse of erfc on (0, 2)."""
    up = k.gt(x, 1.0)
    q = k.select(up, 2.0 - x, x)
    near = k.neg(_erfinv_near(k, within(k, x - 1.0, -0.5, 0.5)))
    far = _tail_of_erfcinv(k, _minus_log(k, q))
    z = k.select(k.ge(q, 0.5), near, k.select(up, k.neg(far), far))
    edge = k.select(k.eq(q, 0.0), k.select(up, const(k, -INF), const(k, INF)), const(k, NAN))
    return k.select(k.gt(q, 0.0), z, k.select(k.isnan(x), x, edge))


@wide
def ndtri(k: Any, p: Any) -> Any:
    """The inverse of the normal distribution function: -sqrt(2) erfcinv(2p)."""
    up = k.gt(p, 0.5)
    q = k.select(up, 1.0 - p, p)
    near = _erfinv_near(k, within(k, (p - 0.5) * 2.0, -0.5, 0.5))
    far = _tail_of_erfcinv(k, _minus_log(k, k.select(k.gt(q, 0.26), const(k, 0.25), q)) - _LN2)
    y = k.select(k.ge(q, 0.25), near, k.select(up, far, k.neg(far)))
    z = fma(k, y, _SQRT2[0], y * _SQRT2[1])
    edge = k.select(k.eq(q, 0.0), k.select(up, const(k, INF), const(k, -INF)), const(k, NAN))
    return k.select(k.gt(q, 0.0), z, k.select(k.isnan(p), p, edge))


def _normal_tail(k: Any, a: Any) -> tuple[Any, Any]:
    """(erfcx(a/sqrt 2)/2, 1 - Phi(a)) for a >= 0: neither suffers from rounding a/sqrt 2 before squaring."""
    b = within(k, a, 0.0, 1e150)
    p, p_lo = two_prod(k, b, const(k, _SQRT_HALF[0]))
    g, g_lo = _erfcx_pair(k, p + fma(k, b, _SQRT_HALF[1], p_lo))
    c = within(k, a, 0.0, 39.0)
    hi, lo = two_prod(k, c * -0.5, c)
    m, s = exp_parts(k, hi, lo)
    return (g + g_lo) * 0.5, fma(k, m, g, m * g_lo) * 0.5 * s


@wide
def ndtr(k: Any, x: Any) -> Any:
    """The normal distribution function."""
    _, tail = _normal_tail(k, fabs(k, x))
    return k.select(k.isnan(x), x, k.select(k.lt(x, 0.0), tail, 1.0 - tail))


@wide
def log_ndtr(k: Any, x: Any) -> Any:
    """log of the normal distribution function: log(erfcx(-x/sqrt 2)/2) - x**2/2 below 0, log1p above."""
    a = fabs(k, x)
    half, tail = _normal_tail(k, a)
    left = fma(k, a * -0.5, a, logarithm.log_of_any(k, half))
    left = k.select(k.gt(a, 1e10), a * -0.5 * a, left)
    z = k.select(k.lt(x, 0.0), left, logarithm.log1p_of_usual(k, k.neg(tail)))
    return k.select(k.isnan(x), x, z)
