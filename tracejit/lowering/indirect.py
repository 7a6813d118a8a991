"""Whether a program reads or writes places that it computes from data: `x[i[k]]`.

LLVM 22's SLP vectoriser, which joins unlike statements into vectors, moves a store behind a gather of several
such reads that reads it. Programs without them keep it, since loops over small states need it.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.llvmalias import walk
from tracejit.lowering.loopir import Block, Call, Inst, Reg, SetSlot, Slot, Store

#: What the entry of such programs is marked with.
MARK = '"tracejit-indirect"'


def has_indirect_accesses(body: Block) -> bool:
    """Whether the index of a load or store depends on a value that was loaded, or that a call gave."""
    known: set[Any] = set()  # registers and slots that depend on data
    while True:
        before = len(known)
        for s in walk(body.stmts):
            if _accesses(s, known):
                return True
            known.update(_given(s, known))
        if len(known) == before:  # a slot may be read before it is set: in the next iteration
            return False


def _accesses(s: Any, known: set[Any]) -> bool:
    if isinstance(s, Store):
        return _depends(s.index, known)
    return isinstance(s, Inst) and s.op == "load" and any(_depends(a, known) for a in s.args)


def _given(s: Any, known: set[Any]) -> list[Any]:
    """What of `s` depends on data."""
    if isinstance(s, Call):
        slots = [a for a in s.args if isinstance(a, Slot)]
        return [*slots, *([s.out.id] if s.out is not None else [])]
    if isinstance(s, SetSlot):
        return [s.slot] if _depends(s.value, known) else []
    if not isinstance(s, Inst):
        return []
    if s.op == "load" or (s.op == "get" and s.attr in known) or any(_depends(a, known) for a in s.args):
        return [s.out.id]
    return []


def _depends(x: Any, known: set[Any]) -> bool:
    return isinstance(x, Reg) and x.id in known
