"""What staging a step of a loop gives."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops
from tracejit.control.regions.staging import convert
from tracejit.frontend.active import in_loop
from tracejit.frontend.lists.marks import note_all
from tracejit.frontend.rewrite.blocks.aliases import Aliases
from tracejit.frontend.rewrite.blocks.cells import Cell, put
from tracejit.frontend.rewrite.blocks.grown import Column, Filled
from tracejit.frontend.rewrite.blocks.hidden import Picked, Pythons
from tracejit.frontend.rewrite.blocks.identity import TRUE
from tracejit.frontend.rewrite.blocks.lengths import Lengths
from tracejit.frontend.rewrite.blocks.slots import Slots
from tracejit.frontend.rewrite.blocks.state import Form
from tracejit.frontend.rewrite.blocks.terms import NotNative
from tracejit.interpreters import leaks
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes.indexing import refill
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.sharing.either import settle
from tracejit.numpy.boxes.unsure import unsure
from tracejit.records import record
from tracejit.tracing import Box, Storage, current_trace, use_trace

_LEFT = "a number that a loop may leave as it is"


def _is_fixed(c: Carried, some: bool) -> bool:
    """Whether a number of the carry is the same constant after any loop, or after any that has `some` step."""
    if isinstance(c.out, Value) or np.ndim(c.out):
        return False
    same = not isinstance(c.init, Value) and aval_of(c.init).dtype == np.bool_
    return some or (same and bool(c.init == c.out))


class Carried(NamedTuple):
    """A part of the carry: the input it comes in as (None: it is not looked at), its start and its result."""

    var: Var | None
    init: Any
    out: Any


class Turn(NamedTuple):
    """A part of the carry has another type or order in memory than it starts with, after so many `steps`."""

    is_number: bool  # and was one
    steps: int


def turn_of(first: Any, last: Any, kind: tuple[np.dtype, bool] | None, steps: int) -> Turn | None:
    """How a part that starts as the leaf `first` is another after `steps`. `kind`: its dtype then, and whether it is
    Python's; None if that is carried itself."""
    if (first.scalar, first.order) != (last.scalar, last.order):
        return Turn(False, steps)
    turns = kind is not None and (aval_of(first.raw).dtype, first.weak) != kind
    return Turn(True, steps) if turns else None


class Doubts:
    """Whether a step is sure to turn the types that it has turned while it was staged: it may not where a branch gives
    a number one of two types, and where a loop in it turns one, which may have too few steps. As what is staged last
    starts with the types that are found in the end, the latter is seen only in what was staged before."""

    def __init__(self) -> None:
        self.mixed = False  # a branch in it gave a number one of two types
        self.steps = 0  # so many steps it took a loop in it to turn a type
        self.known = True  # and they are known in the step

    def note(self, trace: StageTrace) -> None:
        """Take in what was found while a step was staged."""
        self.mixed |= trace.mixed
        for steps, needed in trace.loops:
            self.steps = max(self.steps, needed)
            self.known &= steps is not None or not needed


def _is_of_one_loop(trace: StageTrace, c: Carried) -> bool:
    """Whether a step does nothing to a part of its carry but what one loop in it does."""
    made = [e for e in trace.eqns if c.out in e.outvars] if type(c.out) is Var else []
    if not made or not {"jaxpr", "body"} & made[0].params.keys():
        return False
    n = made[0].outvars.index(c.out)
    carry = made[0].params.get("carry", len(made[0].outvars))
    return n < carry and made[0].invars[len(made[0].invars) - carry + n] is c.var


