"""A loop whose number of steps only a run knows, with its states in a file: the derivative that goes with `sweeps`.

The loop goes in blocks of some steps, each of which is a loop that ends after as many or by the condition. The first
half puts the state before each block into the file, and counts the blocks. The way back reads them in reverse order,
and linearizes each block where it began; what a block keeps is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.callbacks.ops import pure_callback_op
from tracejit.control.callbacks.spilling import Site
from tracejit.control.plans.binomial import Schedule
from tracejit.control.plans.sweeps import INDEX, Sweeps, record_sweeps
from tracejit.control.regions.rules import Typed, build, flags, pick, spread, union
from tracejit.control.scan.op import bind_scan
from tracejit.control.scan.operands import Parts, split
from tracejit.control.while_loop.op import while_op
from tracejit.control.while_loop.operands import WhileParts, bind_while, split_while
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, has_side_effects
from tracejit.ir.kernel import ScanRegion, WhileRegion
from tracejit.ir.values import Zero
from tracejit.ops.building.helpers import instantiate
from tracejit.tracing import bind

_ONE, _ZERO = np.int64(1), np.int64(0)


def can_be_spilled(eqn: Eqn) -> bool:
    """Whether an equation is such a loop: a `while`, or a `scan` with a number of steps among its operands, without
    rows of operands and results, whose length the file would not make less."""
    if has_side_effects(eqn.effects) or not all(a.aval.is_static for a in (*eqn.invars, *eqn.outvars)):
        return False
    params = eqn.params
    if isinstance(eqn.op.kernel, WhileRegion):
        carry = len(eqn.invars) - params["cond_consts"] - params["body_consts"]
        return len(params["body"].outs) == carry > 0
    if not isinstance(eqn.op.kernel, ScanRegion) or params["length"] is not None:
        return False
    return not split(eqn.invars, params).xs and len(params["jaxpr"].outs) == params["carry"] > 0


def as_while(operands: Sequence[Any], eqn: Eqn) -> tuple[Jaxpr, list[Any], int]:
    """Such a loop as a program that is one `while`, its operands, and how many results come before the loop's own."""
    if isinstance(eqn.op.kernel, WhileRegion):
        parts, cond, body = split_while(operands, eqn.params), eqn.params["cond"], eqn.params["body"]
        return _alone(parts, cond, body), parts.all(), 0
    found = split(operands, eqn.params)
    (steps,), step = found.lead, eqn.params["jaxpr"]
    consts, count = len(found.consts), Typed(aval_of(steps))
    carry = [INDEX, *step.invars[1 + consts :]]

    def one(n: Any, *args: Any) -> list[Any]:
        k = args[consts]
        last = ops.arithmetic.sub(ops.arithmetic.sub(n, _ONE), k)
        at = last if eqn.params["reverse"] else k
        new = eval_jaxpr(step, [at, *args[:consts], *args[consts + 1 :]])
        return [ops.arithmetic.add(k, _ONE), *new]

    cond = build(lambda n, k, *_: [ops.compare.lt(k, n)], [count, *carry], step.name)
    body = build(one, [count, *step.invars[1 : 1 + consts], *carry], step.name)
    parts = WhileParts([steps], [steps, *found.consts], [_ZERO, *found.carry])
    return _alone(parts, cond, body), parts.all(), 1


def _alone(parts: WhileParts, cond: Jaxpr, body: Jaxpr) -> Jaxpr:
    counts = len(parts.cond_consts), len(parts.cond_consts) + len(parts.body_consts)

    def loop(*args: Any) -> list[Any]:
        taken = WhileParts(
            list(args[: counts[0]]), list(args[counts[0] : counts[1]]), list(args[counts[1] :])
        )
        return bind_while(while_op, taken, cond, body)

    types = [Typed(aval_of(x), getattr(x, "bounds", None)) for x in parts.all()]
    return build(loop, types, body.name)


