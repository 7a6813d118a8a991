"""What an index means: a basic part, arrays of integers, a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    IndexingError,
    IndexOutOfRangeError,
)
from tracejit.ir.avals import Shape
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.views import Item
from tracejit.numpy.operands import cast, dtype_of, is_subclassed, nested, shape_of
from tracejit.tracing import Box


class Selection:
    """A parsed index. `items`: the basic part. `arrays`: (dimension of the basic part's result,
    integer indices). `front`: the arrays' dimensions come first in the result. `mask`: (first
    dimension, traced boolean raw value)."""

    __slots__ = ("arrays", "front", "items", "mask", "trivial")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.arrays: list[tuple[int, Any]] = []
        self.front = False
        self.mask: tuple[int, Any] | None = None
        self.trivial = True  # the basic part selects everything


def parse(shape: Shape, index: Any) -> Selection:
    """The meaning of `x[index]` for an array of `shape`. Raises IndexingError, IndexOutOfRangeError."""
    entries = [entry_of(e) for e in (index if type(index) is tuple else (index,))]
    entries = fill_entries(entries, shape)
    advanced = any(kind in ("array", "mask", "flag") for kind, _ in entries)
    out = Selection()
    axis = dim = 0
    spots: list[int] = []  # positions among the entries of what counts as an array
    for n, (kind, value) in enumerate(entries):
        if kind == "new" or kind == "flag":
            out.items.append(("new",))
            out.trivial = False
            if kind == "flag":
                out.arrays.append((dim, np.zeros(int(value), np.int64)))
                spots.append(n)
            dim += 1
        elif kind == "int" and not advanced:
            out.items.append(("at", extents.position(value, shape[axis], axis)))
            out.trivial = False
            axis += 1
        elif kind == "int":
            position = extents.position(value, shape[axis], axis)
            out.items.append(("all",))
            out.arrays.append((dim, np.int64(position) if type(position) is int else position))
            spots.append(n)
            axis, dim = axis + 1, dim + 1
        elif kind == "slice":
            out.items.append(slice_item(value, shape[axis], axis))
            out.trivial = out.trivial and out.items[-1][0] == "all"
            axis, dim = axis + 1, dim + 1
        elif kind == "array":
            out.items.append(("all",))
            out.arrays.append((dim, _checked(value, shape[axis], axis)))
            spots.append(n)
            axis, dim = axis + 1, dim + 1
        else:
            rank = len(shape_of(value))
            _check_mask(shape_of(value), shape[axis : axis + rank], axis)
            out.mask = (dim, value)
            out.items += [("all",)] * rank
            axis, dim = axis + rank, dim + rank
    if out.mask and out.arrays:
        raise IndexingError(
            problem="a traced mask cannot be combined with integers or integer arrays in one index"
        )
    out.front = bool(spots) and spots != list(range(spots[0], spots[0] + len(spots)))
    return out


def entry_of(e: Any) -> tuple[str, Any]:
    """(kind, value) of one entry of an index."""
    if e is None:
        return "new", None
    if e is Ellipsis:
        return "rest", None
    if isinstance(e, slice):
        return "slice", e
    if isinstance(e, (bool, np.bool_)):
        return "flag", bool(e)
    if type(e) is int or isinstance(e, np.integer):
        return "int", e
    e = e._tj_box if is_subclassed(e) else e
    value = e.read() if type(e) is Box else e
    if not isinstance(value, (Value, np.ndarray, np.generic)):
        value = _sequence(e)
    kind = dtype_of(value).kind
    if kind == "b":
        known = extents.known(value)
        return (
            ("mask", value)
            if known is None
            else ("nonzero", known)
            if np.ndim(known)
            else ("flag", bool(known))
        )
    if kind not in "iu":
        raise IndexingError(
            problem=f"arrays used as indices must be integers or booleans, not {dtype_of(value)}"
        )
    return ("array" if shape_of(value) else "int"), value


_NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


def _sequence(e: Any) -> Any:
    if isinstance(e, (list, tuple)):
        return nested(e) if len(e) else np.zeros(0, np.int64)
    if isinstance(e, range):
        return np.asarray(e)
    if hasattr(e, "__index__"):
        index = e.__index__()
        if type(index) is not Box and not isinstance(index, int):  # Python's C code would not take it
            raise IndexingError(problem=_NO_INDEX)
        return np.int64(index)  # type: ignore[arg-type]
    raise IndexingError(problem=f"{type(e).__name__!r} objects are not valid indices")


def fill_entries(entries: list[tuple[str, Any]], shape: Shape) -> list[tuple[str, Any]]:
    """The entries with masks as integer arrays, and `...` and what is missing as slices."""
    out: list[tuple[str, Any]] = []
    for kind, value in entries:
        out += [("nonzero", value)] if kind == "nonzero" else [(kind, value)]
    used = sum(_consumed(k, v) for k, v in out)
    if used > len(shape):
        problem = f"too many indices: the array has {len(shape)} dimensions, but {used} were indexed"
        raise IndexingError(problem=problem)
    rests = [n for n, (k, _) in enumerate(out) if k == "rest"]
    if len(rests) > 1:
        raise IndexingError(problem="an index can only have a single ellipsis ('...')")
    at = rests[0] if rests else len(out)
    # an explicit `...` separates array indices even where it stands for no dimension
    out[at : at + len(rests)] = [("slice", slice(None))] * (len(shape) - used)
    return _masks_to_arrays(out, shape)


def _consumed(kind: str, value: Any) -> int:
    if kind in ("mask", "nonzero"):
        return len(shape_of(value))
    return 1 if kind in ("int", "slice", "array") else 0


def _masks_to_arrays(entries: list[tuple[str, Any]], shape: Shape) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    axis = 0
    for kind, value in entries:
        if kind == "nonzero":
            _check_mask(value.shape, shape[axis : axis + value.ndim], axis)
            out += [("array", i) for i in value.nonzero()]
        else:
            out.append((kind, value))
        axis += _consumed(kind, value)
    return out


def _check_mask(mask: Shape, shape: Shape, axis: int) -> None:
    for n, (m, d) in enumerate(zip(mask, shape, strict=True)):
        if m != d:
            raise IndexingError(
                problem=f"boolean index did not match indexed array along axis {axis + n}; "
                f"size of axis is {d} but size of corresponding boolean axis is {m}"
            )


def slice_item(s: slice, size: Any, axis: int) -> Item:
    start, extent, step = extents.slice_bounds(s, size, axis)
    n = extents.of_dim(size)
    if (
        step == 1
        and type(start) is int
        and start == 0
        and (extent is n or (type(n) is int and type(extent) is int and extent == n))
    ):
        return ("all",)
    return ("slice", start, extent, step)


def _checked(index: Any, size: Any, axis: int) -> Any:
    """An array of indices, non-negative and in range (checked now if known, else when the program runs)."""
    if 0 in shape_of(index):
        return cast(index, dtypes.int64)
    n = extents.of_dim(size)
    index = cast(index, dtypes.int64) if dtype_of(index).kind == "u" else index  # NumPy wraps, as C does
    if not isinstance(index, Value) and type(n) is int:
        return _known_indices(np.asarray(index), n, axis)
    return ops.index_check.check_index(index, size=n, axis=axis)


def _known_indices(index: np.ndarray, n: int, axis: int) -> np.ndarray:
    bad = (index < -n) | (index >= n)
    if bad.any():
        raise IndexOutOfRangeError(index=int(index[bad][0]), axis=axis, size=n)
    index = index.astype(np.int64)
    return np.where(index < 0, index + n, index)
