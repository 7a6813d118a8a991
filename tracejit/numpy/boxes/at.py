"""`x.at[index].set(v)`, `.add(v)` … : functional updates with JAX's out-of-bounds modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import control, dtypes, ops
from tracejit.control.regions.concrete import ConcreteArray
from tracejit.errors import ArgumentError, DynamicExtentError, IndexingError
from tracejit.ir.avals import Shape
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.indexing import Layout, fit
from tracejit.numpy.boxes.masking import masked, selected
from tracejit.numpy.boxes.parse import Selection, entry_of, fill_entries, parse, slice_item
from tracejit.numpy.boxes.views import Region, is_strided
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.operands import cast, convert, dtype_of, elements, filled, raw, result_type, shape_of
from tracejit.records import record
from tracejit.tracing import Box, box, to_raw, wrap

_MODES = {
    None: None, "fill": "fill", "drop": "fill", "clip": "clip", "promise_in_bounds": "promise_in_bounds",
    "raise": "raise",
}  # fmt: skip


class At:
    """`x.at`: index it for an `AtIndex`."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._x, index)


@record(frozen=True)
class _Options:
    """How out-of-bounds indices and promises are taken."""

    mode: str | None = None
    unique: bool = False
    wraps: bool = True

    def beyond(self, default: str) -> str:
        """The mode of gather and scatter."""
        return "promise_in_bounds" if self.mode == "raise" else self.mode or default


def _options(
    mode: Any = None, indices_are_sorted: bool = False, unique_indices: bool = False,
    wrap_negative_indices: bool = True,
) -> _Options:  # fmt: skip
    """JAX's keyword arguments; that indices are sorted is of no use here."""
    return _Options(_mode(mode), bool(unique_indices), bool(wrap_negative_indices))


