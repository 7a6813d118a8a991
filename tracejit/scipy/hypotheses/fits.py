"""`scipy.stats`: tests of distributions: Kolmogorov's and Smirnov's, Shapiro's and Wilk's, Anderson's and Darling's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module, scipy_special, scipy_stats
from tracejit.scipy import special as sp
from tracejit.scipy.distributions import PART
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.following import contains_nan, known
from tracejit.scipy.written import paths
from tracejit.tracing import call_user, to_raw


@PART.helper("_stats_py._attempt_exact_2kssamp")
def _attempt(n1: int, n2: int, g: int, d: Any, alternative: str) -> tuple[bool, Any, Any]:
    """Whether the probability is exact, the distance without its error of rounding, and the probability. Where numbers
    of paths overflow, SciPy warns."""
    multiple = (n1 // g) * n2
    h = tnp.round(d * multiple).astype(np.int64)
    d = h * 1.0 / multiple
    some = tnp.maximum(h, 1)
    m, n = max(n1, n2), min(n1, n2)
    if alternative == "two-sided":
        square = (paths.beyond_square, n1, some)
        p = call_user(*square) if n1 == n2 else call_user(paths.beyond_either, m, n, g, some)
    elif n1 == n2:
        p = call_user(paths.beyond_one_of_square, n1, some)
    else:
        p = call_user(paths.below_one, m, n, g, some) / float(scipy_special().binom(n1 + n2, n1))
    leave_if(
        to_raw((h > 0) & ~((p >= 0) & (p <= 1))), "SciPy's warning of an exact probability that overflows"
    )
    return True, d, tnp.where(h == 0, 1.0, p)


@functools.cache
def _weights(n: int) -> np.ndarray:
    """The weights of the upper half of n observations in Shapiro's and Wilk's statistic."""
    weights = np.zeros(n // 2)
    scipy_module("stats._morestats").swilk(np.arange(n, dtype=float), weights, 0)
    return weights


#: Royston's polynomials (1995) for the logarithm of 1 - W, from the constant term on: the limit, the mean and the
#: logarithm of the deviation for up to 11 observations, by their number; mean and logarithm for more, by its logarithm.
_LIMIT = (-2.273, 0.459)
_FEW = ((0.5440, -0.39978, 0.025054, -0.0006714), (1.3822, -0.77857, 0.062767, -0.0020322))
_MANY = ((-1.5861, -0.31082, -0.083751, 0.0038915), (-0.4803, -0.082676, 0.0030302))


@PART.helper("_morestats.swilk")
def _swilk(x: Any, a: Any, init: Any = 0) -> tuple[Any, Any, int]:
    """Shapiro's and Wilk's statistic of a sorted sample, its probability, and that there is no fault."""
    n = x.shape[0]
    width = x[-1] - x[0]
    leave_if(to_raw(~(width >= 1e-19)), "SciPy's warning of a range that is zero")
    half = _weights(n)
    weights = np.concatenate([-half, [0.0] * (n % 2), half[::-1]])
    weights = weights - weights.mean()
    z = x / width
    z = z - tnp.mean(z)
    squares = np.sum(weights**2) * tnp.sum(z * z)
    both = tnp.sqrt(squares)
    along = tnp.sum(z * weights)
    rest = (both - along) * (both + along) / squares
    if n == 3:
        w = tnp.maximum(1 - rest, 0.75)
        p = 1.0 - 6 / np.pi * tnp.arccos(tnp.sqrt(w))
        return w, tnp.where(1 - rest < 0.75, 0.0, p), 0
    y = tnp.log(rest)
    value = np.polynomial.polynomial.polyval
    if n <= 11:
        limit = value(n, _LIMIT)
        beyond = y >= limit
        y = -tnp.log(tnp.where(beyond, 1.0, limit - y))
        mean, spread = value(n, _FEW[0]), np.exp(value(n, _FEW[1]))
        return 1 - rest, tnp.where(beyond, 1e-19, sp.ndtr((mean - y) / spread)), 0
    mean, spread = value(np.log(n), _MANY[0]), np.exp(value(np.log(n), _MANY[1]))
    return 1 - rest, sp.ndtr((mean - y) / spread), 0


@PART.function
def anderson(x: Any, dist: str = "norm", *, method: Any = None) -> Any:
    """Anderson's and Darling's test for normal or exponential samples, with an interpolated probability."""
    theirs = scipy_module("stats._morestats")
    sample = tnp.asarray(x)
    if method != "interpolate" or dist not in ("norm", "expon") or sample.ndim != 1 or sample.size < 2:
        return calls.of(scipy_stats().anderson)(x, dist, method=method)
    n = sample.size
    y, middle = tnp.sort(sample), tnp.mean(sample)
    if dist == "norm":
        w = (y - middle) / tnp.std(sample, ddof=1)
        below, above = sp.log_ndtr(w), sp.log_ndtr(-w)
        critical = np.around(theirs._Avals_norm / (1.0 + 0.75 / n + 2.25 / n / n), 3)
    else:
        w = y / middle
        leave_if(to_raw(tnp.any(~(w >= 0))), "what is outside of an exponential distribution")
        below, above = tnp.log(-tnp.expm1(-w)), -w
        critical = np.around(theirs._Avals_expon / (1.0 + 0.6 / n), 3)
    order = np.arange(1, n + 1)
    found = -n - tnp.sum((2 * order - 1.0) / n * (below + above[::-1]))
    p = tnp.interp(found, critical, np.array([15, 10, 5, 2.5, 1]) / 100)
    return known(scipy_module("stats._stats_py").SignificanceResult(statistic=found, pvalue=p))


@PART.function
def percentileofscore(a: Any, score: Any, kind: str = "rank", nan_policy: str = "propagate") -> Any:
    """The share of a sample that is below each score, in percent."""
    sample, scores = tnp.asarray(a), tnp.asarray(score)
    if sample.ndim != 1 or not sample.size or kind not in ("rank", "strict", "weak", "mean"):
        return calls.of(scipy_stats().percentileofscore)(a, score, kind, nan_policy)
    for v in (sample, scores):
        contains_nan(v, nan_policy)
    n = sample.size
    each = scores[..., None]
    left, right = tnp.sum(sample < each, axis=-1), tnp.sum(sample <= each, axis=-1)
    if kind == "rank":
        return ((left + right + (left < right)) * (50.0 / n))[()]
    if kind == "mean":
        return ((left + right) * (50.0 / n))[()]
    return ((left if kind == "strict" else right) * (100.0 / n))[()]


__all__ = ["anderson", "percentileofscore"]
