"""Straight code of the loop IR as Python that Numba compiles.

Registers that are read once become part of the expression that reads them, unless what they read from memory is
written in between; the others are assigned to names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.loops.nodes import Block, Const, Inst, Reg
from tracejit.lowering.loops.uses import operands
from tracejit.lowering.source.names import Names
from tracejit.lowering.source.scalars import Expr, Scalars, constant, reads

_LONGEST = 72  # characters of an expression from which on it has a name of its own


class Needs(Protocol):
    """The file that is being printed."""

    def need(self, name: str, /) -> str: ...
    def define(self, name: str, text: str, /) -> str: ...
    def named(self, how: str, stem: str, rest: str, /) -> str: ...
    def function(self, name: str, size: int, /) -> str: ...


class Straight(Scalars):
    """Writes straight code: instructions whose results are read once are held back until they are."""

    def __init__(self, file: Needs, names: Names) -> None:
        super().__init__(file.need)
        self.file = file
        self.names = names
        self.lines: list[str] = []
        self.depth = 1
        self.known: dict[int, Expr] = {}
        self.pending: dict[int, tuple[Reg, Expr]] = {}
        self.uses: Counter[int] = Counter()
        self.homes: dict[int, Block | None] = {}

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def read(self, x: Any, block: Block) -> None:
        """Note that a statement of `block` reads an operand."""
        if isinstance(x, Reg):
            self.uses[x.id] += 1
            self.homes[x.id] = block if self.homes.get(x.id, block) is block else None

    def count(self, stmt: Any, block: Block) -> None:
        """Note what a statement of `block` reads; those behind it have been looked at. What nobody reads needs
        nothing."""
        if not isinstance(stmt, Inst) or stmt.op == "index" or self.uses[stmt.out.id]:
            for r in operands(stmt):
                self.read(r, block)

    def take(self, x: Any) -> Expr:
        """An operand where it is read."""
        if isinstance(x, Const):
            return constant(x)
        if x.id in self.pending:
            return self.pending.pop(x.id)[1]
        return self.known[x.id]

    def result(self, reg: Reg, expr: Expr, block: Block, hint: str = "v") -> None:
        """What an instruction gives: held back, or assigned to a name."""
        if self.uses[reg.id] == 1 and self.homes[reg.id] is block and len(expr.text) <= _LONGEST:
            self.pending[reg.id] = reg, expr
        elif self.uses[reg.id]:
            self.assign(reg, expr, hint)

    def assign(self, reg: Reg, expr: Expr, hint: str = "v") -> None:
        name = self.names.fresh(hint, number=True)
        self.put(f"{name} = {expr.text}")
        self.known[reg.id] = Expr(name)

    def flush(self, written: Callable[[Any], bool]) -> None:
        """Assign what is held back and reads something that is about to be `written`."""
        for id_, (reg, expr) in list(self.pending.items()):
            if any(map(written, expr.reads)):
                del self.pending[id_]
                self.assign(reg, expr)

    def scalar(self, inst: Inst, block: Block) -> None:
        """Write an instruction of scalar code, or the call of a vector function."""
        if not self.uses[inst.out.id]:
            return
        args = [self.take(a) for a in inst.args]
        if inst.op == "math":
            self.math(inst, args, block)
            return
        expr = self.expression(inst, args)
        if expr is None:
            raise Unsupported(f"the instruction {inst.op!r} of the loop IR")
        self.result(inst.out, expr, block)

    def math(self, inst: Inst, args: list[Expr], block: Block) -> None:
        size = inst.out.dtype.itemsize
        if isinstance(inst.attr, str):
            name = self.file.function(inst.attr, size)
            self.result(inst.out, Expr(f"{name}({_listed(args)})", reads=reads(args)), block)
            return
        condition, usual, *xs = args  # a function for rare arguments: see `vecmath.rare`
        name = self.names.fresh("y", number=True)
        self.put(f"{name} = {usual.text}")
        self.put(f"if {condition.text}:")
        self.put(f"    {name} = {self.file.function(inst.attr[1], size)}({_listed(xs)})")
        self.known[inst.out.id] = Expr(name)


def _listed(args: list[Expr]) -> str:
    return ", ".join(a.text for a in args)