class AtIndex:
    """`x.at[index]`: what can be read and functionally updated there.

    All methods take JAX's keyword arguments. `mode`: what happens out of bounds. Updates are dropped
    ('fill', 'drop', the default) or clamped ('clip'); with 'promise_in_bounds' nothing is checked, with 'raise'
    all is, as NumPy does. `get` clamps by default; 'fill' gives `fill_value` (by default NaN, the least integer,
    the greatest unsigned one, or True). `unique_indices` promises that no index repeats,
    `wrap_negative_indices=False` that negative ones are out of bounds; `indices_are_sorted` is accepted.
    Repeated indices add up, multiply and so on; of several values that are set the last one stays.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def get(self, *, fill_value: Any = None, **options: Any) -> Any:
        """`x[index]` with a mode for indices out of bounds."""
        o = _options(**options)
        mode = o.beyond("clip")
        _, part, sel = self._part(o)
        if sel.mask is not None:
            return selected.select(part, *sel.mask)
        if not sel.arrays:
            return self._wrap(part)
        return self._wrap(_gather(part, sel, mode, fill_value, o.unique))

    def set(self, values: Any, **options: Any) -> Any:
        """x with `values` there."""
        return self._update(values, ops.scatter.scatter, _replace, _options(**options))

    def add(self, values: Any, **options: Any) -> Any:
        """x with `values` added there."""
        return self._update(values, ops.scatter.scatter_add, _ufunc(np.add), _options(**options))

    def subtract(self, values: Any, **options: Any) -> Any:
        """x with `values` subtracted there."""
        return self.add(NUMPY_TO_TRACEJIT[np.negative](values), **options)

    sub = subtract

    def multiply(self, values: Any, **options: Any) -> Any:
        """x multiplied by `values` there."""
        return self._update(values, ops.scatter.scatter_mul, _ufunc(np.multiply), _options(**options))

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """x divided by `values` there."""
        factors = AtIndex(self._ones(values), self._index).multiply(values, **options)
        return NUMPY_TO_TRACEJIT[np.divide](self._x, factors)

    div = divide

    def power(self, values: Any, **options: Any) -> Any:
        """x to the power of `values` there (of their product, where indices repeat)."""
        power = NUMPY_TO_TRACEJIT[np.power]
        _, _, sel = self._part(_options(**options))
        if sel.mask is not None or not sel.arrays:
            return self.set(power(self.get(**options), values), **options)
        exponents = AtIndex(AtIndex(self._ones(values), self._index).multiply(values, **options), self._index)
        return self.set(power(self.get(**options), exponents.get(**options)), **options)

    pow = power

    def min(self, values: Any, **options: Any) -> Any:
        """The minimum of x and `values` there."""
        return self._update(values, ops.scatter.scatter_min, _ufunc(np.minimum), _options(**options))

    def max(self, values: Any, **options: Any) -> Any:
        """The maximum of x and `values` there."""
        return self._update(values, ops.scatter.scatter_max, _ufunc(np.maximum), _options(**options))

    def apply(self, ufunc: Callable[[Any], Any], **options: Any) -> Any:
        """`ufunc` of the elements there, as often as their index occurs (one after the other, if that
        is not known to be once)."""
        o = _options(**options)
        x, part, sel = self._part(o)
        at = Layout(part, sel) if sel.mask is None and sel.arrays else None
        if at is None or o.unique or _distinct(at):
            return self.set(ufunc(self.get(**options)), **options)
        return self._wrap(self._written(x, sel, _one_by_one(part, at, ufunc, o.beyond("fill"))))

    # ------------------------------------------------------------

    def _ones(self, values: Any) -> Any:
        """Ones like x, in a dtype that holds the values too."""
        x = raw(self._x)
        return self._wrap(filled(1, result_type(self._x, values), shape_of(x)))

    def _part(self, o: _Options) -> tuple[Any, Any, Selection]:
        """The raw array, the region that the basic part of the index selects, and the selection."""
        x = raw(self._x)
        strict = o.mode == "raise"
        sel = parse(shape_of(x), self._index) if strict else parse_lenient(shape_of(x), self._index, o.wraps)
        return x, (x if sel.trivial else _basic(x, sel).read(x)), sel

    def _wrap(self, value: Any) -> Any:
        if type(self._x) is ConcreteArray and isinstance(value, np.ndarray):
            return value.view(ConcreteArray)
        return box(value) if isinstance(value, Value) or type(self._x) is Box else value

    def _update(self, values: Any, scatter: Any, combine: Callable[[Any, Any], Any], o: _Options) -> Any:
        x, part, sel = self._part(o)
        if sel.mask is not None:
            old = selected.select(part, *sel.mask)
            new = masked.masked_write(
                part, *sel.mask, values if combine is _replace else combine(old, values)
            )
            return self._wrap(self._written(x, sel, new))
        values = convert(values, dtype_of(x))
        if not sel.arrays:
            new = combine(part, fit(values, shape_of(part)))
        else:
            at = Layout(part, sel)
            new = scatter(
                part,
                at.indices,
                fit(values, at.shape),
                dimension_numbers=_scatter_numbers(at),
                mode=o.beyond("fill"),
                unique_indices=o.unique,
            )
        return self._wrap(self._written(x, sel, new))

    def _written(self, x: Any, sel: Selection, new: Any) -> Any:
        return new if sel.trivial else _basic(x, sel).write([x], new)


def _basic(x: Any, sel: Selection) -> Region:
    """The basic part of an index. Raises DynamicExtentError for traced steps."""
    if any(map(is_strided, sel.items)):
        problem = "x.at takes no slice with a traced step, or with a step and a traced extent"
        raise DynamicExtentError(op="slice", problem=problem)
    region = Region.whole(shape_of(x)).indexed(sel.items)
    assert region is not None
    return region


def _replace(old: Any, new: Any) -> Any:
    return new


def _ufunc(np_ufunc: Any) -> Callable[[Any, Any], Any]:
    """Combination of raw values (or of what a mask selects) by a ufunc, in the first one's dtype."""

    def combine(old: Any, new: Any) -> Any:
        if type(old) is Box:
            return NUMPY_TO_TRACEJIT[np_ufunc](old, new).astype(old.dtype)
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


