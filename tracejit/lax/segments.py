"""JAX's reductions of segments (`jax.ops.segment_sum` and its kin)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.tracing import to_raw


def _segments(
    data: Any, segment_ids: Any, num_segments: int | None, method: str, start: Callable[[Any], Any]
) -> Any:
    x, ids = tnp.asarray(data), tnp.asarray(segment_ids)
    if num_segments is None:  # as in JAX, the numbers of the segments must be known then
        num_segments = int(np.max(np.asarray(to_raw(ids)), initial=-1)) + 1
    ids = tnp.where(ids < 0, num_segments, ids)  # outside, and dropped
    out = tnp.full((num_segments, *x.shape[ids.ndim :]), start(x.dtype), x.dtype)
    return getattr(tnp.at(out)[ids], method)(x, mode="drop")


def _lowest(dtype: Any) -> Any:
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:  # fmt: skip
    """The sum of the rows of `data` of each segment; rows of other numbers than 0 to num_segments - 1 are left out."""
    return _segments(data, segment_ids, num_segments, "add", lambda dtype: dtype.type(0))


def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:  # fmt: skip
    """The product of the rows of each segment; 1 for one without rows."""
    return _segments(data, segment_ids, num_segments, "multiply", lambda dtype: dtype.type(1))


def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest of the rows of each segment; -inf (or the least integer) for one without rows."""
    return _segments(data, segment_ids, num_segments, "max", _lowest)


def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:  # fmt: skip
    """The least of the rows of each segment; inf (or the largest integer) for one without rows."""
    return _segments(data, segment_ids, num_segments, "min", _highest)
