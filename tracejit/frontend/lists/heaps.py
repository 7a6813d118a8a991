"""`heapq` on lists of traced length: the same comparisons as Python's, so that equal items leave in the same order.

Heaps of other lists are `heapq`'s own.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import control, dtypes, ops
from tracejit.control.regions.staging import convert
from tracejit.frontend import active
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import inside, raw_of
from tracejit.frontend.lists.items import items_of
from tracejit.frontend.lists.options import Options, any_common
from tracejit.frontend.variants.node import Variant
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import python_of, taken
from tracejit.tracing import Box, box, to_raw

_I64 = dtypes.int64


def heappush(heap: Any, item: Any, /) -> None:
    """As `heapq` has it."""
    heap = _traced(heap, item)
    if type(heap) is not Buffer:
        heapq.heappush(heap, item)
        return
    heap.tj_get(item)
    _check(heap, [item])
    n = heap.tj_next()
    _Rows(heap).rise(raw_of(n), [to_raw(x) for x in _numbers(heap, item)])
    heap.tj_let_be(extents.add(n, 1))


def heappop(heap: Any, /) -> Any:
    """As `heapq` has it."""
    heap = _traced(heap)
    if type(heap) is not Buffer:
        return heapq.heappop(heap)
    _check(heap)
    last = heap.tj_last("index out of range")
    found, item = heap.tj_item(0), heap.tj_item(last)
    heap.tj_let_be(last)
    _Rows(heap).sink(raw_of(last), [to_raw(x) for x in _numbers(heap, item)])
    return found


def heapreplace(heap: Any, item: Any, /) -> Any:
    """As `heapq` has it."""
    heap = _traced(heap, item)
    if type(heap) is not Buffer:
        return heapq.heapreplace(heap, item)
    heap.tj_get(item)
    _check(heap, [item])
    heap.tj_last("index out of range")
    found = heap.tj_item(0)
    _Rows(heap).sink(raw_of(heap.tj_number()), [to_raw(x) for x in _numbers(heap, item)])
    return found


#: Functions of `heapq` -> those that traced code calls.
FORMS: dict[Any, Any] = {
    heapq.heappush: heappush,
    heapq.heappop: heappop,
    heapq.heapreplace: heapreplace,
}


def _traced(heap: Any, *items: Any) -> Any:
    """The heap, as a list of traced length if its order depends on traced numbers."""
    session = active.session()
    if type(heap) is list and session is not None and len(heap) + len(items) > 1:
        kinds = any_common((*heap, *items)) if any(map(_is_traced, (*heap, *items))) else None
        if kinds is not None and not (isinstance(kinds, Options) and kinds.compared() is None):
            session.turn(heap, kinds)
    return heap


def _is_traced(x: Any) -> bool:
    if type(x) is tuple:
        return any(map(_is_traced, x))
    return type(x) is Variant or (type(x) is Box and isinstance(x.read(), Value))


def _check(heap: Buffer, items: Sequence[Any] = ()) -> None:
    """Complex numbers have no order; a NaN in a tuple equals itself there, if it is the same object."""
    heap.tj_only_numbers("arrays in a heap")
    if isinstance(heap.tj_items, Options):
        _check_options(heap, items)
        return
    if any(kind.dtype.kind == "c" for kind in heap.tj_items.kinds):
        raise heap.tj_refusal("the order of complex numbers")
    for item in items:
        if type(item) is tuple and items_of(item) is not None:
            for x in heap.tj_leaves(item):
                raw = to_raw(taken(x))
                if dtypes.is_inexact(aval_of(raw).dtype):
                    leave_if(ops.compare.ne(raw, raw), "the order of tuples that have NaN")


def _check_options(heap: Buffer, items: Sequence[Any]) -> None:
    """The same of items of several types."""
    for item in items:
        for x in heap.tj_leaves(item):
            raw = x.read()
            if dtypes.is_inexact(aval_of(raw).dtype):
                leave_if(ops.compare.ne(raw, raw), "the order of items that have NaN")
    if heap.tj_items.compared() is None:  # type: ignore[union-attr]
        raise heap.tj_refusal("the order of items of several types")


def _numbers(heap: Buffer, item: Any) -> list[Any]:
    """What an item is in the arrays of a heap."""
    if isinstance(heap.tj_items, Options):
        return heap.tj_leaves(item)
    leaves = heap.tj_leaves(item)
    flags = [python_of(x) for x, p in zip(leaves, heap.tj_python, strict=True) if not isinstance(p, bool)]
    which = active.session().choices.tuples.of_item(item) if heap.tj_numbers else []
    numbers = [convert(to_raw(taken(x)), k.dtype) for x, k in zip(leaves, heap.tj_items.kinds, strict=True)]
    return [*numbers, *flags, *which]


class _Rows:
    """The rows of a heap while items change their places in it."""

    def __init__(self, heap: Buffer) -> None:
        self.heap = heap
        self.items, self.count = heap.tj_items, len(heap.tj_items.columns)  # further columns are not compared
        self.last = heap.tj_room - 1

    def _at(self, columns: Sequence[Any], k: Any) -> list[Any]:
        """Row `k`, which is inside."""
        return [ops.gather.take(c, k, 0, mode="promise_in_bounds") for c in columns]

    def _less(self, a: Sequence[Any], b: Sequence[Any]) -> Any:
        """a < b, as tuples are compared."""
        if isinstance(self.items, Options):
            a, b = map(self.items.ordered, (a, b))
        count = min(self.count, len(a))
        out = ops.compare.lt(a[count - 1], b[count - 1])
        for x, y in zip(reversed(a[: count - 1]), reversed(b[: count - 1]), strict=True):
            out = ops.compare.or_(ops.compare.lt(x, y), ops.compare.and_(ops.compare.eq(x, y), out))
        return out

    def _put(self, columns: Sequence[Any], to: Any, row: Sequence[Any]) -> list[Any]:
        """The columns with `row` as row `to`, which is inside."""
        index = ops.shape.expand_dims(to, (0,))
        how = {
            "dimension_numbers": ops.scatter.ScatterDimensionNumbers((), (0,), (0,)),
            "mode": "promise_in_bounds",
            "unique_indices": True,
        }
        return [ops.scatter.scatter(c, index, x, **how) for c, x in zip(columns, row, strict=True)]

    def _while(self, test: Callable[..., Any], step: Callable[..., Any], start: Sequence[Any]) -> list[Any]:
        def raws(xs: Any) -> list[Any]:
            return [x.read() if type(x) is Box else x for x in xs]

        out = control.structured.loops.while_loop(
            lambda xs: box(test(*raws(xs))),
            lambda xs: tuple([box(x) for x in step(*raws(xs))]),
            tuple([box(x) for x in start]),
        )
        return raws(out)

    def rise(self, pos: Any, row: Sequence[Any], columns: Sequence[Any] | None = None) -> None:
        """Let an item that is to be at `pos` find its place among those above."""
        one, columns = np.int64(1), self.heap.tj_raws() if columns is None else columns

        def above(pos: Any) -> Any:
            shifted = ops.compare.shift_right(ops.arithmetic.sub(inside(pos, self.last), one), one)
            return inside(ops.arithmetic.maximum(shifted, np.int64(0)), self.last)

        def test(pos: Any, *columns: Any) -> Any:
            smaller = self._less(row, self._at(columns, above(pos)))
            return ops.compare.and_(ops.compare.gt(pos, np.int64(0)), smaller)

        def step(pos: Any, *columns: Any) -> list[Any]:
            parent = above(pos)
            return [parent, *self._put(columns, pos, self._at(columns, parent))]

        pos, *columns = self._while(test, step, [pos, *columns])
        self.heap.tj_refill(self._put(columns, pos, row))

    def sink(self, count: Any, row: Sequence[Any]) -> None:
        """Let an item that is to be the first of `count` find its place: of two below, the smaller one moves up, as far
        as there are any, and then it rises."""
        one, two = np.int64(1), np.int64(2)

        def left(pos: Any) -> Any:
            return ops.arithmetic.add(ops.arithmetic.mul(inside(pos, self.last), two), one)

        def test(pos: Any, *columns: Any) -> Any:
            return ops.compare.lt(ops.arithmetic.add(left(pos), one), count)

        def step(pos: Any, *columns: Any) -> list[Any]:
            k = left(pos)
            a, b = self._at(columns, k), self._at(columns, ops.arithmetic.add(k, one))
            smaller = self._less(a, b)
            row = [ops.compare.select(smaller, x, y) for x, y in zip(a, b, strict=True)]
            k = ops.arithmetic.add(k, ops.create.convert(ops.compare.not_(smaller), _I64))
            return [inside(k, self.last), *self._put(columns, pos, row)]

        pos, *columns = self._while(test, step, [np.int64(0), *self.heap.tj_raws()])
        only = ops.compare.lt(left(pos), count)  # there is one below it, and no second
        below = inside(ops.compare.select(only, left(pos), pos), self.last)
        columns = self._put(columns, pos, self._at(columns, below))
        self.rise(below, row, columns)
