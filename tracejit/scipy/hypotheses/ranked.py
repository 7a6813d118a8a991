"""`scipy.stats`: tests whose exact probabilities are read from tables, by statistics of ranks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.distributions import PART
from tracejit.scipy.hosting.following import rankdata
from tracejit.scipy.hypotheses.common import inner, probability
from tracejit.tracing import call_user, to_raw

#: Samples of more observations have no table of exact probabilities.
_LARGEST = 200


def _chosen(below: Any, above: Any, alternative: str) -> Any:
    """The probability for an alternative, of the distribution function and what is at or above the statistic."""
    if alternative == "two-sided":
        return tnp.clip(2 * tnp.minimum(below, above), 0, 1)
    return below if alternative == "less" else above


@functools.cache
def _signed(n: int) -> tuple[np.ndarray, np.ndarray]:
    """For each sum of the positive ranks of n: the probability of not more, and of not less."""
    known = scipy_module("stats._wilcoxon").WilcoxonDistribution(n)
    sums = np.arange(n * (n + 1) // 2 + 1)
    return known.cdf(sums), known.sf(sums)


@PART.helper("_wilcoxon._wilcoxon_nd")
def _wilcoxon(
    x: Any, y: Any = None, zero_method: Any = "wilcox", correction: Any = True, alternative: Any = "two-sided",
    method: Any = "auto", axis: Any = 0,
) -> Any:  # fmt: skip
    """Wilcoxon's test of signed ranks. Samples so small that they are permuted, since there are ties, are Python's."""
    theirs = scipy_module("stats._wilcoxon")
    d, zero_method, correction, alternative, method, axis, told, zeros, xp = call_user(
        theirs._wilcoxon_iv, x, y, zero_method, correction, alternative, method, axis
    )
    n = d.shape[-1]
    if d.size == 0 or (method != "asymptotic" and n > _LARGEST) or type(method) is not str:
        raise ArgumentError(name="wilcoxon", problem=f"method={method!r} has no traced form here")
    positive, negative, se, z, _, tied = call_user(theirs._wilcoxon_statistic, d, method, zero_method, xp=xp)
    p: Any = None
    if method != "exact":
        sign = {"greater": 1, "less": -1}.get(alternative)
        z = z - (tnp.sign(z) if sign is None else sign) * 0.5 / se if correction else z
        p = probability(z, alternative)
    if method != "asymptotic":
        below, above = _signed(n)
        low, high = tnp.ceil(positive).astype(np.int64), tnp.floor(positive).astype(np.int64)
        tied = tied | (zeros > 0)
        if method == "exact" or n <= 13:
            reason = "a test by permutations, or of fewer observations than there are"
            leave_if(to_raw((zeros > 0) if method == "exact" else tied), reason)
            low, high = (tnp.clip(v, 0, len(below) - 1) for v in (low, high))
            p = _chosen(tnp.take(below, low), tnp.take(above, high), alternative)
        else:
            low, high = (tnp.clip(v, 0, len(below) - 1) for v in (low, high))
            p = tnp.where(tied, p, _chosen(tnp.take(below, low), tnp.take(above, high), alternative))
    p = p.astype(d.dtype)
    statistic = tnp.minimum(positive, negative) if alternative == "two-sided" else positive
    result = scipy_module("stats._morestats").WilcoxonResult(statistic=statistic[()], pvalue=p[()])
    if told:
        result.zstatistic = (-tnp.abs(z) if alternative == "two-sided" else z)[()]
    return result


@functools.cache
def _scales(n: int, m: int) -> tuple[float, np.ndarray, np.ndarray]:
    """The least value of Ansari's and Bradley's statistic; for each from there on, the probabilities of not more, and
    of not less."""
    known = scipy_module("stats._morestats")._ABW()
    known._recalc(n, m)
    values = known.astart + np.arange(len(known.freqs))
    return (
        known.astart,
        np.array([known.cdf(k, n, m) for k in values]),
        np.array([known.sf(k, n, m) for k in values]),
    )


@inner
def ansari(x: Any, y: Any, alternative: str = "two-sided", *, axis: int = 0) -> Any:
    """Ansari's and Bradley's test of scales."""
    x, y = (tnp.asarray(v) for v in (x, y))
    kind = np.result_type(*(v.dtype if dtypes.is_inexact(v.dtype) else float for v in (x, y)))
    n, m = x.shape[-1], y.shape[-1]
    if n < 1 or m < 1 or alternative not in ("two-sided", "greater", "less"):
        raise ArgumentError(name="ansari", problem="these samples have no traced form")
    total = n + m
    ranks, ties = rankdata(tnp.concatenate([x, y], axis=-1), "average", return_ties=True)
    ranks, ties = ranks.astype(kind), ties.astype(kind)
    folded = tnp.minimum(ranks, total - ranks + 1)
    found = tnp.sum(folded[..., :n], axis=-1)
    repeated = tnp.any(ties > 1)
    squares = tnp.sum(folded**2, axis=-1)
    if total % 2:
        middle = n * (total + 1.0) ** 2 / 4.0 / total
        tied = m * n * (16 * total * squares - (total + 1) ** 4) / (16.0 * total**2 * (total - 1))
        free = n * m * (total + 1.0) * (3 + total**2) / (48.0 * total**2)
    else:
        middle = n * (total + 2.0) / 4.0
        tied = m * n * (16 * squares - total * (total + 2) ** 2) / (16.0 * total * (total - 1))
        free = m * n * (total + 2) * (total - 2.0) / 48 / (total - 1.0)
    variance = tnp.where(repeated, tied, tnp.asarray(free, kind))
    p = probability((middle - found) / tnp.sqrt(variance), alternative)
    if n < 55 and m < 55:
        least, below, above = _scales(n, m)
        place = found - least
        low, high = (
            tnp.clip(edge(place).astype(np.int64), 0, len(below) - 1) for edge in (tnp.ceil, tnp.floor)
        )
        # The statistic is small where the ratio of scales is large.
        other = {"greater": "less", "less": "greater"}.get(alternative, alternative)
        exact = _chosen(tnp.take(below, low), tnp.take(above, high), other)
        p = tnp.where(repeated, p, tnp.clip(exact.astype(kind), None, 1.0))
    made = scipy_module("stats._morestats").AnsariResult
    return made(found[()], p.astype(kind)[()])
