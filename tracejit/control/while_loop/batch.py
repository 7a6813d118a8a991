"""Batching a while loop: all lanes at once where they end together, each by itself where they don't."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.cond.batch import select_lanes, without_checks
from tracejit.control.regions.axes import processing_axis, uses_axis
from tracejit.control.regions.effects import refuse_effects
from tracejit.control.regions.lanes import over_lanes
from tracejit.control.regions.rules import Typed, build, union, zeros_in
from tracejit.control.while_loop.operands import WhileParts, bind_while, split_while
from tracejit.errors import DynamicExtentError
from tracejit.errors.refusals import attempt
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import arg_avals, stage
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.primitive import REGISTRY, Op
from tracejit.ops.building import helpers
from tracejit.tracing import bind, current_trace

_STEPS = np.int64(0)  # where counting starts


def batch_while(
    while_op: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """The batch rule of `while`."""
    cond, body = params["cond"], params["body"]
    p, d = split_while(args, params), split_while(dims, params)
    try:
        with attempt(DynamicExtentError):
            new = _batched(size, d, params)
    except DynamicExtentError:  # extents that differ between the lanes
        new = None
    if new is None:
        if uses_axis((cond, body), processing_axis()):
            return _masked(while_op, size, p, d, params)
        if len(body.outs) > len(p.carry):
            return _step_by_step(while_op, size, p, d, params)
        return over_lanes(
            REGISTRY["scan"], lambda *raw: bind(while_op, *raw, **params), size, args, dims, "while"
        )
    new_cond, new_body, carry_b, rows_b = new
    carry = [
        helpers.to_batch_axis(x, k, 0, size) if b else x
        for x, k, b in zip(p.carry, d.carry, carry_b, strict=True)
    ]
    cond_consts = helpers.batch_axes_first(p.cond_consts, d.cond_consts)
    moved = WhileParts(cond_consts, helpers.batch_axes_first(p.body_consts, d.body_consts), carry)
    out_dims = [0 if b else None for b in carry_b] + [1 if b else None for b in rows_b]
    return bind_while(while_op, moved, new_cond, new_body), out_dims


def _batched(
    size: Any, d: WhileParts, params: dict[str, Any]
) -> tuple[Jaxpr, Jaxpr, tuple[bool, ...], tuple[bool, ...]] | None:
    """(cond, body, batched carries, batched rows), or None if the condition differs between lanes; `d` has
    the batch dims of the operands."""
    axis = processing_axis()
    cond_b, body_b, carry_b = (
        tuple(x is not None for x in part) for part in (d.cond_consts, d.body_consts, d.carry)
    )
    num_carry, num_rows = len(carry_b), len(params["body"].outs) - len(carry_b)
    while True:  # until no further carry becomes batched
        force = (*carry_b, *(False,) * num_rows)
        body, out_b = batch_jaxpr(params["body"], size, (*body_b, *carry_b), force, axis)
        wider = union(carry_b, out_b[:num_carry])
        if wider == carry_b:
            break
        carry_b = wider
    cond, pred_b = batch_jaxpr(params["cond"], size, (*cond_b, *carry_b), False, axis)
    return None if pred_b[0] else (cond, body, carry_b, out_b[num_carry:])


def _longest(counts: Any, steps: Any) -> None:
    """From here on the rows of whatever scans over the lanes' `counts` are `steps` long."""
    current_trace().once("longest", counts, lambda: steps)


# ---------------------------------------------------------------- lanes that end at different times


