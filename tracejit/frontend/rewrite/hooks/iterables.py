"""What loops run over, as a number of steps and an item for each: ranges, arrays, and `zip`, `enumerate`
and `reversed` of them. The number and the position may be traced."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.config import config
from tracejit.frontend.lists import seen, tables
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.seen import View
from tracejit.frontend.raw.numbers import Raw
from tracejit.frontend.rewrite.hooks.lazies import Lazy
from tracejit.frontend.rewrite.hooks.messages import Raise
from tracejit.frontend.rewrite.hooks.steps import Steps
from tracejit.ir.jaxpr import Var
from tracejit.numpy.boxes import extents, numbers
from tracejit.numpy.boxes.members import Flat
from tracejit.numpy.boxes.rows import run
from tracejit.numpy.operands import is_subclassed, rows_of
from tracejit.ops.indexing.index_check import check_index
from tracejit.tracing import Box, box, current_trace

Number = extents.Number
_LEAST, _MOST = -(2**63), 2**63 - 1
#: Longer lists of known numbers become tables. In code that is written out their items are Python's own numbers,
#: exponents and sizes.
_LONGEST_WRITTEN_OUT = 32
_zip: Any = builtins.zip
_reversed: Any = builtins.reversed


def _raw(a: Number) -> Any:
    return np.int64(a) if type(a) is int else a


def _bounds(low: list[Number], high: list[Number]) -> tuple[int, int]:
    """The least of the smallest values and the greatest of the largest, as far as they are known."""
    least, greatest = [extents.least(a) for a in low], [extents.greatest(a) for a in high]
    return (
        _LEAST if None in least else min(a for a in least if a is not None),
        _MOST if None in greatest else max(a for a in greatest if a is not None),
    )


def _nonzero(step: Number) -> Number:
    """A traced step; the program raises ValueError where it is zero."""
    zero = ops.create.convert_element_type(ops.compare.eq(step, np.int64(0)), dtype=np.dtype(np.int64))
    check_index(zero, size=1, axis=0, failure=Raise(ValueError("range() arg 3 must not be zero")))
    return step


def _divided(a: Number, b: Number) -> Number:
    """a // b for a positive b."""
    if type(b) is int:
        return extents.floordiv(a, b)
    return extents.memo("floor_divide", ops.arithmetic.floor_divide, _raw(a), b)


def _times(k: Number, step: Number) -> Number:
    """k * step."""
    if type(step) is int or type(k) is int:
        return extents.mul(k, step) if type(step) is int else extents.mul(step, k)
    return extents.memo("mul", ops.arithmetic.mul, k, step)


def product_of(counts: list[Number]) -> Number:
    """How many combinations there are of so many each."""
    known = math.prod(n for n in counts if type(n) is int)
    for n in counts:
        if type(n) is not int:
            known = _times(known, n)
    return known


