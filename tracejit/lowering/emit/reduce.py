"""Nests with reductions along rows: several phases over one row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.ir.kernel import Pointwise, Reduce
from tracejit.lowering.emit.accumulate import Accumulator, Search, accumulator
from tracejit.lowering.emit.parts import Parts, blocks, is_block, is_worth_parts
from tracejit.lowering.loops.extents import LEAST
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.plan.access import ZERO, Flat, Index, Scalar, Stored, c_strides
from tracejit.lowering.plan.context import loops
from tracejit.lowering.plan.groups import Group
from tracejit.lowering.plan.roots import loop_order, operand_index

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_SEARCHED = 64  # length from which the position of an extreme is searched after its value
_EXPENSIVE = 8  # work an element from which on a row's values are kept for its next phase


def _is_reduce(eqn: Eqn) -> bool:
    return isinstance(eqn.op.kernel, Reduce)


# ---------------------------------------------------------------- phases


class Phases:
    """In which pass over the row each equation of a group is computed.

    A value is computed in every pass that reads it; `kept` are the inlined values that are expensive and read in
    several, and nowhere but at the element where the loops are (not transposed, say): these are stored per row.
    """

    def __init__(self, body: Body, group: Group) -> None:
        self.body = body
        self.group = group
        self.members = set(group.members)
        self.eqns = body.inlined(group.members)
        self.producer = {v: e for e in self.eqns for v in e.outvars}
        self.first: dict[Eqn, int] = {}
        for e in self.eqns:
            self.first[e] = max((self._after(a) for a in e.invars), default=0)
        self.passes: dict[Eqn, set[int]] = {e: set() for e in self.eqns}
        self.kept: list[Eqn] = []
        self.elsewhere: set[Any] = set()  # atoms that are read at other elements too
        for e in reversed(self.eqns):
            self._collect(e)

    def _after(self, atom: Any) -> int:
        eqn = self.producer.get(atom) if type(atom) is Var else None
        return 0 if eqn is None else self.first[eqn] + (_is_reduce(eqn) and eqn in self.members)

    def _collect(self, eqn: Eqn) -> None:
        """Find the passes of `eqn` from those of its readers, which have been found."""
        passes = self.passes[eqn]
        shape = eqn.outvars[0].aval.shape
        if eqn in self.members:
            passes.clear()
            passes.add(self.first[eqn])
        elif len(passes) > 1 and self.body.plan.cost[eqn] >= _EXPENSIVE and shape == self.group.domain:
            here = self.elsewhere.isdisjoint(eqn.outvars)
            if here and all(type(d) is int for d in shape[self.group.rows :]):
                self.kept.append(eqn)
                passes.clear()
                passes.add(self.first[eqn])
        if not self._reads_here(eqn):
            self.elsewhere.update(a for a in eqn.invars if type(a) is Var)
        for a in eqn.invars:
            producer = self.producer.get(a) if type(a) is Var else None
            if producer is not None:
                self.passes[producer] |= passes

    def _reads_here(self, eqn: Eqn) -> bool:
        """Whether an equation is computed, and reads operands of the full shape, only at the element where the loops
        are."""
        if eqn not in self.members and not self.elsewhere.isdisjoint(eqn.outvars):
            return False
        if _is_reduce(eqn) and eqn in self.members:
            shape = eqn.invars[0].aval.shape
            return loop_order(shape, tuple(eqn.params["axes"])) == tuple(range(len(shape)))
        return isinstance(eqn.op.kernel, Pointwise) and eqn.outvars[0].aval.shape == self.group.domain

    def late_reads(self, var: Var) -> int:
        """The last pass in which the group reads `var` from memory."""
        return max((n for e in self.eqns if var in e.invars for n in self.passes[e]), default=-1)


# ---------------------------------------------------------------- rows


def emit_rows(body: Body, group: Group) -> None:
    """`for row: for each phase: for column: ...`."""
    for eqn in group.members:
        body.comment(eqn)
    phases = Phases(body, group)
    for var in group.overwritten:
        _preserve_for_phases(body, group, phases, var)
    own = {
        v: body.define(v) for e in group.members for v in e.outvars if v in body.plan.storage or _is_reduce(e)
    }
    kept = {v: _row_buffer(body, group, v) for eqn in phases.kept for v in eqn.outvars}
    own.update(kept)
    with loops(body, group.domain[: group.rows], vector=False, independent=True) as row:
        body.ctx.make_private([s.buffer for s in kept.values()])
        for n in range(max(phases.first[e] for e in group.members) + 1):
            _phase(body, group, phases, own, row, n)
    for eqn in phases.kept:
        body.inline(eqn)
    if group.rows == 0:
        for eqn in filter(_is_reduce, group.members):
            if not eqn.outvars[0].aval.shape:
                body.values[eqn.outvars[0]] = Scalar(body.read(eqn.outvars[0], ()))


def _preserve_for_phases(body: Body, group: Group, phases: Phases, var: Var) -> None:
    """Copy an overwritten value away if the group reads it in a later phase than it writes."""
    if var in group.preserve:
        return
    buffer = body.values[var].buffer
    for e in group.members:
        for v in e.outvars:
            if (
                v in body.plan.storage
                and body.place(v).buffer is buffer
                and phases.first[e] < phases.late_reads(var)
            ):
                body.preserve(var)
                return


def _row_buffer(body: Body, group: Group, var: Var) -> Stored:
    """Room for one row of a value; the next row overwrites it."""
    columns = group.domain[group.rows :]
    got = body.ctx.allocate(body, columns, var.aval.dtype, "row")
    body.values[var] = out = Stored(got.buffer, (0,) * group.rows + c_strides(columns), 0, body.k.depth)
    return out


def _phase(body: Body, group: Group, phases: Phases, own: dict[Var, Any], row: Index, n: int) -> None:
    now = [e for e in (*group.members, *phases.kept) if phases.first[e] == n]
    now.sort(key=body.order.__getitem__)
    per_row = [e for e in now if not _is_reduce(e) and not _is_full(e, group)]
    body.compute(per_row, row, own)
    full = [e for e in now if not _is_reduce(e) and _is_full(e, group)]
    reductions = [e for e in now if _is_reduce(e)]
    if not full and not reductions:
        return
    accumulators = [accumulator(body.k, e, not full and _is_long(group)) for e in reductions]
    _Pass(body, group, row, full, reductions, accumulators, own).write()
    for e, acc in zip(reductions, accumulators, strict=True):
        v, x = e.outvars[0], acc.result()
        body.remember(v, row, x)
        body.put(own[v], row, x)


def _is_long(group: Group) -> bool:
    """Whether a row is worth reading in blocks, some of them twice."""
    long = [d for d in group.domain[group.rows :] if not (type(d) is int and d == 1)]
    return bool(long) and not (type(long[-1]) is int and long[-1] < _SEARCHED)


def _is_full(eqn: Eqn, group: Group) -> bool:
    return group.rows < len(group.domain) and eqn.outvars[0].aval.shape == group.domain


class _Pass:
    """One pass over the columns of a row: full values are stored, reductions accumulated."""

    def __init__(
        self,
        body: Body,
        group: Group,
        row: Index,
        full: list[Eqn],
        reductions: list[Eqn],
        accumulators: list[Accumulator],
        own: dict[Var, Any],
    ) -> None:
        self.body, self.group, self.row, self.own = body, group, row, own
        self.full, self.reductions, self.accumulators = full, reductions, accumulators
        self.extents = [body.extent(d) for d in group.domain[group.rows :]]
        whole = group.rows == 0 and len(group.domain) > 1
        self.flat = whole and _all_flat(body, group, full, reductions, own)
        if self.flat:
            self.extents = [math.prod(self.extents)]
        self.vector = all(a.vector for a in accumulators) and not any(e.effects for e in full)
        long = [n for n, d in enumerate(self.extents) if not (type(d) is int and d == 1)]
        self.inner = max(long, default=0)
        self.rest = (ZERO,) * (len(self.extents) - self.inner - 1)
        self.single = not long

    def write(self) -> None:
        """Write the loops."""
        if self.single:
            self.element((ZERO,) * len(self.extents))
            return
        in_parts = self.group.rows == 0 and is_worth_parts(self.extents, self.inner, self.accumulators)
        in_blocks = any(a.blocked for a in self.accumulators) and not self._is_short_sum()
        for acc in self.accumulators if in_blocks or in_parts else ():
            acc.prepare()
        if in_parts:
            self._parts()
            return
        n = self.extents[self.inner]
        with loops(self.body, self.extents[: self.inner], vector=False) as before:
            if not in_blocks:
                self._loop(before, 0, n)
            elif self._is_short():
                self._block(before, 0, n)
            else:
                with blocks(self.body, n) as (start, stop, _):
                    self._block(before, start, stop)

    def _is_short(self) -> bool:
        """Whether the innermost loop is one block. A loop of its own is the same code for every size; one in
        others is made for its size."""
        n, outer = self.extents[self.inner], self.extents[: self.inner]
        alone = self.group.rows == 0 and self.body.k.depth == 0 and all(d == 1 for d in outer)
        size = n if type(n) is int else self.group.domain[self.group.rows + self.inner]
        return size <= LEAST if alone and type(size) is int else is_block(self.body.ctx, size)

    def _is_short_sum(self) -> bool:
        """Whether one block is all there is, and nothing has to be found in it afterwards."""
        alone = all(d == 1 for d in self.extents[: self.inner])
        return alone and self._is_short() and not any(a.searches for a in self.accumulators)

    # -- elements

    def operand(self, e: Eqn, columns: Index) -> tuple[Any, Any]:
        """The element of a reduction's operand, and its position among those reduced."""
        k, position = self.body.k, 0
        for i, d in zip(columns, self.extents, strict=True):
            position = k.add(k.mul(position, d), i)
        idx: Index = Flat(columns)
        if not self.flat:
            order = loop_order(e.invars[0].aval.shape, tuple(e.params["axes"]))
            idx = operand_index((*self.row, *columns), order)
        return self.body.read(e.invars[0], idx), k.lift(position, I64)

    def element(self, columns: Index, into: list[Accumulator] | None = None) -> None:
        """Everything that is done with one element."""
        idx = Flat(columns) if self.flat else (*self.row, *columns)
        results = self.body.evaluate(self.full, idx, self.own)
        for e, acc in zip(self.reductions, into or self.accumulators, strict=True):
            acc.add(*self.operand(e, columns))
        self.body.commit(results, idx)

    # -- loops

    def _loop(self, before: Index, start: Any, stop: Any, into: list[Accumulator] | None = None) -> None:
        with self.body.k.loop(start, stop, vector=self.vector) as i:
            self.element((*before, i, *self.rest), into)

    def _block(self, before: Index, start: Any, stop: Any) -> None:
        for acc in self.accumulators:
            acc.open_block()
        self._loop(before, start, stop)
        for acc in self.accumulators:
            acc.close_block()
        self.search(before, start, stop)

    def _parts(self) -> None:
        """Each block on its own; then what they came to, in order, or by the threads of a block of a device."""
        parts = Parts(self.body, self.extents[: self.inner + 1], self.accumulators)
        with parts.each(independent=True) as (before, start, stop, number):
            fresh = [
                accumulator(self.body.k, e, isinstance(a, Search))
                for e, a in zip(self.reductions, self.accumulators, strict=True)
            ]
            for acc in fresh:
                acc.open_block()
            self._loop(before, start, stop, fresh)
            parts.leave(number, fresh)
        if not self.body.ctx.device:
            with parts.each(independent=False) as (before, start, stop, number):
                parts.take(number)
                self.search(before, start, stop)
            return
        parts.take_all()
        for e, acc in zip(self.reductions, self.accumulators, strict=True):
            if isinstance(acc, Search):
                self._search(e, acc, *parts.at(acc.part()))

    def search(self, before: Index, start: Any, stop: Any) -> None:
        """Find where in a block an extreme is that is better than those before."""
        for e, acc in zip(self.reductions, self.accumulators, strict=True):
            if isinstance(acc, Search):
                with self.body.k.when(acc.is_better()):
                    self._search(e, acc, before, start, stop)

    def _search(self, e: Eqn, acc: Search, before: Index, start: Any, stop: Any) -> None:
        acc.start_search()
        with self.body.k.loop(start, stop, vector=True) as i:
            acc.search(*self.operand(e, (*before, i, *self.rest)))


def _all_flat(body: Body, group: Group, full: list[Eqn], reductions: list[Eqn], own: dict[Var, Any]) -> bool:
    """Whether the whole pass reads and writes in C order."""
    shape = group.domain
    operands = [e.invars[0] for e in reductions]
    if any(
        loop_order(a.aval.shape, tuple(e.params["axes"])) != tuple(range(len(shape)))
        for a, e in zip(operands, reductions, strict=True)
    ):
        return False
    return body.is_flat(full, shape, {v: own[v] for e in full for v in e.outvars if v in own}) and all(
        body.reads_flat(a, own) for a in operands
    )
