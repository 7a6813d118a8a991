"""Reading windows at an array of positions, with JAX's dimension numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, ShapeError
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.kernel import Pull
from tracejit.ir.values import AddInto, Zero, is_zero
from tracejit.ops.building.dims import dims_of, normalize_axis
from tracejit.ops.building.helpers import move_batch_axis, plain
from tracejit.ops.building.values import kind
from tracejit.ops.indexing.windows import GatherDimensionNumbers, Plan, check_numbers, locate
from tracejit.tracing import bind

__all__ = ["GatherDimensionNumbers", "fill_of", "gather", "gather_op", "take", "take_along_axis"]


def _type(
    x: Aval,
    indices: Aval,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: str,
    fill_value: Any,
    unique_indices: bool,
) -> Aval:
    dn = dimension_numbers
    out_ndim = indices.ndim - 1 + len(dn.offset_dims)
    check_numbers("gather", dn, x, indices, out_ndim, mode)
    if len(slice_sizes) != x.ndim:
        raise ShapeError(op="gather", problem=f"the window {slice_sizes} does not fit {x}")
    for n, (s, d) in enumerate(zip(slice_sizes, x.shape, strict=True)):
        _check_window(n, s, d, n in dn.start_index_map, n not in dn.window_dims(x.ndim))
    shape: list[Any] = [None] * out_ndim
    for p, d in zip(dn.offset_dims, dn.window_dims(x.ndim), strict=True):
        shape[p] = x.shape[d] if slice_sizes[d] is None else slice_sizes[d]
    for p, s in zip(dn.batch_positions(out_ndim), indices.shape[:-1], strict=True):
        shape[p] = s
    return Aval(tuple(shape), x.dtype)


def _check_window(axis: int, size: Any, extent: Any, indexed: bool, single: bool) -> None:
    if size is None and (indexed or single):
        raise DynamicExtentError(op="gather", problem=f"axis {axis} is indexed with a window of traced size")
    if isinstance(extent, Dim):
        if size is not None and not (indexed or single):
            raise DynamicExtentError(
                op="gather", problem=f"axis {axis} of traced size is not taken as a whole"
            )
    elif size is not None and (size > max(extent, 1) or (single and size != 1)):
        raise ShapeError(op="gather", problem=f"a window of {size} does not fit axis {axis} of size {extent}")


def fill_of(dtype: np.dtype, fill_value: Any) -> Any:
    """What mode 'fill' gives for windows outside: NaN, the least integer (greatest unsigned one), or True."""
    if fill_value is not None:
        return dtype.type(fill_value)
    if dtypes.is_inexact(dtype):
        return dtype.type(np.nan)
    if kind(dtype) == "b":
        return np.True_
    info = np.iinfo(dtype)
    return dtype.type(info.max if kind(dtype) == "u" else info.min)


def _eval(
    x: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: str,
    fill_value: Any,
    unique_indices: bool,
) -> Any:
    x, indices, dn = np.asarray(x), np.asarray(indices), dimension_numbers
    sizes = tuple(d if s is None else s for s, d in zip(slice_sizes, x.shape, strict=True))
    axis = _only_axis(x, indices, dn, sizes)
    if axis is not None and mode != "fill":
        return np.take(x, indices[..., 0], axis, mode="clip")
    plan = Plan(x.shape, indices, dn, sizes, mode)
    batch_shape, order = plan.batch_shape, plan.window_order
    if 0 in (plan.count, x.size):
        out = np.full((*batch_shape, *(sizes[d] for d in order)), fill_of(x.dtype, fill_value), x.dtype)
    elif plan.count == 1:
        order = tuple(sorted(order))
        out = x[plan.single()].reshape((*batch_shape, *(sizes[d] for d in order)))
    else:
        out = x.transpose(plan.order)[plan.index()]
        out = np.broadcast_to(out, (*batch_shape, *out.shape)) if not plan.indexed else out
    if plan.valid is not None:
        mask = plan.valid.reshape(batch_shape + (1,) * len(order))
        out = np.where(mask, out, fill_of(x.dtype, fill_value))
    return np.transpose(out, _result_order(dn, order, len(batch_shape)))


def _only_axis(x: Any, indices: Any, dn: GatherDimensionNumbers, sizes: Any) -> int | None:
    """The axis of `np.take`, where the gather is one."""
    if len(dn.start_index_map) != 1 or dn.collapsed_slice_dims != dn.start_index_map or not x.size:
        return None
    (axis,) = dn.start_index_map
    n = indices.ndim - 1
    plain = dn.offset_dims == (*range(axis), *range(axis + n, x.ndim + n - 1)) and indices.dtype.kind == "i"
    whole = plain and all(s == d or a == axis for a, (s, d) in enumerate(zip(sizes, x.shape, strict=True)))
    return axis if whole else None


def _result_order(dn: GatherDimensionNumbers, order: Sequence[int], batch_ndim: int) -> list[int]:
    """The permutation of (batch…, windows in `order`) that gives the result."""
    ndim = batch_ndim + len(order)
    out = [0] * ndim
    for n, p in enumerate(dn.batch_positions(ndim)):
        out[p] = n
    for p, d in zip(dn.offset_dims, sorted(order), strict=True):
        out[p] = batch_ndim + list(order).index(d)
    return out


# ---------------------------------------------------------------- rules


def _jvp(primals: Any, tangents: Any, *, fill_value: Any, **params: Any) -> tuple[Any, Any]:
    out = bind(gather_op, *primals, fill_value=fill_value, **params)
    t = tangents[0]
    if is_zero(t):
        shape = dims_of(out)
        return out, Zero(Aval(shape, t.aval.dtype))
    return out, bind(gather_op, t, primals[1], fill_value=0, **params)


def _transpose(
    ct: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: str,
    fill_value: Any,
    unique_indices: bool,
) -> list[Any]:
    params = {
        "dimension_numbers": ops.scatter.ScatterDimensionNumbers.of_gather(dimension_numbers),
        "mode": mode,
        "unique_indices": unique_indices,
    }
    return [AddInto(ops.scatter.scatter_add_op, x.aval, (indices, ct), params), None]


def _batch(
    size: int, args: Any, dims: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any
) -> tuple[Any, int]:
    (x, indices), (dx, di), dn = args, dims, dimension_numbers
    x = x if dx is None else move_batch_axis(x, dx, 0)
    indices = indices if di is None else move_batch_axis(indices, di, 0)
    dn = batched_numbers(dn, dx is not None, di is not None)
    if dx is not None:
        slice_sizes = (1 if di is not None else size, *slice_sizes)
    return bind(gather_op, x, indices, dimension_numbers=dn, slice_sizes=slice_sizes, **params), 0


def batched_numbers(dn: GatherDimensionNumbers, operand: bool, indices: bool) -> GatherDimensionNumbers:
    """`dn` with a leading axis on the result and on the operand, the indices, or both."""
    lead = (0,) if operand and not indices else ()
    both = (0,) if operand and indices else ()
    return GatherDimensionNumbers(
        offset_dims=(*lead, *(d + 1 for d in dn.offset_dims)),
        collapsed_slice_dims=tuple(d + operand for d in dn.collapsed_slice_dims),
        start_index_map=tuple(d + operand for d in dn.start_index_map),
        operand_batching_dims=(*both, *(d + operand for d in dn.operand_batching_dims)),
        start_indices_batching_dims=(*both, *(d + indices for d in dn.start_indices_batching_dims)),
    )


def _pull(
    k: Any,
    idx: Any,
    operands: Any,
    out: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: str,
    fill_value: Any,
    unique_indices: bool,
) -> Any:
    x, indices = operands
    dtype = x.aval.dtype
    if any(d == 0 for d in x.aval.shape):
        return k.const(fill_of(dtype, fill_value), dtype)
    at, valid = locate(k, idx, x, indices, slice_sizes, dimension_numbers, mode)
    value = x[at]
    return value if valid is None else k.select(valid, value, k.const(fill_of(dtype, fill_value), dtype))


gather_op = plain(
    name="gather",
    doc="windows of x at an array of positions",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    kernel=Pull(_pull),
)


def gather(
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int | None],
    mode: str,
    fill_value: Any = None,
    unique_indices: bool = False,
) -> Any:
    """Windows of `x` of shape `slice_sizes` at the positions in the last axis of `indices`.

    A size None takes a (dynamic) axis as a whole. `mode` says what happens outside of `x`: 'clip' moves
    the window inside, 'fill' gives `fill_value` (NaN, the least integer, or True by default),
    'promise_in_bounds' checks nothing. `unique_indices` promises that no two windows overlap.
    """
    return bind(
        gather_op,
        x,
        indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=tuple(slice_sizes),
        mode=mode,
        fill_value=fill_value,
        unique_indices=unique_indices,
    )


# ---------------------------------------------------------------- conveniences


def take(x: Any, indices: Any, axis: int, *, mode: str = "clip", fill_value: Any = None) -> Any:
    """`np.take(x, indices, axis)` for indices that count from 0."""
    shape, ndim = dims_of(x), len(dims_of(indices))
    axis = normalize_axis("take", axis, len(shape))
    dn = GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + ndim, len(shape) + ndim - 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = [1 if n == axis else None if isinstance(d, Dim) else d for n, d in enumerate(shape)]
    indices = ops.shape.expand_dims(indices, (ndim,))
    return gather(x, indices, dimension_numbers=dn, slice_sizes=sizes, mode=mode, fill_value=fill_value)


def along_axis_numbers(ndim: int, axis: int) -> GatherDimensionNumbers:
    """The dimension numbers of `np.take_along_axis`: all other axes are walked in step."""
    others = tuple(n for n in range(ndim) if n != axis)
    return GatherDimensionNumbers((), (axis,), (axis,), others, others)


def take_along_axis(
    x: Any,
    indices: Any,
    axis: int,
    *,
    mode: str = "clip",
    fill_value: Any = None,
    unique_indices: bool = False,
) -> Any:
    """`np.take_along_axis` for indices that count from 0; equal sizes in the other axes."""
    ndim = len(dims_of(x))
    axis = normalize_axis("take_along_axis", axis, ndim)
    return gather(
        x,
        ops.shape.expand_dims(indices, (ndim,)),
        dimension_numbers=along_axis_numbers(ndim, axis),
        slice_sizes=(1,) * ndim,
        mode=mode,
        fill_value=fill_value,
        unique_indices=unique_indices,
    )
