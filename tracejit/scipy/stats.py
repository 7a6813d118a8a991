"""scipy.stats for traced arrays: densities, distribution functions and quantiles of the usual distributions,
and summaries of samples.

    from tracejit.scipy.stats import norm

User code that is traced may import them from SciPy itself. Without traced values, and for methods that are not
here (such as `rvs` and `fit`), they are SciPy's own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_stats as _scipy_stats
from tracejit.scipy import discrete as _discrete
from tracejit.scipy import special as sp
from tracejit.scipy.continuous import bounded as _bounded
from tracejit.scipy.continuous import called as _called
from tracejit.scipy.continuous import followed as _followed
from tracejit.scipy.continuous import normal as _normal
from tracejit.scipy.continuous import plain as _plain
from tracejit.scipy.continuous import powers as _powers
from tracejit.scipy.continuous.density import gaussian_kde
from tracejit.scipy.distributions import PART as _PART
from tracejit.scipy.distributions import Distribution
from tracejit.scipy.hosting.calls import others as _others
from tracejit.scipy.hypotheses import ranked as _ranked  # noqa: F401 - enters its forms
from tracejit.scipy.hypotheses.binned import binned_statistic, binned_statistic_2d, binned_statistic_dd
from tracejit.scipy.hypotheses.correlations import spearmanr
from tracejit.scipy.hypotheses.fits import anderson, percentileofscore
from tracejit.scipy.hypotheses.tables import chi2_contingency
from tracejit.scipy.multivariate import (
    dirichlet,
    dirichlet_multinomial,
    invwishart,
    matrix_normal,
    multinomial,
    multivariate_hypergeom,
    multivariate_normal,
    multivariate_t,
    wishart,
)
from tracejit.scipy.samples import (
    entropy,
    gmean,
    hmean,
    kurtosis,
    pearsonr,
    sem,
    skew,
    tsem,
    tstd,
    tvar,
    variation,
    zmap,
    zscore,
)

#: Name of what SciPy has -> ours: the distributions, and functions.
DISTRIBUTIONS = _PART.names
_INF = np.inf
_REAL = (-_INF, _INF)
_POSITIVE = (0.0, _INF)
_UNIT = (0.0, 1.0)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)

# ---------------------------------------------------------------- on the real line

norm = Distribution(
    "norm",
    0,
    _REAL,
    logpdf=lambda z: -0.5 * tnp.square(z) - _LOG_SQRT_2PI,
    cdf=sp.ndtr,
    sf=lambda z: sp.ndtr(-z),
    logcdf=sp.log_ndtr,
    logsf=lambda z: sp.log_ndtr(-z),
    ppf=sp.ndtri,
    isf=lambda q: -sp.ndtri(q),
)


def _laplace_tail(z: Any) -> Any:
    """The probability beyond z."""
    # Not by abs, whose slope at 0 is 0: the tail's is minus the density.
    half = 0.5 * tnp.exp(tnp.where(z < 0, z, -z))
    return tnp.where(z < 0, 1 - half, half)


def _laplace_quantile(q: Any) -> Any:
    left = tnp.less(q, 0.5)
    return tnp.where(
        left, tnp.log(2 * tnp.where(left, q, 0.25)), -tnp.log(2 * (1 - tnp.where(left, 0.75, q)))
    )


laplace = Distribution(
    "laplace",
    0,
    _REAL,
    logpdf=lambda z: -tnp.abs(z) - math.log(2.0),
    cdf=lambda z: _laplace_tail(-z),
    sf=_laplace_tail,
    ppf=_laplace_quantile,
    isf=lambda q: -_laplace_quantile(q),
)

logistic = Distribution(
    "logistic",
    0,
    _REAL,
    logpdf=lambda z: sp.log_expit(z) + sp.log_expit(-z),
    cdf=sp.expit,
    sf=lambda z: sp.expit(-z),
    logcdf=sp.log_expit,
    logsf=lambda z: sp.log_expit(-z),
    ppf=sp.logit,
    isf=lambda q: -sp.logit(q),
)


def _cauchy_quantile(q: Any) -> Any:
    inner = tnp.tan(math.pi * (q - 0.5))
    return tnp.where(tnp.equal(q, 0), -_INF, tnp.where(tnp.equal(q, 1), _INF, inner))


cauchy = Distribution(
    "cauchy",
    0,
    _REAL,
    logpdf=lambda z: -math.log(math.pi) - tnp.log1p(tnp.square(z)),
    cdf=lambda z: tnp.arctan2(1.0, -z) / math.pi,
    sf=lambda z: tnp.arctan2(1.0, z) / math.pi,
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)


gumbel_r = Distribution(
    "gumbel_r",
    0,
    _REAL,
    logpdf=lambda z: -z - tnp.exp(-z),
    cdf=lambda z: tnp.exp(-tnp.exp(-z)),
    logcdf=lambda z: -tnp.exp(-z),
    sf=lambda z: -tnp.expm1(-tnp.exp(-z)),
    ppf=lambda q: -tnp.log(-tnp.log(q)),
    isf=lambda q: -tnp.log(-tnp.log1p(-q)),
)


def _t_log_density(z: Any, df: Any) -> Any:
    return -(df + 1) / 2 * tnp.log1p(tnp.square(z) / df) - sp.betaln(df / 2, 0.5) - 0.5 * tnp.log(df)


t = Distribution(
    "t",
    1,
    _REAL,
    logpdf=_t_log_density,
    cdf=lambda z, df: sp.stdtr(df, z),
    sf=lambda z, df: sp.stdtr(df, -z),
    ppf=lambda q, df: sp.stdtrit(df, q),
    isf=lambda q, df: -sp.stdtrit(df, q),
)

# ---------------------------------------------------------------- on the half-line and on intervals

expon = Distribution(
    "expon",
    0,
    _POSITIVE,
    logpdf=lambda z: -z,
    cdf=lambda z: -tnp.expm1(-z),
    sf=lambda z: tnp.exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -tnp.log1p(-q),
    isf=lambda q: -tnp.log(q),
)

gamma = Distribution(
    "gamma",
    1,
    _POSITIVE,
    logpdf=lambda z, a: sp.xlogy(a - 1, z) - z - sp.gammaln(a),
    cdf=lambda z, a: sp.gammainc(a, z),
    sf=lambda z, a: sp.gammaincc(a, z),
    ppf=lambda q, a: sp.gammaincinv(a, q),
    isf=lambda q, a: sp.gammainccinv(a, q),
)

chi2 = Distribution(
    "chi2",
    1,
    _POSITIVE,
    logpdf=lambda z, df: sp.xlogy(df / 2 - 1, z) - z / 2 - sp.gammaln(df / 2) - df * (0.5 * math.log(2.0)),
    cdf=lambda z, df: sp.gammainc(df / 2, z / 2),
    sf=lambda z, df: sp.gammaincc(df / 2, z / 2),
    ppf=lambda q, df: 2 * sp.gammaincinv(df / 2, q),
    isf=lambda q, df: 2 * sp.gammainccinv(df / 2, q),
)

lognorm = Distribution(
    "lognorm",
    1,
    _POSITIVE,
    logpdf=lambda z, s: _lognorm_log_density(z, s),
    cdf=lambda z, s: sp.ndtr(tnp.log(z) / s),
    sf=lambda z, s: sp.ndtr(-tnp.log(z) / s),
    logcdf=lambda z, s: sp.log_ndtr(tnp.log(z) / s),
    logsf=lambda z, s: sp.log_ndtr(-tnp.log(z) / s),
    ppf=lambda q, s: tnp.exp(s * sp.ndtri(q)),
    isf=lambda q, s: tnp.exp(-s * sp.ndtri(q)),
)


def _lognorm_log_density(z: Any, s: Any) -> Any:
    zero = tnp.equal(z, 0)
    log = tnp.log(tnp.where(zero, 1.0, z))
    value = -tnp.square(log) / (2 * tnp.square(s)) - tnp.log(s) - log - _LOG_SQRT_2PI
    return tnp.where(zero, -_INF, value)


halfnorm = Distribution(
    "halfnorm",
    0,
    _POSITIVE,
    logpdf=lambda z: 0.5 * math.log(2 / math.pi) - 0.5 * tnp.square(z),
    cdf=lambda z: sp.erf(z / math.sqrt(2)),
    sf=lambda z: 2 * sp.ndtr(-z),
    ppf=lambda q: sp.ndtri((1 + q) / 2),
    isf=lambda q: -sp.ndtri(q / 2),
)

weibull_min = Distribution(
    "weibull_min",
    1,
    _POSITIVE,
    logpdf=lambda z, c: tnp.log(c) + sp.xlogy(c - 1, z) - tnp.power(z, c),
    cdf=lambda z, c: -tnp.expm1(-tnp.power(z, c)),
    sf=lambda z, c: tnp.exp(-tnp.power(z, c)),
    logsf=lambda z, c: -tnp.power(z, c),
    ppf=lambda q, c: tnp.power(-tnp.log1p(-q), 1 / c),
    isf=lambda q, c: tnp.power(-tnp.log(q), 1 / c),
)

invgamma = Distribution(
    "invgamma",
    1,
    _POSITIVE,
    logpdf=lambda z, a: _invgamma_log_density(z, a),
    cdf=lambda z, a: sp.gammaincc(a, 1 / z),
    sf=lambda z, a: sp.gammainc(a, 1 / z),
    ppf=lambda q, a: 1 / sp.gammainccinv(a, q),
    isf=lambda q, a: 1 / sp.gammaincinv(a, q),
)


def _invgamma_log_density(z: Any, a: Any) -> Any:
    zero = tnp.equal(z, 0)
    z = tnp.where(zero, 1.0, z)
    return tnp.where(zero, -_INF, -(a + 1) * tnp.log(z) - sp.gammaln(a) - 1 / z)


pareto = Distribution(
    "pareto",
    1,
    (1.0, _INF),
    logpdf=lambda z, b: tnp.log(b) - (b + 1) * tnp.log(z),
    cdf=lambda z, b: -tnp.expm1(-b * tnp.log(z)),
    sf=lambda z, b: tnp.exp(-b * tnp.log(z)),
    logsf=lambda z, b: -b * tnp.log(z),
    ppf=lambda q, b: tnp.exp(-tnp.log1p(-q) / b),
    isf=lambda q, b: q ** (-1 / b),
)

uniform = Distribution(
    "uniform",
    0,
    _UNIT,
    logpdf=lambda z: tnp.zeros_like(z),
    cdf=lambda z: z,
    sf=lambda z: 1 - z,
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
)

beta = Distribution(
    "beta",
    2,
    _UNIT,
    logpdf=lambda z, a, b: sp.xlog1py(b - 1, -z) + sp.xlogy(a - 1, z) - sp.betaln(a, b),
    cdf=lambda z, a, b: sp.betainc(a, b, z),
    sf=lambda z, a, b: sp.betaincc(a, b, z),
    ppf=lambda q, a, b: sp.betaincinv(a, b, q),
    isf=lambda q, a, b: sp.betainccinv(a, b, q),
)

__all__ = [
    "anderson",
    "beta",
    "binned_statistic",
    "binned_statistic_2d",
    "binned_statistic_dd",
    "cauchy",
    "chi2",
    "chi2_contingency",
    "dirichlet",
    "dirichlet_multinomial",
    "entropy",
    "expon",
    "gamma",
    "gaussian_kde",
    "gmean",
    "gumbel_r",
    "halfnorm",
    "hmean",
    "invgamma",
    "invwishart",
    "kurtosis",
    "laplace",
    "logistic",
    "lognorm",
    "matrix_normal",
    "multinomial",
    "multivariate_hypergeom",
    "multivariate_normal",
    "multivariate_t",
    "norm",
    "pareto",
    "pearsonr",
    "percentileofscore",
    "sem",
    "skew",
    "spearmanr",
    "t",
    "tsem",
    "tstd",
    "tvar",
    "uniform",
    "variation",
    "weibull_min",
    "wishart",
    "zmap",
    "zscore",
]


_FAMILIES = (_bounded, _called, _discrete, _followed, _normal, _plain, _powers)
_MORE = {n: x for m in _FAMILIES for n, x in vars(m).items() if isinstance(x, Distribution)}
globals().update(_MORE)
_PART.names["gaussian_kde"] = gaussian_kde
__all__ += list(_MORE)

__getattr__, __dir__ = _others(__name__, _scipy_stats, __all__)
