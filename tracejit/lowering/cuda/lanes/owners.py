"""Which buffers are the same memory, and whether each element of what is written belongs to one lane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejit import dtypes
from tracejit.lowering.loops.forms import Form, Range, owned
from tracejit.lowering.loops.nodes import Buffer, For, Program
from tracejit.records import record


@record(eq=False)
class Access:
    """A load or store of `buffer` at `index`, in the loop over lanes `loop`, or outside of all (None)."""

    stmt: Any
    buffer: Buffer
    index: Any
    writes: bool
    loop: For | None
    form: Form | None = None


def element(b: Buffer) -> int:
    """The bytes of what an index counts: those of complex buffers are two."""
    return (dtypes.real_part_dtype(b.dtype) if b.dtype.kind == "c" else b.dtype).itemsize


class Memory:
    """Classes of the buffers of a program that may be the same memory."""

    def __init__(self, program: Program, pointees: dict[Buffer, set[Buffer]]) -> None:
        self.pointees = pointees
        self.related = {frozenset(map(id, pair)) for pair in program.may_alias}

    def targets(self, b: Buffer) -> set[Buffer]:
        """What a buffer is: itself, or what a pointer may point at."""
        return self.pointees.get(b, set()) if b.kind == "pointer" else {b}

    def overlap(self, a: Buffer, b: Buffer) -> bool:
        """Whether two buffers, no pointers, share memory."""
        if a is b or frozenset((id(a), id(b))) in self.related:
            return True
        if a.kind == b.kind == "arena":
            ends = (x.slot + int(x.size) * x.dtype.itemsize for x in (a, b))
            return all(x.slot < end for x, end in zip((b, a), ends, strict=True))
        return a.kind == b.kind == "arg" and a.slot == b.slot

    def classes(self, buffers: Iterable[Buffer], written: set[Buffer]) -> list[set[Buffer]] | None:
        """The buffers, and what pointers among them point at, in classes of the same memory. None: two of a class, one
        of them `written`, do not begin at the same place with elements of the same size."""
        found: list[set[Buffer]] = []
        for b in dict.fromkeys(buffers):
            mine = {b} | self.targets(b)
            if not mine - {b} and b.kind == "pointer":
                return None
            alike = [c for c in found if any(self._meet(x, y) for x in mine for y in c)]
            found = [c for c in found if c not in alike] + [mine.union(*alike)]
        for c in found:
            plain = [b for b in c if b.kind != "pointer"]
            for n, a in enumerate(plain):
                for b in plain[n + 1 :]:
                    same = element(a) == element(b) and (a.kind != "arena" or a.slot == b.slot)
                    if c & written and self.overlap(a, b) and not same:
                        return None
        return found

    def _meet(self, a: Buffer, b: Buffer) -> bool:
        return a is b or (a.kind != "pointer" and b.kind != "pointer" and self.overlap(a, b))


def is_owned(accesses: list[Access], lanes: int, ranges: dict[Any, Range]) -> bool:
    """Whether what these accesses touch, all of one class, is nothing that two lanes touch, unless they only read."""
    return not any(a.writes for a in accesses) or owned([a.form for a in accesses], lanes, ranges)
