"""Shapes: views where NumPy gives views, joins, repeats, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ShapeError
from tracejit.ir.avals import Shape
from tracejit.numpy.boxes import extents, members
from tracejit.numpy.boxes.views import ReadOnly
from tracejit.numpy.creation import lower_mask, shape_arg
from tracejit.numpy.dispatch import (
    broadcast_shapes,
    cast,
    convert,
    dtype_of,
    filled,
    implements,
    raw,
    result_type,
    shape_of,
)
from tracejit.numpy.reductions import axes_of, axis_of
from tracejit.tracing import Box, wrap


def box_of(x: Any) -> Box:
    """`x` itself if it is a box, else a new box of its value."""
    return x if type(x) is Box else wrap(raw(x))


def rank(x: Any) -> int:
    return len(shape_of(raw(x)))


# ---------------------------------------------------------------- views


@implements(np.reshape, "reshape")
def reshape(a: Any, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """The elements in another shape; `order='F'` counts the first axis fastest."""
    shape = newshape if shape is None else shape
    x = box_of(a)
    if order == "F":
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        return members.reshaped(x.T, tuple(reversed(dims))).T
    return members.reshaped(x, shape)


@implements(np.ravel, "ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """One-dimensional: a view where possible."""
    return reshape(a, (-1,), order if order == "F" else "C")


@implements(np.transpose, "transpose", "permute_dims")
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order (reversed by default)."""
    x = box_of(a)
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
        raise ArgumentError(name="moveaxis", problem="source and destination must have the same number of elements")
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
    x = box_of(a)
    s = x.aval.shape
    axes = tuple(n for n, d in enumerate(s) if d == 1) if axis is None else axes_of("squeeze", axis, len(s))
    if any(s[n] != 1 for n in axes):
        raise ShapeError(op="squeeze", problem="cannot select an axis to squeeze out which has size not equal to one")
    return x[tuple([0 if n in axes else slice(None) for n in range(len(s))] + [Ellipsis])] if axes else x[...]


@implements(np.expand_dims, "expand_dims")
def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of size 1 at these positions of the result."""
    x = box_of(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = axes_of("expand_dims", tuple(given), x.ndim + len(given))
    return x[tuple(None if n in axes else slice(None) for n in range(x.ndim + len(axes)))]


def _at_least(n: int) -> Any:
    def function(*arrays: Any) -> Any:
        out = [_grown(box_of(a), n) for a in arrays]
        return out[0] if len(out) == 1 else tuple(out)

    function.__name__ = f"atleast_{n}d"
    return implements(getattr(np, function.__name__), function.__name__)(function)


def _grown(x: Box, n: int) -> Box:
    if x.ndim >= n:
        return x
    if n == 3 and x.ndim == 2:
        return x[:, :, None]
    if n == 3 and x.ndim == 1:
        return x[None, :, None]
    return x[(None,) * (n - x.ndim) + (Ellipsis,)]


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def read_only(x: Box, fn: Any, shape: Shape | None = None) -> Box:
    """A view that cannot be written through, computed by `fn` of the raw value."""
    return members.indexing.view_of(x, (*x.chain, ReadOnly(fn)), shape)


@implements(np.broadcast_to, "broadcast_to")
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only view of a larger shape."""
    target = shape_arg(shape)
    x = box_of(array)
    if len(target) < x.ndim or broadcast_shapes("broadcast_to", [target, x.aval.shape]) != target:
        raise ShapeError(op="broadcast_to", problem=f"{x.aval.shape} cannot be broadcast to {target}")
    return read_only(x, lambda r: ops.shape.broadcast_to(r, target), target)


@implements(np.broadcast_arrays, "broadcast_arrays")
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """All arguments in their common shape."""
    shape = broadcast_shapes("broadcast_arrays", [shape_of(raw(a)) for a in args])
    return tuple(a if shape_of(raw(a)) == shape else broadcast_to(box_of(a), tuple(map(extents.user_size, shape))) for a in args)


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
    return read_only(x, lambda r: _diagonal(r, offset, i, j, rest))


