"""The loops of a nest in which boxes are laid on an array (`boxes`)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.plan.access import Index
from tracejit.lowering.plan.chains import Cell, Chain, Part
from tracejit.lowering.plan.context import loops
from tracejit.lowering.plan.groups import Group

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_COPIES = 4  # how often the code of a part may be written for intervals that are short


def emit_boxes(body: Body, group: Group) -> None:
    """One nest for every product of cells."""
    chains = body.plan.chains
    for eqn in group.members:
        for e in chains[eqn].links if eqn in chains else [eqn]:
            body.comment(e)
    own = {
        v: body.define(v) for e in group.members for v in e.outvars if v in body.plan.storage or e in chains
    }
    (chain,) = (chains[e] for e in group.members if e in chains)
    for cells in itertools.product(*([None] if axis is None else axis for axis in chain.axes)):
        _Nest(body, group, own, chain, cells).emit()


class _Nest:
    """Loops over the cells of all axes. In each row one loop runs over the long interval, where only the row decides
    which parts it has; another one, which tests both ends of every part, over the few elements beside that.

    In a row that a part does not have, its nearest one is read in the place of it, and not used: the loop is the same
    for all rows, and LLVM makes vectors of it without masking what it loads.
    """

    def __init__(
        self, body: Body, group: Group, own: dict[Var, Any], chain: Chain, cells: tuple[Cell | None, ...]
    ) -> None:
        self.body = body
        self.k = body.k
        self.group = group
        self.own = own
        self.chain = chain
        self.cells = cells

    def emit(self) -> None:
        whole = [None if c is None else (c.low, c.high) for c in self.cells[:-1]]
        outer, last = [self.range(n, r) for n, r in enumerate(whole)], self.cells[-1]
        with loops(self.body, outer, vector=False, independent=True) as idx:
            if last is not None:
                self.edges(idx, whole, last)
            inner = None if last is None else last.inner
            middle = self.range(len(idx), inner)
            with loops(self.body, (middle,), vector=True, independent=True) as (i,):
                self.compute((*idx, i), [*whole, inner])

    def range(self, axis: int, part: tuple[int, int] | None) -> Any:
        """What `loops` runs over for a part of an axis."""
        size = self.group.domain[axis]
        return size if part is None or part == (0, size) else part

    def edges(self, idx: Index, whole: list[Any], last: Cell) -> None:
        """What is before and after the long interval of a row."""
        k, length = self.k, last.last - last.first
        if self.count(whole, last.short) <= _COPIES * len(self.chain.parts):
            for a, b in last.short:
                if b - a == 1:
                    self.compute((*idx, k.const(a, I64)), [*whole, (a, b)])
                    continue
                with k.loop(a, b, independent=True, rare=True) as i:
                    self.compute((*idx, i), [*whole, (a, b)])
            return
        with k.loop(last.low, last.high - length, independent=True, rare=True) as i:
            at = k.select(k.lt(i, last.first), i, k.add(i, length))
            self.compute((*idx, at), [*whole, (last.low, last.high)])

    def count(self, whole: list[Any], intervals: Sequence[Any]) -> int:
        """How many parts there are in some intervals of a row, together."""
        return sum(p.meets([*whole, i]) for i in intervals for p in self.chain.parts)

    def compute(self, idx: Index, ranges: Sequence[Any]) -> None:
        """Compute the members at `idx`, which is somewhere in `ranges`."""

        def of(eqn: Eqn, idx: Index) -> tuple[Any, ...]:
            if eqn not in self.body.plan.chains:
                return self.body.element(eqn, idx)
            return (self.k.lift(self.element(idx, ranges), eqn.outvars[0].aval.dtype),)

        self.body.commit(self.body.evaluate(self.group.members, idx, self.own, of), idx)

    # -- elements

    def base(self, idx: Index) -> Any:
        chain = self.chain
        if chain.base is None:
            return self.k.const(0, chain.links[-1].outvars[0].aval.dtype)
        return self.body.read(chain.base, () if chain.is_filled else idx)

    def element(self, idx: Index, ranges: Sequence[Any]) -> Any:
        """The chain's element at `idx`: parts that have it in all of `ranges`, or none of it there, need no test."""
        k = self.k
        parts = [p for p in self.chain.parts if p.meets(ranges)]
        tests = [self.within(idx, p, ranges) for p in parts]
        k.program.uniform |= any(t is not None for t in tests)
        replaced = (n for n, p in enumerate(parts) if p.combine is None and tests[n] is None)
        first = max(replaced, default=-1)
        x = self.base(idx) if first < 0 else self.read(parts[first], idx)
        for part, test in list(zip(parts, tests, strict=True))[first + 1 :]:
            at = idx if test is None else self.nearest(idx, part, ranges)
            new = self.combine(part, at, x)
            x = new if test is None else k.select(test, new, x)
        return x

    def within(self, idx: Index, part: Part, ranges: Sequence[Any]) -> Any:
        """Whether a part has an element whose index is in `ranges`; None if it has all of these."""
        k, found = self.k, None
        for i, known, start, stop in zip(idx, ranges, part.starts, part.stops, strict=True):
            tests = [k.ge(i, start)] if known and start > known[0] else []
            tests += [k.lt(i, stop)] if known and stop is not None and stop < known[1] else []
            for t in tests:
                found = t if found is None else k.and_(found, t)
        return found

    def nearest(self, idx: Index, part: Part, ranges: Sequence[Any]) -> Index:
        """The index of an element of a part, `idx` itself if the part has it."""
        k, out = self.k, []
        for i, known, start, stop in zip(idx, ranges, part.starts, part.stops, strict=True):
            if known and start > known[0]:
                i = k.int_op("smax", i, k.const(start, I64))
            if known and stop is not None and stop < known[1]:
                i = k.int_op("smin", i, k.const(stop - 1, I64))
            out.append(i)
        return tuple(out)

    def read(self, part: Part, idx: Index) -> Any:
        return self.body.read(part.source, part.index(self.k, idx))

    def combine(self, part: Part, idx: Index, old: Any) -> Any:
        new = self.read(part, idx)
        return new if part.combine is None else part.combine(self.k, old, new)
