"""`x.at[index].set(v)`, `.add(v)` … : functional updates with JAX's out-of-bounds modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, IndexingError
from tracejit.ir.avals import Shape
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.indexing import Layout, fit
from tracejit.numpy.boxes.masked import MaskedArray, masked_write
from tracejit.numpy.boxes.parse import Selection, entry_of, fill_entries, slice_item
from tracejit.numpy.boxes.views import Region
from tracejit.numpy.dispatch import (
    NUMPY_TO_TRACEJIT,
    cast,
    convert,
    dtype_of,
    implements,
    raw,
    shape_of,
)
from tracejit.tracing import Box, box

_MODES = {
    None: None, "fill": "fill", "drop": "fill", "clip": "clip", "promise_in_bounds": "promise_in_bounds",
}  # fmt: skip


class At:
    """`x.at`: index it for an `AtIndex`."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._x, index)


class AtIndex:
    """`x.at[index]`: what can be read and functionally updated there.

    `mode`: what happens out of bounds. Updates are dropped ('fill', 'drop', the default),
    or clamped ('clip'). `get` clamps by default; 'fill' gives `fill_value` (NaN, or the
    least integer). `indices_are_sorted` and `unique_indices` are accepted.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def get(self, *, mode: str | None = None, fill_value: Any = None, **_: Any) -> Any:
        """`x[index]` with a mode for indices out of bounds."""
        _, part, sel = self._part(_mode(mode) or "clip")
        if sel.mask is not None:
            return MaskedArray(part, *sel.mask)
        if not sel.arrays:
            return self._wrap(part)
        return self._wrap(_gather(part, sel, _mode(mode) or "clip", fill_value))

    def set(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """x with `values` there."""
        return self._update(values, ops.scatter.scatter, _replace, mode)

    def add(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """x with `values` added there; repeated indices add up."""
        return self._update(values, ops.scatter.scatter_add, _ufunc(np.add), mode)

    def subtract(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """x with `values` subtracted there."""
        return self.add(NUMPY_TO_TRACEJIT[np.negative](values), mode=mode)

    sub = subtract

    def multiply(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """x multiplied by `values` there."""
        return self._update(values, ops.scatter.scatter_mul, _ufunc(np.multiply), mode)

    mul = multiply

    def divide(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """x divided by `values` there."""
        ones = np.ones_like(self._x) if type(self._x) is not Box else NUMPY_TO_TRACEJIT[np.ones_like](self._x)
        factors = AtIndex(ones, self._index).multiply(values, mode=mode)
        return NUMPY_TO_TRACEJIT[np.divide](self._x, factors)

    div = divide

    def power(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """x to the power of `values` there."""
        return self._apply(lambda old: NUMPY_TO_TRACEJIT[np.power](old, values), mode)

    def min(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """The minimum of x and `values` there."""
        return self._update(values, ops.scatter.scatter_min, _ufunc(np.minimum), mode)

    def max(self, values: Any, *, mode: str | None = None, **_: Any) -> Any:
        """The maximum of x and `values` there."""
        return self._update(values, ops.scatter.scatter_max, _ufunc(np.maximum), mode)

    def apply(self, ufunc: Callable[[Any], Any], *, mode: str | None = None, **_: Any) -> Any:
        """`ufunc` of the elements there."""
        return self._apply(ufunc, mode)

    def _apply(self, fn: Callable[[Any], Any], mode: str | None) -> Any:
        return self.set(fn(self.get(mode=mode)), mode=mode)

    # ------------------------------------------------------------

    def _part(self, mode: str) -> tuple[Any, Any, Selection]:
        """The raw array, the region that the basic part of the index selects, and the selection."""
        x = raw(self._x)
        sel = parse_lenient(shape_of(x), self._index)
        region = Region.whole(shape_of(x)).indexed(sel.items)
        assert region is not None
        return x, (x if sel.trivial else region.read(x)), sel

    def _wrap(self, value: Any) -> Any:
        return box(value) if isinstance(value, Value) or type(self._x) is Box else value

    def _update(self, values: Any, scatter: Any, combine: Callable[[Any, Any], Any], mode: str | None) -> Any:
        x, part, sel = self._part(_mode(mode) or "fill")
        if sel.mask is not None:
            old = MaskedArray(part, *sel.mask)
            new = masked_write(part, *sel.mask, values if combine is _replace else combine(old, values))
            return self._wrap(self._written(x, sel, new))
        values = (
            convert(values, dtype_of(x)) if type(values) is not MaskedArray else values.refuse("an update")
        )
        if not sel.arrays:
            new = combine(part, fit(values, shape_of(part)))
        else:
            at = Layout(part, sel)
            new = scatter(
                part,
                at.indices,
                fit(values, at.shape),
                dimension_numbers=_scatter_numbers(at),
                mode=_mode(mode) or "fill",
            )
        return self._wrap(self._written(x, sel, new))

    def _written(self, x: Any, sel: Selection, new: Any) -> Any:
        region = Region.whole(shape_of(x)).indexed(sel.items)
        return new if sel.trivial else region.write([x], new)  # type: ignore[union-attr]


def _replace(old: Any, new: Any) -> Any:
    return new


def _ufunc(np_ufunc: Any) -> Callable[[Any, Any], Any]:
    """Combination of raw values (or masked arrays) by a ufunc, in the first one's dtype."""

    def combine(old: Any, new: Any) -> Any:
        if type(old) is MaskedArray:
            return old.apply(NUMPY_TO_TRACEJIT[np_ufunc], old, new).astype(old.dtype)
        return cast(NUMPY_TO_TRACEJIT[np_ufunc].apply((old, new)), dtype_of(old))  # type: ignore[attr-defined]

    return combine


