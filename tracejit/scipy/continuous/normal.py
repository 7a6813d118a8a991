"""Distributions of functions of normal variables. The formulas are those of SciPy's documentation."""

from __future__ import annotations

import math
from typing import Any

from tracejit import numpy as tnp
from tracejit.scipy import special as sp
from tracejit.scipy.continuous.common import (
    INF,
    LOG_2,
    LOG_SQRT_2PI,
    POSITIVE,
    REAL,
    UNIT,
    any_shape,
    normal,
    where_positive,
)
from tracejit.scipy.distributions import Distribution

alpha = Distribution(
    "alpha",
    1,
    POSITIVE,
    logpdf=lambda z, a: where_positive(z, lambda z: -2 * tnp.log(z) + normal(a - 1 / z) - sp.log_ndtr(a)),
    cdf=lambda z, a: sp.ndtr(a - 1 / z) / sp.ndtr(a),
    ppf=lambda q, a: 1 / (a - sp.ndtri(q * sp.ndtr(a))),
)
exponnorm = Distribution(
    "exponnorm",
    1,
    REAL,
    logpdf=lambda z, k: (0.5 / k - z) / k + sp.log_ndtr(z - 1 / k) - tnp.log(k),
    cdf=lambda z, k: sp.ndtr(z) - tnp.exp((0.5 / k - z) / k + sp.log_ndtr(z - 1 / k)),
    sf=lambda z, k: sp.ndtr(-z) + tnp.exp((0.5 / k - z) / k + sp.log_ndtr(z - 1 / k)),
)


def _fatigue_log_density(z: Any, c: Any) -> Any:
    return tnp.log(z + 1) - (z - 1) ** 2 / (2 * z * c**2) - tnp.log(2 * c) - LOG_SQRT_2PI - 1.5 * tnp.log(z)


fatiguelife = Distribution(
    "fatiguelife",
    1,
    POSITIVE,
    vanishes=True,
    logpdf=lambda z, c: where_positive(z, lambda z: _fatigue_log_density(z, c)),
    cdf=lambda z, c: sp.ndtr((tnp.sqrt(z) - 1 / tnp.sqrt(z)) / c),
    sf=lambda z, c: sp.ndtr((1 / tnp.sqrt(z) - tnp.sqrt(z)) / c),
    ppf=lambda q, c: 0.25 * (c * sp.ndtri(q) + tnp.sqrt((c * sp.ndtri(q)) ** 2 + 4)) ** 2,
    isf=lambda q, c: 0.25 * (tnp.sqrt((c * sp.ndtri(q)) ** 2 + 4) - c * sp.ndtri(q)) ** 2,
)
foldnorm = Distribution(
    "foldnorm",
    1,
    POSITIVE,
    valid=lambda c: c >= 0,
    logpdf=lambda z, c: tnp.logaddexp(normal(z + c), normal(z - c)),
    cdf=lambda z, c: 0.5 * (sp.erf((z - c) / math.sqrt(2)) + sp.erf((z + c) / math.sqrt(2))),
    sf=lambda z, c: sp.ndtr(c - z) + sp.ndtr(-c - z),
)
invgauss = Distribution(
    "invgauss",
    1,
    POSITIVE,
    vanishes=True,
    logpdf=lambda z, mu: where_positive(
        z, lambda z: -LOG_SQRT_2PI - 1.5 * tnp.log(z) - ((z - mu) / mu) ** 2 / (2 * z)
    ),
    logcdf=lambda z, mu: tnp.logaddexp(
        sp.log_ndtr((z / mu - 1) / tnp.sqrt(z)), 2 / mu + sp.log_ndtr(-(z + mu) / mu / tnp.sqrt(z))
    ),
    logsf=lambda z, mu: _log_difference(
        sp.log_ndtr((1 - z / mu) / tnp.sqrt(z)), 2 / mu + sp.log_ndtr(-(z + mu) / mu / tnp.sqrt(z))
    ),
)


def _log_difference(a: Any, b: Any) -> Any:
    """log(exp(a) - exp(b))."""
    return a + tnp.log1p(-tnp.exp(b - a))


