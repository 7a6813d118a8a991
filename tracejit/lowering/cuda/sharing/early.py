"""Numbers that a program gives are stored where they are computed, not at its end: that would be one more launch.

A store of a scalar goes up to behind what makes its value, past everything that does not touch the array.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Buffer, Comment, Const, Program, Store
from tracejit.lowering.loops.uses import defined, operands, places


def store_early(program: Program) -> None:
    """Move the stores of scalars into results."""
    shared = {b for pair in program.may_alias for b in pair}
    stmts = program.body.stmts
    for s in [x for x in stmts if isinstance(x, Store)]:
        if isinstance(s.index, Const) and s.buffer.kind == "arg" and s.buffer not in shared and not s.op:
            at = stmts.index(s)
            del stmts[at]
            stmts.insert(_first_place(stmts[:at], s), s)


def _first_place(before: list[Any], s: Store) -> int:
    """Where a store may go at the earliest."""
    needed = set(operands(s))
    if not needed:  # a constant costs no less elsewhere
        return len(before)
    for n in range(len(before) - 1, -1, -1):
        x = before[n]
        if isinstance(x, Comment):
            continue
        inside = walk([x])
        named = {b for i in inside for b in places(i)}
        if s.buffer in named or any(isinstance(b, Buffer) and b.kind == "pointer" for b in named):
            return n + 1
        if any(needed.intersection(defined(i)) for i in inside):
            return n + 1
    return 0
