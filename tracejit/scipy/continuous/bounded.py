"""Distributions whose support depends on the shapes, and others of the kind. The formulas are those of SciPy's
documentation."""

from __future__ import annotations

import math
from typing import Any

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy import special as sp
from tracejit.scipy.continuous.common import (
    INF,
    POSITIVE,
    REAL,
    UNIT,
    circular,
    circular_probability,
    normal,
    where_positive,
)
from tracejit.scipy.distributions import Distribution


def _chosen(condition: Any, x: Any, yes: Any, no: Any, else_x: Any = 0.5) -> Any:
    """yes(x) where the condition holds, else no(x), each at values at which it is smooth."""
    return tnp.where(condition, yes(tnp.where(condition, x, else_x)), no(tnp.where(condition, else_x, x)))


def _not_zero(c: Any) -> Any:
    return tnp.where(c == 0, 1.0, c)


# ---------------------------------------------------------------- polygons

triang = Distribution(
    "triang",
    1,
    UNIT,
    valid=lambda c: (c >= 0) & (c <= 1),
    pdf=lambda z, c: tnp.where(
        (c == 1) | (z < c), 2 * z / _not_zero(c), 2 * (1 - z) / tnp.where(c == 1, 1.0, 1 - c)
    ),
    cdf=lambda z, c: tnp.where(
        (c == 1) | (z < c), z * z / _not_zero(c), 1 - (1 - z) ** 2 / tnp.where(c == 1, 1.0, 1 - c)
    ),
    ppf=lambda q, c: _chosen(
        q < c, q, lambda q: tnp.sqrt(tnp.where(c > 0, c, 1.0) * q), lambda q: 1 - tnp.sqrt((1 - c) * (1 - q))
    ),
)


def _trapezoid_quantile(q: Any, c: Any, d: Any) -> Any:
    width = d - c + 1
    low, high = c / width, (2 * d - c) / width
    left = tnp.sqrt(tnp.where(q < low, q * c * width, 1.0))
    right = 1 - tnp.sqrt(tnp.where(q > high, (1 - q) * width * (1 - d), 1.0))
    return tnp.where(q < low, left, tnp.where(q > high, right, 0.5 * (q * width + c)))


trapezoid = Distribution(
    "trapezoid",
    2,
    UNIT,
    valid=lambda c, d: (c >= 0) & (c <= 1) & (d >= 0) & (d <= 1) & (d >= c),
    pdf=lambda z, c, d: (
        2
        / (d - c + 1)
        * tnp.where(z < c, z / _not_zero(c), tnp.where(z > d, (1 - z) / tnp.where(d == 1, 1.0, 1 - d), 1.0))
    ),
    cdf=lambda z, c, d: tnp.where(
        z < c,
        z * z / _not_zero(c) / (d - c + 1),
        tnp.where(
            z > d, 1 - (1 - z) ** 2 / (d - c + 1) / tnp.where(d == 1, 1.0, 1 - d), (2 * z - c) / (d - c + 1)
        ),
    ),
    ppf=_trapezoid_quantile,
)

# ---------------------------------------------------------------- parts of others

truncpareto = Distribution(
    "truncpareto",
    2,
    lambda b, c: (1.0, c),
    valid=lambda b, c: (b != 0) & (c > 1),
    pdf=lambda z, b, c: b * z ** -(b + 1) / -tnp.expm1(-b * tnp.log(c)),
    cdf=lambda z, b, c: tnp.expm1(-b * tnp.log(z)) / tnp.expm1(-b * tnp.log(c)),
    sf=lambda z, b, c: (z**-b - c**-b) / (1 - c**-b),
    ppf=lambda q, b, c: (1 - (1 - c**-b) * q) ** (-1 / b),
    isf=lambda q, b, c: (c**-b + (1 - c**-b) * q) ** (-1 / b),
)


def _weibull_mass(c: Any, a: Any, b: Any) -> Any:
    return tnp.exp(-(a**c)) - tnp.exp(-(b**c))


