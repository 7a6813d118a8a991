"""Iterables of traced code that keep their structure, and Python's way of using them up."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import TracedIterationError, TracejitError, UnfollowedError
from tracejit.frontend.lists.columns import Columns, raw_of
from tracejit.frontend.lists.slots import Slots
from tracejit.frontend.rewrite.hooks.steps import Steps
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if

_EXAMPLES: dict[str, Any] = {
    "range": lambda: range(0), "zip": zip, "enumerate": lambda: enumerate(()),
    "reversed": lambda: reversed(()), "itertools.product": itertools.product,
    "itertools.pairwise": lambda: itertools.pairwise(()), "numpy.ndindex": np.ndindex,
    **{f"itertools.{n}": functools.partial(getattr(itertools, n), (), 1)
       for n in ("combinations", "permutations", "combinations_with_replacement")},
}  # fmt: skip


class Lazy:
    """What `range`, `zip`, `enumerate` and the like give in traced code where Python's own would lose the structure.
    Iterates as Python's do if the number of steps is known.

    `again`: it can be run over more than once, as a range can. The others are used up. `parts`: those that are used
    up with it.
    """

    def __init__(
        self, steps: Steps, what: str, plain: Any = None, again: bool = False, parts: Iterable[Any] = ()
    ) -> None:
        self.steps = steps
        self.what = what
        self.plain = plain
        self.again = again
        parts = list(parts)
        self.parts = [p for p in parts if type(p) is Lazy]
        lists = [p if p.tj_seen_of is None else p.tj_seen_of[0] for p in parts if isinstance(p, Columns)]
        self.lists = [(p, p.tj_length) for p in lists]  # and the lengths that they have now
        self.iterator: Iterator[Any] | None = None
        self.taken = False  # by a native loop, which knows nothing of Python's position

    def tj_example(self) -> Any:
        """Another of the class that it stands for."""
        made = _EXAMPLES.get(self.what.partition("(")[0])
        if made is None:
            raise UnfollowedError(what=f"the class of {self.what}", reason="traced code has another")
        return made()

    def __eq__(self, other: object) -> bool:
        if self.again and type(other) in (Lazy, range) and other is not self:
            raise UnfollowedError(what=f"a comparison of {self.what}", reason="its ends are traced")
        return self is other

    def __hash__(self) -> int:
        if self.again:
            raise UnfollowedError(what=f"the hash of {self.what}", reason="its ends are traced")
        return id(self)

    def __iter__(self) -> Iterator[Any]:
        if self.taken:
            raise TracedIterationError(
                what=f"the rest of {self.what} in a native loop over it, or after that,"
            )
        if self.again:
            return self._fresh()
        if self.iterator is None:
            self.iterator = self._fresh()
        return self.iterator

    def _fresh(self) -> Iterator[Any]:
        if self.plain is not None:
            return self.plain()
        return self.steps.first(self._count())

    def __next__(self) -> Any:
        if self.again:
            raise TypeError("'range' object is not an iterator")
        return next(iter(self))

    def __len__(self) -> int:
        return self._count()

    def _count(self) -> int:
        return extents.settled(self.steps.count, lambda: TracedIterationError(what=self.what))

    def spend(self, wholly: bool) -> None:
        """A native loop has run over it, `wholly` or to where it was left."""
        if not self.again:
            self.iterator, self.taken = iter(()), not wholly
        for p in self.parts:
            p.spend(False)  # the longer one of two has something left


def spend(iterable: Any, more: bool) -> None:
    """Nobody knows what is left of an iterator of which `more` may have been taken than the program's loop does."""
    if more and type(iterable) is Lazy:
        iterable.spend(wholly=False)


@contextlib.contextmanager
def walked(iterable: Any) -> Iterator[None]:
    """While a loop runs over `iterable`: lists of traced length in it may not change theirs."""
    buffers: list[Columns] = [iterable] if isinstance(iterable, Columns) else []
    for x, length in _lists_of(iterable):
        if x.tj_length is not length:
            if not isinstance(x, Slots):
                raise x.tj_refusal("an iterator over it after a change")
            now, then = extents.number(x.tj_length), extents.number(length)
            leave_if(ops.compare.ne(raw_of(now), raw_of(then)), "an iterator over a dict of another size")
        buffers.append(x)
    buffers += [x.tj_seen_of[0] for x in buffers if x.tj_seen_of is not None]
    for x in buffers:
        if isinstance(x, Slots):
            x.tj_close_up()
    for x in buffers:
        x.tj_walked += 1
    try:
        yield
    finally:
        for x in buffers:
            x.tj_walked -= 1


