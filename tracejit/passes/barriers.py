"""barriers: what kept expressions apart is taken out, once they are.

A barrier (`kernel.Barrier`) is the operand itself, which no pass before this one sees through, so that what is computed
again behind it is not merged with what was computed before. In machine code it would be a copy where an operation needs
its operand in memory.
"""

from __future__ import annotations

from tracejit.ir.jaxpr import Eqn, Jaxpr
from tracejit.ir.kernel import Barrier
from tracejit.passes.rewrite import Env, Pass, alias, everywhere


def _barriers(jaxpr: Jaxpr) -> Jaxpr:
    if not any(isinstance(e.op.kernel, Barrier) for e in jaxpr.eqns):
        return jaxpr
    env, eqns = Env(), list[Eqn]()
    for old in jaxpr.eqns:
        eqn = env.eqn(old)
        if isinstance(eqn.op.kernel, Barrier):
            alias(env, old.outvars, eqn.invars)
        else:
            eqns.append(eqn)
    return env.jaxpr(jaxpr, eqns)


barriers = Pass("barriers", everywhere(_barriers))
