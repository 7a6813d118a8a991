"""The containers among the values of a loop's names that its steps replace.

They are made anew for each step from what is carried. That is right if nobody sees the difference:

    old = state
    for x in xs:
        old["n"] += 1          # of the first step only: one step in Python, then `state` is not `old` any more
        state = {"n": state["n"] + x}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejit.frontend import active
from tracejit.frontend.rewrite.blocks.cells import Cell, Place
from tracejit.frontend.rewrite.blocks.containers import NONE, is_leaf, opened, parts, replaced
from tracejit.frontend.rewrite.blocks.hidden import Picked
from tracejit.frontend.rewrite.blocks.state import Frame
from tracejit.frontend.rewrite.blocks.terms import Entry, NotNative
from tracejit.tracing import Box


class Replaced:
    """Which containers steps leave where they are: all of before the loop, until a step is seen to replace one."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[int, Any]] = {}  # of each name, by identity

    def keep(self, name: str, value: Any) -> frozenset[int]:
        """Those of a name's value."""
        if name not in self.kept:
            self.kept[name] = {id(x): x for x in opened(value)}
        return frozenset(self.kept[name])

    def of(self, name: str, e: Entry) -> frozenset[int]:
        """Those of a name as a step finds it."""
        return NONE if e.form is None else e.form.kept

    def found(self, name: str, before: Any, after: Any) -> bool:
        """Whether a step replaces containers of a name that were kept until now."""
        kept = self.kept.get(name, {})
        gone = [kept.pop(k, None) for k in replaced(before, after)]
        return any(x is not None for x in gone)

    # -- what would be seen; all of these raise NotNative

    def check_start(self, name: str, value: Any, cells: Iterable[Cell]) -> None:
        """The step changes nothing in a container of before the loop that it also replaces."""
        owners = {id(cell.owner) for cell in cells if type(cell) is Place}
        if owners and any(id(x) in owners for x in opened(value, self.kept[name])):
            raise _changed(name)

    def check_given(self, name: str, e: Entry, given: Any, boxes: dict[tuple[str, int], Box]) -> None:
        """The step has changed nothing in the containers that were made for it."""
        if e.form is None or e.form.tree.is_leaf():
            return
        leaves, treedef = parts(given, e.form.kept)
        before = e.form.filled(boxes[name, n] for n in range(len(e.form.dynamic)))[: e.form.count]
        if treedef != e.form.tree or any(a is not b for a, b in zip(leaves, before, strict=True)):
            raise _changed(name)

    def check_outside(self, name: str, e: Entry, value: Any, frame: Frame, picked: Picked) -> None:
        """The step does not put a container of outside into a name, nor one that may be one, unless the loop carries
        whether it is."""
        mine = opened(value, self.of(name, e), frozen=True)
        known = {id(x) for x in picked.outer.values()}
        may_be = [
            o.container
            for x in mine
            for o in picked.choices.options(x)
            if x is not value or id(o.container) not in known
        ]
        seen = frame.containers.seen.keys() | frame.containers.tuples.keys()
        session = active.session()  # which may have met them in the step
        found = [x for x in (*mine, *may_be) if id(x) in seen or session.is_stand_in(x)]
        if (
            tuples := session.choices.tuples.numbered and session.choices.tuples
        ):  # whose numbers say which they are
            found = [x for x in found if type(x) is not tuple or tuples.number(x) is None]
        if found:
            error = NotNative(f"`{name}` is a container of outside after a step", peel=True, name=name)
            error.numbers_tuples = all(type(x) is tuple for x in found)
            raise error

    def check_handed_on(
        self, entries: dict[str, Entry], objects: dict[str, Any], after: dict[str, Any]
    ) -> None:
        """No container of before the loop is handed from name to name through all steps."""
        held = {n: opened(objects[n], e.form.kept) for n, e in entries.items() if e.form is not None}
        owner = {id(x): name for name, xs in held.items() for x in xs}
        if not owner:
            return
        to = {
            name: {owner[id(x)] for x in opened(after[name], self.of(name, e)) if id(x) in owner}
            for name, e in entries.items()
        }
        for name in entries:
            if after[name] is not objects.get(name) and _reaches_cycle(name, to, ()):
                raise NotNative(f"`{name}` may be a container that had another name before", name=name)


def _reaches_cycle(name: str, to: dict[str, set[str]], path: tuple[str, ...]) -> bool:
    return name in path or any(_reaches_cycle(m, to, (*path, name)) for m in to[name])


def _changed(name: str) -> NotNative:
    why = f"it changes what is in `{name}`, and puts another container there"
    return NotNative(why, peel=True, name=name)


def put_apart(
    keep: Iterable[str],
    names: tuple[dict[str, Any], dict[str, Any]],
    cells: dict[str, Cell],
    kept: dict[str, frozenset[int]],
) -> str | None:
    """What is wrong where a name is another container after one of two branches than after the other, and one of them
    puts containers into it: which of them lie in it is looked at as it was before. `names`: what names, and places of
    containers, are after either, but for `kept` ones."""
    then, other = names
    moved = [n for n in keep if then[n] is not other[n] and not (is_leaf(then[n]) and is_leaf(other[n]))]
    owners = {id(cell.owner) for n in moved if type(cell := cells[n]) is Place}
    for name in moved if owners else ():
        xs = [x for x in (then[name], other[name]) if not is_leaf(x)]
        if any(id(y) in owners for x in xs for y in opened(x, kept.get(name, NONE))):
            return f"it puts a container into one that `{name}` may be after it"
    return None
