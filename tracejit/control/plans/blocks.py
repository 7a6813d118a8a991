"""Loops of a program as loops of loops, whose blocks are computed again in reverse: one state a block is kept.

The recursive form of Griewank and Walther's checkpointing (2000), with blocks of equal size, on recorded programs;
`structured/blocks.py` has it for what users call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.plans.weights import room
from tracejit.control.regions.rules import Typed, build
from tracejit.control.scan.op import bind_scan
from tracejit.control.scan.operands import Parts, split
from tracejit.interpreters.core import eval_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, has_side_effects
from tracejit.ir.kernel import ScanRegion
from tracejit.tracing import bind

#: The jaxpr of a block on raw values, so that its derivative computes it again.
Again = Callable[[Jaxpr, Sequence[Any]], list[Any]]

_SHORTEST = 4  # steps below which a loop is not cut
_ONE_BY_ONE = 4  # loops that are cut one after another, before all others are


def loops_of(jaxpr: Jaxpr) -> list[int]:
    """The numbers of the equations that are loops that can be cut into blocks, those first that hand on most."""
    found = [n for n, e in enumerate(jaxpr.eqns) if _can_be_cut(e)]
    return sorted(found, key=lambda n: -_handed_on(jaxpr.eqns[n]))


def _can_be_cut(eqn: Eqn) -> bool:
    if not isinstance(eqn.op.kernel, ScanRegion) or has_side_effects(eqn.effects):
        return False
    static = all(a.aval.is_static for a in (*eqn.invars, *eqn.outvars))
    return static and (eqn.params["length"] or 0) >= _SHORTEST


def _handed_on(eqn: Eqn) -> int:
    """A measure of what reverse mode keeps of a loop: the results of all equations of its steps."""
    inside = sum(room(v.aval) for e in eqn.params["jaxpr"].eqns for v in e.outvars)
    return inside * eqn.params["length"]


def states_of(length: int, levels: int) -> int:
    """The steps of each loop where a loop of so many steps becomes loops in loops, so many levels deep."""
    return max(2, math.ceil(length ** (1 / levels) - 1e-9))


def levels_of(length: int) -> int:
    """The most levels that make sense: blocks of two steps."""
    return max(1, math.ceil(math.log2(length)))


def depths(jaxpr: Jaxpr) -> Iterator[dict[int, int]]:
    """Ways to cut the loops of a program, from none to all as deep as makes sense, each costing more than the last:
    number of the equation -> levels. The loops that hand on most are cut first."""
    loops = loops_of(jaxpr)
    levels = dict.fromkeys(loops, 1)
    yield dict(levels)
    most = max((levels_of(jaxpr.eqns[n].params["length"]) for n in loops), default=1)
    for depth in range(2, most + 1):
        changed = [n for n in loops if depth <= levels_of(jaxpr.eqns[n].params["length"])]
        for n in changed[:_ONE_BY_ONE]:
            levels[n] = depth
            yield dict(levels)
        if changed[_ONE_BY_ONE:]:
            levels.update(dict.fromkeys(changed, depth))
            yield dict(levels)


def blocked(jaxpr: Jaxpr, levels: Mapping[int, int], again: Again) -> Jaxpr:
    """`jaxpr` with the loops that are equations number n as loops in loops, levels[n] deep. Results are the same."""
    if not any(depth > 1 for depth in levels.values()):
        return jaxpr

    def fn(*args: Any) -> list[Any]:
        env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
        for n, e in enumerate(jaxpr.eqns):
            operands = [a.value if type(a) is Literal else env[a] for a in e.invars]
            if levels.get(n, 1) > 1:
                outs: Any = _in_blocks(operands, e.params, states_of(e.params["length"], levels[n]), again)
            else:
                outs = bind(e.op, *operands, **e.params)
            env.update(zip(e.outvars, outs if e.op.multi else [outs], strict=True))
        return [a.value if type(a) is Literal else env[a] for a in jaxpr.outs]

    return build(fn, jaxpr.invars, jaxpr.name)


def _in_blocks(operands: list[Any], params: dict[str, Any], states: int, again: Again) -> list[Any]:
    """The results of a scan."""
    parts, body = split(operands, params), params["jaxpr"]
    steps = _Steps(body, len(parts.consts), len(parts.carry), params["reverse"], states, again)
    carry, ys = steps.run(np.int64(0), parts.consts, parts.carry, parts.xs, params["length"])
    return [*carry, *ys]


class _Steps:
    """A loop with body (i, *consts, *carry, *rows) -> (*carry, *ys). `first` is the number of its first row."""

    def __init__(
        self, body: Jaxpr, consts: int, carry: int, reverse: bool, states: int, again: Again
    ) -> None:
        self.body = body
        self.consts, self.carry = consts, carry
        self.reverse, self.states, self.again = reverse, states, again

    def run(
        self, first: Any, consts: list[Any], carry: list[Any], xs: list[Any], length: int
    ) -> tuple[list[Any], list[Any]]:
        """(carry, ys) after `length` rows of xs."""
        if length <= self.states:
            step = self._built(
                lambda i, first, *rest: eval_jaxpr(self.body, [ops.arithmetic.add(i, first), *rest])
            )
            return self._scan(step, first, consts, carry, [_cut(x, 0, length) for x in xs], length)
        size = self.states
        while size * self.states < length:
            size *= self.states
        count, rest = divmod(length, size)

        def whole(carry: list[Any]) -> tuple[list[Any], list[Any]]:
            rows = [_split(x, count, size) for x in xs]
            carry, ys = self._scan(self._block(rows, size), first, consts, carry, rows, count)
            return carry, [_joined(y) for y in ys]

        def others(carry: list[Any]) -> tuple[list[Any], list[Any]]:
            start = ops.arithmetic.add(first, np.int64(count * size))
            return self.run(start, consts, carry, [_cut(x, count * size, length) for x in xs], rest)

        if not rest:
            return whole(carry)
        if self.reverse:
            carry, last = others(carry)
            carry, begin = whole(carry)
        else:
            carry, begin = whole(carry)
            carry, last = others(carry)
        return carry, [ops.concat.concatenate(a, b, dimension=0) for a, b in zip(begin, last, strict=True)]

    def _block(self, rows: list[Any], size: int) -> Jaxpr:
        """The body of a loop over blocks of `size` rows."""
        variables = self.body.invars[1 : 1 + self.consts + self.carry]
        types = [Typed(aval_of(x).with_shape(aval_of(x).shape[1:])) for x in rows]

        def inside(first: Any, *rest: Any) -> list[Any]:
            consts, carry = list(rest[: self.consts]), list(rest[self.consts : self.consts + self.carry])
            carry, ys = self.run(first, consts, carry, list(rest[self.consts + self.carry :]), size)
            return [*carry, *ys]

        index = self.body.invars[0]
        block = build(inside, [Typed(index.aval, index.bounds), *variables, *types], self.body.name)

        def body(i: Any, first: Any, *rest: Any) -> list[Any]:
            start = ops.arithmetic.add(first, ops.arithmetic.mul(i, np.int64(size)))
            return self.again(block, [start, *rest])

        return self._built(body, types)

    def _built(self, fn: Callable[..., Any], rows: Sequence[Any] | None = None) -> Jaxpr:
        """A body over (i, first, *consts, *carry, *rows)."""
        index, *others = self.body.invars
        variables = others[: self.consts + self.carry]
        types = others[self.consts + self.carry :] if rows is None else rows
        number = Typed(index.aval, index.bounds)
        return build(fn, [number, Typed(index.aval, index.bounds), *variables, *types], self.body.name)

    def _scan(
        self, body: Jaxpr, first: Any, consts: list[Any], carry: list[Any], xs: list[Any], length: int
    ) -> tuple[list[Any], list[Any]]:
        parts = Parts([], [first, *consts], carry, xs)
        outs = bind_scan(parts, body, {"length": length, "reverse": self.reverse, "bound": None})
        return outs[: self.carry], outs[self.carry :]


def _cut(x: Any, start: int, stop: int) -> Any:
    shape = aval_of(x).shape
    if start == 0 and stop == shape[0]:
        return x
    begin, end = (start, *(0,) * (len(shape) - 1)), (stop, *shape[1:])
    return ops.slices.slice(x, start_indices=begin, limit_indices=end)


def _split(x: Any, count: int, size: int) -> Any:
    rows = _cut(x, 0, count * size)
    return ops.shape.reshape(rows, shape=(count, size, *aval_of(x).shape[1:]))


def _joined(y: Any) -> Any:
    shape = aval_of(y).shape
    return ops.shape.reshape(y, shape=(shape[0] * shape[1], *shape[2:]))
