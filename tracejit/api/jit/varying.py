"""Places of outside that are inputs of a function's programs instead of facts for which they were compiled.

A number that a function reads through a name is guarded: if it changes, the function is traced again. That is wrong for
numbers that the function itself changes at every call, as a counter does, and for others that change often. Those
become inputs, like numbers among the arguments. So do the length and the last items of lists to which it only appends.
Where tracing needs the value of one, it is guarded again.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes
from tracejit.errors import CapturedWriteError
from tracejit.frontend.capture import NotFollowed
from tracejit.frontend.checks import Check
from tracejit.frontend.run import ROOM
from tracejit.frontend.shadows.growing import Grows, Short
from tracejit.interpreters.jit import NEAR
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.values import Value
from tracejit.numpy.boxes.memory import layout_of
from tracejit.tracing import Box, Storage, to_raw

Place = tuple[Any, ...]
#: How often a number that the function does not write has to change until it is an input.
OFTEN = 3
#: How often tracing with a place as an input may fail until it is guarded for good.
MOST_FAILURES = 3
#: How often a function may be traced again because of what it has written itself.
MOST_AGAIN = 8
#: How many times larger the room of lists is made, and up to where.
MORE_ROOM, MOST_ROOM = 8, 1 << 24
#: Places of a function that are remembered.
_MOST_PLACES = 4096
#: What is always guarded by identity.
_FIXED = (type(None), bool, str, bytes, type, types.ModuleType, types.FunctionType, types.MethodType)
_FIXED += (types.BuiltinFunctionType, functools.partial, np.ufunc)
#: Checks of one object, list or tuple that may be another one, and of numbers.
_KINDS = frozenset({"value", "scalars", "is"})


class Structure(NamedTuple):
    """The place of an integer array whose elements must be known while tracing."""

    place: Place


class Varying:
    """What one jitted function has learned of its state. `inputs`: places that are inputs, `written`: those that its
    programs change, `growing`: lists of which a program knows only what it appends and its last items, at most
    `depths`, `whole`: those of which it needs more."""

    def __init__(self) -> None:
        self.inputs: set[Place] = set()
        self.written: set[Place] = set()
        self.growing: set[Place] = set()
        self.depths: dict[Place, int] = {}
        self.whole: set[Place] = set()
        self.changed: Counter[Place] = Counter()
        self.failed: Counter[Place] = Counter()
        self.structures: set[Place] = set()  # of integer arrays of which the elements are known while tracing
        self.again = 0
        self.room = ROOM  # of lists that the program lets grow
        self.plain_lists = False  # whether their items are of one type only
        self.shares_arrays = False  # whether these have their arrays themselves, and no copies
        self.numbers_tuples = False  # whether tuples have numbers, which say which is which
        #: Arguments that are part of the signature since they say how often a loop fills lists, and what they were:
        #: as long as these never change, nothing has to be ready for other lengths.
        self.counts: dict[int | str, Any] = {}
        self.counts_vary = False

    def is_input(self, place: Place) -> bool:
        """Whether what is at a place, or in the list or tuple there, is an input, or is part of a list that grows."""
        if place in self.inputs or (
            len(place) > 1 and place[:-1] in self.inputs and type(place[-1][1]) is int
        ):
            return True
        return bool(self.growing) and self._grown(place) is not None

    def _grown(self, place: Place) -> Place | None:
        """The list that grows to which a place belongs."""
        prefixes = (place[:n] for n in range(len(place), 1, -1))
        return next((p for p in prefixes if p in self.growing), None)

    def grows(self, place: Place, length: int) -> bool:
        """Whether a program knows no more of the list at a place, of so many items, than what it appends."""
        return place in self.growing and length >= self.depths.get(place, 0)

    def learn(self, checks: Iterable[Check], written: set[Place], grown: set[Place]) -> set[Place]:
        """Places that a program writes, and is guarded by, and lists to which it only appends: inputs from now on.
        Gives those that were none."""
        self._limit()
        self.written |= written
        grown = grown - self.whole - self.growing
        self.growing |= grown
        read = {c.node.place() for c in checks if c.kind in _KINDS and _may_vary(c)}
        new = {place for place in read if _within(place, written - grown)}
        new = {place for place in new - self.inputs if self.failed[place] < MOST_FAILURES}
        self.inputs |= new
        return new | grown

    def know(self, places: set[Place]) -> bool:
        """Whether one of these places is still an input."""
        return not places.isdisjoint(self.inputs | self.growing)

    def enter(self, place: Place) -> bool:
        """Whether a number in an argument is an input: it is, unless tracing has needed it."""
        if self.failed[place]:
            return False
        self.inputs.add(place)
        return True

    def fail(self, places: Iterable[Place]) -> bool:
        """Tracing needs what is at these places: guard it. Whether one of them was an input."""
        places = list(places)
        short = [p for p in places if type(p) is Short]
        if short:
            self.depths |= {p.place: max(p.depth, self.depths.get(p.place, 0)) for p in short}
            return True
        grow = {p.place for p in places if type(p) is Grows}
        if grow:
            new = grow - self.growing - self.whole
            self.growing |= new
            return bool(new)
        known = {p.place for p in places if type(p) is Structure}
        if known:
            new = known - self.structures
            self.structures |= known
            return bool(new)
        gone = {p for p in places if self.is_input(p)}
        for place in gone:
            grown = self._grown(place)
            if grown is not None:
                self.growing.discard(grown)
                self.whole.add(grown)
                continue
            owner = place if place in self.inputs else place[:-1]
            self.failed[owner] += 1
            self.inputs.discard(owner)
        return bool(gone)

    def retraced(self, check: Check | None) -> None:
        """The function is traced again since `check` does not hold any more.

        Raises CapturedWriteError: that happens too often for what it writes itself."""
        if check is None:
            return
        place = (check.node.item(check.expected) if check.kind == "absent" else check.node).place()
        if place in self.written:
            self.again += 1
            if self.again > MOST_AGAIN:
                raise CapturedWriteError(what=f"{check.node}, on which the traced operations depend,")
        if check.kind == "value" and is_number(check.expected):
            self._limit()
            self.changed[place] += 1
            if self.changed[place] >= OFTEN and self.failed[place] < MOST_FAILURES:
                self.inputs.add(place)

    def count(self, found: Iterable[tuple[int | str, Any]]) -> None:
        """These arguments say how often a loop fills lists."""
        self.counts |= dict(found)

    def varying_counts(self, argument: Callable[[int | str], Any]) -> frozenset[int | str]:
        """The arguments that were found to say how often a loop fills lists, if one of them is another now: they are
        inputs from now on."""
        for key, value in self.counts.items():
            with contextlib.suppress(KeyError, ValueError, IndexError):  # given by position or by name
                now = argument(key)
                if type(now) is not type(value) or now != value:
                    gone, self.counts, self.counts_vary = frozenset(self.counts), {}, True
                    return gone
        return frozenset()

    def make_room(self, room: int) -> bool:
        """Lists that the program lets grow have more room than `room` from now on; False if they have enough."""
        if room >= MOST_ROOM:
            return False
        self.room = max(self.room, room * MORE_ROOM)
        return True

    def _limit(self) -> None:
        for known in (
            self.inputs,
            self.written,
            self.growing,
            self.depths,
            self.whole,
            self.structures,
            self.changed,
            self.failed,
        ):
            if len(known) > _MOST_PLACES:
                known.clear()


def is_number(x: Any) -> bool:
    """Whether `x` can be an input: a number of Python's, but no large integer, or of NumPy's."""
    if type(x) is int:
        return abs(x) <= NEAR
    return type(x) in (float, complex) or (isinstance(x, np.generic) and x.dtype.kind in "iufc")


def _within(place: Place, written: set[Place]) -> bool:
    """Whether a place is written, or lies in an object or container that is replaced."""
    return any(place[:n] in written for n in range(2, len(place) + 1))


def _may_vary(check: Check) -> bool:
    """Whether what is checked may be an input: numbers; objects, lists and tuples, of which the parts are."""
    if check.kind == "value":
        return is_number(check.expected)
    if check.kind == "scalars":
        return any(map(is_number, check.expected))
    return not isinstance(check.expected, _FIXED)


class JitCapture:
    """Captured arrays of a jit trace: boxes over constants of the program, read anew at every call. So are the
    numbers that `varying` says are inputs: `inputs` has their variables and places, `grown` the places of lists of
    which only what is appended is known."""

    guarded = journaled = True
    draws = True
    near = NEAR

    def __init__(self, trace: Any, varying: Varying, on_device: bool) -> None:
        self.trace = trace
        self.follows_devices = on_device
        self.varying = varying
        self.held: list[tuple[Any, Box]] = []  # (raw value, its box), in the order of the guards' arrays
        self.inputs: list[tuple[Value, Any]] = []
        self.integers: list[tuple[Value, Place]] = []  # arrays that could be known
        self.grown: list[Any] = []
        self.followed: frozenset[int] = (
            frozenset()
        )  # the arguments whose numbers are inputs, as those of others are

    def array(self, path: Any, value: Any) -> Any:
        raw = value if type(value) is np.ndarray else to_raw(value)  # itself, not as it is now
        dtypes.canonical(aval_of(raw).dtype)
        there = is_elsewhere(raw)
        held = self.trace.lift(raw) if there or isinstance(raw, (np.ndarray, Value)) else raw
        b = Box(Storage(held, self.trace, path), (), aval_of(held))
        b.storage.layout = None if there else layout_of(raw)
        self.held.append((raw, b))
        if isinstance(raw, np.ndarray) and raw.dtype.kind == "i":
            self.integers.append((held, path.place()))
        return b

    def knows(self, path: Any) -> bool:
        known = self.varying.structures
        return bool(known) and path.place() in known

    def owns(self, box: Box) -> bool:
        raw = box.storage.value
        return isinstance(raw, Value) and raw.trace.level >= self.trace.level

    def scalar(self, path: Any, value: Any) -> Any:
        place = path.place()
        if not is_number(value) or not (self._is_followed(path, place) or self.varying.is_input(place)):
            return NotImplemented
        raw = np.asarray(value)
        var = self.trace.lift(raw)
        weak = not isinstance(value, np.generic)
        if weak and type(value) is int:
            var.bounds = (-self.near, self.near)
        b = Box(Storage(var, self.trace, path), (), aval_of(var), weak, True)
        self.held.append((raw, b))
        self.inputs.append((var, place))
        return b

    def _is_followed(self, path: Any, place: Any) -> bool:
        """Whether a number in an argument that is followed is an input."""
        return path.given and path.root().key in self.followed and self.varying.enter(place)

    def varies(self, path: Any) -> bool:
        if path.given and path.root().key in self.followed:
            return True
        known = self.varying.inputs or self.varying.growing
        return bool(known) and self.varying.is_input(path.place())

    def grows(self, path: Any, length: int) -> bool:
        if not self.varying.growing or not self.varying.grows(place := path.place(), length):
            return False
        self.grown.append(place)
        return True

    def may_grow(self, path: Any) -> bool:
        return path.place() not in self.varying.whole | self.varying.growing

    def unfollowed(self, thing: Any) -> None:
        """Raises NotFollowed: a program would keep what it saw while it was traced."""
        raise NotFollowed(thing)