def _diagonal(r: Any, offset: int, i: int, j: int, rest: tuple[int, ...]) -> Any:
    shape = shape_of(r)
    n = max(min(shape[i] + min(offset, 0), shape[j] - max(offset, 0)), 0)
    along = np.arange(n)
    r = ops.shape.transpose(r, permutation=(i, j, *rest))
    index = np.stack([along - min(offset, 0), along + max(offset, 0)], -1)
    numbers = ops.gather.GatherDimensionNumbers(
        offset_dims=tuple(range(len(rest))), collapsed_slice_dims=(0, 1), start_index_map=(0, 1)
    )
    sizes = (1, 1, *(shape[n] for n in rest))
    return ops.gather.gather(r, index, dimension_numbers=numbers, slice_sizes=sizes, mode="promise_in_bounds", unique_indices=True)


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
        x = raw(m)
        shape = shape_of(x)
        mask = lower_mask(shape[-2:], k if lower else k - 1)  # type: ignore[arg-type]
        mask = ops.shape.broadcast_to(mask, shape)
        zero = dtype_of(x).type(0)
        return wrap(ops.compare.select(mask, x, zero) if lower else ops.compare.select(mask, zero, x))

    function.__name__ = name
    return implements(getattr(np, name), name)(function)


tril, triu = _triangle("tril", True), _triangle("triu", False)


# ---------------------------------------------------------------- joining and splitting


@implements(np.concatenate, "concatenate", "concat")
def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays joined along an existing axis (None: flattened)."""
    xs = [ravel(a) for a in arrays] if axis is None else [box_of(a) for a in arrays]
    if not xs:
        raise ArgumentError(name="concatenate", problem="need at least one array to concatenate")
    d = result_type(*xs) if dtype is None else dtypes.canonical(dtype)
    raws = [convert(x, d) for x in xs]
    if not shape_of(raws[0]):
        raise ShapeError(op="concatenate", problem="zero-dimensional arrays cannot be concatenated")
    n = axis_of("concatenate", axis or 0, len(shape_of(raws[0])))
    return wrap(ops.concat.concatenate(*raws, dimension=n))


@implements(np.stack, "stack")
def stack(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays of one shape joined along a new axis."""
    xs = [box_of(a) for a in arrays]
    if any(x.aval.shape != xs[0].aval.shape for x in xs):
        raise ShapeError(op="stack", problem="all input arrays must have the same shape")
    return concatenate([expand_dims(x, axis) for x in xs], axis, dtype=dtype)


@implements(np.vstack, "vstack", "row_stack")
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Rows on top of each other."""
    return concatenate([atleast_2d(box_of(a)) for a in tup], 0, dtype=dtype)


@implements(np.hstack, "hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Side by side: along the second axis, or the first of one-dimensional arrays."""
    xs = [atleast_1d(box_of(a)) for a in tup]
    return concatenate(xs, 0 if xs[0].ndim == 1 else 1, dtype=dtype)


@implements(np.dstack, "dstack")
def dstack(tup: Any) -> Any:
    """Along the third axis."""
    return concatenate([atleast_3d(box_of(a)) for a in tup], 2)


@implements(np.column_stack, "column_stack")
def column_stack(tup: Any) -> Any:
    """One-dimensional arrays as columns."""
    xs = [box_of(a) for a in tup]
    return concatenate([_grown(x, 2).T if x.ndim < 2 else x for x in xs], 1)


