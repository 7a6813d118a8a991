"""What follows from the value of a boolean for the numbers it was computed from.

`while j >= 0 and a[j] > x:` is a loop whose carry says whether another iteration comes. Where it is true, `j` is not
negative, and indices need no wrapping. That is read backwards off the jaxpr, by the ops' rules and by which branch of a
cond can have given such a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal
from tracejit.ir.kernel import CondRegion
from tracejit.lowering.loops.ranges import Range

Span = Range | None

#: So many conds are asked which of their branches can have given a value. There may be exponentially many ways.
_MOST = 200


class Never(Exception):
    """A value that was assumed can't be."""


def meet(x: Span, y: Span) -> Span:
    """What is in both ranges. Raises Never if nothing is."""
    if x is None or y is None:
        return x or y
    low, high = max(x[0], y[0]), min(x[1], y[1])
    if low > high:
        raise Never
    return low, high


class Facts:
    """What is known of the 0-d integers and booleans of a jaxpr under assumptions; booleans are 0 or 1. `left`: an item
    for each cond that is still to be asked, there and in the branches."""

    def __init__(self, jaxpr: Jaxpr, left: Iterator[int]) -> None:
        self._makers = {v: e for e in jaxpr.eqns for v in e.outvars}
        self._known: dict[Any, Range] = {}
        self._left = left

    def of(self, a: Any) -> Span:
        """The range of an operand; None if it is not a 0-d integer or boolean, or nothing is known."""
        if a.aval.shape or a.aval.dtype.kind not in "biu":
            return None
        if isinstance(a, Literal):
            return int(a.value), int(a.value)
        return self._known.get(a) or ((0, 1) if a.aval.dtype == np.bool_ else a.bounds)

    def assume(self, a: Any, within: Span) -> None:
        """That an operand is within a range, and what follows. Raises Never if it can't be."""
        before = self.of(a)
        if within is None or a.aval.shape or a.aval.dtype.kind not in "biu":
            return
        now = meet(before, within)
        if isinstance(a, Literal) or now is None or now == self._known.get(a):
            return
        self._known[a] = now
        if a.aval.dtype == np.bool_ and now[0] == now[1] and a in self._makers:
            self._follow(self._makers[a], a, now[0])

    def _follow(self, eqn: Eqn, a: Any, truth: int) -> None:
        """What a boolean `a` that an equation makes says of the equation's operands."""
        if isinstance(eqn.op.kernel, CondRegion):
            if next(self._left, None) is not None:
                self._branches(eqn, eqn.outvars.index(a), truth)
        elif (rule := eqn.op.implied) is not None:
            spans = rule(bool(truth), [self.of(x) for x in eqn.invars])
            for x, span in zip(eqn.invars, spans, strict=True):
                self.assume(x, span)

    def _branches(self, eqn: Eqn, out: int, truth: int) -> None:
        """What follows where one branch only can give this result."""
        possible = []
        for n, branch in enumerate(eqn.params["branches"]):
            try:
                possible.append(self._in_branch(eqn, branch, n, out, truth))
            except Never:
                continue
        if not possible:
            raise Never
        if len(possible) == 1:
            self._known = possible[0]

    def _in_branch(self, eqn: Eqn, branch: Jaxpr, n: int, out: int, truth: int) -> dict[Any, Range]:
        """What is known if a branch was taken and its result is `truth`."""
        here = object.__new__(Facts)
        here._makers, here._known, here._left = self._makers, dict(self._known), self._left
        if eqn.invars[0].aval.dtype == np.bool_:
            here.assume(eqn.invars[0], (n, n))
        inside = Facts(branch, self._left)
        for v, a in zip(branch.invars, eqn.invars[1:], strict=True):
            inside.assume(v, here.of(a))
        inside.assume(branch.outs[out], (truth, truth))
        for v, a in zip(branch.invars, eqn.invars[1:], strict=True):
            here.assume(a, inside.of(v))
        return here._known


def implied(jaxpr: Jaxpr, assumed: Sequence[tuple[Any, Span]], asked: Sequence[Any]) -> list[Span] | None:
    """The ranges of the operands `asked` of a jaxpr where those of `assumed` hold; None where they can't."""
    facts = Facts(jaxpr, iter(range(_MOST)))
    try:
        for a, span in assumed:
            facts.assume(a, span)
    except Never:
        return None
    return [facts.of(a) for a in asked]
