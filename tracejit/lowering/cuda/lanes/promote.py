"""Elements that a lane reads and writes again and again are kept in slots: registers of its thread."""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Maker, is_set_first
from tracejit.lowering.cuda.lanes.group import Group
from tracejit.lowering.cuda.lanes.owners import Access
from tracejit.lowering.loops.forms import LANE, ONE
from tracejit.lowering.loops.nodes import (
    I64,
    Block,
    Buffer,
    Const,
    Inst,
    Reg,
    SetSlot,
    Slot,
    Store,
    blocks_of,
)

_MOST = 48  # slots of a group


def promote(group: Group, lane: Reg, body: list[Any], maker: Maker) -> list[Any]:
    """The body of a loop over lanes in which slots take the place of elements."""
    before: list[Any] = []
    after: list[Any] = []
    instead: dict[Any, Slot] = {}
    chosen = []
    for buffers, accesses in group.classes:
        places = _places(buffers, accesses, group.lanes)
        if places and len(instead) + len(places) <= _MOST:
            for (width, offset), found in places.items():
                slot = Slot(f"{found[0].buffer.name}.{offset}", _dtype(found[0]))
                instead |= {a.stmt: slot for a in found}
                chosen.append((slot, width, offset, buffers, found))
    for b, found in group.kept.items():
        if found:
            instead |= dict.fromkeys((a.stmt for a in found), Slot(f"{b.name}.lane", _dtype(found[0])))
    if not instead:
        return body
    body = _replaced(body, instead)
    for slot, width, offset, buffers, found in chosen:
        scaled, at, value = maker.reg(I64), maker.reg(I64), maker.reg(slot.dtype)
        where = [
            Inst("imul", scaled, (lane, Const(width, I64))),
            Inst("iadd", at, (scaled, Const(offset, I64))),
        ]
        over = all(b.kind in ("arena", "stack") and group.is_whole(b) for b in buffers)
        used, set_first = where, is_set_first(slot, Block(body), not over)
        if not set_first:
            before += [*where, Inst("load", value, (at,), found[0].buffer), SetSlot(slot, value)]
            used = []
        if any(a.writes for a in found) and not (over and set_first):
            now = maker.reg(slot.dtype)
            after += [*used, Inst("get", now, (), slot), Store(found[0].buffer, at, now)]
    return [*before, *body, *after]


def _places(buffers: set[Buffer], accesses: list[Access], lanes: int) -> dict[tuple[int, int], list[Access]]:
    """The accesses of each element of a lane, if all are at places that are known and that all lanes have, and an
    element is read and written."""
    if any(b.kind == "pointer" for b in buffers) or not any(a.writes for a in accesses):
        return {}
    if all(a.writes for a in accesses) or len({_dtype(a) for a in accesses}) != 1:
        return {}
    found: dict[tuple[int, int], list[Access]] = {}
    for a in accesses:
        form = a.form or {}
        if not set(form) <= {LANE, ONE}:
            return {}
        width, offset = form[LANE], form.get(ONE, 0)
        size = int(a.buffer.size) * (2 if a.buffer.dtype.kind == "c" else 1)
        if offset < 0 or width * (lanes - 1) + offset >= size:  # not each lane gets there
            return {}
        found.setdefault((width, offset), []).append(a)
    return found


def _dtype(a: Access) -> Any:
    """The dtype of what a load or store moves."""
    return a.stmt.value.dtype if isinstance(a.stmt, Store) else a.stmt.out.dtype


def _replaced(stmts: list[Any], instead: dict[Any, Slot]) -> list[Any]:
    """Statements with accesses of slots in the place of some loads and stores."""
    found: list[Any] = []
    for s in stmts:
        for b in blocks_of(s):
            b.stmts[:] = _replaced(b.stmts, instead)
        if s in instead:
            slot = instead[s]
            s = SetSlot(slot, s.value) if isinstance(s, Store) else Inst("get", s.out, (), slot)
        found.append(s)
    return found
