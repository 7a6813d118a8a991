"""cse: a pure equation that was computed before is not computed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal
from tracejit.passes.rewrite import Env, Pass, alias, everywhere


def _cse(jaxpr: Jaxpr) -> Jaxpr:
    env, eqns = Env(), list[Eqn]()
    seen: dict[Any, Eqn] = {}
    for old in jaxpr.eqns:
        eqn = env.eqn(old)
        if eqn.effects:
            eqns.append(eqn)
            continue
        first = seen.setdefault(key(eqn), eqn)
        if first is eqn:
            eqns.append(eqn)
        else:
            alias(env, old.outvars, first.outvars)
    return env.jaxpr(jaxpr, eqns)


def key(eqn: Eqn) -> Any:
    """Equal for equations that compute the same. Their types then agree too."""
    params = eqn.params
    frozen = tuple((k, freeze(params[k])) for k in sorted(params)) if params else ()
    return eqn.op, tuple(map(_atom_key, eqn.invars)), frozen


def _atom_key(a: Atom) -> Any:
    # Bits, since 0.0 and -0.0 are equal and NaN is not equal to itself.
    return (a.aval.dtype, a.value.tobytes()) if type(a) is Literal else a


def freeze(value: Any) -> Any:
    """`value` as a hashable that keeps 1, 1.0, True and -0.0 apart; identity if it has no hash."""
    kind = type(value)
    if kind is tuple:
        return tuple(map(freeze, value))
    if kind is float or kind is complex:
        return kind, repr(value)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return "id", id(value)  # alive as long as the jaxpr is
    return kind, value


cse = Pass("cse", everywhere(_cse))
