"""The loop over lanes that takes the place of a group of statements."""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Maker, is_loop, is_set_first
from tracejit.lowering.cuda.lanes.group import Group, Over
from tracejit.lowering.cuda.lanes.promote import promote
from tracejit.lowering.cuda.nodes import Keep
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Comment,
    Const,
    For,
    If,
    Inst,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    blocks_of,
)


def interchange(group: Group, maker: Maker) -> list[Any]:
    """The statements that a group becomes: its comments, the loop over lanes, and what hands its slots on."""
    lane = maker.reg(I64)
    before, after, behind = _slots(group, maker)
    side, first = _side(group, lane, maker)
    body = [*first, *_level(group.stmts, group, lane, side, maker)]
    body = [s for s in body if not isinstance(s, Comment)]
    body = promote(group, lane, [*before, *body], maker)
    if after:
        first = maker.reg(BOOL)
        body += [Inst("cmp", first, (lane, Const(0, I64)), "eq"), If(first, Block(after), Block())]
    plain = not (group.steps or after or any(is_loop(s) or isinstance(s, (SetPointer, Rotate)) for s in body))
    loop = For(
        lane, Const(0, I64), Const(group.lanes, I64), Block(body), vector=plain, independent=True, grain=1
    )
    loop.private, loop.scratch, loop.lanes = list(group.private), group.scratch, not plain
    return [*(s for s in group.inside if isinstance(s, Comment)), loop, *behind]


def _slots(group: Group, maker: Maker) -> tuple[list[Any], list[Any], list[Any]]:
    """Give each lane its own slots: what each lane does before and the first one after the body, and one thread after
    the loop."""
    before: list[Any] = []
    after: list[Any] = []
    behind: list[Any] = []
    own: dict[Slot, Slot] = {}
    for slot in group.slots:
        set_first = is_set_first(slot, Block(group.stmts), not group.is_whole(slot))
        if group.is_whole(slot) and set_first:
            continue
        own[slot] = mine = Slot(f"{slot.name}.lane", slot.dtype)
        if not set_first:
            was = maker.reg(slot.dtype)
            before += [Inst("get", was, (), slot), SetSlot(mine, was)]
        if not group.is_whole(slot):
            left, now, got = (
                Slot(f"{slot.name}.left", slot.dtype),
                maker.reg(slot.dtype),
                maker.reg(slot.dtype),
            )
            after += [Inst("get", now, (), mine), Keep(now, left)]
            behind += [Inst("get", got, (), left), SetSlot(slot, got)]
    for s in group.inside:
        if isinstance(s, SetSlot):
            s.slot = own.get(s.slot, s.slot)
        elif isinstance(s, Inst) and isinstance(s.attr, Slot):
            s.attr = own.get(s.attr, s.attr)
    return before, after, behind


def _side(group: Group, lane: Reg, maker: Maker) -> tuple[Reg, list[Any]]:
    """The lane that loops inside run over, and what makes it and the number of the part of this lane."""
    if group.parts is None:
        return lane, []
    loop, size = group.parts.loop, Const(group.parts.size, I64)
    part, side = maker.reg(I64), maker.reg(I64)
    number = [Inst("sdiv", part, (lane, size)), Inst("iadd", loop.var, (part, loop.start))]
    return side, [*number, Inst("srem", side, (lane, size))]


def _level(stmts: list[Any], group: Group, lane: Reg, side: Reg, maker: Maker) -> list[Any]:
    """Statements outside of loops over lanes, with the bodies of these loops for one lane."""
    found: list[Any] = []
    for s in stmts:
        if isinstance(s, For) and s in group.over:
            over = group.over[s]
            found += _lane(s, over, group, lane if over.part else side, maker)
            continue
        for b in blocks_of(s):
            b.stmts[:] = _level(b.stmts, group, lane, side, maker)
        found.append(s)
    return found


def _lane(s: For, over: Over, group: Group, lane: Reg, maker: Maker) -> list[Any]:
    """What one lane does of a loop over the lanes."""
    if over.inner is not None:
        length = Const(group.facts.trips(over.inner), I64)
        outer, inner = maker.reg(I64), maker.reg(I64)
        return [
            Inst("sdiv", outer, (lane, length)),
            Inst("srem", inner, (lane, length)),
            Inst("iadd", s.var, (outer, s.start)),
            *s.body.stmts[:-1],
            Inst("iadd", over.inner.var, (inner, over.inner.start)),
            *over.inner.body.stmts,
        ]
    if over.part:
        return [Inst("iadd", s.var, (lane, Const(0, I64))), *s.body.stmts]
    if over.each == 1:
        return [Inst("iadd", s.var, (lane, s.start)), *s.body.stmts]
    turn, place, at = maker.reg(I64), maker.reg(I64), maker.reg(I64)
    factors = (lane, Const(over.each, I64)) if over.rows else (turn, Const(group.side, I64))
    body = [
        Inst("imul", place, factors),
        Inst("iadd", at, (place, turn if over.rows else lane)),
        Inst("iadd", s.var, (at, s.start)),
        *s.body.stmts,
    ]
    return [For(turn, Const(0, I64), Const(over.each, I64), Block(body))]
