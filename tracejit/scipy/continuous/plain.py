"""Distributions without shapes, and those of the gamma and beta functions, by the formulas of SciPy's documentation."""

from __future__ import annotations

import math
from typing import Any

from tracejit import numpy as tnp
from tracejit.scipy import special as sp
from tracejit.scipy.continuous.common import (
    INF,
    LOG_2,
    LOG_PI,
    LOG_SQRT_2PI,
    POSITIVE,
    REAL,
    UNIT,
    magnitude,
    where_positive,
)
from tracejit.scipy.distributions import Distribution

# ---------------------------------------------------------------- without shapes

anglit = Distribution(
    "anglit",
    0,
    (-math.pi / 4, math.pi / 4),
    logpdf=lambda z: tnp.log(tnp.cos(2 * z)),
    cdf=lambda z: tnp.sin(z + math.pi / 4) ** 2,
    sf=lambda z: tnp.cos(z + math.pi / 4) ** 2,
    ppf=lambda q: tnp.arcsin(tnp.sqrt(q)) - math.pi / 4,
)
arcsine = Distribution(
    "arcsine",
    0,
    UNIT,
    logpdf=lambda z: -LOG_PI - 0.5 * tnp.log(z * (1 - z)),
    cdf=lambda z: 2 / math.pi * tnp.arcsin(tnp.sqrt(z)),
    sf=lambda z: 2 / math.pi * tnp.arcsin(tnp.sqrt(1 - z)),
    ppf=lambda q: tnp.sin(math.pi / 2 * q) ** 2,
)
cosine = Distribution(
    "cosine",
    0,
    (-math.pi, math.pi),
    logpdf=lambda z: tnp.log1p(tnp.cos(z)) - math.log(2 * math.pi),
    cdf=lambda z: (math.pi + z + tnp.sin(z)) / (2 * math.pi),
    sf=lambda z: (math.pi - z - tnp.sin(z)) / (2 * math.pi),
)
gumbel_l = Distribution(
    "gumbel_l",
    0,
    REAL,
    logpdf=lambda z: z - tnp.exp(z),
    cdf=lambda z: -tnp.expm1(-tnp.exp(z)),
    sf=lambda z: tnp.exp(-tnp.exp(z)),
    logsf=lambda z: -tnp.exp(z),
    ppf=lambda q: tnp.log(-tnp.log1p(-q)),
    isf=lambda q: tnp.log(-tnp.log(q)),
)
halfcauchy = Distribution(
    "halfcauchy",
    0,
    POSITIVE,
    logpdf=lambda z: LOG_2 - LOG_PI - tnp.log1p(z * z),
    cdf=lambda z: 2 / math.pi * tnp.arctan(z),
    sf=lambda z: 2 / math.pi * tnp.arctan2(1.0, z),
    ppf=lambda q: tnp.tan(math.pi / 2 * q),
    isf=lambda q: 1 / tnp.tan(math.pi / 2 * q),
)
halflogistic = Distribution(
    "halflogistic",
    0,
    POSITIVE,
    logpdf=lambda z: LOG_2 - z - 2 * tnp.log1p(tnp.exp(-z)),
    cdf=lambda z: tnp.tanh(z / 2),
    sf=lambda z: 2 * sp.expit(-z),
    ppf=lambda q: 2 * tnp.arctanh(q),
    isf=lambda q: tnp.where(
        q < 0.5, -sp.logit(0.5 * tnp.minimum(q, 0.5)), 2 * tnp.arctanh(1 - tnp.maximum(q, 0.5))
    ),
)
hypsecant = Distribution(
    "hypsecant",
    0,
    REAL,
    logpdf=lambda z: LOG_2 - LOG_PI - tnp.logaddexp(z, -z),
    cdf=lambda z: 2 / math.pi * tnp.arctan(tnp.exp(z)),
    sf=lambda z: 2 / math.pi * tnp.arctan(tnp.exp(-z)),
    ppf=lambda q: tnp.log(tnp.tan(math.pi / 2 * q)),
    isf=lambda q: -tnp.log(tnp.tan(math.pi / 2 * q)),
)
levy = Distribution(
    "levy",
    0,
    POSITIVE,
    logpdf=lambda z: where_positive(z, lambda z: -LOG_SQRT_2PI - 1.5 * tnp.log(z) - 0.5 / z),
    cdf=lambda z: sp.erfc(tnp.sqrt(0.5 / z)),
    sf=lambda z: sp.erf(tnp.sqrt(0.5 / z)),
    ppf=lambda q: 1 / sp.ndtri(q / 2) ** 2,
    isf=lambda q: 0.5 / sp.erfinv(q) ** 2,
)
maxwell = Distribution(
    "maxwell",
    0,
    POSITIVE,
    logpdf=lambda z: 0.5 * math.log(2 / math.pi) + 2 * tnp.log(z) - z * z / 2,
    cdf=lambda z: sp.gammainc(1.5, z * z / 2),
    sf=lambda z: sp.gammaincc(1.5, z * z / 2),
    ppf=lambda q: tnp.sqrt(2 * sp.gammaincinv(1.5, q)),
    isf=lambda q: tnp.sqrt(2 * sp.gammainccinv(1.5, q)),
)
moyal = Distribution(
    "moyal",
    0,
    REAL,
    logpdf=lambda z: -0.5 * (z + tnp.exp(-z)) - LOG_SQRT_2PI,
    cdf=lambda z: sp.erfc(tnp.exp(-0.5 * z) / math.sqrt(2)),
    sf=lambda z: sp.erf(tnp.exp(-0.5 * z) / math.sqrt(2)),
    ppf=lambda q: -tnp.log(sp.ndtri(q / 2) ** 2),
)
rayleigh = Distribution(
    "rayleigh",
    0,
    POSITIVE,
    vanishes=True,
    logpdf=lambda z: tnp.log(z) - 0.5 * z * z,
    cdf=lambda z: -tnp.expm1(-0.5 * z * z),
    sf=lambda z: tnp.exp(-0.5 * z * z),
    logsf=lambda z: -0.5 * z * z,
    ppf=lambda q: tnp.sqrt(-2 * tnp.log1p(-q)),
    isf=lambda q: tnp.sqrt(-2 * tnp.log(q)),
)
semicircular = Distribution(
    "semicircular",
    0,
    (-1.0, 1.0),
    logpdf=lambda z: LOG_2 - LOG_PI + 0.5 * tnp.log1p(-z * z),
    cdf=lambda z: 0.5 + (z * tnp.sqrt(1 - z * z) + tnp.arcsin(z)) / math.pi,
    sf=lambda z: 0.5 - (z * tnp.sqrt(1 - z * z) + tnp.arcsin(z)) / math.pi,
    ppf=lambda q: 2 * sp.betaincinv(1.5, 1.5, q) - 1,
)