def _weibull_quantile(q: Any, c: Any, a: Any, b: Any) -> Any:
    return (-tnp.log((1 - q) * tnp.exp(-(a**c)) + q * tnp.exp(-(b**c)))) ** (1 / c)


truncweibull_min = Distribution(
    "truncweibull_min",
    3,
    lambda c, a, b: (a, b),
    valid=lambda c, a, b: (a >= 0) & (b > a) & (c > 0),
    logpdf=lambda z, c, a, b: tnp.log(c) + sp.xlogy(c - 1, z) - z**c - tnp.log(_weibull_mass(c, a, b)),
    cdf=lambda z, c, a, b: _weibull_mass(c, a, z) / _weibull_mass(c, a, b),
    sf=lambda z, c, a, b: _weibull_mass(c, z, b) / _weibull_mass(c, a, b),
    ppf=_weibull_quantile,
    isf=lambda q, c, a, b: _weibull_quantile(1 - q, c, a, b),
)
reciprocal = Distribution(
    "reciprocal",
    2,
    lambda a, b: (a, b),
    valid=lambda a, b: (a > 0) & (b > a),
    logpdf=lambda z, a, b: -tnp.log(z) - tnp.log(tnp.log(b) - tnp.log(a)),
    cdf=lambda z, a, b: (tnp.log(z) - tnp.log(a)) / (tnp.log(b) - tnp.log(a)),
    sf=lambda z, a, b: (tnp.log(b) - tnp.log(z)) / (tnp.log(b) - tnp.log(a)),
    ppf=lambda q, a, b: tnp.exp(tnp.log(a) + q * (tnp.log(b) - tnp.log(a))),
)
erlang = Distribution(
    "erlang",
    1,
    POSITIVE,
    logpdf=lambda z, a: sp.xlogy(a - 1, z) - z - sp.gammaln(a),
    cdf=lambda z, a: sp.gammainc(a, z),
    sf=lambda z, a: sp.gammaincc(a, z),
    ppf=lambda q, a: sp.gammaincinv(a, q),
    isf=lambda q, a: sp.gammainccinv(a, q),
)

# ---------------------------------------------------------------- by a power


def _half_logistic_tail(z: Any, c: Any) -> Any:
    return (1 - c * z) ** (1 / c)


genhalflogistic = Distribution(
    "genhalflogistic",
    1,
    lambda c: (0.0, 1 / c),
    pdf=lambda z, c: 2 * (1 - c * z) ** (1 / c - 1) / (1 + (1 - c * z) ** (1 / c - 1) * (1 - c * z)) ** 2,
    cdf=lambda z, c: (1 - _half_logistic_tail(z, c)) / (1 + _half_logistic_tail(z, c)),
    ppf=lambda q, c: (1 - ((1 - q) / (1 + q)) ** c) / c,
)


def _tukey_ends(lam: Any) -> tuple[Any, Any]:
    end = tnp.where(lam > 0, 1 / tnp.where(lam > 0, lam, 1.0), INF)
    return -end, end


def _tukey_density(z: Any, lam: Any) -> Any:
    p = sp.tklmbda(z, lam)
    inside = (lam <= 0) | (tnp.abs(z) < 1 / tnp.where(lam == 0, 1.0, lam))
    return tnp.where(inside, 1 / (p ** (lam - 1) + (1 - p) ** (lam - 1)), 0.0)


tukeylambda = Distribution(
    "tukeylambda",
    1,
    _tukey_ends,
    valid=lambda lam: tnp.isfinite(lam),
    vanishes=True,
    pdf=_tukey_density,
    cdf=lambda z, lam: sp.tklmbda(z, lam),
    ppf=lambda q, lam: sp.boxcox(q, lam) - sp.boxcox1p(-q, lam),
)

#: Below this skewness SciPy takes the normal distribution.
_STRAIGHT = 0.000016


def _pearson(z: Any, skew: Any) -> tuple[Any, Any, Any, Any]:
    """Whether it is normal; else the argument of the gamma distribution, its shape, and the slope of the argument."""
    flat = tnp.abs(skew) < _STRAIGHT
    beta = 2 / tnp.where(flat, 1.0, skew)
    alpha = beta * beta
    return flat, beta * (z + beta), alpha, beta


