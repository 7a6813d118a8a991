"""Nests with reductions: along rows (several phases over one row) and down columns."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn, Var
from tracejit.ir.kernel import Reduce
from tracejit.lowering.access import ZERO, Flat, Index, Scalar, Stored, c_strides
from tracejit.lowering.accumulate import Accumulator, Search, accumulator
from tracejit.lowering.context import loops
from tracejit.lowering.loopir import I64, Const
from tracejit.lowering.plan import Group
from tracejit.lowering.roots import loop_order, operand_index

if TYPE_CHECKING:
    from tracejit.lowering.emit import Body

_BLOCK = 1024  # elements that a sum adds up before it starts anew
_SEARCHED = 64  # length from which the position of an extreme is searched after its value
_NARROW = 4  # columns of which a row is narrow
_EXPENSIVE = 8  # work an element from which on a row's values are kept for its next phase


def _is_reduce(eqn: Eqn) -> bool:
    return isinstance(eqn.op.kernel, Reduce)


# ---------------------------------------------------------------- phases


class Phases:
    """In which pass over the row each equation of a group is computed.

    A value is computed in every pass that reads it; `kept` are the inlined values that are
    expensive and read in several, which are stored per row.
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
            if all(type(d) is int for d in shape[self.group.rows :]):
                self.kept.append(eqn)
                passes.clear()
                passes.add(self.first[eqn])
        for a in eqn.invars:
            producer = self.producer.get(a) if type(a) is Var else None
            if producer is not None:
                self.passes[producer] |= passes

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
    for eqn in phases.kept:
        own.update({v: _row_buffer(body, group, v) for v in eqn.outvars})
    with loops(body, group.domain[: group.rows], vector=False) as row:
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
    _columns_of(body, group, row, full, reductions, accumulators, own)
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


def _columns_of(
    body: Body,
    group: Group,
    row: Index,
    full: list[Eqn],
    reductions: list[Eqn],
    accumulators: list[Accumulator],
    own: dict[Var, Any],
) -> None:
    """One pass over the columns: full values are stored, reductions accumulated."""
    k = body.k
    extents = [body.extent(d) for d in group.domain[group.rows :]]
    if group.rows == 0 and _all_flat(body, group, full, reductions, own):
        extents = [math.prod(extents)]
    flat = len(extents) != len(group.domain) - group.rows
    vector = all(a.vector for a in accumulators) and not any(e.effects for e in full)
    one = all(type(d) is int and d == 1 for d in extents)
    inner = (
        0 if one or not extents else max(n for n, d in enumerate(extents) if not (type(d) is int and d == 1))
    )
    outer = extents[:inner]

    def operand(e: Eqn, columns: Index) -> tuple[Any, Any]:
        """The element of a reduction's operand, and its position among those reduced."""
        position: Any = 0
        for i, d in zip(columns, extents, strict=True):
            position = k.add(k.mul(position, d), i)
        if flat:
            return body.read(e.invars[0], Flat(columns)), k.lift(position, I64)
        order = loop_order(e.invars[0].aval.shape, tuple(e.params["axes"]))
        return body.read(e.invars[0], operand_index((*row, *columns), order)), k.lift(position, I64)

    def element(columns: Index) -> None:
        idx = Flat(columns) if flat else (*row, *columns)
        results = body.evaluate(full, idx, own)
        for e, acc in zip(reductions, accumulators, strict=True):
            acc.add(*operand(e, columns))
        body.commit(results, idx)

    def search(before: Index, start: Any, stop: Any) -> None:
        for e, acc in zip(reductions, accumulators, strict=True):
            if isinstance(acc, Search):
                with k.when(acc.is_better()):
                    acc.start_search()
                    with k.loop(start, stop, vector=True) as i:
                        acc.search(*operand(e, (*before, i, *rest)))

    if not extents or one:
        element((ZERO,) * len(extents))
        return
    n, rest = extents[inner], (ZERO,) * (len(extents) - inner - 1)
    short = type(n) is int and n <= _BLOCK
    in_blocks = any(a.blocked for a in accumulators)
    blocked = in_blocks and not (
        short and all(d == 1 for d in outer) and not any(a.searches for a in accumulators)
    )
    for acc in accumulators if blocked else ():
        acc.prepare()
    with loops(body, outer, vector=False) as before:
        if not blocked:
            with k.loop(0, n, vector=vector) as i:
                element((*before, i, *rest))
        elif short:
            with _block(body, 0, n, accumulators, vector) as i:
                element((*before, i, *rest))
            search(before, 0, n)
        else:
            with _blocks(body, n) as (start, stop):
                with _block(body, start, stop, accumulators, vector) as i:
                    element((*before, i, *rest))
                search(before, start, stop)


