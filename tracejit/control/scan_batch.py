"""Batching a scan: batched carries and slices; each lane by itself where trip counts differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.axes import processing_axis
from tracejit.control.lanes import over_lanes
from tracejit.control.regions import union
from tracejit.control.scan_parts import Parts, scan_params, split
from tracejit.interpreters.stage import bounds_of
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Dim, aval_of
from tracejit.ir.jaxpr import Var
from tracejit.ir.primitive import Op
from tracejit.ops import helpers
from tracejit.tracing import bind


def batch_scan(scan: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The batch rule of `scan`."""
    if params["length"] is None and dims[0] is not None:
        return _each_lane(scan, size, args, dims, params)
    p, d = split(args, params), split(dims, params)
    jaxpr, num_carry = params["jaxpr"], params["carry"]
    consts_b, carry_b, xs_b = (tuple(x is not None for x in part) for part in (d.consts, d.carry, d.xs))
    while True:  # until no further carry becomes batched
        force = (*carry_b, *(False,) * (len(jaxpr.outs) - num_carry))
        new, out_b = batch_jaxpr(jaxpr, size, (False, *consts_b, *carry_b, *xs_b), force, processing_axis())
        wider = union(carry_b, out_b[:num_carry])
        if wider == carry_b:
            break
        carry_b = wider
    moved = Parts(
        p.lead,
        [_at(x, k, 0) for x, k in zip(p.consts, d.consts, strict=True)],
        [helpers.to_batch_axis(x, k, 0, size) if b else x for x, k, b in zip(p.carry, d.carry, carry_b, strict=True)],
        [_at(x, k, 1) for x, k in zip(p.xs, d.xs, strict=True)],
    )
    outs = bind(scan, *moved.all(), **scan_params(moved, new, params))
    out_dims = [0 if b else None for b in carry_b] + [1 if b else None for b in out_b[num_carry:]]
    return list(outs), out_dims


def _at(x: Any, dim: int | None, dst: int) -> Any:
    return x if dim is None else helpers.move_batch_axis(x, dim, dst)


def _each_lane(scan: Op, size: Any, args: Any, dims: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Lanes with trip counts of their own. Shorter ys are followed by zeros."""
    num_carry = params["carry"]
    longest = None
    if len(params["jaxpr"].outs) > num_carry:
        longest = _longest(ops.reduce.reduce_max(args[0], axes=(0,)), params["bound"])

    def fn(*raw: Any) -> list[Any]:
        outs = bind(scan, *raw, **params)
        return [*outs[:num_carry], *(_extend(y, longest) for y in outs[num_carry:])]

    return over_lanes(scan, fn, size, args, dims, "lanes")  # type: ignore[return-value]


def _longest(n: Any, bound: int | None) -> Any:
    """The extent of the ys of all lanes."""
    if bound is not None:
        return bound
    if isinstance(n, Var):
        return Dim(n, bound)
    known = bounds_of(n)
    return Dim(n, None) if known is None else known[1]


def _extend(y: Any, extent: Any) -> Any:
    aval = aval_of(y)
    full = ops.shape.broadcast_to(aval.dtype.type(0), (extent, *aval.shape[1:]))
    return ops.index.dynamic_update_slice(full, y, *[np.int64(0)] * aval.ndim)