def _pearson_log_density(z: Any, skew: Any) -> Any:
    flat, at, alpha, beta = _pearson(z, skew)
    curved = sp.xlogy(alpha - 1, tnp.maximum(at, 0.0)) - at - sp.gammaln(alpha)
    curved = tnp.where(at >= 0, curved, -INF)
    return tnp.where(flat, normal(z), tnp.log(tnp.abs(beta)) + curved)


def _pearson_probability(z: Any, skew: Any, upper: bool) -> Any:
    flat, at, alpha, beta = _pearson(z, skew)
    inside = tnp.maximum(at, 0.0)
    low, high = sp.gammainc(alpha, inside), sp.gammaincc(alpha, inside)
    curved = tnp.where((beta > 0) == (not upper), low, high)
    return tnp.where(flat, sp.ndtr(-z if upper else z), curved)


def _pearson_quantile(q: Any, skew: Any) -> Any:
    flat, _, alpha, beta = _pearson(q, skew)
    found = sp.gammaincinv(alpha, tnp.where(beta > 0, q, 1 - q)) / beta - beta
    return _ends(q, tnp.where(flat, sp.ndtri(q), found))


def _ends(q: Any, found: Any) -> Any:
    """A quantile; SciPy's are infinite at 0 and 1, whatever the shapes."""
    return tnp.where(q == 0, -INF, tnp.where(q == 1, INF, found))


pearson3 = Distribution(
    "pearson3",
    1,
    REAL,
    valid=lambda skew: tnp.isfinite(skew),
    pdf=lambda z, skew: tnp.where(tnp.isinf(z), 0.0, tnp.exp(_pearson_log_density(z, skew))),
    logpdf=_pearson_log_density,
    cdf=lambda z, skew: _pearson_probability(z, skew, False),
    sf=lambda z, skew: _pearson_probability(z, skew, True),
    ppf=_pearson_quantile,
)

# ---------------------------------------------------------------- around a circle


def _cauchy_arc(z: Any, c: Any) -> Any:
    return tnp.arctan((1 + c) / (1 - c) * tnp.tan(z / 2)) / math.pi


wrapcauchy = Distribution(
    "wrapcauchy",
    1,
    (0.0, 2 * math.pi),
    valid=lambda c: (c > 0) & (c < 1),
    pdf=lambda z, c: (1 - c * c) / (2 * math.pi * (1 + c * c - 2 * c * tnp.cos(z))),
    cdf=lambda z, c: tnp.where(z < math.pi, _cauchy_arc(z, c), 1 - _cauchy_arc(2 * math.pi - z, c)),
    ppf=lambda q, c: tnp.where(
        q < 0.5,
        2 * tnp.arctan((1 - c) / (1 + c) * tnp.tan(math.pi * q)),
        2 * math.pi - 2 * tnp.arctan((1 - c) / (1 + c) * tnp.tan(math.pi * (1 - q))),
    ),
)


def _turns(z: Any) -> Any:
    return tnp.round(lax.stop_gradient(z) / (2 * math.pi))


vonmises = Distribution(
    "vonmises",
    1,
    REAL,
    valid=lambda k: k >= 0,
    logpdf=circular,
    cdf=lambda z, k: circular_probability(z - 2 * math.pi * _turns(z), k) + _turns(z),
)

# ---------------------------------------------------------------- with Bessel and other special functions

geninvgauss = Distribution(
    "geninvgauss",
    2,
    POSITIVE,
    valid=lambda p, b: (p == p) & (b > 0),
    logpdf=lambda z, p, b: where_positive(
        z, lambda z: (p - 1) * tnp.log(z) - b * (z + 1 / z) / 2 + b - tnp.log(2 * sp.kve(p, b))
    ),
)


