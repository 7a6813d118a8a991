"""JAX's names for joining and parting arrays, and for exchanges between lanes that are made of simpler ones."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.control.collectives import all_gather, axis_index, axis_size, ppermute, psum
from tracejit.errors import ShapeError
from tracejit.lax.indexing import dynamic_index_in_dim, dynamic_slice_in_dim
from tracejit.ops.building.dims import normalize_axis

# ---------------------------------------------------------------- shapes


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of `shapes` broadcast to."""
    return np.broadcast_shapes(*map(tuple, shapes))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The axes from `start_dimension` up to `stop_dimension` (without it) as one."""
    x = tnp.asarray(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(x.ndim)
    if start >= stop:
        raise ShapeError(op="collapse", problem=f"there are no axes from {start} to {stop}")
    return x.reshape((*x.shape[:start], math.prod(x.shape[start:stop]), *x.shape[stop:]))


def empty(shape: Sequence[int], dtype: Any = float) -> Any:
    """Zeros: an array whose elements are to be written."""
    return tnp.zeros(shape, dtypes.canonical(dtype))


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Parts of `sizes` along `axis`, of which they are the sum.

    Raises:
        ShapeError: they are not.
    """
    x = tnp.asarray(operand)
    axis = normalize_axis("split", axis, x.ndim)
    ends = list(itertools.accumulate(map(operator.index, sizes), initial=0))
    if ends[-1] != x.shape[axis] or min(sizes, default=0) < 0:
        raise ShapeError(op="split", problem=f"{tuple(sizes)} are not parts of an axis of {x.shape[axis]}")
    return [x[(slice(None),) * axis + (slice(a, b),)] for a, b in itertools.pairwise(ends)]


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    return tnp.stack(operands, axis=axis)


def unstack(operand: Any, axis: int = 0) -> tuple[Any, ...]:
    """The parts along `axis`, without it."""
    x = tnp.asarray(operand)
    axis = normalize_axis("unstack", axis, x.ndim)
    return tuple(x[(slice(None),) * axis + (n,)] for n in range(x.shape[axis]))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` repeated along its axes."""
    return tnp.tile(operand, reps)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """One part along `axis`, for a Python integer `index`."""
    x = tnp.asarray(operand)
    axis, at = normalize_axis("index_in_dim", axis, x.ndim), operator.index(index)
    part = x[(slice(None),) * axis + (at,)]
    return tnp.expand_dims(part, axis) if keepdims else part


# ---------------------------------------------------------------- between lanes


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Any:
    """Every lane sends part n along `split_axis` to lane n, and joins what it gets along `concat_axis`.

    The axis has as many elements as there are lanes, and goes; if `tiled` it is a multiple of them, and stays
    as that many times less. The new axis at `concat_axis` is a lane's part, if `tiled` joined to what is there.
    """
    lanes, here = axis_size(axis_name), axis_index(axis_name)
    x = tnp.asarray(x)
    split_axis = normalize_axis("all_to_all", split_axis, x.ndim)
    concat_axis = normalize_axis("all_to_all", concat_axis, x.ndim)
    part = _part("all_to_all", x.shape[split_axis], lanes, tiled)
    everything = all_gather(x, axis_name)
    mine = dynamic_slice_in_dim(everything, here * part, part, split_axis + 1)
    if tiled:
        return tnp.concatenate([mine[n] for n in range(lanes)], axis=concat_axis)
    return tnp.moveaxis(tnp.squeeze(mine, axis=split_axis + 1), 0, concat_axis)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """The sum over all lanes, of which lane n keeps part n along `scatter_dimension` (as `all_to_all` splits it)."""
    total = tnp.asarray(psum(x, axis_name))
    axis = normalize_axis("psum_scatter", scatter_dimension, total.ndim)
    part = _part("psum_scatter", total.shape[axis], axis_size(axis_name), tiled)
    here = axis_index(axis_name)
    if not tiled:
        return dynamic_index_in_dim(total, here, axis, keepdims=False)
    return dynamic_slice_in_dim(total, here * part, part, axis)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Lane n gets the value of lane `perm[n]`."""
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def pswapaxes(x: Any, axis_name: Any, axis: int) -> Any:
    """The lanes as `axis`, and the elements along `axis` as lanes."""
    return all_to_all(x, axis_name, axis, axis)


def _part(op: str, size: int, lanes: int, tiled: bool) -> int:
    """Elements a lane along an axis of `size`."""
    if size % lanes if tiled else size != lanes:
        wanted = "a multiple of" if tiled else "as long as"
        raise ShapeError(op=op, problem=f"the axis of {size} has to be {wanted} the number of lanes, {lanes}")
    return size // lanes