def _mode(mode: Any) -> str | None:
    mode = getattr(mode, "name", mode)
    mode = mode.lower() if isinstance(mode, str) else mode
    if mode not in _MODES:
        raise ArgumentError(
            name="x.at", problem=f"mode {mode!r} is none of 'fill', 'drop', 'clip', 'promise_in_bounds'"
        )
    return _MODES[mode]


def parse_lenient(shape: Shape, index: Any) -> Selection:
    """Like `indexing.parse`, with every integer as an array and nothing checked: negative ones are wrapped."""
    entries = fill_entries([entry_of(e) for e in (index if type(index) is tuple else (index,))], shape)
    sel = Selection()
    axis = dim = 0
    spots: list[int] = []
    arrays = any(kind in ("array", "mask") for kind, _ in entries)
    for n, (kind, value) in enumerate(entries):
        if kind == "new":
            sel.items.append(("new",))
        elif kind == "int" and not arrays and _inside(value, shape[axis]):
            sel.items.append(("at", extents.position(value, shape[axis], axis)))
            dim -= 1
        elif kind == "slice":
            sel.items.append(slice_item(value, shape[axis], axis))
        elif kind in ("int", "array"):
            sel.items.append(("all",))
            sel.arrays.append((dim, _wrapped(value, shape[axis])))
            spots.append(n)
        elif kind == "mask":
            rank = len(shape_of(value))
            sel.mask = (dim, value)
            sel.items += [("all",)] * rank
            axis, dim = axis + rank - 1, dim + rank - 1
        else:
            raise IndexingError(problem="x.at does not take Python booleans as indices")
        sel.trivial = sel.trivial and sel.items[-1][0] == "all"
        axis, dim = axis + (kind != "new"), dim + 1
    if sel.mask and sel.arrays:
        raise IndexingError(
            problem="a traced mask cannot be combined with integers or integer arrays in one index"
        )
    sel.front = bool(spots) and spots != list(range(spots[0], spots[0] + len(spots)))
    return sel


def _inside(index: Any, size: Any) -> bool:
    i = extents.number(index)
    return type(i) is int and type(size) is int and -size <= i < size


def _wrapped(index: Any, size: Any) -> Any:
    """Indices as int64, size added to negative ones."""
    i = cast(raw(index), dtypes.int64)
    n = extents.of_dim(size)
    if not isinstance(i, Value) and type(n) is int:
        return np.where(i < 0, i + n, i)[()]
    n = np.int64(n) if type(n) is int else n
    return ops.compare.select(ops.compare.lt(i, np.int64(0)), ops.arithmetic.add(i, n), i)


def _gather(part: Any, sel: Selection, mode: str, fill_value: Any) -> Any:
    at = Layout(part, sel)
    numbers = ops.gather.GatherDimensionNumbers(
        offset_dims=at.offset, collapsed_slice_dims=at.axes, start_index_map=at.axes
    )
    sizes = tuple(1 if d in at.axes else s if type(s) is int else None for d, s in enumerate(shape_of(part)))
    extra = {} if mode != "fill" else {"fill_value": _fill_value(fill_value, dtype_of(part))}
    return ops.gather.gather(
        part, at.indices, dimension_numbers=numbers, slice_sizes=sizes, mode=mode, **extra
    )


def _fill_value(value: Any, dtype: np.dtype) -> Any:
    """JAX's default: NaN, the least signed integer, the greatest unsigned one, True."""
    if value is not None:
        return dtype.type(value)
    if dtypes.is_inexact(dtype):
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return np.bool_(True)
    return dtype.type(np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max)


def _scatter_numbers(at: Layout) -> Any:
    return ops.scatter.ScatterDimensionNumbers(
        update_window_dims=at.offset, inserted_window_dims=at.axes, scatter_dims_to_operand_dims=at.axes
    )


@implements(None, "at")
def at(x: Any) -> At:
    """`at(x)[index].set(v)`: x.at on anything, plain ndarrays included."""
    return At(x)


Box.at = property(At)  # type: ignore[attr-defined]
