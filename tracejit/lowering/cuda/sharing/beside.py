"""A few elements that are computed beside a loop over many: one thread of the loop's kernel computes them, rather than
a kernel of their own, where neither touches what the other one writes. So it is with the edges of a stencil, and what
`np.roll` brings round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.nodes import Control, Kernel
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import Forms, bounds
from tracejit.lowering.loops.nodes import Buffer, Comment, For, Inst, Operand, SetSlot, Store
from tracejit.lowering.loops.uses import defined, is_check, operands, places

#: Elements that one thread may read while the others run: it waits for each.
_MOST = 8


def put_beside(steps: list[Any], facts: Facts) -> list[Any]:
    """Steps in which kernels of one thread are part of the kernel before or after, where that changes nothing."""
    found: list[Any] = []
    for s in steps:
        if isinstance(s, Control):
            s.first, s.second = put_beside(s.first, facts), put_beside(s.second, facts)
        before = found[-1] if found else None
        if isinstance(s, Kernel) and isinstance(before, Kernel):
            for few, many in ((before, s), (s, before)):
                if _Pair(few, many, facts).suits():
                    many.items += few.items
                    many.user = "; ".join(x.user for x in (before, s) if x.user)
                    found[-1] = s = many
                    break
            else:
                found.append(s)
        else:
            found.append(s)
    return found


class _Pair:
    """A kernel that may do little (`few`) and one that may be a loop of threads (`many`)."""

    def __init__(self, few: Kernel, many: Kernel, facts: Facts) -> None:
        self.few, self.many, self.facts = few, many, facts
        self.forms = Forms(facts.made, facts.number)

    def suits(self) -> bool:
        """Whether one thread may run the first at any time while the second runs."""
        few, many = self.few, self.many
        if few.kind != "block" or many.kind != "threads" or many.loop is None or many.loop.lanes:
            return False
        if len(few.items) != 1 or isinstance(few.items[0], Control) or few.items[0].shared is not None:
            return False
        stmts = few.items[0].stmts
        self.a, self.b = walk(stmts), [x for f in many.items for x in walk(f.stmts)]
        return self._is_little(stmts) and self._shares_no_values() and self._shares_no_elements()

    def _is_little(self, stmts: list[Any]) -> bool:
        return all(map(self._is_plain, self.a)) and self._reads(stmts) <= _MOST

    def _is_plain(self, s: Any) -> bool:
        if isinstance(s, For):
            return not s.down and not s.private and self.facts.span(s) is not None
        own = any(isinstance(x, Buffer) and x.kind not in ("arg", "arena") for x in places(s))
        return isinstance(s, (Inst, Store, SetSlot, Comment)) and not is_check(s) and not own

    def _reads(self, stmts: list[Any]) -> int:
        """The elements that statements read."""
        count = 0
        for s in stmts:
            if isinstance(s, For):
                count += self.facts.trips(s) * max(self._reads(s.body.stmts), 1)
            else:
                count += isinstance(s, Inst) and s.op == "load"
        return count

    def _shares_no_values(self) -> bool:
        """Whether neither makes a value that the other one names."""
        names = [
            {x for s in stmts for x in (*operands(s), *defined(s), *places(s)) if not isinstance(x, Buffer)}
            for stmts in (self.a, self.b)
        ]
        made = [
            {x for s in stmts for x in (*defined(s), *(places(s) if isinstance(s, SetSlot) else ()))}
            for stmts in (self.a, self.b)
        ]
        return made[0].isdisjoint(names[1]) and made[1].isdisjoint(names[0])

    def _shares_no_elements(self) -> bool:
        """Whether neither writes an element that the other one reads or writes."""
        if not all(isinstance(s, (Inst, Store, SetSlot, Comment, For)) or not _buffers(s) for s in self.b):
            return False
        ranges = {
            s.var: (span[0], span[1] - 1)
            for s in (*self.a, *self.b)
            if isinstance(s, For) and (span := self.facts.span(s)) is not None
        }
        for x, i, x_writes in _accesses(self.a):
            for y, j, y_writes in _accesses(self.b):
                if not (x_writes or y_writes) or not self._may_meet(x, y):
                    continue
                found = [bounds(self.forms.of(k), ranges, 0) for k in (i, j)]
                if x is not y or found[0] is None or found[1] is None:
                    return False
                if found[0][0] <= found[1][1] and found[1][0] <= found[0][1]:
                    return False
        return True

    def _may_meet(self, x: Buffer, y: Buffer) -> bool:
        """Whether two buffers may have an element in common: those of the arena may lie at the same place."""
        if x is y or any(x in pair and y in pair for pair in self.facts.program.may_alias):
            return True
        if not {x.kind, y.kind} <= {"arg", "arena"}:
            return True
        if x.kind != y.kind or x.kind == "arg":
            return False
        ends = [b.slot + int(b.size) * b.dtype.itemsize for b in (x, y)]
        return x.slot < ends[1] and y.slot < ends[0]


def _accesses(stmts: list[Any]) -> Iterator[tuple[Buffer, Operand, bool]]:
    """What statements read and write in memory, and whether they write."""
    for s in stmts:
        if isinstance(s, Store):
            yield s.buffer, s.index, True
        elif isinstance(s, Inst) and s.op == "load":
            yield s.attr, s.args[0], False


def _buffers(s: Any) -> bool:
    """Whether a statement names memory."""
    return any(isinstance(x, Buffer) for x in places(s))
