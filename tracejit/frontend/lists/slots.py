"""`Slots`: where the keys of a table are (`tables`), and how one is taken out: its slot is filled by a later one whose
key belongs there as well, and its row is a gap until the rows are closed up, so that the entries keep the order in
which they were put there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import control, ops, tree
from tracejit.control.regions.staging import convert
from tracejit.frontend import active
from tracejit.frontend.lists.columns import Columns, Number, inside, raw_of, user
from tracejit.frontend.lists.items import items_of
from tracejit.frontend.lists.numbered import inside as inside_of
from tracejit.frontend.lists.stacked import column
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.indexing import refill
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import taken
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box, box, new_array, to_raw

_FACTOR, _SHIFT = 0x9E3779B97F4A7C15 - (1 << 64), 32
_I64 = np.dtype(np.int64)


def nth(column: Any, n: Any) -> Any:
    """Item `n`, which is inside."""
    return ops.gather.take(column, n, 0, mode="promise_in_bounds")


def within(h: Any, last: int) -> Any:
    """A number modulo a power of two, which is `last` + 1."""
    return (
        inside(ops.compare.and_(h, np.int64(last)), last) if isinstance(h, Value) else np.int64(int(h) & last)
    )


def hashed(keys: Sequence[Any]) -> Any:
    """A number of a key, whose low bits say where to look for it."""
    h: Any = 0
    for k in keys:
        if not isinstance(k, Value) and not isinstance(h, Value):
            h = ((int(h) ^ int(k)) * _FACTOR + (1 << 63)) % (1 << 64) - (1 << 63)
            continue
        mixed = ops.compare.xor(_operand(h), convert(_operand(k), _I64))
        h = ops.arithmetic.mul(mixed, np.int64(_FACTOR))
    return h >> _SHIFT if not isinstance(h, Value) else ops.compare.shift_right(h, np.int64(_SHIFT))


def _operand(x: Any) -> Any:
    return x if isinstance(x, Value) else np.int64(x)


def freed(slots: Any, columns: Sequence[Any], slot: Any, found: Any) -> Any:
    """The slots without `slot` if its key was `found`. `columns`: the keys of the rows.

    A key is found by going on from its place to the next free one. So each key behind the slot whose place is not
    behind it, too, moves there, and leaves a slot itself.
    """
    last, rows = aval_of(slots).shape[0] - 1, aval_of(columns[0]).shape[0] - 1
    one = np.int64(1)

    def number(s: Any, n: Any) -> Any:
        return nth(s.read(), n)

    def test(free: Any, here: Any, s: Any) -> Any:
        return box(ops.compare.ne(number(s, _within(here.read())), np.int64(0)))

    def _within(n: Any) -> Any:
        return within(n, last)

    def step(free: Any, here: Any, s: Any) -> Any:
        i, j = _within(free.read()), _within(here.read())
        row = number(s, j)
        n = inside(ops.arithmetic.maximum(ops.arithmetic.sub(row, one), np.int64(0)), rows)
        home = hashed([nth(c, n) for c in columns])
        moves = ops.compare.ge(_within(ops.arithmetic.sub(j, home)), _within(ops.arithmetic.sub(j, i)))
        s = new_array(s.read())
        s[user(i)] = box(ops.compare.select(moves, row, number(s, i)))
        return box(ops.compare.select(moves, j, i)), box(_within(ops.arithmetic.add(j, one))), s

    # Where the key was not found, its slot is free, and the loop ends before its first step.
    start = ops.compare.select(found, _within(ops.arithmetic.add(slot, one)), slot)
    free, _, out = control.structured.loops.while_loop(
        lambda c: test(*c), lambda c: step(*c), (box(slot), box(start), new_array(slots))
    )
    out = new_array(out.read())
    out[user(_within(free.read()))] = box(np.int64(0))
    return out.read()


def closed(slots: Any, arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The slots and the rows without gaps: rows to which no slot points."""
    size = aval_of(arrays[0]).shape[0]
    zeros = NUMPY_TO_TRACEJIT[np.zeros]
    there = zeros(size + 1, np.int64)
    there[box(slots)] = 1
    there[0] = 0
    place = NUMPY_TO_TRACEJIT[np.cumsum](there)  # of each row, which are counted from 1 on; of none 0
    rows = zeros(size + 1, np.int64)
    rows[NUMPY_TO_TRACEJIT[np.where](there == 1, place - 1, size)] = NUMPY_TO_TRACEJIT[np.arange](-1, size)
    rows = NUMPY_TO_TRACEJIT[np.maximum](rows[:size], 0).read()
    return nth(place.read(), slots), [nth(a, rows) for a in arrays]


