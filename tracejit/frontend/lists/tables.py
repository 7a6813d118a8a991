"""`Table`: what stands for a dict or set into which a loop or branch puts keys that only the program knows.

    counts[k] = counts.get(k, 0) + 1

Its entries are rows of columns, in the order in which they were put there, as those of a list of traced length are.
Where the row of a key is says `tj_slots`, an array of numbers of rows (from 1 on; 0: none), in which a key has its
place by its hash, or one of the next that are free. Entries that are taken out leave gaps among the rows, whose number
`tj_first` is, until there is no more room, or all are asked for (`gaps`).
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops, tree
from tracejit.control.regions.staging import convert
from tracejit.errors import BufferedListError
from tracejit.frontend import active
from tracejit.frontend.lists import arenas
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import FULL, Columns, Number, raw_of, user
from tracejit.frontend.lists.items import Items, items_of
from tracejit.frontend.lists.made import Made
from tracejit.frontend.lists.made import parts as parts_of_list
from tracejit.frontend.lists.numbered import Once
from tracejit.frontend.lists.seen import View, refuse
from tracejit.frontend.lists.slots import Row, Slots, hashed, nth
from tracejit.frontend.lists.tuples import Keys
from tracejit.ir.values import Value
from tracejit.numpy.boxes.indexing import refill
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import python_of, taken, unsure
from tracejit.ops.indexing.index_check import check_index
from tracejit.tracing import Box, box, new_array, to_raw

#: Classes of dicts and sets that can be tables.
DICTS = (dict, collections.defaultdict, collections.Counter)
CLASSES = (*DICTS, set)
#: What a missing key of a defaultdict may be given.
FACTORIES = (int, float, bool)
#: What Python raises for.
MISSING = "a key that is not in the dict"
_I64 = np.dtype(np.int64)


class Table(Slots):
    """The stand-in of a dict or set."""

    __slots__ = ("tj_factory",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.tj_keyed = Keys()
        super().__init__(*args, **kwargs)

    @classmethod
    def holding(cls, held: Any, items: Items, room: int) -> Table:
        """A table of what the dict or set `held` holds now, whose keys are known. Raises BufferedListError."""
        if items.has_arrays and arenas.are_used():
            raise BufferedListError(what="arrays, of which some may be one, in a dict")
        made = cls.of(list(held if isinstance(held, set) else held.items()), items, room)
        made.tj_of, made.tj_factory, made.tj_cut = type(held), getattr(held, "default_factory", None), False
        slots = np.zeros(2 * made.tj_room, np.int64)
        for n, key in enumerate(held):
            at = hashed([to_raw(k) for k in tree.leaves(key)]) & (len(slots) - 1)
            while slots[at]:
                at = (at + 1) % len(slots)
            slots[at] = n + 1
        made.tj_slots = new_array(slots)
        entries = list(held if isinstance(held, set) else held.items())
        made.tj_begin_numbers(entries)
        for x in entries:
            made.tj_get(x)
        return made

    @property
    def tj_class(self) -> type:
        return self.tj_of

    def tj_tokens(self) -> list[Any]:
        """What stands for its keys and values where these are tuples."""
        structure = self.tj_items.tree
        parts = [structure] if self.tj_is_set else structure.children()
        return [x for x, t in zip((self.tj_keyed, self.tj_tuples), parts, strict=False) if not t.is_leaf()]

    def tj_get(self, x: Any) -> Any:
        """`x`, which becomes the item of a set, or the key and value of a dict."""
        session = active.session()
        if session is not None:
            key, *value = (x,) if self.tj_is_set else x
            session.choices.tuples.put(key, self.tj_keyed)
            session.choices.tuples.put(value, self.tj_tuples)
        return x

    def _entry(self, x: Any) -> tuple[list[Any], list[Any]]:
        """What becomes an entry: its numbers, and those that say which tuples it has."""
        leaves = self.tj_leaves(self.tj_get(x))
        return leaves, self.tj_numbers_of(x) if self.tj_numbers else []

    def _enter(self, r: Row, entry: tuple[list[Any], list[Any]], keep: bool) -> None:
        """Let the row of a key be `entry`; `keep`: what it has already stays."""
        leaves, which = entry
        self.tj_forget_head()
        n = self.tj_used()
        to = ops.compare.select(r.found, r.at, raw_of(n))
        at = check_index(to, size=self.tj_room, axis=0, failure=FULL)
        count = len(self.tj_items.kinds) if keep or self.tj_is_set else self.tj_keys()
        for m, (c, p, leaf) in enumerate(zip(self.tj_columns, self.tj_python, leaves, strict=True)):
            new, flag = convert(to_raw(taken(leaf)), c.aval.dtype), python_of(leaf)
            if m < count:
                new = ops.compare.select(r.found, nth(c.read(), at), new)
            c[user(at)] = box(new)
            if not isinstance(p, bool):
                p[user(at)] = box(ops.compare.select(r.found, nth(p.read(), at), flag) if m < count else flag)
        stays = len(which) if keep or self.tj_is_set else self.tj_key_tuples()
        for m, (c, new) in enumerate(zip(self.tj_numbers, which, strict=True)):
            c[user(at)] = box(ops.compare.select(r.found, nth(c.read(), at), new) if m < stays else new)
        self.tj_slots[user(r.slot)] = box(ops.arithmetic.add(at, np.int64(1)))
        fresh = ops.create.convert(ops.compare.not_(r.found), _I64)
        self.tj_let_be(ops.arithmetic.add(raw_of(self.tj_number()), fresh))

    def _value(self, r: Row, default: Any) -> Any:
        """The value of a key, or where there is none `default`, which is like a value."""
        first = self.tj_keys()
        kinds, structure = self.tj_items.kinds[first:], self.tj_items.tree.children()[1]
        mine = items_of(default)
        if (
            mine is None
            or mine.tree != structure
            or any(a.dtype != b.dtype for a, b in zip(mine.kinds, kinds, strict=True))
        ):
            raise self.tj_refusal("a default of another type than the values")
        found = []
        leaves = tree.leaves(default)
        for c, p, leaf in zip(self.tj_columns[first:], self.tj_python[first:], leaves, strict=True):
            there = np.bool_(p) if isinstance(p, bool) else nth(p.read(), r.at)
            raw = ops.compare.select(r.found, nth(c.read(), r.at), convert(to_raw(taken(leaf)), c.aval.dtype))
            found.append(_number(raw, there, python_of(leaf), r.found))
        made, tuples = tree.unflatten(structure, found), active.session().choices.tuples
        if columns := self.tj_numbers[self.tj_key_tuples() if self.tj_numbers else 0 :]:
            others = zip(columns, tuples.of_item(default), strict=True)
            tuples.note_item(made, [ops.compare.select(r.found, nth(c.read(), r.at), n) for c, n in others])
        return made

    # -- what dicts and sets do

    def tj_has(self, key: Any) -> Box:
        """`key in d`."""
        return box(self.tj_row(key).found, weak=True)

    def get(self, key: Any, default: Any = None, /) -> Any:
        """As of a dict."""
        self._only_dict("get")
        return self.tj_show(self._value(self.tj_row(key), super().tj_get(default)))

    def __getitem__(self, key: Any) -> Any:
        self._only_dict("__getitem__")
        if self.tj_factory in FACTORIES:
            return self._set_default(key, self.tj_factory())
        if self.tj_factory is not None:
            raise self.tj_refusal("a default that is no number")
        r = self.tj_row(key)
        if self.tj_of is collections.Counter:
            return self._value(r, 0)
        leave_if(ops.compare.not_(r.found), MISSING)
        return self.tj_show(self.tj_item(r.at)[1])

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        """As of a dict."""
        self._only_dict("setdefault")
        return self._set_default(key, default)

    def _set_default(self, key: Any, default: Any) -> Any:
        r = self.tj_place_for(key)
        found = self._value(r, default)
        self._enter(r, self._entry((key, default)), True)
        return self.tj_show(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._only_dict("__setitem__")
        entry = self._entry((key, value))
        self._enter(self.tj_place_for(key), entry, False)

    def add(self, key: Any, /) -> None:
        """As of a set."""
        self._only_set("add")
        entry = self._entry(key)
        self._enter(self.tj_place_for(key), entry, True)

    def pop(self, key: Any, /, *default: Any) -> Any:
        """As of a dict."""
        self._only_dict("pop")
        r = self.tj_row(key)
        if default:
            found = self._value(r, *default)
        else:
            leave_if(ops.compare.not_(r.found), MISSING)
            found = self.tj_item(r.at)[1]
        self.tj_take_out(r)
        return found

    def tj_pop_unread(self, key: Any, /, *default: Any) -> None:
        """The same where nobody reads what it gives."""
        if self.tj_is_set or not default:
            self.pop(key)
        else:
            self.tj_take_out(self.tj_row(key))

    def __delitem__(self, key: Any) -> None:
        self._only_dict("__delitem__")
        self._take_out_known(key)

    def _take_out_known(self, key: Any) -> None:
        r = self.tj_row(key)
        leave_if(ops.compare.not_(r.found), MISSING)
        self.tj_take_out(r)

    def remove(self, key: Any, /) -> None:
        """As of a set."""
        self._only_set("remove")
        self._take_out_known(key)

    def discard(self, key: Any, /) -> None:
        """As of a set."""
        self._only_set("discard")
        self.tj_take_out(self.tj_row(key))

    def clear(self) -> None:
        """As of a dict or set."""
        self.tj_check_free()
        self.tj_forget_head()
        self.tj_cut = True
        refill([(self.tj_slots.storage, np.zeros(self.tj_slots.aval.shape, np.int64))])
        self.tj_first = self.tj_length = 0

    def update(self, *others: Any) -> None:
        """As of a dict or set, by what is known or a list of pairs or items."""
        pairs = [self._given(other) for other in others]
        if self.tj_of is collections.Counter or (len(others) != 1 and not self.tj_is_set):
            raise self.tj_refusal("`update`")
        for given in pairs:
            for x in given:
                if self.tj_is_set:
                    self.add(x)
                else:
                    self[x[0]] = x[1]

    def _given(self, other: Any) -> list[Any]:
        """The keys of a set, or what is put into a dict, as pairs."""
        if type(other) in DICTS:
            return list(other if self.tj_is_set else other.items())
        pairs = self.tj_is_set or (
            type(other) in (list, tuple) and all(type(x) is tuple and len(x) == 2 for x in other)
        )
        if type(other) not in (list, tuple, *((set,) if self.tj_is_set else ())) or not pairs:
            raise self.tj_refusal("`update`")
        return list(other)

    # -- all entries, as lists

    def tj_list(self, which: int | None, made_anew: bool = True) -> Buffer:
        """The entries, or of all of them the keys (0) or values (1). `made_anew`: somebody sees pairs."""
        items, raws = self.tj_items, iter(self.tj_closed()[1])
        columns = [new_array(next(raws)) for _ in self.tj_columns]
        python = [p if isinstance(p, bool) else new_array(next(raws)) for p in self.tj_python]
        if which is not None and not self.tj_is_set:
            part = slice(0, self.tj_keys()) if which == 0 else slice(self.tj_keys(), None)
            structure = items.tree.children()[which]
            items, columns, python = Items(structure, items.kinds[part]), columns[part], python[part]
        trees = [items.tree] if items is not self.tj_items or self.tj_is_set else items.tree.children()
        made = Buffer(list, items, columns, python, self.tj_length)
        made.tj_shares, made.tj_tuples = not all(t.is_leaf() for t in trees), self.tj_token(which)
        numbers, count = [new_array(next(raws)) for _ in self.tj_numbers], self.tj_key_tuples()
        if which is not None and not self.tj_is_set:
            numbers = numbers[:count] if which == 0 else numbers[count:]
        elif made_anew and not self.tj_is_set and active.session().choices.tuples.numbered:
            numbers.insert(0, new_array(active.session().choices.tuples.fresh(self.tj_room)))
        made.tj_numbers, made.tj_shares = numbers, made.tj_shares and not numbers
        return made

    def tj_entry(self, k: Number, which: int | None) -> Any:
        """Entry `k`, or its key (0) or value (1), which stay in it."""
        key, *value = parts = self.tj_parts(self.tj_item(k))
        tuples = active.session().choices.tuples
        for part, token in zip(parts, (self.tj_keyed, self.tj_tuples), strict=False):
            tuples.taken(part, token)
        return key if self.tj_is_set or which == 0 else value[0] if which == 1 else parts

    def _view(self, which: int | None, name: str) -> View:
        self._only_dict(name)
        return View.of_table(self, which, name)

    def keys(self) -> View:
        """As of a dict."""
        return self._view(0, "keys")

    def values(self) -> View:
        """As of a dict."""
        return self._view(1, "values")

    def items(self) -> View:
        """As of a dict."""
        return self._view(None, "items")

    def copy(self) -> Table:
        """As of a dict."""
        return self.tj_copy_as(self.tj_of)

    def tj_copy_as(self, cls: type) -> Table:
        """A dict or set of the same entries."""
        if (cls is set) != self.tj_is_set:
            raise self.tj_refusal(f"a {cls.__name__} made of it")
        part, slots = self.tj_list(None, False), self.tj_closed()[0]
        made = Table(list, part.tj_items, part.tj_columns, part.tj_python, part.tj_length)
        made.tj_of, made.tj_slots, made.tj_cut = cls, new_array(slots), self.tj_cut
        made.tj_tuples, made.tj_numbers = self.tj_tuples, part.tj_numbers
        made.tj_factory = self.tj_factory if cls is collections.defaultdict else None
        return made

    def _only_dict(self, name: str) -> None:
        if self.tj_is_set:
            raise self.tj_refusal(f"`{name}`")

    def _only_set(self, name: str) -> None:
        if not self.tj_is_set:
            raise AttributeError(f"{self.tj_of.__name__!r} object has no attribute {name!r}")

    def __getattr__(self, name: str) -> Any:
        if hasattr(self.tj_of, name):
            raise self.tj_refusal(f"`{name}`")
        raise AttributeError(f"{self.tj_of.__name__!r} object has no attribute {name!r}")

    __hash__ = None  # type: ignore[assignment]


refuse(Table)


def _number(raw: Any, there: Any, otherwise: Any, found: Any) -> Any:
    """A number that is one of Python's as `there` says where it was `found`, else as `otherwise` says."""
    if not isinstance(there, Value) and not isinstance(otherwise, Value) and bool(there) == bool(otherwise):
        return box(raw, weak=bool(there))
    return unsure(raw, ops.compare.select(found, there, otherwise))


