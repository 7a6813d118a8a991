"""Chains of updates of boxes as one nest: what is written where, and whether one pass over the result pays.

Gradients of stencils are such chains: the cotangent of every slice is added into a box of the same array. One after
another they are as many passes over memory. Here an element of the result is the base's, into which the parts whose
boxes have it are combined in their order: the same operations on the same numbers, without storing it in between.

Which parts have an element is decided by its index. Along each axis the bounds of all boxes cut the array into
intervals, few long ones and short ones between them: a `Cell` is a long one with its short neighbours. Each product
of cells is a nest. Along the last axis the parts are known in the long interval, which a vectorised loop runs over,
and in the short ones beside it; along the others each row tests which parts it has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from tracejit.ir.avals import Dim, capacity
from tracejit.ir.jaxpr import Atom, Eqn, Literal, Var
from tracejit.ir.kernel import Update
from tracejit.lowering.plan.access import Index
from tracejit.lowering.plan.chains import Cell, Chain, Part
from tracejit.lowering.plan.context import STACK
from tracejit.lowering.plan.groups import MAX_MEMBERS, Group, Storage
from tracejit.lowering.plan.planner import Planner
from tracejit.lowering.plan.probe import starts_of
from tracejit.lowering.plan.reads import INLINED

_MAX_PARTS = 32  # of one nest, whose code is written twice
_MAX_WORK = 400  # of what is inlined into it
_MAX_CELLS = 4  # nests that one chain becomes
_LONG = 8  # the shortest interval that has a loop of its own
_EDGE = 4  # what an element outside of vectorised loops costs, in those inside
_TEST = 0.1  # what it costs that a part is tested
_GAIN = 1.25  # by how much one pass has to be less


def find_chain(p: Planner, eqn: Eqn) -> Chain | None:
    """The longest chain that ends with `eqn`, if one pass for all of it is less than one for each."""
    out = eqn.outvars[0].aval
    if not out.shape or any(isinstance(d, Dim) and d.bound is None for d in out.shape) or out.size <= STACK:
        return None
    links: list[Eqn] = []
    parts: list[Part] = []
    base: Atom | None = None
    following: Eqn | None = eqn
    while following is not None:
        found = _parts(p, following)
        if found is None or len(parts) + len(found) > _MAX_PARTS:
            break
        if links and _work(p, [*found, *parts]) > _MAX_WORK:
            break
        links.insert(0, following)
        parts[:0] = found
        base, following = _base(p, following)
    if not links:
        return None
    axes = [_cells(d, n, parts) if type(d) is int else None for n, d in enumerate(out.shape)]
    chain = Chain(links, base, parts, axes)
    return chain if _pays(p, chain, capacity(out.shape)) else None


def _parts(p: Planner, eqn: Eqn) -> list[Part] | None:
    """What an update writes, if that is boxes within the result."""
    form, out = eqn.op.kernel, eqn.outvars[0].aval
    if not isinstance(form, Update) or eqn in p.opaque or eqn.effects:
        return None
    parts = []
    for segment in form.segments(eqn.params, [a.aval for a in eqn.invars], out):
        source = eqn.invars[segment.source]
        starts = starts_of(p.k, eqn, segment)
        if starts is None or not all(map(_fits, starts, source.aval.shape, out.shape)):
            return None
        ends = zip(starts, source.aval.shape, strict=True)
        stops = tuple(start + d if type(d) is int else None for start, d in ends)
        parts.append(Part(source, starts, stops, segment.combine))
    return parts


def _fits(start: int, size: Any, extent: Any) -> bool:
    """Whether a box lies within an axis; along dynamic ones it has to be all of it."""
    if type(size) is not int or type(extent) is not int:
        return start == 0 and size == extent
    return start >= 0 and start + size <= extent


def _base(p: Planner, eqn: Eqn) -> tuple[Atom | None, Eqn | None]:
    """What an update starts from, and the update that makes it, if nothing else reads it."""
    base = eqn.op.kernel.base(eqn.params)  # type: ignore[attr-defined]
    if base is None:
        return None, None
    atom = eqn.invars[base[1] if type(base) is tuple else base]
    producer = p.producers.get(atom) if type(atom) is Var else None
    return atom, producer if atom.aval.shape and p.readers[atom] == 1 else None


def _work(p: Planner, parts: list[Part]) -> float:
    sources = {a.source for a in parts if type(a.source) is Var}
    return sum(p.cost.get(p.producers[a], 0) for a in sources if a in p.producers)


def _cells(size: int, axis: int, parts: list[Part]) -> list[Cell]:
    """An axis cut at the bounds of all boxes, by its long intervals."""
    cuts = sorted({0, size, *(c for a in parts for c in (a.starts[axis], a.stops[axis]) if c is not None)})
    intervals = list(itertools.pairwise(cuts))
    least = max(min(_LONG, size), max((b - a for a, b in intervals), default=0) // 4)
    long = [(a, b) for a, b in intervals if b - a >= least]
    ends = [0, *(a for a, _ in long[1:]), size]
    short = [i for i in intervals if i not in long]
    of = [tuple(i for i in short if low <= i[0] < high) for low, high in itertools.pairwise(ends)]
    return [Cell(ends[n], ends[n + 1], a, b, of[n]) for n, (a, b) in enumerate(long)]


def _pays(p: Planner, chain: Chain, shape: tuple[int, ...]) -> bool:
    """Whether one pass moves less than one for each part, and one for the base where it has to be written."""
    size, last = math.prod(shape), chain.axes[-1]
    if not 0 < math.prod(1 if cells is None else len(cells) for cells in chain.axes) <= _MAX_CELLS:
        return False
    edges = 0 if last is None else 1 - sum(c.last - c.first for c in last) / shape[-1]
    passes = sum(a.source.aval.size for a in chain.parts)
    if chain.base is not None and _is_written(p, chain):
        passes += size
        if len(chain.parts) == 1 and chain.parts[0].combine is None:
            passes -= chain.parts[0].source.aval.size  # it is written around the box
    return _GAIN * size * (1 + _EDGE * edges + _TEST * len(chain.parts)) <= passes


def _is_written(p: Planner, chain: Chain) -> bool:
    """Whether an update would have to write its base first."""
    base = chain.base
    return chain.is_filled or is_inlined(p, base) or not (base in p.producers or base in p.owned)


def is_inlined(p: Planner, atom: Atom | None) -> bool:
    """Whether a value has no storage that an update could be in."""
    producer = p.producers.get(atom) if type(atom) is Var else None
    return isinstance(atom, Literal) or (
        producer is not None and producer not in p.opaque and isinstance(producer.op.kernel, INLINED)
    )


# ---------------------------------------------------------------- the plan


def plan_chain(p: Planner, eqn: Eqn, chain: Chain) -> Group:
    """Make a chain a nest, or part of the nest of its only reader."""
    out = eqn.outvars[0]
    own = p.k.identity(out.aval.shape)
    reads = [(part.source, part.index(p.k, own)) for part in chain.parts]
    if chain.base is not None:
        reads.append((chain.base, () if chain.is_filled else own))
    group = p.bound(eqn)
    is_hosted = _hosts(p, group, out, own, reads)
    if is_hosted:
        group.kind = "boxes"
    else:
        group = p.new_group("boxes", out.aval.shape, out.aval.shape)
        group.writes = own
    group.members.append(eqn)
    p.plan.chains[eqn] = chain
    for a, at in reads[: len(chain.parts)]:
        p.demand(a, group, at)
    for v in {out, *(part.source for part in chain.parts)}:
        for d in v.aval.shape:
            if isinstance(d, Dim):
                p.demand(d.var, group, ())
    if not is_hosted:
        _claim(p, chain, out, group, own)
    elif chain.base is not None:
        p.demand(reads[-1][0], group, reads[-1][1])
    return group


def _hosts(p: Planner, group: Group, out: Var, own: Index, reads: list[Any]) -> bool:
    """Whether a nest is the only one that reads a chain's result, elementwise, and could compute it."""
    if group.kind != "map" or group.domain != out.aval.shape or len(group.members) >= MAX_MEMBERS:
        return False
    if p.demands[out] != {group: [own]} or any(e.effects for e in group.members):
        return False
    return not any(type(a) is Var and p.is_late(a, group, at) for a, at in reads)


def _claim(p: Planner, chain: Chain, out: Var, group: Group, own: Index) -> None:
    """Demand the base, and claim storage for the result: the base's, if that is free."""
    base = chain.base
    if base is None or chain.is_filled or is_inlined(p, base) or _reads(p, chain, base):
        if base is not None:
            p.demand(base, group, () if chain.is_filled else own)
        p.claim(out, group)
    elif not p.inherit(base, p.plan.storage.setdefault(out, Storage()), group):
        p.claim(out, group)


def _reads(p: Planner, chain: Chain, base: Atom) -> bool:
    """Whether a part is computed from elements of an equation's result on which all are laid: then that stays where
    it is. Arguments are copied where they have to be, which a loop sees that gives them two blocks."""
    if base not in p.producers:
        return False
    return any(base is a for a in _sources(p, [a.source for a in chain.parts]))


def _sources(p: Planner, atoms: list[Atom]) -> Iterator[Atom]:
    """All values that some are computed from without storing any."""
    seen: set[Any] = set()
    while atoms:
        a = atoms.pop()
        if type(a) is Var and a not in seen:
            seen.add(a)
            yield a
            if is_inlined(p, a):
                atoms += p.producers[a].invars
