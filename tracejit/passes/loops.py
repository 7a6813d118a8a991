"""loops: constants that a region is given go into its bodies; carries that never change become constants.

Then folding, hoisting and fusion see inside what they could not see before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tracejit.ir.kernel import CondRegion, ScanRegion, WhileRegion
from tracejit.passes.rewrite import Env, Pass, map_bodies, with_params


def _loops(jaxpr: Jaxpr, done: dict[Jaxpr, Jaxpr]) -> Jaxpr:
    """Outermost first: what enters a body may enter the bodies in it."""
    if jaxpr in done:
        return done[jaxpr]
    env, eqns = Env(), list[Eqn]()
    for old in jaxpr.eqns:
        eqn = env.eqn(old)
        rule = _RULES.get(type(eqn.op.kernel))
        if rule is not None:
            eqn = rule(eqn, env)
            eqn = with_params(eqn, map_bodies(eqn.params, lambda j: _loops(j, done)))
        eqns.append(eqn)
    done[jaxpr] = env.jaxpr(jaxpr, eqns)
    return done[jaxpr]


def absorb(body: Jaxpr, first: int, operands: tuple[Atom, ...]) -> tuple[Jaxpr, tuple[Atom, ...]]:
    """`body` with the literals and repetitions among `operands` substituted for its
    invars from `first` on; and the operands that remain."""
    env = Env()
    seen: dict[Atom, Var] = {}
    rest = []
    for v, a in zip(body.invars[first:], operands, strict=False):
        if isinstance(a, Literal):
            env.map[v] = a
        elif a in seen:
            env.map[v] = seen[a]
        else:
            seen[a] = v
            rest.append(a)
    if not env.map:
        return body, operands
    return substitute(body, env), tuple(rest)


def substitute(body: Jaxpr, env: Env) -> Jaxpr:
    """`body` under `env`, without the invars that `env` replaces."""
    dropped = set(env.map)
    invars = tuple(env.binder(v) for v in body.invars if v not in dropped)
    eqns = tuple(env.eqn(e) for e in body.eqns)
    return Jaxpr(invars, eqns, env.atoms(body.outs), body.name)


def _cond(eqn: Eqn, env: Env) -> Eqn:
    operands = eqn.invars[1:]
    new = [absorb(b, 0, operands) for b in eqn.params["branches"]]
    if not new or new[0][1] is operands:
        return eqn
    params = {**eqn.params, "branches": tuple(b for b, _ in new)}
    return with_params(eqn, params).replace(invars=(eqn.invars[0], *new[0][1]))


def _constant_carries(body: Jaxpr, invars: tuple[Var, ...], inits: tuple[Atom, ...]) -> list[bool]:
    """Which carries every step leaves as they are, the loops in it too."""
    same: dict[Atom, Atom] = {}
    for e in body.eqns:
        same.update(_handed_on(e))
    return [
        out is v or (isinstance(out, Literal) and _same_literal(out, init))
        for v, out, init in zip(invars, (_origin(a, same) for a in body.outs), inits, strict=False)
    ]


def _origin(a: Atom, same: dict[Atom, Atom]) -> Atom:
    """What `a` is, where loops only hand it on."""
    while isinstance(a, Var) and a in same:
        a = same[a]
    return a


def _handed_on(eqn: Eqn) -> dict[Atom, Atom]:
    """The outputs of a loop that are always one of its operands, and which."""
    p = eqn.params
    if isinstance(eqn.op.kernel, ScanRegion):
        first, body, before = int(p["length"] is None) + p["consts"], p["jaxpr"], 1 + p["consts"]
        count = p["carry"]
    elif isinstance(eqn.op.kernel, WhileRegion):
        first, body, before = p["cond_consts"] + p["body_consts"], p["body"], p["body_consts"]
        count = len(eqn.invars) - first
    else:
        return {}
    inits = eqn.invars[first : first + count]
    fixed = _constant_carries(body, body.invars[before : before + count], inits)
    return {v: x for v, x, f in zip(eqn.outvars, inits, fixed, strict=False) if f}


def _same_literal(a: Literal, b: Atom) -> bool:
    return isinstance(b, Literal) and a.aval == b.aval and a.value.tobytes() == b.value.tobytes()


def _split(xs: Any, mask: list[bool]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The entries where the mask is true, and the others."""
    pairs = list(zip(xs, mask, strict=True))
    return tuple(x for x, m in pairs if m), tuple(x for x, m in pairs if not m)


