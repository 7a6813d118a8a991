"""The scan op: a loop with a known trip count, a carry, sliced inputs and stacked outputs.

Operands: [length if params['length'] is None] + consts + carry + xs; outputs:
carry + ys. The body takes (i, *consts, *carry, *slices) where i is the position
of the slices. `xs` may be longer than the trip count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.control.regions.execute import evaluate
from tracejit.control.regions.rules import flags as nonzero_flags
from tracejit.control.regions.rules import (
    instantiated,
    outer_aval,
    pick,
    rename_dims,
    spread,
    union,
    union_effects,
    zero_tangents,
)
from tracejit.control.scan import batch
from tracejit.control.scan import linear as scan_linear
from tracejit.control.scan.operands import Parts, deal, interleave, scan_params, split
from tracejit.control.scan.transpose import transpose_scan
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import ArgRef
from tracejit.ir.avals import Aval, Dim, aval_of, capacity
from tracejit.ir.check import OperandRef
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import ScanRegion
from tracejit.ir.primitive import with_starts
from tracejit.ops.building.helpers import plain
from tracejit.tracing import bind

_TRIPS = Dim(ArgRef(0), None)  # the extent of xs that are as long as the loop runs


def bind_scan(parts: Parts, jaxpr: Jaxpr, params: dict[str, Any]) -> list[Any]:
    """Bind a scan over `parts` with the trip count (and direction) of `params`."""
    return bind(scan_op, *parts.all(), **scan_params(parts, jaxpr, params))


def _type(*avals: Aval, **params: Any) -> list[Aval]:
    jaxpr, length = params["jaxpr"], params["length"]
    carry = params["carry"]
    first = 0 if length is not None else 1
    invariant = jaxpr.invars[1 : 1 + params["consts"] + carry]
    position = {v: OperandRef(first + n) for n, v in enumerate(invariant)}
    outs = [outer_aval(a.aval, position, "scan") for a in jaxpr.outs]
    n = length if length is not None else Dim(OperandRef(0), params["bound"])
    return outs[:carry] + [a.with_shape((n, *a.shape)) for a in outs[carry:]]


def _python(*args: Any, **params: Any) -> list[Any]:
    """The loop in Python, an oracle for the native one."""
    parts = split(args, params)
    jaxpr, carry = params["jaxpr"], list(parts.carry)
    length = int(parts.lead[0]) if parts.lead else params["length"]
    kept: list[Any] = []
    for k in range(length):
        i = length - 1 - k if params["reverse"] else k
        outs = eval_jaxpr(jaxpr, [np.int64(i), *parts.consts, *carry, *(x[i] for x in parts.xs)])
        carry = outs[: len(carry)]
        kept.append(outs[len(carry) :])
    if params["reverse"]:
        kept.reverse()
    sizes = dict(zip(jaxpr.invars[1:], parts.consts, strict=False))
    avals = [rename_dims(a.aval, sizes) for a in jaxpr.outs[len(carry) :]]
    return carry + [stack_rows(n, aval, kept) for n, aval in enumerate(avals)]


def stack_rows(n: int, aval: Aval, rows: list[Any]) -> Any:
    """Output `n` of all steps as one array."""
    out = np.zeros((len(rows), *capacity(aval.shape)), aval.dtype)
    for k, row in enumerate(rows):
        out[k] = row[n]
    return out


def _eval(*args: Any, **params: Any) -> list[Any]:
    if params["length"] == 0 or (params["length"] is None and int(args[0]) <= 0):
        return _python(*args, **params)
    if params["length"] is not None:
        return evaluate(scan_op, _python, args, params)
    # One program serves every trip count.
    rows = 1 + params["consts"] + params["carry"]
    avals = [aval_of(x) for x in args]
    avals[rows:] = [a.with_shape((_TRIPS, *a.shape[1:])) for a in avals[rows:]]
    return evaluate(scan_op, _python, args, {**params, "bound": None}, tuple(avals))


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    p, t = split(primals, params), split(tangents, params)
    jaxpr, num_carry = params["jaxpr"], params["carry"]
    consts_nz, carry_nz, xs_nz = (nonzero_flags(x) for x in (t.consts, t.carry, t.xs))
    if not any((*consts_nz, *carry_nz, *xs_nz)):
        outs = bind(scan_op, *primals, **params)
        return outs, zero_tangents(outs)
    while True:  # until no further carry gets a tangent
        flags = (False, *consts_nz, *carry_nz, *xs_nz)
        new, out_nz = jvp_jaxpr(jaxpr, flags, (*carry_nz, *(False,) * (len(jaxpr.outs) - num_carry)))
        wider = union(carry_nz, out_nz[:num_carry])
        if wider == carry_nz:
            break
        carry_nz = wider
    body = interleave(new, (1, len(p.consts), num_carry, len(p.xs)), flags, out_nz)
    carry_t = [instantiated(x, c) for x, c in zip(t.carry, p.carry, strict=True)]
    both = Parts(
        p.lead,
        p.consts + pick(t.consts, consts_nz),
        p.carry + pick(carry_t, carry_nz),
        p.xs + pick(t.xs, xs_nz),
    )
    outs = bind_scan(both, body, params)
    return deal(outs, num_carry, carry_nz, out_nz[num_carry:])


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    p, t = split(primals, params), split(tangents, params)
    jaxpr, num_carry = params["jaxpr"], params["carry"]
    nonzero = nonzero_flags((*t.consts, *t.carry, *t.xs))
    inside = tape.lasting is not None
    plan = scan_linear.linear_plan(jaxpr, tape.lasts(p.consts), num_carry, nonzero, params["reverse"], inside)
    outs = bind_scan(p, plan.forward, params)
    values, stacked = outs[: len(jaxpr.outs)], outs[len(jaxpr.outs) :]
    if not any((*plan.carry_nonzero, *plan.ys_nonzero)):
        return values, zero_tangents(values)
    out_ts = record_linear(tape, plan, p, t, stacked, params, values[:num_carry])
    return values, spread(out_ts, (*plan.carry_nonzero, *plan.ys_nonzero), zero_tangents(values))


def record_linear(
    tape: Any,
    plan: scan_linear.Plan,
    p: Parts,
    t: Parts,
    stacked: list[Any],
    params: dict[str, Any],
    finals: Sequence[Any] = (),
) -> list[Any]:
    """Record the linear scan of `plan` for the operands `p`, their tangents `t`, the stacked residuals and the
    carries after the loop."""
    hoisted = eval_jaxpr(plan.hoist, p.consts)
    known = {scan_linear.CONST: p.consts, scan_linear.HOIST: hoisted, scan_linear.FINAL: finals}
    residual_consts = [known[kind][n] for kind, n in plan.const_sources]
    carry_t = [instantiated(x, c) for x, c in zip(t.carry, p.carry, strict=True)]
    linear = Parts(
        p.lead,
        residual_consts + pick(t.consts, nonzero_flags(t.consts)),
        pick(carry_t, plan.carry_nonzero),
        [*(p.xs[n] for n in plan.x_sources), *stacked, *pick(t.xs, nonzero_flags(t.xs))],
    )
    return tape.record(scan_op, tuple(linear.all()), scan_params(linear, plan.linear, params))


def _transpose(cts: Any, *args: Any, **params: Any) -> list[Any]:
    return transpose_scan(bind_scan, split(args, params), list(cts), params)


def _batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    return batch.batch_scan(scan_op, size, args, dims, params)


scan_op = plain(
    name="scan",
    doc="a loop with a known trip count: carry, constants, sliced inputs, stacked outputs",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    linearize=_linearize,
    transpose=with_starts(_transpose),
    batch=_batch,
    effects=lambda params: union_effects(params["jaxpr"]),
    kernel=ScanRegion(),
)
