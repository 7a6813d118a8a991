"""late: what does not depend on cotangents is computed when it is needed, not before.

A transposed program begins with the residuals that it computes again, all of them. Computed one by one, when the way
back comes to them, they need not be in memory at the same time.
"""

from __future__ import annotations

from typing import Any

from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal


@memoize_by_jaxpr
def late(jaxpr: Jaxpr, known: int) -> Jaxpr:
    """`jaxpr` with the equations that depend on its first `known` inputs alone before those that need them."""
    eqns = _Order(jaxpr, known).eqns
    return jaxpr if eqns == list(jaxpr.eqns) else Jaxpr(jaxpr.invars, tuple(eqns), jaxpr.outs, jaxpr.name)


class _Order:
    def __init__(self, jaxpr: Jaxpr, known: int) -> None:
        self.eqns: list[Eqn] = []
        self.done: set[Eqn] = set()
        self.makers: dict[Any, Eqn] = {v: e for e in jaxpr.eqns for v in e.outvars}
        for e in anchored(jaxpr, known):
            self.emit(e)
        for a in jaxpr.outs:
            if a in self.makers:
                self.emit(self.makers[a])

    def emit(self, eqn: Eqn) -> None:
        """Put an equation at the end, behind those that make its operands."""
        stack = [eqn]
        while stack:
            e = stack[-1]
            missing = [m for m in self.makers_of(e) if m not in self.done]
            if e in self.done:
                stack.pop()
            elif missing:
                stack += reversed(missing)
            else:
                self.done.add(stack.pop())
                self.eqns.append(e)

    def makers_of(self, eqn: Eqn) -> list[Eqn]:
        """The equations that make what an equation reads, extents included."""
        atoms = [
            *eqn.invars,
            *(d.var for v in (*eqn.invars, *eqn.outvars) for d in v.aval.shape if isinstance(d, Dim)),
        ]
        own = set(eqn.outvars)
        return [self.makers[a] for a in atoms if type(a) is not Literal and a in self.makers and a not in own]


def anchored(jaxpr: Jaxpr, known: int) -> list[Eqn]:
    """The equations that stay in their order: those that depend on other inputs than the first `known`, and those
    with effects."""
    depends = set(jaxpr.invars[known:])
    found = []
    for e in jaxpr.eqns:
        if e.effects or any(type(a) is not Literal and a in depends for a in e.invars):
            found.append(e)
            depends.update(e.outvars)
    return found
