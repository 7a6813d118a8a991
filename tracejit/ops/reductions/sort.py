"""Sorting: several operands by some of them, and the sorting permutation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.kernel import Composite, Routine
from tracejit.ir.primitive import (
    NONLINEAR,
    ZERO_TANGENT,
)
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.dims import check_axes, dims_of, normalize_axis
from tracejit.ops.building.helpers import plain, shift_axes, to_batch_axis
from tracejit.ops.building.values import dtype_of
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)

# ---------------------------------------------------------------- sort


def _sort_type(*xs: Aval, axis: int, num_keys: int, stable: bool) -> list[Aval]:
    if not 1 <= num_keys <= len(xs):
        raise TypeRuleError(op="sort", problem=f"{num_keys} keys among {len(xs)} operands")
    check_axes("sort", (axis,), xs[0].ndim)
    for x in xs[1:]:
        if x.shape != xs[0].shape:
            raise ShapeError(op="sort", problem=f"operands of different shapes, {xs[0]} and {x}")
    return list(xs)


def _key(x: Any) -> Any:
    """What NumPy sorts with NaN last: bfloat16 has no such order of its own."""
    return x.astype(np.float32) if x.dtype == dtypes.bfloat16 else x


def _sort_eval(*xs: Any, axis: int, num_keys: int, stable: bool) -> list[Any]:
    if len(xs) == 1:
        return [np.sort(_key(xs[0]), axis, stable=stable).astype(xs[0].dtype, copy=False)]
    if num_keys == 1:
        order = np.argsort(_key(xs[0]), axis, stable=stable)
    else:
        order = np.lexsort([_key(x) for x in xs[num_keys - 1 :: -1]], axis)
    return [np.take_along_axis(x, order, axis) for x in xs]


def _sort_into(*arrays: Any, axis: int, num_keys: int, stable: bool) -> bool:
    """One operand is sorted where the result is to be."""
    out, x = arrays[0], arrays[-1]
    if len(arrays) != 2 or _key(x) is not x:
        return False
    out[...] = x
    out.sort(axis, stable=stable)
    return True


#: Up to this many elements are sorted by exchanges in native code: a call into NumPy takes longer.
_FEW = 10
#: Of more rows than this NumPy sorts each faster than the call takes.
_ROWS = 64


def _sort_few(*xs: Any, axis: int, num_keys: int, stable: bool) -> list[Any] | None:
    """Exchanges of neighbours, as insertion sort does them: equal elements keep their order."""
    x = xs[0]
    dtype, dims = dtype_of(x), dims_of(x)
    if len(xs) > 1 or any(isinstance(d, Dim) for d in dims) or not 1 < dims[axis] <= _FEW:
        return None
    if (dtype.kind, dtype.itemsize) not in _EXCHANGED:
        return None
    shape: list[int] = list(dims)
    n, parts = shape[axis], []
    if axis == len(shape) - 1 and math.prod(shape) > _ROWS * n:
        return None
    for k in range(n):
        start, limit = [0] * len(shape), shape.copy()
        start[axis], limit[axis] = k, k + 1
        parts.append(ops.slices.slice(x, start_indices=start, limit_indices=limit))
    for last in range(1, n):
        for k in range(last, 0, -1):
            parts[k - 1 : k + 1] = _in_order(parts[k - 1], parts[k])
    return [ops.concat.concatenate(*parts, dimension=axis)]


_EXCHANGED = {("f", 4), ("f", 8), *((kind, size) for kind in "iu" for size in (1, 2, 4, 8))}


def _in_order(x: Any, y: Any) -> tuple[Any, Any]:
    """The two, the smaller one first, NaN last."""
    swap = ops.compare.not_(ops.compare.le(x, y))
    if dtype_of(x).kind == "f":
        swap = ops.compare.and_(swap, ops.compare.eq(y, y))
    return ops.compare.select(swap, y, x), ops.compare.select(swap, x, y)


def _rows(x: Aval, axis: int) -> tuple[int, int, int]:
    """The rows along the last axis and their length; and what sorting one costs, roughly, in instructions. There are
    no rows where it is another axis."""
    n = x.shape[-1]
    is_last = axis == len(x.shape) - 1
    return (math.prod(x.shape[:-1]) if is_last else 0), n, 4 * n * max(n.bit_length(), 1)


def _sort_routine(k: Any, ins: Any, outs: Any, avals: Any, *, axis: int, num_keys: int, stable: bool) -> bool:
    """NumPy's own function for each row."""
    name = f"numpy:sort:{avals[0].dtype.name}:{2 if stable else 0}"
    rows, n, work = _rows(avals[0], axis)
    if len(ins) != 1 or not rows or not k.has(name):
        return False
    with k.loop(0, rows * n, vector=True, independent=True) as i:
        k.store(outs[0], i, k.load(ins[0], i))
    with k.loop(0, rows if n > 1 else 0) as r:
        k.routine(
            name, "i32(ptr,i64,i64)", ((outs[0], k.mul(r, n)), k.const(n, _I64), k.const(0, _I64)), work
        )
    return True