class Row(NamedTuple):
    """Where a key is: whether it is there, in which row, and which of the slots says so, or would."""

    found: Any
    at: Any
    slot: Any


class Slots(Columns):
    """Rows that are found by their keys. `tj_cut`: entries may have been taken out. `tj_of`: the
    class of dicts or sets."""

    __slots__ = ("tj_cut", "tj_keyed", "tj_of", "tj_slots")
    tj_cut: bool
    tj_keyed: Any
    tj_of: type
    tj_slots: Box

    @property
    def tj_is_set(self) -> bool:
        """Whether it stands for a set."""
        return self.tj_of is set

    def tj_arrays(self) -> list[Box]:
        return [*super().tj_arrays(), self.tj_slots]

    def tj_keys(self) -> int:
        """How many numbers a key has."""
        return (
            self.tj_items.tree.num_leaves if self.tj_is_set else self.tj_items.tree.children()[0].num_leaves
        )

    # -- which tuples keys and values are

    def tj_token(self, which: int | None) -> Any:
        """What stands for the tuples in all entries, or of all of them in the keys (0) or values (1)."""
        if self.tj_is_set or which is not None:
            return self.tj_tuples if which == 1 else self.tj_keyed
        both, session = object(), active.session()
        if session is not None:
            session.choices.tuples.link(both, (self.tj_keyed, self.tj_tuples))
        return both

    def tj_parts(self, x: Any) -> tuple[Any, ...]:
        """The key, or the key and the value, of an entry."""
        return (x,) if self.tj_is_set else tuple(x)

    def tj_key_tuples(self) -> int:
        """How many tuples a key is made of."""
        structure = self.tj_items.tree if self.tj_is_set else self.tj_items.tree.children()[0]
        return sum(1 for _ in inside_of(tree.unflatten(structure, [0] * structure.num_leaves)))

    def tj_numbers_of(self, x: Any) -> list[Any]:
        """The raw numbers of the tuples in an entry, where they have some. Raises BufferedListError."""
        tuples = active.session().choices.tuples
        return [n for part in self.tj_parts(x) for n in tuples.of_item(part)]

    def tj_note(self, x: Any, numbers: list[Any]) -> None:
        """As of lists: the pair of a key and a value is no tuple of the dict's."""
        rest = iter(numbers)
        for part in self.tj_parts(x):
            found = [next(rest) for _ in inside_of(part)]
            active.session().choices.tuples.note_item(part, found)

    def tj_begin_numbers(self, entries: Sequence[Any]) -> None:
        """Let the tuples in all entries have numbers, in the runs in which tuples have. Raises BufferedListError."""
        session = active.session()
        if session is None or not session.choices.tuples.numbered or not self.tj_tokens():
            return
        if self.tj_items.has_arrays:
            raise self.tj_refusal("tuples with arrays, of which it matters which they are,")
        rows = [self.tj_numbers_of(x) for x in entries]
        example = self.tj_items.item([0] * len(self.tj_items.kinds))
        count = sum(1 for part in self.tj_parts(example) for _ in inside_of(part))
        columns = [[box(row[n]) for row in rows] for n in range(count)]
        self.tj_numbers = [column(c, _I64, self.tj_room) for c in columns]

    # -- where keys are

    def tj_row(self, key: Any) -> Row:
        """Where a key is."""
        kinds, count = self.tj_items.kinds, len(tree.leaves(key))
        mine = items_of(key)
        first = self.tj_items.tree if self.tj_is_set else self.tj_items.tree.children()[0]
        if (
            mine is None
            or mine.tree != first
            or any(
                (a.dtype, a.shape) != (b.dtype, b.shape)
                for a, b in zip(mine.kinds, kinds[:count], strict=True)
            )
        ):
            raise self.tj_refusal("a key of another type")
        keys = [
            convert(to_raw(taken(k)), kind.dtype) for k, kind in zip(tree.leaves(key), kinds, strict=False)
        ]
        columns = [c.read() for c in self.tj_columns[:count]]
        slots, last = self.tj_slots.read(), self.tj_slots.aval.shape[0] - 1
        zero, one = np.int64(0), np.int64(1)

        def row(at: Any) -> Any:
            number = nth(slots, at)
            return number, inside(
                ops.arithmetic.maximum(ops.arithmetic.sub(number, one), zero), self.tj_room - 1
            )

        def test(at: Any) -> Box:
            number, n = row(at.read())
            other: Any = None
            for c, k in zip(columns, keys, strict=True):
                differs = ops.compare.ne(nth(c, n), k)
                other = differs if other is None else ops.compare.or_(other, differs)
            return box(ops.compare.and_(ops.compare.ne(number, zero), other))

        def step(at: Any) -> Box:
            return box(within(ops.arithmetic.add(at.read(), one), last))

        start = within(hashed(keys), last)
        slot = inside(control.structured.loops.while_loop(test, step, box(start)).read(), last)
        number, n = row(slot)
        return Row(ops.compare.ne(number, zero), n, slot)

    def tj_used(self) -> Number:
        """How many rows it has, with the gaps."""
        return extents.add(self.tj_number(), extents.number(self.tj_first))

    def tj_close_up(self) -> None:
        """Let it have no gaps."""
        if self.tj_has_gaps():
            slots, rest = self.tj_closed()
            refill([(x.storage, y) for x, y in zip(super().tj_arrays(), rest, strict=True)])
            refill([(self.tj_slots.storage, slots)])
            self.tj_first = 0

    def tj_place_for(self, key: Any) -> Row:
        """Where a key is, or will be: gaps are closed up where no row is free. While a loop runs over it, it is there:
        where it is not, Python raises."""
        if self.tj_walked:
            r = self.tj_row(key)
            leave_if(ops.compare.not_(r.found), "a dict to which a loop over it adds a key")
            return r
        if self.tj_has_gaps():
            full = ops.compare.eq(raw_of(self.tj_used()), np.int64(self.tj_room))
            arrays = [self.tj_slots, *super().tj_arrays()]

            def close(*xs: Box) -> list[Box]:
                slots, rest = closed(xs[0].read(), [x.read() for x in xs[1:]])
                return [box(x) for x in (slots, *rest)]

            found = control.structured.branches.cond(box(full), close, lambda *xs: [*xs], *arrays)
            refill([(x.storage, y.read()) for x, y in zip(arrays, found, strict=True)])
            self.tj_first = box(
                ops.compare.select(full, np.int64(0), raw_of(extents.number(self.tj_first))), weak=True
            )
        return self.tj_row(key)

    def tj_has_gaps(self) -> bool:
        first = extents.number(self.tj_first)
        return type(first) is not int or first > 0

    def tj_closed(self) -> tuple[Any, list[Any]]:
        """The slots and rows without gaps."""
        arrays = [self.tj_slots.read(), *(x.read() for x in super().tj_arrays())]
        return closed(arrays[0], arrays[1:]) if self.tj_has_gaps() else (arrays[0], arrays[1:])

    def tj_take_out(self, r: Row) -> None:
        """Take out the entry of a key, if there is one. While a loop runs over it, there is none: Python raises."""
        if self.tj_walked:
            leave_if(r.found, "a dict from which a loop over it takes a key")
            return
        self.tj_forget_head()
        self.tj_cut = True
        columns = [c.read() for c in self.tj_columns[: self.tj_keys()]]
        refill([(self.tj_slots.storage, freed(self.tj_slots.read(), columns, r.slot, r.found))])
        last = ops.compare.eq(ops.arithmetic.add(r.at, np.int64(1)), raw_of(self.tj_used()))
        count = ops.create.convert(r.found, _I64)
        gap = ops.create.convert(ops.compare.and_(r.found, ops.compare.not_(last)), _I64)
        self.tj_let_be(ops.arithmetic.sub(raw_of(self.tj_number()), count))
        self.tj_first = user(ops.arithmetic.add(raw_of(extents.number(self.tj_first)), gap))
