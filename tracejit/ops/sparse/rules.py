"""What the products of sparse matrices have in common: types, derivatives, lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.primitive import Op, with_linear
from tracejit.ir.values import Zero, is_linear, is_zero
from tracejit.ops.building.helpers import move_batch_axis, to_batch_axis
from tracejit.ops.building.values import check_kind, common_dtype, ndim_of, shape_of
from tracejit.tracing import bind


def lanes_of(name: str, *operands: Aval) -> Any:
    """The number of lanes of operands whose leading dimensions are that, or 1."""
    sizes = {a.shape[0] for a in operands} - {1}
    if len(sizes) > 1:
        raise ShapeError(op=name, problem=f"the operands have {' and '.join(map(str, sizes))} lanes")
    return sizes.pop() if sizes else 1


def check(name: str, indptr: Aval, indices: Aval, data: Aval | None, dense: tuple[Aval, ...]) -> bool:
    """Whether the operands have lanes."""
    check_kind(name, "iu", indptr, indices)
    for a in (*dense, *([] if data is None else [data])):
        if a.dtype.kind not in "iufc" or (dtypes.is_float(a.dtype) and a.dtype.itemsize < 4):
            raise TypeRuleError(op=name, problem=f"takes no {dtypes.short_name(a.dtype)}, as SciPy does not")
    ranks = {a.ndim for a in dense}
    lanes = ranks == {3}
    fits = len(ranks) == 1 and 1 <= min(ranks) <= max(ranks) <= 3
    if (indptr.ndim, indices.ndim) != (1, 1) or not fits or (data is not None and data.ndim != 1 + lanes):
        what = "it takes indptr (M + 1,), indices (nnz,), data ([P,] nnz), x (rows,) or ([Q,] rows, K)"
        raise ShapeError(op=name, problem=what)
    if data is not None and data.shape[-1] != indices.shape[0]:
        raise ShapeError(op=name, problem=f"{data.shape[-1]} elements have {indices.shape[0]} columns")
    return lanes


def effects(params: dict[str, Any]) -> frozenset[str]:
    """Looking whether rows and columns are in their ranges may fail."""
    return frozenset() if params["failure"] is None else frozenset({"error"})


def result(name: str, rows: Any, data: Aval, x: Aval, lanes: bool) -> Aval:
    dtype = common_dtype(name, (data, x))
    return Aval((lanes_of(name, data, x), rows, x.shape[2]) if lanes else (rows, *x.shape[1:]), dtype)


def _summed(x: Any, aval: Aval, lanes: bool) -> Any:
    """The cotangent of an operand that all lanes share, where it is one."""
    if not lanes or aval.shape[0] != 1 or shape_of(x)[0] == 1:
        return x
    return ops.shape.expand_dims(ops.reduce.reduce_sum(x, axes=(0,)), dimensions=(0,))


def bilinear_jvp(get: Callable[[], Op]) -> Any:
    """The rule of an op that is linear in each of its last two operands."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        indptr, indices, x, y = primals
        *_, tx, ty = tangents
        out = bind(get(), *primals, **params)
        terms = [] if is_zero(tx) else [bind(get(), indptr, indices, tx, y, **params)]
        terms += [] if is_zero(ty) else [bind(get(), indptr, indices, x, ty, **params)]
        if not terms:
            return out, Zero(aval_of(out).tangent())
        return out, terms[0] if len(terms) == 1 else ops.arithmetic.add(*terms)

    return jvp


def bilinear_transpose(left: Callable[..., Any], right: Callable[..., Any]) -> Any:
    """`left(ct, indptr, indices, aval, y, failure)` is the cotangent of operand 2, `right(ct, indptr, indices, x, aval,
    failure)` that of operand 3."""

    def transpose(ct: Any, indptr: Any, indices: Any, x: Any, y: Any, *, failure: Any, **_: Any) -> list[Any]:
        if is_linear(x):
            lanes = ndim_of(y) == 3
            return [None, None, _summed(left(ct, indptr, indices, x.aval, y, failure), x.aval, lanes), None]
        lanes = y.aval.ndim == 3
        return [None, None, None, _summed(right(ct, indptr, indices, x, y.aval, failure), y.aval, lanes)]

    return with_linear(transpose, (2, 3))


