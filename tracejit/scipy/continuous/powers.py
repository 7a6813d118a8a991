"""Distributions of powers and exponentials. The formulas are those of SciPy's documentation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.scipy import special as sp
from tracejit.scipy.continuous.common import (
    INF,
    LOG_2,
    LOG_PI,
    POSITIVE,
    REAL,
    UNIT,
    circular,
    circular_probability,
    magnitude,
    where_positive,
)
from tracejit.scipy.distributions import Distribution

bradford = Distribution(
    "bradford",
    1,
    UNIT,
    logpdf=lambda z, c: tnp.log(c) - tnp.log1p(c * z) - tnp.log(tnp.log1p(c)),
    cdf=lambda z, c: tnp.log1p(c * z) / tnp.log1p(c),
    ppf=lambda q, c: tnp.expm1(q * tnp.log1p(c)) / c,
)
burr = Distribution(
    "burr",
    2,
    POSITIVE,
    vanishes=True,
    logpdf=lambda z, c, d: (
        tnp.log(c) + tnp.log(d) + sp.xlogy(c * d - 1, z) - (d + 1) * tnp.logaddexp(0.0, c * tnp.log(z))
    ),
    logcdf=lambda z, c, d: -d * tnp.log1p(z**-c),
    cdf=lambda z, c, d: (1 + z**-c) ** -d,
    logsf=lambda z, c, d: tnp.log(-tnp.expm1(-d * tnp.log1p(z**-c))),
    ppf=lambda q, c, d: (q ** (-1 / d) - 1) ** (-1 / c),
    isf=lambda q, c, d: tnp.expm1(sp.xlog1py(-1 / d, -q)) ** (-1 / c),
)
burr12 = Distribution(
    "burr12",
    2,
    POSITIVE,
    logpdf=lambda z, c, d: tnp.log(c) + tnp.log(d) + sp.xlogy(c - 1, z) + sp.xlog1py(-d - 1, z**c),
    logsf=lambda z, c, d: sp.xlog1py(-d, z**c),
    cdf=lambda z, c, d: -tnp.expm1(sp.xlog1py(-d, z**c)),
    ppf=lambda q, c, d: tnp.expm1(-1 / d * tnp.log1p(-q)) ** (1 / c),
    isf=lambda q, c, d: tnp.expm1(-1 / d * tnp.log(q)) ** (1 / c),
)
dweibull = Distribution(
    "dweibull",
    1,
    REAL,
    logpdf=lambda z, c: tnp.log(c) - LOG_2 + sp.xlogy(c - 1, tnp.abs(z)) - tnp.abs(z) ** c,
    cdf=lambda z, c: tnp.where(
        z > 0, 1 - 0.5 * tnp.exp(-(magnitude(z) ** c)), 0.5 * tnp.exp(-(magnitude(z) ** c))
    ),
    sf=lambda z, c: tnp.where(
        z > 0, 0.5 * tnp.exp(-(magnitude(z) ** c)), 1 - 0.5 * tnp.exp(-(magnitude(z) ** c))
    ),
    ppf=lambda q, c: _double_weibull_quantile(q, c),
    isf=lambda q, c: -_double_weibull_quantile(q, c),
)


def _double_weibull_quantile(q: Any, c: Any) -> Any:
    size = (-tnp.log(2 * tnp.minimum(q, 1 - q))) ** (1 / c)
    return tnp.where(q > 0.5, size, -size)


exponpow = Distribution(
    "exponpow",
    1,
    POSITIVE,
    logpdf=lambda z, b: 1 + tnp.log(b) + sp.xlogy(b - 1, z) + z**b - tnp.exp(z**b),
    logsf=lambda z, b: -tnp.expm1(z**b),
    cdf=lambda z, b: -tnp.expm1(-tnp.expm1(z**b)),
    ppf=lambda q, b: tnp.log1p(-tnp.log1p(-q)) ** (1 / b),
    isf=lambda q, b: tnp.log1p(-tnp.log(q)) ** (1 / b),
)
exponweib = Distribution(
    "exponweib",
    2,
    POSITIVE,
    logpdf=lambda z, a, c: (
        tnp.log(a) + tnp.log(c) + sp.xlogy(a - 1, -tnp.expm1(-(z**c))) - z**c + sp.xlogy(c - 1, z)
    ),
    cdf=lambda z, a, c: (-tnp.expm1(-(z**c))) ** a,
    sf=lambda z, a, c: -tnp.expm1(a * tnp.log1p(-tnp.exp(-(z**c)))),
    isf=lambda q, a, c: (-tnp.log(-tnp.expm1(tnp.log1p(-q) / a))) ** (1 / c),
    ppf=lambda q, a, c: (-tnp.log1p(-(q ** (1 / a)))) ** (1 / c),
)
fisk = Distribution(
    "fisk",
    1,
    POSITIVE,
    vanishes=True,
    logpdf=lambda z, c: tnp.log(c) + sp.xlogy(c - 1, z) - 2 * tnp.logaddexp(0.0, c * tnp.log(z)),
    cdf=lambda z, c: sp.expit(c * tnp.log(z)),
    sf=lambda z, c: sp.expit(-c * tnp.log(z)),
    ppf=lambda q, c: tnp.exp(sp.logit(q) / c),
    isf=lambda q, c: tnp.exp(-sp.logit(q) / c),
)
foldcauchy = Distribution(
    "foldcauchy",
    1,
    POSITIVE,
    valid=lambda c: c >= 0,
    logpdf=lambda z, c: -LOG_PI + tnp.log(1 / (1 + (z - c) ** 2) + 1 / (1 + (z + c) ** 2)),
    cdf=lambda z, c: (tnp.arctan(z - c) + tnp.arctan(z + c)) / math.pi,
    sf=lambda z, c: (tnp.arctan2(1.0, z - c) + tnp.arctan2(1.0, z + c)) / math.pi,
)


def _extreme_ends(c: Any) -> tuple[Any, Any]:
    end = 1 / tnp.where(c == 0, 1.0, c)
    return tnp.where(c < 0, end, -INF), tnp.where(c > 0, end, INF)


def _extreme(z: Any, c: Any) -> Any:
    """-log of the probability's -log, (1 - c z) ** (1/c) in logarithms; z where c is 0. NaN outside of the support."""
    flat = c == 0
    safe = tnp.where(flat, 1.0, c)
    inside = 1 - safe * z > 0
    curved = tnp.where(inside, tnp.log1p(tnp.where(inside, -safe * z, 0.0)) / safe, np.nan)
    return tnp.where(flat, -z, curved)