# ---------------------------------------------------------------- what it gives to others


class Filled(NamedTuple):
    """What makes a dict or set of a table's arrays; the last `which` of them say which tuples keys and values are."""

    cls: type
    factory: Callable[[], Any] | None
    made: Made
    which: int = 0

    def __call__(self, slots: Any, *pieces: Any, once: Once | None = None) -> Any:
        """The dict or set, or a table again if the arrays are traced. `once`: the tuples of this call."""
        first = len(pieces) - self.which
        entries = self.made(*pieces[:first])
        if once is not None:
            if type(entries) is Buffer:
                raise BufferedListError(what="what may be one thing, as results of a call that is traced,")
            numbers = zip(*(c[: len(entries)].tolist() for c in pieces[first:]), strict=True)
            entries = [self._entry(x, iter(row), once) for x, row in zip(entries, numbers, strict=True)]
        if type(entries) is Buffer:
            out = Table(list, entries.tj_items, entries.tj_columns, entries.tj_python, entries.tj_length)
            out.tj_of, out.tj_factory, out.tj_slots, out.tj_cut = self.cls, self.factory, slots, False
            return out
        if self.cls is collections.defaultdict:
            return collections.defaultdict(self.factory, entries)
        return self.cls(entries) if self.cls is set else self.cls(dict(entries))

    def _entry(self, x: Any, numbers: Iterator[int], once: Once) -> Any:
        return once.item(x, numbers) if self.cls is set else tuple([once.item(y, numbers) for y in x])


def parts(x: Columns) -> tuple[Any, list[Any]]:
    """What makes what a buffer or table stands for, and of what."""
    if not isinstance(x, Table):
        return parts_of_list(x)  # type: ignore[arg-type]
    if x.tj_is_set and x.tj_cut:  # it depends on what was in the set
        raise x.tj_refusal("the order of a set of which items were taken out, as a result")
    entries = x.tj_list(None, False)
    numbers, entries.tj_numbers, entries.tj_shares = entries.tj_numbers, [], False  # it is given up here
    made, pieces = parts_of_list(entries)
    slots = new_array(x.tj_closed()[0])
    return Filled(x.tj_of, x.tj_factory, made, len(numbers)), [slots, *pieces, *numbers]
