"""early: checks come before everything else, with what they need.

For programs that write into the caller's arrays, which they may do only after the last check has passed. Then most of
them still write in place: `u += dt / dx * f(u)` divides by `dx` before it writes `u`.
"""

from __future__ import annotations

from tracejit.ir.jaxpr import Eqn, Jaxpr, Var, can_be_done_over
from tracejit.ir.kernel import CondRegion, ScanRegion, Update, WhileRegion
from tracejit.passes.rewrite import Pass

#: What writes into storage of its operands: earlier than others that read these, it would have to copy them.
_STAYS = (CondRegion, ScanRegion, Update, WhileRegion)


def _early(jaxpr: Jaxpr) -> Jaxpr:
    if "error" not in jaxpr.effects or not can_be_done_over(jaxpr.effects):
        return jaxpr
    first = _movable(jaxpr)
    eqns = tuple(sorted(jaxpr.eqns, key=lambda e: e not in first))
    return jaxpr if eqns == jaxpr.eqns else Jaxpr(jaxpr.invars, eqns, jaxpr.outs, jaxpr.name)


def _movable(jaxpr: Jaxpr) -> set[Eqn]:
    """Equations that may fail, as far as they and all before them can come first, and what they need."""
    producers = {v: e for e in jaxpr.eqns for v in e.outvars}
    found = set[Eqn]()
    for check in jaxpr.eqns:
        if not check.effects:
            continue
        needed = _needed(check, producers, found)
        if any(isinstance(e.op.kernel, _STAYS) for e in needed):
            break
        found |= needed
    return found


def _needed(eqn: Eqn, producers: dict[Var, Eqn], known: set[Eqn]) -> set[Eqn]:
    """`eqn` and what its operands and extents come from, but for `known`."""
    needed, stack = {eqn}, [eqn]
    while stack:
        e = stack.pop()
        atoms = (*e.invars, *e.outvars)
        dims = [d.var for a in atoms if not a.aval.is_static for d in a.aval.shape if type(d) is not int]
        for a in (*e.invars, *dims):
            made = producers.get(a)  # type: ignore[arg-type]
            if made is not None and made not in needed and made not in known:
                needed.add(made)
                stack.append(made)
    return needed


early = Pass("early", _early)