def _extreme_probability(z: Any, c: Any) -> Any:
    e = _extreme(z, c)
    outside = tnp.isnan(e)
    return tnp.where(outside, tnp.where(c > 0, 1.0, 0.0), tnp.exp(-tnp.exp(tnp.where(outside, 0.0, e))))


def _extreme_tail(z: Any, c: Any) -> Any:
    e = _extreme(z, c)
    outside = tnp.isnan(e)
    return tnp.where(outside, tnp.where(c > 0, 0.0, 1.0), -tnp.expm1(-tnp.exp(tnp.where(outside, 0.0, e))))


def _extreme_log_density(z: Any, c: Any) -> Any:
    e = _extreme(z, c)
    outside = tnp.isnan(e)
    e = tnp.where(outside, 0.0, e)
    return tnp.where(outside, -INF, -tnp.exp(e) + e * (1 - c))


def _extreme_quantile(log: Any, c: Any) -> Any:
    """Of the logarithm of the probability."""
    x = -tnp.log(-log)
    flat = c == 0
    safe = tnp.where(flat, 1.0, c)
    return tnp.where(flat, x, -tnp.expm1(-safe * x) / safe)


genextreme = Distribution(
    "genextreme",
    1,
    _extreme_ends,
    valid=lambda c: tnp.isfinite(c),
    logpdf=_extreme_log_density,
    cdf=_extreme_probability,
    sf=_extreme_tail,
    ppf=lambda q, c: _extreme_quantile(tnp.log(q), c),
    isf=lambda q, c: _extreme_quantile(tnp.log1p(-q), c),
)
genlogistic = Distribution(
    "genlogistic",
    1,
    REAL,
    vanishes=True,
    logpdf=lambda z, c: tnp.log(c) - z - (c + 1) * tnp.logaddexp(0.0, -z),
    cdf=lambda z, c: tnp.exp(-c * tnp.logaddexp(0.0, -z)),
    sf=lambda z, c: -tnp.expm1(-c * tnp.logaddexp(0.0, -z)),
    ppf=lambda q, c: -tnp.log(tnp.expm1(-tnp.log(q) / c)),
    isf=lambda q, c: -tnp.log(tnp.expm1(-tnp.log1p(-q) / c)),
)