johnsonsb = Distribution(
    "johnsonsb",
    2,
    UNIT,
    valid=lambda a, b: (b > 0) & (a == a),
    logpdf=lambda z, a, b: where_positive(
        z * (1 - z),
        lambda w: normal(a + b * sp.logit(tnp.where(z * (1 - z) > 0, z, 0.5))) + tnp.log(b) - tnp.log(w),
    ),
    cdf=lambda z, a, b: sp.ndtr(a + b * sp.logit(z)),
    sf=lambda z, a, b: sp.ndtr(-a - b * sp.logit(z)),
    ppf=lambda q, a, b: sp.expit((sp.ndtri(q) - a) / b),
    isf=lambda q, a, b: sp.expit((-sp.ndtri(q) - a) / b),
)
johnsonsu = Distribution(
    "johnsonsu",
    2,
    REAL,
    valid=lambda a, b: (b > 0) & (a == a),
    logpdf=lambda z, a, b: normal(a + b * tnp.arcsinh(z)) + tnp.log(b) - 0.5 * tnp.log1p(z * z),
    cdf=lambda z, a, b: sp.ndtr(a + b * tnp.arcsinh(z)),
    sf=lambda z, a, b: sp.ndtr(-a - b * tnp.arcsinh(z)),
    ppf=lambda q, a, b: tnp.sinh((sp.ndtri(q) - a) / b),
    isf=lambda q, a, b: tnp.sinh((-sp.ndtri(q) - a) / b),
)
powerlognorm = Distribution(
    "powerlognorm",
    2,
    POSITIVE,
    logpdf=lambda z, c, s: where_positive(
        z,
        lambda z: (
            tnp.log(c)
            - tnp.log(z)
            - tnp.log(s)
            + normal(tnp.log(z) / s)
            + sp.log_ndtr(-tnp.log(z) / s) * (c - 1)
        ),
    ),
    logsf=lambda z, c, s: sp.log_ndtr(-tnp.log(z) / s) * c,
    cdf=lambda z, c, s: -tnp.expm1(sp.log_ndtr(-tnp.log(z) / s) * c),
    ppf=lambda q, c, s: tnp.exp(-sp.ndtri((1 - q) ** (1 / c)) * s),
    isf=lambda q, c, s: tnp.exp(-sp.ndtri(q ** (1 / c)) * s),
)
powernorm = Distribution(
    "powernorm",
    1,
    REAL,
    logpdf=lambda z, c: tnp.log(c) + normal(z) + (c - 1) * sp.log_ndtr(-z),
    logsf=lambda z, c: c * sp.log_ndtr(-z),
    cdf=lambda z, c: -tnp.expm1(c * sp.log_ndtr(-z)),
    ppf=lambda q, c: -sp.ndtri((1 - q) ** (1 / c)),
    isf=lambda q, c: -sp.ndtri(q ** (1 / c)),
)
rice = Distribution(
    "rice",
    1,
    POSITIVE,
    valid=lambda b: b >= 0,
    logpdf=lambda z, b: tnp.log(z) - 0.5 * (z - b) ** 2 + tnp.log(sp.i0e(z * b)),
    cdf=lambda z, b: sp.chndtr(z * z, 2.0, b * b),
    ppf=lambda q, b: tnp.sqrt(sp.chndtrix(q, 2.0, b * b)),
)
skewnorm = Distribution(
    "skewnorm",
    1,
    REAL,
    valid=any_shape,
    vanishes=True,
    logpdf=lambda z, a: LOG_2 + normal(z) + sp.log_ndtr(a * z),
    cdf=lambda z, a: sp.ndtr(z) - 2 * sp.owens_t(z, a),
    sf=lambda z, a: sp.ndtr(-z) + 2 * sp.owens_t(z, a),
)


def _mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability between a and b, from the side where it is small."""
    right = a > 0
    low, high = sp.log_ndtr(tnp.where(right, -b, a)), sp.log_ndtr(tnp.where(right, -a, b))
    return _log_difference(high, low)


def _truncnorm_quantile(q: Any, a: Any, b: Any) -> Any:
    right = a > 0
    low, high = sp.ndtr(tnp.where(right, -b, a)), sp.ndtr(tnp.where(right, -a, b))
    x = sp.ndtri(low + tnp.where(right, 1 - q, q) * (high - low))
    return tnp.clip(tnp.where(right, -x, x), a, b)


truncnorm = Distribution(
    "truncnorm",
    2,
    lambda a, b: (a, b),
    valid=lambda a, b: a < b,
    logpdf=lambda z, a, b: tnp.where((z >= a) & (z <= b), normal(z) - _mass(a, b), -INF),
    cdf=lambda z, a, b: tnp.where(z <= a, 0.0, tnp.exp(_mass(a, tnp.clip(z, a + 1e-300, b)) - _mass(a, b))),
    sf=lambda z, a, b: tnp.where(z >= b, 0.0, tnp.exp(_mass(tnp.clip(z, a, b - 1e-300), b) - _mass(a, b))),
    ppf=_truncnorm_quantile,
)
