"""Arrays that lie in an arena, where a number says which: `y` and an item of a list of traced length are one array.

    ys.append(y)        # `y` moves into row 7 of the arena, and the list gets the number 7
    y[0] = 0            # a write into row 7, which whoever reads `ys[-1]` sees

A name that loops and branches bind to such arrays carries the number, and not the values. The arena is an array of the
program like others, which blocks read and write as they do any array of outside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import ops
from tracejit.errors import BufferedListError
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.sharing.either import Either
from tracejit.numpy.boxes.views import Region, joined
from tracejit.tracing import Box, Storage, View, box, new_array

Chain = tuple[View, ...]


class Arena:
    """The arrays of one dtype and shape. `rows` has their values, `count` how many there are; `outside`: storages of
    arguments and captured arrays that have moved here, and their numbers. `written`: a row has been written since it
    was made."""

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...], room: int) -> None:
        self.room = room
        self.rows = new_array(np.zeros((room, *shape), dtype))
        self.rows.storage.rows = self
        self.count = new_array(np.int64(0))
        self.outside: list[tuple[Storage, Any]] = []
        self.written = self.filling = False
        self._used: Box | None = None

    def used(self) -> Box:
        """Those rows that have arrays."""
        if self._used is None:
            self._used = new_array(self.rows[: box(self.count.read(), weak=True)].read())
        return self._used

    @property
    def trace(self) -> Any:
        """The trace in which it was made."""
        return self.rows.storage.trace

    def chain(self, number: Any) -> Chain:
        """The view that is row `number`, a raw integer."""
        shape = self.rows.aval.shape
        start = number if isinstance(number, Value) else int(number)
        return (Region.whole(shape).indexed([("at", start), *[("all",)] * (len(shape) - 1)]),)  # type: ignore[return-value]

    def at(self, number: Any) -> Box:
        """The array of a number."""
        shape = self.rows.aval.shape[1:]
        return Box(self.rows.storage, self.chain(number), self.rows.aval.with_shape(shape))

    def seen(self, chain: Chain) -> Box:
        """What a chain of views of the arena shows."""
        storage = self.rows.storage
        return Box(storage, chain, aval_of(storage.read(chain)))

    def all_of(self, numbers: Any) -> Any:
        """The raw values of the arrays that have the raw `numbers`."""
        return ops.gather.take(self.rows.read(), numbers, 0, mode="promise_in_bounds")


class Row(NamedTuple):
    """A part of an array that lies in an arena. `chain`: views of the arena, of which the first says which array."""

    arena: Arena
    chain: Chain

    @property
    def region(self) -> Region:
        """The first view."""
        return self.chain[0]  # type: ignore[return-value]

    @property
    def number(self) -> Any:
        """Which array it is, as a raw integer."""
        start = self.region.starts[0]
        return np.int64(start) if type(start) is int else start

    @property
    def is_whole(self) -> bool:
        """Whether it shows all of the array, in its own order."""
        return len(self.chain) == 1 and self.region.same(self.arena.chain(self.region.starts[0])[0])

    @property
    def is_movable(self) -> bool:
        """Whether nothing but the number of the array is known only when the program runs."""
        r = self.region
        fixed = all(type(n) is int for n in (*r.starts[1:], *r.sizes))
        return fixed and all(type(v) is Region and v.is_static and _is_fixed(v) for v in self.chain[1:])

    def like(self, other: Row) -> bool:
        """Whether both are the same part of arrays of one arena."""
        if self.arena is not other.arena or len(self.chain) != len(other.chain):
            return False
        rest = all(v.same(w) for v, w in zip(self.chain[1:], other.chain[1:], strict=True))
        return rest and self.region.moved([*self.region.starts]).same(
            other.region.moved([self.region.starts[0], *other.region.starts[1:]])
        )

    def moved(self, number: Any, identity: Any = None) -> Box:
        """The same part of another array; `identity`: which view it is."""
        start = number if isinstance(number, Value) else int(number)
        out = self.arena.seen((self.region.moved([start, *self.region.starts[1:]]), *self.chain[1:]))
        out.identity = identity
        return out


def _is_fixed(view: Region) -> bool:
    return all(type(n) is int for n in view.starts)


class _Forward:
    """A storage whose array lies in an arena now. Where: in the slot that had the value."""

    __slots__ = ()

    @property
    def _place(self) -> tuple[Arena, Chain]:
        return _VALUE.__get__(self)

    @property
    def value(self) -> Any:
        arena, chain = self._place
        return arena.rows.storage.read(chain)

    @value.setter
    def value(self, new: Any) -> None:
        raise BufferedListError(what="a change of all of an array that is an item")

    @property
    def held(self) -> Any:
        return self.value

    @property
    def version(self) -> int:
        return _VERSION.__get__(self) + self._place[0].written

    def read(self, chain: Chain) -> Any:
        arena, first = self._place
        return arena.rows.storage.read(joined(first, chain))


class _Moved(_Forward, Storage):
    __slots__ = ()


class _MovedEither(_Forward, Either):
    __slots__ = ()


_VALUE: Any = vars(Storage)["value"]
_VERSION: Any = vars(Storage)["version"]


def move(storage: Storage, arena: Arena, number: Any) -> None:
    """Let a storage be the array of a number."""
    if storage.origin is not None:
        storage.layout_read = storage.order_read = True  # it has the order of rows
        arena.outside.append((storage, number))
    if isinstance(storage, Either):
        storage.owners, storage.seen = [], []
    storage.cache, storage.rows = {}, arena
    moved: Any = _MovedEither if isinstance(storage, Either) else _Moved
    storage.__class__ = moved
    _VALUE.__set__(storage, (arena, arena.chain(number)))


def is_moved(storage: Storage) -> bool:
    """Whether the array of a storage lies in an arena."""
    return isinstance(storage, _Forward)


def where(storage: Storage, chain: Chain) -> tuple[Storage, Chain]:
    """Where what `chain` shows of a storage really is."""
    if not isinstance(storage, _Forward):
        return storage, chain
    arena, first = storage._place
    return arena.rows.storage, joined(first, chain)


def row_at(storage: Storage | None, chain: Chain | None) -> Row | None:
    """What `chain` shows of a storage, if that is a part of an array in an arena."""
    if storage is None or chain is None:
        return None
    storage, chain = where(storage, chain)
    if type(storage.rows) is not Arena or not chain or type(chain[0]) is not Region or 0 in chain[0].axes:
        return None
    return Row(storage.rows, chain)


def row_of(x: Any) -> Row | None:
    """The same of an array."""
    return row_at(x.storage, x.chain) if type(x) is Box else None
