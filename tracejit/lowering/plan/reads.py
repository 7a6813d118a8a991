"""What inlined values read, and what it costs to compute them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tracejit.ir.jaxpr import Eqn, Jaxpr, Var
from tracejit.ir.kernel import (
    CondRegion,
    Contract,
    Cumulative,
    Opaque,
    Pointwise,
    Pull,
    Reduce,
    ScanRegion,
    WhileRegion,
)  # fmt: skip
from tracejit.lowering.plan.groups import FLAT, VIEW, WHOLE, Site
from tracejit.lowering.plan.probe import Access, Symbols, affine, is_native, probe_pull

INLINED = (Pointwise, Pull)
_MAX_WORK, _MAX_LEVELS = 400, 48  # of what is inlined into one nest


class Reads:
    """The reads of the equations of a jaxpr, as functions of the index at which they are read."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.k = Symbols()
        self.producers: dict[Var, Eqn] = {v: e for e in jaxpr.eqns for v in e.outvars}
        #: How often a value is read, as a result of the program too.
        self.readers = Counter(a for atoms in (*(e.invars for e in jaxpr.eqns), jaxpr.outs) for a in atoms)
        self.opaque = {e for e in jaxpr.eqns if _runs_opaquely(e)}
        #: What is stored in any case -> (why, for which equation).
        self.forced: dict[Var, tuple[str, Eqn | None]] = {}
        self.cost: dict[Eqn, float] = {}
        self.constant: set[Eqn] = set()
        self.accesses: dict[Eqn, Access] = {}

    def estimate(self) -> None:
        """What values cost when everything they are made of is inlined; store what costs too much."""
        stored = {a for a in self.jaxpr.outs if type(a) is Var}
        cost, levels = self.cost, dict[Eqn | None, int]()
        for eqn in self.jaxpr.eqns:
            if eqn in self.opaque or not isinstance(eqn.op.kernel, INLINED):
                stored.update(a for a in eqn.invars if _is_whole(eqn) and type(a) is Var)
                continue
            inner = [self.producers.get(a) for a in self._read_atoms(eqn) if a.aval.shape and a not in stored]
            cost[eqn] = self._own_cost(eqn) + sum(cost.get(e, 0.0) for e in inner if e is not None)
            levels[eqn] = 1 + max((levels.get(e, 0) for e in inner), default=0)
            if cost[eqn] > _MAX_WORK or levels[eqn] > _MAX_LEVELS:
                for v in eqn.outvars:
                    self.force(v, "much work")
                stored.update(eqn.outvars)

    def force(self, var: Var, why: str, reader: Eqn | None = None) -> None:
        """Store `var`, whatever it costs. `why` is the name of a rule, see `lowering.notes`."""
        self.forced.setdefault(var, (why, reader))

    def _own_cost(self, eqn: Eqn) -> float:
        form = eqn.op.kernel
        return float(form.cost) if isinstance(form, Pointwise) else 0.25 * self.access(eqn).work

    def _read_atoms(self, eqn: Eqn) -> Iterable[Var]:
        if isinstance(eqn.op.kernel, Pointwise):
            return [a for a in eqn.invars if type(a) is Var]
        return [a for a, _ in self.access(eqn).reads]

    def access(self, eqn: Eqn, idx: Any = None) -> Access:
        """What a Pull equation does at `idx`, or at the identity."""
        own = self.k.identity(eqn.outvars[0].aval.shape)
        if idx is not None and idx != own:
            return probe_pull(self.k, eqn, idx)
        if eqn not in self.accesses:
            got = self.accesses[eqn] = probe_pull(self.k, eqn, own)
            if got.mask == 0 and not any(a.aval.shape for a, _ in got.reads):
                self.constant.add(eqn)
        return self.accesses[eqn]

    def reads(self, eqn: Eqn, site: Site) -> list[tuple[Var, Site]] | None:
        """What an inlined equation reads directly when it is read at `site`; None if that is unknown."""
        if isinstance(eqn.op.kernel, Pointwise):
            if site in (WHOLE, VIEW):
                return None
            return [(a, site if a.aval.shape else ()) for a in eqn.invars if type(a) is Var]
        if site == VIEW:
            return self._view_reads(eqn)
        if site == FLAT:
            return self._flat_reads(eqn)
        if site == WHOLE:
            return None
        if self.divides(eqn) and site == self.k.identity(eqn.outvars[0].aval.shape):
            return [(a, FLAT if a.aval.shape else ()) for a, _ in self.access(eqn).reads]
        return list(self.access(eqn, site).reads)

    def divides(self, eqn: Eqn) -> bool:
        """Whether this is a reshape that costs arithmetic where its operand is not stored."""
        return self._is_alias(eqn) and self.access(eqn).work > 0

    def _view_reads(self, eqn: Eqn) -> list[tuple[Var, Site]] | None:
        (a, *_) = eqn.invars or (None,)
        if self.divides(eqn) and type(a) is Var and a.aval.shape:
            self.force(a, "reshaped", eqn)
            return [(a, WHOLE)]
        if not self.is_view(eqn):
            return None
        return [(a, VIEW if a.aval.shape else ()) for a, _ in self.access(eqn).reads]

    def _flat_reads(self, eqn: Eqn) -> list[tuple[Var, Site]] | None:
        access = self.access(eqn)
        if self._is_alias(eqn):
            return [(a, FLAT if a.aval.shape else ()) for a, _ in access.reads]
        return list(access.reads) if eqn in self.constant else None

    def _is_alias(self, eqn: Eqn) -> bool:
        """Whether this is a reshape of known sizes: others are found by their indices."""
        form = eqn.op.kernel
        return (
            isinstance(form, Pull)
            and form.alias
            and all(a.aval.is_static for a in (*eqn.invars, *eqn.outvars))
        )

    def is_view(self, eqn: Eqn) -> bool:
        """Whether a value is an affine view of another one, or of nothing (iota)."""
        if eqn in self.opaque or not isinstance(eqn.op.kernel, Pull):
            return False
        access = self.access(eqn)
        indices = [i for a, idx in access.reads if a.aval.shape for i in idx]
        return access.is_copy and all(affine(self.k, i) is not None for i in indices)


def _runs_opaquely(eqn: Eqn) -> bool:
    form = eqn.op.kernel
    if isinstance(form, (Pointwise, Pull, Reduce, Cumulative)):
        return not is_native(eqn)
    return isinstance(form, Opaque)


def _is_whole(eqn: Eqn) -> bool:
    return isinstance(eqn.op.kernel, (Contract, Opaque, CondRegion, WhileRegion, ScanRegion))
