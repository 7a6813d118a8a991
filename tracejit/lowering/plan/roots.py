"""Planning of the equations that are not inlined: reductions, updates, products, regions, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.ir.avals import Dim, Shape
from tracejit.ir.jaxpr import Eqn, Jaxpr, Var
from tracejit.ir.kernel import (
    CondRegion,
    Contract,
    Cumulative,
    Kernel,
    Pointwise,
    Reduce,
    ScanRegion,
    Segment,
    Update,
    WhileRegion,
)  # fmt: skip
from tracejit.lowering.plan.access import Index
from tracejit.lowering.plan.boxes import find_chain, plan_chain
from tracejit.lowering.plan.groups import VIEW, WHOLE, Group, Site, Storage
from tracejit.lowering.plan.planner import Planner
from tracejit.lowering.plan.probe import affine, probe_place

_SHORT_ROW = 8  # rows below this length are not worth a loop of their own
_SERIAL = 16  # work an element above which a loop that is not vectorised should only read it


def plan_root(p: Planner, eqn: Eqn) -> Group:
    """Put an equation that is not inlined into a group, and demand its operands."""
    plan = _PLANS.get(type(eqn.op.kernel)) if eqn not in p.opaque else None
    return (plan or _opaque)(p, eqn)


def _single(p: Planner, eqn: Eqn) -> Group:
    group = p.new_group("single")
    group.members.append(eqn)
    for v in (*eqn.outvars, *eqn.invars):
        for d in v.aval.shape:
            if isinstance(d, Dim):
                p.demand(d.var, group, ())
    return group


def _demand_all(p: Planner, atoms: Any, group: Group, site: Site) -> None:
    for a in atoms:
        p.demand(a, group, site if a.aval.shape else ())
        if site == WHOLE and type(a) is Var and a.aval.shape:
            p.force(a, "operand", group.members[0])


def _claim_all(p: Planner, eqn: Eqn, group: Group) -> None:
    for v in eqn.outvars:
        p.claim(v, group)


def _opaque(p: Planner, eqn: Eqn) -> Group:
    group = _single(p, eqn)
    _demand_all(p, eqn.invars, group, WHOLE)
    _claim_all(p, eqn, group)
    return group


def _contract(p: Planner, eqn: Eqn) -> Group:
    group = _single(p, eqn)
    _demand_all(p, eqn.invars, group, VIEW)
    _claim_all(p, eqn, group)
    return group


# ---------------------------------------------------------------- reductions


def reduced_last(shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether a reduction runs along the innermost axis (or nothing but units is kept)."""
    long = [n for n, d in enumerate(shape) if d != 1]
    return not axes or not long or long[-1] in axes or not any(n not in axes for n in long)


