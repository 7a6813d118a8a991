"""`scipy.stats`: statistics of what falls into bins."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.lax.segments import segment_max, segment_min, segment_sum
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module, scipy_stats
from tracejit.scipy.distributions import PART
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.following import known
from tracejit.tracing import to_raw

_STATISTICS = ("mean", "std", "count", "sum", "median", "min", "max")
_NAMES = {getattr(m, n): n for m in (np, tnp) for n in ("mean", "std", "sum", "median", "min", "max")}


def _edges(points: Any, bins: Any, limits: Any) -> Any:
    """The edges of the bins of one dimension: so many of one width, or those that are given."""
    kind = points.dtype if dtypes.is_inexact(points.dtype) else np.dtype(float)
    if np.ndim(bins):
        return tnp.asarray(bins).astype(kind)
    if limits is None:
        low, high = tnp.min(points).astype(float), tnp.max(points).astype(float)
    else:
        low, high = (tnp.asarray(v).astype(float) for v in limits)
        leave_if(to_raw(high < low), "SciPy's error about a range")
    same = low == high
    low, high = tnp.where(same, low - 0.5, low), tnp.where(same, high + 0.5, high)
    return tnp.linspace(low, high, int(bins) + 1, dtype=kind)


def _numbers(points: Any, edges: Any) -> Any:
    """The number of each point's bin, from 1; 0 and the last are outside. The last edge belongs to the last bin, to
    some decimals."""
    found = tnp.digitize(points, edges)
    least = tnp.min(edges[1:] - edges[:-1])
    leave_if(to_raw(~(least > 0)), "SciPy's error about edges that do not increase")
    decimals = tnp.trunc(-tnp.log10(least)).astype(np.int64) + 6
    factor = tnp.asarray(10.0) ** tnp.abs(decimals).astype(float)

    def rounded(x: Any) -> Any:
        return tnp.where(decimals >= 0, tnp.rint(x * factor) / factor, tnp.rint(x / factor) * factor)

    last = (points >= edges[-1]) & (rounded(points) == rounded(edges[-1]))
    return found - last


def _in_each(name: str, values: Any, place: Any, n: int) -> Any:
    """The statistic of the values in each of n bins."""
    count = segment_sum(tnp.ones(place.shape), place, n)
    if name == "count":
        return count
    if name == "sum":
        return segment_sum(values, place, n)
    some = tnp.maximum(count, 1)
    if name == "median":
        at = tnp.lexsort((values, place))
        starts = tnp.searchsorted(place[at], np.arange(n))
        ranked = values[at]
        last = ranked.shape[0] - 1
        low = starts + (count.astype(np.int64) - 1) // 2
        high = starts + count.astype(np.int64) // 2
        out = (ranked[tnp.clip(low, 0, last)] + ranked[tnp.clip(high, 0, last)]) / 2
    elif name in ("min", "max"):
        leave_if(to_raw(tnp.any(tnp.isnan(values))), "extremes of NaN")
        out = (segment_min if name == "min" else segment_max)(values, place, n)
    else:
        out = segment_sum(values, place, n) / some
        if name == "std":
            out = tnp.sqrt(segment_sum((values - out[place]) ** 2, place, n) / some)
    return tnp.where(count > 0, out, np.nan)


@PART.function
def binned_statistic_dd(
    sample: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None,
    expand_binnumbers: bool = False, binned_statistic_result: Any = None,
) -> Any:  # fmt: skip
    """A statistic of the values at the points in each of a grid of bins."""
    name = _NAMES.get(statistic, statistic) if isinstance(statistic, str) or callable(statistic) else None
    points = tnp.asarray(sample)
    # A list has the coordinates of one dimension after the other.
    points = points if hasattr(sample, "shape") and points.ndim == 2 else tnp.atleast_2d(points).T
    given = tnp.asarray(values)
    rows = tnp.atleast_2d(given)
    taken = name in _STATISTICS and binned_statistic_result is None and rows.shape[-1] == points.shape[0] > 0
    if not taken or dtypes.is_complex(rows.dtype):
        more = expand_binnumbers, binned_statistic_result
        return calls.of(scipy_stats().binned_statistic_dd)(sample, values, statistic, bins, range, *more)
    count: Any = bins
    several = isinstance(bins, Sequence) or np.ndim(bins) > 0
    each = list(bins) if several else [operator.index(count)] * points.shape[1]
    if len(each) != points.shape[1]:
        raise AttributeError("The dimension of bins must be equal to the dimension of the sample x.")
    if not several:
        leave_if(to_raw(~tnp.all(tnp.isfinite(points))), "SciPy's error about points that are not finite")
    limits = [None] * len(each) if range is None else list(range)
    if len(limits) != len(each):
        raise ValueError(f"range given for {len(limits)} dimensions; {len(each)} required")
    columns = [points[:, n] for n in np.arange(len(each))]
    edges = [_edges(*parts) for parts in zip(columns, each, limits, strict=True)]
    shape = [e.shape[0] + 1 for e in edges]
    numbers = [_numbers(x, e) for x, e in zip(columns, edges, strict=True)]
    place = numbers[0]
    for number, size in zip(numbers[1:], shape[1:], strict=True):
        place = place * size + number
    total = int(np.prod(shape))
    floats = rows.astype(np.result_type(rows.dtype, float))
    out = tnp.stack([_in_each(str(name), row, place, total) for row in floats])
    out = out.reshape((-1, *shape))[(slice(None), *[slice(1, -1)] * len(shape))]
    out = out.reshape((*given.shape[:-1], *[n - 2 for n in shape]))
    if expand_binnumbers and len(shape) > 1:
        place = tnp.stack(numbers)
    made = scipy_module("stats._binned_statistic").BinnedStatisticddResult
    return known(made(out, edges, place))


@PART.function
def binned_statistic(x: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None) -> Any:
    """A statistic of the values at the points in each bin."""
    bins = [bins] if np.ndim(bins) and np.shape(bins)[0] != 1 else bins
    limits = [range] if range is not None and len(range) == 2 else range
    points = tnp.asarray(x)
    out, edges, place = binned_statistic_dd(points[:, None], values, statistic, bins, limits)
    return known(scipy_module("stats._binned_statistic").BinnedStatisticResult(out, edges[0], place))


@PART.function
def binned_statistic_2d(
    x: Any, y: Any, values: Any, statistic: Any = "mean", bins: Any = 10, range: Any = None,
    expand_binnumbers: bool = False,
) -> Any:  # fmt: skip
    """A statistic of the values at the points in each of a table of bins."""
    several = isinstance(bins, Sequence) or np.ndim(bins) > 0
    bins = [bins, bins] if several and len(bins) not in (1, 2) else bins
    points = tnp.stack([tnp.asarray(x), tnp.asarray(y)], axis=1)
    out, edges, place = binned_statistic_dd(points, values, statistic, bins, range, expand_binnumbers)
    made = scipy_module("stats._binned_statistic").BinnedStatistic2dResult
    return known(made(out, edges[0], edges[1], place))


__all__ = ["binned_statistic", "binned_statistic_2d", "binned_statistic_dd"]