def batch_rule(get: Callable[[], Op], has_data: bool) -> Any:
    """Lanes, or lanes of lanes. Where only the dense operand of a product is batched, its lanes become columns."""

    def batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        if dims[0] is not None or dims[1] is not None:
            return _one_by_one(get(), size, args, dims, params), 0
        rank = ndim_of(args[3]) - (dims[3] is not None)
        if has_data and dims[2] is None and rank < 3:
            return _as_columns(get(), size, args, dims[3], rank, params)
        firsts = [1 if has_data else rank, rank]  # the ranks without lanes
        args, dims, firsts = (
            [*args],
            [*dims],
            [min(f, 2 - (has_data and n == 0)) for n, f in enumerate(firsts)],
        )
        most = 1
        for n, first in zip((2, 3), firsts, strict=True):
            args[n], dims[n] = _with_lanes(args[n], dims[n], first, as_columns=not has_data or n == 3)
            shape = [s for d, s in enumerate(shape_of(args[n])) if d != dims[n]]
            most = shape[0] if shape[0] != 1 else most
        wide = [_widen(x, d, size, most) for x, d in zip(args[2:], dims[2:], strict=True)]
        out = bind(get(), *args[:2], *wide, **params)
        shape = shape_of(out)
        out = ops.shape.reshape(out, shape=(size, most, *shape[1:]))
        if rank == 3:
            return out, 0
        kept = shape[1:2] if rank == 1 or not has_data else shape[1:]
        return ops.shape.reshape(out, shape=(size, *kept)), 0

    return batch


def _with_lanes(x: Any, dim: int | None, first: int, as_columns: bool) -> tuple[Any, int | None]:
    """An operand in the form that has lanes, one lane if it had none, with its batch axis in front."""
    x = x if dim is None else move_batch_axis(x, dim, 0)
    lead = int(dim is not None)
    if as_columns and ndim_of(x) - lead == 1:
        x = ops.shape.expand_dims(x, dimensions=(lead + 1,))
    if ndim_of(x) - lead < 2 + as_columns:
        x = ops.shape.expand_dims(x, dimensions=(lead,))
    return x, None if dim is None else 0


def _widen(x: Any, dim: int | None, size: Any, most: Any) -> Any:
    """Lanes of lanes as lanes; an operand that all share stays."""
    if dim is None and shape_of(x)[0] == 1:
        return x
    x = to_batch_axis(x, dim, 0, size)
    shape = (size, most, *shape_of(x)[2:])
    return ops.shape.reshape(ops.shape.broadcast_to(x, shape), shape=(size * most, *shape[2:]))


def _as_columns(op: Op, size: Any, args: Any, dim: int, rank: int, params: Any) -> tuple[Any, int]:
    x = move_batch_axis(args[3], dim, 1)  # (rows, size) or (rows, size, K)
    rows, *columns = shape_of(x)
    flat = x if rank == 1 else ops.shape.reshape(x, shape=(rows, columns[0] * columns[1]))
    out = bind(op, *args[:3], flat, **params)
    return ops.shape.reshape(out, shape=(shape_of(out)[0], *columns)), 1


def _one_by_one(op: Op, size: Any, args: Any, dims: Any, params: Any) -> Any:
    """Matrices with different structures."""
    outs = []
    for n in range(size):
        lane = []
        for x, d in zip(args, dims, strict=True):
            if d is not None:
                x = move_batch_axis(x, d, 0)
                shape = shape_of(x)
                part = ops.slices.slice(
                    x, start_indices=(n, *[0] * (len(shape) - 1)), limit_indices=(n + 1, *shape[1:])
                )
                x = ops.shape.reshape(part, shape=shape[1:])
            lane.append(x)
        outs.append(ops.shape.expand_dims(bind(op, *lane, **params), dimensions=(0,)))
    return ops.concat.concatenate(*outs, dimension=0)


def each_lane(fn: Callable[..., np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`fn` of the operands, or of those of each lane."""
    if y.ndim < 3:
        return fn(x, y)
    lanes = max(len(x), len(y)) if min(len(x), len(y)) else 0
    if not lanes:
        return np.stack([fn(np.zeros(x.shape[1:], x.dtype), np.zeros(y.shape[1:], y.dtype))])[:0]
    return np.stack([fn(x[n % len(x)], y[n % len(y)]) for n in range(lanes)])
