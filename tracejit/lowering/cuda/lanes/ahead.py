"""Loops of steps over lanes read ahead: what a step reads at places that no step before decides is loaded some steps
earlier, so that a thread waits for memory less. The steps are the same; the last ones read the last place again.

    for t in range(n):                       p = [x[0], x[1], ...]
        c = f(c, x[t])             ->        for t in range(n):
                                                 c = f(c, p[0])
                                                 p = [*p[1:], x[min(t + len(p), n - 1)]]
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (
    I64,
    Const,
    For,
    Inst,
    Operand,
    Program,
    Reg,
    SetSlot,
    Slot,
    blocks_of,
)
from tracejit.lowering.loops.uses import is_check

#: Steps that are read ahead, which a card's code has in registers; loads of a step, and steps, for which it is done.
AHEAD = 4
_LOADS, STEPS = 4, 16
_PLACES = frozenset(("iadd", "isub", "imul", "shl", "cast", "param"))
#: What slots of loads ahead are called.
NAME = "ahead"


def read_ahead(program: Program) -> None:
    """Let the loops of steps of a program's lanes read ahead."""
    facts, maker = Facts(program), Maker(program)
    for lanes in walk(program.body.stmts):
        if isinstance(lanes, For) and lanes.lanes:
            for block in [lanes.body, *(b for s in walk(lanes.body.stmts) for b in blocks_of(s))]:
                stmts: list[Any] = []
                for s in block.stmts:
                    stmts += _Ahead(s, facts, maker).stmts() if isinstance(s, For) else [s]
                block.stmts[:] = stmts


def is_ahead(node: For) -> bool:
    """Whether a loop reads ahead."""
    return any(isinstance(s, Inst) and s.op == "get" and s.attr.name == NAME for s in node.body.stmts)


class _Ahead:
    """A loop of steps, and its statements."""

    def __init__(self, node: For, facts: Facts, maker: Maker) -> None:
        self.node, self.facts, self.maker = node, facts, maker
        self.made = {s.out: s for s in node.body.stmts if isinstance(s, Inst)}
        self.inside = facts.inside(node)

    def stmts(self) -> list[Any]:
        """What takes the place of the loop: loads of the first steps, and the loop."""
        node, span = self.node, self.facts.span(self.node)
        is_outer = any(isinstance(s, For) for s in walk(node.body.stmts))
        if span is None or node.down or is_outer or any(map(is_check, walk(node.body.stmts))):
            return [node]
        loads = [s for s in node.body.stmts if isinstance(s, Inst) and self.suits(s)]
        if span[1] - span[0] < STEPS or not 0 < len(loads) <= _LOADS:
            return [node]
        node.start, node.stop = (Const(n, I64) for n in span)
        before: list[Any] = []
        for load in loads:
            slots = [Slot(NAME, load.out.dtype) for _ in range(AHEAD)]
            for n, slot in enumerate(slots):
                before.append(
                    SetSlot(slot, self.again(load, Const(min(span[0] + n, span[1] - 1), I64), before))
                )
            self.rotate(load, slots, span[1] - 1)
        return [*before, node]

    def suits(self, s: Inst) -> bool:
        """Whether an instruction reads what nothing writes, at a place that follows from the number of the step."""
        known = s.op == "load" and s.attr.kind == "arg" and s.attr not in self.facts.written
        return known and s.args[0] in self.inside and self._is_place(s.args[0])

    def _is_place(self, x: Operand) -> bool:
        if x is self.node.var or x not in self.inside:
            return True
        made = self.made.get(x) if isinstance(x, Reg) else None
        return made is not None and made.op in _PLACES and all(map(self._is_place, made.args))

    def again(self, s: Inst, step: Operand, into: list[Any]) -> Reg:
        """What an instruction of the body gives in another step, computed anew."""
        args = []
        for a in s.args:
            inner = self.made.get(a) if isinstance(a, Reg) and a in self.inside else None
            args.append(step if a is self.node.var else a if inner is None else self.again(inner, step, into))
        out = self.maker.reg(s.out.dtype)
        into.append(Inst(s.op, out, tuple(args), s.attr))
        return out

    def rotate(self, load: Inst, slots: list[Slot], last: int) -> None:
        """Let a load take what was read before, and the place behind the others be read."""
        body, found = self.node.body.stmts, []
        later, step = self.maker.reg(I64), self.maker.reg(I64)
        found.append(Inst("iadd", later, (self.node.var, Const(len(slots), I64))))
        found.append(Inst("smin", step, (later, Const(last, I64))))
        new = self.again(load, step, found)
        for n, slot in enumerate(slots):
            got = load.out if n == 0 else self.maker.reg(load.out.dtype)
            found.append(Inst("get", got, (), slot))
            if n:
                found.append(SetSlot(slots[n - 1], got))
        at = body.index(load)
        body[at : at + 1] = [*found, SetSlot(slots[-1], new)]
