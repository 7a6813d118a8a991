"""The arrays that a list of traced length consists of, and its items by their positions.

Items are numbers and arrays, or tuples of them: rows of columns, which are arrays with room for more. The length is a
number of the program, so that loops and branches carry it as they carry attributes of objects, and the columns as they
carry arrays that are written. Where there is no more room a check fails; the function is traced again with more
(`api.jit.jitted`).
"""

from __future__ import annotations

import collections
from typing import Any, Literal

import numpy as np

from tracejit import ops, tree
from tracejit.errors import BufferedListError
from tracejit.frontend import active
from tracejit.frontend.lists import arenas, marks
from tracejit.frontend.lists.arenas import FULL
from tracejit.frontend.lists.items import Items
from tracejit.frontend.lists.options import Options, any_items, joined
from tracejit.frontend.lists.stacked import column, references
from tracejit.frontend.origins import StandsFor
from tracejit.frontend.variants.which import has_tuples
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.indexing import refill
from tracejit.numpy.boxes.sharing.either import Listed, Rows, storages_of
from tracejit.numpy.boxes.unsure import python_of, taken, unsure
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.ops.indexing.index_check import Raising, check_index
from tracejit.tracing import Box, box, current_trace, new_array

Number = extents.Number
_I64 = np.dtype(np.int64)
#: Bytes of an item from which on there is room for fewer, and for how many of the largest there is at first.
_ROW, _LARGE_ITEMS = 4096, 16
#: Items of the longest list of arrays that remain the same objects.
_HEAD = 32