def shared(k: Number, n: Number) -> tuple[Number, Number]:
    """`divmod(k, n)` of a position `k` in rows of `n`."""
    row = _divided(k, n)
    place = extents.sub(k, _times(row, n))
    most = extents.greatest(n)
    if most is not None:
        _within(place, 0, most - 1)
    rows = extents.greatest(k)
    if rows is not None:
        _within(row, 0, rows // max(extents.least(n) or 1, 1))
    return row, place


def _within(raw: Number, low: int, high: int) -> None:
    """What is known of a traced number."""
    if type(raw) is Var and raw.trace is current_trace():
        known = raw.bounds or (low, high)
        raw.bounds = (max(low, known[0]), max(low, min(high, known[1])))


class RangeSteps(Steps):
    """`range(start, stop, step)`; all may be traced. A traced step of zero raises when the program runs."""

    def __init__(self, start: Number, stop: Number, step: Number) -> None:
        self.start, self.step = start, step
        up, down = extents.at_least(step, 1), extents.at_least(-1, step)
        last = extents.add(stop, -1), extents.add(stop, 1)
        low = [start] if up else [last[1]] if down else [start, last[1]]
        high = [last[0]] if up else [start] if down else [start, last[0]]
        self.bounds = _bounds(low, high)
        span, size = (
            (extents.sub(stop, start), step) if up else (extents.sub(start, stop), extents.sub(0, step))
        )
        if not up and not down:
            positive = ops.compare.gt(_raw(_nonzero(step)), np.int64(0))
            span = ops.compare.select(positive, _raw(extents.sub(stop, start)), _raw(span))
            size = ops.arithmetic.maximum(ops.arithmetic.abs(step), np.int64(1))
        super().__init__(extents.maximum(_divided(extents.add(span, extents.sub(size, 1)), size), 0))

    def item(self, k: Number) -> Any:
        raw = extents.add(self.start, _times(k, self.step))
        if type(raw) is int:
            return raw
        _within(raw, *self.bounds)
        return box(raw, weak=True)


class ArraySteps(Steps):
    """The rows of an array: views, as Python's iteration gives them. Of a structured one there are as many as `rows`
    has."""

    def __init__(self, x: Any, rows: Box | None = None) -> None:
        super().__init__(extents.of_dim((x if rows is None else rows).aval.shape[0]))
        self.x = x

    def item(self, k: Number) -> Any:
        return self.x[k if type(k) is int else box(k, weak=True)]


class RowSteps(Steps):
    """The items of a list that are rows of one array."""

    def __init__(self, items: list[Any], whole: Box) -> None:
        super().__init__(len(items))
        self.items, self.whole = items, whole

    def item(self, k: Number) -> Any:
        if type(k) is int:
            return self.items[k]
        row = self.whole[box(k, weak=True)]
        return box(row.read(), self.items[0].weak) if self.items[0].scalar else row


class TableSteps(Steps):
    """A list of numbers, or of tuples of as many numbers each, that Python knows."""

    def __init__(self, items: Sequence[Any], columns: list[np.ndarray]) -> None:
        super().__init__(len(items))
        self.items, self.columns = items, columns

    @classmethod
    def of(cls, items: Sequence[Any]) -> TableSteps | None:
        """None for lists of anything else."""
        rows = items if type(items[0]) is tuple else [(x,) for x in items]
        if any(type(r) is not tuple or len(r) != len(rows[0]) for r in rows):
            return None
        columns = [_column(c) for c in builtins.zip(*rows, strict=True)]
        return cls(items, columns) if columns and not any(c is None for c in columns) else None  # type: ignore[arg-type]

    def item(self, k: Number) -> Any:
        if type(k) is int:
            return self.items[k]
        numbers = [self._number(c, k) for c in self.columns]
        return tuple(numbers) if type(self.items[0]) is tuple else numbers[0]

    def _number(self, column: np.ndarray, k: Number) -> Box:
        raw = box(column)[box(k, weak=True)].read()
        if column.dtype == np.int64:
            _within(raw, int(column.min()), int(column.max()))
        return box(raw, weak=True)


def _column(numbers: Sequence[Any]) -> np.ndarray | None:
    """Python's numbers of one type in an array. None for others, and where Python's own behave differently: integers
    of more than 64 bits, and a zero, by which Python does not divide."""
    kind = type(numbers[0])
    if kind not in (int, float) or any(type(x) is not kind for x in numbers):
        return None
    same = 0.0 not in numbers if kind is float else _LEAST <= min(numbers) <= max(numbers) <= _MOST
    return np.array(numbers) if same else None


class ZipSteps(Steps):
    """Several sequences side by side."""

    def __init__(self, parts: list[Steps]) -> None:
        count = parts[0].count
        for p in parts[1:]:
            count = extents.minimum(count, p.count)
        super().__init__(count)
        self.parts = parts

    def item(self, k: Number) -> Any:
        return tuple([p.item(k) for p in self.parts])

    def end(self) -> None:
        for p in self.parts:
            p.end()


class CountedSteps(Steps):
    """`enumerate`."""

    def __init__(self, of: Steps, start: Number) -> None:
        super().__init__(of.count)
        self.of, self.start = of, start

    def item(self, k: Number) -> Any:
        n = extents.add(self.start, k)
        return (n if type(n) is int else box(n, weak=True)), self.of.item(k)

    def end(self) -> None:
        self.of.end()


class BackwardSteps(Steps):
    """`reversed`."""

    def __init__(self, of: Steps) -> None:
        super().__init__(of.count)
        self.of = of

    def item(self, k: Number) -> Any:
        return self.of.item(extents.sub(extents.add(self.count, -1), k))


class ItemSteps(Steps):
    """The items of a list of traced length."""

    def __init__(self, x: Buffer) -> None:
        super().__init__(x.tj_number())
        self.x = x

    def item(self, k: Number) -> Any:
        return self.x.tj_shown(k)


class NumberSteps(Steps):
    """The numbers of bytes, or of an array of the module `array`."""

    def __init__(self, x: Raw) -> None:
        super().__init__(len(x))
        self.x = x

    def item(self, k: Number) -> Any:
        return self.x.tj_item(k)


class EntrySteps(Steps):
    """The entries of a dict with traced keys, or its keys (0) or values (1), as they are when a step asks for them."""

    def __init__(self, table: tables.Table, which: int | None) -> None:
        super().__init__(table.tj_number())
        self.table, self.which = table, which

    def item(self, k: Number) -> Any:
        return self.table.tj_entry(k, self.which)


def steps_of(x: Any) -> Steps | None:
    """What is known of an iterable; None if only Python can iterate over it."""
    if type(x) is builtins.range:
        return RangeSteps(x.start, x.stop, x.step)
    if type(x) is Lazy:
        return x.steps if x.iterator is None and not x.taken else None
    if isinstance(x, np.ndarray) and x.ndim and x.dtype.kind in "biufc":
        return ArraySteps(box(x))
    if type(x) is list and len(x) > config.unroll and (whole := run(x)) is not None:
        return RowSteps(x, whole)
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple) and len(x) > _LONGEST_WRITTEN_OUT:
        return TableSteps.of(x)
    if type(x) is tables.Table or type(x) is View:
        return EntrySteps(*seen.walked(x))
    if type(x) is Buffer:
        return ItemSteps(x)
    if isinstance(x, Raw):
        return NumberSteps(x)
    if type(x) is Flat:
        x = x.vector()
    if is_subclassed(x) and (rows := rows_of(x)) is not None:
        return ArraySteps(x, rows)
    return ArraySteps(x) if type(x) is Box and x.aval.shape else None


