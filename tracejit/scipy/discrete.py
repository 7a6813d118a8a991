"""Distributions of whole numbers of scipy.stats. The formulas are those of SciPy's documentation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.scipy import special as sp
from tracejit.scipy.continuous.common import scipys
from tracejit.scipy.distributions import Distribution

_INF = np.inf
_COUNTS = (0.0, _INF)


def _choices(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1)


def _whole(*xs: Any) -> Any:
    good: Any = np.True_
    for x in xs:
        good = tnp.logical_and(good, x == tnp.floor(x))
    return good


def _probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


bernoulli = Distribution(
    "bernoulli",
    1,
    (0.0, 1.0),
    _probability,
    logpmf=lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p),
    cdf=lambda k, p: 1 - p,
    sf=lambda k, p: p,
)


def _binom_log_probability(k: Any, n: Any, p: Any) -> Any:
    inside = k <= n
    k = tnp.where(inside, k, 0)
    choices = sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1)
    return tnp.where(inside, choices + sp.xlogy(k, p) + sp.xlog1py(n - k, -p), -_INF)


binom = Distribution(
    "binom",
    2,
    lambda n, p: (0.0, n),
    lambda n, p: (n >= 0) & (n == tnp.floor(n)) & _probability(p),
    logpmf=_binom_log_probability,
    cdf=lambda k, n, p: sp.betaincc(tnp.floor(k) + 1, n - tnp.floor(k), p),
    sf=lambda k, n, p: sp.betainc(tnp.floor(k) + 1, n - tnp.floor(k), p),
)

geom = Distribution(
    "geom",
    1,
    (1.0, _INF),
    lambda p: (p > 0) & (p <= 1),
    logpmf=lambda k, p: sp.xlog1py(k - 1, -p) + tnp.log(p),
    cdf=lambda k, p: -tnp.expm1(tnp.log1p(-p) * tnp.floor(k)),
    logsf=lambda k, p: tnp.log1p(-p) * tnp.floor(k),
)

nbinom = Distribution(
    "nbinom",
    2,
    _COUNTS,
    lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    logpmf=lambda k, n, p: (
        sp.gammaln(k + n) - sp.gammaln(k + 1) - sp.gammaln(n) + n * tnp.log(p) + sp.xlog1py(k, -p)
    ),
    cdf=lambda k, n, p: sp.betainc(n, tnp.floor(k) + 1, p),
    sf=lambda k, n, p: sp.betaincc(n, tnp.floor(k) + 1, p),
)

poisson = Distribution(
    "poisson",
    1,
    _COUNTS,
    lambda mu: mu >= 0,
    logpmf=lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu,
    cdf=lambda k, mu: sp.pdtr(k, mu),
    sf=lambda k, mu: sp.pdtrc(k, mu),
)

# ---------------------------------------------------------------- more

betabinom = Distribution(
    "betabinom",
    3,
    lambda n, a, b: (0.0, n),
    valid=lambda n, a, b: (n >= 0) & _whole(n) & (a > 0) & (b > 0),
    logpmf=lambda k, n, a, b: (
        -tnp.log(n + 1) - sp.betaln(n - k + 1, k + 1) + sp.betaln(k + a, n - k + b) - sp.betaln(a, b)
    ),
)
betanbinom = Distribution(
    "betanbinom",
    3,
    _COUNTS,
    valid=lambda n, a, b: (n >= 0) & _whole(n) & (a > 0) & (b > 0),
    logpmf=lambda k, n, a, b: (
        -tnp.log(n + k) - sp.betaln(n, k + 1) + sp.betaln(a + n, b + k) - sp.betaln(a, b)
    ),
)
boltzmann = Distribution(
    "boltzmann",
    2,
    lambda lam, n: (0.0, n - 1),
    valid=lambda lam, n: (lam > 0) & (n > 0) & _whole(n),
    pmf=lambda k, lam, n: tnp.expm1(-lam) / tnp.expm1(-lam * n) * tnp.exp(-lam * k),
    cdf=lambda k, lam, n: tnp.expm1(-lam * (tnp.floor(k) + 1)) / tnp.expm1(-lam * n),
)
dlaplace = Distribution(
    "dlaplace",
    1,
    (-_INF, _INF),
    pmf=lambda k, a: tnp.tanh(a / 2) * tnp.exp(-a * tnp.abs(k)),
    cdf=lambda k, a: tnp.where(
        tnp.floor(k) >= 0,
        1 - tnp.exp(-a * tnp.abs(tnp.floor(k))) / (tnp.exp(a) + 1),
        tnp.exp(a * tnp.minimum(tnp.floor(k) + 1, 0.0)) / (tnp.exp(a) + 1),
    ),
)


def _hypergeom(k: Any, total: Any, good: Any, drawn: Any) -> Any:
    return _choices(good, k) + _choices(total - good, drawn - k) - _choices(total, drawn)


def _of_whole(method: str) -> dict[str, Any]:
    """Between whole numbers SciPy gives NaN, and as logarithms what there is at the next one."""
    return {
        method: lambda k, *shapes: tnp.where(
            k == tnp.floor(k), hypergeom.summed(method, k, *shapes), tnp.nan
        ),
        f"log{method}": lambda k, *shapes: tnp.log(hypergeom.summed(method, tnp.ceil(k), *shapes)),
    }


hypergeom = Distribution(
    "hypergeom",
    3,
    lambda total, good, drawn: (
        tnp.maximum(drawn - (total - good), 0.0),
        tnp.minimum(good, drawn).astype(float),
    ),
    valid=lambda total, good, drawn: (
        (total > 0)
        & (good >= 0)
        & (drawn >= 0)
        & (good <= total)
        & (drawn <= total)
        & _whole(total, good, drawn)
    ),
    logpmf=_hypergeom,
    **_of_whole("cdf"),
    **_of_whole("sf"),
)
nhypergeom = Distribution(
    "nhypergeom",
    3,
    lambda total, good, failures: (0.0, good),
    valid=lambda total, good, r: (
        (good >= 0) & (good <= total) & (r >= 0) & (r <= total - good) & _whole(total, good, r)
    ),
    logpmf=lambda k, total, good, r: tnp.where(
        r == 0,
        tnp.where(k == 0, 0.0, -_INF),
        -sp.betaln(k + 1, tnp.where(r > 0, r, 1.0))
        + sp.betaln(k + tnp.where(r > 0, r, 1.0), 1.0)
        - sp.betaln(good - k + 1, total - r - good + 1)
        + sp.betaln(total - r - k + 1, 1.0)
        + sp.betaln(good + 1, total - good + 1)
        - sp.betaln(total + 1, 1.0),
    ),
)
logser = Distribution(
    "logser",
    1,
    (1.0, _INF),
    valid=lambda p: (p > 0) & (p < 1),
    pmf=lambda k, p: -(p**k) / k / tnp.log1p(-p),
    sf=lambda k, p: (
        -(p ** (k + 1)) / (k + 1) * sp.hyp2f1(1.0, k + 1, k + 2, p) / tnp.log1p(-p)  # between, too, as SciPy
    ),
)
planck = Distribution(
    "planck",
    1,
    _COUNTS,
    pmf=lambda k, lam: -tnp.expm1(-lam) * tnp.exp(-lam * k),
    cdf=lambda k, lam: -tnp.expm1(-lam * (tnp.floor(k) + 1)),
    logsf=lambda k, lam: -lam * (tnp.floor(k) + 1),
)
randint = Distribution(
    "randint",
    2,
    lambda low, high: (low, high - 1),
    valid=lambda low, high: (high > low) & _whole(low, high),
    pmf=lambda k, low, high: tnp.ones_like(k) / (high - low),
    cdf=lambda k, low, high: (tnp.floor(k) - low + 1) / (high - low),
)


def _skellam(k: Any, a: Any, b: Any) -> Any:
    """By a Bessel function: exp(-(a + b)) (a / b)**(k / 2) I_|k|(2 sqrt(a b))."""
    root = tnp.sqrt(a * b)
    return (
        -((tnp.sqrt(a) - tnp.sqrt(b)) ** 2)
        + 0.5 * k * (tnp.log(a) - tnp.log(b))
        + tnp.log(sp.ive(tnp.abs(k), 2 * root))
    )


skellam = Distribution(
    "skellam",
    2,
    (-_INF, _INF),
    logpmf=_skellam,
    cdf=lambda k, a, b: tnp.where(
        tnp.floor(k) < 0,
        sp.chndtr(2 * b, -2 * tnp.minimum(tnp.floor(k), -1.0), 2 * a),
        1 - sp.chndtr(2 * a, 2 * (tnp.maximum(tnp.floor(k), 0.0) + 1), 2 * b),
    ),
)
yulesimon = Distribution(
    "yulesimon",
    1,
    (1.0, _INF),
    pmf=lambda k, alpha: alpha * sp.beta(k, alpha + 1),
    cdf=lambda k, alpha: 1 - k * sp.beta(k, alpha + 1),
    sf=lambda k, alpha: k * sp.beta(k, alpha + 1),
)
zipf = Distribution(
    "zipf",
    1,
    (1.0, _INF),
    valid=lambda a: a > 1,
    pmf=lambda k, a: k**-a / sp.zeta(a, 1.0),
)
zipfian = Distribution(
    "zipfian",
    2,
    lambda a, n: (1.0, n),
    valid=lambda a, n: (a >= 0) & (n > 0) & (n == tnp.floor(n)),
    pmf=lambda k, a, n: scipys("_normalized_gen_harmonic")(k, k, n, a),
    cdf=lambda k, a, n: scipys("_normalized_gen_harmonic")(1.0, tnp.floor(k), n, a),
    sf=lambda k, a, n: scipys("_normalized_gen_harmonic")(tnp.floor(k) + 1, n, n, a),
)
