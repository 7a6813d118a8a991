"""A loop that writes several arrays which do not depend on each other, as a loop for each of them.

    for n in range(100000):                     for n in range(100000):
        a[i[n]] = a[i[n]] + x[n]        ->          a[i[n]] = a[i[n]] + x[n]
        b[j[n]] = b[j[n]] + y[n]                for n in range(100000):
                                                    b[j[n]] = b[j[n]] + y[n]

Threads can share the places of one array where they can't share those of both.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.cuda.lanes.places import are_apart
from tracejit.lowering.cuda.lanes.segments import Segments
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Block, Buffer, Comment, For, If, Inst, Store
from tracejit.lowering.loops.uses import defined, is_check, operands


def apart(loop: Any, facts: Facts, memory: Memory, maker: Maker, segments: Segments) -> list[For]:
    """The loops that a loop is, none if it is no such loop."""
    if (
        not isinstance(loop, For)
        or loop.independent
        or loop.vector
        or loop.private
        or facts.span(loop) is None
    ):
        return []
    stmts = walk(loop.body.stmts)
    if not all(isinstance(s, (Inst, Store, If, For, Comment)) for s in stmts):
        return []
    if any(is_check(s) or (isinstance(s, Inst) and s.op == "get") for s in stmts):
        return []
    targets = {s.buffer: None for s in stmts if isinstance(s, Store)}
    if len(targets) < 2 or not are_apart(set(targets), stmts, memory):
        return []
    parts: list[tuple[list[Any], set[Buffer]]] = []
    for t in targets:
        found = _needed({t}, loop.body.stmts, set(targets))
        while any(found[1] & known for _, known in parts):
            together = found[1].union(*(known for _, known in parts if found[1] & known))
            parts = [p for p in parts if not p[1] & together]
            found = _needed(together, loop.body.stmts, set(targets))
        parts.append(found)
    if len(parts) < 2:
        return []
    return [_loop_of(chosen, loop, maker, segments) for chosen, _ in parts]


def _needed(of: set[Buffer], stmts: list[Any], targets: set[Buffer]) -> tuple[list[Any], set[Buffer]]:
    """The statements of an iteration that arrays depend on, and the arrays that are written and that these name."""
    written, names = set(of), set[Any]()
    while True:
        before, chosen = len(written), list[Any]()
        for s in reversed(stmts):
            inside = walk([s])
            stores = {x.buffer for x in inside if isinstance(x, Store)}
            if stores & written or names.intersection(defined(s)):
                names.update(r for x in inside for r in operands(x))
                written |= stores | {x.attr for x in inside if isinstance(x, Inst) and x.attr in targets}
                chosen.append(s)
        if len(written) == before:
            return chosen[::-1], written


def _loop_of(chosen: list[Any], loop: For, maker: Maker, segments: Segments) -> For:
    """A loop of some of the statements."""
    var = maker.reg(loop.var.dtype)
    made = For(var, loop.start, loop.stop, Block(segments.again(chosen, {loop.var: var})))
    made.down = loop.down
    return made
