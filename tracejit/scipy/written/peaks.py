"""Peaks of a signal: what `scipy.signal` finds and measures element by element."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_module


def _category() -> type[Warning]:
    """SciPy's class of warnings about peaks."""
    return scipy_module("signal._peak_finding_utils").PeakPropertyWarning


def _local_maxima_1d(x: Any) -> Any:
    """The middles of the plateaus that are above what is beside them, and their first and last elements."""
    n = len(x)
    middles = np.empty(n // 2, dtype=np.intp)
    lefts = np.empty(n // 2, dtype=np.intp)
    rights = np.empty(n // 2, dtype=np.intp)
    found = 0
    i = 1
    while i < n - 1:
        if x[i - 1] < x[i]:
            ahead = i + 1
            while ahead < n - 1 and x[ahead] == x[i]:
                ahead += 1
            if x[ahead] < x[i]:
                lefts[found] = i
                rights[found] = ahead - 1
                middles[found] = (i + ahead - 1) // 2
                found += 1
                i = ahead
        i += 1
    return middles[:found], lefts[:found], rights[:found]


def kept_by_distance(peaks: Any, priority: Any, distance: Any) -> Any:
    """Which peaks stay where, from the highest down, each one removes those nearer than `distance`; and whether one
    removes another of its own height, so that the order among them matters."""
    least = np.ceil(distance)
    n = len(peaks)
    order = np.argsort(priority, kind="stable")
    keep = np.ones(n, dtype=np.bool_)
    tied = False
    for i in range(n):
        j = order[n - 1 - i]
        if keep[j]:
            k = j - 1
            while k >= 0 and peaks[j] - peaks[k] < least:
                if keep[k] and priority[k] == priority[j]:
                    tied = True
                keep[k] = False
                k -= 1
            k = j + 1
            while k < n and peaks[k] - peaks[j] < least:
                if keep[k] and priority[k] == priority[j]:
                    tied = True
                keep[k] = False
                k += 1
    return keep, tied


def _peak_prominences(x: Any, peaks: Any, wlen: Any) -> Any:
    """By how much each peak is above the higher one of the two lowest places beside it, before the signal is higher
    than the peak or the window of `wlen` elements ends; and these places."""
    n = len(peaks)
    prominences = np.empty(n, dtype=np.float64)
    left_bases = np.empty(n, dtype=np.intp)
    right_bases = np.empty(n, dtype=np.intp)
    flat = False
    for p in range(n):
        peak = peaks[p]
        first = np.intp(0)
        last = np.intp(len(x) - 1)
        if not first <= peak <= last:
            raise ValueError(f"peak {peak} is not a valid index for `x`")
        if wlen >= 2:
            first = np.maximum(peak - wlen // 2, first)
            last = np.minimum(peak + wlen // 2, last)
        height = x[peak]
        low, base = height, peak
        i = peak
        while i >= first and x[i] <= height:
            if x[i] < low:
                low, base = x[i], i
            i -= 1
        other, other_base = height, peak
        i = peak
        while i <= last and x[i] <= height:
            if x[i] < other:
                other, other_base = x[i], i
            i += 1
        left_bases[p] = base
        right_bases[p] = other_base
        prominences[p] = height - (low if low > other else other)
        flat = flat or prominences[p] == 0
    if flat:
        warnings.warn("some peaks have a prominence of 0", _category(), stacklevel=2)
    return prominences, left_bases, right_bases


def _peak_widths(
    x: Any, peaks: Any, rel_height: Any, prominences: Any, left_bases: Any, right_bases: Any
) -> Any:
    """How wide the peaks are at a part of their prominence below them; at which heights, from where to where."""
    if rel_height < 0:
        raise ValueError("`rel_height` must be greater or equal to 0.0")
    n = len(peaks)
    if not (n == len(prominences) == len(left_bases) == len(right_bases)):
        raise ValueError("arrays in `prominence_data` must have the same shape as `peaks`")
    widths = np.empty(n, dtype=np.float64)
    heights = np.empty(n, dtype=np.float64)
    lefts = np.empty(n, dtype=np.float64)
    rights = np.empty(n, dtype=np.float64)
    flat = False
    for p in range(n):
        first, last, peak = left_bases[p], right_bases[p], peaks[p]
        if not 0 <= first <= peak <= last < len(x):
            raise ValueError(f"prominence data is invalid for peak {peak}")
        height = x[peak] - prominences[p] * rel_height
        i = peak
        while first < i and height < x[i]:
            i -= 1
        left = np.float64(i)
        if x[i] < height:
            left += (height - x[i]) / (x[i + 1] - x[i])
        i = peak
        while i < last and height < x[i]:
            i += 1
        right = np.float64(i)
        if x[i] < height:
            right -= (height - x[i]) / (x[i - 1] - x[i])
        heights[p] = height
        lefts[p] = left
        rights[p] = right
        widths[p] = right - left
        flat = flat or widths[p] == 0
    if flat:
        warnings.warn("some peaks have a width of 0", _category(), stacklevel=2)
    return widths, heights, lefts, rights
