"""The loops of a nest in which boxes are laid on an array (`boxes`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.lowering.access import Index
from tracejit.lowering.boxes import Cell, Chain, Part
from tracejit.lowering.context import loops
from tracejit.lowering.loopir import I64
from tracejit.lowering.plan import Group

if TYPE_CHECKING:
    from tracejit.lowering.emit import Body


def emit_boxes(body: Body, group: Group) -> None:
    """One nest for every product of cells."""
    chains = body.plan.chains
    for eqn in group.members:
        for e in chains[eqn].links if eqn in chains else [eqn]:
            body.comment(e)
    own = {v: body.define(v) for e in group.members for v in e.outvars if v in body.plan.storage}
    (chain,) = (chains[e] for e in group.members if e in chains)
    for cells in itertools.product(*([None] if axis is None else axis for axis in chain.axes)):
        _Nest(body, group, own, chain, cells).emit()


class _Nest:
    """Loops over the cells of all axes but the last, and in each row one over its long interval, without tests, and one
    over the rest. In rows outside of the others' long intervals the rest is all of it."""

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
        outer = [self.range(n, c and (c.low, c.high)) for n, c in enumerate(self.cells[:-1])]
        with loops(self.body, outer, vector=False, independent=True) as idx:
            self.row(idx)

    def range(self, axis: int, part: tuple[int, int] | None) -> Any:
        """What `loops` runs over for a part of an axis."""
        size = self.group.domain[axis]
        return size if part is None or part == (0, size) else part

    def row(self, idx: Index) -> None:
        inside = self.is_inside(idx)
        last = self.cells[-1]
        if inside is not None or not (last is None or last.is_plain):
            self.edges(idx, inside)
        if inside is None:
            self.interior(idx)
        else:
            with self.k.when(inside):
                self.interior(idx)

    def is_inside(self, idx: Index) -> Any:
        """Whether a row crosses the interior; None if all do."""
        tests = [self.within(i, (c.low, c.high), c.inner) for i, c in zip(idx, self.cells, strict=False) if c]
        return self.all(tests)

    def within(self, i: Any, known: tuple[int, int] | None, wanted: tuple[int, int]) -> Any:
        """Whether an index that is in `known` is in `wanted`; None if it always is."""
        k = self.k
        low = k.ge(i, wanted[0]) if known is None or wanted[0] > known[0] else None
        high = k.lt(i, wanted[1]) if known is None or wanted[1] < known[1] else None
        return self.all([low, high])

    def all(self, tests: list[Any]) -> Any:
        found = None
        for t in tests:
            if t is not None:
                found = t if found is None else self.k.and_(found, t)
        return found

    # -- a row's parts

    def interior(self, idx: Index) -> None:
        last = self.range(len(idx), c.inner if (c := self.cells[-1]) else None)
        with loops(self.body, (last,), vector=True, independent=True) as (i,):
            self.compute((*idx, i), self.known)

    def edges(self, idx: Index, inside: Any) -> None:
        k, c = self.k, self.cells[-1]
        start, stop = (c.low, c.high) if c else (0, self.body.extent(self.group.domain[-1]))
        first, skip = c.inner if c else (0, stop)
        skip = skip - first if c else stop
        if inside is not None:
            first = k.select(inside, k.const(first, I64), stop)
            skip = k.select(inside, skip, k.const(0, I64))
        with k.loop(start, k.sub(stop, skip), independent=True, rare=True) as i:
            at = k.select(k.lt(i, first), i, k.add(i, skip))
            self.compute((*idx, at), self.tested)

    def compute(self, idx: Index, element: Callable[[Index], Any]) -> None:
        """Compute the members at `idx`, the chain's element by `element`."""

        def of(eqn: Eqn, idx: Index) -> tuple[Any, ...]:
            if eqn not in self.body.plan.chains:
                return self.body.element(eqn, idx)
            return (self.k.lift(element(idx), eqn.outvars[0].aval.dtype),)

        self.body.commit(self.body.evaluate(self.group.members, idx, self.own, of), idx)

    # -- elements

    def base(self, idx: Index) -> Any:
        chain = self.chain
        if chain.base is None:
            return self.k.const(0, chain.links[-1].outvars[0].aval.dtype)
        return self.body.read(chain.base, () if chain.is_filled else idx)

    def known(self, idx: Index) -> Any:
        """An element of the interior."""
        ranges = [c and c.inner for c in self.cells]
        parts = [p for p in self.chain.parts if p.covers(ranges)]
        replaced = max((n for n, p in enumerate(parts) if p.combine is None), default=None)
        if replaced is None:
            x = self.base(idx)
        else:
            x = self.read(parts[replaced], idx)
            parts = parts[replaced + 1 :]
        for part in parts:
            x = self.combine(part, idx, x)
        return x

    def tested(self, idx: Index) -> Any:
        """Any element."""
        k = self.k
        slot = k.slot(self.base(idx), "x")
        for part in self.chain.parts:
            bounds = zip(idx, self.cells, part.starts, part.stops, strict=True)
            tests = [self.within(i, (c.low, c.high), (a, b)) for i, c, a, b in bounds if c and b is not None]
            inside = self.all(tests)
            if inside is None:
                k.set(slot, self.combine(part, idx, k.get(slot)))
            else:
                with k.when(inside):
                    k.set(slot, self.combine(part, idx, k.get(slot)))
        return k.get(slot)

    def read(self, part: Part, idx: Index) -> Any:
        return self.body.read(part.source, part.index(self.k, idx))

    def combine(self, part: Part, idx: Index, old: Any) -> Any:
        new = self.read(part, idx)
        return new if part.combine is None else part.combine(self.k, old, new)