def _scan(eqn: Eqn, env: Env) -> Eqn:
    p = dict(eqn.params)
    operands = eqn.invars
    if p["length"] is None and isinstance(operands[0], Literal):
        p["length"] = int(operands[0].value)
        operands = operands[1:]
    head = () if p["length"] is not None else operands[:1]
    operands = operands[len(head) :]
    body, nc, nk = p["jaxpr"], p["consts"], p["carry"]
    consts, carry, xs = operands[:nc], operands[nc : nc + nk], operands[nc + nk :]
    i, bconsts, bcarry, bxs = body.invars[:1], body.invars[1 : 1 + nc], body.invars[1 + nc : 1 + nc + nk], ()
    bxs = body.invars[1 + nc + nk :]
    fixed = _constant_carries(body, bcarry, carry)
    outvars = eqn.outvars
    if any(fixed):
        (new, carry), (bnew, bcarry) = _split(carry, fixed), _split(bcarry, fixed)
        gone, kept = _split(outvars[:nk], fixed)
        env.map.update(zip(gone, new, strict=True))
        outs = _split(body.outs[:nk], fixed)[1] + body.outs[nk:]
        consts, bconsts, outvars = consts + new, bconsts + bnew, kept + outvars[nk:]
        body = Jaxpr(i + bconsts + bcarry + bxs, body.eqns, outs, body.name)
    body, consts = absorb(body, 1, consts)
    if body is p["jaxpr"] and p["length"] == eqn.params["length"]:
        return eqn
    p.update(jaxpr=body, consts=len(consts), carry=len(carry))
    return with_params(eqn, p).replace(invars=head + consts + carry + xs, outvars=outvars)


def _while(eqn: Eqn, env: Env) -> Eqn:
    p = dict(eqn.params)
    cond, body, n, m = p["cond"], p["body"], p["cond_consts"], p["body_consts"]
    cconsts, bconsts, carry = eqn.invars[:n], eqn.invars[n : n + m], eqn.invars[n + m :]
    fixed = _constant_carries(body, body.invars[m:], carry)
    outvars = eqn.outvars
    if any(fixed):
        k = len(carry)
        new, carry = _split(carry, fixed)
        gone, kept = _split(outvars[:k], fixed)
        outvars = kept + outvars[k:]
        env.map.update(zip(gone, new, strict=True))
        cond = _carries_to_consts(cond, n, fixed, cond.outs)
        body = _carries_to_consts(body, m, fixed, _split(body.outs[:k], fixed)[1] + body.outs[k:])
        cconsts, bconsts = cconsts + new, bconsts + new
    cond, cconsts = absorb(cond, 0, cconsts)
    body, bconsts = absorb(body, 0, bconsts)
    if cond is p["cond"] and body is p["body"]:
        return eqn
    p.update(cond=cond, body=body, cond_consts=len(cconsts), body_consts=len(bconsts))
    return with_params(eqn, p).replace(invars=cconsts + bconsts + carry, outvars=outvars)


def _carries_to_consts(j: Jaxpr, consts: int, fixed: list[bool], outs: tuple[Atom, ...]) -> Jaxpr:
    new, carry = _split(j.invars[consts:], fixed)
    return Jaxpr(j.invars[:consts] + new + carry, j.eqns, outs, j.name)


_RULES: dict[type, Callable[..., Eqn]] = {CondRegion: _cond, ScanRegion: _scan, WhileRegion: _while}

loops = Pass("loops", lambda jaxpr: _loops(jaxpr, {}))