def _sort_jvp(primals: Any, tangents: Any, *, axis: int, num_keys: int, stable: bool) -> tuple[Any, Any]:
    if all(is_zero(t) for t in tangents):
        outs = bind(sort_op, *primals, axis=axis, num_keys=num_keys, stable=stable)
        return outs, [Zero(t.aval) for t in tangents]
    places = _positions(dims_of(primals[0]), axis)
    *outs, order = bind(sort_op, *primals, places, axis=axis, num_keys=num_keys, stable=True)
    return outs, [
        t
        if is_zero(t)
        else ops.gather.take_along_axis(t, order, axis, mode="promise_in_bounds", unique_indices=True)
        for t in tangents
    ]


def _positions(shape: Any, axis: int) -> Any:
    """An int64 array of `shape` with the position along `axis`."""
    d = shape[axis]
    dyn, size, bounds = ([d.var], None, (d.bound,)) if isinstance(d, Dim) else ([], d, ())
    line = ops.create.iota(*dyn, shape=(size,), dtype=_I64, dimension=0, bounds=bounds)
    line = ops.shape.expand_dims(line, tuple(range(1, len(shape) - axis)))
    return ops.broadcast.broadcast_to(line, shape)


def _sort_batch(size: int, args: Any, dims: Any, *, axis: int, **params: Any) -> tuple[list[Any], list[int]]:
    dim = next(d for d in dims if d is not None)
    xs = [to_batch_axis(x, d, dim, size) for x, d in zip(args, dims, strict=True)]
    (axis,) = shift_axes((axis,), dim)
    return bind(sort_op, *xs, axis=axis, **params), [dim] * len(xs)


sort_op = plain(
    name="sort",
    doc="operands put in the order of the first ones; NaN last",
    multi=True,
    type=_sort_type,
    eval=_sort_eval,
    jvp=_sort_jvp,
    transpose=NONLINEAR,
    batch=_sort_batch,
    kernel=Composite(_sort_few, _sort_into, _sort_routine, on_device="sort"),
)


def sort(*xs: Any, axis: int = -1, num_keys: int = 1, stable: bool = True) -> list[Any]:
    """`xs` (of one shape) sorted together along `axis` by the first `num_keys` of them, the first first.

    NaN comes last, -0 equals 0. The derivative follows the stable order.
    """
    axis = normalize_axis("sort", axis, len(dims_of(xs[0])))
    return bind(sort_op, *xs, axis=axis, num_keys=num_keys, stable=stable)


# ---------------------------------------------------------------- argsort


def _argsort_type(x: Aval, *, axis: int, stable: bool) -> Aval:
    check_axes("argsort", (axis,), x.ndim)
    return x.with_dtype(_I64)


def _argsort_batch(size: int, args: Any, dims: Any, *, axis: int, stable: bool) -> tuple[Any, int]:
    (axis,) = shift_axes((axis,), dims[0])
    return bind(argsort_op, args[0], axis=axis, stable=stable), dims[0]


def _argsort_routine(k: Any, ins: Any, outs: Any, avals: Any, *, axis: int, stable: bool) -> bool:
    """NumPy's own function for each row."""
    name = f"numpy:argsort:{avals[0].dtype.name}:{2 if stable else 0}"
    rows, n, work = _rows(avals[0], axis)
    if not rows or not k.has(name):
        return False
    with k.loop(0, rows) as r:
        start = k.mul(r, n)
        with k.loop(0, n, vector=True, independent=True) as i:
            k.store(outs[0], k.add(start, i), i)
        places = (ins[0], start), (outs[0], start)
        k.routine(name, "i32(ptr,ptr,i64,i64)", (*places, k.const(n, _I64), k.const(0, _I64)), work)
    return True


argsort_op = plain(
    name="argsort",
    doc="the positions that sort x along an axis; NaN last",
    type=_argsort_type,
    eval=lambda x, *, axis, stable: np.argsort(_key(x), axis, stable=stable),
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_argsort_batch,
    kernel=Routine(_argsort_routine, on_device="argsort"),
)


def argsort(x: Any, *, axis: int = -1, stable: bool = True) -> Any:
    """The positions that sort `x` along `axis`, as `np.argsort`."""
    return bind(argsort_op, x, axis=normalize_axis("argsort", axis, len(dims_of(x))), stable=stable)
