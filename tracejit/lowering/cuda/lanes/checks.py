"""Checks of a loop's indices come before the loop, in a loop of their own, where what they check does not depend on
what the loop writes. Without checks the loop may be one over lanes, or be shared in other ways.

    for t in range(600):                        for m in range(600 * 100):      # a thread each
        for i in range(100):                        t, i = m // 100, m % 100
            k = checked(index[i, t])     ->         checked_[m] = checked(index[i, t])
            z[i, k] += x[i, t]                  for t in range(600):
                                                    for i in range(100):
                                                        k = checked_[t * 100 + i]
                                                        z[i, k] += x[i, t]

The first check to fail is the loop's: turns of the new one are in the order of its checks. What the loop would have
written before is not, so that arrays of the caller's must not be among that.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.cuda.lanes.segments import Segments, has_room
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Buffer,
    Comment,
    Const,
    For,
    If,
    Inst,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Store,
    While,
)
from tracejit.lowering.loops.uses import defined, is_check, operands
from tracejit.records import record

_MOST = 8  # checks of a loop
_PLAIN = (Inst, Store, SetSlot, SetPointer, Rotate, If, For, While, Comment)


@record(eq=False)
class _Check:
    """A check in the body of a loop, or of a loop over lanes there; what it needs that is computed there, in order."""

    stmt: Inst
    block: Block
    lanes: For | None
    needs: list[Inst]


class ChecksFirst:
    """The checks of a loop, as the statements `first`, and the loop without them, until it is `undone`."""

    def __init__(self, loop: For, first: list[Any], was: list[tuple[Block, list[Any]]]) -> None:
        self.loop, self.first, self._was = loop, first, was

    def undone(self) -> None:
        """Let the loop be what it was."""
        for block, stmts in self._was:
            block.stmts[:] = stmts


def checks_first(
    loop: Any, facts: Facts, memory: Memory, maker: Maker, segments: Segments
) -> ChecksFirst | None:
    """Take the checks out of a loop; None, and nothing is done, where that would change what they find, or there are
    none."""
    if not isinstance(loop, For) or loop.independent or loop.vector or loop.private or loop.down:
        return None
    if facts.span(loop) is None or not facts.trips(loop):
        return None
    stmts = walk(loop.body.stmts)
    if not all(isinstance(s, _PLAIN) for s in stmts):
        return None
    found = _found(loop, facts)
    if not found or len(found) != sum(map(is_check, stmts)) or len(found) > _MOST:
        return None
    written = {s.buffer for s in stmts if isinstance(s, Store)}
    read = {s.attr for c in found for s in c.needs if s.op == "load"}
    if any(b.kind == "pointer" and not memory.targets(b) for b in read | written):
        return None
    fixed = [*segments.inputs, *(t for b in read for t in memory.targets(b))]
    if any(memory.overlap(a, b) for w in written for a in memory.targets(w) for b in fixed):
        return None
    lanes = max(facts.trips(c.lanes) if c.lanes is not None else 1 for c in found)
    if not has_room(stmts, facts.trips(loop) * lanes * len(found)):
        return None
    return _taken(loop, found, lanes, facts, maker, segments)


def _found(loop: For, facts: Facts) -> list[_Check]:
    """The checks of a loop that each iteration comes to, in order, as far as they are of what is computed there."""
    found: list[_Check] = []
    outer = [s for s in loop.body.stmts if isinstance(s, Inst)]
    for s in loop.body.stmts:
        if is_check(s):
            found.append(_Check(s, loop.body, None, _needs(s, outer)))
        elif isinstance(s, For) and (s.independent or s.vector) and not s.down and facts.span(s):
            mine = [x for x in s.body.stmts if isinstance(x, Inst)]
            found += [_Check(x, s.body, s, _needs(x, [*outer, *mine])) for x in mine if is_check(x)]
    inside = {r for s in walk([loop]) for r in defined(s)} - {loop.var}
    for c in found:
        have = {x.out for x in c.needs} | ({c.lanes.var} if c.lanes is not None else set())
        reads = {r for x in (*c.needs, c.stmt) for r in operands(x)}
        if any(x.op == "get" for x in c.needs) or not reads & inside <= have:
            return []
    return found


def _needs(check: Inst, stmts: list[Inst]) -> list[Inst]:
    """The instructions among statements that a check depends on."""
    needed, found = set(operands(check)), list[Inst]()
    for s in reversed(stmts[: stmts.index(check)]):
        if s.out in needed:
            needed.update(operands(s))
            found.append(s)
    return found[::-1]


def _taken(
    loop: For, found: list[_Check], lanes: int, facts: Facts, maker: Maker, segments: Segments
) -> ChecksFirst:
    """The checks in a loop of their own, and loads of what they gave in their place."""
    start, _ = facts.span(loop) or (0, 0)
    trips, many = facts.trips(loop), len(found)
    kept = [segments.buffer("checked", trips * (facts.trips(c.lanes) if c.lanes else 1)) for c in found]
    turn, body = maker.reg(I64), list[Any]()
    step = segments.into(body, "sdiv", turn, many * lanes)
    rest = segments.into(body, "srem", turn, many * lanes)
    which = segments.into(body, "sdiv", rest, lanes)
    lane = segments.into(body, "srem", rest, lanes)
    at = segments.into(body, "iadd", step, start)
    for n, (c, buffer) in enumerate(zip(found, kept, strict=True)):
        inner = _one(c, buffer, {loop.var: at}, (step, lane), facts, segments)
        if many == 1 and lanes == (facts.trips(c.lanes) if c.lanes else 1):
            body += inner
            continue
        mine = segments.into(body, "cmp", which, n, attr="eq", dtype=BOOL)
        inside = segments.into(
            body, "cmp", lane, facts.trips(c.lanes) if c.lanes else 1, attr="lt", dtype=BOOL
        )
        both = segments.into(body, "and", mine, inside, dtype=BOOL)
        body.append(If(both, Block(inner), Block()))
    first = For(turn, Const(0, I64), Const(trips * many * lanes, I64), Block(body), independent=True)
    first.grain = 1
    blocks = list(dict.fromkeys(c.block for c in found))
    was = [(b, list(b.stmts)) for b in blocks]
    for c, buffer in zip(found, kept, strict=True):
        place = c.block.stmts.index(c.stmt)
        c.block.stmts[place : place + 1] = _read(c, buffer, loop, start, facts, segments)
    comments = [s for s in walk([loop]) if isinstance(s, Comment)]
    return ChecksFirst(loop, [*comments[:1], first], was)


def _one(
    c: _Check, buffer: Buffer, names: dict[Any, Any], of: tuple[Reg, Reg], facts: Facts, segments: Segments
) -> list[Any]:
    """What makes one check in turn `of` a step and a lane, and keeps what it gives."""
    (step, lane), stmts, names = of, list[Any](), dict(names)
    place: Any = step
    if c.lanes is not None:
        start, stop = facts.span(c.lanes) or (0, 0)
        names[c.lanes.var] = segments.into(stmts, "iadd", lane, start)
        place = segments.into(stmts, "iadd", segments.into(stmts, "imul", step, stop - start), lane)
    stmts += segments.again([*c.needs, c.stmt], names)
    return [*stmts, Store(buffer, place, names[c.stmt.out])]


def _read(c: _Check, buffer: Buffer, loop: For, start: int, facts: Facts, segments: Segments) -> list[Any]:
    """What takes the place of a check: a load of what it gave."""
    stmts: list[Any] = []
    place: Any = segments.into(stmts, "isub", loop.var, start) if start else loop.var
    if c.lanes is not None:
        first, stop = facts.span(c.lanes) or (0, 0)
        scaled = segments.into(stmts, "imul", place, stop - first)
        lane: Any = segments.into(stmts, "isub", c.lanes.var, first) if first else c.lanes.var
        place = segments.into(stmts, "iadd", scaled, lane)
    return [*stmts, Inst("load", c.stmt.out, (place,), buffer)]
