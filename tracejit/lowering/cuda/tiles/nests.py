"""Nests of loops of which each is all that the one around it does: what they are, and writing them anew."""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.loops.nodes import I64, Buffer, Comment, Const, For, Inst, Operand, Reg, Store


class Nest:
    """Loops over independent iterations, one in the other. `scalars`: what is computed between them; `trips`: of each
    loop."""

    def __init__(self, loops: list[For], scalars: list[Inst], facts: Facts) -> None:
        self.loops, self.scalars = loops, scalars
        self.trips = [facts.trips(x) for x in loops]
        self.body = loops[-1].body.stmts
        self.stored = {s.buffer for s in self.body if isinstance(s, Store)}
        self.loads = [s for s in self.body if isinstance(s, Inst) and s.op == "load"]
        self.updates = not self.stored.isdisjoint(s.attr for s in self.loads)

    def keeps_scalars(self, facts: Facts) -> bool:
        """Whether what is read between the loops is the same all the time."""
        read = {s.attr for s in self.scalars if s.op == "load"}
        others = {x for pair in facts.program.may_alias for x in pair if not read.isdisjoint(pair)}
        return all(b.kind in ("arg", "arena") for b in read) and self.stored.isdisjoint(read | others)

    def reads_back(self) -> bool:
        """Whether an element is read behind a store into its buffer."""
        written: set[Buffer] = set()
        for s in self.body:
            if isinstance(s, Store):
                written.add(s.buffer)
            elif isinstance(s, Inst) and s.op == "load" and s.attr in written:
                return True
        return False


def nest_of(s: For, facts: Facts) -> Nest | None:
    """The nest that begins with a loop, if its body is straight code without slots and checks, and its ranges are
    known."""
    loops, scalars = [s], list[Inst]()
    while loops[-1].body.stmts and isinstance(loops[-1].body.stmts[-1], For):
        *before, last = (x for x in loops[-1].body.stmts if not isinstance(x, Comment))
        if not all(isinstance(x, Inst) and x.op not in ("get", "index") for x in before):
            return None
        scalars += before
        loops.append(last)
    suits = all(x.independent for x in loops[:-1]) and (loops[-1].vector or loops[-1].independent)
    if len(loops) < 2 or not suits:
        return None
    if any(
        x.down or x.private or facts.number(x.start) is None or facts.number(x.stop) is None for x in loops
    ):
        return None
    nest = Nest(loops, scalars, facts)
    plain = all(
        isinstance(x, (Store, Comment)) or (isinstance(x, Inst) and x.op not in ("get", "index"))
        for x in nest.body
    )
    return nest if nest.body and plain and not nest.reads_back() and nest.keeps_scalars(facts) else None


class Writer:
    """Writes what takes the place of a nest."""

    def __init__(self, facts: Facts, maker: Maker, nest: Nest) -> None:
        self.facts, self.maker, self.nest = facts, maker, nest
        self.made = {s.out: s for s in (*nest.scalars, *nest.body) if isinstance(s, Inst)}
        self.out: list[Any] = []  # where statements go

    def inst(self, op: str, *args: Any, dtype: Any = I64, attr: Any = None) -> Reg:
        """Add an instruction; its result."""
        out = self.maker.reg(dtype)
        operands = tuple(Const(a, I64) if isinstance(a, int) else a for a in args)
        self.out.append(Inst(op, out, operands, attr))
        return out

    def again(self, x: Operand, known: dict[Any, Operand]) -> Operand:
        """An operand of the nest for the element at hand."""
        if not isinstance(x, Reg) or x in known:
            return known.get(x, x) if isinstance(x, Reg) else x
        s = self.made.get(x)
        if s is None:
            return x
        args = tuple(self.again(a, known) for a in s.args)
        known[x] = self.inst(s.op, *args, dtype=s.out.dtype, attr=s.attr)
        return known[x]
