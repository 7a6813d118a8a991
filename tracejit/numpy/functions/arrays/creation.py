"""Making arrays: boxes while something is traced, plain arrays otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ShapeError
from tracejit.interpreters.stage import SMALL_CONSTANT
from tracejit.ir.avals import Shape
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.seen import SeenArray
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents, members
from tracejit.numpy.dispatch import creates, implements
from tracejit.numpy.fitting import judge_loss
from tracejit.numpy.operands import (
    arrays_of,
    cast,
    convert,
    dtype_of,
    filled,
    has_box,
    kind_of,
    nested,
    raw,
    shape_of,
)
from tracejit.numpy.options import copy_of, judge_order_of_new, order_of
from tracejit.tracing import Box, is_tracing, new_array, wrap


def shape_arg(shape: Any) -> Shape:
    """A shape as given by users: an integer or a sequence of integers, possibly traced."""
    out = tuple(extents.to_dim(size_arg(s), None) for s in extents.sequence(shape))
    if any(type(d) is int and d < 0 for d in out):
        raise ShapeError(op="shape", problem="negative dimensions are not allowed")
    return out


def size_arg(size: Any) -> Any:
    """A size as given by users: an integer, possibly traced, and no truth value."""
    if dtype_of(size).kind == "b" if type(size) is Box else isinstance(size, (bool, np.bool_)):
        raise TypeError("an integer is required")
    return extents.number(size)


def dtype_arg(dtype: Any) -> np.dtype:
    return dtypes.float64 if dtype is None else dtypes.canonical(dtype)


def _constant(value: int) -> Any:
    def make(shape: Any, dtype: Any = None, order: Any = "C") -> Any:
        judge_order_of_new(order)
        return new_array(filled(value, dtype_arg(dtype), shape_arg(shape)))

    return make


for _np, _value in ((np.zeros, 0), (np.ones, 1), (np.empty, 0)):
    _make = _constant(_value)
    _make.__name__ = str(_np.__name__)  # type: ignore[union-attr]
    creates(_np, _make.__name__)(_make)


@creates(np.full, "full")
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    """An array of `shape` with `fill_value` everywhere (broadcast if it is an array)."""
    judge_order_of_new(order)
    value = raw(fill_value) if dtype is None else _fill_value(fill_value, dtypes.canonical(dtype))
    return new_array(ops.shape.broadcast_to(value, shape_arg(shape)))


def _like(a: Any, dtype: Any) -> tuple[Any, np.dtype]:
    """The shape and dtype of `a`, which may be no array but say what one would have (`ShapeDtypeStruct`)."""
    if not isinstance(a, (Box, Value)) and not hasattr(a, "__array__") and hasattr(a, "dtype"):
        return a.shape, dtypes.canonical(a.dtype if dtype is None else dtype)
    a = raw(a)
    return shape_of(a), dtype_of(a) if dtype is None else dtypes.canonical(dtype)


def _fill_value(value: Any, dtype: np.dtype) -> Any:
    """A raw value as arrays of this dtype are filled with it: integers of Python must fit, all else is cast."""
    if kind_of(value) is int:
        return convert(value, dtype)
    made = raw(value)
    judge_loss(dtype_of(made), dtype)
    return cast(made, dtype)


def _constant_like(value: int) -> Any:
    def make(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Any:
        order_of(order)
        given, d = _like(a, dtype)
        return new_array(filled(value, d, given if shape is None else shape_arg(shape)))

    return make


for _np, _value in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0)):
    _make = _constant_like(_value)
    _make.__name__ = str(_np.__name__)  # type: ignore[union-attr]
    creates(_np, _make.__name__)(_make)


@creates(np.full_like, "full_like")
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    """Like `full`, with the shape and dtype of `a`."""
    given, d = _like(a, dtype)
    order_of(order)
    value = _fill_value(fill_value, d)
    return new_array(ops.shape.broadcast_to(value, given if shape is None else shape_arg(shape)))


@creates(np.eye, "eye")
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C") -> Any:
    """Ones on the k-th diagonal, zeros elsewhere."""
    judge_order_of_new(order)
    n, m, k = (size_arg(v) for v in (N, N if M is None else M, k))
    if not all(type(v) is int for v in (n, m, k)):
        shape = tuple(extents.to_dim(v, None) for v in (n, m))
        row, column = (index_grid(shape, axis) for axis in (0, 1))
        row = (
            row
            if type(k) is int and k == 0
            else ops.arithmetic.add(row, np.int64(k) if type(k) is int else k)
        )
        return new_array(cast(ops.compare.eq(row, column), dtypes.canonical(dtype)))
    if n * m <= SMALL_CONSTANT:
        return new_array(np.eye(n, m, k, dtypes.canonical(dtype)))
    row = ops.create.iota(shape=(n, m), dtype=dtypes.int64, dimension=0)
    column = ops.create.iota(shape=(n, m), dtype=dtypes.int64, dimension=1)
    return new_array(
        cast(ops.compare.eq(ops.arithmetic.add(row, np.int64(k)), column), dtypes.canonical(dtype))
    )


@creates(np.identity, "identity")
def identity(n: Any, dtype: Any = None) -> Any:
    """The n x n identity matrix."""
    size_arg(n)
    return eye(n, dtype=dtype_arg(dtype))


@creates(np.tri, "tri")
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    """Ones at and below the k-th diagonal."""
    sizes = (extents.maximum(extents.number(v), 0) for v in (N, N if M is None else M))
    shape = tuple(v if type(v) is int else extents.to_dim(v, None) for v in sizes)
    return new_array(cast(lower_mask(shape, extents.number(k)), dtypes.canonical(dtype)))


def lower_mask(shape: Shape, k: Any) -> Any:
    """Boolean: on and below the k-th diagonal of a matrix."""
    row = index_grid(shape, 0)
    return ops.compare.ge(ops.arithmetic.add(row, extents.operand(k)), index_grid(shape, 1))


def index_grid(shape: Shape, axis: int) -> Any:
    """An int64 array of `shape` holding the index along `axis`."""
    line = iota(shape[axis], dtypes.int64)
    line = ops.shape.expand_dims(line, tuple(n for n in range(len(shape)) if n != axis))
    return ops.shape.broadcast_to(line, shape)


def iota(size: Any, dtype: np.dtype) -> Any:
    """0, 1, … along one axis of `size` (an int or a Dim)."""
    if type(size) is int:
        return ops.create.iota(shape=(size,), dtype=dtype, dimension=0)
    return ops.create.iota(size.var, shape=(None,), dtype=dtype, dimension=0, bounds=(size.bound,))


# ---------------------------------------------------------------- from values


def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0, **_: Any
) -> Any:
    """A new array from an array, a number, or nested sequences of them (traced ones too)."""
    order_of(order)
    if dtype is None:
        value = raw(object)
    else:
        dtype = dtypes.canonical(dtype)
        listed = isinstance(object, (list, tuple))
        value = nested(object, dtype) if listed else convert(object, dtype)
    if is_elsewhere(value):
        value = value.copy()
    elif not isinstance(value, Value):
        value = np.array(value)[()]
    missing = ndmin - len(shape_of(value))
    value = ops.shape.expand_dims(value, tuple(range(missing))) if missing > 0 else value
    return new_array(value)


_UNAVOIDABLE = "Unable to avoid copy while creating an array as requested"


def _array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    kwargs.pop("like", None)
    if not is_tracing():
        there = is_elsewhere(object)
        return array(object, dtype, **kwargs) if there else np.array(object, dtype, **kwargs)
    known = has_box((object,)) or _holds_numbers(object, dtype)
    made = None if known else np.asarray(object, dtype)  # of the user's `__float__`s, once
    if made is not None and made.dtype.kind not in "biufcmMV":  # strings or objects
        return np.array(object, dtype, **kwargs)
    (object,) = arrays_of((object,))
    if (type(object) is Box or isinstance(object, SeenArray)) and not copy_of(kwargs.get("copy", True)):
        seen = type(object) is not Box
        x = _asarray(object, dtype, **_asked(kwargs)) if seen else _uncopied(object, dtype, kwargs)
        missing = kwargs.get("ndmin", 0) - x.ndim
        return x[(None,) * missing] if missing > 0 else x
    copy = kwargs.get("copy")
    if copy is not None and not copy_of(copy):
        raise ArgumentError(name="array", problem=_UNAVOIDABLE)
    return array(made if isinstance(object, (list, tuple)) and made is not None else object, dtype, **kwargs)


def _holds_numbers(x: Any, dtype: Any) -> bool:
    """Whether it is an array of numbers, to be one of numbers."""
    numbers = "biufc"
    return (
        isinstance(x, np.ndarray)
        and x.dtype.kind in numbers
        and (dtype is None or np.dtype(dtype).kind in numbers)
    )


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    return {n: options[n] for n in ("copy", "order") if n in options}


def _uncopied(x: Box, dtype: Any, options: dict[str, Any]) -> Any:
    """The array itself if it is what is asked for; otherwise a copy, unless `copy=False` forbids that."""
    fits = dtype is None or x.aval.dtype == dtypes.canonical(dtype)
    if fits and not (x.weak or x.scalar) and _lies_in(x, options.get("order")):
        return x
    copy = options.get("copy")
    if copy is not None and not copy_of(copy):
        raise ArgumentError(name="array", problem=_UNAVOIDABLE)
    return array(x, dtype)


def _asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    order_of(order)
    if is_elsewhere(a) and not is_tracing():
        return convert(a, dtypes.canonical(dtype or a.dtype)) if dtype or copy else a
    if type(a) is Box:
        return array(a, dtype) if copy_of(copy) else _uncopied(a, dtype, {"copy": copy, "order": order})
    if isinstance(a, SeenArray):
        made = np.asarray(a.plain, dtype, order, copy=copy)
        return a if made is a.plain else array(a, dtype) if a.is_traced() else a.copied(made)
    if isinstance(a, np.ndarray) or not is_tracing():
        return np.asarray(a, dtype, order, copy=copy)
    return _array(a, dtype, copy=copy)


def _lies_in(x: Box, order: Any) -> bool:
    """Whether NumPy would take the array as one of this order as it is."""
    return order not in ("C", "F") or members.is_contiguous(x, order)


_array.__name__, _asarray.__name__ = "array", "asarray"
array_ = creates(np.array, "array")(_array)
for _np in (np.asarray, np.asanyarray):
    creates(_np, _np.__name__)(_asarray)


@creates(np.ascontiguousarray, "ascontiguousarray")
def ascontiguousarray(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """The array itself if it lies in C order, otherwise a copy; of one dimension at least."""
    x = _asarray(a, dtype, "C", **kwargs)
    return x if np.ndim(x) else x.reshape(1)


@creates(np.asfortranarray, "asfortranarray")
def asfortranarray(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """The array itself if it lies in Fortran's order, otherwise a copy; of one dimension at least."""
    x = _asarray(a, dtype, "F", **kwargs)
    return x if np.ndim(x) else x.reshape(1)


