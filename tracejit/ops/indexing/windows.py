"""Windows at an array of positions, for gather and scatter: dimension numbers, indexing, kernels."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ops.building.dims import check_axes
from tracejit.records import record

_I64 = np.dtype(np.int64)
MODES = ("clip", "fill", "promise_in_bounds")


@record(frozen=True)
class GatherDimensionNumbers:
    """Which axes of operand, indices and result belong together (as in JAX).

    The last axis of the indices holds positions along the operand's axes
    `start_index_map`. A window is cut at each; its axes, without
    `collapsed_slice_dims` and `operand_batching_dims`, become the result's axes
    `offset_dims`; the other axes of the result are the other axes of the indices.
    `operand_batching_dims` walk along `start_indices_batching_dims` of the indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()

    def window_dims(self, ndim: int) -> tuple[int, ...]:
        """The operand's axes that are in the result, in order."""
        gone = (*self.collapsed_slice_dims, *self.operand_batching_dims)
        return tuple(d for d in range(ndim) if d not in gone)

    def batch_positions(self, ndim: int) -> tuple[int, ...]:
        """The result's axes that come from the indices, in order."""
        return tuple(d for d in range(ndim) if d not in self.offset_dims)


def check_numbers(
    name: str, dn: GatherDimensionNumbers, x: Aval, indices: Aval, out_ndim: int, mode: str
) -> None:
    """Raises unless the dimension numbers fit the operand, the indices and the rank of the windows' array."""
    if not dtypes.is_integer(indices.dtype) or not indices.ndim:
        raise TypeRuleError(op=name, problem=f"indices are integers with at least one axis, not {indices}")
    if mode not in MODES:
        raise TypeRuleError(op=name, problem=f"mode {mode!r} is none of {', '.join(MODES)}")
    check_axes(name, (*dn.collapsed_slice_dims, *dn.operand_batching_dims), x.ndim)
    check_axes(name, (*dn.start_index_map, *dn.operand_batching_dims), x.ndim)
    check_axes(name, dn.start_indices_batching_dims, indices.ndim - 1)
    check_axes(name, dn.offset_dims, out_ndim)
    if len(dn.start_index_map) != indices.shape[-1]:
        raise ShapeError(
            op=name, problem=f"{dn.start_index_map} does not fit the last axis of the indices {indices}"
        )
    if len(dn.offset_dims) != len(dn.window_dims(x.ndim)) or list(dn.offset_dims) != sorted(dn.offset_dims):
        raise ShapeError(op=name, problem=f"the window axes {dn.offset_dims} do not fit {x}")
    pairs = zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True)
    if any(x.shape[a] != indices.shape[b] for a, b in pairs):
        raise ShapeError(op=name, problem=f"the batch axes of {x} and of the indices {indices} differ")


# ---------------------------------------------------------------- evaluation


