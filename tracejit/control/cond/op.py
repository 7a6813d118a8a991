"""The cond op: one of several branches, chosen by an index or a predicate.

Operand 0 is the index (an integer in range, or a boolean); the branches are
jaxprs over the other operands.
"""

from __future__ import annotations

from typing import Any

from tracejit.control.cond.batch import batch_select, harmless
from tracejit.control.cond.linear import linear_branches, transposed_branches
from tracejit.control.regions.axes import processing_axis, uses_axis
from tracejit.control.regions.execute import evaluate
from tracejit.control.regions.lanes import over_lanes
from tracejit.control.regions.rules import (
    flags,
    pick,
    region_avals,
    spread,
    union,
    union_effects,
    zero_tangents,
)
from tracejit.control.regions.totals import given_back, present, starts_of
from tracejit.control.scan.op import scan_op
from tracejit.errors import DynamicExtentError, InternalTypeError
from tracejit.errors.refusals import attempt
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CondRegion
from tracejit.ir.primitive import with_starts
from tracejit.ir.values import is_linear
from tracejit.ops.building import helpers
from tracejit.tracing import bind

Branches = tuple[Jaxpr, ...]


def _type(*avals: Aval, branches: Branches) -> list[Aval]:
    operands = range(1, len(avals))
    outs = region_avals(branches[0], operands, "cond")
    for b in branches[1:]:
        others = region_avals(b, operands, "cond")
        if [(a.dtype, a.ndim) for a in others] != [(a.dtype, a.ndim) for a in outs]:
            raise InternalTypeError(problem=f"branches of cond give {outs} and {others}")
    return outs


def _python(index: Any, *operands: Any, branches: Branches) -> list[Any]:
    return eval_jaxpr(branches[int(index)], operands)


def _eval(*args: Any, **params: Any) -> list[Any]:
    return evaluate(cond_op, _python, args, params)


def _jvp(primals: Any, tangents: Any, *, branches: Branches) -> tuple[list[Any], list[Any]]:
    index, *operands = primals
    nonzero = flags(tangents[1:])
    out_nz = _union_all([jvp_jaxpr(b, nonzero)[1] for b in branches])
    new = tuple(jvp_jaxpr(b, nonzero, out_nz)[0] for b in branches)
    outs = bind(cond_op, index, *operands, *pick(tangents[1:], nonzero), branches=new)
    values = outs[: len(out_nz)]
    return values, spread(outs[len(out_nz) :], out_nz, zero_tangents(values))


def _union_all(masks: list[tuple[bool, ...]]) -> tuple[bool, ...]:
    out = masks[0]
    for m in masks[1:]:
        out = union(out, m)
    return out


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    index, *operands = primals
    nonzero = flags(tangents[1:])
    plan = linear_branches(params["branches"], nonzero, tape.lasts_in(operands))
    outs = bind(cond_op, index, *operands, branches=plan.forward)
    values, slots = outs[: len(plan.out_nonzero)], outs[len(plan.out_nonzero) :]
    ts: list[Any] = []
    if any(plan.out_nonzero):
        given = [operands[n] for n in plan.operands]
        linear = (index, *given, *slots, *pick(tangents[1:], nonzero))
        ts = tape.record(cond_op, linear, {"branches": plan.linear})
    return values, spread(ts, plan.out_nonzero, zero_tangents(values))


def _transpose(cts: Any, index: Any, *args: Any, branches: Branches) -> list[Any]:
    linear = tuple(is_linear(a) for a in args)
    starts, ct_nz = starts_of(args), flags(cts)
    back, nonzero, started = transposed_branches(branches, linear, ct_nz, present(starts))
    starts = [s if m else None for s, m in zip(starts, started, strict=True)]
    known = [a for a in args if not is_linear(a)]
    operands = (index, *known, *pick(starts, started), *pick(cts, ct_nz))
    outs = bind(cond_op, *operands, branches=back) if any(nonzero) else []
    return [None, *given_back(args, nonzero, outs, starts)]


def _batch(size: Any, args: Any, dims: Any, *, branches: Branches) -> tuple[list[Any], list[Any]]:
    if dims[0] is not None:
        if uses_axis(branches, processing_axis()) or harmless(branches):
            return batch_select(size, args, dims, branches)
        return _each_lane(size, args, dims, branches)
    batched = tuple(d is not None for d in dims[1:])
    try:
        with attempt(DynamicExtentError):
            new, out_b = batched_branches(branches, size, batched)
    except DynamicExtentError:  # extents that differ between the lanes
        return _each_lane(size, args, dims, branches)
    moved = helpers.batch_axes_first(args, dims)
    return list(bind(cond_op, *moved, branches=new)), [0 if b else None for b in out_b]


def batched_branches(
    branches: Branches, size: Any, batched: tuple[bool, ...]
) -> tuple[Branches, tuple[bool, ...]]:
    """The batched branches, which agree on what outputs are batched."""
    axis = processing_axis()
    out_b = _union_all([batch_jaxpr(b, size, batched, False, axis)[1] for b in branches])
    return tuple(batch_jaxpr(b, size, batched, out_b, axis)[0] for b in branches), out_b


def _each_lane(size: Any, args: Any, dims: Any, branches: Branches) -> tuple[list[Any], list[Any]]:
    def fn(*raw: Any) -> list[Any]:
        return bind(cond_op, *raw, branches=branches)

    return over_lanes(scan_op, fn, size, args, dims, "cond")  # type: ignore[return-value]


cond_op = helpers.plain(
    name="cond",
    doc="one of several branches, chosen by an index or a predicate",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    linearize=_linearize,
    transpose=with_starts(_transpose),
    batch=_batch,
    effects=lambda params: union_effects(*params["branches"]),
    kernel=CondRegion(),
)
