"""Which loop nests of a long program are functions of their own.

The time that LLVM's vectoriser takes grows with the loops of a function times its size: for each loop that it changes
it finds out again what it knows of the whole function. In functions of one nest each it grows with the program. A call
costs nothing beside a nest, and nests that differ in their arrays only are one function.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    For,
    Free,
    Give,
    Grow,
    Program,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    While,
)
from tracejit.lowering.loops.uses import is_written_out, places

#: Loops of a program from which its nests are functions: up to there, compiling takes no longer without.
_MANY = 40
#: What sets what other parts of the program see.
_OF_ALL = (Alloc, Free, Give, Grow, Rotate, SetPointer)


def separate(program: Program) -> set[For]:
    """The outermost loops that can be functions of their own, if the program has many loops."""
    nests = {s: walk([s]) for s in program.body.stmts if isinstance(s, For)}
    if sum(isinstance(s, (For, While)) for s in walk(program.body.stmts)) < _MANY:
        return set()
    users = Counter(x for s in program.body.stmts for x in _slots([s]))
    return {
        s for s, inside in nests.items() if _is_closed(inside) and all(users[x] == 1 for x in _set(inside))
    }


def _slots(stmts: list[Any]) -> set[Slot]:
    return {x for s in walk(stmts) for x in places(s) if isinstance(x, Slot)}


def _set(stmts: list[Any]) -> set[Slot]:
    return {s.slot for s in stmts if isinstance(s, SetSlot)}


def _is_closed(stmts: list[Any]) -> bool:
    """Whether a nest changes memory only, is worth a call, and has no loop that threads share."""
    loops = [s for s in stmts if isinstance(s, For)]
    closed = not any(isinstance(s, _OF_ALL) for s in stmts) and not any(s.grain for s in loops)
    return closed and not all(is_written_out(s) for s in loops)
