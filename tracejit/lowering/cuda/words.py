"""Where values lie that one piece of a plan makes and another one reads.

Registers, slots, and what controls loops and branches have words: in the frame, where several pieces name them, or in
the memory of a block, where the fragments of one kernel do. Small buffers and those of loops, which are on the stack
on the CPU, lie behind the arena or in a block's own memory then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.nodes import Control, Fragment, Host, Keep, Kernel, Library, Plan
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Buffer, If, Program, Reg, Slot
from tracejit.lowering.loops.uses import defined, is_check, operands, places

_ALIGN = 256
#: The words of a block's memory that are not a value's: whether a check has failed in it.
RESERVED = 1


def give_words(
    program: Program, facts: Facts, steps: list[Any], kernels: list[Kernel], placed: Collection[Buffer]
) -> Plan:
    """Give every value that is handed on its word, and every buffer without an address its place. `placed`: buffers of
    loops whose control is the host's."""
    touched = _Touched(facts)
    touched.steps(steps, False)
    frame: dict[Any, int] = {}
    extra: dict[Buffer, int] = {}
    end = _up(program.arena_bytes)
    for x, pieces in touched.outside.items():
        of_rows = len(pieces) == 1 and getattr(next(iter(pieces)), "kind", "") == "rows"
        inside = len(touched.inside[x]) > 1 or x in touched.looped
        of_hosts = not isinstance(next(iter(pieces)), Kernel)
        handed_on = len(pieces) > 1 or of_hosts or (x in touched.again and not of_rows)
        in_memory = isinstance(x, Buffer) and x.kind != "pointer"
        if in_memory and of_rows and inside:
            _place(next(iter(pieces)), x)
        elif in_memory and (len(pieces) > 1 or x in touched.again or inside or of_hosts):
            extra[x] = end
            end = _up(end + _bytes(x))
        elif handed_on and not in_memory:
            frame[x] = len(frame)
        elif inside and not in_memory:
            kernel = next(iter(pieces))
            kernel.local[x] = RESERVED + len(kernel.local)
    for x in placed:
        extra[x] = end
        end = _up(end + _bytes(x))
    return Plan(steps, kernels, frame, extra, end, any(is_check(s) for s in walk(program.body.stmts)))


def _place(kernel: Kernel, b: Buffer) -> None:
    """Give a buffer a place in the own memory of each block."""
    kernel.places[b] = _up(kernel.scratch)
    kernel.scratch = kernel.places[b] + _bytes(b)


def _bytes(b: Buffer) -> int:
    return max(int(b.size), 1) * b.dtype.itemsize


def _up(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


class _Touched:
    """Which pieces name a value: kernels and steps of the host (`outside`), and the fragments of kernels (`inside`).

    `again`: what a piece may find as it was left when it ran before, in a loop of the host's; `looped` the same of
    fragments in loops of a kernel."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.outside: dict[Any, set[Any]] = {}
        self.inside: dict[Any, set[Any]] = {}
        self.again: set[Any] = set()
        self.looped: set[Any] = set()

    def steps(self, steps: list[Any], repeated: bool) -> None:
        """Visit steps of the host, which are `repeated` where they are in a loop."""
        for s in steps:
            if isinstance(s, Kernel):
                self.items(s, s.items, repeated, False)
            elif isinstance(s, (Host, Library)):
                for x in named(s.stmts, self.facts):
                    self.touch(x, s, s, repeated, False)
            elif isinstance(s, Control):
                self.control(s, s)
                inner = repeated or not isinstance(s.node, If)
                self.steps(s.first, inner)
                self.steps(s.second, inner)

    def items(self, kernel: Kernel, items: list[Any], repeated: bool, looped: bool) -> None:
        """Visit what the threads of a kernel do."""
        for x in items:
            if isinstance(x, Fragment):
                x.own = own(x, self.facts)
                for name in named(x.stmts, self.facts):
                    if name not in x.own:
                        self.touch(name, kernel, x, repeated, looped)
                for t in x.totals:
                    self.touch(t.slot, kernel, t, repeated, looped)
                    self.touch(t.slot, kernel, "always", repeated, looped)
                continue
            self.control(x, kernel)
            inner = looped or not isinstance(x.node, If)
            self.items(kernel, x.first, repeated, inner)
            self.items(kernel, x.second, repeated, inner)

    def control(self, c: Control, piece: Any) -> None:
        """Visit what controls a loop or branch, and the variable of a loop."""
        has_word = hasattr(c.node, "var") and not c.by_blocks
        names = [*c.keys, c.node.var] if has_word else c.keys
        for x in names:
            self.touch(x, piece, c, False, False)
            self.touch(x, piece, "always", False, False)

    def touch(self, x: Any, piece: Any, part: Any, repeated: bool, looped: bool) -> None:
        """Note that a part of a piece names a value."""
        self.outside.setdefault(x, set()).add(piece)
        self.inside.setdefault(x, set()).add(part)
        if isinstance(x, (Slot, Buffer)):
            if repeated:
                self.again.add(x)
            if looped:
                self.looped.add(x)


def own(f: Fragment, facts: Facts) -> set[Any]:
    """What each thread that shares a loop has of its own: slots and small buffers that only this loop names."""
    if f.shared is None:
        return set()
    inner = Counter(x for s in walk(f.stmts) for x in places(s))
    totals = {t.slot for t in f.totals}
    return {x for x, n in inner.items() if n == facts.uses[x] and x not in totals}


def named(stmts: list[Any], facts: Facts) -> Iterator[Any]:
    """The values that statements name and that may be handed on: not what has an address of its own, nor what is
    computed again."""
    for s in walk(stmts):
        if isinstance(s, Keep):
            yield s.key
        for r in (*operands(s), *defined(s)):
            if isinstance(r, Reg) and r not in facts.again:
                yield r
        for x in places(s):
            if isinstance(x, Slot) or (x.kind in ("pointer", "stack") and x not in facts.hosted):
                yield x
