"""Indexing with traced integers: dynamic slices (read, write, add into) and bounds checks."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, DimSize, Shape
from tracejit.ir.kernel import Pull, Segment, Update
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_INPLACE,
    Op,
)
from tracejit.ir.values import AddInto, Overwrite, Value, is_linear
from tracejit.ops.building.dims import dims_of, dynamic_shape, split_dynamic, with_batch
from tracejit.ops.building.helpers import batch_is_last, to_batch_axis
from tracejit.ops.building.values import lift
from tracejit.ops.creation import create
from tracejit.ops.elementwise import arithmetic
from tracejit.ops.indexing import gather, scatter
from tracejit.ops.indexing.index_batch import Examples
from tracejit.ops.indexing.index_check import check_index
from tracejit.ops.indexing.windows import clamp_start, index_value
from tracejit.ops.kernels import scalar
from tracejit.ops.shapes.moves import (
    constant_update,
    constant_window,
    read_what_was_written,
    same_type,
    write_back,
    write_everything,
    write_twice,
)
from tracejit.ops.shapes.slices import check_update
from tracejit.tracing import bind

__all__ = [
    "check_index", "dynamic_slice", "dynamic_slice_add", "dynamic_slice_add_op", "dynamic_slice_op",
    "dynamic_update_slice", "dynamic_update_slice_op",
]  # fmt: skip

_I64 = np.dtype(np.int64)

# ---------------------------------------------------------------- starts


def check_starts(name: str, x: Aval, starts: Sequence[Aval]) -> None:
    """Raises unless there is one 0-d integer for each axis of `x`."""
    if len(starts) != x.ndim:
        raise ShapeError(op=name, problem=f"{len(starts)} start indices for {x}")
    for s in starts:
        if s.shape != () or not dtypes.is_integer(s.dtype):
            raise TypeRuleError(op=name, problem=f"start indices are integers of shape (), not {s}")


def _check_fits(name: str, x: Aval, shape: Shape) -> None:
    if len(shape) != x.ndim or any(
        type(a) is int and type(b) is int and a > b for a, b in zip(shape, x.shape, strict=False)
    ):
        raise ShapeError(op=name, problem=f"a slice of shape {shape} does not fit into {x}")


def _window(shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> tuple[builtins.slice, ...]:
    """The clamped slices, on concrete values."""
    at = [min(max(int(i), 0), d - s) for i, d, s in zip(starts, shape, sizes, strict=True)]
    return tuple(builtins.slice(b, b + s) for b, s in zip(at, sizes, strict=True))


def _clamped(k: Any, idx: Any, x: Any, starts: Any, window: Any) -> tuple[Any, ...]:
    at = []
    for n, i in enumerate(idx):
        start = clamp_start(k, index_value(k, starts[n][()]), x.extent(n), window.extent(n))
        at.append(k.add(start, i))
    return tuple(at)


def _lift_starts(starts: Sequence[Any]) -> list[Any]:
    return [lift(s, _I64) for s in starts]


# ---------------------------------------------------------------- dynamic_slice


def _split(x: Any, rest: Any) -> tuple[Any, Any]:
    ndim = len(dims_of(x))
    return rest[:ndim], rest[ndim:]


def _slice_type(x: Aval, *rest: Aval, sizes: Any, bounds: Any) -> Aval:
    starts, dyn = rest[: x.ndim], rest[x.ndim :]
    check_starts("dynamic_slice", x, starts)
    shape = dynamic_shape("dynamic_slice", sizes, bounds, len(dyn), 1 + x.ndim)
    _check_fits("dynamic_slice", x, shape)
    return Aval(shape, x.dtype)


def _slice_eval(x: Any, *rest: Any, sizes: Any, bounds: Any) -> Any:
    x = np.asarray(x)
    dyn = iter(rest[x.ndim :])
    full = [int(next(dyn)) if s is None else s for s in sizes]
    return x[_window(x.shape, rest[: x.ndim], full)]


def _slice_transpose(ct: Any, x: Any, *rest: Any, sizes: Any, bounds: Any) -> list[Any]:
    starts = rest[: x.aval.ndim]
    return [AddInto(dynamic_slice_add_op, x.aval, (ct, *starts), {}), *(None for _ in rest)]


def _slice_batch(size: int, args: Any, dims: Any, *, sizes: Any, bounds: Any) -> tuple[Any, int]:
    x, n = args[0], len(sizes)
    starts, dyn = args[1 : n + 1], args[n + 1 :]
    if any(d is not None for d in dims[n + 1 :]):
        raise DynamicExtentError(
            op="dynamic_slice", problem="the size differs between the examples of a vmap"
        )
    zero = np.int64(0)
    if all(d is None for d in dims[1:]) and batch_is_last(args, dims):
        dyn, sizes, bounds = with_batch(size, dyn, sizes, bounds, last=True)
        return bind(dynamic_slice_op, x, *starts, zero, *dyn, sizes=sizes, bounds=bounds), n
    if dims[0] is not None:
        x = to_batch_axis(x, dims[0], 0, size)
    if all(d is None for d in dims[1:]):
        dyn, sizes, bounds = with_batch(size, dyn, sizes, bounds)
        return bind(dynamic_slice_op, x, zero, *starts, *dyn, sizes=sizes, bounds=bounds), 0
    return _slice_examples(size, x, starts, dims, _full_sizes(sizes, dyn, bounds)), 0


def _full_sizes(sizes: Any, dyn: Any, bounds: Any) -> Shape:
    """`sizes` with the traced ones as Dims, those that are known by now as ints."""
    extents = iter(zip(dyn, bounds, strict=True))
    return tuple(_known(*next(extents)) if s is None else s for s in sizes)


def _known(extent: Any, bound: int | None) -> DimSize:
    return Dim(extent, bound) if isinstance(extent, Value) else int(extent)


def _slice_examples(size: int, x: Any, starts: Any, dims: Any, full: Shape) -> Any:
    """Each example starts elsewhere: a gather. `full` is the window's shape."""
    batched = dims[0] is not None
    shape = dims_of(x)[1:] if batched else dims_of(x)
    examples = Examples.of(shape, full)
    if not examples.moving:
        return x if batched else to_batch_axis(x, None, 0, size)
    return gather.gather(
        x,
        examples.positions(size, shape, starts, dims[1:]),
        dimension_numbers=examples.numbers(batched),
        slice_sizes=examples.window(batched),
        mode="clip",
    )