def is_unknown(x: Any) -> bool:
    """Whether `x` is a traced value that only the compiled program knows."""
    return type(x) is Box and extents.known(x.read()) is None


def range_(*args: Any) -> Any:
    """`range` whose ends may be traced."""
    if not any(map(is_unknown, args)):
        return builtins.range(*args)
    for a in args:
        if type(a) is Box and (a.aval.shape or a.aval.dtype.kind not in "iu"):
            a.__index__()  # raises
    args = tuple(_in_64_bits(a) for a in args)
    start, stop = args[:2] if len(args) > 1 else (0, *args)
    step = args[2] if len(args) > 2 else 1
    by = extents.number(step)
    if type(by) is int and by == 0:
        raise ValueError("range() arg 3 must not be zero")
    return Lazy(RangeSteps(extents.number(start), extents.number(stop), by), "range(...)", again=True)


def _in_64_bits(x: Any) -> Any:
    """An end of a range; the call is left to Python where it is an unsigned integer of 2**63 or more."""
    return box(numbers.to_int(x.read()), weak=True) if type(x) is Box and x.aval.dtype == np.uint64 else x


def zip_(*args: Any, **kwargs: Any) -> Any:
    """`zip`, whose structure a loop can see."""
    parts = [steps_of(a) for a in args]
    known = [p for p in parts if p is not None]
    uneven = bool(kwargs.get("strict")) and any(not extents.at_least(0, n) for n in _apart(known))
    if kwargs.keys() - {"strict"} or uneven or not known or len(known) < len(parts):
        return _zip(*args, **kwargs)
    return Lazy(ZipSteps(known), "zip(...)", lambda: _zip(*args, **kwargs), parts=args)


def _apart(parts: list[Steps]) -> list[Number]:
    """How much longer and shorter than the first the others are."""
    pairs = [(parts[0].count, p.count) for p in parts[1:]]
    return [extents.sub(*x) for a, b in pairs for x in ((a, b), (b, a))]


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`, whose structure a loop can see."""
    steps = steps_of(iterable)
    if steps is None or type(start) not in (int, Box):
        return builtins.enumerate(iterable, start)
    counted = CountedSteps(steps, extents.number(start))
    return Lazy(counted, "enumerate(...)", lambda: _count(iterable, start), parts=[iterable])


def _count(iterable: Any, start: Any) -> Iterator[Any]:
    for x in iterable:
        yield start, x
        start = start + 1


def reversed_(sequence: Any) -> Any:
    """`reversed`, whose structure a loop can see."""
    if type(sequence) is builtins.range:
        return _backward(sequence)
    steps = steps_of(sequence) if type(sequence) in (Box, Lazy, Buffer) else None
    if steps is None or (type(sequence) is Lazy and type(steps) is not RangeSteps):
        return _reversed(sequence)
    lists = [sequence] if type(sequence) is Buffer else []
    return Lazy(BackwardSteps(steps), "reversed(...)", parts=lists)


def _backward(r: range) -> Lazy:
    back = r[::-1]
    return Lazy(RangeSteps(back.start, back.stop, back.step), "reversed(...)", lambda: iter(back))