@implements(np.append, "append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values at the end."""
    return concatenate([box_of(arr), box_of(values)], axis)


@implements(np.block, "block")
def block(arrays: Any) -> Any:
    """Nested lists of blocks joined from the innermost outwards."""
    depth, x = 0, arrays
    while isinstance(x, list):
        depth, x = depth + 1, x[0]
    ndim = max(depth, *(rank(leaf) for leaf in _leaves(arrays)))
    return _blocks(arrays, depth, ndim, 0)


def _leaves(x: Any) -> list[Any]:
    return [leaf for y in x for leaf in _leaves(y)] if isinstance(x, list) else [x]


def _blocks(x: Any, depth: int, ndim: int, level: int) -> Any:
    if level == depth:
        b = box_of(x)
        return b[(None,) * (ndim - b.ndim) + (Ellipsis,)]
    return concatenate([_blocks(y, depth, ndim, level + 1) for y in x], level - depth)


@implements(np.array_split, "array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """Parts along an axis (views), of nearly equal size or cut at these positions."""
    x = box_of(ary)
    a = axis_of("split", axis, x.ndim)
    n = x.shape[a]
    if np.ndim(indices_or_sections) == 0:
        k = int(indices_or_sections)
        if k <= 0:
            raise ArgumentError(name="array_split", problem="number sections must be larger than 0")
        sizes = [n // k + 1] * (n % k) + [n // k] * (k - n % k)
        cuts = list(np.cumsum([0, *sizes]))
    else:
        cuts = [0, *indices_or_sections, None]
    head = (slice(None),) * a
    return [x[(*head, slice(lo, hi))] for lo, hi in zip(cuts[:-1], cuts[1:], strict=True)]


@implements(np.split, "split")
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """Like `array_split`; the parts must be of equal size."""
    if np.ndim(indices_or_sections) == 0 and box_of(ary).shape[axis] % int(indices_or_sections):
        raise ArgumentError(name="split", problem="array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit, "hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the second axis (the first of one-dimensional arrays)."""
    return split(ary, indices_or_sections, 1 if rank(ary) > 1 else 0)


@implements(np.vsplit, "vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the first axis."""
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit, "dsplit")
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the third axis."""
    return split(ary, indices_or_sections, 2)


@implements(np.unstack, "unstack")
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The sub-arrays along an axis."""
    return tuple(moveaxis(x, axis, 0))


# ---------------------------------------------------------------- repeating


@implements(np.tile, "tile")
def tile(A: Any, reps: Any) -> Any:
    """The array repeated as a whole along each axis."""
    x = box_of(A)
    reps = tuple(reps) if isinstance(reps, (tuple, list, np.ndarray)) else (reps,)
    n = max(len(reps), x.ndim)
    reps = (1,) * (n - len(reps)) + tuple(int(r) for r in reps)
    shape = (1,) * (n - x.ndim) + x.shape
    wide = [d for pair in zip(reps, shape, strict=True) for d in pair]
    r = ops.shape.reshape(raw(x), shape=tuple(d for s in shape for d in (1, s)))
    r = ops.shape.broadcast_to(r, tuple(wide))
    return wrap(ops.shape.reshape(r, shape=tuple(a * b for a, b in zip(reps, shape, strict=True))))


@implements(np.repeat, "repeat")
def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: Any = None) -> Any:
    """Each element repeated; the counts must be known."""
    x = ravel(a) if axis is None else box_of(a)
    n = axis_of("repeat", axis or 0, x.ndim)
    counts = np.asarray(repeats)
    if counts.ndim == 0 or counts.size == 1:
        k = int(counts.reshape(()))
        r = ops.shape.expand_dims(raw(x), (n + 1,))
        s = x.aval.shape
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
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    for s, n in zip(shifts, axes, strict=True):
        x = _roll(x, s, axis_of("roll", n, x.ndim))
    return x.copy() if x is a else x


def _roll(x: Box, shift: Any, n: int) -> Any:
    size = x.shape[n]
    if type(size) is int and size == 0:
        return x
    by = extents.number(shift)
    head = (slice(None),) * n
    if type(by) is int:
        by %= size
        return concatenate([x[(*head, slice(size - by, None))], x[(*head, slice(0, size - by))]], n) if by else x
    index = (wrap(np.arange(size)) - wrap(by)) % size
    return x[(*head, index)]


@implements(np.resize, "resize")
def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated in order to fill a shape."""
    shape = shape_arg(new_shape)
    x = ravel(a)
    total = int(np.prod(shape, dtype=int))
    if x.shape[0] == 0 or total == 0:
        return wrap(filled(0, x.dtype, shape))
    return reshape(tile(x, -(-total // x.shape[0]))[:total], shape)


@implements(np.pad, "pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Elements around an array: modes constant, edge, wrap, reflect, symmetric, empty."""
    x = box_of(array)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(n, pad_width.get(n - x.ndim, 0)) for n in range(x.ndim)]
        pad_width = [w if isinstance(w, (tuple, list)) else (w, w) for w in pad_width]
    widths = [(int(a), int(b)) for a, b in np.broadcast_to(np.asarray(pad_width, int), (x.ndim, 2))]
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, kwargs.get("constant_values", 0))
    if mode not in ("edge", "wrap", "reflect", "symmetric") or kwargs.get("reflect_type", "even") != "even":
        raise ArgumentError(name="pad", problem=f"mode {mode!r} is not implemented for traced arrays")
    for n, width in enumerate(widths):
        if width != (0, 0):
            x = x[(slice(None),) * n + (np.pad(np.arange(x.shape[n]), width, mode),)]
    return x.copy() if x is array else x