def _slice_pull(k: Any, idx: Any, operands: Any, out: Any, *, sizes: Any, bounds: Any) -> Any:
    x = operands[0]
    return x[_clamped(k, idx, x, operands[1 : 1 + len(sizes)], out)]


dynamic_slice_op = Op(
    name="dynamic_slice",
    doc="a window of x at traced starts, clamped into x",
    multi=False,
    type=_slice_type,
    eval=_slice_eval,
    inplace=NO_INPLACE,
    jvp=LINEAR,
    linearize=FROM_JVP,
    transpose=_slice_transpose,
    batch=_slice_batch,
    simplify=(same_type, read_what_was_written, constant_window),
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Pull(_slice_pull),
)


def dynamic_slice(
    x: Any, *starts_and_dyn: Any, sizes: Sequence[int | None], bounds: Sequence[int | None] = ()
) -> Any:
    """The window of `x` of shape `sizes` at `starts` (0-d integers, one an axis), clamped into `x`.

    Entries None of `sizes` take their sizes from the operands after the starts, bounded by `bounds`.
    """
    return bind(dynamic_slice_op, x, *_lift_starts(starts_and_dyn), sizes=tuple(sizes), bounds=tuple(bounds))


def _window_like(x: Any, starts: Any, u_shape: Shape) -> Any:
    dyn, sizes, bounds = split_dynamic(u_shape)
    return bind(dynamic_slice_op, x, *starts, *dyn, sizes=sizes, bounds=bounds)


