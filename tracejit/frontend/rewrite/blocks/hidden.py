"""What a loop carries beside values, as truth values of hidden names: what its names are to Python.

Which lists, dicts and objects they are, of those that somebody else may see (`Picked`):

    best = params                          # the caller's dict
    for x in xs:
        params = {"w": params["w"] - x}
        if loss(params) < low:
            best = params                  # after the loop: the caller's, that of `params`, or one of its own

A step makes the containers of its names anew from what is carried. Whether one is the container that a name had before
the loop, or the one that another name has, is carried too; so is whether two of those inside are one.

And which numbers are Python's, and which NumPy's, where that depends on values (`Pythons`):

    for i in range(n):
        r = 0.5 * r + max(1.5, x[i])      # a float while 1.5 is the larger one, then an np.float64

The loop carries the value as NumPy's, and beside it whether it is one of Python's.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any, NamedTuple

from tracejit import dtypes
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell, get, put
from tracejit.frontend.rewrite.blocks.chosen import Choices
from tracejit.frontend.rewrite.blocks.containers import is_leaf, opened, spread
from tracejit.frontend.rewrite.blocks.identity import TRUE
from tracejit.frontend.rewrite.blocks.state import raw_of
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.unsure import is_mixed, is_unsure, python_of, taken, unsure, was_unsure
from tracejit.tracing import Box, box

#: Numbers of which a loop carries whether they are Python's.
_CARRIED = (dtypes.float64, dtypes.int64)
#: Where a container is: a name, and the way to it from there, as `spread` has it.
_Spot = tuple[Any, ...]


class _Pair(NamedTuple):
    """That the container at `spot` is the one that was at `other` before the loop, or (`now`) the one that is there."""

    spot: _Spot
    other: _Spot
    now: bool


class Picked:
    """The hidden names of one loop: `cells`, by what they are called."""

    def __init__(self, names: Iterable[str], cells: dict[str, Cell], choices: Choices) -> None:
        names = list(names)
        self.choices = choices
        self.cells: dict[str, Cell] = {}
        self.pairs: dict[str, _Pair] = {}
        self.before: dict[int, Any] = {}  # what was chosen before the step
        self.names = [n for n in names if not is_leaf(get(cells[n]))]
        #: What the names are before the loop, as far as others see it.
        self.outer: dict[str, Any] = {}
        self.met = set(names)
        self.found: dict[str, Any] = {}  # the tuples that a step has found in names
        #: Of names left as tuples: (before the loop, what the step has found, what it leaves, whether this is new).
        self.tuples: dict[str, tuple[Any, Any, Any, bool]] = {}
        for n in self.names:
            if choices.is_seen(cells[n]):
                self._add(n, get(cells[n]))

    def _add(self, name: str, x: Any) -> None:
        """Others see `x`, which `name` is before the loop."""
        self.outer[name] = x
        for other, y in self.outer.items():
            if x is y:
                self._pair(_Pair((name,), (other,), False), True)
                self._pair(_Pair((other,), (name,), False), True)

    def _pair(self, p: _Pair, start: bool = False) -> str:
        one, other = ("_".join(map(str, spot)) for spot in (p.spot, p.other))
        hidden = f"_tj_is {one} {other} {'now' if p.now else 'before'}"
        if hidden not in self.cells:
            self.cells[hidden] = types.CellType(start)
            self.pairs[hidden] = p
        return hidden

    def enter(self, objects: dict[str, Any]) -> None:
        """A step finds the containers `objects`."""
        self.before = dict(self.choices.found)
        found = {n: objects[n] for n in self.names if n in objects}
        self.found = {n: x for n, x in found.items() if type(x) is tuple}
        for n, x in self.found.items():
            self.choices.tuples.found(x, n)
        self._note(found, objects.keys())

    def check(self, values: Iterable[Any]) -> None:
        """The step, which ends with `values`, has not changed what it may have found, or chosen, in two names. Raises
        UnfollowedError."""
        self.choices.check(self.before)
        self.choices.tuples.prepare(values)

    def _note(self, values: dict[str, Any], changed: Set[str]) -> None:
        spots = _spots(values)
        tuples = [
            x for spot, x in spots.items() if isinstance(x, tuple) and len(spot) > 1 and spot[0] in changed
        ]
        for x in tuples:
            if self.choices.tuples.found(x, None):
                self.choices.vague[id(x)] = x
        for hidden, p in self.pairs.items():
            target = spots.get(p.other) if p.now else self.outer[p.other[0]]
            mine = spots.get(p.spot)
            flag = _raw(get(self.cells[hidden]))
            if mine is not None and target is not None and mine is not target and flag is not False:
                self.choices.add(mine, target, flag)

    def leave(self, own: dict[str, Any], cells: dict[str, Cell]) -> bool:
        """Note which containers the names are after a step; `own`: what they were before the loop. Whether there were
        more to note than was known."""
        before, tuples = list(self.cells), self.choices.tuples
        values = {n: get(cells[n]) for n in own}
        self.tuples = {}
        for n, y in values.items():
            if type(y) is tuple:
                x = self.found.get(n)
                self.tuples[n] = own[n], x, y, tuples.leave(own[n], x, y)
        values = {n: x for n, x in values.items() if x is not UNBOUND and opened(x, frozen=True)}
        self.names = list(dict.fromkeys([*self.names, *values]))
        for n in values.keys() - self.met:  # a place in a container, which was found in a step
            self.met.add(n)
            if own[n] is not UNBOUND and not is_leaf(own[n]):
                self._add(n, own[n])
        starts = {(n,): x for n, x in own.items()} | _spots(own)
        found = {}
        for p, flag in self._same(values):
            start = starts.get(p.spot)
            target = starts.get(p.other) if p.now else self.outer[p.other[0]]
            found[self._pair(p, start is not None and start is target)] = flag
        for hidden in before:
            flag = found.get(hidden, False)
            put(self.cells[hidden], box(flag, weak=True) if isinstance(flag, Value) else bool(flag))
        return len(self.cells) > len(before)

    def _same(self, values: dict[str, Any]) -> Iterator[tuple[_Pair, Any]]:
        for n, x in values.items():
            for other, y in self.outer.items():
                flag = self.choices.same(x, y)
                if flag is not False:
                    yield _Pair((n,), (other,), False), flag
        for a, b, flag in self.choices.pairs(_spots(values)):
            yield _Pair(a, b, True), flag

    def left(self, cells: dict[str, Cell], changed: Set[str]) -> None:
        """The loop has left its names in `cells`, those of `changed` as others than before."""
        values = {n: get(cells[n]) for n in self.names}
        self._note(values, changed)
        for n, x in values.items():
            if type(x) is tuple and n in changed and not (n in self.tuples and self.tuples[n][-1]):
                self.choices.tuples.found(x, None)

    def collects(self, new: Iterable[Any], tails: Collection[str]) -> bool:
        """The step appends the items `new` to lists, whose last ones are the names `tails`. Whether it appends each
        tuple once."""
        new = [*new]
        kept = {n: (before, x, is_new) for n, (before, x, _, is_new) in self.tuples.items() if x is not None}
        carried = self.choices.tuples.collected(new, kept)
        if carried is None:
            return False
        inside = {id(y) for x in new for _, y in spread(x)}
        for n, (before, x, y, _) in self.tuples.items():
            if self.choices.tuples.may_be_among(y, inside):
                return False
            if id(y) in inside:
                if n in carried:
                    return False
                self.tuples[n] = before, x, y, n in tails
        return True


def _spots(values: dict[str, Any]) -> dict[_Spot, Any]:
    """The containers of names, an outer one before what is in it."""
    return {(n, *path): x for n, value in sorted(values.items(), key=_first) for path, x in spread(value)}


def _first(item: tuple[str, Any]) -> str:
    return item[0]


def _raw(x: Any) -> Any:
    """A truth value as a raw one; False itself where it is known not to hold."""
    raw = x.read() if type(x) is Box else x
    return raw if isinstance(raw, Value) else TRUE if raw else False


class Pythons:
    """The hidden names of one loop: `cells`, by what they are called; `of`: those of the numbers."""

    def __init__(self, names: Iterable[str], cells: dict[str, Cell]) -> None:
        self.cells: dict[str, Cell] = {}
        self.of: dict[str, str] = {}
        self.mixed: dict[str, bool] = {}  # those of which Python's number has another type
        for name in names:
            x = get(cells[name])
            if is_unsure(x) and x.aval.dtype in _CARRIED:
                self._add(name, x)
                self.mixed[name] = is_mixed(x)

    def _add(self, name: str, start: Any) -> bool:
        """Carry whether `name`, which is `start` before the loop, is one of Python's numbers, if it is a number."""
        raw = None if start is UNBOUND else raw_of(taken(start))
        if raw is None or aval_of(raw).shape or (type(start) is Box and not start.scalar):
            return False
        if aval_of(raw).dtype not in _CARRIED:
            return False
        self.of[name] = f"_tj_python_{name}"
        self.cells[self.of[name]] = types.CellType(_flag(start))
        return True

    def start(self, name: str, value: Any) -> Any:
        """What is carried of the value of `name` before the loop."""
        return taken(value) if name in self.of else value

    def enter(self, objects: dict[str, Any], cells: dict[str, Cell]) -> None:
        """A step finds the numbers `objects`."""
        for name, hidden in self.of.items():
            flag = get(self.cells[hidden])
            objects[name] = self._unsure(name, objects[name].read(), flag)
            put(cells[name], objects[name])

    def leave(self, starts: dict[str, Any], cells: dict[str, Cell]) -> bool:
        """Note which of the numbers are Python's after a step. Whether there were more of them than was known."""
        more = False
        for name, start in starts.items():
            x = get(cells[name])
            if (name in self.of or was_unsure(x)) and x is not UNBOUND:
                self.mixed[name] = self.mixed.get(name, False) or is_mixed(x) or _differ(start, x)
            if name in self.of and x is not UNBOUND:
                put(self.cells[self.of[name]], _flag(x))
                put(cells[name], box(raw_of(taken(x))))
            elif was_unsure(x) and x.aval.dtype in _CARRIED and self._add(name, start):
                put(cells[name], box(raw_of(taken(x))))
                more = True
        return more

    def left(self, cells: dict[str, Cell], changed: Set[str]) -> None:
        """The loop has left its names in `cells`."""
        for name, hidden in self.of.items():
            flag = get(self.cells[hidden])
            put(cells[name], self._unsure(name, raw_of(get(cells[name])), flag))

    def _unsure(self, name: str, raw: Any, flag: Any) -> Box:
        mixed = True if self.mixed.get(name) else None
        return unsure(raw, flag.read() if type(flag) is Box else flag, mixed)


def _differ(start: Any, x: Any) -> bool:
    """Whether a name begins with a number of another type than it has after a step."""
    raw = None if start is UNBOUND else raw_of(taken(start))
    return raw is not None and aval_of(raw).dtype != x.aval.dtype


def _flag(x: Any) -> Any:
    """Whether `x` is one of Python's numbers, as one of these itself."""
    raw = python_of(x)
    return box(raw, weak=True) if isinstance(raw, Value) else bool(raw)
