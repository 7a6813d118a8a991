"""Making arrays, changing dtypes, and identities that mean something to transformations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, Shape, aval_of
from tracejit.ir.check import OperandRef
from tracejit.ir.kernel import Pointwise, Pull
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_INPLACE,
    NONLINEAR,
    ZERO_TANGENT,
    Op,
    binds,
)
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import (
    batch_pointwise,
    dtype_of,
    kind,
    lift,
    linear_in,
    plain,
    pointwise,
    unbroadcast,
)
from tracejit.tracing import bind

# ---------------------------------------------------------------- iota


def _iota_type(*dyn: Aval, shape: Any, dtype: np.dtype, dimension: int, bounds: Any) -> Aval:
    sizes = iter(range(len(dyn)))
    dims = iter(bounds)
    out: Shape = tuple(Dim(OperandRef(next(sizes)), next(dims)) if s is None else s for s in shape)
    if not 0 <= dimension < len(shape):
        raise ShapeError(op="iota", problem=f"there is no dimension {dimension} in {shape}")
    return Aval(out, dtype)


def _iota_eval(*dyn: Any, shape: Any, dtype: np.dtype, dimension: int, bounds: Any) -> Any:
    sizes = iter(dyn)
    shape = tuple(int(next(sizes)) if s is None else s for s in shape)
    column = [1] * len(shape)
    column[dimension] = shape[dimension]
    numbers = np.arange(shape[dimension]).astype(dtype).reshape(column)
    return numbers if len(shape) == 1 else np.broadcast_to(numbers, shape).copy()


def _iota_batch(size: Any, args: Any, dims: Any, **params: Any) -> Any:
    raise DynamicExtentError(op="iota", problem="the size differs between the examples of a vmap")


_iota = plain(
    name="iota",
    doc="0, 1, 2 … along one dimension",
    type=_iota_type,
    eval=_iota_eval,
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_iota_batch,
    kernel=Pull(lambda k, idx, operands, out, *, dtype, dimension, **_: k.cast(idx[dimension], dtype)),
)


@binds(_iota)
def iota(
    *dyn: Any, shape: Sequence[int | None], dtype: Any, dimension: int = 0, bounds: Sequence[int | None] = ()
) -> Any:
    """0, 1, 2 … along `dimension`. Sizes None of `shape` come from `dyn`, bounded by `bounds`."""
    return bind(
        _iota,
        *dyn,
        shape=tuple(shape),
        dtype=dtypes.canonical(dtype),
        dimension=dimension,
        bounds=tuple(bounds),
    )


# ---------------------------------------------------------------- full


def _full_type(fill: Aval, *, shape: Shape) -> Aval:
    if fill.shape:
        raise ShapeError(op="full", problem=f"the value to fill with has shape {fill.shape}, not ().")
    return Aval(shape, fill.dtype)


def _full_eval(fill: Any, *, shape: Any) -> Any:
    out = np.empty(shape, fill.dtype)
    out[...] = fill
    return out[()]


def _full_batch(size: Any, args: Any, dims: Any, *, shape: Shape) -> tuple[Any, int]:
    column = ops.shape.expand_dims(args[0], tuple(range(1, len(shape) + 1)))
    return ops.shape.broadcast_to(column, (size, *shape)), 0


_full = Op(
    name="full",
    doc="an array with one value everywhere",
    multi=False,
    type=_full_type,
    eval=_full_eval,
    inplace=NO_INPLACE,
    jvp=LINEAR,
    linearize=FROM_JVP,
    transpose=lambda ct, fill, *, shape: [unbroadcast(ct, fill.aval)],
    batch=_full_batch,
    simplify=(ids.unchanged(lambda e: True),),
    effects=NO_EFFECTS,
    bounds=ids.same_bounds,
    kernel=Pull(lambda k, idx, operands, out, *, shape: operands[0][()]),
)


@binds(_full)
def full(fill: Any, *, shape: Sequence[int]) -> Any:
    """An array of static `shape` holding the 0-d value `fill` everywhere."""
    return bind(_full, lift(fill, aval_of(fill)), shape=tuple(shape))


# ---------------------------------------------------------------- dtypes


def convert(x: Any, dtype: np.dtype) -> Any:
    """`x` as `dtype`; of a complex number, the real part. `x` itself where nothing changes."""
    old = dtype_of(x)
    if old == dtype:
        return x
    if kind(old) == "c" and kind(dtype) in "fiu":  # of which NumPy's `astype` would warn
        x = ops.arithmetic.real(x)
    return convert_element_type(x, dtype=dtype)


def _convert_jvp(primals: Any, tangents: Any, *, dtype: np.dtype) -> tuple[Any, Any]:
    out = convert_element_type(primals[0], dtype=dtype)
    (t,) = tangents
    varies = not is_zero(t) and dtypes.is_inexact(dtype) and dtypes.is_inexact(dtype_of(primals[0]))
    return out, convert(t, dtype) if varies else Zero(aval_of(out).tangent())


def _widens(old: np.dtype, new: np.dtype) -> bool:
    """True if `new` holds every value of `old` (both floats, or both integers)."""
    return kind(old) == kind(new) and np.can_cast(old, new)


def _convert_twice(eqn: Any) -> Any:
    """x -> wider dtype -> third dtype, in one step."""
    made = eqn.maker(0)
    if made is None or made.op is not eqn.op:
        return None
    x, dtype = made.invars[0], eqn.params["dtype"]
    if not _widens(x.aval.dtype, made.params["dtype"]):
        return None
    return x if x.aval.dtype == dtype else ("op", eqn.op, (x,), {"dtype": dtype})


_convert = Op(
    name="convert_element_type",
    doc="change the dtype, as astype does",
    multi=False,
    type=lambda x, *, dtype: x.with_dtype(dtype),
    eval=lambda x, *, dtype: x.astype(dtype),
    inplace=NO_INPLACE,
    jvp=_convert_jvp,
    linearize=FROM_JVP,
    transpose=linear_in(0, lambda ct, x, *, dtype: convert(ct, x.aval.dtype)),
    batch=batch_pointwise(lambda: _convert),
    simplify=(ids.unchanged(lambda e: True), _convert_twice),
    effects=NO_EFFECTS,
    bounds=ids.convert_bounds,
    kernel=Pointwise(lambda k, x, *, dtype: k.cast(x, dtype)),
)


@binds(_convert)
def convert_element_type(x: Any, *, dtype: Any) -> Any:
    """`x.astype(dtype)`; `x` itself if it has that dtype."""
    dtype = dtypes.canonical(dtype)
    x = lift(x, aval_of(x))
    return x if dtype_of(x) == dtype else bind(_convert, x, dtype=dtype)


def _bitcast_type(x: Aval, *, dtype: np.dtype) -> Aval:
    if x.dtype.itemsize != dtype.itemsize or "c" in (kind(x.dtype), kind(dtype)):
        names = f"{dtypes.short_name(x.dtype)} and {dtypes.short_name(dtype)}"
        raise TypeRuleError(op="bitcast", problem=f"{names} are not real dtypes of the same size")
    return x.with_dtype(dtype)


_bitcast = Op(
    name="bitcast",
    doc="the same bits read as another dtype of the same size",
    multi=False,
    type=_bitcast_type,
    eval=lambda x, *, dtype: x.view(dtype),
    inplace=NO_INPLACE,
    jvp=ZERO_TANGENT,
    linearize=FROM_JVP,
    transpose=NONLINEAR,
    batch=batch_pointwise(lambda: _bitcast),
    simplify=(ids.unchanged(lambda e: True),),
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Pointwise(lambda k, x, *, dtype: k.bitcast(x, dtype)),
)


@binds(_bitcast)
def bitcast(x: Any, *, dtype: Any) -> Any:
    """The bits of `x` as `dtype`, of the same size; derivatives are zero."""
    return bind(_bitcast, x, dtype=dtypes.canonical(dtype))


# ---------------------------------------------------------------- identities

copy = pointwise(
    "copy",
    "a new array with the same elements",
    lambda x: x.copy(),
    kinds="biufcmM",
    kernel=lambda k, x: x,
    derivatives=LINEAR,
    transpose=linear_in(0, lambda ct, x: ct),
    simplify=(ids.unchanged(lambda e: True),),
    bounds=ids.same_bounds,
    cost=0,
)

stop_gradient = pointwise(
    "stop_gradient",
    "x, as a constant to derivatives",
    lambda x: x,
    kinds="biufcmM",
    kernel=lambda k, x: x,
    derivatives=ZERO_TANGENT,
    simplify=(ids.unchanged(lambda e: True),),
    bounds=ids.same_bounds,
    cost=0,
)
