"""Effects in regions that run more often than the program says: they are kept in one run only."""

from __future__ import annotations

from typing import Any

from tracejit.control.regions.rules import mark, union_effects
from tracejit.errors import RepeatedEffectError
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.jaxpr import Eqn, Jaxpr, effects_of, has_side_effects, sub_jaxprs


def refuse_effects(op: str, jaxprs: tuple[Jaxpr, ...], problem: str) -> None:
    """Raises RepeatedEffectError if one of `jaxprs` has side effects."""
    if has_side_effects(union_effects(*jaxprs)):
        raise RepeatedEffectError(op=op, problem=problem)


@memoize_by_jaxpr
def without_effects(jaxpr: Jaxpr, op: str) -> Jaxpr:
    """`jaxpr` without callbacks and printing, for a second run of what has run with them.

    Raises:
        RepeatedEffectError: something is computed from what a callback gives.
    """
    if not has_side_effects(jaxpr.effects):
        return jaxpr
    live: set[Any] = set()
    mark(jaxpr.outs, live)
    kept: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        if has_side_effects(eqn.effects):
            if live.isdisjoint(eqn.outvars):
                continue
            eqn = stripped(eqn, op)
        kept.append(eqn)
        mark((*eqn.invars, *eqn.outvars), live)
    return Jaxpr(jaxpr.invars, tuple(reversed(kept)), jaxpr.outs, jaxpr.name)


def stripped(eqn: Eqn, op: str) -> Eqn:
    """A region without callbacks and printing. Raises RepeatedEffectError as `without_effects`."""
    if not any(True for _ in sub_jaxprs(eqn.params)):
        problem = f"in reverse mode its body runs again, but not the {eqn.op} whose result it uses"
        raise RepeatedEffectError(op=op, problem=problem, where=eqn.source.full() if eqn.source else None)
    params = {name: _param(p, op) for name, p in eqn.params.items()}
    return eqn.replace(params=params, effects=effects_of(eqn.op, params))


def _param(p: Any, op: str) -> Any:
    if isinstance(p, Jaxpr):
        return without_effects(p, op)
    return tuple(_param(q, op) for q in p) if type(p) is tuple else p
