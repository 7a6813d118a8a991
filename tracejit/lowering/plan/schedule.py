"""From equations to a plan: what is inlined, what is stored, what shares a nest.

Equations are visited from the last to the first, so every reader of a value is
placed before the value is. A value that is read in one nest only is inlined
there; a value that several nests read is inlined if that is cheap, and stored
otherwise. What is stored joins the earliest nest over the same domain that
comes before all its readers, or the nest of its first reader if that reads it
at the nest's own index. A storage that is overwritten puts a limit on the old
value: later readers have to be computed earlier, or the old value is copied.
"""

from __future__ import annotations

import math
from typing import Any

from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Eqn, Var
from tracejit.ir.kernel import Pull
from tracejit.lowering.notes import place, room, value_of
from tracejit.lowering.plan import roots
from tracejit.lowering.plan.access import Index
from tracejit.lowering.plan.groups import FLAT, MAX_MEMBERS, WHOLE, Group, Plan, Site
from tracejit.lowering.plan.planner import Planner
from tracejit.lowering.plan.reads import INLINED

_CHEAP = 8  # work an element that may be repeated rather than stored
_LARGE = 64 * 64  # elements of a nest whose caches count


class Schedule(Planner):
    """Plans one jaxpr without calls, equation by equation."""

    def run(self) -> Plan:
        self.estimate()
        self._outputs()
        for eqn in reversed(self.jaxpr.eqns):
            if eqn.effects or any(v in self.demands for v in eqn.outvars):
                self._visit(eqn)
        self.groups.reverse()
        for g in self.groups:
            g.members.reverse()
        if self.notes is not None:
            self.tell_apart(self.notes)
        return self.plan

    def _outputs(self) -> None:
        storage = self.plan.storage
        for n, (a, target) in enumerate(zip(self.jaxpr.outs, self.targets, strict=True)):
            self.demand(a, self.end, WHOLE if a.aval.shape else ())
            if target is None:
                continue
            local = a if type(a) is Var and a in self.producers else None
            if local and local not in storage and not self.comes_too_early(local, target):
                storage[local] = target
                self.force(local, "result")
            elif type(a) is not Var or self.owned.get(a) is not target:
                self.plan.moves.append(n)
                if local:
                    self.force(local, "result")
                self._note_move(a, local)

    # -- backward: one equation after the other

    def _visit(self, eqn: Eqn) -> None:
        if eqn in self.opaque or not isinstance(eqn.op.kernel, INLINED):
            group = roots.plan_root(self, eqn)
        elif self._inline(eqn) or self._relabel(eqn):
            return
        else:
            why = self.why
            group = self._store(eqn)
            self._note_stored(eqn, why)
        self.settle(eqn, group)
        if self.is_ordered(eqn):
            self.last_effect = group

    def _note_stored(self, eqn: Eqn, why: str) -> None:
        """Note that `eqn` is not computed where it is read."""
        stored = [v for v in eqn.outvars if v in self.plan.storage]
        if self.notes is None or not stored or not eqn.outvars[0].aval.shape:
            return
        forced, reader = self.forced.get(stored[0], ("", None))
        reader = reader or next(reversed(self.bound(eqn).members), None)
        forced = "handed on" if forced == "result" and self.nested else forced
        sites = sum(map(len, self.demands.get(stored[0], {}).values()))
        facts = {"cost": self.cost.get(eqn, 0.0), "reads": sites, "bytes": sum(room(v.aval) for v in stored)}
        self.notes.about(f"stored: {forced or why}", eqn, by=place(reader), **facts)

    def _note_move(self, atom: Any, local: Var | None) -> None:
        """Note that a result is copied to its place at the end."""
        if self.notes is not None and atom.aval.shape:
            self.why = (
                "is given"
                if local is None
                else "result twice"
                if local in self.plan.storage
                else "before a check"
            )
            made = self.producers.get(atom) if type(atom) is Var else None
            what = value_of(made, atom.aval)
            self.notes.add(f"copy: {self.why}", what, made.source if made else None, bytes=room(atom.aval))

    def _inline(self, eqn: Eqn) -> bool:
        """Decide whether `eqn` is computed by its readers; if so, pass their demands on."""
        out = eqn.outvars[0]
        if eqn.effects or not out.aval.shape or any(v in self.forced for v in eqn.outvars):
            return self.because("checked")
        pairs = ((g, s) for v in eqn.outvars for g, ss in self.demands.get(v, {}).items() for s in ss)
        sites = dict.fromkeys(pairs)
        reads: list[tuple[Group, Var, Site]] = []
        for g, s in sites:
            got = self.reads(eqn, s)
            if got is None:
                return self.because("whole")
            reads += [(g, a, at) for a, at in got]
        worth = self._worth_repeating(eqn, sites) or self._store_source(eqn)
        if not worth or self._comes_too_late(eqn, reads):
            return False
        for g, a, at in reads:
            self.demand(a, g, at)
        if self.notes is not None and len(sites) > 1 and self.cost.get(eqn, 0) > 0 and out.aval.size > 1:
            groups = len({g for g, _ in sites})
            self.notes.about(
                "again", eqn, cost=self.cost[eqn], reads=len(sites), nests=groups, bytes=room(out.aval)
            )
        self._prefer_stored(eqn, sites)
        return True

    def _prefer_stored(self, eqn: Eqn, sites: Any) -> None:
        """Where a reshape would cost divisions, its operand is stored: then it costs nothing."""
        a = eqn.invars[0] if eqn.invars else None
        if isinstance(eqn.op.kernel, Pull) and self.divides(eqn) and type(a) is Var:
            flat = self.k.identity(eqn.outvars[0].aval.shape)
            if any(s not in (flat, FLAT) or g.kind != "map" for g, s in sites):
                self.force(a, "reshaped", eqn)

    def _store_source(self, eqn: Eqn) -> bool:
        """Whether `eqn` repeats elements of what costs something and takes less room; then that is stored. A view
        of as many elements is itself stored: computed in the order in which it is read."""
        arrays = [a for a in eqn.invars if a.aval.shape]
        if len(arrays) != 1 or not self.is_view(eqn) or self._own_cost(eqn) > _CHEAP / 4:
            return False
        (a,) = arrays
        if type(a) is not Var or a not in self.producers or a.aval.size >= eqn.outvars[0].aval.size:
            return False
        self.force(a, "viewed", eqn)
        return True

    def _worth_repeating(self, eqn: Eqn, sites: Any) -> bool:
        cost = self._own_cost(eqn) + sum(map(self._cost_of, dict.fromkeys(self._read_atoms(eqn))))
        if cost * (len(sites) - 1) > _CHEAP:
            return self.because("read often")
        if cost > _CHEAP and any(self._crosses(g, s) for g, s in sites):
            return self.because("across")
        if cost > _CHEAP / 2 and any(self._revisits(g, s) for g, s in sites):
            return self.because("read again")
        return True

    def _cost_of(self, var: Var) -> float:
        """What an operand costs wherever it is read: what is costly and read elsewhere too will be stored."""
        cost = self.cost.get(self.producers.get(var), 0.0)  # type: ignore[arg-type]
        return 0.0 if var in self.forced or (cost > _CHEAP and var in self.demands) else cost

    def _crosses(self, group: Group, site: Site) -> bool:
        """Whether the innermost loop of a large nest strides through what is read there: several operands that are
        walked through so are better walked through once, in order, and their result moved."""
        steps = [] if isinstance(site, str) else [m for m in map(self.k.mask, site) if m]
        loops = [1 << n for n, d in enumerate(group.domain) if d != 1]
        large = math.prod(d for d in group.domain if type(d) is int) >= _LARGE
        return large and len(steps) > 1 and not steps[-1] & loops[-1] and any(m & loops[-1] for m in steps)

    def _revisits(self, group: Group, site: Site) -> bool:
        """Whether a nest reads the same element again for other positions of an outer loop."""
        if isinstance(site, str):
            return False
        loops = [1 << n for n, d in enumerate(group.domain) if d != 1]
        mask = self.k.mask_of(site)
        used = [bool(mask & b) for b in loops]
        return used != sorted(used, reverse=True)

    def _comes_too_late(self, eqn: Eqn, reads: list[tuple[Group, Var, Site]]) -> bool:
        """Whether `eqn` has to be computed before something that it reads is overwritten."""
        late = dict.fromkeys(a for g, a, at in reads if self.is_late(a, g, at))
        size = eqn.outvars[0].aval.size
        if any(2 * size <= a.aval.size for a in late):
            self.because("before it is overwritten")
            return True
        for a in late:
            self.keep(a)
        return False

    def _relabel(self, eqn: Eqn) -> bool:
        """A reshape whose operand can be computed in the result's storage needs no code. Where it costs no
        divisions, what can be computed at its place is: its readers can join that nest."""
        (a, *_), out = eqn.invars or (None,), eqn.outvars[0]
        storage = self.plan.storage.get(out)
        if storage is None or not storage.plain:
            return False
        fits = isinstance(eqn.op.kernel, Pull) and eqn.op.kernel.alias
        if (
            not fits
            or type(a) is not Var
            or a not in self.producers
            or a in self.plan.storage
            or a in self.demands
            or self.comes_too_early(a, storage)
        ):
            return False
        if isinstance(self.producers[a].op.kernel, INLINED) and not self.divides(eqn):
            return False
        if not (a.aval.shape and a.aval.is_static and out.aval.is_static):
            return False
        self.plan.storage[a] = storage
        self.plan.relabelled[a] = out
        self.force(a, "reshaped", eqn)
        for g in self.demands[out]:
            self.demand(a, g, WHOLE)
        if out in self.limits:
            self.limits[a] = self.limits[out]
        return True

    def _store(self, eqn: Eqn) -> Group:
        """Put a Pointwise or Pull equation into a nest."""
        shape = eqn.outvars[0].aval.shape
        own = self.k.identity(shape)
        reads = self.reads(eqn, own) or []
        group = self._nest_for(eqn, shape, own, reads)
        if group is None:
            group = self.new_group("map" if shape else "scalars", shape, shape)
            group.writes = own
        group.members.append(eqn)
        for v in eqn.outvars:
            if set(self.demands.get(v, ())) - {group}:
                self.claim(v, group)
        for a, at in reads:
            self.demand(a, group, at)
        for v in (*eqn.outvars, *eqn.invars):
            for d in v.aval.shape:
                if isinstance(d, Dim):
                    self.demand(d.var, group, ())
        return group

    def _nest_for(self, eqn: Eqn, shape: Any, own: Index, reads: Any) -> Group | None:
        """An existing nest that can compute `eqn`."""
        bound = self.bound(eqn)
        for g in (self.latest.get(shape), bound):
            if g is not None and self.fits(g, self._against(eqn, g, bound, own, reads)):
                return g
        return None

    def _against(self, eqn: Eqn, g: Group, bound: Group, own: Index, reads: Any) -> str | None:
        """Why a nest cannot compute `eqn`, which `bound` is the first to read; None if it can."""
        shape = eqn.outvars[0].aval.shape
        if eqn.effects and shape:
            return "checked"
        if g.position < bound.position:
            return "too late"
        if len(g.members) >= MAX_MEMBERS and shape:
            return "full"
        level = g.domain if g is self.latest.get(shape) else g.domain[: g.rows] if g.kind == "rows" else None
        if level != shape:
            return "another order" if g.domain == shape else "other elements"
        if g is bound and (self.sites_in(eqn, g) - {own} or (shape == g.domain and _has_single_rows(g))):
            return "elsewhere"
        return "overwritten" if any(self.is_late(a, g, at) for a, at in reads) else None


def _has_single_rows(g: Group) -> bool:
    """Whether a nest reduces rows of one element: what it computes once a row, before their elements, may read that
    element by the same index as what it computes for each."""
    return g.kind == "rows" and g.rows < len(g.domain) and all(d == 1 for d in g.domain[g.rows :])
