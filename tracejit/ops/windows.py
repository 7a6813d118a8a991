"""Windows at an array of positions, for gather and scatter: dimension numbers, indexing, kernels."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ops.dims import check_axes

_I64 = np.dtype(np.int64)
MODES = ("clip", "fill", "promise_in_bounds")


@dataclass(frozen=True)
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
    """NumPy advanced indexing for windows: `view[index]` has the axes (positions, windows…).

    The operand's batched and indexed axes come first (`order`); all positions are
    flattened into one axis. `valid` says which positions lie inside (mode 'fill' only).
    """

    def __init__(
        self, shape: Sequence[int], indices: Any, dn: GatherDimensionNumbers, sizes: Sequence[int], mode: str
    ):
        indices = np.asarray(indices)
        self.batch_shape = indices.shape[:-1]
        self.count = math.prod(self.batch_shape)
        window = dn.window_dims(len(shape))
        self.indexed = (*dn.operand_batching_dims, *(d for d in dn.start_index_map))
        self.rest = tuple(d for d in range(len(shape)) if d not in self.indexed)
        self.order = (*self.indexed, *self.rest)
        self.windowed = tuple(d for d in self.indexed if d in window)
        self.sizes = sizes
        self.window_order = (*self.windowed, *(d for d in self.rest if d in window))
        self.dropped = tuple(n for n, d in enumerate(self.rest) if d not in window)
        columns = np.reshape(indices, (self.count, indices.shape[-1]))
        self.starts, self.valid = _starts(shape, columns, dn, sizes, mode)
        for d, axis in zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True):
            self.starts[d] = _walk(self.batch_shape, axis)

    def keep(self, mask: Any) -> None:
        """Only the positions where `mask` is true."""
        self.starts = {d: s[mask] for d, s in self.starts.items()}
        self.count = int(np.count_nonzero(mask))

    def index(self) -> tuple[Any, ...]:
        """The index into the operand transposed to `order`."""
        ndim = 1 + len(self.windowed)
        out: list[Any] = []
        for d in self.indexed:
            at = self.starts[d].reshape((-1,) + (1,) * (ndim - 1))
            if d in self.windowed and self.sizes[d] != 1:
                own = [1] * ndim
                own[1 + self.windowed.index(d)] = self.sizes[d]
                at = at + np.arange(self.sizes[d]).reshape(own)
            out.append(at)
        return (
            *out,
            *(0 if n in self.dropped else builtins.slice(0, self.sizes[d]) for n, d in enumerate(self.rest)),
        )

    def single(self) -> tuple[Any, ...]:
        """The basic index of the only window (count == 1), in the operand's own order of axes."""
        window = (*self.windowed, *(d for n, d in enumerate(self.rest) if n not in self.dropped))
        at = {d: int(s[0]) for d, s in self.starts.items()}
        return tuple(
            builtins.slice(at.get(d, 0), at.get(d, 0) + self.sizes[d]) if d in window else at.get(d, 0)
            for d in range(len(self.order))
        )


def _starts(shape: Any, columns: Any, dn: Any, sizes: Any, mode: str) -> tuple[dict[int, Any], Any]:
    starts, valid = {}, None
    for n, d in enumerate(dn.start_index_map):
        at = columns[:, n]
        if at.dtype == np.uint64:
            at = np.minimum(at, np.uint64(2**63 - 1))
        at = at.astype(_I64)
        last = shape[d] - sizes[d]
        if mode == "fill":
            inside = (at >= 0) & (at <= last)
            valid = inside if valid is None else valid & inside
        starts[d] = at if mode == "promise_in_bounds" else np.clip(at, 0, max(last, 0))
    return starts, None if valid is None or valid.all() else valid


def _walk(batch_shape: Any, axis: int) -> Any:
    """The position along `axis` of every element of a flattened array of `batch_shape`."""
    shape = [1] * len(batch_shape)
    shape[axis] = batch_shape[axis]
    return np.ravel(np.broadcast_to(np.arange(batch_shape[axis]).reshape(shape), batch_shape))


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
