"""Slices with constant bounds: reading, writing, adding into."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, DimSize, aval_of
from tracejit.ir.kernel import Segment, Update
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_IDENTITIES,
    Op,
    OpFunction,
    binds,
)
from tracejit.ir.values import AddInto, Overwrite, is_linear
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import batch_is_last, to_batch_axis, view
from tracejit.ops.building.identities import unchanged
from tracejit.ops.kernels import scalar
from tracejit.ops.shapes.moves import read_what_was_written, write_back, write_everything, write_twice
from tracejit.tracing import bind

Ints = tuple[Any, ...]


def sliced_shape(
    name: str, x: Aval, start_indices: Ints, limit_indices: Ints, strides: Ints
) -> tuple[DimSize, ...]:
    """The shape of `x[start:limit:stride, ...]`. A limit None means all of a dynamic dimension."""
    if not x.ndim == len(start_indices) == len(limit_indices) == len(strides):
        raise ShapeError(op=name, problem=f"{len(start_indices)} slices for {x}")
    rows = zip(x.shape, start_indices, limit_indices, strides, strict=True)
    return tuple(_sliced_size(name, n, *row) for n, row in enumerate(rows))


def _sliced_size(name: str, axis: int, size: DimSize, start: int, limit: int | None, stride: int) -> DimSize:
    if isinstance(size, Dim):
        if (start, limit, stride) != (0, None, 1):
            raise DynamicExtentError(
                op=name, problem=f"axis {axis} has a traced size and is not taken as a whole"
            )
        return size
    stop = size if limit is None else limit
    if stride < 1 or not 0 <= start <= stop <= size:
        raise ShapeError(
            op=name, problem=f"the slice {start}:{stop}:{stride} does not fit axis {axis} of size {size}"
        )
    return -(-(stop - start) // stride)


def _as_index(start_indices: Ints, limit_indices: Ints, strides: Ints) -> tuple[builtins.slice, ...]:
    return tuple(map(builtins.slice, start_indices, limit_indices, strides))


def _shift(dim: int, start_indices: Ints, limit_indices: Ints, strides: Ints) -> dict[str, Ints]:
    """The params with all of a new axis at `dim`."""

    def insert(xs: Ints, x: Any) -> Ints:
        return (*xs[:dim], x, *xs[dim:])

    return {
        "start_indices": insert(start_indices, 0),
        "limit_indices": insert(limit_indices, None),
        "strides": insert(strides, 1),
    }


def _params(
    x: Any, start_indices: Sequence[int], limit_indices: Sequence[int | None], strides: Sequence[int] | None
) -> dict[str, Ints]:
    steps = (1,) * len(start_indices) if strides is None else tuple(strides)
    return {"start_indices": tuple(start_indices), "limit_indices": tuple(limit_indices), "strides": steps}


def _position(k: Any, idx: Any, start_indices: Ints, strides: Ints) -> Ints:
    return tuple(k.add(k.mul(i, s), b) for i, b, s in zip(idx, start_indices, strides, strict=True))


# ---------------------------------------------------------------- reading


def _slice_type(x: Aval, **params: Any) -> Aval:
    return Aval(sliced_shape("slice", x, **params), x.dtype)


def _slice_batch(size: int, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
    return bind(slice_op, args[0], **_shift(dims[0], **params)), dims[0]


def _slice_pull(
    k: Any, idx: Any, operands: Any, out: Any, *, start_indices: Ints, limit_indices: Ints, strides: Ints
) -> Any:
    return operands[0][_position(k, idx, start_indices, strides)]


_whole = unchanged(lambda e: all(s == 1 for s in e.params["strides"]))

slice_op = view(
    "slice",
    "x[start:limit:stride, ...] with constant bounds",
    type=_slice_type,
    eval=lambda x, **params: np.asarray(x)[_as_index(**params)],
    transpose=lambda ct, x, **params: [AddInto(slice_add_op, x.aval, (ct,), params)],
    batch=_slice_batch,
    simplify=(_whole, read_what_was_written),
    pull=_slice_pull,
)


def slice(
    x: Any,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int | None],
    strides: Sequence[int] | None = None,
) -> Any:
    """`x[start:limit:stride, ...]`: 0 <= start <= limit <= size, positive strides.

    A limit None is the end; a dynamic axis is taken as a whole (start 0, limit None).
    """
    params = _params(x, start_indices, limit_indices, strides)
    whole = zip(dims_of(x), *params.values(), strict=True)
    if all(b == 0 and s == 1 and (e is None or e == d) for d, b, e, s in whole):
        return x
    return bind(slice_op, x, **params)


# ---------------------------------------------------------------- writing


def check_update(name: str, x: Aval, u: Aval, shape: tuple[DimSize, ...]) -> None:
    """Raises unless `u` has x's dtype and `shape`."""
    if u.dtype != x.dtype:
        raise TypeRuleError(op=name, problem=f"writes {u} into {x}; the dtypes differ")
    if u.shape != shape:
        raise ShapeError(op=name, problem=f"a part of shape {shape} of {x} cannot be filled from {u}")


def _slice_updater(name: str, doc: str, add: bool) -> Op:
    def type_rule(x: Aval, u: Aval, **params: Any) -> Aval:
        check_update(name, x, u, sliced_shape(name, x, **params))
        return x

    def inplace(x: Any, u: Any, **params: Any) -> Any:
        part = _as_index(**params)
        if add:
            x[part] += u
        else:
            x[part] = u
        return x

    def transpose(ct: Any, x: Any, u: Any, **params: Any) -> list[Any]:
        # A copy, so that the update below may overwrite the cotangent.
        ct_u = ops.create.copy(bind(slice_op, ct, **params)) if is_linear(u) else None
        if not is_linear(x):
            return [None, ct_u]
        if add:
            return [Overwrite(), ct_u]
        return [Overwrite(op, (ops.broadcast.zeros(aval_of(u)),), params, adds=slice_add_op), ct_u]

    def batch(size: int, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        at = len(params["start_indices"]) if batch_is_last(args, dims) else 0
        x, u = (to_batch_axis(a, d, at, size) for a, d in zip(args, dims, strict=True))
        return bind(op, x, u, **_shift(at, **params)), at

    def segments(params: Any, avals: Any, out: Any) -> list[Segment]:
        def place(k: Any, idx: Any, operands: Any, out: Any) -> Any:
            return _position(k, idx, params["start_indices"], params["strides"]), None

        return [Segment(1, place, scalar.add if add else None)]

    op = Op(
        name=name,
        doc=doc,
        multi=False,
        type=type_rule,
        eval=lambda x, u, **params: inplace(np.array(x), u, **params),
        inplace=inplace,
        jvp=LINEAR,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=batch,
        simplify=NO_IDENTITIES if add else (write_everything, write_back, write_twice),
        effects=NO_EFFECTS,
        bounds=NO_BOUNDS,
        kernel=Update(lambda params: 0, segments),
    )
    return op


slice_update_op = _slice_updater("slice_update", "x with a constant slice replaced", add=False)
slice_add_op = _slice_updater("slice_add", "x with values added into a constant slice", add=True)


def _binder(op: Op) -> OpFunction[...]:
    def call(
        x: Any,
        u: Any,
        *,
        start_indices: Sequence[int],
        limit_indices: Sequence[int | None],
        strides: Sequence[int] | None = None,
    ) -> Any:
        return bind(op, x, u, **_params(x, start_indices, limit_indices, strides))

    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = f"`{op.doc}` by `u`, which has the slice's shape; bounds as in `slice`."
    return binds(op)(call)


slice_update = _binder(slice_update_op)
slice_add = _binder(slice_add_op)
