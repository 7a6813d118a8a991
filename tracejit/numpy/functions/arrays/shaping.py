"""Shapes: views where NumPy gives views, joins, repeats, padding."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError, DynamicExtentError, ShapeError
from tracejit.ir.avals import Shape
from tracejit.ir.seen import SeenArray
from tracejit.numpy.boxes import extents, members
from tracejit.numpy.boxes.placed import Placed, ReadOnly
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.creation import lower_mask, shape_arg
from tracejit.numpy.functions.statistics.reductions import axes_of, axis_of, reduced_axes
from tracejit.numpy.operands import broadcast_shapes, dtype_of, filled, raw, shape_of
from tracejit.numpy.options import copy_of, order_of, order_of_shape
from tracejit.tracing import Box, new_array, wrap


def box_of(x: Any) -> Any:
    """`x` itself if it is a box, else a new box of its value."""
    if type(x) is CapturedArray and x.is_traced():
        return x.boxed()
    return x if type(x) is Box else wrap(raw(x))


def array_of(x: Any) -> Any:
    """The same, but a Python number is an array of no dimensions, as for NumPy's functions that have a method of
    arrays do what they are called for."""
    x = box_of(x)
    return members.indexed_copy(x.read()) if x.weak is True else x


def rank(x: Any) -> int:
    return len(shape_of(raw(x)))


# ---------------------------------------------------------------- views


@implements(np.reshape, "reshape")
def reshape(a: Any, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """The elements in another shape; `order='F'` counts the first axis fastest."""
    shape = newshape if shape is None else shape
    x, order = array_of(a), order_of_shape(order)
    if order == "F" or (order == "A" and members.in_fortran_order(x)):
        dims = extents.sequence(shape)
        out = members.reshaped(x.T, tuple(reversed(dims))).T
    else:
        out = members.reshaped(x, shape)
    if copy is not None and not copy_of(copy) and out.storage is not x.storage:
        raise ArgumentError(name="reshape", problem="Unable to avoid creating a copy while reshaping")
    return members.indexed_copy(out.read()) if copy else out


@implements(np.ravel, "ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """One-dimensional: a view of what is contiguous, otherwise a copy, where `reshape` may still give a view.
    Order A: that of Fortran for what lies in memory so; K: that of the memory."""
    x, order = box_of(a), order_of(order, "C")
    if order == "K":
        x = members.transposed(x, members.memory_order(x))
    fortran = order == "F" or (order == "A" and members.in_fortran_order(x))
    flat = reshape(x, (-1,), "F" if fortran else "C")
    copied = flat.storage is not x.storage or members.is_contiguous(x, "F" if fortran else "C")
    return flat if copied else members.indexed_copy(flat.read())


@implements(np.transpose, "transpose", "permute_dims")
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order (reversed by default)."""
    x = array_of(a)
    order = tuple(reversed(range(x.ndim))) if axes is None else axes_of("transpose", tuple(axes), x.ndim)
    if len(order) != x.ndim:
        raise ShapeError(op="transpose", problem="axes don't match array")
    return members.transposed(x, order)


@implements(np.matrix_transpose, "matrix_transpose")
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped."""
    return box_of(x).mT


@implements(np.swapaxes, "swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Two axes exchanged."""
    x = box_of(a)
    order = list(range(x.ndim))
    i, j = (axis_of("swapaxes", v, x.ndim) for v in (axis1, axis2))
    order[i], order[j] = order[j], order[i]
    return members.transposed(x, tuple(order))


