"""An array that is one of several, which conditions choose when the program runs.

if c:
    a = 2 * a      # `a` is a new array where `c` holds, and still the one from before where it does not:
a[0] += 1          # there whoever else has that one, a caller or a container, sees this write
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ChosenArrayError, TracejitError
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes.memory import has_gaps, order_of_strides, strides_of
from tracejit.numpy.boxes.views import ImagPart, RealPart, joined
from tracejit.numpy.operands import cast
from tracejit.tracing import Box, Storage, Trace, View, current_trace

Chain = tuple[View, ...]


#: The identity of a view that several arrays may be, and nobody says which: made by a step of a loop.
VAGUE = "vague"


class Owner(NamedTuple):
    """An array that a chosen one may be: while the 0-d raw `flag` is `want`, it is what `chain` shows of `storage`.

    `chain` is None where the program can't say which part: then the chosen one is a copy, which may only be looked
    at, as long as neither changes. `exact`: the types are the same, so that what is written has a place there.
    `identity`: which view of `storage` it is; None if it is that array itself.
    """

    storage: Storage
    chain: Chain | None
    exact: bool
    flag: Any
    want: bool = True
    identity: Any = None

    def choose(self, here: Any, elsewhere: Any) -> Any:
        """`here` where the chosen array is this one, else `elsewhere`. Raises ChosenArrayError if one of them has
        another length, which a block has given it."""
        if len({aval_of(v).shape for v in (here, elsewhere)} - {()}) > 1:
            raise ChosenArrayError()
        a, b = (here, elsewhere) if self.want else (elsewhere, here)
        return ops.compare.select(self.flag, a, b)

    def holds(self) -> Any:
        """A raw truth value: whether the chosen array is this one."""
        return self.flag if self.want else ops.compare.not_(self.flag)

    def part(self, chain: Chain) -> Chain:
        """Where the owner has what is written into `chain` of the chosen array. Raises ChosenArrayError."""
        if self.chain is None or not self.exact or not all(v.writable for v in self.chain):
            raise ChosenArrayError()
        return joined(self.chain, chain)

    def lies_apart(self, layout: Any) -> bool:
        """Whether it is a view that lies in memory as no new array does, or has its axes in another order there than an
        array of this layout."""
        base, chain = self.storage.layout, self.chain
        if not self.exact or chain is None or (not chain and base is layout):
            return False
        shape = aval_of(self.storage.held).shape
        if chain and has_gaps(shape, base, chain):
            return True
        steps = strides_of(shape, base, chain) if chain else base
        return order_of_strides(steps, aval_of(self.storage.read(chain)).shape) != order_of_strides(layout)

    def read(self, dtype: np.dtype) -> Any:
        """What it has for the chosen array. Raises ChosenArrayError."""
        if self.chain is None:
            raise ChosenArrayError()
        if not isinstance(self.storage, Either):
            return cast(self.storage.read(self.chain), dtype)
        value = self.storage.held  # what it does not know yet of its owners is asked of these themselves
        for view in self.chain:
            value = view.read(value)
        return cast(value, dtype)


class Either(Storage):
    """A chosen array: a value of its own, kept equal to that of the owner that it is.

    Writes go on into the owners (`numpy.boxes.indexing.assign`); what was written into an owner since is chosen
    where this array is read. Nothing of this costs anything if neither happens.

    The owners of an owner are owners too. They come after it: where both have changed, theirs is the last word.
    `depth`: the longest way to an array that is none of several. `first`: the value that it was made with.
    """

    __slots__ = ("_value", "depth", "first", "owners", "seen")

    def __init__(self, value: Any, owners: Iterable[Owner] = ()) -> None:
        self.first = value
        self._value = None
        self.owners: list[Owner] = []
        self.seen: list[Any] = []
        super().__init__(value, current_trace())
        self.own(owners)

    def own(self, owners: Iterable[Owner]) -> None:
        """Be one of `owners`, or an array of its own."""
        self.owners = sorted(owners, key=lambda o: -_depth(o.storage))
        self.depth = 1 + max((_depth(o.storage) for o in self.owners), default=0)
        self.settle()

    def settle(self) -> None:
        """What the owners hold now has been taken in."""
        self.seen = [o.storage.held for o in self.owners]

    def alive(self) -> list[Owner]:
        """The owners that somebody else may see, or that have what this array has not taken in yet, or of which it is
        a view that lies in memory as this array does not; the others are forgotten."""
        n = 0
        while n < len(self.owners):
            owner = self.owners[n].storage
            is_seen = sys.getrefcount(owner) > ALONE + 1 or owner.rows is not None  # a list may have it
            if is_seen or owner.held is not self.seen[n] or self.owners[n].lies_apart(self.layout):
                n += 1
            else:  # its own owners may be known by this array alone then, and come after it
                del self.owners[n], self.seen[n]
        return list(self.owners)

    def _changed(self) -> list[Owner]:
        return [o for o, seen in zip(self.owners, self.seen, strict=True) if o.storage.held is not seen]

    def _mine(self) -> bool:
        """Whether what the current trace computes may be kept: in a block, until its end."""
        trace = current_trace()
        return trace is self.trace or (trace.claim is not None and trace.claim(self))

    @property
    def value(self) -> Any:  # type: ignore[override]
        changed = self._changed()
        if not changed:
            return self._value
        value = self._value
        for owner in changed:
            value = owner.choose(owner.read(aval_of(value).dtype), value)
        if self._mine():
            self._value = value
            self.cache.clear()
            self.settle()
        return value

    @value.setter
    def value(self, new: Any) -> None:
        self._value = new

    @property
    def held(self) -> Any:
        return self._value

    def read(self, chain: Chain) -> Any:
        if not self._changed() or self._mine():
            return super().read(chain)
        value = self.value
        for view in chain:
            value = view.read(value)
        return value

    def leave(self, ended: Trace, owner: Trace) -> None:
        self._value, self.first = ended.outside(self._value), ended.outside(self.first)
        self.seen = [ended.outside(x) for x in self.seen]
        self.owners = [o._replace(flag=ended.outside(o.flag)) for o in self.owners]
        self.trace, self.cache = owner, {}

    def state(self) -> Any:
        return self._value, self.trace, self.version, self.cache, list(self.owners), list(self.seen)

    def restore(self, state: Any) -> None:
        super().restore(state[:4])
        self.owners, self.seen = state[4:]


def _alone() -> int:
    """What `sys.getrefcount` says of a storage that only an owner holds; it differs between Python versions."""
    owners = [Owner(Storage(None, current_trace()), (), True, True)]
    return sys.getrefcount(owners[0].storage)


ALONE = _alone()


def _depth(storage: Storage) -> int:
    return storage.depth if isinstance(storage, Either) else 0


def _dtype(storage: Storage, chain: Chain) -> np.dtype:
    """The dtype of a part of a storage."""
    dtype = aval_of(storage.held).dtype
    return dtypes.real_part_dtype(dtype) if any(isinstance(v, (RealPart, ImagPart)) for v in chain) else dtype


def settle(storages: Iterable[Storage]) -> None:
    """The values of storages are such that chosen arrays among them are equal to their owners."""
    for s in storages:
        if isinstance(s, Either):
            s.settle()


def memories(x: Box) -> Iterator[tuple[Storage, Chain]]:
    """The parts of storages that the array `x` may lie in."""
    yield x.storage, x.chain
    if isinstance(x.storage, Either):
        for o in x.storage.alive():
            if o.chain is not None:
                yield o.storage, joined(o.chain, x.chain)


def copied(x: Box, value: Any) -> Box:
    """An array of the raw `value`, which may be a copy of `x` or lie in its memory: it can only be looked at."""
    storages = {id(s): s for s, _ in memories(x)}
    return chosen(value, [owner_of(s, None, x.aval.dtype, np.True_) for s in storages.values()])


def chosen(value: Any, owners: Sequence[Owner], weak: bool = False) -> Box:
    """A box over the raw `value`, which is that of one of `owners` or of an array of its own."""
    storage = Either(value, owners) if owners else Storage(value, current_trace())
    return Box(storage, (), aval_of(value), weak)


def owner_of(
    storage: Storage, chain: Chain | None, dtype: np.dtype, flag: Any, want: bool = True, identity: Any = None
) -> Owner:
    """An owner of an array of `dtype`."""
    exact = chain is not None and _dtype(storage, chain) == dtype
    return Owner(storage, chain, exact, flag, want, identity)


# ---------------------------------------------------------------- items of lists whose lengths only the program knows
#
#     out.append(y)       # `y` and the item are one array for Python. Here the item is a row of an array, a copy of
#     y[0] = 0            # `y`, which nobody sees as long as neither is written: such a write is refused
#
# What a list holds, what is read from it and what was put into it is *listed*: it may only be looked at, until the end.


class Rows:
    """The arrays of one list. `apart`: each item is sure to be an array of its own, which no other item is, but for
    those that the list begins with; `begun`: there are such, which are its "own" ones, or others' too; `lost`: some
    block takes these out or moves them, so that nobody knows which items they are."""

    __slots__ = ("apart", "begun", "lost")

    def __init__(self) -> None:
        self.apart, self.begun, self.lost = True, "", False

    def are_new(self, role: str) -> bool:
        """Whether a result in this role is sure to be no other array."""
        return role in ("given", "head") or (self.apart and not (self.begun == "other" and role == "item"))


class Listed(NamedTuple):
    """What a storage has to do with a list: it has the `column` of all items, or is an `item`, which the program
    reads from it, or the user has put into it (`given`), or it is one that the list begins with (`head`)."""

    rows: Rows
    role: Literal["column", "item", "given", "head"]


def may_share(error: TracejitError) -> TracejitError:
    """`error`, which is none where lists have their arrays themselves and not copies (`references`)."""
    error.shares_arrays = True
    return error


def listed(x: Box) -> Listed | None:
    """What the array `x` has to do with a list; of several that it may be, one of them."""
    return functools.reduce(listed_as, [s.rows if type(s.rows) is Listed else None for s in storages_of(x)])


def listed_as(a: Listed | None, b: Listed | None) -> Listed | None:
    """What an array has to do with a list that may be either of two. Items of two lists are in neither alone."""
    if a is None or b is None or a == b:
        return a or b
    if a.rows is not b.rows:
        a.rows.apart = b.rows.apart = False
        return b
    return max(a, b, key=lambda x: ("head", "given", "item").index(x.role))


def storages_of(x: Box) -> list[Storage]:
    """The arrays that nobody may write any more once `x` is in a list."""
    owners = x.storage.alive() if isinstance(x.storage, Either) else ()
    return [x.storage, *(o.storage for o in owners)]