def _step_by_step(
    while_op: Op, size: Any, p: WhileParts, d: WhileParts, params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """A loop with rows: as many steps as the longest lane has; in each, the lanes that are not done yet take one.

    The loop counts its steps, and each lane its own: the carry is (steps, which lanes go on, their carries).
    Lanes that are done have rows of zeros.
    """
    cond, n = params["cond"], len(p.cond_consts)
    carry = [helpers.to_batch_axis(x, k, 0, size) for x, k in zip(p.carry, d.carry, strict=True)]
    consts = helpers.batch_axes_first([*p.cond_consts, *p.body_consts], [*d.cond_consts, *d.body_consts])
    const_dims = [None if k is None else 0 for k in (*d.cond_consts, *d.body_consts)]
    carry_dims = [0] * len(carry)
    branches = (
        _resting(cond, params["body"], n, len(consts)),
        _stepping(cond, params["body"], n, len(consts)),
    )

    def lanes(fn: Any, args: list[Any], dims: list[Any]) -> list[Any]:
        return over_lanes(REGISTRY["scan"], fn, size, args, dims, "lanes")[0]

    def goes_on(*raw: Any) -> list[Any]:
        return eval_jaxpr(cond, raw)

    def lane(*raw: Any) -> list[Any]:
        return bind(REGISTRY["cond"], *raw, branches=branches)

    def body(*raw: Any) -> list[Any]:
        given, (steps, active, *now) = raw[: len(consts)], raw[len(consts) :]
        outs = lanes(lane, [active, *given, *now], [0, *const_dims, *carry_dims])
        return [ops.arithmetic.add(steps, np.int64(1)), *outs]

    active = lanes(goes_on, [*consts[:n], *carry], [*const_dims[:n], *carry_dims])
    init = [_STEPS, *active, *carry]
    inputs = [*consts, *(Typed(aval_of(x)) for x in init)]
    step, outer = stage(body, arg_avals(inputs), "lanes", [getattr(v, "bounds", None) for v in inputs])
    parts = WhileParts([], [*outer, *consts], init)
    steps, _, *outs = bind_while(while_op, parts, _any(init, 1), step)
    _longest(outs[0], steps)
    return outs, carry_dims + [1] * (len(outs) - len(carry))


def _any(carry: list[Any], which: int) -> Jaxpr:
    """A condition: some element of one of the carries is true."""
    inputs = [Typed(aval_of(x)) for x in carry]
    return build(lambda *raw: [ops.reduce.reduce_or(raw[which], axes=(0,))], inputs, "any")


@memoize_by_jaxpr
def _stepping(cond: Jaxpr, body: Jaxpr, cond_consts: int, consts: int) -> Jaxpr:
    """A step of a lane, over (*cond_consts, *body_consts, *carry): whether it goes on, its carry, its rows."""

    def fn(*args: Any) -> list[Any]:
        outs = eval_jaxpr(body, args[cond_consts:])
        return [*eval_jaxpr(cond, [*args[:cond_consts], *outs[: len(args) - consts]]), *outs]

    return build(fn, [*cond.invars[:cond_consts], *body.invars], body.name)


@memoize_by_jaxpr
def _resting(cond: Jaxpr, body: Jaxpr, cond_consts: int, consts: int) -> Jaxpr:
    """The same for a lane that is done: its carry stays."""

    def fn(*args: Any) -> list[Any]:
        env = dict(zip(body.invars, args[cond_consts:], strict=True))
        carry = args[consts:]
        return [np.bool_(False), *carry, *(zeros_in(a.aval, env) for a in body.outs[len(carry) :])]

    return build(fn, [*cond.invars[:cond_consts], *body.invars], body.name)


# ---------------------------------------------------------------- lanes that talk to each other


def _masked(
    while_op: Op, size: Any, p: WhileParts, d: WhileParts, params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """All lanes together until the last is done; finished lanes keep their values.

    Operands are batched throughout. The loop counts its steps before its carry, for the rows.
    """
    refuse_effects(
        "while_loop",
        (params["cond"], params["body"]),
        "there is a callback in it, but its lanes talk by collectives, so that they run on together",
    )
    cond_consts, body_consts, carry = (
        [helpers.to_batch_axis(x, k, 0, size) for x, k in zip(*rows, strict=True)]
        for rows in ((p.cond_consts, d.cond_consts), (p.body_consts, d.body_consts), (p.carry, d.carry))
    )
    counts = params["cond_consts"], params["body_consts"]
    cond, body = _masked_jaxprs(params["cond"], params["body"], size, *counts, processing_axis())
    parts = WhileParts(cond_consts, cond_consts + body_consts, [_STEPS, *carry])
    steps, *outs = bind_while(while_op, parts, cond, body)
    rows = len(outs) - len(carry)
    if rows:
        _longest(outs[0], steps)
    return outs, [0] * len(carry) + [1] * rows


@memoize_by_jaxpr
def _masked_jaxprs(
    cond: Jaxpr, body: Jaxpr, size: Any, cond_consts: int, body_consts: int, axis: Any
) -> tuple[Jaxpr, Jaxpr]:
    one_cond, _ = batch_jaxpr(without_checks(cond), size, (True,) * len(cond.invars), True, axis)
    one_body, _ = batch_jaxpr(without_checks(body), size, (True,) * len(body.invars), True, axis)
    consts = cond_consts + body_consts
    steps, carry = Typed(aval_of(_STEPS)), one_body.invars[body_consts:]

    def any_lane(*args: Any) -> list[Any]:
        going = eval_jaxpr(one_cond, [*args[:cond_consts], *args[cond_consts + 1 :]])
        return [ops.reduce.reduce_or(going[0], axes=(0,))]

    def step(*args: Any) -> list[Any]:
        steps, old = args[consts], args[consts + 1 :]
        active = eval_jaxpr(one_cond, [*args[:cond_consts], *old])[0]
        new = eval_jaxpr(one_body, [*args[cond_consts:consts], *old])
        kept = [select_lanes(active, x, y) for x, y in zip(new, old, strict=False)]
        return [ops.arithmetic.add(steps, np.int64(1)), *kept, *new[len(old) :]]

    first = one_cond.invars[:cond_consts]
    ins = [*first, *one_body.invars[:body_consts], steps, *carry]
    return build(any_lane, [*first, steps, *carry], cond.name), build(step, ins, body.name)
