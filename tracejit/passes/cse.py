"""cse: what was computed before is not computed again, nor looked at by a check that has passed."""

from __future__ import annotations

from typing import Any

from tracejit.ir.jaxpr import Eqn, Jaxpr
from tracejit.passes.rewrite import Env, Pass, alias, everywhere

_CHECKED = frozenset({"error"})


def _cse(jaxpr: Jaxpr) -> Jaxpr:
    env, eqns = Env(), list[Eqn]()
    seen: dict[Any, Eqn] = {}
    for old in jaxpr.eqns:
        eqn = env.eqn(old)
        if not eqn.effects <= _CHECKED:
            eqns.append(eqn)
            continue
        first = seen.setdefault(eqn.key(), eqn)
        if first is eqn:
            eqns.append(eqn)
        else:
            alias(env, old.outvars, first.outvars)
    return env.jaxpr(jaxpr, eqns)


cse = Pass("cse", everywhere(_cse))
