"""The carries of a loop: 0-d ones in slots, arrays in their own storage, updated in place or in turns.

An array carry whose new value can't be computed over the old one has two blocks: the new value goes into the other
one, and after the iteration they change places. Where the body hands a carry on as another one (`a, b = b, a + b`),
the blocks of both are exchanged as well. Either way the blocks behind some pointers rotate, and nothing is copied:

    Rotation((a, b))         a's new value is in b's block; b's is computed into a's, which nobody needs any more
    Rotation((u,), spare)    u's new value is computed into the spare block
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Atom, Jaxpr, Literal, Var
from tracejit.lowering.emit.regions.spans import Entry, Span, of_carries
from tracejit.lowering.loops.nodes import I64, Buffer, Rotate, SetPointer
from tracejit.lowering.plan.access import Inline, Scalar, Stored, c_strides, is_contiguous
from tracejit.lowering.plan.context import STACK
from tracejit.lowering.plan.groups import Storage
from tracejit.lowering.plan.roots import passed_through
from tracejit.lowering.plan.schedule import Schedule
from tracejit.lowering.plan.views import as_view
from tracejit.records import record

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body


def value_of(body: Body, atom: Atom) -> Any:
    """An operand as a value that another scope can read: a buffer where it is a view of one."""
    if isinstance(atom, Literal):
        return Scalar(body.k.const(atom.value, atom.aval.dtype))
    value = body.stored(body.values[atom])
    if not atom.aval.shape:
        return Scalar(body.read(atom, ()))
    if type(value) is Inline:
        return as_view(body, value) or value
    return value


def span_of(body: Body, atom: Atom) -> Span:
    """The range that an int64 is known to be in."""
    if atom.aval.shape or atom.aval.dtype != I64:
        return None
    low, high = body.k.range_of(body.read(atom, ()))
    known = atom.bounds if type(atom) is Var else None
    return (low, high) if known is None else (max(low, known[0]), min(high, known[1]))


def target_of(place: Stored, shape: Any, owner: Var | None = None) -> Storage:
    """`place` as the storage that a body's output must end in."""
    plain = is_contiguous(place, shape) or not all(type(d) is int for d in shape)
    return Storage(place, owner, plain)


# ---------------------------------------------------------------- which blocks rotate


@record(eq=False)
class Rotation:
    """Carry `slots[i]` takes the block of `slots[i + 1]` after each iteration; the last one takes the spare block, or
    that of the first. `computed`: the last one's new value is computed, into the block that it will take."""

    slots: tuple[int, ...]
    computed: bool
    spare: bool = False
    blocks: list[Stored] = field(default_factory=list)
    pointers: list[Buffer] = field(default_factory=list)
    turn: Any = 0  # by how many blocks the carries are away from their places in the end: a number or a slot


def find_rotations(inner: Jaxpr, first: int, used: Sequence[int], count: int) -> list[Rotation]:
    """The rotations of a loop's body: its carries are the arguments from `first` on; `used` are the outputs it needs,
    among them the carries' that change."""
    carries = inner.invars[first : first + count]
    large = [n for n in used if n < count and carries[n].aval.is_static and carries[n].aval.size > STACK]
    if not large:
        return []
    position = {carries[n]: n for n in large}
    source: dict[int, int] = {}
    for n in large:
        m = position.get(inner.outs[n])  # type: ignore[arg-type]
        if m is not None and m not in source.values() and carries[m].aval == carries[n].aval:
            source[n] = m
    found = _chains(large, source)
    owned = {carries[r.slots[0]]: Storage(None, carries[r.slots[0]]) for r in found if r.computed}
    ends = {r.slots[-1]: owned[carries[r.slots[0]]] for r in found if r.computed}
    kept = _copied(inner, owned, [n for n in used if n not in source], ends)
    for r in found:
        r.spare = r.computed and carries[r.slots[0]] in kept
    return [r for r in found if r.spare or len(r.slots) > 1]


def _chains(large: list[int], source: dict[int, int]) -> list[Rotation]:
    """Carries in the order in which they take each other's blocks; `source`: carry -> the one it is handed."""
    free = [n for n in large if n not in source.values()]
    chains, seen = [], set[int]()
    for start in (*free, *large):
        if start in seen:
            continue
        chain = [start]
        while source.get(chain[-1], start) != start:
            chain.append(source[chain[-1]])
        seen.update(chain)
        chains.append(Rotation(tuple(chain), chain[-1] not in source))
    return chains


