"""Batching a scan: batched carries and slices; each lane by itself where trip counts differ."""

from __future__ import annotations

from typing import Any

from tracejit import ops
from tracejit.control.cond.batch import select_lanes, without_checks
from tracejit.control.regions.axes import processing_axis, uses_axis
from tracejit.control.regions.effects import refuse_effects
from tracejit.control.regions.lanes import over_lanes
from tracejit.control.regions.rules import Typed, build, permute, union, zeros_in
from tracejit.control.scan.operands import Parts, scan_params, split
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


def batch_scan(
    scan: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """The batch rule of `scan`."""
    if params["length"] is None and dims[0] is not None:
        return _each_lane(scan, size, args, dims, params)
    p, d = split(args, params), split(dims, params)
    num_carry = params["carry"]
    try:
        with attempt(DynamicExtentError):
            new, carry_b, out_b = _batched_body(size, d, params)
    except DynamicExtentError:  # extents that differ between the lanes
        return over_lanes(scan, lambda *raw: bind(scan, *raw, **params), size, args, dims, "lanes")  # type: ignore[return-value]
    moved = Parts(
        p.lead,
        [_at(x, k, 0) for x, k in zip(p.consts, d.consts, strict=True)],
        [
            helpers.to_batch_axis(x, k, 0, size) if b else x
            for x, k, b in zip(p.carry, d.carry, carry_b, strict=True)
        ],
        [_at(x, k, 1) for x, k in zip(p.xs, d.xs, strict=True)],
    )
    outs = bind(scan, *moved.all(), **scan_params(moved, new, params))
    out_dims = [0 if b else None for b in carry_b] + [1 if b else None for b in out_b[num_carry:]]
    return list(outs), out_dims


def _batched_body(
    size: Any, d: Parts, params: dict[str, Any]
) -> tuple[Jaxpr, tuple[bool, ...], tuple[bool, ...]]:
    """(batched body, batched carries, batched outputs); `d` has the batch dims of the operands."""
    jaxpr, num_carry = params["jaxpr"], params["carry"]
    consts_b, carry_b, xs_b = (tuple(x is not None for x in part) for part in (d.consts, d.carry, d.xs))
    while True:  # until no further carry becomes batched
        force = (*carry_b, *(False,) * (len(jaxpr.outs) - num_carry))
        new, out_b = batch_jaxpr(jaxpr, size, (False, *consts_b, *carry_b, *xs_b), force, processing_axis())
        wider = union(carry_b, out_b[:num_carry])
        if wider == carry_b:
            return new, carry_b, out_b
        carry_b = wider


def _at(x: Any, dim: int | None, dst: int) -> Any:
    return x if dim is None else helpers.move_batch_axis(x, dim, dst)


def _each_lane(
    scan: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """Lanes with trip counts of their own. Shorter ys are followed by zeros."""
    if uses_axis((params["jaxpr"],), processing_axis()):
        return _masked(scan, size, args, dims, params)
    if len(params["jaxpr"].outs) > params["carry"]:
        return _step_by_step(scan, size, args, dims, params)
    return over_lanes(scan, lambda *raw: bind(scan, *raw, **params), size, args, dims, "lanes")  # type: ignore[return-value]


def _step_by_step(
    scan: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """As many steps as the longest lane has; in each, the lanes that are not done yet take one.

    Rows of ys are then as long as there are lanes, not as long as a lane runs.
    """
    p, d = split(args, params), split(dims, params)
    num_carry = params["carry"]
    limits, longest = _limits(p, d)
    branches = (_resting(params["jaxpr"], params["consts"], num_carry), params["jaxpr"])
    lane_dims = [None, 0, *_fronts(d.consts), *[0] * num_carry, *_fronts(d.xs)]

    def lane(i: Any, limit: Any, *operands: Any) -> list[Any]:
        return bind(REGISTRY["cond"], ops.compare.lt(i, limit), i, *operands, branches=branches)

    def body(i: Any, *operands: Any) -> list[Any]:
        return over_lanes(scan, lane, size, [i, *operands], lane_dims, "step")[0]

    consts = [limits, *(_at(x, k, 0) for x, k in zip(p.consts, d.consts, strict=True))]
    carry = [helpers.to_batch_axis(x, k, 0, size) for x, k in zip(p.carry, d.carry, strict=True)]
    xs = [_at(x, k, 1) for x, k in zip(p.xs, d.xs, strict=True)]
    return _together(scan, body, Parts([longest], consts, carry, xs), params)


def _limits(p: Parts, d: Parts) -> tuple[Any, Any]:
    """The lanes' trip counts, and the largest one: scans over the same counts have rows of the same extent."""
    limits = helpers.move_batch_axis(p.lead[0], d.lead[0], 0)
    return limits, current_trace().once(
        "longest", p.lead[0], lambda: ops.reduce.reduce_max(limits, axes=(0,))
    )


def _together(scan: Op, body: Any, parts: Parts, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The scan whose step `body(i, *consts, *carry, *slices)` is one of all lanes."""
    slices = [Typed(aval_of(x).with_shape(aval_of(x).shape[1:])) for x in parts.xs]
    index = params["jaxpr"].invars[0]
    inputs = [Typed(index.aval, index.bounds), *parts.consts, *parts.carry, *slices]
    bounds = [getattr(v, "bounds", None) for v in inputs]
    jaxpr, outer = stage(body, arg_avals(inputs), "lanes", bounds)
    k = len(outer)
    jaxpr = permute(jaxpr, [k, *range(k), *range(k + 1, len(jaxpr.invars))])
    parts = Parts(parts.lead, [*outer, *parts.consts], parts.carry, parts.xs)
    outs = bind(scan, *parts.all(), **scan_params(parts, jaxpr, params))
    num_carry = len(parts.carry)
    return list(outs), [0] * num_carry + [1] * (len(outs) - num_carry)


def _masked(scan: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Lanes that talk to each other: all of them take all steps of the longest, and the others see what a lane
    that is done has in its carry.

    Forwards such a lane keeps its carry. The transpose of that, with the step taken from zero as the others
    may send it cotangents, is what a lane does that has not begun when the scan goes backwards: only transposed
    loops do so with trip counts that are known while they run.
    """
    refuse_effects(
        "fori_loop",
        (params["jaxpr"],),
        "there is a callback in it, but its lanes talk by collectives, so that they run on together",
    )
    p, d = split(args, params), split(dims, params)
    num_consts, num_carry = params["consts"], params["carry"]
    limits, longest = _limits(p, d)
    body = without_checks(params["jaxpr"])
    one, _ = batch_jaxpr(body, size, (False, *(True,) * (len(body.invars) - 1)), True, processing_axis())

    def step(i: Any, limit: Any, *operands: Any) -> list[Any]:
        old = operands[num_consts : num_consts + num_carry]
        active = ops.compare.lt(ops.shape.broadcast_to(i, aval_of(limit).shape), limit)
        given = [_part(active, x, params["reverse"]) for x in old]
        outs = eval_jaxpr(one, [i, *operands[:num_consts], *given, *operands[num_consts + num_carry :]])
        new = [_joined(active, x, y, params["reverse"]) for x, y in zip(outs, old, strict=False)]
        return [*new, *outs[num_carry:]]

    moved = Parts(
        [longest],
        [limits, *(helpers.to_batch_axis(x, k, 0, size) for x, k in zip(p.consts, d.consts, strict=True))],
        [helpers.to_batch_axis(x, k, 0, size) for x, k in zip(p.carry, d.carry, strict=True)],
        [helpers.to_batch_axis(x, k, 1, size) for x, k in zip(p.xs, d.xs, strict=True)],
    )
    return _together(scan, step, moved, params)


def _part(active: Any, x: Any, backwards: bool) -> Any:
    """What of a carry the step is taken from."""
    if not backwards or aval_of(x).dtype.kind not in "fcV":
        return x
    return select_lanes(active, x, _zeros(x))


def _zeros(x: Any) -> Any:
    return zeros_in(aval_of(x), {})


def _joined(active: Any, new: Any, old: Any, backwards: bool) -> Any:
    """A carry after the step."""
    if not backwards or aval_of(old).dtype.kind not in "fcV":
        return select_lanes(active, new, old)
    return ops.arithmetic.add(new, select_lanes(active, _zeros(old), old))


def _fronts(dims: list[Any]) -> list[Any]:
    return [None if k is None else 0 for k in dims]


@memoize_by_jaxpr
def _resting(jaxpr: Jaxpr, consts: int, num_carry: int) -> Jaxpr:
    """A step of a lane that is done: the carry stays, and there are zeros for the ys."""

    def fn(*args: Any) -> list[Any]:
        env = dict(zip(jaxpr.invars, args, strict=True))
        carry = args[1 + consts : 1 + consts + num_carry]
        return [*carry, *(zeros_in(a.aval, env) for a in jaxpr.outs[num_carry:])]

    return build(fn, jaxpr.invars, jaxpr.name)