def _lists_of(x: Any) -> Iterator[tuple[Columns, Any]]:
    """The lists of traced length that an iterable runs over, and their lengths when it was made."""
    if type(x) is Lazy:
        yield from x.lists
        for part in x.parts:
            yield from _lists_of(part)


@contextlib.contextmanager
def taken(iterable: Any) -> Iterator[None]:
    """While a native loop over `iterable` is tried."""
    if type(iterable) is Lazy and not iterable.again:
        iterable.taken = True
    try:
        yield
    finally:
        if type(iterable) is Lazy:
            iterable.taken = False


# ---------------------------------------------------------------- more items than a loop takes

_PACKAGE = str(Path(__file__).parents[3])
_OTHERS = "others may take the rest of what it runs over"
_RUNS = "code of the function, or an iterator of outside, gives its items"
#: Iterators of the standard library that do nothing but ask those in them, and call functions.
_PARTS = frozenset(
    {zip, enumerate, map, filter, *(x for x in vars(itertools).values() if isinstance(x, type))}
) - {itertools.tee}
#: Iterators that ask methods or functions of the user's.
_by_place: Any = type("_", (), {"__getitem__": None})()
_CALLING = frozenset({type(iter(int, 1)), type(iter(_by_place))})


class Asked:
    """The iterator `items` of a loop over `iterable`, which Python asks while it traces. `references`: what
    `sys.getrefcount` said of `iterable` where the loop began."""

    def __init__(self, iterable: Any, references: int) -> None:
        self.items: Iterator[Any] = iter(iterable)
        self.is_alone = self.items is not iterable or references <= _temporary(iter(()))

    def why_not_more(self) -> str | None:
        """Why a program may not take more items than the loop does. None if nobody can tell."""
        return _seen(self.items) if self.is_alone else _OTHERS

    def leave(self) -> None:
        """The loop is left: generators that only it has end now, as Python ends them, whoever holds its frames."""
        if self.is_alone:
            _close(self.items)


def _close(x: Any) -> None:
    if type(x) is types.GeneratorType:
        try:
            x.close()
        except TracejitError:
            raise
        except Exception as e:
            reason = f"it raises {type(e).__name__}, which Python ignores"
            raise UnfollowedError(what="a generator that a loop leaves", reason=reason) from e
    elif type(x) in _PARTS:
        for part in _within(x):
            if hasattr(type(part), "__next__") and sys.getrefcount(part) <= _HELD:
                _close(part)


def _temporary(x: Any) -> int:
    """The number of references to an argument that nobody else holds."""
    return sys.getrefcount(x)


def _seen(x: Any) -> str | None:
    cls = type(x)
    if cls.__module__ == "builtins" and cls.__name__.endswith("iterator") and cls not in _CALLING:
        return None  # over a container
    if cls is types.GeneratorType:
        if not x.gi_code.co_filename.startswith(_PACKAGE):
            return _RUNS
    elif cls not in _PARTS:
        return _RUNS
    for part in _within(x):
        if isinstance(part, (types.FunctionType, types.MethodType)):
            return _RUNS
        if hasattr(type(part), "__next__"):
            if sys.getrefcount(part) > _HELD:
                return _OTHERS
            if reason := _seen(part):
                return reason
    return None


def _within(x: Any) -> list[Any]:
    """What an iterator holds; `zip` has a tuple of it."""
    found: list[Any] = []
    for part in gc.get_referents(x):
        found += part if type(part) is tuple else [part]
    return found


def _held() -> int:
    """What `sys.getrefcount` says of an iterator that only another holds."""
    for part in _within(zip(iter(()), strict=False)):
        if hasattr(type(part), "__next__"):
            return sys.getrefcount(part)
    return 0


_HELD = _held()
