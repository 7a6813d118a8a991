"""Which lists, dicts and objects the names of a loop are, of those that somebody else may see.

    best = params                          # the caller's dict
    for x in xs:
        params = {"w": params["w"] - x}
        if loss(params) < low:
            best = params                  # after the loop: the caller's, that of `params`, or one of its own

A step makes the containers of its names anew from what is carried. Whether one is the container that a name had before
the loop, or the one that another name has, is carried too: as the truth value of a hidden name.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tracejit import tree
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell, get, put
from tracejit.frontend.rewrite.blocks.chosen import Choices, is_seen
from tracejit.frontend.rewrite.blocks.containers import opened
from tracejit.frontend.rewrite.blocks.identity import TRUE
from tracejit.ir.values import Value
from tracejit.tracing import Box, box


class _Pair(NamedTuple):
    """That `name` is the container that `other` had before the loop, or (`now`) the one that it has."""

    name: str
    other: str
    now: bool


class Picked:
    """The hidden names of one loop: `cells`, by what they are called."""

    def __init__(self, names: Iterable[str], cells: dict[str, Cell], choices: Choices) -> None:
        self.choices = choices
        self.cells: dict[str, Cell] = {}
        self.pairs: dict[str, _Pair] = {}
        self.names = [n for n in names if not tree.is_leaf(get(cells[n]))]
        #: What the names are before the loop, as far as others see it.
        self.outer = {n: get(cells[n]) for n in self.names if is_seen(cells[n])}
        for n, x in self.outer.items():
            for other, y in self.outer.items():
                if x is y:
                    self._pair(n, other, False, True)

    def _pair(self, name: str, other: str, now: bool, start: bool = False) -> str:
        hidden = f"_tj_is_{name}_{other}_{'now' if now else 'before'}"
        if hidden not in self.cells:
            self.cells[hidden] = types.CellType(start)
            self.pairs[hidden] = _Pair(name, other, now)
        return hidden

    def enter(self, objects: dict[str, Any]) -> None:
        """A step finds the containers `objects`."""
        self._note({n: objects[n] for n in self.names if n in objects})

    def _note(self, values: dict[str, Any]) -> None:
        for hidden, p in self.pairs.items():
            target = values.get(p.other) if p.now else self.outer[p.other]
            mine = values.get(p.name)
            flag = _raw(get(self.cells[hidden]))
            if mine is not None and target is not None and mine is not target and flag is not False:
                self.choices.add(mine, target, flag)

    def leave(self, names: Iterable[str], cells: dict[str, Cell]) -> bool:
        """Note which containers the names are after a step. Whether there were more to note than was known."""
        before = list(self.cells)
        values = {n: get(cells[n]) for n in names}
        values = {n: x for n, x in values.items() if x is not UNBOUND and opened(x, frozen=True)}
        self.names = list(dict.fromkeys([*self.names, *values]))
        found = {self._pair(n, other, now): flag for n, other, now, flag in self._same(values)}
        for hidden in before:
            flag = found.get(hidden, False)
            put(self.cells[hidden], box(flag, weak=True) if isinstance(flag, Value) else bool(flag))
        return len(self.cells) > len(before)

    def _same(self, values: dict[str, Any]) -> Iterator[tuple[str, str, bool, Any]]:
        for n, x in values.items():
            for other, y in self.outer.items():
                flag = self.choices.same(x, y)
                if flag is not False:
                    yield n, other, False, flag
            for other, y in values.items():
                flag = False if other >= n else x is y or self.choices.same(x, y)
                if flag is not False:
                    yield n, other, True, flag

    def left(self, cells: dict[str, Cell]) -> None:
        """The loop has left its names in `cells`."""
        if self.pairs:
            self._note({n: get(cells[n]) for n in self.names})


def _raw(x: Any) -> Any:
    """A truth value as a raw one; False itself where it is known not to hold."""
    raw = x.read() if type(x) is Box else x
    return raw if isinstance(raw, Value) else TRUE if raw else False
