"""`sorted`, `list.sort`, `min` and `max` by keys that are traced numbers, or tuples of such.

Keys are computed once for each item, in order, as Python does it; then the program finds the order of the items, or the
first one that has the least or greatest key.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.frontend.lists import picked, seen, tables
from tracejit.frontend.lists.buffers import Buffer, ordered
from tracejit.frontend.lists.items import common
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.hooks.calls import FORMS, builtin, sorted_
from tracejit.frontend.rewrite.hooks.comprehensions import comprehension
from tracejit.frontend.rewrite.hooks.iterables import is_unknown
from tracejit.frontend.rewrite.hooks.keys import member
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.rows import rows
from tracejit.numpy.boxes.unsure import taken
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import nested
from tracejit.tracing import Box, box

#: Tuples that something else refers to, too, are sorted up to so many: of each of them it is noted which it may be.
MOST_TUPLES = 8


def _held_once() -> int:
    """What `sys.getrefcount` says of what only a list holds."""
    held = [(object(),)]
    return sys.getrefcount(held[0])


_HELD_ONCE = _held_once()


def sorted_by(xs: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`."""
    if key is None or type(reverse) not in (bool, int):
        return sorted_(xs, key=key, reverse=reverse)
    xs = seen.as_list(xs, ordered=False)
    if type(xs) is Buffer:
        return xs.tj_ordered(_keys(xs, key), bool(reverse))
    return _sorted(list(xs), key, reverse)


def _sorted(items: list[Any], key: Any, reverse: Any) -> list[Any]:
    found = _keys(items, key)
    columns = _columns(found)
    made = None if columns is None else _arranged(items, ordered(columns, bool(reverse)))
    if made is None:  # as Python does it, by keys that are there
        return [items[n] for n in sorted(range(len(items)), key=found.__getitem__, reverse=reverse)]
    return made


def _sort(xs: Any, /, *, key: Any = None, reverse: Any = False) -> None:
    """`xs.sort()`."""
    if type(xs) is Buffer:
        xs.sort(key=None if key is None else _keys(xs, key), reverse=reverse)
        return
    items, made = [*xs], None
    xs.clear()  # as it is while Python sorts it
    try:
        made = (
            sorted_(items, reverse=reverse)
            if key is None or type(reverse) not in (bool, int)
            else _sorted(items, key, reverse)
        )
    finally:
        xs[:] = items if made is None else made


def attribute(x: Any, name: str) -> Any:
    """`x.name` in the source."""
    if name == "sort" and type(x) in (list, Buffer) and capturing() is not None:
        return types.MethodType(_sort, x)
    return member(x, name)


def unread(x: Any, name: str) -> Any:
    """`x.pop` in the source, of whose result nobody reads anything."""
    return x.tj_pop_unread if type(x) is tables.Table else attribute(x, name)


def extremum_by(builtin_: Callable[..., Any], xs: Any, key: Any, rest: dict[str, Any]) -> Any:
    """`min` or `max`, of what is in `xs`, by `key`; `rest`: what it is if there is nothing."""
    xs = seen.as_list(xs, ordered=False)
    if type(xs) is Buffer:
        return _extremum_of_list(builtin_, xs, key, rest)
    items = xs if type(xs) in (list, tuple, range) else list(xs)
    if not items:
        return builtin_((), **rest)
    found = _keys(items, key)
    columns = _columns(found)
    if columns is not None:
        chosen = picked.item(list(items), box(_first(builtin_, columns), weak=True))
        if chosen is not picked.NOTHING:
            return chosen
    return items[builtin_(range(len(items)), key=found.__getitem__)]


def _extremum_of_list(builtin_: Callable[..., Any], xs: Buffer, key: Any, rest: dict[str, Any]) -> Any:
    if rest:
        raise xs.tj_refusal("the least or greatest item, or what is given instead,")
    none = ops.compare.not_(xs.tj_truth().read()) if type(xs.tj_truth()) is Box else np.bool_(not xs)
    leave_if(none, "the least or greatest of no items")
    return xs.tj_ordered(_keys(xs, key), builtin_ is max)[0]


def _keys(xs: Any, key: Any) -> Any:
    """The keys of all items: a list, or a buffer."""
    key = builtin(key)
    if type(key) is not types.FunctionType:
        return comprehension(xs, lambda x: key(x), 0)
    return comprehension(xs, key, key.__code__.co_firstlineno)


def _columns(found: Sequence[Any]) -> list[Any] | None:
    """What keys consist of, as arrays; None if Python compares them, since they are known, or no numbers of a type."""
    leaves = [tree.leaves(k) for k in found]
    if not any(is_unknown(x) for row in leaves for x in row):
        return None
    kinds = common(found)
    if kinds is None or kinds.has_arrays or any(k.dtype.kind == "c" for k in kinds.kinds):
        return None
    columns = zip(*leaves, strict=True)
    made = [box(nested([taken(x) for x in xs], k.dtype)) for xs, k in zip(columns, kinds.kinds, strict=True)]
    for c in made:
        if c.aval.dtype.kind == "f":
            leave_if(NUMPY_TO_TRACEJIT[np.isnan](c).any().read(), "the order of NaN and other numbers")
    return made


def _first(builtin_: Callable[..., Any], columns: list[Any]) -> Any:
    """The raw position of the first item that has the least or greatest key."""
    if len(columns) > 1:
        return ordered(columns, builtin_ is max)[0].read()
    return NUMPY_TO_TRACEJIT[np.argmax if builtin_ is max else np.argmin](columns[0]).read()


def _arranged(items: list[Any], order: Box) -> list[Any] | None:
    """The items in another order; None if they are not alike."""
    kinds = common(items)
    if kinds is None or kinds.has_arrays or any(k.python is None for k in kinds.kinds):
        return None
    marked = capturing().choices.tuples.has
    counts = (sys.getrefcount(items[n]) - marked(items[n]) for n in range(len(items)))
    seen = not kinds.tree.is_leaf() and any(n > _HELD_ONCE for n in counts)
    if seen and len(items) > MOST_TUPLES:
        return None
    at = order.read()
    columns = []
    for xs, k in zip(zip(*map(tree.leaves, items), strict=True), kinds.kinds, strict=True):
        whole = ops.gather.take(nested(list(xs), k.dtype), at, 0, mode="promise_in_bounds")
        columns.append(rows(whole, weak=bool(k.python), scalar=True))
    made = [tree.unflatten(kinds.tree, row) for row in zip(*columns, strict=True)]
    return (
        made
        if not seen
        else [picked.noted(x, picked.at_places(items, order[n].read())) for n, x in enumerate(made)]
    )


FORMS[builtins.sorted] = sorted_by
