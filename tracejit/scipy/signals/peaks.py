"""Parts of `scipy.signal.find_peaks` that are not loops over arrays: conditions, and a choice among equal peaks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.numpy.boxes.numbers import leave_if
from tracejit.scipy.written import peaks as written
from tracejit.tracing import Box, call_user, to_raw


def bounds(interval: Any, x: Any, peaks: Any) -> tuple[Any, Any]:
    """The least and the largest value that a condition allows, at the peaks where they are arrays like the signal."""
    pair = interval
    if _is_array(interval):
        pair = (interval[0], interval[1]) if interval.ndim and interval.shape[0] == 2 else (interval, None)
    elif not (isinstance(interval, (tuple, list)) and len(interval) == 2):
        pair = interval, None
    return _at(pair[0], "lower", x, peaks), _at(pair[1], "upper", x, peaks)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (type(value) is Box and not (value.scalar or value.weak))


def _at(border: Any, which: str, x: Any, peaks: Any) -> Any:
    if not _is_array(border):
        return border
    if border.size != x.size:
        raise ValueError(f"array size of {which} interval border must match x")
    return border[peaks]


def by_distance(peaks: Any, priority: Any, distance: Any) -> Any:
    """Which peaks stay. SciPy's order of equal heights is that of NumPy's unstable sort."""
    keep, tied = call_user(written.kept_by_distance, peaks, priority, distance)
    leave_if(to_raw(tied), "which of two near peaks of the same height SciPy removes")
    return keep
