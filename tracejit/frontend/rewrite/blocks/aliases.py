"""Which names have one array in a loop and after it.

A step finds arrays in names and leaves arrays in names: those it has made, those it has found in another (or the same)
name, and those of outside. What a name has after `k` steps is traced back through the steps before.

    z, x = x, f(x)      # z: what x had, which the step before has made; in the first step, the x of outside
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeGuard

from tracejit.frontend.lists.marks import note_all
from tracejit.frontend.rewrite.blocks.cells import UNBOUND
from tracejit.frontend.rewrite.blocks.containers import NONE, parts
from tracejit.frontend.rewrite.blocks.identity import reached
from tracejit.frontend.rewrite.blocks.state import Frame
from tracejit.frontend.rewrite.blocks.terms import Entry, NotNative, Permuted
from tracejit.numpy.boxes.sharing.either import Listed, listed_as
from tracejit.numpy.boxes.sharing.references import row_of
from tracejit.tracing import Box, Storage

#: (name, its leaf).
Leaf = tuple[str, int]


class Origin(NamedTuple):
    """Where an array comes from: the one that a step left in the leaf `at`, `ago` steps before the last one; or, if
    there were no more steps, what is `outer`."""

    at: Leaf
    ago: int
    outer: Any = None


def is_boxed(x: Any) -> TypeGuard[Box]:
    """Whether `x` is a traced array of its own, which can be updated in place: none in an arena."""
    return type(x) is Box and not x.scalar and row_of(x) is None


def boxed(value: Any, kept: frozenset[int]) -> dict[int, Box]:
    """The arrays among the leaves of a value."""
    return {n: x for n, x in enumerate(parts(value, kept)[0]) if is_boxed(x)}


def is_written(value: Any, kept: frozenset[int]) -> bool:
    """Whether an array in a value was updated in the step."""
    return any(x.storage.version > 0 for x in boxed(value, kept).values())


class Aliases:
    """The arrays that names have before and after a step: `objects` and `after`, while its frame is open."""

    def __init__(
        self, frame: Frame, entries: dict[str, Entry], objects: dict[str, Any], after: dict[str, Any]
    ) -> None:
        self.frame, self.values = frame, after
        kept = {name: e.form.kept for name, e in entries.items() if e.form is not None}
        self.after = {
            (name, n): x
            for name, value in after.items()
            for n, x in boxed(value, kept.get(name, NONE)).items()
        }
        self.before = {(name, n): x for name, k in kept.items() for n, x in boxed(objects[name], k).items()}
        self.outer = {
            (name, n): y
            for name, k in kept.items()
            if entries[name].value is not UNBOUND
            for n, y in enumerate(parts(entries[name].value, k)[0])
        }
        self.found = {id(x): at for at, x in self.before.items()}
        self.updated = {at for at, x in self.before.items() if x.storage.version}
        self.began = {id(x.storage) for x in self.before.values()}
        outside = {name: x for name, x in frame.before.items() if name not in entries}
        outside |= {name: e.value for name, e in entries.items() if e.form is None}
        self.outside = {id(x) for x in outside.values() if is_boxed(x)}

    def is_made(self, x: Box) -> bool:
        """Whether the step has the array for itself: it has made it, or found it in a name."""
        return x.storage.trace is self.frame.trace and id(x.storage) not in self.frame.claimed

    def origin(self, at: Leaf, count: int | None, lists: Collection[int]) -> Origin | None:
        """Of the array in a leaf after `count` steps: the step that has made it, or put it into one of `lists`
        (storages by identity). None: it has none, or is handed on by all steps of an unknown number."""
        ago, seen = 0, [at]
        while at in self.after:
            x = self.after[at]
            before = self.found.get(id(x))
            if before is None or id(x.storage) in lists:
                return Origin(at, ago)
            ago += 1
            if ago == count:
                return Origin(before, ago, self.outer.get(before))
            if before in seen:  # they exchange their arrays
                if count is None:
                    return None
                period = len(seen) - seen.index(before)
                ago += (count - ago - 1) // period * period
                seen = []
            at = before
            seen.append(at)
        return None

    def check(self, lists: Collection[int]) -> None:
        """What is appended to lists (storages by identity) is not updated by later steps, nor only perhaps a name's.

        Raises:
            NotNative: it is, so that the rows of an array are not enough.
        """
        for at in sorted(self.updated if lists else ()):
            origin = self.origin(at, None, lists)
            if origin is not None and id(self.after[origin.at].storage) in lists:
                raise NotNative(f"`{at[0]}` is updated in place, and appended to a list", name=at[0])
        for (name, _), x in self.after.items():
            if any(id(r.storage) in lists for r in [*reached(x.storage, x.chain)][1:]):
                raise NotNative(f"`{name}` may be what it appends to a list", name=name)


def name_of(x: Any, objects: dict[str, Any]) -> str | None:
    """The name of `x`."""
    return next((m for m, y in objects.items() if y is x), None)


def order_of_swaps(to: dict[str, str | None], mixed: list[str]) -> tuple[int, list[str]]:
    """(after how many steps the names of `mixed` have their own arrays again, or 0; all that swap)."""
    now: dict[str, Any] = {n: n for n in mixed}
    seen = set(mixed)
    for fold in range(1, 7):
        now = {n: to.get(m) for n, m in now.items()}
        if None in now.values():
            return 0, []
        seen |= set(now.values())
        if all(n == m for n, m in now.items()):
            return fold, sorted(seen)
    return 0, []


def fold_swaps(entries: dict[str, Entry], objects: dict[str, Any], after: dict[str, Any]) -> None:
    """`a, b = b, a` of arrays that are updated in place is done by several steps at once. Raises Permuted."""
    mixed = [
        n
        for n, e in entries.items()
        if e.form is not None and is_written(objects[n], e.form.kept) and after[n] is not objects[n]
    ]
    if not mixed:
        return
    to = {n: name_of(after[n], objects) for n in entries if is_boxed(objects[n])}
    fold, cycle = order_of_swaps(to, mixed)
    if fold:
        raise Permuted(fold, cycle)


class Marks:
    """Arrays that a loop puts into lists of traced length, where its later steps find them: what is listed when a step
    begins. `of_names`: arrays that it finds in names, `of_outside`: by identity, arrays of before the loop."""

    def __init__(self) -> None:
        self.of_names: dict[Leaf, Listed] = {}
        self.of_outside: dict[int, tuple[Storage, Listed]] = {}
        self.boxes: dict[Leaf, Box] = {}

    def enter(self, frame: Frame, boxes: dict[Leaf, Box]) -> None:
        """The step finds `boxes` in names."""
        note_all(self.of_outside.values())
        self.boxes = boxes = {key: x for key, x in boxes.items() if row_of(x) is None}
        for key, x in boxes.items():
            frame.found.add(id(x.storage))
            x.storage.rows = listed_as(x.storage.rows, self.of_names.get(key))

    def leave(self, frame: Frame, entries: dict[str, Any], found: dict[str, Any]) -> bool:
        """Whether the step, which has put arrays into lists and leaves `found` in names, had known all of it."""
        complete = True
        for storage, mark in frame.listed_outside():
            complete &= id(storage) in self.of_outside
            self.of_outside[id(storage)] = storage, mark
        for (name, n), x in self.boxes.items():
            outer = entries[name].form.dynamic[n]
            if x.storage.rows is not None and outer.listed is None and (name, n) not in self.of_names:
                self.of_names[name, n] = x.storage.rows
                if outer.storage is not None:
                    self.of_outside[id(outer.storage)] = outer.storage, x.storage.rows
                complete = False
        for name, (form, _) in found.items():
            before = entries[name].form
            for n, leaf in enumerate(form.dynamic):
                start = None if before is None else before.dynamic[n].listed
                known = listed_as(start, self.of_names.get((name, n)))
                leaf.listed = listed_as(known, leaf.listed)
                if leaf.listed is not None and known is None:
                    self.of_names[name, n] = leaf.listed
                    complete = False
        return complete