@implements(np.require, "require")
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """The array itself if it has the dtype and the order that are asked for, and may be written if it has to be;
    otherwise a copy. Whose memory it is ("O") is not known."""
    wanted = {str(r).upper() for r in requirements or ()}
    names = {_REQUIREMENTS.get(r, r) for r in wanted}
    unknown = names - set(_REQUIREMENTS.values())
    if unknown or {"C", "F"} <= names:
        raise ArgumentError(name="require", problem=f"cannot fulfil the requirements {sorted(wanted)}")
    order = "C" if "C" in names else "F" if "F" in names else None
    x = _asarray(a, dtype, order)
    return x if "W" not in names or x.flags.writeable else array(x)


_REQUIREMENTS = {
    "C": "C",
    "C_CONTIGUOUS": "C",
    "CONTIGUOUS": "C",
    "F": "F",
    "F_CONTIGUOUS": "F",
    "FORTRAN": "F",
    "A": "A",
    "ALIGNED": "A",
    "W": "W",
    "WRITEABLE": "W",
}


@implements(np.copy, "copy")
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A new array with the same values."""
    return array(a, order=order)


@creates(np.fromfunction, "fromfunction")
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """`function` of the index grids."""
    grids = [
        new_array(cast(index_grid(shape_arg(shape), n), dtypes.canonical(dtype))) for n in range(len(shape))
    ]
    return function(*grids, **kwargs)


@creates(np.indices, "indices")
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Arrays of the indices along each axis."""
    if type(dimensions) is not Box or not dimensions.aval.shape:
        iter(dimensions)  # raises for a number
    shape = shape_arg(dimensions)
    d = dtypes.canonical(dtype)
    if sparse:
        return tuple(
            wrap(ops.shape.expand_dims(iota(s, d), tuple(k for k in range(len(shape)) if k != n)))
            for n, s in enumerate(shape)
        )
    grids = [ops.shape.expand_dims(cast(index_grid(shape, n), d), (0,)) for n in range(len(shape))]
    return new_array(ops.concat.concatenate(*grids, dimension=0))
