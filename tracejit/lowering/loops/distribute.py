"""Loop distribution: what iterations compute without each other is computed as vectors, a block of iterations ahead.

    for i in range(n):                        for b in range(ceil(n / 256)):
        check(x[i] < 710)                         for j in range(256):                   # vectors
        s = s + exp(x[i])         ->                  failed |= not x[256 * b + j] < 710
                                                      E[j] = exp(x[256 * b + j])
                                                  if failed: the iterations of the block as they were
                                                  else: for j in range(256): s = s + E[j]

A sum has an order, and a check may end the program at any iteration: neither can be a vector, nor anything beside them
in the same loop. Mathematical functions take most of the time of such loops, and several times as long one by one.
Where a check fails, the iterations of the block are run again, one after the other, to end the program at the
first that is wrong. Where nobody knows how many iterations there are, the loop stays beside that over blocks, for when
they are few. What is computed stays the same.

The transformation is that of Kennedy and McKinley, "Loop distribution with arbitrary control flow" (1990), for loops
without control flow; checks are taken for failures to be noted, as in `emit.checks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Buffer,
    Comment,
    Const,
    For,
    If,
    Inst,
    Operand,
    Program,
    Reg,
    SetSlot,
    Slot,
    Store,
    blocks_of,
)
from tracejit.lowering.loops.uses import defined, is_check, is_place, is_shared, operands, places, trips

#: Iterations of a block, and those that are worth being vectors.
BLOCK, LEAST = 256, 16
_SHIFT = BLOCK.bit_length() - 1
#: The most instructions that are computed ahead, which would not stay in registers, and numbers kept of each iteration.
_MOST, _MOST_KEPT = 100, 8
_MOST_BUFFERS = 64  # of a program: they lie on the stack, 2 KB each
_KINDS = ("arg", "arena", "stack")
#: Integer operations that make the indices of what is loaded ahead: of no more than the loop's variable and what does
#: not change in the loop, so that a check which is still to come has nothing to do with them.
_INDEX = frozenset({"iadd", "isub", "imul", "smin", "smax", "get", "param"})
#: Operations that are done again rather than kept in memory.
_CHEAP = _INDEX | {"load", "fadd", "fsub", "fmul", "fneg", "fabs", "cmp", "not", "and", "or", "cast"}
_DIVISIONS = frozenset({"sdiv", "srem", "udiv", "urem"})
_SHIFTS = frozenset({"shl", "ashr", "lshr"})


def distribute(program: Program, homes: dict[Buffer, Block]) -> None:
    """Distribute the innermost loops of a program, as far as it pays. `homes`: see `plan_memory`."""
    related = {frozenset(map(id, pair)) for pair in program.may_alias}
    _in_block(program.body, _Writer(program, homes), related, False)


def _in_block(block: Block, writer: _Writer, related: set[frozenset[int]], inside: bool) -> None:
    """The loops of a block, which lies in a loop or does not."""
    stmts: list[Any] = []
    for s in block.stmts:
        parts = _Parts(s, related) if _suits(s, inside) else None
        if parts is not None and parts.pays() and writer.kept + len(parts.kept) <= _MOST_BUFFERS:
            stmts += writer.distributed(parts)
            continue
        for inner in blocks_of(s):
            _in_block(inner, writer, related, inside or not isinstance(s, If))
        stmts.append(s)
    block.stmts[:] = stmts


def _suits(s: Any, inside: bool) -> bool:
    """Whether a statement is a loop without control flow that may be long. One in a loop whose length nobody knows is
    most likely short, and would be slower for the loop beside it: functions that are called at many places are not
    inlined at any."""
    if not isinstance(s, For) or s.vector or s.down or s.rare or s.most < 2 * LEAST:
        return False
    known = trips(s)
    long = not inside if known == math.inf else known >= 2 * LEAST
    return long and all(isinstance(x, (Inst, Store, SetSlot, Comment)) for x in s.body.stmts)


class _Parts:
    """Which statements of a loop are computed ahead, and which are left."""

    def __init__(self, node: For, related: set[frozenset[int]]) -> None:
        self.node = node
        stmts = node.body.stmts
        self.inside = {r for s in stmts for r in defined(s)}
        self.all = {s.out: s for s in stmts if isinstance(s, Inst)}
        self.set = {s.slot for s in stmts if isinstance(s, SetSlot)}
        self.read = {s.attr for s in stmts if isinstance(s, Inst) and s.op == "load"}
        self.written = [s.buffer for s in stmts if isinstance(s, Store)]
        self.related = related
        self.used = {a for s in stmts for a in operands(s)}
        self.free: set[Reg] = set()  # that no iteration before has to do with
        self.plain: set[Reg] = set()  # indices
        self.made: dict[Reg, Inst] = {}
        self.checks: list[Inst] = []
        for s in stmts:
            if isinstance(s, Inst) and self._is_free(s):
                self.made[s.out] = s
                self.free.add(s.out)
                if is_check(s):
                    self.checks.append(s)
                elif s.op in _INDEX and all(map(self._is_plain, s.args)):
                    self.plain.add(s.out)
        self.stores = [s for s in stmts if isinstance(s, Store) and self._is_apart(s)]
        done = {*map(id, self.stores)}
        self.left = [
            s
            for s in stmts
            if id(s) not in done
            and not isinstance(s, Comment)
            and not (isinstance(s, Inst) and s.out in self.free)
        ]
        self.kept: list[Reg] = []
        self.again: set[Reg] = set()
        for s in self.left:
            for a in operands(s):
                self._keep(a)
        wanted = [*self.kept, *(a for s in (*self.stores, *self.checks) for a in operands(s))]
        self.ahead = self._slice(wanted)

    def pays(self) -> bool:
        """Whether there is something to compute ahead that takes long beside what it costs to keep it."""
        stmts = self.node.body.stmts
        if any(isinstance(b, Buffer) and b.slot in self.inside for s in stmts for b in places(s)):
            return False  # copies of the loop would need buffers of their own
        ahead = [s for s in stmts if isinstance(s, Inst) and s.out in self.ahead]
        if len(ahead) > _MOST or len(self.kept) > _MOST_KEPT:
            return False
        if any(isinstance(s, (Store, SetSlot)) for s in self.left):
            return any(s.op == "math" for s in ahead)
        return bool(self.stores) and bool(self.checks) and not self.left

    # ---------------------------------------------------------------- which

    def _is_outer(self, x: Any) -> bool:
        return isinstance(x, Const) or x is self.node.var or x not in self.inside

    def _is_plain(self, x: Any) -> bool:
        return self._is_outer(x) or x in self.plain

    def _is_free(self, s: Inst) -> bool:
        """Whether an instruction can be run ahead: it needs nothing of iterations before, and does no harm where a
        check that would have ended the program has been passed over."""
        if isinstance(s.attr, Slot):
            return s.op == "get" and s.attr not in self.set
        if not all(self._is_outer(a) or a in self.free for a in s.args):
            return False
        if s.op == "load":
            b = s.attr
            return b.kind in _KINDS and not self._touches(self.written, b) and self._is_plain(s.args[0])
        if is_check(s):  # one that asks whether something holds, rather than for an index
            return isinstance(s.args[1], Const) and s.args[1].value == 1 and s.out not in self.used
        if s.op == "cast":
            return not (s.args[0].dtype.kind == "f" and s.out.dtype.kind in "iu")
        if s.op in _DIVISIONS or s.op in _SHIFTS:
            by = s.args[1]
            return isinstance(by, Const) and 0 < by.value < (64 if s.op in _SHIFTS else 2**62)
        return s.attr != "reassoc"

    def _touches(self, buffers: Iterable[Buffer], buffer: Buffer) -> int:
        """How many of some buffers may be the memory of another one."""
        return sum(b is buffer or is_shared(b, buffer, self.related) for b in buffers)

    def _is_apart(self, s: Store) -> bool:
        """Whether a store is one of vectors: each iteration has a place of its own in a buffer that nothing else in the
        loop touches."""
        if self._touches(self.written, s.buffer) > 1 or self._touches(self.read, s.buffer):
            return False
        value = self._is_outer(s.value) or s.value in self.free
        place = self._is_plain(s.index) and is_place(s.index, self.node.var, self.all)
        return value and place and s.buffer.kind in _KINDS and not s.op

    def _keep(self, x: Any) -> None:
        """What is left reads `x`: it is kept in memory, or made again where that is as cheap."""
        s = self.made.get(x)
        if s is None or x in self.kept or x in self.again:
            return
        if self._is_cheap(s):
            self.again.add(x)
            for a in s.args:
                self._keep(a)
        else:
            self.kept.append(x)

    def _is_cheap(self, s: Inst) -> bool:
        """Whether an instruction is made again: it is loaded, or an index, or one step from these."""
        if s.op in _INDEX or s.op == "load":
            return True
        made = [self.made[a] for a in s.args if a in self.made]
        return s.op in _CHEAP and all(x.op in _INDEX or x.op == "load" for x in made)

    def _slice(self, wanted: Iterable[Any]) -> set[Reg]:
        """The registers that are needed for those that are wanted."""
        found: set[Reg] = set()
        todo = [x for x in wanted if x in self.made]
        while todo:
            x = todo.pop()
            if x not in found:
                found.add(x)
                todo += [a for a in self.made[x].args if a in self.made]
        return found


class _Writer:
    """Writes the loops over blocks of one program."""

    def __init__(self, program: Program, homes: dict[Buffer, Block]) -> None:
        self.program, self.homes = program, homes
        self.last = -1
        self.kept = 0  # buffers of numbers that are kept

    def reg(self, like: Reg, dtype: np.dtype = I64) -> Reg:
        if self.last < 0:
            self.last = max((r.id for x in walk(self.program.body.stmts) for r in defined(x)), default=0)
        self.last += 1
        return Reg(self.last, dtype, like.k)

    def distributed(self, parts: _Parts) -> list[Any]:
        """What takes the place of a loop. Where nobody knows how long it is, it stays for when it is short."""
        node = parts.node
        if trips(node) < math.inf:
            return [self._blocks(parts, Const(-(-int(trips(node)) // BLOCK), I64))]
        length, more, count = (self.reg(node.var) for _ in range(3))
        short = self.reg(node.var, BOOL)
        blocks = [
            Inst("iadd", more, (length, Const(BLOCK - 1, I64))),
            Inst("ashr", count, (more, Const(_SHIFT, I64))),
            self._blocks(parts, count),
        ]
        return [
            Inst("isub", length, (node.stop, node.start)),
            Inst("cmp", short, (length, Const(LEAST, I64)), "lt"),
            If(short, Block([node]), Block(blocks)),
        ]

    def _blocks(self, parts: _Parts, count: Operand) -> For:
        """The loop over blocks."""
        node = parts.node
        number, passed, first, rest, size = (self.reg(node.var) for _ in range(5))
        block = Block(
            [
                Inst("shl", passed, (number, Const(_SHIFT, I64))),
                Inst("iadd", first, (node.start, passed), "nsw"),
                Inst("isub", rest, (node.stop, first), "nsw"),
                Inst("smin", size, (rest, Const(BLOCK, I64))),
            ]
        )
        kept = {x: Buffer(f"ahead{x.id}", x.dtype, BLOCK, "stack") for x in parts.kept}
        self.kept += len(kept)
        self.program.buffers += kept.values()
        self.homes.update(dict.fromkeys(kept.values(), block))
        failed = Slot(f"failed{number.id}", I64)
        if parts.checks:
            self.program.slots.append(failed)
            block.stmts.append(SetSlot(failed, Const(0, I64)))
        block.stmts.append(self._ahead(parts, kept, first, size, failed))
        left = [self._left(parts, kept, first, size)] if parts.left else []
        if parts.checks:
            last, fails = self.reg(node.var), self.reg(node.var, BOOL)
            block.stmts += [
                Inst("get", last, (), failed),
                Inst("cmp", fails, (last, Const(0, I64)), "ne"),
                If(fails, Block([self._again(parts, first, size)]), Block(left)),
            ]
        else:
            block.stmts += left
        return For(number, Const(0, I64), count, block, independent=node.independent)

    def _loop(self, parts: _Parts, first: Reg, size: Reg, **options: Any) -> tuple[For, _Copy]:
        j, i = self.reg(first), self.reg(first)
        body = Block([Inst("iadd", i, (first, j), "nsw")])
        loop = For(j, Const(0, I64), size, body, most=BLOCK, **options)
        return loop, _Copy(self, body.stmts, {parts.node.var: i})

    def _ahead(self, parts: _Parts, kept: dict[Reg, Buffer], first: Reg, size: Reg, failed: Slot) -> For:
        loop, copy = self._loop(parts, first, size, vector=True)
        stores = {*map(id, parts.stores)}
        for s in parts.node.body.stmts:
            if id(s) in stores:
                copy.add(s)
            elif isinstance(s, Inst) and s.out in parts.ahead:
                out = copy.add(s)
                if s.out in kept:
                    loop.body.stmts.append(Store(kept[s.out], loop.var, out))
        if parts.checks:
            flag: Any = self.reg(first)
            loop.body.stmts.append(Inst("get", flag, (), failed))
            for s in parts.checks:
                more, flag = flag, self.reg(first)
                loop.body.stmts.append(Inst("or", flag, (more, copy.of(s.args[0]))))
            loop.body.stmts.append(SetSlot(failed, flag))
        return loop

    def _left(self, parts: _Parts, kept: dict[Reg, Buffer], first: Reg, size: Reg) -> For:
        loop, copy = self._loop(parts, first, size)
        left = {*map(id, parts.left)}
        for s in parts.node.body.stmts:
            if id(s) in left or (isinstance(s, Inst) and s.out in parts.again):
                copy.add(s)
            elif isinstance(s, Inst) and s.out in kept:
                copy.load(s.out, kept[s.out], loop.var)
        return loop

    def _again(self, parts: _Parts, first: Reg, size: Reg) -> For:
        loop, copy = self._loop(parts, first, size, rare=True)
        for s in parts.node.body.stmts:
            copy.add(s)
        return loop


class _Copy:
    """Writes the same statements with registers of their own."""

    def __init__(self, writer: _Writer, stmts: list[Any], known: dict[Any, Any]) -> None:
        self.writer, self.stmts, self.known = writer, stmts, known

    def of(self, x: Any) -> Any:
        return self.known.get(x, x) if isinstance(x, Reg) else x

    def add(self, s: Any) -> Any:
        if isinstance(s, SetSlot):
            self.stmts.append(SetSlot(s.slot, self.of(s.value)))
        elif isinstance(s, Store):
            self.stmts.append(Store(s.buffer, self.of(s.index), self.of(s.value), s.op))
        elif isinstance(s, Inst):
            out = self.known[s.out] = self.writer.reg(s.out, s.out.dtype)
            self.stmts.append(Inst(s.op, out, tuple(map(self.of, s.args)), s.attr))
            return out
        return None

    def load(self, x: Reg, buffer: Buffer, j: Reg) -> None:
        out = self.known[x] = self.writer.reg(x, x.dtype)
        self.stmts.append(Inst("load", out, (j,), buffer))
