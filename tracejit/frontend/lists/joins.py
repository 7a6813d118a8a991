"""Lists of traced length put together, and beside each other: `xs + ys`, `xs += ys`, `xs.extend(ys)`, `xs == ys`."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors.refusals import may_number
from tracejit.frontend import active
from tracejit.frontend.lists.arenas import FULL
from tracejit.frontend.lists.columns import Columns, raw_of
from tracejit.frontend.lists.items import Items
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import unsure
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.ops.indexing.index_check import check_index
from tracejit.tracing import Box, box, new_array, to_raw


def grow(xs: Columns, more: int) -> None:
    """Let a list that was made here have room for so many items more."""
    size = 1 << (xs.tj_room + more - 1).bit_length()
    zeros = NUMPY_TO_TRACEJIT[np.zeros]

    def longer(c: Box) -> Box:
        rest = zeros((size - c.aval.shape[0], *c.aval.shape[1:]), c.aval.dtype).read()
        out = new_array(ops.concat.concatenate(c.read(), rest, dimension=0))
        out.storage.rows = c.storage.rows
        return out

    xs.tj_python = [p if isinstance(p, bool) else longer(p) for p in xs.tj_python]
    xs.tj_columns = [*map(longer, xs.tj_columns)]
    xs.tj_numbers = [*map(longer, xs.tj_numbers)]


def extend(xs: Columns, ys: Columns) -> None:
    """Append the items of `ys`, numbers or arrays. Raises BufferedListError."""
    xs.tj_check_free()
    mine, others = xs.tj_items, ys.tj_items
    both = mine.joined(others) if isinstance(mine, Items) and isinstance(others, Items) else None
    if both is None or xs.tj_ring or ys.tj_ring:
        raise xs.tj_refusal("a sum with a list of other items")
    if both.is_tuple and not (xs.tj_numbers and ys.tj_numbers):
        raise may_number(xs.tj_refusal("a sum with a list of tuples"))
    if both != xs.tj_items:
        active.session().turn(xs, both)
    n, total = xs.tj_number(), extents.add(xs.tj_number(), ys.tj_number())
    if type(total) is not int or total > xs.tj_room:
        last = ops.arithmetic.sub(raw_of(total), np.int64(1))
        check_index(last, size=xs.tj_room, axis=0, failure=FULL)
    xs.tj_share()
    ys.tj_share()
    rows = xs.tj_rows()
    old = ops.compare.lt(rows, xs.tj_all(n))
    at = ops.arithmetic.maximum(ops.arithmetic.sub(rows, xs.tj_all(n)), np.zeros(xs.tj_room, np.int64))
    at = ops.arithmetic.minimum(at, np.full(xs.tj_room, ys.tj_room - 1))
    flags = [
        np.full(ys.tj_room, p) if isinstance(p, bool) else p.read()
        for p, q in zip(ys.tj_python, xs.tj_python, strict=True)
        if not isinstance(q, bool)
    ]
    new = [*(c.read() for c in ys.tj_columns), *flags, *(c.read() for c in ys.tj_numbers)]
    xs.tj_refill([_chosen(old, a, b, at) for a, b in zip(xs.tj_raws(), new, strict=True)])
    xs.tj_let_be(total)


def _chosen(old: Any, a: Any, b: Any, at: Any) -> Any:
    """The rows of `a` where `old` holds, else those of `b` at other places."""
    there = ops.gather.take(b, at, 0, mode="promise_in_bounds")
    shape = aval_of(there).shape
    if len(shape) > 1:
        old = ops.shape.broadcast_in_dim(old, shape=shape, broadcast_dimensions=(0,))
    return ops.compare.select(old, a, there)


def compare(xs: Columns, ys: Columns, how: str) -> Box:
    """Whether `xs == ys`, `xs < ys` and so on, by the first items that are not equal. Raises BufferedListError; NaN,
    which equals itself in a list if it is the same object, is left to Python."""
    kinds = [(a, b) for a, b in zip(xs.tj_items.columns, ys.tj_items.columns, strict=False)]
    alike = isinstance(xs.tj_items, Items) and isinstance(ys.tj_items, Items)
    if not alike or xs.tj_items.tree != ys.tj_items.tree or xs.tj_ring or ys.tj_ring:
        raise xs.tj_refusal(f"`{how}` with a list of other items")
    if any(a.dtype != b.dtype or a.shape or b.shape or a.dtype.kind == "c" for a, b in kinds):
        raise xs.tj_refusal(f"`{how}` of items that are no numbers of one type")
    n, m = raw_of(xs.tj_number()), raw_of(ys.tj_number())
    size = min(xs.tj_room, ys.tj_room)
    rows = NUMPY_TO_TRACEJIT[np.arange](size)
    for x, count in ((xs, n), (ys, m)):
        for c in x.tj_columns:
            nan = NUMPY_TO_TRACEJIT[np.isnan](c) & (NUMPY_TO_TRACEJIT[np.arange](x.tj_room) < box(count))
            leave_if(to_raw(NUMPY_TO_TRACEJIT[np.any](nan)), "a comparison with NaN")
    pairs = [(a[:size], b[:size]) for a, b in zip(xs.tj_columns, ys.tj_columns, strict=True)]
    both = rows < box(ops.arithmetic.minimum(n, m))
    apart = functools.reduce(operator.or_, [a != b for a, b in pairs]) & both
    some = NUMPY_TO_TRACEJIT[np.any](apart)
    if how in ("eq", "ne"):
        same = box(ops.compare.eq(n, m)) & ~some
        return box(to_raw(same if how == "eq" else ~same), weak=True)
    first = box(NUMPY_TO_TRACEJIT[np.argmax](apart).read(), weak=True)
    found: Any = False
    for a, b in reversed(pairs):
        found = getattr(operator, how[0] + "t")(a[first], b[first]) | ((a[first] == b[first]) & found)
    ends = getattr(operator, how)(box(n), box(m))
    found = to_raw(NUMPY_TO_TRACEJIT[np.where](some, found, ends))
    python = [x for xs in (xs, ys) for x in xs.tj_python]
    if all(x is True for x in python):
        return box(found, weak=True)
    if any(x is not False for x in python):
        raise xs.tj_refusal(f"`{how}` of Python's numbers and NumPy's")
    return unsure(found, to_raw(~some))  # what items are compared by gives it, or Python, where one list ends
