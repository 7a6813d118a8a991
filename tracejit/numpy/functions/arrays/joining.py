"""Joining, splitting, repeating and padding arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcreteValueError,
    IndexOutOfRangeError,
    ShapeError,
)
from tracejit.ir.avals import aval_of
from tracejit.numpy import lengths
from tracejit.numpy.boxes import extents, numbers, rows
from tracejit.numpy.boxes.masking.selected import selection
from tracejit.numpy.boxes.members import indexed_copy
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.creation import shape_arg
from tracejit.numpy.functions.arrays.shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    box_of,
    broadcast_arrays,
    expand_dims,
    grown,
    moveaxis,
    rank,
    ravel,
    reshape,
    swapaxes,
)
from tracejit.numpy.functions.statistics.reductions import axis_of, single_axis
from tracejit.numpy.operands import (
    cast,
    check_output,
    convert,
    dtype_of,
    elements,
    filled,
    has_box,
    nested,
    raw,
    result_type,
    shape_of,
)
from tracejit.tracing import Box, box, caller, new_array, wrap

# ---------------------------------------------------------------- joining and splitting


@implements(np.concatenate, "concatenate", "concat")
def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays joined along an existing axis (None: flattened)."""
    given = list(arrays) if axis is None else _pieces(arrays, axis)
    xs = [ravel(a) if axis is None else box_of(a) for a in given]
    if not xs:
        raise ArgumentError(name="concatenate", problem="need at least one array to concatenate")
    d = result_type(*(given if axis is None else xs)) if dtype is None else dtypes.canonical(dtype)
    for x in xs if dtype is not None or casting != "same_kind" else ():
        check_output("concatenate", x.dtype, d, casting)
    if not shape_of((raws := [convert(x, d) for x in xs])[0]):
        raise ShapeError(op="concatenate", problem="zero-dimensional arrays cannot be concatenated")
    n = single_axis("concatenate", 0 if axis is None else axis, len(shape_of(raws[0])))
    if len(raws) > 1 and any(type(d) is not int for r in raws for d in shape_of(r)):
        return wrap(lengths.joined(raws, n))
    return wrap(ops.concat.concatenate(*raws, dimension=n))


def _pieces(arrays: Any, axis: Any) -> list[Any]:
    """What to join along `axis`: arrays of which many are rows of one array are one piece."""
    arrays = list(arrays)
    found = rows.runs(arrays)
    if found is None or any(joined and not x.aval.shape[1:] for joined, x in found):
        return arrays
    return [_beside(x, axis) if joined else x for joined, x in found]


def _beside(x: Box, axis: int) -> Box:
    """The rows of an array side by side along their `axis`."""
    shape = list(x.aval.shape[1:])
    n = axis_of("concatenate", axis, len(shape))
    shape[n] *= x.aval.shape[0]
    return reshape(moveaxis(x, 0, n), tuple(shape))


@implements(np.stack, "stack")
def stack(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays of one shape joined along a new axis."""
    arrays, axis = list(arrays), operator.index(axis)
    if dtype is None and (whole := rows.run(arrays)) is not None:
        return wrap(convert(moveaxis(whole, 0, axis), whole.dtype))
    xs = [box_of(a) for a in arrays]
    if any(x.aval.shape != xs[0].aval.shape for x in xs):
        raise ShapeError(op="stack", problem="all input arrays must have the same shape")
    return concatenate([expand_dims(x, axis) for x in xs], axis, dtype=dtype, casting=casting)


@implements(np.vstack, "vstack")
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Rows on top of each other."""
    found = rows.runs(tup := list(tup)) or [(False, a) for a in tup]
    if any(joined and x.ndim > 2 for joined, x in found):
        return concatenate(tup, 0, dtype=dtype, casting=casting)
    xs = [reshape(x, (-1, 1)) if joined and x.ndim == 1 else atleast_2d(box_of(x)) for joined, x in found]
    return concatenate(xs, 0, dtype=dtype, casting=casting)


if hasattr(np, "row_stack"):  # until NumPy 2.5

    @implements(np.row_stack, "row_stack")
    def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        """`vstack` by its old name."""
        caller.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning)
        return vstack(tup, dtype=dtype, casting=casting)