@contextlib.contextmanager
def _blocks(body: Body, n: Any) -> Iterator[tuple[Any, Any]]:
    """The blocks of range(n): where one starts and stops."""
    k = body.k
    count = -(-n // _BLOCK) if type(n) is int else k.int_op("sdiv", k.add(n, _BLOCK - 1), _BLOCK)
    n = k.lift(n, I64)
    with k.loop(0, count) as b:
        start = k.mul(b, _BLOCK)
        yield start, k.int_op("smin", k.add(start, _BLOCK), n)


@contextlib.contextmanager
def _block(body: Body, start: Any, stop: Any, accumulators: list[Accumulator], vector: bool) -> Iterator[Any]:
    """One block of the innermost loop."""
    for acc in accumulators:
        acc.open_block()
    with body.k.loop(start, stop, vector=vector) as i:
        yield i
    for acc in accumulators:
        acc.close_block()


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


# ---------------------------------------------------------------- columns


def emit_columns(body: Body, group: Group) -> None:
    """`for kept: clear a row; for reduced: for kept: accumulate into the row; finish the row`."""
    k, domain = body.k, group.domain
    for eqn in group.members:
        body.comment(eqn)
    first = min((n for n in group.axes if domain[n] != 1), default=min(group.axes))
    kept = [n for n in range(first, len(domain)) if n not in group.axes]
    lanes = tuple(domain[n] for n in kept)
    if _is_narrow(group, kept):
        _emit_narrow_columns(body, group, first, lanes)
        return
    outs = {e: body.define(e.outvars[0]) for e in group.members}
    states = {e: _state_rows(body, e, lanes) for e in group.members}
    with loops(body, domain[:first], vector=False) as outer:
        head = tuple(i for n, i in enumerate(outer) if n not in group.axes)
        with loops(body, lanes) as lane:
            for e in group.members:
                initial = _form(e).init(k, e.invars[0].aval.dtype)
                for place, x in zip(states[e], initial, strict=True):
                    body.put(place, lane, x)
        with loops(body, domain[first:]) as inner:
            lane = tuple(inner[n - first] for n in kept)
            idx = (*outer, *inner)
            position = _position(body, group, idx)
            for e in group.members:
                old = tuple(k.load(p.buffer, p.at(k, lane)) for p in states[e])
                new = _form(e).step(k, old, body.read(e.invars[0], idx), position)
                for p, x in zip(states[e], new, strict=True):
                    body.put(p, lane, x)
        with loops(body, lanes) as lane:
            for e in group.members:
                state = tuple(k.load(p.buffer, p.at(k, lane)) for p in states[e])
                dtype = e.outvars[0].aval.dtype
                body.put(outs[e], (*head, *lane), k.cast(_form(e).finish(k, state, dtype), dtype))


def _is_narrow(group: Group, kept: list[int]) -> bool:
    """Whether a row of columns is shorter than a vector, and the columns are not: then they are what to
    vectorise, each with an accumulator of its own."""
    sizes = [group.domain[n] for n in kept]
    down = [group.domain[n] for n in group.axes]
    if not kept or max(group.axes) > min(kept) or not all(type(d) is int for d in (*sizes, *down)):
        return False
    sums = all(_form(e).tree == "sum" and e.outvars[0].aval.dtype.kind == "f" for e in group.members)
    return sums and 1 < math.prod(sizes) <= _NARROW and group.domain[max(group.axes)] >= 2 * _NARROW


def _emit_narrow_columns(body: Body, group: Group, first: int, lanes: tuple[int, ...]) -> None:
    """`for outer: for reduced: accumulate into one register a column`."""
    domain, axes = group.domain, set(group.axes)
    outs = {e: body.define(e.outvars[0]) for e in group.members}
    tails = [tuple(Const(i, I64) for i in lane) for lane in itertools.product(*map(range, lanes))]
    with loops(body, domain[:first], vector=False) as outer:
        head = tuple(i for n, i in enumerate(outer) if n not in axes)
        rows = [(e, tail, accumulator(body.k, e, False)) for e in group.members for tail in tails]
        with loops(body, domain[first : len(domain) - len(lanes)]) as inner:
            for e, tail, acc in rows:
                acc.add(body.read(e.invars[0], (*outer, *inner, *tail)), ZERO)
        for e, tail, acc in rows:
            body.put(outs[e], (*head, *tail), acc.result())


def _form(eqn: Eqn) -> Any:
    return eqn.op.kernel


def _state_rows(body: Body, eqn: Eqn, lanes: Any) -> list[Stored]:
    initial = _form(eqn).init(body.k, eqn.invars[0].aval.dtype)
    return [body.ctx.allocate(body, lanes, x.dtype, "acc") for x in initial]


def _position(body: Body, group: Group, idx: Index) -> Any:
    """The position in the flattened reduced axes."""
    k, position = body.k, Const(0, I64)
    for n in sorted(group.axes):
        position = k.add(k.mul(position, body.extent(group.domain[n])), idx[n])
    return k.lift(position, I64)