def _pareto_tail(z: Any, c: Any) -> Any:
    """The logarithm of the probability beyond z."""
    flat = c == 0
    safe = tnp.where(flat, 1.0, c)
    inside = 1 + safe * z > 0
    curved = tnp.where(inside, -tnp.log1p(tnp.where(inside, safe * z, 0.0)) / safe, -INF)
    return tnp.where(flat, -z, curved)


genpareto = Distribution(
    "genpareto",
    1,
    lambda c: (0.0, tnp.where(c < 0, -1 / tnp.where(c < 0, c, -1.0), INF)),
    valid=lambda c: tnp.isfinite(c),
    logpdf=lambda z, c: tnp.where(
        tnp.isinf(_pareto_tail(z, c)), -INF, (c + 1) * tnp.maximum(_pareto_tail(z, c), -1e300)
    ),
    logsf=_pareto_tail,
    cdf=lambda z, c: -tnp.expm1(_pareto_tail(z, c)),
    ppf=lambda q, c: -sp.boxcox1p(-q, -c),
    isf=lambda q, c: -sp.boxcox(q, -c),
)
gompertz = Distribution(
    "gompertz",
    1,
    POSITIVE,
    logpdf=lambda z, c: tnp.log(c) + z - c * tnp.expm1(z),
    logsf=lambda z, c: -c * tnp.expm1(z),
    cdf=lambda z, c: -tnp.expm1(-c * tnp.expm1(z)),
    ppf=lambda q, c: tnp.log1p(-tnp.log1p(-q) / c),
    isf=lambda q, c: tnp.log1p(-tnp.log(q) / c),
)
invweibull = Distribution(
    "invweibull",
    1,
    POSITIVE,
    logpdf=lambda z, c: where_positive(z, lambda z: tnp.log(c) - (c + 1) * tnp.log(z) - z**-c),
    cdf=lambda z, c: tnp.exp(-(z**-c)),
    sf=lambda z, c: -tnp.expm1(-(z**-c)),
    ppf=lambda q, c: (-tnp.log(q)) ** (-1 / c),
    isf=lambda q, c: (-tnp.log1p(-q)) ** (-1 / c),
)


def _laplace_quantile(q: Any, k: Any) -> Any:
    """The point beyond which the probability is q."""
    middle = 1 / (k * k + 1)
    beyond = -tnp.log(tnp.where(q <= middle, q, middle) / middle) / k
    before = tnp.log((1 - tnp.where(q <= middle, middle, q)) * (k * k + 1) / (k * k)) * k
    return tnp.where(q <= middle, beyond, before)