@implements(np.hstack, "hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Side by side: along the second axis, or the first of one-dimensional arrays."""
    xs = [atleast_1d(box_of(a)) for a in tup]
    return concatenate(xs, 0 if not xs or xs[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack, "dstack")
def dstack(tup: Any) -> Any:
    """Along the third axis."""
    return concatenate([atleast_3d(box_of(a)) for a in tup], 2)


@implements(np.column_stack, "column_stack")
def column_stack(tup: Any) -> Any:
    """One-dimensional arrays as columns."""
    return concatenate([grown(x, 2).T if x.ndim < 2 else x for x in map(box_of, tup)], 1)


@implements(np.append, "append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values at the end."""
    both = [ravel(a) if axis is None else box_of(a) for a in (arr, values)]
    return concatenate(both, 0 if axis is None else axis)


@implements(np.block, "block")
def block(arrays: Any) -> Any:
    """Nested lists of blocks joined from the innermost outwards."""
    depth = _depth(arrays, "arrays")
    ndim = max(depth, *(rank(leaf) for leaf in _leaves(arrays)))
    return indexed_copy(raw(_blocks(arrays, depth, ndim, 0)))


def _depth(x: Any, name: str) -> int:
    """How many lists there are around each block. Raises as NumPy does if some are in more than others."""
    if isinstance(x, tuple):
        problem = f"{name} is a tuple. Only lists can be used to arrange blocks"
        raise ArgumentTypeError(name="block", problem=problem)
    if not isinstance(x, list):
        return 0
    depths = {_depth(y, f"{name}[{n}]") for n, y in enumerate(x)}
    if len(depths) != 1:
        problem = "list depths are mismatched" if depths else f"List at {name} cannot be empty"
        raise ArgumentError(name="block", problem=problem)
    return 1 + depths.pop()


def _leaves(x: Any) -> list[Any]:
    return [leaf for y in x for leaf in _leaves(y)] if isinstance(x, list) else [x]


def _blocks(x: Any, depth: int, ndim: int, level: int) -> Any:
    if level == depth:
        b = box_of(x)
        return b[(None,) * (ndim - b.ndim) + (Ellipsis,)]
    return concatenate([_blocks(y, depth, ndim, level + 1) for y in x], level - depth)


# ---------------------------------------------------------------- repeating


@implements(np.tile, "tile", arrays=True)
def tile(A: Any, reps: Any) -> Any:
    """The array repeated as a whole along each axis."""
    x = box_of(A)
    several = reps.ndim > 0 if type(reps) is Box else np.iterable(reps)
    reps = tuple(map(operator.index, reps if several else (reps,)))
    n = max(len(reps), x.ndim)
    reps = (1,) * (n - len(reps)) + reps
    if not x.aval.is_static:
        return _tiled(grown(x, n), reps)
    shape = (1,) * (n - x.ndim) + x.shape
    wide = [d for pair in zip(reps, shape, strict=True) for d in pair]
    r = ops.shape.reshape(raw(x), shape=tuple(d for s in shape for d in (1, s)))
    r = ops.shape.broadcast_to(r, tuple(wide))
    return wrap(ops.shape.reshape(r, shape=tuple(a * b for a, b in zip(reps, shape, strict=True))))


def _tiled(x: Any, reps: tuple[int, ...]) -> Any:
    """An array of traced lengths `reps` times along its axes."""
    for n, r in enumerate(reps):
        index = NP[np.arange](x.shape[n] * max(r, 0)) % NP[np.maximum](x.shape[n], 1)
        x = x[(slice(None),) * n + (index,)] if r != 1 else x
    return x.copy()


@implements(np.repeat, "repeat")
def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None) -> Any:
    """Each element repeated; of traced counts the length is traced, too."""
    x = ravel(a) if axis is None else box_of(a)
    n = single_axis("repeat", 0 if axis is None else axis, x.ndim)
    if has_box((repeats,)) and extents.known(raw(repeats)) is None:
        return x[(slice(None),) * n + (lengths.repeated(raw(repeats), x.aval.shape[n]),)]
    counts = np.asarray(extents.known(raw(repeats)))
    if counts.ndim == 0 or counts.size == 1:
        k = int(counts.reshape(()))
        s = x.aval.shape
        if type(s[n]) is not int:
            return x[(slice(None),) * n + (NP[np.arange](x.shape[n] * k) // k,)]
        r = ops.shape.expand_dims(raw(x), (n + 1,))
        r = ops.shape.broadcast_to(r, (*s[: n + 1], k, *s[n + 1 :]))
        return wrap(ops.shape.reshape(r, shape=(*s[:n], s[n] * k, *s[n + 1 :])))
    index = np.repeat(np.arange(x.shape[n]), counts)
    return x[(slice(None),) * n + (index,)]


@implements(np.roll, "roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved along axes; what leaves one end enters at the other."""
    x = box_of(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    axes, shifts = extents.sequence(axis), extents.sequence(shift)
    many = max(len(axes), len(shifts)) if axes and shifts else 0
    for s, n in zip(shifts * (many // (len(shifts) or 1)), axes * (many // (len(axes) or 1)), strict=True):
        x = _roll(x, s, axis_of("roll", n, x.ndim))
    return x.copy() if x is a else x


def _whole(shift: Any) -> Any:
    """A number of places: NumPy cuts fractions off."""
    if isinstance(shift, (float, np.floating)):
        return int(shift)
    if type(shift) is Box and shift.aval.dtype.kind == "f" and shift.aval.shape in ((), (1,)):
        return box(numbers.to_int(shift.reshape(()).read()), weak=True)
    return shift


def _roll(x: Box, shift: Any, n: int) -> Any:
    size = x.shape[n]
    if type(size) is int and size == 0:
        return x
    by = extents.number(_whole(shift))
    head = (slice(None),) * n
    if type(by) is int and type(size) is int:
        by %= size
        return (
            concatenate([x[(*head, slice(size - by, None))], x[(*head, slice(0, size - by))]], n) if by else x
        )
    index = (NP[np.arange](size) - wrap(by)) % size
    return x[(*head, index)]


@implements(np.resize, "resize")
def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated in order to fill a shape."""
    shape = shape_arg(new_shape)
    x = ravel(a)
    total = elements("resize", shape)
    if x.shape[0] == 0 or total == 0:
        return wrap(filled(0, x.dtype, shape))
    return reshape(tile(x, -(-total // x.shape[0]))[:total], shape)


@implements(np.delete, "delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Without the sub-arrays at some positions; if these are traced, so is the number of what is left."""
    x = ravel(arr) if axis is None else box_of(arr)
    n = axis_of("delete", 0 if axis is None else axis, x.ndim)
    mask = dtype_of(raw(obj)).kind == "b" if has_box((obj,)) else False
    if mask and (rank(obj) != 1 or shape_of(raw(obj))[0] != x.aval.shape[n]):
        problem = "boolean array argument obj to delete must be one dimensional and match the axis length of"
        raise ArgumentError(name="delete", problem=f"{problem} {x.shape[n]}")
    if has_box((obj,)) and (selection(obj) is not None or extents.known(raw(obj)) is None):
        kept = new_array(filled(True, dtypes.bool_, (x.aval.shape[n],)))
        kept[obj] = False
        return x[(slice(None),) * n + (kept,)]
    known = extents.known(raw(obj)) if has_box((obj,)) else obj
    return NP[np.take](x, np.delete(np.arange(x.shape[n]), known), n)


@implements(np.insert, "insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Values inserted before positions: an integer, a slice, or a sequence of integers or booleans."""
    x = ravel(arr) if axis is None else box_of(arr)
    n = axis_of("insert", -1 if axis is None else axis, x.ndim)
    size, rest = x.shape[n], x.aval.shape[:n] + x.aval.shape[n + 1 :]
    v = wrap(nested(values, x.dtype) if isinstance(values, (list, tuple)) else convert(values, x.dtype))
    places = _insertion_places(obj, size, n)
    if places.size == 1:
        v = v[(None,) * (x.ndim - v.ndim) + (Ellipsis,)]
        v = moveaxis(v, 0, n) if places.ndim == 0 else v
        places = NP[np.repeat](places.reshape(1), v.shape[n])
    wide = ops.shape.broadcast_to(raw(v), (*rest[:n], places.size, *rest[n:]))
    source = _insertion_source(places, size)
    return NP[np.take](concatenate([x, wrap(wide)], n), source, n)


def _insertion_source(places: Any, size: Any) -> Any:
    """Where each element of the result is among the old ones and the new ones behind them."""
    at = places + 0
    order = NP[np.argsort](places, kind="stable")
    at[order] += np.arange(places.size)
    new: Any = (
        NP[np.zeros](size + places.size, bool) if type(at) is Box else np.zeros(size + places.size, bool)
    )
    new[at] = True
    source = NP[np.cumsum](~new) - 1
    source[at] = size + np.arange(places.size)
    return source


def _insertion_places(obj: Any, size: Any, axis: int) -> Any:
    """Positions in [0, size]; 0-d for one integer. They are traced if they are not known, or the size is not."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(size))
    known = extents.known(raw(obj))
    if known is None or type(size) is not int:
        return _traced_places(obj, size, axis)
    places = np.asarray(known)
    places = np.flatnonzero(places) if places.dtype == bool else places.astype(np.int64)
    outside = (places < -size) | (places > size)
    if outside.any():
        raise IndexOutOfRangeError(index=int(places[outside].flat[0]), axis=0, size=size)
    return np.where(places < 0, places + size, places)


def _traced_places(obj: Any, size: Any, axis: int) -> Any:
    r = raw(obj)
    if (
        dtype_of(r).kind not in "iu"
        or len(shape_of(r)) > 1
        or not aval_of(r).is_static
        or shape_of(r) == (0,)
    ):
        raise ConcreteValueError(aval=str(aval_of(r)))
    at, last = cast(r, dtypes.int64), extents.operand(extents.number(size))
    outside = ops.compare.or_(ops.compare.lt(at, ops.arithmetic.neg(last)), ops.compare.gt(at, last))
    failure = ops.index_check.Raising(
        IndexError, f"index {{}} is out of bounds for axis {axis}", dtypes.int64
    )
    ops.index_check.fail_where(outside, failure, at)
    return wrap(ops.compare.select(ops.compare.lt(at, np.int64(0)), ops.arithmetic.add(at, last), at))


@implements(np.meshgrid, "meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate grids of coordinate vectors: a tuple, or as in NumPy a list of sparse ones that are no copies."""
    np.meshgrid(indexing=indexing)  # type: ignore[call-overload]  # raises where it is unknown
    n = len(xi)
    grids = [reshape(x, tuple(-1 if k == i else 1 for k in range(n))) for i, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        grids = [swapaxes(g, 0, 1) for g in grids]
    found = grids if sparse else broadcast_arrays(*grids)
    return tuple(g.copy() for g in found) if copy else found
