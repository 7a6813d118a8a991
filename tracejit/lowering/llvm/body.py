"""Statements of the loop IR as LLVM text; one translation for every target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.llvm import vecmath
from tracejit.lowering.llvm.alias import blocks_of, walk
from tracejit.lowering.llvm.interleave import vectors_at_once
from tracejit.lowering.llvm.memory import Memory
from tracejit.lowering.llvm.scalar import emit_scalar, value
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    Block,
    Call,
    Comment,
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
    Size,
    Store,
    While,
)
from tracejit.lowering.loops.uses import is_check, is_written_out, trips

_COPIES, _SHORT = 4, 32  # how often the body of a loop with exits is written, and how long it may be
_LONG = 256  # iterations of which the vectorised form is not written out
NOT_UNROLLED = '!{!"llvm.loop.unroll.disable"}'
_NOT_VECTORISED = '!{!"llvm.loop.vectorize.enable", i1 false}'
_EIGHT_AT_ONCE = '!{!"llvm.loop.unroll.count", i32 8}'
_ROLLED = '!{!"llvm.loop.unroll.runtime.disable"}'
_VERY_LONG = 64  # iterations of a loop of which there is one copy


class Translator(Memory):
    """Writes a program's statements into `f`; `finish` ends it with the common exit block."""

    suffix = ""  # of the function's head
    vectors = False  # whether vectors are to be made of what is being written

    # -- structure

    def part(self, f: Function, target: Target) -> Translator:
        """The translator of a function that is a part of this one's."""
        return type(self)(f, self.program, target, self)

    def open(self, node: For | None = None) -> None:
        """What a function begins with, that of a part of `node` or of the whole program: nothing."""

    def run(self) -> None:
        """Translate the whole program; every outermost loop nest is an alias region of its own."""
        straight: list[Any] = []
        for stmt in self.program.body.stmts:
            if isinstance(stmt, (For, While, If)):
                self.flush(straight)
                self.scopes.enter([stmt])
                self.outermost = stmt
                if not (isinstance(stmt, For) and self.target.apart(self, stmt)):
                    self.stmt(stmt)
            else:
                straight.append(stmt)
        self.flush(straight)

    def flush(self, straight: list[Any]) -> None:
        self.scopes.enter(straight)
        for stmt in straight:
            self.stmt(stmt)
        straight.clear()

    def block(self, block: Block) -> None:
        for stmt in block.stmts:
            self.stmt(stmt)

    def stmt(self, stmt: Any) -> None:
        _STATEMENTS[type(stmt)](self, stmt)

    def loop(self, node: For) -> None:
        if not (node.grain and self.target.launch(self, node)):
            self.iterate(node, value(self.f, node.start), value(self.f, node.stop))

    def iterate(self, node: For, start: str, stop: str) -> None:
        """Run the iterations of a loop from `start` to before `stop` here."""
        if _has_exits(node):
            start = self.several(node, start, stop)
        self.single(node, start, stop)

    def several(self, node: For, start: str, stop: str) -> str:
        """Most iterations of a loop, written out; where the rest starts. LLVM does that itself for loops
        without exits, but not for those with exits whose length it does not know."""
        f, i = self.f, self.f.fresh()
        head, body, done = f.labels("fours", "four", "rest")
        limit, before, step = f.let(f"sub nsw i64 {stop}, {_COPIES - 1}"), f.label, f.fresh()
        f.jump(head)
        f.begin(head)
        f.add(f"{i} = phi i64 [ {start}, %{before} ], [ {step}, %{body}.end ]")
        f.branch(f.let(f"icmp slt i64 {i}, {limit}"), body, done)
        f.begin(body)
        for n in range(_COPIES):
            f.names[node.var.id] = f.let(f"add nsw i64 {i}, {n}") if n else i
            self.block(node.body)
        f.jump(f"{body}.end")
        f.begin(f"{body}.end")
        f.add(f"{step} = add nsw i64 {i}, {_COPIES}")
        f.jump(head)
        f.begin(done)
        return i

    def single(self, node: For, start: str, stop: str) -> None:
        f, i = self.f, self.f.fresh()
        first, by = f.let(f"sub nsw i64 {stop}, 1") if node.down else start, "1"
        if share := self.target.share(f) if node is self.outermost else None:
            first, by = f.let(f"add nsw i64 {start}, {share[0]}"), share[1]
        head, body, latch, done = f.labels("loop", "body", "next", "done")
        f.names[node.var.id] = i
        before, step = f.label, f.fresh()
        f.jump(head)
        f.begin(head)
        f.add(f"{i} = phi i64 [ {first}, %{before} ], [ {step}, %{latch} ]")
        inside = f"icmp sge i64 {i}, {start}" if node.down else f"icmp slt i64 {i}, {stop}"
        f.branch(f.let(inside), body, done)
        f.begin(body)
        outside, self.vectors = self.vectors, self.vectors or node.vector
        with self.scopes.independent(node.body if node.vector else Block()) as group:
            self.block(node.body)
        self.vectors = outside
        f.add(f"{step} = {'sub' if node.down else 'add'} nsw i64 {i}, {by}")
        self.poll(step, node)
        f.jump(latch)
        f.begin(latch)
        f.add(f"br label %{head}{self.loop_hint(node, group)}")
        f.begin(done)

    def loop_hint(self, node: For, group: str) -> str:
        """The metadata of a loop's back edge; `group`: the accesses that depend on no iteration before."""
        module, hints = self.f.module, []
        if group:
            hints.append(f'!{{!"llvm.loop.parallel_accesses", {group}}}')
        if node.vector:
            hints.append('!{!"llvm.loop.mustprogress"}')
        if node.vector and (count := vectors_at_once(node, module)):
            hints.append(f'!{{!"llvm.loop.interleave.count", i32 {count}}}')
        if node.rare:
            hints += [NOT_UNROLLED, _NOT_VECTORISED]
        elif _only_looks_up(node):
            hints += [_EIGHT_AT_ONCE, _NOT_VECTORISED]
        elif _unrolls_badly(node):
            hints.append(NOT_UNROLLED)
            if node.vector:
                hints += self._afterwards(node)
        if not hints:
            return ""
        nodes = ", ".join(module.shared(h) for h in hints)
        return f", !llvm.loop {module.node(f'distinct !{{{{self}}, {nodes}}}')}"

    def _afterwards(self, node: For) -> list[str]:
        """What is to be done with the loops that a vectorised one becomes: over whole vectors, and over the rest."""
        shared = self.f.module.shared
        done = shared('!{!"llvm.loop.isvectorized", i32 1}')
        accumulates = any(isinstance(s, SetSlot) for s in walk(node.body.stmts))
        if accumulates:  # unrolling may keep them in registers
            return [f'!{{!"llvm.loop.vectorize.followup_all", {done}}}']
        # Where LLVM knows how often it runs, it would write out the loop over whole vectors twenty times; where it
        # does not, the loop over the few that are left over twice.
        whole = f"{done}, {shared(NOT_UNROLLED)}" if trips(node) >= _LONG else done
        rest = f"{done}, {shared(_ROLLED)}"
        return [
            f'!{{!"llvm.loop.vectorize.followup_vectorized", {whole}}}',
            f'!{{!"llvm.loop.vectorize.followup_epilogue", {rest}}}',
        ]

    def while_(self, node: While) -> None:
        f = self.f
        head, body, latch, done = f.labels("while", "do", "again", "done")
        before, count, following = f.label, f.fresh(), f.fresh()
        # The iterations until the next look are counted down: one instruction does that and says when it is due.
        looks = self.target.interruptible
        every = self.target.given(f, node.poll) if node.poll and looks else ""
        charged = looks and node.charge
        f.jump(head)
        f.begin(head)
        if every or charged:
            f.add(f"{count} = phi i64 [ {every or 0}, %{before} ], [ {following}, %{latch} ]")
        self.block(node.head)
        f.branch(value(f, node.cond), body, done)
        f.begin(body)
        if every:  # first, so that LLVM sees what the end of the body says of the condition
            left = f.let(f"sub i64 {count}, 1")
            asked, looked = self.look_if(f.let(f"icmp eq i64 {left}, 0"))
            f.add(f"{following} = phi i64 [ {left}, %{asked} ], [ {every}, %{looked} ]")
        elif charged:
            f.add(f"{following} = sub i64 {count}, 1")
        if node.ticks and looks:
            self.look_if(self.overdue(node))
        self.block(node.body)
        f.jump(latch)
        f.begin(latch)
        f.jump(head)
        f.begin(done)
        if charged:
            since = f.let(f"sub i64 {every or 0}, {count}")
            self.charge(f.let(f"mul i64 {since}, {self.target.given(f, node.charge)}"))

    def if_(self, node: If) -> None:
        f = self.f
        then, orelse, done = f.labels("then", "else", "endif")
        f.branch(value(f, node.cond), then, orelse if node.orelse.stmts else done)
        f.begin(then)
        self.block(node.then)
        f.jump(done)
        if node.orelse.stmts:
            f.begin(orelse)
            self.block(node.orelse)
            f.jump(done)
        f.begin(done)

    # -- instructions

    def inst(self, inst: Inst) -> None:
        if emit_scalar(self.f, inst):
            return
        if inst.op == "load":
            name = self.load(inst)
        elif inst.op == "get":
            name = self.get_slot(inst.attr)
        elif inst.op == "param":
            name = self.param(inst.attr)
        elif inst.op == "index":
            name = self.index(inst)
        elif inst.op == "math":
            name = vecmath.emit_call(self.f, inst, alone=not self.vectors)
        else:
            raise Unsupported(f"loop IR op {inst.op!r}")
        self.f.names[inst.out.id] = name

    def comment(self, node: Comment) -> None:
        self.f.add("; " + node.text.replace("\n", " "))


