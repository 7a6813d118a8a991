"""What a plan in the making knows, and what is asked of it: demands, groups, and storage that is overwritten."""

from __future__ import annotations

from typing import Any

from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var, can_be_done_over
from tracejit.lowering.notes import Notes, place, room, value_of
from tracejit.lowering.plan.barriers import tell_split
from tracejit.lowering.plan.groups import WHOLE, Group, Plan, Site, Storage
from tracejit.lowering.plan.probe import shift
from tracejit.lowering.plan.reads import Reads

_MAX_SITES = 16  # indices at which one nest may read a value and inline it


class Planner(Reads):
    """What the plan of one jaxpr without calls knows so far. `owned`: arguments whose storage may be overwritten;
    `targets`: for every output the storage it must end in, None for 0-d ones; `nested`: it is a region's.
    Storage that the caller sees is written after the last check: a program that fails has written nothing, and
    regions need not care. `notes`: where decisions are told, if anybody wants to know."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        owned: dict[Var, Storage],
        targets: list[Storage | None],
        nested: bool,
        notes: Notes | None = None,
    ) -> None:
        super().__init__(jaxpr)
        self.notes = notes
        self.nested = nested
        #: The rule by which the last thing that was refused was refused.
        self.why = ""
        #: (equation, its nest, a nest that it could not be part of, why not).
        self.apart: list[tuple[Eqn, Group, Group, str]] = []
        self.refused: list[tuple[Group, str]] = []
        self.owned = owned
        self.targets = targets
        self.demands: dict[Var, dict[Group, list[Site]]] = {}
        self.limits: dict[Var, Group] = {}
        self.groups: list[Group] = []
        self.latest: dict[Any, Group] = {}
        self.end = Group("end", -1)
        self.last_effect = self.end
        self.visible = set(owned.values()) if "error" in jaxpr.effects and not nested else set()
        self.unsettled = _before_checks(jaxpr) if self.visible else set()
        self.plan = Plan(self.groups, self.opaque, self.cost, self.constant)

    # -- reasons

    def because(self, rule: str) -> bool:
        """False, and remember why."""
        self.why = rule
        return False

    def fits(self, group: Group, why: str | None) -> bool:
        """Whether nothing, `why`, speaks against a nest; what does is remembered for the equation at hand."""
        if why is not None and self.notes is not None:
            self.refused.append((group, why))
        return why is None

    def settle(self, eqn: Eqn, group: Group) -> None:
        """`eqn` is computed in `group`: if that is a nest of its own, remember which nests it could not be part of."""
        if group.members == [eqn]:
            others = {g: why for g, why in reversed(self.refused) if g is not group and g is not self.end}
            self.apart += [(eqn, group, g, why) for g, why in others.items()]
        self.refused.clear()

    def tell_apart(self, notes: Notes) -> None:
        """Note which nests did not become one; the plan is finished."""
        for eqn, group, other, why in self.apart:
            if "scalars" in (other.kind, group.kind) or eqn not in group.members or not other.members:
                continue
            rule = "operand" if other.kind == "single" and not other.domain else why
            sizes = {"elements": _shape(group), "others": _shape(other)}
            notes.about(f"apart: {rule}", eqn, other=place(other.members[-1]), **sizes)
        tell_split(notes, self.jaxpr, self.groups, self.apart, self.opaque)

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

    def comes_too_early(self, var: Var, storage: Storage) -> bool:
        """Whether the caller would see `var` in `storage` although a check fails later."""
        return storage in self.visible and self.producers[var] in self.unsettled

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
        group = self.limits.pop(var)
        group.preserve.append(var)
        if self.notes is not None:
            made, by = self.producers.get(var), group.members[0] if group.members else None
            what = value_of(made, var.aval)
            maker = made or by
            where = maker.source if maker else None
            self.notes.add("copy: overwritten", what, where, by=place(by), bytes=room(var.aval))

    def claim(self, var: Var, group: Group) -> None:
        """`group` writes `var` into its storage, whatever was there before."""
        if not var.aval.shape:
            return
        storage = self.plan.storage.setdefault(var, Storage())
        owner, storage.owner = storage.owner, None
        if owner is not None:
            self.retire(owner, group)

    def inherit(self, atom: Any, storage: Storage, group: Group) -> bool:
        """Let `atom`'s value be in `storage`, which `group` then overwrites. False: it has to be copied (`why`)."""
        if type(atom) is Var and self.owned.get(atom) is storage and storage.owner is atom:
            storage.owner = None
            self.retire(atom, group)
            return True
        local = type(atom) is Var and atom in self.producers and atom not in self.plan.storage
        self.why = "read later" if local else "not ours" if self.is_given(atom) else "in another place"
        if local and self.comes_too_early(atom, storage):
            local = self.because("before a check")
        if local and all(g.position > group.position for g in self.demands.get(atom, {})):
            self.demand(atom, group, WHOLE)
            self.plan.storage[atom] = storage
            self.force(atom, "updated", group.members[0] if group.members else None)
            self.limits[atom] = group
            return True
        self.demand(atom, group, WHOLE)
        return False

    def is_given(self, atom: Any) -> bool:
        """Whether a value comes from outside: an argument or a constant."""
        return type(atom) is not Var or atom not in self.producers

    def note_copy(self, eqn: Eqn, atom: Any) -> None:
        """Note that `eqn` starts with a copy of `atom`, by the rule `why`."""
        if self.notes is not None:
            made = self.producers.get(atom) if type(atom) is Var else None
            what = value_of(made, atom.aval)
            self.notes.add(f"copy: {self.why}", what, eqn.source, by=place(eqn), bytes=room(atom.aval))

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
            self.note_copy(eqn, eqn.invars[base])
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
        """Whether `eqn` has to stay in place among checks: it has effects, or it writes what the caller sees, which
        comes after them."""
        return bool(eqn.effects) or any(self.plan.storage.get(v) in self.visible for v in eqn.outvars)

    def sites_in(self, eqn: Eqn, group: Group) -> set[Site]:
        return {s for v in eqn.outvars for s in self.demands.get(v, {}).get(group, ())}


def _shape(group: Group) -> str:
    return " x ".join(str(d) if type(d) is int else "n" for d in group.domain) or "1"


def _before_checks(jaxpr: Jaxpr) -> set[Eqn]:
    """The equations up to the last one that may fail. What can't be run again, since it calls out, keeps Python's
    order instead: then only what may fail itself must not be seen."""
    checks = [n for n, e in enumerate(jaxpr.eqns) if "error" in e.effects]
    if not can_be_done_over(jaxpr.effects):
        return {jaxpr.eqns[n] for n in checks}
    return set(jaxpr.eqns[: checks[-1] + 1])


def _allows(group: Group, site: Site) -> bool:
    return group.writes == "any" or (group.writes is not None and site == group.writes)
