"""What makes the lists that a function hands out of the arrays that a program computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import tree
from tracejit.errors import BufferedListError
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.items import Items
from tracejit.frontend.lists.numbered import Once
from tracejit.frontend.lists.options import Options
from tracejit.frontend.variants.node import Variant
from tracejit.frontend.variants.which import has_tuples, is_numbered
from tracejit.numpy.boxes.sharing.references import Arena, Row
from tracejit.tracing import Box, box


class Arrays:
    """The arrays of an arena in one call: `rows` has the values of those that the program has made, and the `given`
    ones, with their numbers, are the caller's."""

    def __init__(self, rows: Any, given: Sequence[tuple[Any, Any]]) -> None:
        self.rows = rows
        if any(type(x) is Box for x in (rows, *(x for pair in given for x in pair))):
            raise BufferedListError(what="arrays that may be one, as results of a call that is traced,")
        self.made = {int(n): x for n, x in given}

    def __getitem__(self, number: Any) -> Any:
        """The array of a number: the same one whenever it is asked for."""
        n = int(number)
        if n not in self.made:
            self.made[n] = self.rows[n].copy()
        return self.made[n]


class Lines:
    """The lines of a program's `store` function that make arrays of arenas, and tuples that have numbers. `writer`
    writes values, `part_of` gives what makes a part of an array."""

    def __init__(self, writer: Any, part_of: Callable[[Row, Any], Any]) -> None:
        self.writer, self.part_of = writer, part_of
        self.arenas: dict[Arena, str] = {}
        self.parts: dict[Any, str] = {}  # views, by their identities
        self.tuples = writer.session.choices.tuples
        self.once: str | None = None  # the tuples of a call

    def given(self, x: Columns) -> str:
        """The keywords with which a list of traced length is made."""
        arenas = "".join(f"{self.arena(a)}, " for a in x.tj_arenas if a is not None)
        return (f"arenas=({arenas}), " if arenas else "") + (f"once={self._once()}" if x.tj_numbered else "")

    def once_of(self, x: Variant) -> str:
        """The tuples of a call, for a value that may be one of them."""
        return self._once() if has_tuples(x) and is_numbered(x) else "None"

    def _once(self) -> str:
        w = self.writer
        if self.once is None:
            constants = self.tuples.constants
            made = (w.const(x) if id(x) in constants else w.value(x, "") for x in self.tuples.outside)
            given = "".join(f"{x}, " for x in made)
            self.once = made = w.new(f"{w.const(Once)}(({given}))")
            return made
        return self.once

    def own(self, x: Any, text: str) -> str:
        """The tuple `x`, which the program knows as one of others, if it does; `text`: one like it."""
        number = self.tuples.number_of(x)
        return text if number is None else f"{self._once()}.of({self._number(number)}, {text})"

    def arena(self, arena: Arena) -> str:
        """What has the arrays of an arena in a call, each once."""
        w = self.writer
        if arena not in self.arenas:
            rows, outside = w.value(arena.used(), ""), w.session.outside
            given = [f"({self._number(n)}, {w.value(outside[id(s)], '')}), " for s, n in arena.outside]
            self.arenas[arena] = w.new(f"{w.const(Arrays)}({rows}, ({''.join(given)}))")
        return self.arenas[arena]

    def _number(self, number: Any) -> str:
        return self.writer.value(box(number), "")

    def of_row(self, row: Row, identity: Any) -> str:
        """An array that lists may have, or a part of one. Raises BufferedListError."""
        if identity in self.parts:
            return self.parts[identity]
        text = f"{self.arena(row.arena)}[{self._number(row.number)}]"
        if identity is not None or not row.is_whole:
            text = f"{self.writer.const(self.part_of(row, identity))}({text})"
        made = self.writer.new(text)
        if identity is not None:
            self.parts[identity] = made
        return made


class Made(NamedTuple):
    """What makes a list of a buffer's arrays, which follow its length and its first row."""

    cls: type
    items: Items | Options
    python: tuple[bool | None, ...]
    head: int  # how many items are given as they are
    shared: tuple[bool, ...] = ()  # which columns have numbers of arrays
    which: int = 0  # how many columns say which tuples the items are, and those in them

    def __call__(
        self, length: Any, first: Any, *arrays: Any, arenas: Any = (), once: Once | None = None
    ) -> Any:
        """The list, or a buffer again if the arrays are traced. `arenas`: the arrays of the columns of numbers, `once`:
        the tuples of this call."""
        count = len(self.items.columns)
        rest = iter(arrays[count:])
        python = [next(rest) if p is None else p for p in self.python]
        which = [next(rest) for _ in range(self.which)]
        head = [self.items.item([next(rest) for _ in range(count)]) for _ in range(self.head)]
        if any(type(x) is Box for x in (length, first, *arrays)):
            if arenas or once is not None:
                raise BufferedListError(what="what may be one thing, as results of a call that is traced,")
            buffer = Buffer(self.cls, self.items, list(arrays[:count]), python, length)
            buffer.tj_first, buffer.tj_head = first, head
            buffer.tj_forget_head()
            return buffer
        rows = slice(0, length) if not first else (first + np.arange(length)) % len(arrays[0])
        known = iter(arenas)
        columns = [
            [*map(next(known).__getitem__, c[rows].tolist())]
            if shared
            else [row.copy() for row in c[rows]]
            if k.shape
            else _listed(c[rows], p if isinstance(p, bool) else p[rows])
            for c, p, k, shared in zip(arrays[:count], python, self.items.columns, self.shared, strict=True)
        ]
        made: list[Any]
        if isinstance(self.items, Options):
            made = [self.items.item(row, once) for row in zip(*columns, strict=True)]
        elif not self.items.is_tuple:
            made = columns[0]
        elif self.items.tree == tree.flatten((0,) * count)[1]:
            made = list(zip(*columns, strict=True))
        else:
            made = [tree.unflatten(self.items.tree, row) for row in zip(*columns, strict=True)]
        if which:
            assert once is not None
            numbers = zip(*(c[rows].tolist() for c in which), strict=True)
            made = [once.item(x, iter(row)) for x, row in zip(made, numbers, strict=True)]
        made[: self.head] = head
        return self.cls(made)


def _listed(column: np.ndarray, python: Any) -> list[Any]:
    """The numbers of an array, as Python's where `python` says so."""
    if isinstance(python, bool):
        return column.tolist() if python else list(column)
    both = zip(column.tolist(), column, python, strict=True)
    return [x if p else y for x, y, p in both]


def parts(x: Buffer) -> tuple[Made, list[Any]]:
    """What makes the list that a buffer stands for, and of what."""
    if x.tj_seen_of is not None or x.tj_shares:
        raise x.tj_refusal("a view of a dict, or tuples of one, as a result")
    python = tuple([p if isinstance(p, bool) else None for p in x.tj_python])
    head = [leaf for item in x.tj_head for leaf in tree.leaves(item)]
    shared = tuple([a is not None for a in x.tj_arenas])
    made = Made(x.tj_class, x.tj_items, python, len(x.tj_head), shared, len(x.tj_numbers))
    return made, [x.tj_length, x.tj_first, *x.tj_arrays(), *head]
