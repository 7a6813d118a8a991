"""Lists that a block lets grow or shrink, by what only the program knows: they become buffers before the block.

    out = []
    for x in xs:                the block is staged once, a list of another length is found after it, and
        if x > 0:               the list is replaced by a buffer wherever something refers to it;
            out.append(x)       then the block is staged again

Whether all that refers to a list is found is seen by its reference count. The block that does so is the outermost one
that finds the list when it begins.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.lists import tables
from tracejit.frontend.lists.arenas import Hoisted
from tracejit.frontend.lists.buffers import CLASSES, Buffer
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.items import Items, common
from tracejit.frontend.lists.options import Options, any_common, joined
from tracejit.frontend.rewrite.blocks import outside
from tracejit.frontend.rewrite.blocks.cells import Cell, get, put
from tracejit.frontend.rewrite.blocks.grown import Lists
from tracejit.frontend.rewrite.blocks.held import Containers, buffer_places
from tracejit.frontend.rewrite.blocks.outside import Outside
from tracejit.frontend.rewrite.blocks.state import Frame
from tracejit.frontend.rewrite.blocks.terms import NotNative
from tracejit.frontend.shadows import growing
from tracejit.ir.references import ONLY_LOCAL
from tracejit.ir.values import Value
from tracejit.tracing import current_trace

#: A list, by identity, that was replaced: the list, its buffer, and where that is.
Replaced = tuple[Any, Columns, list[tuple[str, Any, Any]]]


class Turned(BaseException):
    """The list `key` (by identity), whose items are `items`, has to be a buffer before the block that is staged under
    a trace whose parent is `level`. Not an `Exception`, which users' functions catch."""

    def __init__(self, key: int, items: Items | Options, level: Any) -> None:
        super().__init__()
        self.key, self.items, self.level = key, items, level


def ask(frame: Frame, values: Iterable[Any] | None = None) -> None:
    """Raise Turned for a list that has another length after the block of `frame`, if its items allow that; not if the
    block depends on `values` of which nothing is traced, so that Python can compute it.

    Raises:
        NotNative: they do so after another step, perhaps.
    """
    if values is not None and not any(isinstance(v, (Value, np.ndarray)) for v in values):
        return
    for x, before, now in frame.turns:
        grown = len(now) > len(before) and all(a is b for a, b in zip(before, now, strict=False))
        new = now[len(before) :] if grown else now or before
        items = any_common(new) if type(x) in CLASSES else common(new)
        if items is not None:
            frame.let_go()
            raise Turned(id(x), items, level_of(id(x)) or frame.trace.parent)


def level_of(key: int) -> Any:
    """The trace around the outermost block that is being staged and has found the list or buffer; None if none has."""
    frames = active.session().frames
    return next((f.trace.parent for f in frames if key in f.containers.seen), None)


def turn(cells: dict[str, Cell], key: int, items: Items | Options, mixes: bool = True) -> Replaced | None:
    """Replace a list by a buffer of `items` wherever it is; None if it is a buffer, which takes such items from now on.

    Raises:
        NotNative: something may refer to the list that is not found, or it holds other items; Python's numbers
            instead of NumPy's count as others, unless it `mixes` them.
    """
    _let_grow(key)
    found = list(_places(cells, key))
    if not found:
        return None
    x = _read(found[0])
    if isinstance(x, Columns):
        x.tj_widen(items)
        return None
    session = active.session()
    least = session.held.get(id(x), sys.maxsize)  # so many others did at an earlier attempt
    for generation in (1, 2):  # what that has left may refer to it, young as a rule
        if 0 < sys.getrefcount(x) - ONLY_LOCAL - len(found) < least:
            gc.collect(generation)
    others = sys.getrefcount(x) - ONLY_LOCAL - len(found)
    if others or type(x) not in (*CLASSES, *tables.CLASSES):
        session.held[id(x)] = others
        raise NotNative("a list that it changes is held by more than its names")
    join, all_of = (joined, any_common) if type(x) in CLASSES and mixes else (_alike, common)
    held = all_of(x.items() if isinstance(x, dict) else x) if x else items
    both = None if held is None else join(held, items)
    if both is None or (held != items and not mixes):
        raise NotNative("a list has items of other types after a step", peel=True)
    session.has_buffers = True
    make: Any = Buffer.of if type(x) in CLASSES else tables.Table.holding
    buffer = make(x, both, session.room)
    for place in found:
        _write(place, buffer)
    return x, buffer, found


def _alike(a: Any, b: Any) -> Any:
    return a.joined(b)


