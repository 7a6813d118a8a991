"""cse: a pure equation that was computed before is not computed again."""

from __future__ import annotations

from typing import Any

from tracejit.ir.jaxpr import Eqn, Jaxpr
from tracejit.passes.rewrite import Env, Pass, alias, everywhere


def _cse(jaxpr: Jaxpr) -> Jaxpr:
    env, eqns = Env(), list[Eqn]()
    seen: dict[Any, Eqn] = {}
    for old in jaxpr.eqns:
        eqn = env.eqn(old)
        if eqn.effects:
            eqns.append(eqn)
            continue
        first = seen.setdefault(eqn.key(), eqn)
        if first is eqn:
            eqns.append(eqn)
        else:
            alias(env, old.outvars, first.outvars)
    return env.jaxpr(jaxpr, eqns)


cse = Pass("cse", everywhere(_cse))
