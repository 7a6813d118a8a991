"""The memory plan: arena buffers whose lifetimes do not overlap share space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.lowering.loopir import (
    Block,
    Buffer,
    Call,
    Copy,
    For,
    If,
    Inst,
    Program,
    SetPointer,
    Store,
    While,
)  # fmt: skip

_ALIGN = 64


def plan_memory(program: Program, homes: dict[Buffer, Block]) -> None:
    """Give every arena buffer its offset.

    `homes`: the block in whose executions a buffer's contents begin and end. A buffer that is
    used in a loop inside of its home is needed for the whole loop.
    """
    spans = _Lifetimes(homes).of(program.body)
    free = _Space()
    known = [b for b in program.buffers if b in spans]
    for buffer in sorted(known, key=spans.__getitem__):
        start, end = spans[buffer]
        buffer.slot = free.take(_bytes(buffer), start, end)
    program.arena_bytes = free.peak


def _bytes(buffer: Buffer) -> int:
    size = max(1, buffer.size) * buffer.dtype.itemsize
    return -(-size // _ALIGN) * _ALIGN


class _Lifetimes:
    """First and last statement of every arena buffer, with loops taken as a whole where needed."""

    def __init__(self, homes: dict[Buffer, Block]) -> None:
        self.homes = homes
        self.spans: dict[Buffer, tuple[int, int]] = {}
        self.pointees: dict[Buffer, set[Buffer]] = {}
        self.now = 0

    def of(self, body: Block) -> dict[Buffer, tuple[int, int]]:
        self.block(body, ())
        return self.spans

    def block(self, block: Block, enclosing: tuple[Block, ...]) -> set[Buffer]:
        """Visit a block; the buffers used in it."""
        used: set[Buffer] = set()
        for stmt in block.stmts:
            self.now += 1
            inner = list(_blocks(stmt))
            if not inner:
                found = set(self.used(stmt))
                for b in found:
                    self.extend(b, self.now, self.now)
                used |= found
                continue
            start = self.now
            found = set().union(*(self.block(b, (*enclosing, block)) for b in inner))
            if isinstance(stmt, (For, While)):
                for b in found:
                    if not any(self.homes.get(b) is x for x in inner) and not self.lives_inside(b, inner):
                        self.extend(b, start, self.now)
            used |= found
        return used

    def lives_inside(self, buffer: Buffer, blocks: list[Block]) -> bool:
        """Whether the home of a buffer is somewhere inside of these blocks."""
        home = self.homes.get(buffer)
        stack = list(blocks)
        while stack:
            b = stack.pop()
            if b is home:
                return True
            stack += [x for s in b.stmts for x in _blocks(s)]
        return False

    def extend(self, buffer: Buffer, start: int, end: int) -> None:
        if buffer.kind == "arena":
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
            if stmt.swap:
                self.pointees.setdefault(stmt.target, set()).update(known)


def _blocks(stmt: Any) -> Iterator[Block]:
    if isinstance(stmt, For):
        yield stmt.body
    elif isinstance(stmt, While):
        yield stmt.head
        yield stmt.body
    elif isinstance(stmt, If):
        yield stmt.then
        yield stmt.orelse


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
    elif isinstance(stmt, Call):
        for a in stmt.args:
            b = a[0] if isinstance(a, tuple) else a
            if isinstance(b, Buffer):
                yield b


class _Space:
    """First fit: blocks in use at a time never overlap."""

    def __init__(self) -> None:
        self.live: list[tuple[int, int, int]] = []  # offset, end offset, last statement; by offset
        self.peak = 0

    def take(self, size: int, start: int, end: int) -> int:
        self.live = [b for b in self.live if b[2] >= start]
        offset = 0
        for low, high, _ in self.live:
            if low - offset >= size:
                break
            offset = max(offset, high)
        self.live.append((offset, offset + size, end))
        self.live.sort()
        self.peak = max(self.peak, offset + size)
        return offset
