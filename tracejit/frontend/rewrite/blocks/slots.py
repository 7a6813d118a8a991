"""Which arrays the names are that a loop binds anew, from step to step.

A step finds each of them as a chosen array (`numpy.boxes.sharing.either`): the carried value is that of an array of
outside, of another name's, or of one of its own, as flags say that are carried with it. What is never written costs
nothing: the flags are dead then.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tracejit import ops
from tracejit.frontend.rewrite.blocks.cells import Cell, get
from tracejit.frontend.rewrite.blocks.identity import (
    ANEW,
    FALSE,
    MOST,
    TRUE,
    Reach,
    flag_of,
    known_identity,
    lies_apart,
    made_under,
    reached,
    same_chain,
)
from tracejit.frontend.rewrite.blocks.state import Form, Frame, Leaf
from tracejit.frontend.rewrite.blocks.terms import Entry, NotNative
from tracejit.ir.references import ONLY_LOCAL
from tracejit.ir.values import Value
from tracejit.numpy.boxes.sharing.either import VAGUE, Chain, Either, Owner, owner_of
from tracejit.numpy.boxes.views import Region, Strided, joined
from tracejit.tracing import Box, Storage, View

Key = tuple[str, int]  # a name, and which of its arrays


class Slot(NamedTuple):
    """What a name may be: `chain` of an array of outside, or of what another name is (a Key); so it is before the
    first step if the raw flag `start` holds. `identity`: which view it is, or None."""

    target: Storage | Key
    chain: Chain | None
    start: Any
    identity: Any

    def fits(self, target: Any, chain: Chain | None, identity: Any) -> bool:
        if target != self.target if isinstance(target, tuple) else target is not self.target:
            return False
        return identity is self.identity and same_chain(chain, self.chain)


class Slots:
    """The slots of all names of a loop.

    `before`, `after`: their flags in the step that was staged last (None: not looked at), and after it. `boxes`: the
    arrays that the step found."""

    def __init__(self) -> None:
        self.of: dict[Key, list[Slot]] = {}
        self.before: dict[Key, list[Any]] = {}
        self.after: dict[Key, list[Any]] = {}
        self.boxes: dict[Key, Box] = {}
        self.outer: dict[Key, Leaf] = {}  # what the names are before the loop

    def starts(self, forms: dict[str, Form], alone: Iterable[str]) -> list[Any]:
        """The flags that the names start with; what those of `alone` are nothing else sees."""
        for name, form in forms.items():
            for n, leaf in enumerate(form.dynamic):
                self.outer[name, n] = leaf
                if (name, n) not in self.of:
                    found = () if name in alone else reached(leaf.storage, leaf.chain, leaf.identity)
                    self.of[name, n] = [Slot(r.storage, r.chain, flag_of(r), r.identity) for r in found]
        return [slot.start for slots in self.of.values() for slot in slots]

    # -- one step

    def enter(self, boxes: dict[Key, Box], flags: Iterable[Any]) -> None:
        """The step finds `boxes`, which become chosen arrays."""
        self.boxes = boxes
        given = iter(flags)
        self.before = {key: [next(given) for _ in slots] for key, slots in self.of.items()}
        self._own(boxes, self.before)

    def _own(self, boxes: dict[Key, Box], flags: dict[Key, list[Any]]) -> None:
        """Let boxes be chosen arrays, as `flags` say."""
        leaders = {
            slot.target for slots in self.of.values() for slot in slots if isinstance(slot.target, tuple)
        }
        for key, b in boxes.items():
            if self.of.get(key) or key in leaders:
                b.storage, before = Either(b.storage.held), b.storage
                b.storage.layout, b.storage.rows = before.layout, before.rows
        for key in sorted(boxes, key=self._depth):
            box = boxes[key]
            if isinstance(box.storage, Either):
                box.storage.own(self._owners(key, flags.get(key, ()), boxes))

    def _owners(self, key: Key, flags: Sequence[Any], boxes: dict[Key, Box]) -> Iterator[Owner]:
        for slot, flag in zip(self.of.get(key, ()), flags, strict=True):
            if flag is not None:
                storage, chain, view = self._target(slot, boxes)
                dtype = boxes[key].aval.dtype
                yield owner_of(storage, chain, dtype, flag, True, known_identity(view))

    def _target(self, slot: Slot, boxes: dict[Key, Box]) -> tuple[Storage, Chain | None, Any]:
        """Where a slot's array is, and which view it is; names that the loop leaves alone are after it what they were
        before."""
        if not isinstance(slot.target, tuple):
            return slot.target, slot.chain, slot.identity
        if slot.target in boxes:
            return boxes[slot.target].storage, slot.chain, slot.identity
        leaf = self.outer[slot.target]
        assert leaf.storage is not None
        view = leaf.identity if slot.identity is None else slot.identity
        return leaf.storage, None if slot.chain is None else joined(leaf.chain, slot.chain), view

    def _depth(self, key: Key, around: tuple[Key, ...] = ()) -> int:
        """How many names one comes by from the array of a name to those that it may be. Raises NotNative."""
        if key in around:
            raise NotNative(f"`{key[0]}` and `{around[-1][0]}` may be parts of each other", name=key[0])
        targets = [slot.target for slot in self.of.get(key, ()) if isinstance(slot.target, tuple)]
        return 1 + max((self._depth(t, (*around, key)) for t in targets), default=0)

    def leave(self, after: dict[str, Form], frame: Frame) -> bool:
        """Whether the step, after which the names are `after`, had all slots that it needs. Raises NotNative."""
        step = _Step(self, after, frame)
        self.after = step.flags()
        for key in self.of:
            self._depth(key)
        return step.complete

    # -- after the loop

    def left(self, boxes: dict[Key, Box], flags: dict[Key, list[Any]], ran: bool) -> None:
        """The loop has left `boxes`; `ran`: it had a step."""
        never = {key: [ran and f is FALSE for f in fs] for key, fs in self.after.items()}
        seen = {
            key: [None if no else f for f, no in zip(fs, never[key], strict=True)]
            for key, fs in flags.items()
        }
        self._own(boxes, seen)


class _Step:
    """Which arrays the names are after a step."""

    def __init__(self, slots: Slots, after: dict[str, Form], frame: Frame) -> None:
        self.slots = slots
        self.frame = frame
        self.reached = {
            (name, n): list(reached(leaf.storage, leaf.chain, leaf.identity))
            for name, form in after.items()
            for n, leaf in enumerate(form.dynamic)
        }
        self.views = Counter(i for rs in self.reached.values() for i in {r.identity for r in rs})
        self.inner: dict[int, list[tuple[Key, Reach]]] = {}  # of the arrays that the step has made or found
        for key, rs in self.reached.items():
            for r in rs:
                if r.storage.trace is frame.trace and id(r.storage) not in frame.claimed:
                    self.inner.setdefault(id(r.storage), []).append((key, r))
        for key in self.reached:
            slots.of.setdefault(key, [])
            slots.before.setdefault(key, [])
        self.found: dict[Key, list[Any]] = {k: [FALSE] * len(s) for k, s in slots.of.items()}
        self.links: set[tuple[Key, Key]] = set()
        self.complete = True

    def flags(self) -> dict[Key, list[Any]]:
        for key, rs in self.reached.items():
            for r in rs:
                if id(r.storage) not in self.inner:
                    self._add(key, r.storage, self._known(r.chain), flag_of(r), self._view(r.identity))
        for several in self.inner.values():
            self._check_gaps(several)
            for (m, x), (key, y) in itertools.combinations(several, 2):
                if m != key:
                    self._link(m, x, key, y)
        return self.found

    @staticmethod
    def _check_gaps(several: list[tuple[Key, Reach]]) -> None:
        """Raises NotNative for a view which lies in memory as no new array does, if no name has the array itself: the
        next step is given the values alone."""
        if not any(r.chain == () for _, r in several):
            for key, r in several:
                if lies_apart(r):
                    raise NotNative(
                        f"`{key[0]}` is a view with gaps of an array that a step makes", name=key[0]
                    )

    def _link(self, m: Key, x: Reach, key: Key, y: Reach) -> None:
        """Two names that may be one array which the step has made or found."""
        a, b = self._known(x.chain), self._known(y.chain)
        i, j = x.identity, y.identity
        if b == () and j is None and (a != () or i is not None):
            m, a, i, key, b, j = key, b, j, m, a, i
        if a is not None and same_chain(a, b):
            a, b, i, j = (), (), None, None if i is j and i is not VAGUE else j
        if a != () or i is not None or (m, key) in self.links:
            raise NotNative(f"`{m[0]}` and `{key[0]}` may be parts of one array", name=m[0])
        self.links.add((key, m))
        self._add(key, m, b, _both(flag_of(x), flag_of(y)), self._view(j))

    def _view(self, identity: Any) -> Any:
        """Which view a name is, for later steps: views of this one are made anew by each."""
        if not made_under(identity, self.frame.trace):
            return identity
        return ANEW if self.views[identity] == 1 else VAGUE

    def _known(self, chain: Chain | None) -> Chain | None:
        """`chain`, or None if it depends on numbers of the step."""
        return None if chain is None or any(map(self._is_inner, chain)) else chain

    def _add(self, key: Key, target: Storage | Key, chain: Chain | None, flag: Any, view: Any) -> None:
        slots, flags = self.slots.of[key], self.found[key]
        if len(slots) >= MOST:
            chain = None
        flag = TRUE if chain is None else flag
        for n, slot in enumerate(slots):
            if slot.fits(target, chain, view):
                flags[n] = _either(flags[n], flag)
                return
        slots.append(Slot(target, chain, TRUE if chain is None else FALSE, view))
        self.slots.before[key].append(None)
        flags.append(flag)
        self.complete = self.complete and not self._needed(key, target)

    def _needed(self, key: Key, target: Storage | Key) -> bool:
        """Whether the step may have to know that the name was `target` before it."""
        own = self.slots.boxes.get(key)
        other: Storage | None = target if isinstance(target, Storage) else None
        if isinstance(target, tuple) and target in self.slots.boxes:  # else it had none before the step
            other = self.slots.boxes[target].storage
        changed = other is not None and other.version > 0 and other.trace is self.frame.trace
        if changed or own is None:
            return changed
        return own.storage.version > 0 or id(own.storage) in self.inner or id(own.storage) in self.frame.asked

    def _is_inner(self, view: View) -> bool:
        """Whether a view starts at a number of the step, or may do so."""
        if not isinstance(view, (Region, Strided)):
            return not view.writable
        numbers = view.numbers if isinstance(view, Strided) else (*view.starts, *view.sizes)
        return any(isinstance(x, Value) and x.trace is self.frame.trace for x in numbers)


def forms_after(entries: dict[str, Entry], found: dict[str, Any], after: dict[str, Any]) -> dict[str, Form]:
    """The forms of the names after a step, those that it leaves alone first; `found` has those of the others."""
    same = {
        n: Form(after[n], e.form.kept) for n, e in entries.items() if e.form is not None and n not in found
    }
    return same | {n: form for n, (form, _) in found.items()}


def is_alone(cell: Cell) -> bool:
    """Whether nothing but the cell refers to the array in it."""
    x = get(cell)
    if type(x) is not Box or isinstance(x.storage, Either) or sys.getrefcount(x) > ONLY_LOCAL + 1:
        return False
    storage = x.storage
    return storage.origin is None and sys.getrefcount(storage) <= ONLY_LOCAL + 1


def _both(a: Any, b: Any) -> Any:
    return b if a is TRUE else a if b is TRUE else ops.compare.and_(a, b)


def _either(a: Any, b: Any) -> Any:
    return b if a is FALSE else a if b is FALSE else TRUE if a is TRUE or b is TRUE else ops.compare.or_(a, b)