def linearize(
    tape: Any, primals: Sequence[Any], tangents: Sequence[Any], jaxpr: Jaxpr, schedule: Schedule
) -> tuple[list[Any], list[Any]] | None:
    """The rule for a loop that is a program of its own; None if the program is something else by now (a batch)."""
    if not schedule.disk or _loop_of(jaxpr) is None:
        return None
    return record_sweeps(tape, primals, tangents, jaxpr, _sweeps(jaxpr, schedule.width, flags(tangents)))


def _loop_of(jaxpr: Jaxpr) -> Eqn | None:
    if len(jaxpr.eqns) != 1:
        return None
    (e,) = jaxpr.eqns
    same = tuple(e.invars) == tuple(jaxpr.invars) and tuple(e.outvars) == tuple(jaxpr.outs)
    return e if same and isinstance(e.op.kernel, WhileRegion) else None


@memoize_by_jaxpr
def _sweeps(jaxpr: Jaxpr, width: int, nonzero: tuple[bool, ...]) -> Sweeps:
    loop = _loop_of(jaxpr)
    assert loop is not None
    return _Blocks(jaxpr, loop, width, nonzero).sweeps()


class _Blocks:
    """The loop in blocks. A block takes the operands of the loop, and gives the carry after `width` steps or fewer."""

    def __init__(self, jaxpr: Jaxpr, loop: Eqn, width: int, nonzero: tuple[bool, ...]) -> None:
        self.jaxpr, self.params, self.width, self.nonzero = jaxpr, loop.params, width, nonzero
        self.cond: Jaxpr = loop.params["cond"]
        self.body: Jaxpr = loop.params["body"]
        parts = split_while(jaxpr.invars, loop.params)
        self.parts, self.first_carry = parts, len(parts.cond_consts) + len(parts.body_consts)
        self.site = Site([v.aval for v in parts.carry])
        self.block = build(self._steps, jaxpr.invars, jaxpr.name)
        given = split_while(nonzero, loop.params)
        self.consts_nz, self.carry_nz = tuple(given.body_consts), tuple(given.carry)
        self._linearize()

    def _steps(self, *args: Any) -> list[Any]:
        """What a block does."""
        p, a, b = split_while(args, self.params), len(self.parts.cond_consts), len(self.parts.body_consts)
        known, carry = self.jaxpr.invars[: self.first_carry], self.jaxpr.invars[self.first_carry :]

        def goes_on(*given: Any) -> list[Any]:
            k, (more,) = given[a], eval_jaxpr(self.cond, [*given[:a], *given[a + 1 :]])
            return [ops.compare.and_(more, ops.compare.lt(k, np.int64(self.width)))]

        def step(*given: Any) -> list[Any]:
            new = eval_jaxpr(self.body, [*given[:b], *given[b + 1 :]])
            return [ops.arithmetic.add(given[b], _ONE), *new]

        cond = build(goes_on, [*known[:a], INDEX, *carry])
        body = build(step, [*known[a:], INDEX, *carry])
        parts = WhileParts(p.cond_consts, p.body_consts, [_ZERO, *p.carry])
        return bind_while(while_op, parts, cond, body)[1:]

    def _linearize(self) -> None:
        """The block's two halves, the second one transposed, where a carry has a tangent if any step gives it one."""
        unread = (False,) * len(self.parts.cond_consts)
        while True:
            given = (*unread, *self.consts_nz, *self.carry_nz)
            forward, linear, out_nz, _ = linearize_jaxpr(self.block, given, self.carry_nz)
            wider = union(self.carry_nz, out_nz)
            if wider == self.carry_nz:
                break
            self.carry_nz = wider
        kept = len(forward.outs) - len(self.block.outs)
        linears = (*(False for _ in range(kept)), *(True for _ in linear.invars[kept:]))
        self.back, self.back_nz = transpose_jaxpr(linear, linears, (True,) * len(linear.outs))
        self.first = Jaxpr(forward.invars, forward.eqns, forward.outs[len(self.block.outs) :], forward.name)

    def sweeps(self) -> Sweeps:
        given, kept = list(self.jaxpr.invars), [INDEX, INDEX]  # the number of the file, and of blocks
        cts = [Typed(v.aval.tangent()) for v in pick(self.jaxpr.outs, self.carry_nz)]
        ts = [Typed(v.aval.tangent()) for v in pick(given, self.nonzero)]
        name = self.jaxpr.name
        forward = build(self._forward, given, name)
        tangent = build(self._tangent, [*given, *kept, *ts], name)
        return Sweeps(forward, tangent, build(self._backward, [*given, *kept, *cts], name), self.carry_nz)

    def _forward(self, *args: Any) -> list[Any]:
        p, a, c = split_while(args, self.params), len(self.parts.cond_consts), self.first_carry
        fixed = list(args[:c])

        def goes_on(*given: Any) -> list[Any]:
            return eval_jaxpr(self.cond, [*given[:a], *given[a + 2 :]])

        def stored(*given: Any) -> list[Any]:
            row, number, *carry = given[c:]
            number = self._called(self.site.store, number, row, *carry)[0]
            return [ops.arithmetic.add(row, _ONE), number, *eval_jaxpr(self.block, [*given[:c], *carry])]

        known, carry = self.jaxpr.invars[:c], [INDEX, INDEX, *self.jaxpr.invars[c:]]
        cond, body = build(goes_on, [*known[:a], *carry]), build(stored, [*known, *carry])
        parts = WhileParts(p.cond_consts, fixed, [_ZERO, _ZERO, *p.carry])
        rows, number, *outs = bind_while(while_op, parts, cond, body)
        return [*outs, number, rows]

    def _called(self, host: Any, *operands: Any) -> list[Any]:
        params = {"callback": host, "results": host.results, "vmap_method": "broadcast_all"}
        return list(bind(pure_callback_op, *operands, **params))

    def _tangent(self, *args: Any) -> list[Any]:
        n = len(self.jaxpr.invars)
        both, _ = jvp_jaxpr(self.jaxpr, self.nonzero, self.carry_nz)
        return eval_jaxpr(both, [*args[:n], *args[n + 2 :]])[len(self.jaxpr.outs) :]

    def _backward(self, *args: Any) -> list[Any]:
        n, c = len(self.jaxpr.invars), self.first_carry
        fixed, (number, rows), cts = list(args[:c]), args[n : n + 2], list(args[n + 2 :])
        count = len(cts)
        consts = pick(self.parts.body_consts, self.consts_nz)
        sums = [instantiate(Zero(v.aval.tangent())) for v in consts]
        types = [v.aval for v in (*consts, *pick(self.parts.carry, self.carry_nz))]

        def body(row: Any, number: Any, *given: Any) -> list[Any]:
            fixed, cts, sums = given[:c], given[c : c + count], given[c + count :]
            carry = self._called(self.site.load, number, row)
            values = eval_jaxpr(self.first, [*fixed, *carry])
            found = iter(eval_jaxpr(self.back, [*values, *cts]))
            new = [
                next(found) if nz else instantiate(Zero(t)) for t, nz in zip(types, self.back_nz, strict=True)
            ]
            added = [ops.arithmetic.add(x, y) for x, y in zip(sums, new[: len(sums)], strict=True)]
            return [*new[len(sums) :], *added]

        state = [Typed(aval_of(x)) for x in (*cts, *sums)]
        built = build(body, [INDEX, INDEX, *self.jaxpr.invars[:c], *state], self.jaxpr.name)
        params = {"length": None, "reverse": True, "bound": None}
        outs = bind_scan(Parts([rows], [number, *fixed], [*cts, *sums], []), built, params)
        carries = spread(outs[: len(cts)], self.carry_nz, [None] * len(self.parts.carry))
        asked = split_while(self.nonzero, self.params)
        unread = [
            instantiate(Zero(v.aval.tangent()))
            for v in pick(self.parts.cond_consts, tuple(asked.cond_consts))
        ]
        return [*unread, *outs[len(cts) :], *pick(carries, tuple(asked.carry))]