class Columns(StandsFor):
    """The rows of a list, or of a deque if `ring`. `columns`: an array for each number or array of an item; `python`:
    for each of them whether it is one of Python's numbers, or an array of truth values that say so of each item.
    `head`: the items that it began with, as long as it only grows, if they have arrays: these are still the same."""

    __slots__ = (
        "tj_arenas",
        "tj_columns",
        "tj_first",
        "tj_head",
        "tj_items",
        "tj_length",
        "tj_numbers",
        "tj_python",
        "tj_ring",
        "tj_rows_of",
        "tj_seen_of",
        "tj_shares",
        "tj_tuples",
        "tj_walked",
    )
    #: What loops and branches carry, as attributes of an object.
    tj_followed = ("tj_first", "tj_length")

    def __init__(
        self, cls: type, items: Items | Options, columns: list[Box], python: list[Any], length: Any
    ) -> None:
        self.tj_items, self.tj_columns, self.tj_python = items, columns, python
        self.tj_ring = cls is collections.deque
        self.tj_walked = 0  # loops that run over it
        #: The dict of which it is a view, or shows what one does, and what the view is called.
        self.tj_seen_of: tuple[Columns, str] | None = None
        self.tj_shares = False  # its items are tuples that are items of a dict, too
        self.tj_tuples: Any = object()  # what it has in common with lists that may have the same tuples
        self.tj_first: Any = 0
        self.tj_length: Any = length
        self.tj_head: list[Any] = []
        self.tj_numbers: list[Box] = []  # which tuples its items are, and those in them (`numbered`)
        known = [arenas.known_arena(k.dtype, k.shape) if k.shape else None for k in items.columns]
        self.tj_arenas = known  # of the columns that have numbers of arrays
        both = zip(items.columns, known, strict=True)
        self.tj_rows_of: list[Rows | None] = [Rows() if k.shape and a is None else None for k, a in both]
        for c, rows in zip(columns, self.tj_rows_of, strict=True):
            c.storage.rows = None if rows is None else Listed(rows, "column")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("tj_"):
            raise self.tj_refusal(f"the attribute `{name}`")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise self.tj_refusal(f"the attribute `{name}`")

    @classmethod
    def of(cls, xs: Any, items: Items | Options, room: int) -> Any:
        """A buffer of what the list or deque `xs` holds now, with room for so many more, or for fewer large ones."""
        room = min(room, max(_LARGE_ITEMS, room * _ROW // items.nbytes))
        size = 1 << (len(xs) + room - 1).bit_length()
        leaves = [items.leaves(x) for x in xs]
        refers = arenas.are_used() and items.has_arrays
        columns = [
            column([row[n] for row in leaves], kind.dtype, size, kind.shape)
            if not (refers and kind.shape)
            else references([row[n] for row in leaves], kind, size)
            for n, kind in enumerate(items.columns)
        ]
        python = [
            kind.python
            if kind.python is not None
            else column([_python(row[n]) for row in leaves], np.dtype(bool), size)
            for n, kind in enumerate(items.columns)
        ]
        made = cls(type(xs), items, columns, python, len(xs))
        made.tj_head = [*xs] if items.has_arrays and not refers else []
        for row in made.tj_head and leaves:
            made._list(row, "head")
        if len(xs) > _HEAD:
            made.tj_forget_head()
        return made

    def tj_widen(self, items: Items | Options) -> None:
        """Let items be Python's or NumPy's numbers where `items` says so, and all were of one kind until now; or of one
        of several types."""
        if isinstance(items, Options):
            if self.tj_numbers:
                raise self.tj_refusal("tuples, and items of other types beside them,")
            self._mix(items)
            return
        for n, (old, new) in enumerate(zip(self.tj_items.kinds, items.kinds, strict=True)):
            if old != new:
                self.tj_python[n] = NUMPY_TO_TRACEJIT[np.full](self.tj_room, bool(old.python))
        self.tj_items = items

    def _mix(self, items: Options) -> None:
        """Let items have further forms: those that there were come first."""
        zeros, held = NUMPY_TO_TRACEJIT[np.zeros], self.tj_arrays()
        if not isinstance(self.tj_items, Options):
            both = zip(self.tj_columns, self.tj_python, strict=True)
            held = [zeros(self.tj_room, _I64), *(x for c in both for x in c if not isinstance(x, bool))]
        more = [zeros(self.tj_room, k.dtype) for k in items.columns[len(held) :]]
        self.tj_columns, self.tj_python = [*held, *more], [bool(k.python) for k in items.columns]
        self.tj_rows_of = [None for _ in items.columns]
        self.tj_arenas = [None for _ in items.columns]
        self.tj_items = items

    @property
    def tj_class(self) -> type:
        """The class of what it stands for."""
        return collections.deque if self.tj_ring else list

    @property
    def tj_kind(self) -> type:
        return type(getattr(s[0].tj_class(), s[1])()) if (s := self.tj_seen_of) else self.tj_class

    @property
    def tj_room(self) -> int:
        """How many items it can have."""
        return self.tj_columns[0].aval.shape[0]  # type: ignore[return-value]

    def tj_tokens(self) -> list[Any]:
        """What stands for its items where these are tuples (`lists.tuples`)."""
        return [self.tj_tuples] if self.tj_items.is_tuple else []

    @property
    def tj_numbered(self) -> bool:
        """Whether it has numbers that say which tuples its items are (`numbered`)."""
        return bool(self.tj_numbers) or (isinstance(self.tj_items, Options) and self.tj_items.is_numbered)

    def tj_count(self) -> Any:
        """`len`, which may be traced."""
        return self.tj_length

    def tj_number(self) -> Number:
        """How many items it has."""
        return extents.number(self.tj_length)

    def tj_let_be(self, n: Number) -> None:
        """Let it have so many items."""
        self.tj_length = user(n)

    def tj_truth(self) -> Any:
        """Whether it has items, which may be traced."""
        n = self.tj_number()
        return n > 0 if type(n) is int else box(ops.compare.gt(n, np.int64(0)), weak=True)

    def __bool__(self) -> bool:
        n = self.tj_number()
        if type(n) is not int:
            raise self.tj_refusal("its truth value in C code")
        return n > 0

    __bool__.followed = tj_truth  # type: ignore[attr-defined]

    def tj_refusal(self, what: str) -> BufferedListError:
        """That a list of traced length is used in a way that needs to know its items."""
        error = BufferedListError(what=what)
        error.traced = tuple(x for x in (self.tj_number(),) if isinstance(x, Value))
        return error

    # -- items by position, all of which are known to be inside

    def _place(self, k: Number) -> Any:
        """The row of item `k`."""
        first = extents.number(self.tj_first) if self.tj_ring else 0
        return user(k if type(first) is int and not first else self._turned(extents.add(first, k)))

    def _turned(self, k: Number) -> Number:
        """A row, for a number of rows that may be beyond the end of the columns, which go on at their start."""
        last = self.tj_room - 1
        return k & last if type(k) is int else inside(ops.compare.and_(k, np.int64(last)), last)

    def tj_item(self, k: Number) -> Any:
        """Item `k`."""
        i = self._place(k)
        made = self.tj_items.item([self._part(n, i) for n in range(len(self.tj_columns))])
        if self.tj_numbers:
            self.tj_note(made, [c[i].read() for c in self.tj_numbers])
        return made

    def tj_note(self, x: Any, numbers: list[Any]) -> None:
        """The item `x`, which was made here, and the tuples in it have these numbers."""
        active.session().choices.tuples.note_item(x, numbers)

    def _part(self, n: int, i: Any) -> Any:
        """What the item in row `i` has in column `n`."""
        x, p, rows, arena = self.tj_columns[n][i], self.tj_python[n], self.tj_rows_of[n], self.tj_arenas[n]
        if arena is not None:
            number = x.read()
            return arena.at(inside(number, arena.room - 1) if isinstance(number, Value) else number)
        return _number(x, p if isinstance(p, bool) else p[i]) if rows is None else _item(x, rows)

    def tj_get(self, x: Any) -> Any:
        """`x`, which becomes an item, or part of one."""
        if (type(x) is tuple or has_tuples(x)) and active.session() is not None:
            active.session().choices.tuples.put(x, self.tj_tuples)
        return x

    def tj_show(self, x: Any) -> Any:
        """`x`, which is an item, or part of one, and stays there."""
        if type(x) is tuple and active.session() is not None:
            active.session().choices.tuples.taken(x, self.tj_tuples)
        return x

    def tj_shown(self, k: Number) -> Any:
        """Item `k`, which stays in it."""
        return self.tj_show(self.tj_item(k))

    def tj_put(self, k: Number, x: Any) -> None:
        """Let item `k` be `x`."""
        leaves = self.tj_leaves(x)
        i = self._place(k)
        for c, p, leaf, a in zip(self.tj_columns, self.tj_python, leaves, self.tj_arenas, strict=True):
            c[i] = taken(leaf) if a is None else box(arenas.reference(leaf))
            if not isinstance(p, bool):
                p[i] = _python(leaf)
        if self.tj_numbers:
            for c, number in zip(self.tj_numbers, active.session().choices.tuples.of_item(x), strict=True):
                c[i] = box(number)
        self._list(leaves)

    def _list(self, leaves: list[Any], role: Literal["given", "head"] = "given") -> None:
        """The arrays of an item are not written any more."""
        for x, rows in zip(leaves, self.tj_rows_of, strict=True):
            if rows is None:
                continue
            if role == "head":
                rows.begun = "own" if marks.is_own(x) and rows.begun != "other" else "other"
            else:
                rows.apart &= marks.is_own(x)
            for s in storages_of(x):
                if s.rows is None:
                    marks.note(s, Listed(rows, role))
                elif s.rows.rows is not rows:  # it is an item of that list, too
                    s.rows.rows.apart = rows.apart = False

    def tj_unlist(self, xs: Any) -> None:
        """It is given up for the list that it was made of, which had the items `xs`."""
        for row in map(tree.leaves, xs if any(self.tj_rows_of) else ()):
            for x in row:
                for s in storages_of(x) if type(x) is Box else ():
                    s.rows = None

    def tj_forget_head(self) -> None:
        """Which of its items are those that it began with is not known any more."""
        head, self.tj_head = self.tj_head, []
        for row in map(tree.leaves, head):
            for x, rows in zip(row, self.tj_rows_of, strict=True):
                if rows is not None:
                    rows.lost = True
                    rows.apart &= rows.begun == "own"
                    for s in storages_of(x):
                        marks.note(s, Listed(rows, "given"))

    def tj_share(self) -> None:
        """Its arrays may be items of another list, too, or others'."""
        for rows in self.tj_rows_of:
            if rows is not None:
                rows.apart = False

    def tj_only_numbers(self, what: str) -> None:
        """Raises BufferedListError if items have arrays."""
        if self.tj_items.has_arrays:
            raise self.tj_refusal(what)

    def tj_leaves(self, x: Any) -> list[Any]:
        """The numbers of an item. Raises BufferedListError for one of another kind."""
        items = any_items(x)
        both = None if items is None else joined(self.tj_items, items)
        if both is None:
            raise self.tj_refusal("an item of another type")
        if both != self.tj_items:
            active.session().turn(self, both)
        return self.tj_items.leaves(x)

    def tj_raws(self) -> list[Any]:
        """The columns, and what says which of the numbers are Python's."""
        return [x.read() for x in self.tj_arrays()]

    def tj_refill(self, raws: list[Any]) -> None:
        """The same with other values."""
        self.tj_forget_head()
        refill([(x.storage, raw) for x, raw in zip(self.tj_arrays(), raws, strict=True)])

    def tj_arrays(self) -> list[Box]:
        return [*self.tj_columns, *(p for p in self.tj_python if not isinstance(p, bool)), *self.tj_numbers]

    def tj_check_free(self) -> None:
        """Raises BufferedListError while a loop runs over it."""
        if self.tj_walked:
            raise self.tj_refusal("a change in a loop over it")

    def tj_next(self) -> Number:
        """How many items it has, if there is room for one more."""
        self.tj_check_free()
        k = self.tj_number()
        if type(k) is int and k < self.tj_room:
            return k
        return check_index(raw_of(k), size=self.tj_room, axis=0, failure=FULL)

    def tj_last(self, message: str) -> Number:
        """The position of the last item, which is to be taken; IndexError if there is none."""
        self.tj_forget_head()
        n = self.tj_number()
        if type(n) is int:
            if not n:
                raise IndexError(message)
            return n - 1
        return check_index(extents.sub(n, 1), size=n, axis=0, failure=Raising(IndexError, message))

    def tj_rows(self) -> Any:
        return ops.create.iota(dtype=_I64, shape=(self.tj_room,), dimension=0)

    def tj_all(self, k: Number) -> Any:
        """A number for each row."""
        return ops.shape.broadcast_to(raw_of(k), (self.tj_room,))

    def tj_rearrange(self, rows: Any) -> None:
        """Let each row be what the one is now whose number `rows` has; numbers beyond the ends are of no use."""
        first = extents.number(self.tj_first)
        rows = rows if type(first) is int and not first else ops.arithmetic.add(rows, self.tj_all(first))
        rows = ops.compare.and_(rows, np.full(self.tj_room, self.tj_room - 1))
        self.tj_refill([ops.gather.take(c, rows, 0, mode="promise_in_bounds") for c in self.tj_raws()])
        self.tj_first = 0


def inside(raw: Any, last: int) -> Any:
    """A traced number that is known to be in [0, last]."""
    if type(raw) is Var and raw.trace is current_trace() and raw.bounds is None:
        raw.bounds = (0, last)
    return raw


def raw_of(k: Number) -> Any:
    return np.int64(k) if type(k) is int else k


def user(k: Number) -> Any:
    """A number as Python's."""
    return k if type(k) is int else box(k, weak=True)


def _python(x: Any) -> Any:
    """Whether `x` is one of Python's numbers, as a number or a box of one."""
    found = python_of(x)
    return box(found, weak=True) if isinstance(found, Value) else bool(found)


def _number(x: Any, python: Any) -> Any:
    """The number that the box `x` has, as one of Python's where `python` says so."""
    return box(x.read(), weak=python) if isinstance(python, bool) else unsure(x.read(), python.read())


def _item(row: Box, rows: Rows) -> Box:
    """An array that is an item: a copy of a row."""
    out = new_array(row.read())
    out.storage.rows = Listed(rows, "item")
    return out
