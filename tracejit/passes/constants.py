"""Arrays inside of a jaxpr (`ops.constant`) as its operands, those in its regions too."""

from __future__ import annotations

from typing import Any

from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Eqn, Jaxpr, Var, contains
from tracejit.ir.kernel import CallRegion, CondRegion, Constant, ScanRegion, WhileRegion
from tracejit.passes.rewrite import Env, with_params


def lift(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """(jaxpr, arrays): `jaxpr` over (*arrays, *its inputs). Those in regions that may not have
    more operands stay where they are."""
    if not _has_constants(jaxpr):
        return jaxpr, []
    lifter = _Lifter()
    new = lifter.jaxpr(jaxpr)
    invars = (*lifter.vars.values(), *new.invars)
    return Jaxpr(invars, new.eqns, new.outs, new.name), [held.array for held in lifter.vars]


def _has_constants(jaxpr: Jaxpr) -> bool:
    return any(contains(e, (Constant,)) for e in jaxpr.eqns)


class _Lifter:
    """Replaces the constants of one jaxpr by variables: `vars` has one for each array."""

    def __init__(self) -> None:
        self.vars: dict[Any, Var] = {}

    def var(self, held: Any, aval: Aval) -> Var:
        if held not in self.vars:
            self.vars[held] = Var(None, aval)
        return self.vars[held]

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        """`jaxpr` with free variables, those in `vars`, for its constants."""
        env, eqns = Env(), list[Eqn]()
        for old in jaxpr.eqns:
            if isinstance(old.op.kernel, Constant):
                env.map[old.outvars[0]] = self.var(old.params["value"], old.outvars[0].aval)
            else:
                eqns.append(self.region(env.eqn(old)))
        return env.jaxpr(jaxpr, eqns)

    def region(self, eqn: Eqn) -> Eqn:
        """`eqn` with operands more for the constants of its bodies."""
        kernel, p = eqn.op.kernel, eqn.params
        if isinstance(kernel, CallRegion) and kernel.leading is not None:
            return self.extend(eqn, "jaxpr", 0, 0, kernel.leading)
        if isinstance(kernel, ScanRegion):
            return self.extend(eqn, "jaxpr", int(p["length"] is None), 1, ("consts",))
        if isinstance(kernel, CondRegion):
            return self.extend(eqn, "branches", 1, 0, ())
        if isinstance(kernel, WhileRegion):
            eqn = self.extend(eqn, "cond", 0, 0, ("cond_consts",))
            return self.extend(eqn, "body", eqn.params["cond_consts"], 0, ("body_consts",))
        return eqn

    def extend(self, eqn: Eqn, name: str, at: int, inner: int, counts: tuple[str, ...]) -> Eqn:
        """`eqn` with the constants of its param `name`, a jaxpr or some, as operands from `at`. They are
        the bodies' inputs from `inner`; the params `counts` count them."""
        given = eqn.params[name]
        bodies = given if type(given) is tuple else (given,)
        if not any(b is not None and _has_constants(b) for b in bodies):
            return eqn
        lifters = [_Lifter() for _ in bodies]
        opened = [lifter.jaxpr(b) for lifter, b in zip(lifters, bodies, strict=True)]
        avals = {held: v.aval for lifter in lifters for held, v in lifter.vars.items()}
        new = []
        for lifter, b in zip(lifters, opened, strict=True):
            added = tuple([lifter.var(held, aval) for held, aval in avals.items()])
            new.append(Jaxpr((*b.invars[:inner], *added, *b.invars[inner:]), b.eqns, b.outs, b.name))
        params = {**eqn.params, name: tuple(new) if type(given) is tuple else new[0]}
        params.update((c, eqn.params[c] + len(avals)) for c in counts)
        operands = tuple([self.var(held, aval) for held, aval in avals.items()])
        return with_params(eqn, params).replace(invars=(*eqn.invars[:at], *operands, *eqn.invars[at:]))