def parse_lenient(shape: Shape, index: Any, wraps: bool = True) -> Selection:
    """Like `indexing.parse`, with every integer as an array and nothing checked: negative ones are wrapped."""
    entries = fill_entries([entry_of(e) for e in (index if type(index) is tuple else (index,))], shape)
    sel = Selection()
    axis = dim = 0
    spots: list[int] = []
    arrays = any(kind in ("array", "mask") for kind, _ in entries)
    for n, (kind, value) in enumerate(entries):
        if kind == "new":
            sel.items.append(("new",))
        elif kind == "int" and not arrays and _inside(value, shape[axis], wraps):
            sel.items.append(("at", extents.position(value, shape[axis], axis)))
            dim -= 1
        elif kind == "slice":
            sel.items.append(slice_item(value, shape[axis], axis))
        elif kind in ("int", "array"):
            sel.items.append(("all",))
            sel.arrays.append(
                (dim, _wrapped(value, shape[axis]) if wraps else cast(raw(value), dtypes.int64))
            )
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


def _inside(index: Any, size: Any, wraps: bool) -> bool:
    """Whether an integer is known to be in range: by its value, or if traced by its bounds."""
    if type(size) is not int:
        return False
    i = extents.number(index)
    if type(i) is int:
        return (-size if wraps else 0) <= i < size
    return extents.at_least(i, 0) and extents.at_least(size - 1, i)


def _wrapped(index: Any, size: Any) -> Any:
    """Indices as int64, size added to negative ones."""
    i = cast(raw(index), dtypes.int64)
    n = extents.of_dim(size)
    if not isinstance(i, Value) and type(n) is int:
        return np.where(i < 0, i + n, i)[()]
    n = np.int64(n) if type(n) is int else n
    return ops.compare.select(ops.compare.lt(i, np.int64(0)), ops.arithmetic.add(i, n), i)


def _distinct(at: Layout) -> bool:
    """Whether the indices are known to be all different."""
    if isinstance(at.indices, Value):
        return math.prod(at.batch) == 1 if all(type(d) is int for d in at.batch) else False
    rows = np.reshape(at.indices, (-1, len(at.axes)))
    return len(np.unique(rows, axis=0)) == len(rows)


def _one_by_one(part: Any, at: Layout, fn: Callable[[Any], Any], mode: str) -> Any:
    """`fn` of the window at each index, one after the other."""
    shape, count = shape_of(part), elements("at.apply", at.batch)
    rest = tuple(range(len(at.offset)))
    numbers = ops.gather.GatherDimensionNumbers(rest, at.axes, at.axes)
    sizes = tuple(1 if d in at.axes else s if type(s) is int else None for d, s in enumerate(shape))

    def step(x: Any, i: Any) -> tuple[Any, None]:
        old = ops.gather.gather(raw(x), raw(i), dimension_numbers=numbers, slice_sizes=sizes, mode="clip")
        new = cast(raw(fn(box(old))), dtype_of(old))
        into = ops.scatter.ScatterDimensionNumbers.of_gather(numbers)
        return wrap(ops.scatter.scatter(raw(x), raw(i), new, dimension_numbers=into, mode=mode)), None

    rows = ops.shape.reshape(at.indices, shape=(count, len(at.axes)))
    return to_raw(control.structured.loops.scan(step, wrap(part), wrap(rows))[0])


def _gather(part: Any, sel: Selection, mode: str, fill_value: Any, unique: bool) -> Any:
    at = Layout(part, sel)
    numbers = ops.gather.GatherDimensionNumbers(
        offset_dims=at.offset, collapsed_slice_dims=at.axes, start_index_map=at.axes
    )
    sizes = tuple(1 if d in at.axes else s if type(s) is int else None for d, s in enumerate(shape_of(part)))
    extra = {} if mode != "fill" else {"fill_value": ops.gather.fill_of(dtype_of(part), fill_value)}
    return ops.gather.gather(
        part,
        at.indices,
        dimension_numbers=numbers,
        slice_sizes=sizes,
        mode=mode,
        unique_indices=unique,
        **extra,
    )


def _scatter_numbers(at: Layout) -> Any:
    return ops.scatter.ScatterDimensionNumbers(
        update_window_dims=at.offset, inserted_window_dims=at.axes, scatter_dims_to_operand_dims=at.axes
    )


@implements(None, "at")
def at(x: Any) -> At:
    """`at(x)[index].set(v)`: x.at on anything, plain ndarrays included."""
    return At(x)


for _cls in (Box, ConcreteArray):
    _cls.at = property(At)
