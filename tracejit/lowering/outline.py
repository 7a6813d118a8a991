"""What a lowering made of the equations of a program: which share a nest of loops, what is stored where, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.lowering import costs
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.memory import numbered
from tracejit.lowering.loops.nodes import Buffer, Call, Comment, Copy, For, Program, While
from tracejit.lowering.notes import Notes
from tracejit.records import record


@record(frozen=True)
class Room:
    """A buffer: its name in the listing, kind ('arena', 'stack', 'heap', 'arg', 'private'), bytes (None: only a run
    knows), its place in the arena, and the first and last statement at which it is needed; (0, 0) for those that are
    not planned so."""

    name: str
    kind: str
    bytes: int | None
    offset: int | None
    first: int
    last: int
    values: tuple[Var, ...]


@record(frozen=True)
class Step:
    """A nest of loops, or a call, that lies in no other: its number, the equations that it computes and stores, the
    numbers of its statements, and what it costs: operations on floats with calls of functions, and bytes moved."""

    nest: int
    eqns: tuple[Eqn, ...]
    first: int
    last: int
    operations: float
    moved: float


@record(frozen=True)
class Outline:
    """`nests`: equation -> the numbers of the nests in which it is computed, more than one if it is computed again.
    `stored`: value -> its buffer. `steps`: the nests of the program itself, in order. `statements`: how many it has."""

    nests: dict[Eqn, tuple[int, ...]]
    stored: dict[Var, Room]
    rooms: tuple[Room, ...]
    steps: tuple[Step, ...]
    statements: int
    arena_bytes: int


def outline(program: Program, notes: Notes) -> Outline:
    """The outline of a program that was lowered with notes."""
    places = list(_places(program, notes))
    nests: dict[Eqn, list[int]] = {}
    number = 0
    top: dict[int, int] = {}  # statement -> its nest
    for body in notes.bodies:
        for group in body.plan.groups:
            at = next((n for n, (_, eqns, _, _) in enumerate(places) if eqns & {*group.members}), None)
            if at is None or at not in top:
                number += 1
                top.update({} if at is None else {at: number})
            for eqn in body.inlined(group.members):
                found = nests.setdefault(eqn, [])
                nest = number if at is None else top[at]
                found.extend([nest] if nest not in found else [])
    rooms = _rooms(program, notes)
    stored = {v: r for r in rooms.values() for v in r.values}
    steps, order = [], {e: n for n, e in enumerate(notes.bodies[0].jaxpr.eqns)}
    for n, ((_, eqns, first, last), nest) in enumerate(zip(places, costs.nests(program), strict=False)):
        if n in top:
            operations = nest.cost.flops + nest.cost.transcendentals
            steps.append(
                Step(top[n], tuple(sorted(eqns, key=order.__getitem__)), first, last, operations, nest.moved)
            )
    return Outline(
        {e: tuple(n) for e, n in nests.items()},
        stored,
        tuple(rooms.values()),
        tuple(steps),
        max((z for _, _, _, z in places), default=0),
        program.arena_bytes,
    )


def _places(program: Program, notes: Notes) -> Iterator[tuple[Any, set[Eqn], int, int]]:
    """The nests and calls of a program, with the equations that their comments name. Comments before straight-line code
    count with what follows. Those of regions are theirs: they have nests of their own."""
    own = {e for body in notes.bodies[:1] for e in body.jaxpr.eqns}
    waiting: set[Eqn] = set()
    for stmt, first, last in numbered(program):
        inside = [notes.comments[s] for s in walk([stmt]) if type(s) is Comment and s in notes.comments]
        waiting |= {e for e in inside if e in own}
        if type(stmt) in (For, While, Call, Copy):
            yield stmt, waiting, first, last
            waiting = set()


def _rooms(program: Program, notes: Notes) -> dict[Buffer, Room]:
    values: dict[Buffer, list[Var]] = {}
    for body in notes.bodies:
        for v, storage in body.plan.storage.items():
            if storage.stored is not None:
                values.setdefault(storage.stored.buffer, []).append(v)
    found = {}
    for b in program.buffers:
        size = b.size * b.dtype.itemsize if type(b.size) is int else None
        first, last = notes.spans.get(b, (0, 0))
        offset = b.slot if b.kind == "arena" and b in notes.spans else None
        found[b] = Room(b.name, b.kind, size, offset, first, last, tuple(values.get(b, ())))
    return found
