"""inline: calls are replaced by the equations of what they call."""

from __future__ import annotations

from tracejit.ir.jaxpr import Eqn, Jaxpr
from tracejit.ir.kernel import CallRegion
from tracejit.passes.rewrite import Env, Pass, alias, everywhere, splice


def _inline(jaxpr: Jaxpr) -> Jaxpr:
    if not any(isinstance(e.op.kernel, CallRegion) for e in jaxpr.eqns):
        return jaxpr
    env, eqns = Env(), list[Eqn]()
    for eqn in jaxpr.eqns:
        if isinstance(eqn.op.kernel, CallRegion):
            outs = splice(eqn.params["jaxpr"], env.atoms(eqn.invars), eqns)
            alias(env, eqn.outvars, outs)
        else:
            eqns.append(env.eqn(eqn))
    return env.jaxpr(jaxpr, eqns)


# Bodies come first, so a spliced body holds no calls any more.
inline = Pass("inline", everywhere(_inline))
