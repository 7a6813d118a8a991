"""Where the arrays of a compiled program lie, over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from tracejit.interpreters.jit_pictured import Outline, Room
from tracejit.ir.jaxpr import Var
from tracejit.pictures.model import Block, Memory, Step


def memory_of(outline: Outline, called: Callable[[Var], str]) -> Memory:
    """The memory of a compiled program; `called` has words for its values. Arguments and results are not in it: they
    are the caller's."""
    ends = [s.eqns[-1].outvars[:1] if s.eqns else () for s in outline.steps]
    steps = tuple(
        Step(s.nest, called(v[0]) if v else "", s.operations, s.moved)
        for s, v in zip(outline.steps, ends, strict=True)
    )
    rooms = [r for r in outline.rooms if r.kind not in ("arg", "pointer", "field")]
    return Memory(steps, tuple(_block(r, outline, called) for r in rooms), outline.arena_bytes)


def _block(room: Room, outline: Outline, called: Callable[[Var], str]) -> Block:
    starts = [s.first for s in outline.steps]
    at = lambda statement: max(bisect_right(starts, statement) - 1, 0)  # noqa: E731
    values = ", ".join(dict.fromkeys(filter(None, map(called, room.values))))
    return Block(room.name, room.kind, room.bytes, room.offset, at(room.first), at(room.last), values)