class Plan:
    """NumPy advanced indexing for windows: `view[index]` has the axes (positions…, windows…).

    The operand's batched and indexed axes come first (`order`). `starts` are arrays that
    together broadcast to the positions, `valid` says which lie inside (None: all, or nobody asks).
    """

    def __init__(self, shape: Sequence[int], indices: Any, dn: GatherDimensionNumbers, sizes: Any, mode: str):
        indices = np.asarray(indices)
        window = dn.window_dims(len(shape))
        self.batch_shape = indices.shape[:-1]
        self.sizes = sizes
        self.indexed = (*dn.operand_batching_dims, *dn.start_index_map)
        self.rest = tuple(d for d in range(len(shape)) if d not in self.indexed)
        self.order = (*self.indexed, *self.rest)
        self.windowed = tuple(d for d in self.indexed if d in window)
        self.window_order = (*self.windowed, *(d for d in self.rest if d in window))
        self.starts, self.valid = _starts(shape, indices, dn, sizes, mode)
        for d, axis in zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True):
            line = along(np.arange(shape[d]), axis, len(self.batch_shape))
            self.starts[d] = line if dn.start_index_map else np.broadcast_to(line, self.batch_shape)

    @property
    def count(self) -> int:
        return math.prod(self.batch_shape)

    def keep_valid(self) -> None:
        """Only the positions that lie inside, in one axis."""
        self.starts = {d: np.broadcast_to(s, self.batch_shape)[self.valid] for d, s in self.starts.items()}
        self.batch_shape = (int(np.sum(np.asarray(self.valid))),)
        self.valid = None

    def index(self) -> tuple[Any, ...]:
        """The index into the operand transposed to `order`."""
        extra = len(self.windowed)
        out: list[Any] = []
        for d in self.indexed:
            at = self.starts[d]
            at = at.reshape(at.shape + (1,) * extra) if extra else at
            if d in self.windowed and self.sizes[d] != 1:
                at = at + along(np.arange(self.sizes[d]), self.windowed.index(d), extra)
            out.append(at)
        return (*out, *(builtins.slice(0, self.sizes[d]) if d in self.window_order else 0 for d in self.rest))

    def single(self) -> tuple[Any, ...]:
        """The basic index of the only window (count == 1), in the operand's own order of axes."""
        at = [int(self.starts[d].reshape(-1)[0]) if d in self.starts else 0 for d in range(len(self.order))]
        sizes = zip(at, self.sizes, strict=True)
        return tuple(
            builtins.slice(b, b + n) if d in self.window_order else b for d, (b, n) in enumerate(sizes)
        )


def along(line: Any, axis: int, ndim: int) -> Any:
    """A 1-d array along `axis` of `ndim`."""
    return line.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def _starts(shape: Any, indices: Any, dn: Any, sizes: Any, mode: str) -> tuple[dict[int, Any], Any]:
    starts, valid = {}, None
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(2**63 - 1))
    indices = indices.astype(_I64, copy=False)
    for n, d in enumerate(dn.start_index_map):
        at, last = indices[..., n], shape[d] - sizes[d]
        if mode == "fill":
            inside = (at >= 0) & (at <= last)
            valid = inside if valid is None else valid & inside
        outside = mode != "promise_in_bounds" and at.size and (at.min() < 0 or at.max() > last)
        starts[d] = np.minimum(np.maximum(at, 0), max(last, 0)) if outside else at
    return starts, None if valid is None or valid.all() else valid


# ---------------------------------------------------------------- kernels


def index_value(k: Any, value: Any) -> Any:
    """An integer scalar of any dtype as int64; huge unsigned ones stay huge."""
    if value.dtype == np.uint64:
        value = k.int_op("umin", value, k.const(2**63 - 1, value.dtype))
    return k.cast(value, _I64)


def clamp_start(k: Any, start: Any, extent: Any, size: Any) -> Any:
    """min(max(start, 0), extent - size)."""
    if type(extent) is int and type(size) is int and extent <= size:
        return k.const(0, _I64)
    return k.int_op("smax", k.int_op("smin", start, k.sub(extent, size)), k.const(0, _I64))


def locate(
    k: Any, idx: Any, x: Any, indices: Any, sizes: Sequence[Any], dn: GatherDimensionNumbers, mode: str
) -> Any:
    """The operand's index for the element `idx` of the windows' array, and whether its window lies inside.

    `sizes`: of the windows, one an axis of the operand `x`. (index, None) if there is nothing to check.
    """
    ndim = x.aval.ndim
    at: list[Any] = [k.const(0, _I64)] * ndim
    for p, d in zip(dn.offset_dims, dn.window_dims(ndim), strict=True):
        at[d] = idx[p]
    position = [idx[p] for p in dn.batch_positions(len(idx))]
    for d, p in zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True):
        at[d] = position[p]
    valid = None
    for n, d in enumerate(dn.start_index_map):
        start = index_value(k, indices[(*position, k.const(n, _I64))])
        if mode == "fill":
            last = k.sub(x.extent(d), sizes[d])
            inside = k.and_(k.ge(start, 0), k.le(start, last))
            valid = inside if valid is None else k.and_(valid, inside)
        if mode != "promise_in_bounds":
            start = clamp_start(k, start, x.extent(d), sizes[d])
        at[d] = k.add(start, at[d])
    return tuple(at), valid
