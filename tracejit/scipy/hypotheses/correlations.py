"""`scipy.stats`: correlations of ranks, and lines through medians of slopes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module, scipy_stats
from tracejit.scipy import special as sp
from tracejit.scipy.distributions import PART
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.following import contains_nan, known, rankdata
from tracejit.scipy.hypotheses.common import correlation, inner, median, probability
from tracejit.scipy.written import exchanges
from tracejit.tracing import call_user, to_raw

#: Samples of more observations have no table of exact probabilities.
_LARGEST = 60


@PART.function
def spearmanr(
    a: Any, b: Any = None, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> Any:
    """Spearman's correlation coefficient of ranks, of two samples or of all pairs of variables."""
    given = [tnp.asarray(v) for v in (a, b) if v is not None]
    if axis not in (0, 1) or not all(0 < v.ndim < 3 for v in given):
        return calls.of(scipy_stats().spearmanr)(a, b, axis, nan_policy, alternative)
    columns = [v[:, None] if v.ndim == 1 else v if axis == 0 else v.T for v in given]
    x = tnp.concatenate(columns, axis=1)
    if x.shape[0] <= 1 or x.shape[1] < 2:
        return calls.of(scipy_stats().spearmanr)(a, b, axis, nan_policy, alternative)
    contains_nan(x, nan_policy)
    leave_if(to_raw(tnp.any(tnp.all(x == x[:1], axis=0)[:2])), "SciPy's warning of constants")
    ranks = rankdata(x.T, "average")
    r = tnp.corrcoef(ranks)
    freedom = x.shape[0] - 2
    t = r * tnp.sqrt(tnp.clip(freedom / ((r + 1.0) * (1.0 - r)), 0, None))
    tail = {"less": t, "greater": -t, "two-sided": -tnp.abs(t)}.get(alternative)
    if tail is None:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    p = sp.stdtr(freedom, tail) * (2 if alternative == "two-sided" else 1)
    return known(correlation(r[1, 0], p[1, 0]) if r.shape == (2, 2) else correlation(r, p))