def _pad_constant(x: Box, widths: list[tuple[int, int]], values: Any) -> Any:
    if np.ndim(values) == 0 or type(values) is Box:
        config = tuple((lo, hi, 0) for lo, hi in widths)
        return wrap(ops.concat.pad(raw(x), convert(values, x.dtype), padding_config=config))
    r = raw(x)
    pairs = np.broadcast_to(np.asarray(values), (x.ndim, 2))
    for n, ((lo, hi), (a, b)) in enumerate(zip(widths, pairs, strict=True)):
        for config, v in (((lo, 0, 0), a), ((0, hi, 0), b)):
            full = tuple(config if k == n else (0, 0, 0) for k in range(x.ndim))
            r = ops.concat.pad(r, convert(v, x.dtype), padding_config=full)
    return wrap(r)


@implements(np.delete, "delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Without the sub-arrays at known positions."""
    x = ravel(arr) if axis is None else box_of(arr)
    n = axis_of("delete", axis or 0, x.ndim)
    return x[(slice(None),) * n + (np.delete(np.arange(x.shape[n]), obj),)]


@implements(np.insert, "insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Values inserted before one known position."""
    x = ravel(arr) if axis is None else box_of(arr)
    n = axis_of("insert", axis or 0, x.ndim)
    at = int(obj) + (x.shape[n] if int(obj) < 0 else 0)
    head = (slice(None),) * n
    v = cast(raw(values), x.dtype)
    rest = tuple(d for k, d in enumerate(x.aval.shape) if k != n)
    v = ops.shape.broadcast_to(v, rest) if len(shape_of(v)) <= len(rest) else v
    v = expand_dims(wrap(v), n) if len(shape_of(v)) == len(rest) else wrap(v)
    return concatenate([x[(*head, slice(0, at))], v, x[(*head, slice(at, None))]], n)


@implements(np.meshgrid, "meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate grids of coordinate vectors."""
    n = len(xi)
    grids = [reshape(x, tuple(-1 if k == i else 1 for k in range(n))) for i, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        grids = [swapaxes(g, 0, 1) for g in grids]
    return tuple(grids) if sparse else tuple(g.copy() for g in broadcast_arrays(*grids))


@implements(np.ix_, "ix_")
def ix_(*args: Any) -> tuple[Any, ...]:
    """Index arrays that make an open mesh."""
    return tuple(reshape(x, tuple(-1 if k == n else 1 for k in range(len(args)))) for n, x in enumerate(args))


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


