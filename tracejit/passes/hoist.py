"""hoist: what a loop computes anew in every step from its constants is computed once, before it.

Only work that pays for the buffer it then needs: reductions, products, library
calls, dear pointwise functions of whole arrays. LLVM does it for scalars, and
cheap pointwise work is better fused than stored.
"""

from __future__ import annotations

from typing import Any

from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, contains
from tracejit.ir.kernel import (
    Contract,
    Cumulative,
    Opaque,
    Pointwise,
    Reduce,
    ScanRegion,
    UserCode,
    WhileRegion,
)
from tracejit.passes.rewrite import Env, Pass, everywhere, rebuild, with_params

_STAYS = (WhileRegion, UserCode)  # they may not end, or raise, in a loop of no steps
_DEAR = (Reduce, Cumulative, Contract, Opaque, ScanRegion)
_DEAR_COST = 4  # flops an element from which storing beats recomputing


def _hoist(jaxpr: Jaxpr) -> Jaxpr:
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        if isinstance(eqn.op.kernel, ScanRegion):
            eqn = _from_scan(eqn, eqns)
        elif isinstance(eqn.op.kernel, WhileRegion):
            eqn = _from_while(eqn, eqns)
        eqns.append(eqn)
    return rebuild(jaxpr, eqns, jaxpr.outs)


def _from_scan(eqn: Eqn, before: list[Eqn]) -> Eqn:
    p = eqn.params
    first = int(p["length"] is None)
    consts = eqn.invars[first : first + p["consts"]]
    body, new = _lift(p["jaxpr"], 1, consts, before)
    if not new:
        return eqn
    at = first + len(consts)
    invars = eqn.invars[:at] + new + eqn.invars[at:]
    return with_params(eqn, {**p, "jaxpr": body, "consts": len(consts) + len(new)}).replace(invars=invars)


def _from_while(eqn: Eqn, before: list[Eqn]) -> Eqn:
    p = eqn.params
    n, m = p["cond_consts"], p["body_consts"]
    cconsts, bconsts, carry = eqn.invars[:n], eqn.invars[n : n + m], eqn.invars[n + m :]
    cond, cnew = _lift(p["cond"], 0, cconsts, before)
    body, bnew = _lift(p["body"], 0, bconsts, before)
    if not cnew and not bnew:
        return eqn
    counts = {"cond_consts": n + len(cnew), "body_consts": m + len(bnew)}
    params = {**p, "cond": cond, "body": body, **counts}
    return with_params(eqn, params).replace(invars=cconsts + cnew + bconsts + bnew + carry)


def _lift(
    body: Jaxpr, first: int, consts: tuple[Atom, ...], before: list[Eqn]
) -> tuple[Jaxpr, tuple[Atom, ...]]:
    """Move the dear invariant equations of `body` to `before`; their results are new
    constants, placed after the old ones, which start at invar `first`."""
    end = first + len(consts)
    candidates = invariant(body, set(body.invars[first:end]))
    roots = {e for e in candidates if _dear(e)}
    if not roots:
        return body, ()
    env = Env()
    env.map.update(zip(body.invars[first:end], consts, strict=True))
    for e in with_ancestors(candidates, roots):
        invars = env.atoms(e.invars)
        outvars = tuple(env.fresh(v) for v in e.outvars)
        before.append(Eqn(e.op, invars, outvars, e.params, e.source, e.effects))
    # The body's own variables become its new invars, so that nothing in it is renamed.
    new = tuple(v for e in candidates if e in roots for v in e.outvars)
    eqns = tuple(e for e in body.eqns if e not in roots)
    invars = body.invars[:end] + new + body.invars[end:]
    return Jaxpr(invars, eqns, body.outs, body.name), tuple(env.atom(v) for v in new)


def invariant(body: Jaxpr, known: set[Var]) -> list[Eqn]:
    """The equations that depend on `known` and literals only, in order."""
    out = []
    for e in body.eqns:
        if e.effects or contains(e, _STAYS):
            continue
        fixed = all(isinstance(a, Literal) or a in known for a in e.invars)
        if fixed and all(v.aval.is_static for v in e.outvars):
            out.append(e)
            known.update(e.outvars)
    return out


def _dear(eqn: Eqn) -> bool:
    kernel: Any = eqn.op.kernel
    if isinstance(kernel, Pointwise):
        return kernel.cost >= _DEAR_COST and eqn.outvars[0].aval.size > 1
    return isinstance(kernel, _DEAR)


def with_ancestors(candidates: list[Eqn], roots: set[Eqn]) -> list[Eqn]:
    """`roots` and the candidates they need, in order. Cheap ancestors stay in the body too."""
    needed: set[Any] = set()
    out = []
    for e in reversed(candidates):
        if e in roots or not needed.isdisjoint(e.outvars):
            out.append(e)
            needed.update(e.invars)
    return out[::-1]


hoist = Pass("hoist", everywhere(_hoist))
