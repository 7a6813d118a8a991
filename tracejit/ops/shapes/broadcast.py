"""Broadcasting, with static and dynamic sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, ShapeError
from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.kernel import Repeat
from tracejit.ops.building.dims import check_axes, dims_of, dynamic_shape, split_dynamic, with_batch
from tracejit.ops.building.helpers import batch_is_last, move_batch_axis, view
from tracejit.ops.shapes.moves import broadcast_of_expanded, broadcast_twice, same_type
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)
_SMALL = 1024  # elements up to which a broadcast is copied rather than strided: it is faster then


def _broadcast_type(
    x: Aval,
    *dyn: Aval,
    shape: tuple[Any, ...],
    broadcast_dimensions: tuple[int, ...],
    bounds: tuple[Any, ...],
) -> Aval:
    out = dynamic_shape("broadcast_in_dim", shape, bounds, len(dyn), 1)
    check_axes("broadcast_in_dim", broadcast_dimensions, len(shape))
    fits = len(broadcast_dimensions) == x.ndim and list(broadcast_dimensions) == sorted(broadcast_dimensions)
    for d, b in zip(x.shape, broadcast_dimensions, strict=False):
        fits = fits and (d == 1 or d == shape[b] or (isinstance(d, Dim) and shape[b] is None))
    if not fits:
        raise ShapeError(
            op="broadcast_in_dim",
            problem=f"{x} does not fit the dimensions {broadcast_dimensions} of {shape}",
        )
    return Aval(out, x.dtype)


def _broadcast_eval(x: Any, *dyn: Any, shape: Any, broadcast_dimensions: Any, bounds: Any) -> Any:
    if dyn:
        sizes = iter(dyn)
        shape = tuple(int(next(sizes)) if s is None else s for s in shape)
    inner = [1] * len(shape)
    for d, b in zip(np.shape(x), broadcast_dimensions, strict=True):
        inner[b] = d
    x = np.reshape(x, inner)
    if math.prod(shape) > _SMALL:
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def _broadcast_transpose(
    ct: Any, x: Any, *dyn: Any, shape: Any, broadcast_dimensions: Any, bounds: Any
) -> list[Any]:
    pairs = list(enumerate(broadcast_dimensions))
    expanded = [(n, b) for n, b in pairs if x.aval.shape[n] == 1 and shape[b] != 1]
    summed = {b for _, b in expanded} | (set(range(len(shape))) - set(broadcast_dimensions))
    ct = ops.reduce.reduce_sum(ct, axes=tuple(sorted(summed)))
    return [ops.shape.expand_dims(ct, tuple(n for n, _ in expanded)), *(None for _ in dyn)]


def _broadcast_batch(
    size: int, args: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any, bounds: Any
) -> tuple[Any, int]:
    if any(d is not None for d in dims[1:]):
        raise DynamicExtentError(
            op="broadcast_in_dim", problem="the size differs between the examples of a vmap"
        )
    if batch_is_last(args[:1], dims[:1]):
        x, dim, axes = args[0], len(shape), (*broadcast_dimensions, len(shape))
    else:
        x, dim = move_batch_axis(args[0], dims[0], 0), 0
        axes = (0, *(b + 1 for b in broadcast_dimensions))
    dyn, shape, bounds = with_batch(size, args[1:], shape, bounds, last=dim > 0)
    out = bind(broadcast_in_dim_op, x, *dyn, shape=shape, broadcast_dimensions=axes, bounds=bounds)
    return out, dim


def _broadcast_pull(
    k: Any, idx: Any, operands: Any, out: Any, *, shape: Any, broadcast_dimensions: Any, bounds: Any
) -> Any:
    x = operands[0]
    zero = k.const(0, _I64)
    return x[
        tuple(zero if d == 1 else idx[b] for d, b in zip(x.aval.shape, broadcast_dimensions, strict=True))
    ]


broadcast_in_dim_op = view(
    "broadcast_in_dim",
    "repeat along new axes and along axes of size 1",
    type=_broadcast_type,
    eval=_broadcast_eval,
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    simplify=(same_type, broadcast_of_expanded, broadcast_twice),
    pull=Repeat(_broadcast_pull),
)


def broadcast_in_dim(
    x: Any,
    *dyn: Any,
    shape: Sequence[int | None],
    broadcast_dimensions: Sequence[int],
    bounds: Sequence[int | None] = (),
) -> Any:
    """`x` repeated to `shape`; its axis n becomes axis `broadcast_dimensions[n]` (increasing).

    Entries None of `shape` take their sizes from `dyn`, bounded by `bounds`.
    """
    axes = tuple(broadcast_dimensions)
    return bind(
        broadcast_in_dim_op, x, *dyn, shape=tuple(shape), broadcast_dimensions=axes, bounds=tuple(bounds)
    )


def broadcast_to(x: Any, shape: Shape) -> Any:
    """`x` broadcast to `shape` as NumPy does; `x` itself if it has that shape already."""
    have = dims_of(x)
    shape = tuple(shape)
    if have == shape:
        return x
    if len(have) > len(shape):
        raise ShapeError(op="broadcast_to", problem=f"an array of shape {have} has too many axes for {shape}")
    dyn, sizes, bounds = split_dynamic(shape)
    axes = range(len(shape) - len(have), len(shape))
    return broadcast_in_dim(x, *dyn, shape=sizes, broadcast_dimensions=axes, bounds=bounds)


def zeros(aval: Aval) -> Any:
    """An array of zeros of type `aval` (which may have dynamic dimensions)."""
    return broadcast_to(dtypes.element(aval.dtype, 0), aval.shape)