@functools.cache
def _kendall_exact(n: int, alternative: str, counts: tuple[int, ...] | None = None) -> np.ndarray:
    """The exact probability for each number of concordant pairs, or those in `counts`."""
    exact = scipy_module("stats._mstats_basic")._kendall_p_exact
    return np.array([exact(n, c, alternative) for c in counts or range(n * (n - 1) // 2 + 1)], float)


def _pairs(group: Any, n: int) -> tuple[Any, Any, Any]:
    """Of samples in groups that are numbered: how many pairs are in one, and two sums over groups of size."""
    count = tnp.bincount(group, minlength=n + 1)
    size = count.astype(float)
    return (
        tnp.sum(count * (count - 1) // 2),
        tnp.sum(size * (size - 1) * (size - 2)),
        tnp.sum(size * (size - 1) * (2 * size + 5)),
    )


def _numbered(*changes: Any) -> Any:
    """The number of the group of each element, given where neighbours differ."""
    change = functools.reduce(tnp.logical_or, changes)
    return tnp.cumsum(tnp.concatenate([tnp.ones(1, bool), change]))


@inner
def kendalltau(
    x: Any, y: Any, *, method: str = "auto", variant: str = "b", alternative: str = "two-sided"
) -> Any:
    """Kendall's tau: concordant and discordant pairs."""
    x, y = tnp.asarray(x).reshape(-1), tnp.asarray(y).reshape(-1)
    n = x.size
    if x.shape != y.shape or n < 3 or variant not in ("b", "c"):
        raise ArgumentError(name="kendalltau", problem="these samples have no traced form")
    if method not in ("auto", "exact", "asymptotic") or (method == "exact" and n > _LARGEST):
        raise ArgumentError(name="kendalltau", problem=f"method={method!r} has no traced form")
    y = y[order := tnp.argsort(y, stable=True)]
    x, y = x[order], _numbered(y[1:] != y[:-1])
    x, y = x[order := tnp.argsort(x, stable=True)], y[order]
    x = _numbered(x[1:] != x[:-1])
    against = call_user(exchanges.inversions, y)
    both = _pairs(_numbered(x[1:] != x[:-1], y[1:] != y[:-1]), n)[0]
    (xtie, x0, x1), (ytie, y0, y1) = _pairs(x, n), _pairs(y, n)
    total = n * (n - 1) // 2
    gain = total - xtie - ytie + both - 2 * against
    if variant == "b":
        tau = gain / tnp.sqrt(total - xtie) / tnp.sqrt(total - ytie)
    else:
        classes = tnp.minimum(x[-1], tnp.max(y))
        tau = 2 * gain / (n**2 * (classes - 1) / classes)
    same = (xtie == total) | (ytie == total)
    tau = tnp.where(same, np.nan, tnp.clip(tau, -1.0, 1.0))
    tied = (xtie != 0) | (ytie != 0)
    if method == "exact":
        leave_if(to_raw(tied & ~same), "SciPy's error about ties")
        p = _exact(n, total - against, alternative)
    else:
        m = n * (n - 1.0)
        variance = (m * (2 * n + 5) - x1 - y1) / 18 + 2 * xtie * ytie / m + x0 * y0 / (9 * m * (n - 2))
        p = probability(gain / tnp.sqrt(variance), alternative)
        if method == "auto" and n <= 33:
            p = tnp.where(tied, p, _exact(n, total - against, alternative))
        elif method == "auto":
            few = tnp.minimum(against, total - against) <= 1
            ends = _kendall_exact(n, alternative, (0, 1, total - 1, total))
            place = tnp.where(total - against <= 1, total - against, 3 - against)
            p = tnp.where(~tied & few, tnp.take(ends, tnp.clip(place, 0, 3)), p)
    p = tnp.where(same, np.nan, p)
    return correlation(tau[()], p[()])


def _exact(n: int, concordant: Any, alternative: str) -> Any:
    return tnp.take(_kendall_exact(n, alternative), concordant)


@inner
def theilslopes(y: Any, x: Any = None, alpha: float = 0.95, method: str = "separate") -> Any:
    """The median of the slopes of all pairs of points, and limits of confidence."""
    y = tnp.asarray(y).astype(float).reshape(-1)
    n = y.size
    x = tnp.arange(n).astype(float) if x is None else tnp.asarray(x).astype(float).reshape(-1)
    if method not in ("joint", "separate") or x.shape != y.shape or n < 2:
        raise ArgumentError(name="theilslopes", problem="these samples have no traced form")
    run = x[:, None] - x
    ahead = run > 0
    slopes = tnp.where(ahead, (y[:, None] - y) / tnp.where(ahead, run, 1.0), np.inf)
    slopes = tnp.sort(slopes.reshape(-1))
    count = tnp.sum(ahead)
    leave_if(to_raw(count == 0), "SciPy's warning of coordinates that are identical")
    slope = median(slopes, count)[()]
    if method == "joint":
        start = tnp.median(y - slope * x)
    else:
        start = tnp.median(y) - slope * tnp.median(x)
    z = sp.ndtri(tnp.where(tnp.asarray(alpha) > 0.5, 1.0 - alpha, alpha) / 2.0)
    repeats = [_pairs(_numbered(v[1:] != v[:-1]), n)[2] for v in (tnp.sort(x), tnp.sort(y))]
    square = (n * (n - 1) * (2 * n + 5) - repeats[0] - repeats[1]) / 18.0
    leave_if(to_raw(~(square >= 0)), "limits that are no numbers")
    width = z * tnp.sqrt(square)
    low = tnp.maximum(tnp.round((count + width) / 2.0).astype(np.int64) - 1, 0)
    high = tnp.minimum(tnp.round((count - width) / 2.0).astype(np.int64), count - 1)
    made = scipy_module("stats._stats_mstats_common").TheilslopesResult
    return made(slope=slope, intercept=start, low_slope=slopes[low][()], high_slope=slopes[high][()])


@PART.helper("_stats_mstats_common.siegelslopes_pythran")
def _siegelslopes(y: Any, x: Any, method: str) -> tuple[Any, Any]:
    """The median over points of the medians of the slopes to all others, and where the line begins."""
    run = x[:, None] - x
    other = run != 0
    steps = tnp.where(other, run, 1)
    count = tnp.sum(other, axis=1)

    def medians(values: Any) -> Any:
        return tnp.median(median(tnp.sort(tnp.where(other, values / steps, np.inf), axis=1), count))

    slope = medians(y[:, None] - y)
    if method == "separate":
        return slope, medians(y * x[:, None] - y[:, None] * x)
    return slope, tnp.median(y - slope * x)


__all__ = ["spearmanr"]
