"""Statements of the loop IR as Python that Numba compiles: loops, branches, memory, calls.

A loop that threads share is a `prange`, if nothing in it ends the program or calls other code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.lowering.llvm.alias import blocks_of, walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
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
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    Store,
    While,
)
from tracejit.lowering.loops.uses import is_check
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.source import calls
from tracejit.lowering.source.comments import Comments
from tracejit.lowering.source.names import Names
from tracejit.lowering.source.scalars import (  # fmt: skip
    COMPARE,
    OR,
    PRODUCT,
    Expr,
    constant,
    type_name,
)
from tracejit.lowering.source.straight import Needs, Straight


class Writer(Straight):
    """Writes a program's statements; `run` gives the lines of the function that has them."""

    def __init__(
        self, lowered: Lowered, file: Needs, names: Names, buffers: dict[Buffer, str], shares: bool
    ) -> None:
        super().__init__(file, names)
        self.define, self.named = file.define, file.named
        self.program = program = lowered.program
        self.callbacks = lowered.callbacks
        self.buffers = buffers
        self.comments = Comments()
        self.notes: list[Comment] = []
        self.slots: dict[Slot, str] = {}
        self.nesting = 0
        self.given: list[Buffer] = []
        self.shares = shares
        self.parallel = False
        stmts = walk(program.body.stmts)
        self.pointed = {a for s in stmts if isinstance(s, Call) for a in s.args if isinstance(a, Slot)}
        self.own = {b for s in stmts if isinstance(s, For) and self.is_shared(s) for b in s.private}
        self.fields: dict[Buffer, list[Buffer]] = {}
        for b in program.buffers:
            if b.kind == "field" and b.block is not None:
                self.fields.setdefault(b.block, []).append(b)
        self._count(program.body)

    def _count(self, block: Block) -> None:
        for s in reversed(block.stmts):
            if isinstance(s, While):
                self._count(s.body)
                self.read(s.cond, s.head)
                self._count(s.head)
                continue
            for inner in blocks_of(s):
                self._count(inner)
            self.count(s, block)

    def run(self) -> list[str]:
        self.comments.read(self.program.body)
        self.given = [b for s in walk(self.program.body.stmts) if isinstance(s, Give) for b, _ in s.pairs]
        body = self.body_lines()
        declared = self.declarations()
        return [*declared, *body, f"    return {self.ending('0')}"]

    def body_lines(self) -> list[str]:
        self.block(self.program.body)
        lines, self.lines = self.lines, []
        return lines

    def ending(self, code: str) -> str:
        """What the function gives when it ends with this code."""
        return ", ".join([code, *(self.buffer(b) for b in self.given)])

    # -- memory

    def buffer(self, b: Buffer) -> str:
        if b not in self.buffers:
            self.buffers[b] = self.names.fresh(*self._wanted(b))
        return self.buffers[b]

    def _wanted(self, b: Buffer) -> tuple[str, bool]:
        user = self.comments.names.get(b)
        return (user, False) if user else (_stem(b.name), True)

    def slot(self, s: Slot) -> str:
        if s not in self.slots:
            self.slots[s] = self.names.fresh(_stem(s.name), number=True)
        return self.slots[s]

    def declarations(self) -> list[str]:
        """The arrays of the function, but for those of loops that threads share."""
        for b in [b for b in self.program.buffers if b in self.buffers]:
            if b.kind == "field":
                self.buffer(b.block)  # type: ignore[arg-type]
        for b in self.program.buffers:
            if b in self.buffers and b.kind != "arg" and b not in self.own:
                self.declare(b)
        for s in self.slots:
            if s in self.pointed:
                self.put(f"{self.slots[s]} = np.empty(1, {type_name(s.dtype)})")
        lines, self.lines = self.lines, []
        return lines

    def declare(self, b: Buffer) -> None:
        name, dtype = self.buffer(b), type_name(b.dtype)
        if b.kind == "field":
            self.put(f"{name} = {self.buffer(b.block)}.view({dtype})")  # type: ignore[arg-type]
            return
        size = b.size if isinstance(b.size, int) and b.kind not in ("heap", "pointer") else 0
        size *= 2 if b.dtype.kind == "c" else 1
        self.put(f"{name} = np.empty({size}, {dtype})")

    def element(self, b: Buffer, index: Any) -> str:
        return f"{self.buffer(b)}[{self.take(index).text}]"

    # -- statements

    def block(self, block: Block) -> None:
        before = len(self.lines)
        self.statements(block)
        if len(self.lines) == before:
            self.put("pass")

    def statements(self, block: Block) -> None:
        for stmt in block.stmts:
            if self.notes and type(stmt) is not Comment:
                notes, self.notes = self.notes, []
                for line in self.comments.lines(notes):
                    self.put(line)
            _STATEMENTS[type(stmt)](self, stmt, block)

    def inside(self, block: Block) -> None:
        self.depth += 1
        self.block(block)
        self.depth -= 1

    def inst(self, inst: Inst, block: Block) -> None:
        if inst.op == "index":
            self.index(inst, block)
        elif inst.op == "load":
            if self.uses[inst.out.id]:
                text = self.element(inst.attr, inst.args[0])
                self.result(inst.out, Expr(text, reads=frozenset({inst.attr})), block)
        elif inst.op == "get":
            name = self.slot(inst.attr)
            text = f"{name}[0]" if inst.attr in self.pointed else name
            self.result(inst.out, Expr(text, reads=frozenset({inst.attr})), block)
        elif inst.op == "param":
            self.known[inst.out.id] = constant(Const(self.program.params[inst.attr], I64))
        else:
            self.scalar(inst, block)

    def index(self, inst: Inst, block: Block) -> None:
        i, size = (self._named(self.take(a)) for a in inst.args)
        at = i
        if inst.attr.wraps:
            at = self.names.fresh("at", number=True)
            self.put(f"{at} = {i} + {size} if {i} < 0 else {i}")
        self.put(f"if {at} < 0 or {at} >= {size}:")
        failed = f"{self.need('failed')}(status, {inst.attr.code}, {i}, {size})"
        self.put(f"    return {self.ending(failed)}")
        self.known[inst.out.id] = Expr(at)

    def _named(self, x: Expr) -> str:
        """An operand that is written several times."""
        if x.text.lstrip("-").isalnum() or x.text.isidentifier():
            return x.text
        name = self.names.fresh("at", number=True)
        self.put(f"{name} = {x.text}")
        return name

    def store(self, s: Store, block: Block) -> None:
        where, value = self.element(s.buffer, s.index), self.take(s.value)
        self.flush(_is_memory)
        self.put(f"{where} = {value.text}")

    def set_slot(self, s: SetSlot, block: Block) -> None:
        name, value = self.slot(s.slot), self.take(s.value)
        name = f"{name}[0]" if s.slot in self.pointed else name
        self.flush(lambda x: x is s.slot)
        if value.sum and value.sum[0] == name:
            self.put(f"{name} += {value.sum[1]}")
        else:
            self.put(f"{name} = {value.text}")

    def for_(self, s: For, block: Block) -> None:
        start, stop = self.take(s.start), self.take(s.stop)
        self.flush(_anything)
        var = self.names.loop(self.nesting)
        self.known[s.var.id] = Expr(var)
        shared = self.is_shared(s)
        self.parallel |= shared
        self.head(s, var, start, stop, shared)
        self.nesting += 1
        self.depth += 1
        for b in s.private if shared else ():
            self.declare(b)
        self.depth -= 1
        self.inside(s.body)
        self.nesting -= 1

    def head(self, s: For, var: str, start: Expr, stop: Expr, shared: bool) -> None:
        """The line that begins a loop."""
        if s.down:
            span = f"{_less(stop)}, {_less(start)}, -1"
        else:
            span = stop.text if start.text == "0" else f"{start.text}, {stop.text}"
        self.put(f"for {var} in {'numba.prange' if shared else 'range'}({span}):")

    def while_(self, s: While, block: Block) -> None:
        self.flush(_anything)
        self.put("while True:")
        self.depth += 1
        before = len(self.lines)
        self.statements(s.head)
        cond = self.take(s.cond)
        self.flush(_anything)
        if len(self.lines) == before:  # nothing but the condition
            self.lines[-1] = "    " * (self.depth - 1) + f"while {cond.text}:"
        else:
            self.put(f"if not {cond.within(COMPARE)}:")
            self.put("    break")
        self.depth -= 1
        self.nesting += 1
        self.inside(s.body)
        self.nesting -= 1

    def if_(self, s: If, block: Block) -> None:
        cond = self.take(s.cond)
        self.flush(_anything)
        self.put(f"if {cond.text}:")
        self.inside(s.then)
        if s.orelse.stmts:
            self.put("else:")
            self.inside(s.orelse)

    def is_shared(self, node: For) -> bool:
        """Whether threads share a loop: in Numba it cannot be left before its end, and must not need Python."""
        return (
            self.shares
            and bool(node.grain)
            and not any(is_check(s) or isinstance(s, Call) for s in walk([node]))
        )

    def call(self, s: Call, block: Block) -> None:
        text = calls.text(self, s)
        self.flush(_anything)
        if s.out is not None and self.uses[s.out.id]:
            self.assign(s.out, Expr(text), "r")
        else:
            self.put(text)

    def alloc(self, s: Alloc, block: Block) -> None:
        size = self.take(s.size)
        self.flush(_is_memory)
        twice = f"2 * {size.within(PRODUCT)}" if s.buffer.dtype.kind == "c" else size.text
        self.put(f"{self.buffer(s.buffer)} = np.empty({twice}, {type_name(s.buffer.dtype)})")
        self._fields(s.buffer)

    def grow(self, s: Grow, block: Block) -> None:
        size, name = self.take(s.size), self.buffer(s.buffer)
        self.flush(_is_memory)
        self.put(f"{name} = {self.need('grown')}({name}, {size.text})")
        self._fields(s.buffer)

    def _fields(self, block: Buffer) -> None:
        """Let the fields of a block that has moved be where they are now."""
        for b in self.fields.get(block, ()):
            start = str(b.slot) if isinstance(b.slot, int) else self.known[b.slot.id].text
            where = self.buffer(block) + (f"[{start}:]" if start != "0" else "")
            self.put(f"{self.buffer(b)} = {where}.view({type_name(b.dtype)})")

    def copy(self, s: Copy, block: Block) -> None:
        count = self.take(s.count)
        self.flush(_is_memory)
        twice = f"2 * {count.within(PRODUCT)}" if s.target.dtype.kind == "c" else count.text
        self.put(f"{self.buffer(s.target)}[:{twice}] = {self.buffer(s.source)}[:{twice}]")

    def set_pointer(self, s: SetPointer, block: Block) -> None:
        self.flush(_is_memory)
        self.put(f"{self.buffer(s.buffer)} = {self.buffer(s.target)}")

    def rotate(self, s: Rotate, block: Block) -> None:
        self.flush(_is_memory)
        names = [self.buffer(p) for p in s.pointers]
        self.put(f"{', '.join(names)} = {', '.join([*names[1:], names[0]])}")

    def give(self, s: Give, block: Block) -> None:
        """These are part of what the function returns."""

    def free(self, s: Free, block: Block) -> None:
        """Numba counts references."""

    def comment(self, s: Comment, block: Block) -> None:
        self.notes.append(s)


def _is_memory(x: Any) -> bool:
    return isinstance(x, Buffer)


def _anything(_: Any) -> bool:
    return True


def _less(x: Expr) -> str:
    return str(int(x.text) - 1) if x.text.lstrip("-").isdigit() else f"{x.within(OR)} - 1"


def _stem(name: str) -> str:
    return name.rstrip("0123456789") or name


_STATEMENTS: dict[type, Callable[[Writer, Any, Block], None]] = {
    Inst: Writer.inst,
    Store: Writer.store,
    SetSlot: Writer.set_slot,
    SetPointer: Writer.set_pointer,
    Rotate: Writer.rotate,
    For: Writer.for_,
    While: Writer.while_,
    If: Writer.if_,
    Call: Writer.call,
    Alloc: Writer.alloc,
    Grow: Writer.grow,
    Give: Writer.give,
    Free: Writer.free,
    Copy: Writer.copy,
    Comment: Writer.comment,
}