# ---------------------------------------------------------------- gamma and beta functions


def _odds(q: Any, a: Any, b: Any) -> Any:
    """x/(1 - x) of the quantile x of the beta distribution; from the other side where x is next to 1."""
    r = sp.betaincinv(a, b, q)
    near = r > 0.9999
    other = 1 / sp.betainccinv(b, a, tnp.where(near, q, 0.5)) - 1
    r = tnp.where(near, 0.5, r)
    return tnp.where(near, other, r / (1 - r))


betaprime = Distribution(
    "betaprime",
    2,
    POSITIVE,
    vanishes=True,
    logpdf=lambda z, a, b: sp.xlogy(a - 1, z) - sp.xlog1py(a + b, z) - sp.betaln(a, b),
    cdf=lambda z, a, b: sp.betainc(a, b, z / (1 + z)),
    sf=lambda z, a, b: sp.betainc(b, a, 1 / (1 + z)),
    ppf=lambda q, a, b: _odds(q, a, b),
)
chi = Distribution(
    "chi",
    1,
    POSITIVE,
    logpdf=lambda z, df: LOG_2 * (1 - 0.5 * df) - sp.gammaln(0.5 * df) + sp.xlogy(df - 1, z) - 0.5 * z * z,
    cdf=lambda z, df: sp.gammainc(0.5 * df, 0.5 * z * z),
    sf=lambda z, df: sp.gammaincc(0.5 * df, 0.5 * z * z),
    ppf=lambda q, df: tnp.sqrt(2 * sp.gammaincinv(0.5 * df, q)),
    isf=lambda q, df: tnp.sqrt(2 * sp.gammainccinv(0.5 * df, q)),
)


def _f_log_density(z: Any, n: Any, m: Any) -> Any:
    return (
        m / 2 * tnp.log(m)
        + n / 2 * tnp.log(n)
        + sp.xlogy(n / 2 - 1, z)
        - ((n + m) / 2 * tnp.log(m + n * z) + sp.betaln(n / 2, m / 2))
    )


def _f_quantile(w: Any, n: Any, m: Any) -> Any:
    """Of the part that is left."""
    return m * (1 - w) / (n * w)


f = Distribution(
    "f",
    2,
    POSITIVE,
    vanishes=True,
    logpdf=_f_log_density,
    cdf=lambda z, n, m: sp.betainc(n / 2, m / 2, n * z / (m + n * z)),
    sf=lambda z, n, m: sp.betainc(m / 2, n / 2, m / (m + n * z)),
    ppf=lambda q, n, m: _f_quantile(1 - sp.betaincinv(n / 2, m / 2, q), n, m),
    isf=lambda q, n, m: _f_quantile(sp.betaincinv(m / 2, n / 2, q), n, m),
)
dgamma = Distribution(
    "dgamma",
    1,
    REAL,
    logpdf=lambda z, a: sp.xlogy(a - 1, tnp.abs(z)) - tnp.abs(z) - LOG_2 - sp.gammaln(a),
    cdf=lambda z, a: tnp.where(
        z > 0, 1 - 0.5 * sp.gammaincc(a, magnitude(z)), 0.5 * sp.gammaincc(a, magnitude(z))
    ),
    sf=lambda z, a: tnp.where(
        z > 0, 0.5 * sp.gammaincc(a, magnitude(z)), 1 - 0.5 * sp.gammaincc(a, magnitude(z))
    ),
    ppf=lambda q, a: _double_gamma_quantile(q, a),
    isf=lambda q, a: -_double_gamma_quantile(q, a),
)