# ---------------------------------------------------------------- dynamic_update_slice, dynamic_slice_add


def _dynamic_updater(name: str, doc: str, add: bool) -> Op:
    def type_rule(x: Aval, u: Aval, *starts: Aval) -> Aval:
        check_starts(name, x, starts)
        _check_fits(name, x, u.shape)
        check_update(name, x, u, u.shape)
        return x

    def inplace(x: Any, u: Any, *starts: Any) -> Any:
        part = _window(x.shape, starts, np.shape(u))
        if add:
            x[part] += u
        else:
            x[part] = u
        return x

    def transpose(ct: Any, x: Any, u: Any, *starts: Any) -> list[Any]:
        ct_x = ct_u = None
        if is_linear(u):
            # A copy, so that the update below may overwrite the cotangent.
            ct_u = create.copy(_window_like(ct, starts, u.aval.shape))
        if is_linear(x):
            zeros = ops.broadcast.zeros(Aval(dims_of(u), x.aval.dtype))
            ct_x = Overwrite() if add else Overwrite(op, (zeros, *starts), adds=dynamic_slice_add_op)
        return [ct_x, ct_u, *(None for _ in starts)]

    def batch(size: int, args: Any, dims: Any) -> tuple[Any, int]:
        fixed = all(d is None for d in dims[2:])
        if fixed and batch_is_last(args[:2], dims[:2]):
            at = len(args) - 2
            x, u = (to_batch_axis(a, d, at, size) for a, d in zip(args[:2], dims, strict=False))
            return bind(op, x, u, *args[2:], np.int64(0)), at
        x, u = (to_batch_axis(a, d, 0, size) for a, d in zip(args[:2], dims, strict=False))
        if fixed:
            return bind(op, x, u, np.int64(0), *args[2:]), 0
        shape = dims_of(x)[1:]
        examples = Examples.of(shape, dims_of(u)[1:])
        if not examples.moving:
            return (arithmetic.add(x, u) if add else u), 0
        write = scatter.scatter_add if add else scatter.scatter
        indices = examples.positions(size, shape, args[2:], dims[2:])
        dn = scatter.ScatterDimensionNumbers.of_gather(examples.numbers(True))
        return write(x, indices, u, dimension_numbers=dn, mode="clip", unique_indices=True), 0

    def segments(params: Any, avals: Any, out: Any) -> list[Segment]:
        def place(k: Any, idx: Any, operands: Any, out: Any) -> Any:
            return _clamped(k, idx, out, operands[2:], operands[1]), None

        return [Segment(1, place, scalar.add if add else None)]

    op = Op(
        name=name,
        doc=doc,
        multi=False,
        type=type_rule,
        eval=lambda x, u, *starts: inplace(np.array(x), u, *starts),
        inplace=inplace,
        jvp=LINEAR,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=batch,
        simplify=(constant_update,) if add else (write_everything, write_back, write_twice, constant_update),
        effects=NO_EFFECTS,
        bounds=NO_BOUNDS,
        kernel=Update(lambda params: 0, segments),
    )
    return op


dynamic_update_slice_op = _dynamic_updater(
    "dynamic_update_slice", "x with a window at traced starts replaced", False
)
dynamic_slice_add_op = _dynamic_updater(
    "dynamic_slice_add", "x with values added into a window at traced starts", True
)


def dynamic_update_slice(x: Any, u: Any, *starts: Any) -> Any:
    """`x` with `u` written at `starts` (0-d integers, one an axis), clamped so that `u` fits."""
    return bind(dynamic_update_slice_op, x, u, *_lift_starts(starts))


def dynamic_slice_add(x: Any, u: Any, *starts: Any) -> Any:
    """`x` with `u` added in at `starts`, clamped as in `dynamic_update_slice`."""
    return bind(dynamic_slice_add_op, x, u, *_lift_starts(starts))