def _only_looks_up(node: For) -> bool:
    """Whether a loop only moves elements whose places it reads: a vector's load from many places is no faster than
    as many loads, and on some processors takes 1.2 times as long. Written out, so that what counts the iterations
    does not fill the processor's window of instructions: it waits for more loads at once (1.1 to 1.3 times as fast)."""
    loads = {s.out: s for s in node.body.stmts if isinstance(s, Inst) and s.op == "load"}
    moved = [loads.get(s.value) for s in node.body.stmts if isinstance(s, Store)]  # type: ignore[arg-type]
    return bool(moved) and all(m is not None and m.args[0] in loads for m in moved)


def _has_exits(node: For) -> bool:
    """Whether this is a short piece of straight code with checks, run for a size that is a parameter."""
    body = node.body.stmts
    straight = len(body) <= _SHORT and not any(blocks_of(s) for s in body)
    upwards = not (node.down or node.poll or node.ticks)
    return type(node.stop) is Size and straight and upwards and any(is_check(s) for s in body)


def _unrolls_badly(node: For) -> bool:
    """Whether LLVM must not write out the iterations of a loop: it would do so before it vectorises, and
    then compile every copy, to slower code."""
    if trips(node) == math.inf:
        return False
    inner = [s for s in node.body.stmts if isinstance(s, For)]
    if any(type(s.stop) is Size or trips(s) >= _VERY_LONG for s in inner):
        return True
    return (node.vector or bool(inner)) and not is_written_out(node)


_STATEMENTS: dict[type, Callable[[Translator, Any], None]] = {
    Inst: Translator.inst,
    Store: Translator.store,
    SetSlot: Translator.set_slot,
    SetPointer: Translator.set_pointer,
    Rotate: Translator.rotate,
    For: Translator.loop,
    While: Translator.while_,
    If: Translator.if_,
    Call: Translator.call,
    Alloc: Translator.alloc,
    Grow: Translator.grow,
    Give: Translator.give,
    Free: lambda self, node: self.release(node.buffer),
    Copy: Translator.copy,
    Comment: Translator.comment,
}
