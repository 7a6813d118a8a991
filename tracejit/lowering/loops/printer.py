"""Printing loop-IR programs as readable pseudo-code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit import dtypes
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    Block,
    Buffer,
    Call,
    Comment,
    Const,
    Copy,
    For,
    Free,
    Give,
    Grow,
    If,
    Inst,
    Program,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    Store,
    While,
)

_INFIX = {
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "iadd": "+", "isub": "-", "imul": "*",
    "shl": "<<", "ashr": ">>", "lshr": ">>>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def format_program(program: Program) -> str:
    """`program` as text: its buffers, then its statements."""
    args = ", ".join(_declared(b) for b in program.args)
    lines = [f"def {program.name}({args}):"]
    for b in program.buffers:
        if b.kind == "field":
            at = b.slot if isinstance(b.slot, int) else "?"
            lines.append(f"    {b.name} = {_type(b)}[] at {at} of {b.block.name}")  # type: ignore[union-attr]
        elif b.kind not in ("arg", "heap"):
            where = f" at {b.slot}" if b.kind == "arena" else ""
            lines.append(f"    {b.name} = {b.kind}({_type(b)}[{b.size}]){where}")
    names = _Names()
    lines += names.block(program.body, 1)
    if len(lines) == 1:
        lines.append("    pass")
    return "\n".join(lines)


def _type(b: Buffer | Slot | Reg) -> str:
    return dtypes.short_name(b.dtype)


def _declared(b: Buffer) -> str:
    return f"{b.name}: {_type(b)}[{b.size if isinstance(b.size, int) else '?'}]"


class _Names:
    """Registers get short names in order of appearance: loop variables i0, others v0."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.loops = 0

    def of(self, x: Any) -> str:
        if isinstance(x, Const):
            return str(x.value)
        if isinstance(x, Reg):
            return self.names.setdefault(x.id, f"v{len(self.names)}")
        if isinstance(x, tuple):
            return f"&{self.of(x[0])}[{self.of(x[1])}]"
        return f"&{x.name}" if isinstance(x, Slot) else getattr(x, "name", None) or str(x)

    def block(self, block: Block, depth: int) -> list[str]:
        pad = "    " * depth
        out: list[str] = []
        for stmt in block.stmts:
            out += [pad + line for line in self.stmt(stmt)]
        return out or [pad + "pass"]

    def nested(self, block: Block) -> list[str]:
        return self.block(block, 1)

    def stmt(self, s: Any) -> Iterator[str]:
        if isinstance(s, Inst):
            yield f"{self.of(s.out)} = {self.inst(s)}"
        elif isinstance(s, Store):
            place = f"{s.buffer.name}[{self.of(s.index)}]"
            yield f"{place} = " + (f"{s.op}({place}, {self.of(s.value)})" if s.op else self.of(s.value))
        elif isinstance(s, SetSlot):
            yield f"{s.slot.name} = {self.of(s.value)}"
        elif isinstance(s, For):
            yield from self.for_(s)
        elif isinstance(s, While):
            yield "while:"
            yield from self.nested(s.head)
            yield f"    if not {self.of(s.cond)}: break"
            yield from self.nested(s.body)
        elif isinstance(s, If):
            yield f"if {self.of(s.cond)}:"
            yield from self.nested(s.then)
            if s.orelse.stmts:
                yield "else:"
                yield from self.nested(s.orelse)
        else:
            yield self.other(s)

    def for_(self, s: For) -> Iterator[str]:
        self.names[s.var.id] = f"i{self.loops}"
        self.loops += 1
        bounds = f"{self.of(s.start)}, {self.of(s.stop)}"
        span = f"reversed(range({bounds}))" if s.down else f"range({bounds})"
        notes = ", ".join(
            n for n, on in (("vector", s.vector), ("parallel", s.grain), ("rare", s.rare)) if on
        )
        yield f"for {self.of(s.var)} in {span}:{notes and '  # ' + notes}"
        yield from self.nested(s.body)

    def inst(self, s: Inst) -> str:
        args = [self.of(a) for a in s.args]
        if s.op in _INFIX:
            return f"{args[0]} {_INFIX[s.op]} {args[1]}" + ("  # reassoc" if s.attr == "reassoc" else "")
        if s.op == "cmp":
            return f"{args[0]} {_COMPARE[s.attr]} {args[1]}"
        if s.op == "select":
            return f"{args[1]} if {args[0]} else {args[2]}"
        if s.op == "load":
            return f"{s.attr.name}[{args[0]}]"
        if s.op == "get":
            return s.attr.name
        if s.op == "index":
            how = "wrapped" if s.attr.wraps else "inside"
            return f"{how}({args[0]}, {args[1]}) or fail({s.attr.code})"
        if s.op in ("cast", "bitcast"):
            return f"{s.op}({_type(s.out)}, {args[0]})"
        return f"{s.attr if s.op == 'math' else s.op}({', '.join(args)})"

    def other(self, s: Any) -> str:
        if isinstance(s, Comment):
            return f"# {s.text}"
        if isinstance(s, Call):
            text = f"{s.target.name}({', '.join(map(self.of, s.args))})"
            return f"{self.of(s.out)} = {text}" if s.out is not None else text
        if isinstance(s, Copy):
            return f"copy({s.target.name}, {s.source.name}, {self.of(s.count)})"
        if isinstance(s, Alloc):
            return f"{s.buffer.name} = alloc({_type(s.buffer)}[{self.of(s.size)}])"
        if isinstance(s, Grow):
            return f"grow({s.buffer.name}, {self.of(s.size)})"
        if isinstance(s, Give):
            return f"give({', '.join(f'{b.name} -> {t.name}' for b, t in s.pairs)})"
        if isinstance(s, Free):
            return f"free({s.buffer.name})"
        if isinstance(s, SetPointer):
            return f"{s.buffer.name} = {s.target.name}"
        if isinstance(s, Rotate):
            return f"rotate({', '.join(p.name for p in s.pointers)})"
        return repr(s)