@record()
class Result:
    """A staged step. `names`: what each changed name is made of afterwards. `lists`: those that it appends to,
    `tails`: their last items, as names. `arrays`: what it appends, by identity of the storage, `views`: of what it
    appends views.
    """

    trace: StageTrace
    args: list[Var]
    carried: list[Carried]
    constant: list[tuple[Var, Any]]
    names: dict[str, tuple[Form, list[bool]]]
    storages: list[Storage]
    extra: list[Any]  # raw results of `finish`
    cells: dict[str, Cell]
    slots: Slots  # which arrays the names may be
    lists: list[Filled]
    arrays: dict[int, tuple[Box, Column, int]]
    views: dict[int, list[Column]]
    aliases: Aliases
    tails: Collection[str]
    turned: dict[int, Turn]  # parts of the carry
    doubts: Doubts  # whether a step does
    unbound: Collection[str]  # names that are unbound after no step, and nobody looks whether there was one
    hidden: tuple[Picked, Pythons]
    lengths: Lengths  # of arrays in the carry
    listed: Collection[Any] = ()  # arrays that it puts into lists, as frames have them
    #: Parts of the carry -> where they are still Python's.
    unsure: dict[int, Any] = field(default_factory=dict)
    followed: frozenset[int] = frozenset()  # parts that are what they were if no loop in the step turned them

    @property
    def pure_python(self) -> bool:
        """Whether it computes with Python's own numbers only, nothing of which is traced."""
        held = [*self.trace.consts, *(c.init for c in self.carried), *(x for _, x in self.constant)]
        weak = all(all(w) for _, w in self.names.values()) and all(f.pure_python for f in self.lists)
        return weak and not self.storages and not any(isinstance(x, (Value, np.ndarray)) for x in held)

    def jaxpr(self, first: list[Var], lead: list[Var], outs: list[Any]) -> tuple[Jaxpr, list[Any], list[Any]]:
        """(jaxpr, constants, starts): over (*first, *constants, *lead, *carry); gives (*outs, *carry, *what is
        appended to lists). Raises NotNative."""
        self._check_turns()
        self._check_loops()
        with use_trace(self.trace):
            new = [convert(c.out, aval_of(c.init).dtype) for c in self.carried]
            appended = [x for f in self.lists for x in f.raws]
            jaxpr, consts = self.trace.freeze(self.args, [*outs, *new, *appended])
        leaks.check_jaxpr("a loop", jaxpr)
        carry = [c.var or Var(None, aval_of(c.init)) for c in self.carried]
        constant = [*jaxpr.invars[: len(consts)], *(v for v, _ in self.constant)]
        consts += [x for _, x in self.constant]
        invars = (*first, *constant, *lead, *carry)
        return Jaxpr(invars, jaxpr.eqns, jaxpr.outs, jaxpr.name), consts, [c.init for c in self.carried]

    def _check_turns(self) -> None:
        """Raises NotNative if it is not known after the loop, or is not so, that it had steps enough."""
        most = self.args[0].bounds
        for n, turn in self.turned.items():
            if turn.steps > 1 and not aval_of(self.carried[n].out).shape:
                if self.doubts.mixed:
                    raise NotNative("any of its steps may be one of those that change a number's type")
                if most is not None and most[1] + 1 < turn.steps:
                    raise NotNative("it has too few steps for types to settle")

    def _check_loops(self) -> None:
        """See to it that loops in the step turn the types that they turn: by the values after the loop, of what changes
        in one of them alone, or by leaving the first steps. Raises NotNative."""
        parts = [n for n, turn in self.turned.items() if not self._is_taken(n, turn)]
        if not self.doubts.steps or not parts:
            return
        if self.doubts.steps == 1 and all(self._follows(n) for n in parts):
            self.followed = frozenset(parts)
            return
        seen = [steps for steps, _ in self.trace.loops]
        if not self.doubts.known or any(steps is None for steps in seen):
            raise NotNative("a loop in it may have too few steps to change a number's type")
        early = max(self.turned[n].steps for n in parts)
        with use_trace(self.trace):
            few = [ops.compare.lt(steps, np.int64(self.doubts.steps)) for steps in seen]
            first = ops.compare.lt(self.args[0], np.int64(early))
            leave_if(ops.compare.and_(first, functools.reduce(ops.compare.or_, few)), _LEFT)

    def _follows(self, n: int) -> bool:
        c, turn = self.carried[n], self.turned[n]
        return turn.is_number and turn.steps == 1 and _is_of_one_loop(self.trace, c)

    def _is_taken(self, n: int, turn: Turn) -> bool:
        """Whether it is carried on which way a number has its type."""
        return turn.is_number and self.carried[n].init is not None and self._numpys()[n]

    def record(self, fn: Callable[[], Any]) -> Any:
        """`fn()` as a part of the step."""
        with use_trace(self.trace):
            return fn()

    def know_ranges(self, outs: list[Any]) -> None:
        """The integers that the loop ends with have the ranges that they have in it."""
        for c, x in zip(self.carried, outs, strict=False):
            if type(x) is Var and c.var is not None and x.bounds is None:
                x.bounds = c.var.bounds

    def check_start(self, outs: list[Any], some: Any, steps: Any) -> None:
        """See to names that the loop leaves as they were if it has no step, or too few; `some`: whether it has one."""
        if self.unbound and some is not TRUE:
            what = f"the name `{min(self.unbound)}`, which a loop without steps leaves unbound"
            leave_if(ops.compare.not_(some), what)
        self.check_turned(outs, some, steps)
        for n, c in enumerate(self.carried[: len(self._numpys())]):
            if n not in self.turned and _is_fixed(c, some is TRUE):
                outs[n] = convert(c.out, aval_of(c.init).dtype)

    def check_turned(self, outs: list[Any], some: Any, steps: Any) -> None:
        """Find where a number that starts as one of another type may still be that: no step was made, which
        `some` says, or fewer than it takes, or no step that changes it."""
        self.know_ranges(outs)
        needed = 0
        for n, turn in self.turned.items():
            has_axes = bool(aval_of(outs[n]).shape)
            if has_axes and turn.is_number:
                continue
            if (self.doubts.mixed or n in self.followed) and not has_axes:
                same = ops.compare.eq(outs[n], self.carried[n].init)
            elif turn.steps > 1:
                same = ops.compare.lt(steps, np.int64(turn.steps))
            else:
                same = ops.compare.not_(some)
            if self._is_taken(n, turn):
                self.unsure[n] = same
            elif isinstance(same, Value) or same:
                leave_if(same, _LEFT)
                needed = max(needed, turn.steps if not self.doubts.steps or self.followed else 2)
        if (loop := in_loop()) is not None:
            known = current_trace() is loop and not self.doubts.steps
            loop.loops.append((steps if known else None, needed))

    def _rebuilt(self, place: int, leaf: Any, raw: Any, weak: bool) -> Box:
        return unsure(raw, self.unsure[place]) if place in self.unsure else leaf.rebuilt(raw, weak)

    def _numpys(self) -> list[bool]:
        """Which of the parts of names end as NumPy's numbers."""
        return [not w for _, weak in self.names.values() for w in weak]

    def write_back(self, outs: list[Any], count: int | None = None) -> None:
        """Names, storages and lists get the values that the loop ended with, after `count` steps."""
        if count == 0:
            return
        place = itertools.count()
        values, stacks = iter(outs[: len(self.carried)]), iter(outs[len(self.carried) :])
        sizes = outs[len(self.carried) - len(self.lengths.groups) : len(self.carried)]
        for filled in self.lists:
            filled.extend(stacks, count or 0)
        boxes = {
            (name, n): self._rebuilt(next(place), leaf, self.lengths.array((name, n), next(values), sizes), w)
            for name, (form, weak) in self.names.items()
            for n, (leaf, w) in enumerate(zip(form.dynamic, weak, strict=True))
        }
        refill([(s, next(values)) for s in self.storages])
        settle(self.storages)
        note_all(self.listed)
        flags = {key: [next(values) for _ in slots] for key, slots in self.slots.of.items()}
        self.slots.left(boxes, flags, count is not None)
        for name, (form, _) in self.names.items():
            if name not in self.tails:
                leaves = form.filled(boxes[name, n] for n in range(len(form.dynamic)))
                leaves = [self._listed((name, n), x, count) for n, x in enumerate(leaves)]
                put(self.cells[name], form.laid(leaves))
                for n, x in enumerate(leaves):
                    self._watch((name, n), x, count)
        for names in self.hidden:
            names.left(self.cells, self.names.keys())
        for column in (c for filled in self.lists for c in filled.columns):
            column.watch()
        for storage in self.views.keys() & self.arrays.keys():
            for column in self.views[storage]:
                column.watch(self.arrays[storage][1].objects[-1])

    def _watch(self, at: tuple[str, int], x: Any, count: int | None) -> None:
        """If `x`, the leaf of a name, is what lists have views of: they are good until it is written."""
        origin = self.aliases.origin(at, count, self.views) if self.views else None
        if origin is not None:
            for column in self.views.get(id(self.aliases.after[origin.at].storage), ()):
                column.watch(x)

    def _listed(self, at: tuple[str, int], x: Any, count: int | None) -> Any:
        """What a leaf of a name is after the loop: an array of a list, if a step has put it into one, else `x`."""
        if not self.lists or count is None:
            return x
        origin = self.aliases.origin(at, count, self.arrays)
        if origin is None or origin.ago == count:
            return x
        if id(self.aliases.after[origin.at].storage) not in self.arrays:
            return x
        _, column, item = self.arrays[id(self.aliases.after[origin.at].storage)]
        return column.objects[(count - origin.ago - 1) * column.size + item]