def loop_order(shape: Shape, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The operand's axes from the outermost loop to the innermost one."""
    if not reduced_last(shape, axes):
        return tuple(range(len(shape)))
    return (*(n for n in range(len(shape)) if n not in axes), *(n for n in range(len(shape)) if n in axes))


def operand_index(idx: Index, order: tuple[int, ...]) -> Index:
    """The operand's index of a nest whose loops run over its axes in `order`."""
    out = list(idx)
    for position, axis in enumerate(order):
        out[axis] = idx[position]
    return tuple(out)


def _reduce(p: Planner, eqn: Eqn) -> Group:
    shape, axes = eqn.invars[0].aval.shape, tuple(eqn.params["axes"])
    order = loop_order(shape, axes)
    domain = tuple(shape[n] for n in order)
    rows = len(shape) - len(axes)
    at = operand_index(p.k.identity(domain), order)
    if reduced_last(shape, axes):
        group = _row_nest(p, eqn, domain, rows, at) or _new_nest(p, "rows", domain, domain or None)
        group.kind, group.rows = "rows", rows
    else:
        group = _column_nest(p, eqn, domain, axes, at) or _new_nest(
            p, "columns", domain, ("columns", domain, axes)
        )
        group.axes = axes
    group.members.append(eqn)
    _finish(p, eqn, group, at)
    return group


def _finish(p: Planner, eqn: Eqn, group: Group, at: Index) -> None:
    """Claim storage for what other groups read, and demand the operand."""
    for v in eqn.outvars:
        if set(p.demands.get(v, ())) - {group}:
            p.claim(v, group)
    p.demand(eqn.invars[0], group, at)
    for d in (*eqn.invars[0].aval.shape, *eqn.outvars[0].aval.shape):
        if isinstance(d, Dim):
            p.demand(d.var, group, ())


def _new_nest(p: Planner, kind: str, domain: Shape, key: Any) -> Group:
    group = p.new_group(kind, domain, key)
    group.writes = p.k.identity(domain)
    return group


def _is_late(p: Planner, eqn: Eqn, group: Group, at: Index) -> bool:
    a = eqn.invars[0]
    return type(a) is Var and p.is_late(a, group, at)


def _row_nest(p: Planner, eqn: Eqn, domain: Shape, rows: int, at: Index) -> Group | None:
    """A nest over `domain` that can take the reduction in, or the first reader's nest over its rows."""
    bound, g = p.bound(eqn), p.latest.get(domain)
    row = p.k.identity(domain[:rows])
    in_rows = rows > 0 and p.sites_in(eqn, bound) == {row} and not _is_short(domain[rows:])
    if g is not None and p.fits(g, _against(p, eqn, g, bound, rows, in_rows, at)):
        return g
    is_epilogue = bound.kind == "map" and bound.domain == domain[:rows] and not bound.overwritten
    wide = in_rows and is_epilogue and not any(e.effects for e in bound.members)
    if wide and not _is_late(p, eqn, bound, at):
        return _widen(p, bound, domain)
    return None


def _against(p: Planner, eqn: Eqn, g: Group, bound: Group, rows: int, in_rows: bool, at: Index) -> str | None:
    """Why a nest over the elements that a reduction reads cannot take it in; None if it can."""
    if g.position < bound.position:
        return "too late"
    if g.kind not in ("map", "rows") or (g.kind == "rows" and g.rows != rows):
        return "other sums"
    if any(e.effects for e in g.members):
        return "checked"
    if g is bound and not in_rows:
        return "needs all"
    return "overwritten" if g.overwritten or _is_late(p, eqn, g, at) else None


def _is_short(columns: Shape) -> bool:
    size = 1
    for d in columns:
        size *= d if type(d) is int else _SHORT_ROW
    return size < _SHORT_ROW


def _widen(p: Planner, group: Group, domain: Shape) -> Group:
    """Make a nest over rows one over rows and columns; what it computes stays per row."""
    if p.latest.get(group.domain) is group:
        del p.latest[group.domain]
    group.domain = domain
    group.writes = p.k.identity(domain)
    p.latest[domain] = group
    return group


def _column_nest(p: Planner, eqn: Eqn, domain: Shape, axes: tuple[int, ...], at: Index) -> Group | None:
    g, bound = p.latest.get(("columns", domain, axes)), p.bound(eqn)
    if g is None:
        return None
    why = "too late" if g.position <= bound.position else "overwritten" if _is_late(p, eqn, g, at) else None
    return g if p.fits(g, why) else None


def _cumulative(p: Planner, eqn: Eqn) -> Group:
    group = _single(p, eqn)
    group.domain = eqn.invars[0].aval.shape
    group.writes = p.k.identity(group.domain)
    _claim_all(p, eqn, group)
    x, shape = eqn.invars[0], group.domain
    serial = all(d == 1 for d in shape[eqn.params["axis"] + 1 :])
    costly = type(x) is Var and p.cost.get(p.producers.get(x), 0) > _SERIAL  # type: ignore[arg-type]
    p.demand(x, group, WHOLE if serial and costly else group.writes)
    return group


# ---------------------------------------------------------------- updates


def _update(p: Planner, eqn: Eqn) -> Group:
    chain = find_chain(p, eqn)
    if chain is not None:
        return plan_chain(p, eqn, chain)
    group, out = _single(p, eqn), eqn.outvars[0]
    form: Update = eqn.op.kernel  # type: ignore[assignment]
    segments = form.segments(eqn.params, [a.aval for a in eqn.invars], out.aval)
    for s in segments:
        shape = eqn.invars[s.source].aval.shape
        own = p.k.identity(shape)
        reads, at = probe_place(p.k, s.place, eqn, own)
        p.demand(eqn.invars[s.source], group, own)
        for a, idx in reads:
            p.demand(a, group, idx)
        if len(segments) == 1:
            group.domain = shape
            group.writes = "any" if all(d == 1 for d in shape) else None if s.repeats or s.combine else at
            group.is_update = type(group.writes) is tuple
    base = form.base(eqn.params)
    if type(base) is tuple:
        p.demand(eqn.invars[base[1]], group, ())
    p.claim_over(eqn, group, base)
    if group.is_update and group.writes is not None:
        _read_back(p, eqn, group, segments[0])
    return group


def _read_back(p: Planner, eqn: Eqn, group: Group, segment: Segment) -> None:
    """Let later readers of what an update writes find it where it was written. Otherwise they would compute it again,
    from values that the update may have overwritten."""
    u, out = eqn.invars[segment.source], eqn.outvars[0]
    if type(u) is not Var or u in p.plan.storage or u not in p.producers:
        return
    made = p.producers[u]
    if made in p.opaque or not isinstance(made.op.kernel, Pointwise):
        return
    later = [(g, s) for g, sites in p.demands[u].items() if g is not group for s in sites]
    own = p.k.identity(u.aval.shape)
    places = tuple(group.writes)  # type: ignore[arg-type]
    whole = len(places) == len(own) and all(
        affine(p.k, x) == affine(p.k, i) for i, x in zip(own, places, strict=True)
    )
    if not later or not whole or any(type(s) is not tuple for _, s in later):
        return
    moved = [(g, probe_place(p.k, segment.place, eqn, s)[1]) for g, s in later]  # type: ignore[arg-type]
    if any(p.is_late(out, g, s) for g, s in moved):
        return
    for g, s in moved:
        p.demand(out, g, s)
    p.demands[u] = {group: p.demands[u][group]}
    p.plan.read_back[eqn] = u


# ---------------------------------------------------------------- regions


def _demand_carries(p: Planner, eqn: Eqn, group: Group, pairs: dict[int, int]) -> None:
    """`pairs`: operand -> output that starts as that operand. Others have been demanded before."""
    copies = p.plan.copies.setdefault(eqn, {})
    for operand, output in pairs.items():
        a, v = eqn.invars[operand], eqn.outvars[output]
        if not a.aval.shape:
            p.demand(a, group, ())
            continue
        storage = p.plan.storage.setdefault(v, Storage())
        if not p.inherit(a, storage, group):
            p.note_copy(eqn, a)
            copies[operand] = output
            p.claim(v, group)


def _scan(p: Planner, eqn: Eqn) -> Group:
    group, params = _single(p, eqn), eqn.params
    first = int(params["length"] is None)
    carry = first + params["consts"]
    xs = carry + params["carry"]
    _demand_all(p, eqn.invars[:carry] + eqn.invars[xs:], group, VIEW)
    passed = passed_through(params["jaxpr"], 1 + params["consts"], params["carry"])
    _pass_on(p, eqn, group, [(carry + n, n) for n in passed])
    _demand_carries(p, eqn, group, {carry + n: n for n in range(params["carry"]) if n not in passed})
    for v in eqn.outvars[params["carry"] :]:
        if v in p.demands:
            p.claim(v, group)
    return group


def _pass_on(p: Planner, eqn: Eqn, group: Group, pairs: list[tuple[int, int]]) -> None:
    """Outputs that are operands: whoever reads the output reads the operand, unless it has a place to be in."""
    for operand, output in pairs:
        a, v = eqn.invars[operand], eqn.outvars[output]
        _demand_all(p, [a], group, WHOLE)
        if v in p.plan.storage:
            p.claim(v, group)
            continue
        for g, sites in p.demands.get(v, {}).items():
            for s in sites:
                p.demand(a, g, s)


def passed_through(body: Jaxpr, first: int, count: int) -> list[int]:
    """The carries that a loop's body returns as they are."""
    return [n for n in range(count) if body.outs[n] is body.invars[first + n]]


def _while(p: Planner, eqn: Eqn) -> Group:
    group, params = _single(p, eqn), eqn.params
    consts = params["cond_consts"] + params["body_consts"]
    num_carry = len(eqn.invars) - consts
    _demand_all(p, eqn.invars[:consts], group, VIEW)
    passed = passed_through(params["body"], params["body_consts"], num_carry)
    _pass_on(p, eqn, group, [(consts + n, n) for n in passed])
    _demand_carries(p, eqn, group, {consts + n: n for n in range(num_carry) if n not in passed})
    for v in eqn.outvars[num_carry:]:
        if v in p.demands:
            p.claim(v, group)
    return group


def _cond(p: Planner, eqn: Eqn) -> Group:
    group, branches = _single(p, eqn), eqn.params["branches"]
    starts = {}
    for n, v in enumerate(eqn.outvars):
        if v.aval.shape and v in p.demands:
            found = [b.invars.index(o) for b in branches if (o := started_from(b, n)) is not None]
            operand = next((m for m in found if _could_start(eqn, m + 1, v) and m + 1 not in starts), None)
            if operand is not None:
                starts[operand + 1] = n
    rest = [a for n, a in enumerate(eqn.invars) if n not in starts]
    _demand_all(p, rest, group, VIEW)
    for operand in list(starts):
        if not _dies_here(p, eqn.invars[operand], group):
            _demand_all(p, [eqn.invars[operand]], group, VIEW)
            del starts[operand]
    _demand_carries(p, eqn, group, starts)
    for n, v in enumerate(eqn.outvars):
        if v in p.demands and n not in starts.values():
            p.claim(v, group)
    p.plan.starts[eqn] = starts
    return group


def _dies_here(p: Planner, atom: Any, group: Group) -> bool:
    """Whether nothing reads `atom` in or after `group`."""
    ours = type(atom) is Var and (atom in p.producers or atom in p.owned)
    return ours and all(g.position > group.position for g in p.demands.get(atom, {}))


def _could_start(eqn: Eqn, operand: int, out: Var) -> bool:
    return eqn.invars[operand].aval == out.aval


def started_from(jaxpr: Jaxpr, n: int) -> Var | None:
    """The argument that output `n` is, or is an update of, also by loops and conditionals inside."""
    producers = {v: e for e in jaxpr.eqns for v in e.outvars}
    a = jaxpr.outs[n]
    while type(a) is Var and a in producers:
        a = _updated(producers[a], a)
    return a if type(a) is Var and a in jaxpr.invars else None


def _updated(eqn: Eqn, out: Var) -> Any:
    """The operand that the output `out` of an equation is an update of, or None."""
    kernel, params, n = eqn.op.kernel, eqn.params, eqn.outvars.index(out)
    if isinstance(kernel, Update):
        base = kernel.base(params)
        return eqn.invars[base] if type(base) is int else None
    if isinstance(kernel, ScanRegion) and n < params["carry"]:
        return eqn.invars[int(params["length"] is None) + params["consts"] + n]
    if isinstance(kernel, WhileRegion):
        return eqn.invars[params["cond_consts"] + params["body_consts"] + n]
    if isinstance(kernel, CondRegion):
        for b in params["branches"]:
            found = started_from(b, n)
            if found is not None:
                return eqn.invars[1 + b.invars.index(found)]
    return None


_PLANS: dict[type[Kernel], Callable[[Planner, Eqn], Group]] = {
    Contract: _contract,
    Reduce: _reduce,
    Cumulative: _cumulative,
    Update: _update,
    ScanRegion: _scan,
    WhileRegion: _while,
    CondRegion: _cond,
}
