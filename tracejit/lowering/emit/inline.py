"""Calls replaced by the equations of what they call, with variables of their own."""

from __future__ import annotations

from typing import Any

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tracejit.ir.kernel import CallRegion


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without calls on its top level (regions inline theirs when they are lowered)."""
    if not any(isinstance(e.op.kernel, CallRegion) for e in jaxpr.eqns):
        return jaxpr
    eqns: list[Eqn] = []
    env: dict[Var, Atom] = {}
    for eqn in jaxpr.eqns:
        _append(eqn, env, eqns, False)
    return Jaxpr(jaxpr.invars, tuple(eqns), tuple(_get(env, a) for a in jaxpr.outs), jaxpr.name)


def _append(eqn: Eqn, env: dict[Var, Atom], eqns: list[Eqn], rename: bool) -> None:
    invars = tuple(_get(env, a) for a in eqn.invars)
    if isinstance(eqn.op.kernel, CallRegion):
        callee: Jaxpr = eqn.params["jaxpr"]
        inner: dict[Var, Atom] = dict(zip(callee.invars, invars, strict=True))
        for e in callee.eqns:
            _append(e, inner, eqns, True)
        env.update((v, _get(inner, a)) for v, a in zip(eqn.outvars, callee.outs, strict=True))
        return
    outvars = eqn.outvars
    if rename or any(not v.aval.is_static for v in outvars):
        outvars = tuple(_fresh(env, v) for v in eqn.outvars)
        env.update(zip(eqn.outvars, outvars, strict=True))
    eqns.append(eqn.replace(invars=invars, outvars=outvars))


def _get(env: dict[Var, Atom], a: Any) -> Atom:
    return env.get(a, a) if type(a) is Var else a


def _fresh(env: dict[Var, Atom], v: Var) -> Var:
    shape = tuple(_dim(env, d) for d in v.aval.shape)
    return Var(v.trace, Aval(shape, v.aval.dtype), v.bounds)


def _dim(env: dict[Var, Atom], d: Any) -> Any:
    if not isinstance(d, Dim):
        return d
    var = _get(env, d.var)
    return int(var.value) if isinstance(var, Literal) else Dim(var, d.bound)