laplace_asymmetric = Distribution(
    "laplace_asymmetric",
    1,
    REAL,
    logpdf=lambda z, k: z * tnp.where(z >= 0, -k, 1 / k) - tnp.log(k + 1 / k),
    cdf=lambda z, k: tnp.where(
        z >= 0,
        1 - tnp.exp(-tnp.maximum(z, 0) * k) / (k * k + 1),
        tnp.exp(tnp.minimum(z, 0) / k) * k * k / (k * k + 1),
    ),
    sf=lambda z, k: tnp.where(
        z >= 0,
        tnp.exp(-tnp.maximum(z, 0) * k) / (k * k + 1),
        1 - tnp.exp(tnp.minimum(z, 0) / k) * k * k / (k * k + 1),
    ),
    ppf=lambda q, k: -_laplace_quantile(q, 1 / k),
    isf=lambda q, k: _laplace_quantile(q, k),
)
loglaplace = Distribution(
    "loglaplace",
    1,
    POSITIVE,
    logpdf=lambda z, c: tnp.log(c / 2) + sp.xlogy(tnp.where(z < 1, c - 1, -c - 1), z),
    cdf=lambda z, c: tnp.where(z < 1, 0.5 * z**c, 1 - 0.5 * tnp.maximum(z, 1.0) ** -c),
    sf=lambda z, c: tnp.where(z < 1, 1 - 0.5 * z**c, 0.5 * tnp.maximum(z, 1.0) ** -c),
    ppf=lambda q, c: tnp.where(q < 0.5, (2 * q) ** (1 / c), (2 * (1 - q)) ** (-1 / c)),
    isf=lambda q, c: tnp.where(q > 0.5, (2 * (1 - q)) ** (1 / c), (2 * q) ** (-1 / c)),
)
loguniform = Distribution(
    "loguniform",
    2,
    lambda a, b: (a, b),
    valid=lambda a, b: (a > 0) & (b > a),
    logpdf=lambda z, a, b: tnp.where(
        (z >= a) & (z <= b), -tnp.log(tnp.clip(z, a, b)) - tnp.log(tnp.log(b) - tnp.log(a)), -INF
    ),
    cdf=lambda z, a, b: (tnp.log(tnp.clip(z, a, b)) - tnp.log(a)) / (tnp.log(b) - tnp.log(a)),
    sf=lambda z, a, b: (tnp.log(b) - tnp.log(tnp.clip(z, a, b))) / (tnp.log(b) - tnp.log(a)),
    ppf=lambda q, a, b: tnp.exp(tnp.log(a) + q * (tnp.log(b) - tnp.log(a))),
)
lomax = Distribution(
    "lomax",
    1,
    POSITIVE,
    logpdf=lambda z, c: tnp.log(c) - (c + 1) * tnp.log1p(z),
    logsf=lambda z, c: -c * tnp.log1p(z),
    cdf=lambda z, c: -tnp.expm1(-c * tnp.log1p(z)),
    ppf=lambda q, c: tnp.expm1(-tnp.log1p(-q) / c),
    isf=lambda q, c: q ** (-1 / c) - 1,
)
mielke = Distribution(
    "mielke",
    2,
    POSITIVE,
    logpdf=lambda z, k, s: tnp.log(k) + sp.xlogy(k - 1, z) - (1 + k / s) * tnp.log1p(z**s),
    cdf=lambda z, k, s: z**k / (1 + z**s) ** (k / s),
    ppf=lambda q, k, s: (q ** (s / k) / (1 - q ** (s / k))) ** (1 / s),
)
powerlaw = Distribution(
    "powerlaw",
    1,
    UNIT,
    logpdf=lambda z, a: where_positive(
        z, lambda z: tnp.log(a) + sp.xlogy(a - 1, z), tnp.where(a == 1, 0.0, -INF)
    ),
    cdf=lambda z, a: z**a,
    sf=lambda z, a: -sp.powm1(z, a),
    logcdf=lambda z, a: a * tnp.log(z),
    ppf=lambda q, a: q ** (1 / a),
)
truncexpon = Distribution(
    "truncexpon",
    1,
    lambda b: (0.0, b),
    logpdf=lambda z, b: tnp.where(z <= b, -z - tnp.log(-tnp.expm1(-b)), -INF),
    cdf=lambda z, b: tnp.where(z <= b, tnp.expm1(-tnp.minimum(z, b)) / tnp.expm1(-b), 1.0),
    sf=lambda z, b: tnp.where(z <= b, (tnp.exp(-b) - tnp.exp(-tnp.minimum(z, b))) / tnp.expm1(-b), 0.0),
    ppf=lambda q, b: -tnp.log1p(q * tnp.expm1(-b)),
    isf=lambda q, b: -tnp.log(tnp.exp(-b) - q * tnp.expm1(-b)),
)
vonmises_line = Distribution(
    "vonmises_line",
    1,
    (-math.pi, math.pi),
    valid=lambda k: k >= 0,
    logpdf=circular,
    cdf=circular_probability,
)
weibull_max = Distribution(
    "weibull_max",
    1,
    (-INF, 0.0),
    logpdf=lambda z, c: tnp.log(c) + sp.xlogy(c - 1, -z) - (-z) ** c,
    cdf=lambda z, c: tnp.exp(-((-z) ** c)),
    logcdf=lambda z, c: -((-z) ** c),
    sf=lambda z, c: -tnp.expm1(-((-z) ** c)),
    ppf=lambda q, c: -((-tnp.log(q)) ** (1 / c)),
)