@implements(np.moveaxis, "moveaxis")
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other positions, the rest in order."""
    x = box_of(a)
    src, dst = axes_of("moveaxis", source, x.ndim), axes_of("moveaxis", destination, x.ndim)
    if len(src) != len(dst):
        raise ArgumentError(
            name="moveaxis", problem="source and destination must have the same number of elements"
        )
    order = [n for n in range(x.ndim) if n not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return members.transposed(x, tuple(order))


@implements(np.rollaxis, "rollaxis")
def rollaxis(a: Any, axis: Any, start: int = 0) -> Any:
    """`moveaxis` in its old form."""
    n = rank(a)
    axis = axis_of("rollaxis", axis, n)
    start = start + n if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


@implements(np.squeeze, "squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    """Axes of size 1 removed."""
    x = array_of(a)
    s = x.aval.shape
    if x.scalar:
        if axis not in (None, ()):
            reduced_axes("squeeze", axis, 1)
        return x
    axes = (
        tuple(n for n, d in enumerate(s) if d == 1) if axis is None else reduced_axes("squeeze", axis, len(s))
    )
    if any(s[n] != 1 for n in axes):
        raise ShapeError(
            op="squeeze", problem="cannot select an axis to squeeze out which has size not equal to one"
        )
    if not axes:
        return x
    return x[tuple([0 if n in axes else slice(None) for n in range(len(s))] + [Ellipsis])]


@implements(np.expand_dims, "expand_dims")
def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of size 1 at these positions of the result."""
    x = box_of(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = axes_of("expand_dims", tuple(given), x.ndim + len(given))
    return x[(*(None if n in axes else slice(None) for n in range(x.ndim + len(axes))), ...)]


def _at_least(n: int) -> Any:
    def function(*arrays: Any) -> Any:
        out = [grown(box_of(a), n) for a in arrays]
        return out[0] if len(out) == 1 else tuple(out)

    function.__name__ = f"atleast_{n}d"
    return implements(getattr(np, function.__name__), function.__name__)(function)


def grown(x: Box, n: int) -> Box:
    if x.ndim >= n:
        return x
    if n == 3 and x.ndim == 2:
        return x[:, :, None]
    if n == 3 and x.ndim == 1:
        return x[None, :, None]
    return x[(None,) * (n - x.ndim) + (Ellipsis,)]


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def read_only(
    x: Box, fn: Any, shape: Shape | None = None, places: Any = None, warns: bool = False, sizes: Any = ()
) -> Box:
    """A view that cannot be written through: `fn` of the raw value, NumPy's `places` of an array and of `sizes`,
    numbers of the trace. `warns`: one that NumPy writes through, and warns."""
    return members.indexing.view_of(x, (*x.chain, ReadOnly(fn, places, warns, sizes)), shape)


def _widened(x: Box, shape: Shape, places: Any, warns: bool = False) -> Box:
    """A read-only view of a larger shape, of which `places` makes NumPy's of an array."""
    wide = functools.partial(ops.shape.broadcast_to, shape=shape)
    if all(type(d) is int for d in shape):
        return read_only(x, wide, shape, functools.partial(places, shape=shape), warns)
    sizes = tuple(map(extents.of_dim, shape))
    return read_only(x, wide, shape, lambda array, *sizes: places(array, shape=sizes), warns, sizes)


def placed(x: Box, fn: Any, places: Any, shape: Shape | None = None) -> Box:
    """A view that `fn` reads of the raw value, and NumPy's `places` of an array: it can be written through."""
    return members.indexing.view_of(x, (*x.chain, Placed(fn, places)), shape)


@implements(np.broadcast_to, "broadcast_to")
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only view of a larger shape."""
    target = shape_arg(shape)
    x = box_of(array)
    if len(target) < x.ndim or broadcast_shapes("broadcast_to", [target, x.aval.shape]) != target:
        raise ShapeError(op="broadcast_to", problem=f"{x.aval.shape} cannot be broadcast to {target}")
    return _widened(x, target, np.broadcast_to)


@implements(np.broadcast_arrays, "broadcast_arrays")
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """All arguments in their common shape: views that NumPy still lets write, with a warning, where shapes differ."""
    shape = broadcast_shapes("broadcast_arrays", [shape_of(raw(a)) for a in args])
    return tuple(_one_broadcast(a, shape) for a in args)


def _one_broadcast(given: Any, shape: Any) -> Any:
    """An array as it was given, if it has the shape, else widened; one without dimensions of a number."""
    if isinstance(given, SeenArray) and not given.is_traced():
        return given if given.shape == shape else type(given).of(_broadcast_one(given.plain, shape))
    x = box_of(given)
    if x.aval.shape != shape:
        return _widened(x, shape, _broadcast_one, warns=True)
    return given if type(given) is Box and not (given.weak or given.scalar) else new_array(raw(x))


def _broadcast_one(array: Any, shape: tuple[Any, ...]) -> Any:
    """What `np.broadcast_arrays` makes of `array` beside one of another shape."""
    of_shape: Any = broadcast_to if type(array) is Box else np.broadcast_to
    pair: list[Any] = [array, of_shape(0, shape)]
    return np.broadcast_arrays(*pair)[0]


@implements(np.flip, "flip")
def flip(m: Any, axis: Any = None) -> Any:
    """The order along axes reversed (a view)."""
    x = box_of(m)
    axes = axes_of("flip", axis, x.ndim)
    return x[tuple(slice(None, None, -1) if n in axes else slice(None) for n in range(x.ndim))]


@implements(np.fliplr, "fliplr")
def fliplr(m: Any) -> Any:
    """The second axis reversed."""
    return flip(m, 1)


@implements(np.flipud, "flipud")
def flipud(m: Any) -> Any:
    """The first axis reversed."""
    return flip(m, 0)


@implements(np.rot90, "rot90")
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotated by 90 degrees k times in the plane of two axes."""
    x = box_of(m)
    a, b = axes_of("rot90", tuple(axes), x.ndim)
    k %= 4
    if k == 0:
        return x[...]
    if k == 2:
        return flip(flip(x, a), b)
    return flip(swapaxes(x, a, b), a) if k == 1 else swapaxes(flip(x, a), a, b)


@implements(np.diagonal, "diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of two axes, as the last axis (a read-only view)."""
    x = box_of(a)
    i, j = axes_of("diagonal", (axis1, axis2), x.ndim)
    rest = tuple(n for n in range(x.ndim) if n not in (i, j))
    places = functools.partial(np.diagonal, offset=offset, axis1=i, axis2=j)
    return read_only(x, lambda r: _diagonal(r, offset, i, j, rest), None, places)


def _diagonal(r: Any, offset: int, i: int, j: int, rest: tuple[int, ...]) -> Any:
    shape: Any = shape_of(r)
    if not all(type(shape[a]) is int for a in (i, j)):
        raise DynamicExtentError(
            op="diagonal", problem=f"the shape {shape} has a size that is a traced integer"
        )
    n = max(min(shape[i] + min(offset, 0), shape[j] - max(offset, 0)), 0)
    along = np.arange(n)
    r = ops.shape.transpose(r, permutation=(i, j, *rest))
    index = np.stack([along - min(offset, 0), along + max(offset, 0)], -1)
    numbers = ops.gather.GatherDimensionNumbers(
        offset_dims=tuple(range(len(rest))), collapsed_slice_dims=(0, 1), start_index_map=(0, 1)
    )
    sizes = (1, 1, *(shape[n] for n in rest))
    return ops.gather.gather(
        r, index, dimension_numbers=numbers, slice_sizes=sizes, mode="promise_in_bounds", unique_indices=True
    )


@implements(np.trace, "trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along a diagonal."""
    return members.NUMPY_TO_TRACEJIT[np.sum](diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@implements(np.diag, "diag")
def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with this diagonal."""
    x = box_of(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ArgumentError(name="diag", problem="Input must be 1- or 2-d.")
    n = x.shape[0] + abs(k)
    out = box_of(filled(0, x.dtype, (n, n)))
    line = np.arange(x.shape[0])
    out[line + max(-k, 0), line + max(k, 0)] = x
    return out


@implements(np.diagflat, "diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the flattened input on its k-th diagonal."""
    return diag(ravel(v), k)


def _triangle(name: str, lower: bool) -> Any:
    def function(m: Any, k: int = 0) -> Any:
        x, k = raw(m), extents.number(k)
        shape = shape_of(x)
        if not shape:
            raise TypeError("tri() missing 1 required positional argument: 'N'")  # NumPy's own words
        if len(shape) == 1:  # the rows of a square
            shape = shape * 2
            x = ops.shape.broadcast_to(x, shape)
        mask = lower_mask(shape[-2:], k if lower else extents.sub(k, 1))
        mask = ops.shape.broadcast_to(mask, shape)
        zero = dtype_of(x).type(0)
        return wrap(ops.compare.select(mask, x, zero) if lower else ops.compare.select(mask, zero, x))

    function.__name__ = name
    return implements(getattr(np, name), name)(function)


tril, triu = _triangle("tril", True), _triangle("triu", False)


@implements(np.shape, "shape")
def shape(a: Any) -> tuple[Any, ...]:
    """The shape; traced extents as boxes."""
    return box_of(a).shape


@implements(np.ndim, "ndim")
def ndim(a: Any) -> int:
    """The number of dimensions."""
    return rank(a)


@implements(np.size, "size")
def size(a: Any, axis: Any = None) -> Any:
    """The number of elements, or along one axis."""
    return box_of(a).size if axis is None else box_of(a).shape[axis]