def _double_gamma_quantile(q: Any, a: Any) -> Any:
    size = sp.gammainccinv(a, 2 * tnp.minimum(q, 1 - q))
    return tnp.where(q > 0.5, size, -size)


gengamma = Distribution(
    "gengamma",
    2,
    POSITIVE,
    valid=lambda a, c: (a > 0) & (c != 0),
    logpdf=lambda z, a, c: where_positive(
        z,
        lambda z: tnp.log(tnp.abs(c)) + sp.xlogy(c * a - 1, z) - z**c - sp.gammaln(a),
        tnp.where(
            c * a == 1, tnp.log(tnp.abs(c)) - sp.gammaln(a), tnp.where((c > 0) & (c * a < 1), INF, -INF)
        ),
    ),
    cdf=lambda z, a, c: tnp.where(c > 0, sp.gammainc(a, z**c), sp.gammaincc(a, z**c)),
    sf=lambda z, a, c: tnp.where(c > 0, sp.gammaincc(a, z**c), sp.gammainc(a, z**c)),
    ppf=lambda q, a, c: tnp.where(c > 0, sp.gammaincinv(a, q), sp.gammainccinv(a, q)) ** (1 / c),
    isf=lambda q, a, c: tnp.where(c > 0, sp.gammainccinv(a, q), sp.gammaincinv(a, q)) ** (1 / c),
)
gennorm = Distribution(
    "gennorm",
    1,
    REAL,
    logpdf=lambda z, b: tnp.log(0.5 * b) - sp.gammaln(1 / b) - tnp.abs(z) ** b,
    cdf=lambda z, b: _gennorm_tail(-z, b),
    sf=lambda z, b: _gennorm_tail(z, b),
    ppf=lambda q, b: -_gennorm_quantile(q, b),
    isf=lambda q, b: _gennorm_quantile(q, b),
)


def _gennorm_quantile(q: Any, b: Any) -> Any:
    """The point beyond which the probability is q."""
    size = sp.gammainccinv(1 / b, 2 * tnp.minimum(q, 1 - q)) ** (1 / b)
    return tnp.where(q < 0.5, size, -size)


def _gennorm_tail(z: Any, b: Any) -> Any:
    half = 0.5 * sp.gammaincc(1 / b, tnp.where(z < 0, -z, z) ** b)
    return tnp.where(z < 0, 1 - half, half)


halfgennorm = Distribution(
    "halfgennorm",
    1,
    POSITIVE,
    logpdf=lambda z, b: tnp.log(b) - sp.gammaln(1 / b) - z**b,
    cdf=lambda z, b: sp.gammainc(1 / b, z**b),
    sf=lambda z, b: sp.gammaincc(1 / b, z**b),
    ppf=lambda q, b: sp.gammaincinv(1 / b, q) ** (1 / b),
    isf=lambda q, b: sp.gammainccinv(1 / b, q) ** (1 / b),
)
loggamma = Distribution(
    "loggamma",
    1,
    REAL,
    logpdf=lambda z, c: c * z - tnp.exp(z) - sp.gammaln(c),
    cdf=lambda z, c: sp.gammainc(c, tnp.exp(z)),
    sf=lambda z, c: sp.gammaincc(c, tnp.exp(z)),
    ppf=lambda q, c: tnp.log(sp.gammaincinv(c, q)),
    isf=lambda q, c: tnp.log(sp.gammainccinv(c, q)),
)
nakagami = Distribution(
    "nakagami",
    1,
    POSITIVE,
    logpdf=lambda z, n: LOG_2 + sp.xlogy(n, n) - sp.gammaln(n) + sp.xlogy(2 * n - 1, z) - n * z * z,
    cdf=lambda z, n: sp.gammainc(n, n * z * z),
    sf=lambda z, n: sp.gammaincc(n, n * z * z),
    ppf=lambda q, n: tnp.sqrt(sp.gammaincinv(n, q) / n),
    isf=lambda q, n: tnp.sqrt(sp.gammainccinv(n, q) / n),
)
rdist = Distribution(
    "rdist",
    1,
    (-1.0, 1.0),
    logpdf=lambda z, c: (
        -LOG_2
        + sp.xlog1py(c / 2 - 1, -(z + 1) / 2)
        + sp.xlogy(c / 2 - 1, (z + 1) / 2)
        - sp.betaln(c / 2, c / 2)
    ),
    cdf=lambda z, c: sp.betainc(c / 2, c / 2, (z + 1) / 2),
    sf=lambda z, c: sp.betainc(c / 2, c / 2, (1 - z) / 2),
    ppf=lambda q, c: 2 * sp.betaincinv(c / 2, c / 2, q) - 1,
)
