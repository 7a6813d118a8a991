"""The memory plan: arena buffers whose lifetimes do not overlap share space."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import Any

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Block,
    Buffer,
    Call,
    Copy,
    For,
    Inst,
    Program,
    Rotate,
    SetPointer,
    Store,
    While,
    blocks_of,
)

_ALIGN = 64
#: Up to this many buffers are placed in two orders, by time and by size, and the smaller plan is taken.
_FEW = 200


def plan_memory(program: Program, homes: dict[Buffer, Block]) -> dict[Buffer, tuple[int, int]]:
    """Give every arena buffer its offset, and every private one its offset in its loop's scratch memory.

    `homes`: the block in whose executions a buffer's contents begin and end. A buffer that is
    used in a loop inside of its home is needed for the whole loop. The result has the first and the last statement
    at which each is needed, by their numbers (see `numbered`).
    """
    spans = _Lifetimes(homes).of(program.body)
    program.arena_bytes = _place([b for b in program.buffers if b.kind == "arena"], spans)
    for s in walk(program.body.stmts):
        if isinstance(s, For) and s.private:
            s.scratch = _place([b for b in s.private if b.kind == "private"], spans)
    return spans


def numbered(program: Program) -> Iterator[tuple[Any, int, int]]:
    """The statements of a program that lie in no other, each with the numbers of its first and last statement."""
    now = 0
    for stmt in program.body.stmts:
        first = now + 1
        now += sum(1 for _ in walk([stmt]))
        yield stmt, first, now


def _place(buffers: list[Buffer], spans: dict[Buffer, tuple[int, int]]) -> int:
    """Give those of the buffers that are used their offsets; the bytes they take."""
    known = sorted((b for b in buffers if b in spans), key=spans.__getitem__)
    plans = [_first_fit(known, spans, in_time=True)]
    if len(known) <= _FEW:
        plans.append(_first_fit(sorted(known, key=_bytes, reverse=True), spans))
    offsets, total = min(plans, key=lambda plan: plan[1])
    for buffer, offset in offsets.items():
        buffer.slot = offset
    return total


def _bytes(buffer: Buffer) -> int:
    size = max(1, buffer.size) * buffer.dtype.itemsize
    return -(-size // _ALIGN) * _ALIGN


class _Lifetimes:
    """First and last statement of every arena buffer, with loops taken as a whole where needed."""

    def __init__(self, homes: dict[Buffer, Block]) -> None:
        self.homes = homes
        self.spans: dict[Buffer, tuple[int, int]] = {}
        self.pointees: dict[Buffer, set[Buffer]] = {}
        self.parents: dict[Block, Block] = {}
        self.now = 0

    def of(self, body: Block) -> dict[Buffer, tuple[int, int]]:
        self.block(body)
        return self.spans

    def block(self, block: Block) -> set[Buffer]:
        """Visit a block; the buffers used in it."""
        used: set[Buffer] = set()
        for stmt in block.stmts:
            self.now += 1
            inner = blocks_of(stmt)
            if not inner:
                found = set(self.used(stmt))
                for b in found:
                    self.extend(b, self.now, self.now)
                used |= found
                continue
            start = self.now
            self.parents.update(dict.fromkeys(inner, block))
            found = set[Buffer]().union(*map(self.block, inner))
            if isinstance(stmt, (For, While)):
                for b in found:
                    if not self.lives_inside(b, inner):
                        self.extend(b, start, self.now)
            used |= found
        return used

    def lives_inside(self, buffer: Buffer, blocks: tuple[Block, ...]) -> bool:
        """Whether the home of a buffer is one of these blocks, which have been visited, or inside of them."""
        home = self.homes.get(buffer)
        while home is not None and home not in blocks:
            home = self.parents.get(home)
        return home is not None

    def extend(self, buffer: Buffer, start: int, end: int) -> None:
        if buffer.kind in ("arena", "private"):
            first, last = self.spans.get(buffer, (start, end))
            self.spans[buffer] = (min(first, start), max(last, end))

    def used(self, stmt: Any) -> Iterator[Buffer]:
        """The buffers that a statement touches, through pointers too."""
        for b in _named(stmt):
            yield b
            yield from self.pointees.get(b, ())
        if isinstance(stmt, SetPointer):
            known = self.pointees.setdefault(stmt.buffer, set())
            known |= {stmt.target} | self.pointees.get(stmt.target, set())
        elif isinstance(stmt, Rotate):
            known = set[Buffer]().union(*(self.pointees.get(p, ()) for p in stmt.pointers))
            self.pointees.update((p, set(known)) for p in stmt.pointers)


def _named(stmt: Any) -> Iterator[Buffer]:
    if isinstance(stmt, Inst):
        if stmt.op == "load":
            yield stmt.attr
    elif isinstance(stmt, Store):
        yield stmt.buffer
    elif isinstance(stmt, Copy):
        yield stmt.target
        yield stmt.source
    elif isinstance(stmt, SetPointer):
        yield stmt.buffer
        yield stmt.target
    elif isinstance(stmt, Rotate):
        yield from stmt.pointers
    elif isinstance(stmt, Call):
        for a in stmt.args:
            b = a[0] if isinstance(a, tuple) else a
            if isinstance(b, Buffer):
                yield b


def _first_fit(
    order: list[Buffer], spans: dict[Buffer, tuple[int, int]], in_time: bool = False
) -> tuple[dict[Buffer, int], int]:
    """(offsets, bytes in all): each buffer, in this order, at the first place that is free for its whole life.
    In the order of time, those that have ended need not be looked at again."""
    placed: list[tuple[int, int, int, int]] = []  # offset, end offset, first and last statement; by offset
    offsets, peak = dict[Buffer, int](), 0
    for buffer in order:
        (start, end), size = spans[buffer], _bytes(buffer)
        offset = 0
        if in_time:
            placed = [b for b in placed if b[3] >= start]
        for low, high, first, last in placed:
            if last < start or end < first:
                continue
            if low - offset >= size:
                break
            offset = max(offset, high)
        insort(placed, (offset, offset + size, start, end))
        offsets[buffer] = offset
        peak = max(peak, offset + size)
    return offsets, peak
