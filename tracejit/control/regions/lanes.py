"""A batched region op as a scan over its lanes.

Where lanes go different ways (a batched predicate, trip count or while
condition), each lane runs alone: to its own end, only the branch it takes, so
that neither checks nor NaNs of what a lane does not do can reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.control.regions.axes import processing_axis, uses_axis
from tracejit.control.regions.rules import Typed, permute
from tracejit.errors import LonelyLaneError
from tracejit.interpreters.stage import arg_avals, bounds_of, stage
from tracejit.interpreters.vmap import apply_to_lanes
from tracejit.ir.avals import Dim, aval_of
from tracejit.ir.primitive import REGISTRY, Op
from tracejit.ops.building import helpers
from tracejit.tracing import bind


def over_lanes(
    scan: Op,
    fn: Callable[..., Sequence[Any]],
    size: Any,
    args: Sequence[Any],
    dims: Sequence[int | None],
    name: str,
) -> tuple[list[Any], list[int]]:
    """`fn(*raw) -> list of raw` for each lane of `args`; outputs are batched at axis 0.

    Raises:
        LonelyLaneError: lanes talk to each other in it.
    """
    lanes = [helpers.move_batch_axis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]
    shared = [x for x, d in zip(args, dims, strict=True) if d is None]
    inputs = [*shared, *(Typed(_lane_aval(x)) for x in lanes)]
    bounds = [getattr(v, "bounds", None) for v in inputs]

    def body(_i: Any, *raw: Any) -> list[Any]:
        one, many = iter(raw[: len(shared)]), iter(raw[len(shared) :])
        return list(fn(*(next(one) if d is None else next(many) for d in dims)))

    index = Typed(aval_of(np.int64(0)))
    lead: list[Any] = [size.var] if isinstance(size, Dim) else []
    length, bound = (None, size.bound) if isinstance(size, Dim) else (size, None)
    known = bounds_of(size.var) if isinstance(size, Dim) else (size, size)
    last = None if known is None else (0, max(known[1] - 1, 0))
    jaxpr, consts = stage(body, arg_avals([index, *inputs]), name, [last, *bounds])
    if uses_axis((jaxpr,), processing_axis()):
        raise LonelyLaneError(axis=processing_axis())
    k = len(consts)
    jaxpr = permute(jaxpr, [k, *range(k), *range(k + 1, len(jaxpr.invars))])
    params = {"length": length, "bound": bound, "carry": 0, "reverse": False}
    outs = bind(scan, *lead, *consts, *shared, *lanes, jaxpr=jaxpr, consts=k + len(shared), **params)
    return list(outs), [0] * len(outs)


def _lane_aval(x: Any) -> Any:
    aval = aval_of(x)
    return aval.with_shape(aval.shape[1:])


def _one_by_one(
    op: Op, size: Any, args: Sequence[Any], dims: Sequence[int | None], params: dict[str, Any]
) -> tuple[list[Any], list[int]]:
    """An op for each lane of its operands."""

    def lane(*raw: Any) -> list[Any]:
        found = bind(op, *raw, **params)
        return list(found) if op.multi else [found]

    return over_lanes(REGISTRY["scan"], lane, size, args, dims, op.name)


apply_to_lanes(_one_by_one)