def _let_grow(key: int) -> None:
    """Let another trace follow the list as one of outside to which the function appends, if it is the copy of one or an
    argument."""
    session = active.session()
    if session is None:
        return
    reason = "it has another length after a step"
    if key in session.arguments:
        error = UnfollowedError(what="a list that is an argument", reason=reason)
        error.arguments = frozenset({session.arguments[key]})
        raise error
    for copy in session.containers:
        if (
            id(copy.copy) == key
            and type(copy.copy) in growing.CLASSES
            and session.capture.may_grow(copy.node)
        ):
            error = UnfollowedError(what=str(copy.node), reason=reason)
            error.places = (growing.Grows(copy.node.place()),)
            raise error


def tried(stage: Callable[[], Any]) -> tuple[Any, tuple[int, Items | Options] | Callable[[], Any] | None]:
    """What staging a block gives; or the list that has to be a buffer before the block, and its items, or what else has
    to be done before it."""
    level = current_trace()
    try:
        return stage(), None
    except Turned as e:
        if e.level is not level:
            raise
        wanted = e.key, e.items
    except Hoisted as e:
        if e.level is not level:
            raise
        wanted = e.act
    return None, wanted  # here, where the exception keeps nothing alive


class Turns:
    """The lists that a loop has replaced. `mixes`: they may hold Python's numbers beside NumPy's."""

    def __init__(self) -> None:
        self.done: list[Replaced] = []
        self.mixes = True

    def turn(
        self, list_: tuple[int, Items | Options], cells: dict[str, Cell], keep: list[str], lists: Lists
    ) -> dict[str, Cell]:
        """Let a list be a buffer, whose length is carried from now on. Raises NotNative."""
        for label in lists.forget(list_[0]):
            del cells[label]
            keep.remove(label)
        replaced = turn(cells, *list_, self.mixes)
        self.note(replaced)
        if replaced is None:
            return {}
        lengths = buffer_places(
            next((n for n, c in cells.items() if get(c) is replaced[1]), "a list"), replaced[1]
        )
        cells |= lengths
        return lengths

    def note(self, replaced: Replaced | None) -> None:
        """A list has become a buffer."""
        if replaced is not None:
            self.done.append(replaced)

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.undo()

    def undo(self) -> None:
        """Put the lists back, into which nothing was written."""
        while self.done:
            x, buffer, found = self.done.pop()
            buffer.tj_unlist(x)
            for place in found:
                if _read(place) is buffer:
                    _write(place, x)


def _places(cells: dict[str, Cell], key: int) -> Iterator[tuple[str, Any, Any]]:
    """Where the list is, as far as it is reached from the names: (part, owner, key in it)."""
    for cell in cells.values():
        if type(cell) is types.CellType and id(get(cell)) == key:
            yield "cell", cell, None
    names = {name: get(cell) for name, cell in cells.items()}
    for _, owner, held in Containers(names, cells.values(), Outside().known).seen.values():
        parts: dict[str, Any] = {"names": held.names, "slots": held.slots, "written": held.written}
        items = held.items if isinstance(held.items, dict) else dict(enumerate(held.items or ()))
        if not isinstance(owner, set):
            parts["items"] = items
        if held.cell and id(held.cell[0]) == key:
            yield "cell", owner, None
        for part, values in parts.items():
            for k, y in (values or {}).items():
                if id(y) == key:
                    yield part, owner, k


def _read(place: tuple[str, Any, Any]) -> Any:
    part, owner, k = place
    if part == "cell":
        return get(owner)
    if part == "slots":
        return k.__get__(owner)
    if part == "written":
        return outside.read(owner, k)
    return owner[k] if part == "items" else object.__getattribute__(owner, "__dict__")[k]


def _write(place: tuple[str, Any, Any], x: Any) -> None:
    part, owner, k = place
    if part == "cell":
        put(owner, x)
    elif part == "slots":
        k.__set__(owner, x)
    elif part == "written":
        outside.write(owner, k, x)
    elif part == "items":
        owner[k] = x
    else:
        object.__getattribute__(owner, "__dict__")[k] = x


def request(x: Any, items: Items | Options, owner: Any = None) -> None:
    """Let the list or buffer `x` be a buffer of `items` before the outermost block that has found it: raises Turned. If
    none has, a buffer is widened at once, and a list stays what it is. If `owner` holds the list, a stand-in of one of
    outside, it is the outermost block that has appended to it or has met `owner` first."""
    key, level = id(x), level_of(id(x)) if owner is None else _longer(x, owner)
    if level is not None:
        raise Turned(key, items, level)
    if isinstance(x, Columns):
        x.tj_widen(items)


def _longer(x: list[Any], owner: Any) -> Any:
    for frame in active.session().frames:
        seen = frame.containers.seen.get(id(x))
        if id(owner) not in frame.outside.ids if seen is None else len(seen[2].items) < len(x):
            return frame.trace.parent
    return None