def _hyperbolic_log_density(z: Any, p: Any, a: Any, b: Any) -> Any:
    width = tnp.sqrt(a * a - b * b)
    root = tnp.sqrt(1 + z * z)
    known = p * tnp.log(width) - (p - 0.5) * tnp.log(a) - 0.5 * math.log(2 * math.pi)
    known = known - tnp.log(sp.kve(p, width)) + width
    return known + tnp.log(sp.kve(p - 0.5, a * root)) - a * root + b * z + (p - 0.5) * tnp.log(root)


genhyperbolic = Distribution(
    "genhyperbolic",
    3,
    REAL,
    valid=lambda p, a, b: ((tnp.abs(b) < a) & (p >= 0)) | ((tnp.abs(b) <= a) & (p < 0)),
    logpdf=_hyperbolic_log_density,
)


def _inverse_gauss_log_density(z: Any, a: Any, b: Any) -> Any:
    root = tnp.sqrt(1 + z * z)
    shift = tnp.sqrt(a * a - b * b)
    return tnp.log(a / math.pi) + tnp.log(sp.k1e(a * root)) + b * z - a * root + shift - tnp.log(root)


norminvgauss = Distribution(
    "norminvgauss",
    2,
    REAL,
    valid=lambda a, b: (a > 0) & (tnp.abs(b) < a),
    vanishes=True,
    logpdf=_inverse_gauss_log_density,
)
gausshyper = Distribution(
    "gausshyper",
    4,
    UNIT,
    valid=lambda a, b, c, z: (a > 0) & (b > 0) & (c == c) & (z > -1),
    pdf=lambda x, a, b, c, z: (
        x ** (a - 1) * (1 - x) ** (b - 1) * (1 + z * x) ** -c / sp.beta(a, b) / sp.hyp2f1(c, a, a + b, -z)
    ),
)
rel_breitwigner = Distribution(
    "rel_breitwigner",
    1,
    POSITIVE,
    vanishes=True,
    pdf=lambda z, rho: (
        tnp.sqrt(2 * (1 + 1 / rho**2) / (1 + tnp.sqrt(1 + 1 / rho**2)))
        * 2
        / math.pi
        / (((z - rho) * (z + rho) / rho) ** 2 + 1)
    ),
    cdf=lambda z, rho: _wigner_probability(z, rho),
)


def _wigner_probability(z: Any, rho: Any) -> Any:
    """By the arc tangent of a complex number, of which only the imaginary part is wanted."""
    factor = 2 * tnp.sqrt(2 / (1 + tnp.sqrt(1 + 1 / rho**2))) / math.pi
    curve = tnp.sqrt(-1 + 1j / rho) * tnp.arctan(z / tnp.sqrt(-rho * (rho + 1j)))
    return tnp.minimum(factor * tnp.imag(curve), 1.0)


def _mills(t: Any) -> Any:
    """The logarithm of Mills' ratio."""
    return sp.log_ndtr(-t) - normal(t)


def _double_log_density(x: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z = (tnp.log(x) - u) / s
    sums = tnp.logaddexp(_mills(a * s - z), _mills(b * s + z))
    return tnp.log(a) + tnp.log(b) - tnp.log(a + b) - tnp.log(x) + normal(z) + sums


def _double_probability(sign: float, x: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z = (tnp.log(x) - u) / s
    left = b * tnp.exp(normal(z) + _mills(a * s - z))
    right = a * tnp.exp(normal(z) + _mills(b * s + z))
    return sp.ndtr(sign * z) - sign * (left - right) / (a + b)


dpareto_lognorm = Distribution(
    "dpareto_lognorm",
    4,
    POSITIVE,
    valid=lambda u, s, a, b: (u == u) & (s > 0) & (a > 0) & (b > 0),
    vanishes=True,
    logpdf=lambda x, *shapes: where_positive(x, lambda x: _double_log_density(x, *shapes)),
    cdf=lambda x, *shapes: where_positive(x, lambda x: _double_probability(1.0, x, *shapes), 0.0),
    sf=lambda x, *shapes: where_positive(x, lambda x: _double_probability(-1.0, x, *shapes), 1.0),
)
