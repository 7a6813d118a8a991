"""Which buffers cannot overlap, told to LLVM as alias scopes.

Each buffer has one scope. An access carries its buffer's scope and, as `noalias`, the scopes of the
other buffers of the same region (an outermost loop nest, or the straight-line code between nests) that
it cannot overlap. Loops then vectorise without run-time checks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from tracejit.lowering.llvm.text import Module
from tracejit.lowering.loops.nodes import (  # fmt: skip
    NESTED,
    Block,
    Buffer,
    Copy,
    Inst,
    Program,
    Rotate,
    SetPointer,
    Store,
    blocks_of,
)

# Lists are quadratic in the buffers of a region; beyond this size the text costs more than it gives.
_MAX_BUFFERS = 160


def walk(stmts: Iterable[Any]) -> list[Any]:
    """Every statement, outer ones first."""
    found: list[Any] = []
    _walk(stmts, found)
    return found


def _walk(stmts: Iterable[Any], found: list[Any]) -> None:
    for stmt in stmts:
        found.append(stmt)
        if type(stmt) in NESTED:
            for block in blocks_of(stmt):
                _walk(block.stmts, found)


def accessed(stmts: Iterable[Any]) -> list[Buffer]:
    """The buffers that statements load, store or copy, each once, in order of first use."""
    found: dict[Buffer, None] = {}
    for stmt in walk(stmts):
        if isinstance(stmt, Inst) and stmt.op == "load":
            found[stmt.attr] = None
        elif isinstance(stmt, Store):
            found[stmt.buffer] = None
        elif isinstance(stmt, Copy):
            found[stmt.target] = found[stmt.source] = None
    return list(found)


def pointees(program: Program) -> dict[Buffer, set[Buffer]]:
    """What each 'pointer' buffer may point at, following rotations and pointers set to pointers."""
    stmts = walk(program.body.stmts)
    sets = [s for s in stmts if isinstance(s, SetPointer)]
    # buffer -> the pointers whose targets it takes
    takes = [(s.buffer, s.target) for s in sets if s.target.kind == "pointer"]
    for s in stmts:
        if isinstance(s, Rotate):
            takes += zip(s.pointers, (*s.pointers[1:], s.pointers[0]), strict=True)
    targets: dict[Buffer, set[Buffer]] = {b: set() for pair in takes for b in pair}
    for s in sets:
        if s.target.kind != "pointer":
            targets.setdefault(s.buffer, set()).add(s.target)
    changed = True
    while changed:
        changed = False
        for a, b in takes:
            if not targets[b] <= targets[a]:
                targets[a] |= targets[b]
                changed = True
    return targets


class Scopes:
    """The alias metadata of one function; `known` are the `pointees` of the program if they are."""

    def __init__(self, module: Module, program: Program, known: dict[Buffer, set[Buffer]] | None) -> None:
        self.module = module
        self.pointees = pointees(program) if known is None else known
        self.related = {frozenset(map(id, pair)) for pair in program.may_alias}
        self.group = ""
        self.domain = module.node("distinct !{{self}}")
        self.scopes: dict[Buffer, str] = {}
        self.region: dict[Buffer, str] = {}

    def scope(self, buffer: Buffer) -> str:
        if buffer not in self.scopes:
            self.scopes[buffer] = self.module.node(f"distinct !{{{{self}}, {self.domain}}}")
        return self.scopes[buffer]

    def may_overlap(self, a: Buffer, b: Buffer) -> bool:
        """True where nothing rules it out."""
        if frozenset((id(a), id(b))) in self.related:
            return True
        if a.kind == "pointer" or b.kind == "pointer":
            here, there = self.pointees.get(a, {a}), self.pointees.get(b, {b})
            return any(x is y or self.may_overlap(x, y) for x in here for y in there)
        if a.kind == b.kind and a.kind in ("arena", "private"):
            return a.slot < b.slot + b.size * b.dtype.itemsize and b.slot < a.slot + a.size * a.dtype.itemsize
        if a.kind == b.kind == "arg":
            return a.slot == b.slot
        return False

    def enter(self, stmts: list[Any]) -> None:
        """Start a region that consists of `stmts`."""
        buffers = accessed(stmts)
        self.region = {}
        if not 1 < len(buffers) <= _MAX_BUFFERS:
            return
        lists: dict[str, str] = {}
        for b in buffers:
            apart = [self.scope(x) for x in buffers if x is not b and not self.may_overlap(x, b)]
            if apart:
                text = f"!{{{', '.join(apart)}}}"
                lists[text] = lists.get(text) or self.module.node(text)
                own = self.module.node(f"!{{{self.scope(b)}}}")
                self.region[b] = f", !alias.scope {own}, !noalias {lists[text]}"

    @contextlib.contextmanager
    def independent(self, body: Block) -> Iterator[str]:
        """A loop whose iterations depend on none before: yields the access group of its body, '' if it needs none.

        Pointers that rotate can't have scopes of their own, since LLVM takes scopes to hold across iterations of
        outer loops; instead, a loop that reads one and writes another is said to be parallel.
        """
        outer = self.group
        if any(b.kind == "pointer" for b in accessed(body.stmts)):
            self.group = self.module.node("distinct !{}")
        try:
            yield self.group if self.group != outer else ""
        finally:
            self.group = outer

    def tags(self, buffer: Buffer) -> str:
        """The metadata to append to an access of `buffer`."""
        group = f", !llvm.access.group {self.group}" if self.group else ""
        return self.region.get(buffer, "") + group