def _copied(inner: Jaxpr, owned: dict[Var, Storage], used: list[int], ends: dict[int, Storage]) -> set[Var]:
    """The carries that a body would copy away if their new values went into their own blocks."""
    needed = Jaxpr(inner.invars, inner.eqns, tuple(inner.outs[n] for n in used), inner.name)
    other = [Storage() if inner.outs[n].aval.shape else None for n in used]
    plan = Schedule(needed, owned, [ends.get(n, t) for n, t in zip(used, other, strict=True)], True).run()
    return {v for g in plan.groups for v in g.preserve}


# ---------------------------------------------------------------- the carries of one loop


class Carries:
    """Where the carries of a loop are before, in and after it. `used`: the outputs of its body that are needed."""

    def __init__(
        self,
        body: Body,
        inits: Any,
        outs: Any,
        inner: Jaxpr,
        consts: Sequence[Atom],
        first: int,
        used: list[int],
        entry: Entry | None = None,
    ) -> None:
        self.body = body
        self.inits = inits
        self.outs = outs
        given = [v.bounds for v in inner.invars[: first - len(consts)]] + [span_of(body, a) for a in consts]
        self.spans, self.inside = of_carries(inner, given, [span_of(body, a) for a in inits], entry)
        self.vars = inner.invars[first : first + len(inits)]
        self.passed = set(passed_through(inner, first, len(inits)))
        self.used = [n for n in used if n not in self.passed]
        self.slots: dict[int, Any] = {}
        self._read: dict[int, Any] = {}  # what was read of the slots last
        self.most: float = math.inf  # steps that the loop has at most
        self.places = {n: body.place(v) for n, v in enumerate(outs) if v.aval.shape and n not in self.passed}
        self.failing = "error" in inner.effects
        found = find_rotations(inner, first, self.used, len(inits))
        self.rotations = [r for r in found if self._can_rotate(r)]
        moved = {n for r in self.rotations for n in (r.slots[:-1] if r.computed else r.slots)}
        self.used = [n for n in self.used if n not in moved]

    def _can_rotate(self, r: Rotation) -> bool:
        """Whole blocks rotate. What the caller sees when a check fails is written in place, step by step."""
        whole = [type(p.offset) is int and p.offset == 0 and is_contiguous(p, self.vars[n].aval.shape)
                 for n in r.slots for p in (self.places[n],)]  # fmt: skip
        return all(whole) and not (self.failing and self._is_fixed(r))

    def _is_fixed(self, r: Rotation) -> bool:
        """Whether a result has to end in a certain place."""
        storages = [self.body.plan.storage[self.outs[n]] for n in r.slots]
        return any(s is t for s in storages for t in self.body.targets)

    # -- before the loop

    def start(self, copies: dict[int, int], trips: int | None) -> None:
        """Put the initial values where the first iteration looks for them. `copies`: operand -> carry, for those that
        are not in their places yet; `trips`: the number of iterations, if it is known."""
        body, first = self.body, dict(self.places)
        for r in self.rotations:
            first.update(self._aim(r, trips, set(r.slots) <= set(copies.values())))
        for n, a in enumerate(self.inits):
            if n in self.passed:
                continue
            if not a.aval.shape:
                self.slots[n] = body.k.slot(body.read(a, ()), "carry")
            elif n in copies.values():
                body.fill(first[n], a)

    def _aim(self, r: Rotation, trips: int | None, free: bool) -> dict[int, Stored]:
        """Point at the blocks that the carries start in. If the number of iterations is known and none is in its place
        yet, these are such that they end there."""
        body, aval = self.body, self.vars[r.slots[0]].aval
        r.blocks = [self.places[n] for n in r.slots]
        if r.spare:
            r.blocks.append(body.ctx.allocate(body, aval.shape, aval.dtype, "t"))
        size = len(r.blocks)
        shift = trips % size if trips is not None and free else 0
        starts = [r.blocks[(n - shift) % size] for n in range(size)]
        r.pointers = [self._pointer(block.buffer) for block in starts]
        if trips is not None:
            r.turn = (trips - shift) % size
        else:
            r.turn = body.k.slot(body.k.const(0, I64), "turn")
        return dict(zip(r.slots, starts, strict=False))

    def _pointer(self, to: Buffer) -> Buffer:
        """A new pointer to a block."""
        pointer = self.body.ctx.buffer(to.dtype, to.size, "pointer", "p")
        self.body.k.emit(SetPointer(pointer, to))
        return pointer

    # -- in the loop

    def values(self, inside: bool = True) -> dict[Var, Any]:
        """The carries as the values of a body's arguments, read now; not `inside`: of the condition's."""
        spans = self.inside if inside else self.spans
        pointers = {n: p for r in self.rotations for n, p in zip(r.slots, r.pointers, strict=False)}
        k, out = self.body.k, dict[Var, Any]()
        for n, v in enumerate(self.vars):
            if n in self.passed:
                out[v] = value_of(self.body, self.inits[n])
            elif n in self.slots:
                self._read[n] = k.within(k.get(self.slots[n]), spans[n])
                out[v] = Scalar(self._read[n])
            elif n in pointers:
                out[v] = Stored(pointers[n], c_strides(v.aval.shape), 0, k.depth)
            else:
                out[v] = replace(self.places[n], since=k.depth)
        return out

    def storages(self) -> tuple[dict[Var, Storage], list[Storage | None]]:
        """The storage that the body owns, by its arguments, and where each of its carries has to end."""
        owned, ends = dict[Var, Storage](), dict[int, Storage]()
        turning = {n for r in self.rotations for n in r.slots}
        for n in self.places.keys() - turning:
            v = self.vars[n]
            owned[v] = ends[n] = target_of(self.places[n], v.aval.shape, v)
        for r in self.rotations:
            v = self.vars[r.slots[0]]
            pointer = r.pointers[-1 if r.spare else 0]
            if r.computed:
                ends[r.slots[-1]] = Storage(Stored(pointer, c_strides(v.aval.shape)), None if r.spare else v)
            if r.computed and not r.spare:
                owned[v] = ends[r.slots[-1]]
        return owned, [ends.get(n) for n in range(len(self.vars))]

    def set(self, scalars: list[Any]) -> None:
        """The end of the body: the next iteration's carries."""
        k = self.body.k
        for n, slot in self.slots.items():
            self._bound(n, k.moved(self._read.get(n), scalars[n]))
            k.set(slot, scalars[n])
        for r in self.rotations:
            k.emit(Rotate(tuple(r.pointers)))
            if not isinstance(r.turn, int):
                turn = k.get(r.turn)
                k.set(r.turn, k.select(k.eq(turn, len(r.blocks) - 1), k.const(0, I64), turn + 1))

    def _bound(self, n: int, step: int) -> None:
        """Each step moves carry n by `step`: as often as that has room in the range that the carry is in."""
        if step and (known := self.inside[n]) is not None:
            self.most = min(self.most, (known[1] - known[0]) // abs(step) + 1)

    # -- after the loop

    def finish(self) -> None:
        """Make the results values of the scope around the loop."""
        body = self.body
        for r in self.rotations:
            self._settle(r)
        for n, (a, v) in enumerate(zip(self.inits, self.outs, strict=True)):
            if n in self.passed:
                _pass_on(body, a, v)
            elif n in self.slots:
                body.values[v] = Scalar(body.k.within(body.k.get(self.slots[n]), self.spans[n]))
            else:
                body.define(v)

    def _settle(self, r: Rotation) -> None:
        """The results are read where they are, or copied if there is a place in which they have to be."""
        body, fixed = self.body, self._is_fixed(r)
        if type(r.turn) is int and (r.turn == 0 or fixed):
            if r.turn:
                self._copy_back(r)
        elif fixed:
            with body.k.when(body.k.ne(body.k.get(r.turn), 0)):
                self._copy_back(r)
        else:
            for n, p in zip(r.slots, r.pointers, strict=False):
                place = Stored(p, c_strides(self.vars[n].aval.shape))
                body.plan.storage[self.outs[n]].stored = place

    def _copy_back(self, r: Rotation) -> None:
        """Copy the results into their places, by way of other blocks if these are each other's."""
        body = self.body
        pairs = [(n, Stored(p, c_strides(self.vars[n].aval.shape)))
                 for n, p in zip(r.slots, r.pointers, strict=False)]  # fmt: skip
        if len(pairs) > 1:
            away = [
                body.ctx.allocate(body, self.vars[n].aval.shape, self.vars[n].aval.dtype, "t")
                for n, _ in pairs
            ]
            for (n, now), t in zip(pairs, away, strict=True):
                body.ctx.copy(body, t, now, self.vars[n].aval)
            pairs = [(n, t) for (n, _), t in zip(pairs, away, strict=True)]
        for n, now in pairs:
            body.ctx.copy(body, self.places[n], now, self.vars[n].aval)


def _pass_on(body: Body, atom: Atom, var: Var) -> None:
    if not var.aval.shape:
        body.values[var] = Scalar(body.read(atom, ()))
    elif var in body.plan.storage:
        body.fill(body.place(var), atom)
        body.define(var)
    else:
        body.values[var] = body.values[atom] if type(atom) is Var else None
