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
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import Pull
from tracejit.lowering.plan import roots
from tracejit.lowering.plan.access import Index
from tracejit.lowering.plan.groups import FLAT, MAX_MEMBERS, WHOLE, Group, Plan, Site, Storage
from tracejit.lowering.plan.probe import shift
from tracejit.lowering.plan.reads import INLINED, Reads

_CHEAP = 8  # work an element that may be repeated rather than stored
_LARGE = 64 * 64  # elements of a nest whose caches count
_MAX_SITES = 16  # indices at which one nest may read a value and inline it


class Planner(Reads):
    """Plans one jaxpr without calls. `owned`: arguments whose storage may be overwritten;
    `targets`: for every output the storage it must end in, None for 0-d ones; `nested`: it is a region's.
    What may fail midway never has storage that the caller sees, so that regions need not care."""

    def __init__(
        self, jaxpr: Jaxpr, owned: dict[Var, Storage], targets: list[Storage | None], nested: bool
    ) -> None:
        super().__init__(jaxpr)
        self.owned = owned
        self.targets = targets
        self.demands: dict[Var, dict[Group, list[Site]]] = {}
        self.limits: dict[Var, Group] = {}
        self.groups: list[Group] = []
        self.latest: dict[Any, Group] = {}
        self.end = Group("end", -1)
        self.last_effect = self.end
        self.visible = set(owned.values()) if "error" in jaxpr.effects and not nested else set()
        self.plan = Plan(self.groups, self.opaque, self.cost, self.constant)

    def run(self) -> Plan:
        self.estimate()
        self._outputs()
        for eqn in reversed(self.jaxpr.eqns):
            if eqn.effects or any(v in self.demands for v in eqn.outvars):
                self._visit(eqn)
        self.groups.reverse()
        for g in self.groups:
            g.members.reverse()
        return self.plan

    # -- demands

    def demand(self, atom: Atom, group: Group, site: Site) -> None:
        """`group` reads `atom` at `site`."""
        if type(atom) is not Var:
            return
        if self.is_late(atom, group, site):
            self.keep(atom)
        sites = self.demands.setdefault(atom, {}).setdefault(group, [])
        site = site if len(sites) < _MAX_SITES else WHOLE
        if site not in sites:
            sites.append(site)
            for d in atom.aval.shape:
                if isinstance(d, Dim):
                    self.demand(d.var, group, ())

    def _outputs(self) -> None:
        storage = self.plan.storage
        for n, (a, target) in enumerate(zip(self.jaxpr.outs, self.targets, strict=True)):
            self.demand(a, self.end, WHOLE if a.aval.shape else ())
            if target is None:
                continue
            local = a if type(a) is Var and a in self.producers else None
            if local and local not in storage and not self._fails_midway(local, target):
                storage[local] = target
                self.forced.add(local)
            elif type(a) is not Var or self.owned.get(a) is not target:
                self.plan.moves.append(n)
                if local:
                    self.forced.add(local)

    def _fails_midway(self, var: Var, storage: Storage) -> bool:
        """Whether the caller would see half of `var` in `storage`."""
        return storage in self.visible and "error" in self.producers[var].effects

    # -- limits: storage that is overwritten

    def is_late(self, var: Any, group: Group, site: Site) -> bool:
        """Whether the storage of `var` has been overwritten when `group` reads it."""
        limit = self.limits.get(var)
        if limit is None or group.position > limit.position:
            return False
        return group is not limit or not (_allows(limit, site) or self._is_ahead(var, limit, site))

    def _is_ahead(self, var: Var, group: Group, site: Site) -> bool:
        """Whether element `site` is overwritten by a later iteration of `group`, an update; it then runs in order."""
        if not group.is_update or type(site) is not tuple or type(group.writes) is not tuple:
            return False
        if var.aval.shape != group.members[0].outvars[0].aval.shape:
            return False  # another shape of the same storage
        shifts = [shift(self.k, x, i) for x, i in zip(site, group.writes, strict=True)]
        ahead = None not in shifts and next((n for n in shifts if n), 0) > 0
        if ahead:
            self.plan.in_order.update(group.members)
        return ahead

    def retire(self, var: Var, group: Group) -> None:
        """`group` overwrites the storage of `var`."""
        self.limits[var] = group
        group.overwritten.append(var)
        demands = self.demands.get(var, {})
        if any(self.is_late(var, g, s) for g, sites in demands.items() for s in sites):
            self.keep(var)

    def keep(self, var: Var) -> None:
        """Copy `var` away before its storage is overwritten; then nothing limits its readers."""
        self.limits.pop(var).preserve.append(var)

    def claim(self, var: Var, group: Group) -> None:
        """`group` writes `var` into its storage, whatever was there before."""
        if not var.aval.shape:
            return
        storage = self.plan.storage.setdefault(var, Storage())
        owner, storage.owner = storage.owner, None
        if owner is not None:
            self.retire(owner, group)

    def inherit(self, atom: Any, storage: Storage, group: Group) -> bool:
        """Let `atom`'s value be in `storage`, which `group` then overwrites. False: it has to be copied."""
        if type(atom) is Var and self.owned.get(atom) is storage and storage.owner is atom:
            storage.owner = None
            self.retire(atom, group)
            return True
        local = type(atom) is Var and atom in self.producers and atom not in self.plan.storage
        if local and self._fails_midway(atom, storage):
            local = False
        if local and all(g.position > group.position for g in self.demands.get(atom, {})):
            self.demand(atom, group, WHOLE)
            self.plan.storage[atom] = storage
            self.forced.add(atom)
            self.limits[atom] = group
            return True
        self.demand(atom, group, WHOLE)
        return False

    def claim_over(self, eqn: Eqn, group: Group, base: Any) -> None:
        """Claim storage for an update: its base's, if that is free."""
        out = eqn.outvars[0]
        if not out.aval.shape:
            self.demand(eqn.invars[base], group, ())
        elif base is None:
            self.claim(out, group)
        elif type(base) is not int:
            group.writes = None  # filled before anything is read
            self.claim(out, group)
        elif not self.inherit(eqn.invars[base], self.plan.storage.setdefault(out, Storage()), group):
            group.writes = None  # so is this one
            self.plan.copies[eqn] = {base: 0}
            self.claim(out, group)

    # -- groups

    def new_group(self, kind: str, domain: Any = (), key: Any = None) -> Group:
        """A group that runs before all others so far."""
        g = Group(kind, len(self.groups), domain)
        self.groups.append(g)
        if key is not None:
            self.latest[key] = g
        return g

    def bound(self, eqn: Eqn) -> Group:
        """The first of the groups that `eqn` must not come after."""
        groups = [g for v in eqn.outvars for g in self.demands.get(v, ())]
        groups += [self.last_effect] if self.is_ordered(eqn) else []
        return max(groups, key=lambda g: g.position)

    def is_ordered(self, eqn: Eqn) -> bool:
        """Whether `eqn` has to stay in place among checks: it has effects, or it writes where the
        caller sees it if a check fails later."""
        return bool(eqn.effects) or any(self.plan.storage.get(v) in self.visible for v in eqn.outvars)

    def sites_in(self, eqn: Eqn, group: Group) -> set[Site]:
        return {s for v in eqn.outvars for s in self.demands.get(v, {}).get(group, ())}

    # -- backward: one equation after the other

    def _visit(self, eqn: Eqn) -> None:
        if eqn in self.opaque or not isinstance(eqn.op.kernel, INLINED):
            group = roots.plan_root(self, eqn)
        elif self._inline(eqn) or self._relabel(eqn):
            return
        else:
            group = self._store(eqn)
        if self.is_ordered(eqn):
            self.last_effect = group

    def _inline(self, eqn: Eqn) -> bool:
        """Decide whether `eqn` is computed by its readers; if so, pass their demands on."""
        out = eqn.outvars[0]
        if eqn.effects or not out.aval.shape or any(v in self.forced for v in eqn.outvars):
            return False
        pairs = ((g, s) for v in eqn.outvars for g, ss in self.demands.get(v, {}).items() for s in ss)
        sites = dict.fromkeys(pairs)
        reads: list[tuple[Group, Var, Site]] = []
        for g, s in sites:
            got = self.reads(eqn, s)
            if got is None:
                return False
            reads += [(g, a, at) for a, at in got]
        worth = self._worth_repeating(eqn, sites) or self._store_source(eqn)
        if not worth or self._comes_too_late(eqn, reads):
            return False
        for g, a, at in reads:
            self.demand(a, g, at)
        self._prefer_stored(eqn, sites)
        return True

    def _prefer_stored(self, eqn: Eqn, sites: Any) -> None:
        """Where a reshape would cost divisions, its operand is stored: then it costs nothing."""
        a = eqn.invars[0] if eqn.invars else None
        if isinstance(eqn.op.kernel, Pull) and self.divides(eqn) and type(a) is Var:
            flat = self.k.identity(eqn.outvars[0].aval.shape)
            if any(s not in (flat, FLAT) or g.kind != "map" for g, s in sites):
                self.forced.add(a)

    def _store_source(self, eqn: Eqn) -> bool:
        """Whether `eqn` is a view that costs nothing where what it shows is stored, which takes no more room than
        the view would; then that is stored."""
        arrays = [a for a in eqn.invars if a.aval.shape]
        if len(arrays) != 1 or not self.is_view(eqn) or self._own_cost(eqn) > _CHEAP / 4:
            return False
        (a,) = arrays
        if type(a) is not Var or a not in self.producers or a.aval.size > eqn.outvars[0].aval.size:
            return False
        self.forced.add(a)
        return True

    def _worth_repeating(self, eqn: Eqn, sites: Any) -> bool:
        cost = self._own_cost(eqn) + sum(map(self._cost_of, dict.fromkeys(self._read_atoms(eqn))))
        if cost * (len(sites) - 1) > _CHEAP:
            return False
        if cost > _CHEAP and any(self._crosses(g, s) for g, s in sites):
            return False
        return cost <= _CHEAP / 2 or not any(self._revisits(g, s) for g, s in sites)

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
            return True
        for a in late:
            self.keep(a)
        return False

    def _relabel(self, eqn: Eqn) -> bool:
        """A reshape whose operand can be computed in the result's storage needs no code."""
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
        ):
            return False
        if not (a.aval.shape and a.aval.is_static and out.aval.is_static):
            return False
        self.plan.storage[a] = storage
        self.plan.relabelled[a] = out
        self.forced.add(a)
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
        if eqn.effects and shape:
            return None
        for g in (self.latest.get(shape), bound):
            if g is None or g.position < bound.position or (len(g.members) >= MAX_MEMBERS and shape):
                continue
            level = (
                g.domain if g is self.latest.get(shape) else g.domain[: g.rows] if g.kind == "rows" else None
            )
            if level != shape or (g is bound and self.sites_in(eqn, g) - {own}):
                continue
            if not any(self.is_late(a, g, at) for a, at in reads):
                return g
        return None


def _allows(group: Group, site: Site) -> bool:
    return group.writes == "any" or (group.writes is not None and site == group.writes)
