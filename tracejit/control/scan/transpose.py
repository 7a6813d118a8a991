"""Transposing a scan: the loop runs the other way, cotangents of constants accumulate in its carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.regions.axes import axis_names
from tracejit.control.regions.rules import build, flags, permute, pick, spread, union, zeros_in
from tracejit.control.regions.totals import passing, starts_of, totals
from tracejit.control.scan.linear import ancestors
from tracejit.control.scan.operands import Parts
from tracejit.control.scan.products import defer_products, total
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.vmap import BatchTracer
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.ir.values import Linear, Value, Zero, is_linear
from tracejit.ops.building import helpers

Bind = Callable[[Parts, Jaxpr, dict[str, Any]], list[Any]]


def transpose_scan(bind_scan: Bind, parts: Parts, cts: list[Any], params: dict[str, Any]) -> list[Any]:
    """One cotangent an operand: None for those that are not `Linear`."""
    jaxpr = params["jaxpr"]
    consts_lin, xs_lin = _mask(parts.consts), _mask(parts.xs)
    if any(consts_lin) and params["reverse"] and params["length"] is None and axis_names(jaxpr):
        return _constants_as_rows(bind_scan, parts, cts, params)
    carry_lin = linear_carry(jaxpr, consts_lin, _mask(parts.carry), xs_lin)
    carry_cts, ys_cts = cts[: len(carry_lin)], cts[len(carry_lin) :]
    run, body = parts, jaxpr
    if not all(carry_lin):
        run, body = _stack_nonlinear_carry(bind_scan, parts, params, consts_lin, carry_lin, xs_lin)
        carry_cts = pick(carry_cts, carry_lin)
    ys_nz = flags(ys_cts)
    back, carry_nz, xs_nz = _transposed(body, consts_lin, flags(carry_cts), _mask(run.xs), ys_nz)
    operands = Parts(
        run.lead,
        pick(run.consts, [not m for m in consts_lin]),
        [_full_ct(c, x) for c, x in pick(list(zip(carry_cts, run.carry, strict=True)), carry_nz)],
        [x for x in run.xs if not is_linear(x)] + pick(ys_cts, ys_nz),
    )
    params = {**params, "reverse": not params["reverse"]}
    outs = _accumulate(bind_scan, operands, back, pick(run.consts, consts_lin), params)
    a, b = sum(consts_lin), sum(consts_lin) + len(operands.carry)
    carry_out = spread(outs[a:b], carry_nz, [Zero(aval_of(x)) for x in run.carry])
    # A carry whose start is not linear starts at zero, so its cotangent goes nowhere.
    carry_out = spread(carry_out, carry_lin, [None] * len(carry_lin))
    linear_xs = [x for x in parts.xs if is_linear(x)]
    x_cts = spread(outs[b:], xs_nz, [Zero(x.aval) for x in linear_xs])
    x_cts = [_as_long_as(ct, x) for ct, x in zip(x_cts, linear_xs, strict=True)]
    return [
        *(None for _ in parts.lead),
        *spread(outs[:a], consts_lin, [None] * len(consts_lin)),
        *(c if is_linear(x) else None for c, x in zip(carry_out, parts.carry, strict=True)),
        *spread(x_cts, xs_lin, [None] * len(xs_lin)),
    ]


def _constants_as_rows(bind_scan: Bind, parts: Parts, cts: list[Any], params: dict[str, Any]) -> list[Any]:
    """The transpose with a cotangent of each step for the linear constants, and their sum after the loop.

    For the transpose of a transposed loop whose lanes may talk to each other: what a lane gets from the others
    after its own last step counts too, but it would not enter a carry, which is kept from there on.
    """
    jaxpr, lin = params["jaxpr"], _mask(parts.consts)
    places = range(1, 1 + len(lin))
    rest = range(1 + len(lin), len(jaxpr.invars))
    body = permute(jaxpr, [0, *pick(places, [not m for m in lin]), *rest, *pick(places, lin)])
    steps = parts.lead[0]
    extent = Dim(steps, params["bound"]) if isinstance(steps, Value) else int(steps)
    rows = [Linear(c.aval.with_shape((extent, *c.aval.shape))) for c in pick(parts.consts, lin)]
    new = Parts(parts.lead, pick(parts.consts, [not m for m in lin]), parts.carry, [*parts.xs, *rows])
    out = transpose_scan(bind_scan, new, cts, {**params, "jaxpr": body, "consts": len(new.consts)})
    sums = [_row_sum(ct, c.aval) for ct, c in zip(out[-len(rows) :], pick(parts.consts, lin), strict=True)]
    operands = out[1 + len(new.consts) : -len(rows)]
    return [None, *spread(sums, lin, [None] * len(lin)), *operands]


def _row_sum(ct: Any, aval: Aval) -> Any:
    return Zero(aval) if type(ct) is Zero else ops.reduce.reduce_sum(ct, axes=(0,))


def _accumulate(
    bind_scan: Bind, operands: Parts, back: Jaxpr, linear: list[Any], params: dict[str, Any]
) -> list[Any]:
    """The backward scan with an accumulator for each `Linear` constant before its carry, in whatever way is cheap.

    An accumulator begins with the cotangent that its constant has so far, and the sum is a `Total`. Sums of matrix
    products are computed after the loop, of stacked factors.
    """
    carry, xs, count = operands.carry, operands.xs, len(linear)
    starts = starts_of(linear)
    begun = [
        helpers.instantiate(Zero(x.aval)) if s is None else s for x, s in zip(linear, starts, strict=True)
    ]
    length = params["length"] or 0
    plan = defer_products(back, 1 + len(operands.consts), count, len(carry)) if length > 1 else None
    if plan is None:
        outs = bind_scan(replace(operands, carry=begun + carry), back, params)
        return totals(outs[:count], starts) + outs[count:]
    outs = bind_scan(replace(operands, carry=pick(begun, plan.kept) + carry), plan.jaxpr, params)
    own = len(outs) - plan.factors
    ys = outs[sum(plan.kept) + len(carry) :]
    stacked = [x if k >= len(xs) else _cut(x, length) for k, x in enumerate([*xs, *ys])]
    sums = [total(products, stacked) for products in plan.sums]
    kept = totals(outs[: sum(plan.kept)], pick(starts, plan.kept))
    rest = iter(sums)
    whole = spread(kept, plan.kept, [None] * count)
    return [next(rest) if x is None else x for x in whole] + outs[sum(plan.kept) : own]


def _cut(x: Any, length: int) -> Any:
    """The rows that the loop sees."""
    shape = aval_of(x).shape
    if shape[0] == length:
        return x
    start, stop = (0,) * len(shape), (length, *(None,) * (len(shape) - 1))
    return ops.slices.slice(x, start_indices=start, limit_indices=stop)


def _mask(values: Sequence[Any]) -> tuple[bool, ...]:
    return tuple(is_linear(x) for x in values)


def _full_ct(ct: Any, x: Any) -> Any:
    return helpers.instantiate(Zero(aval_of(x))) if type(ct) is Zero else ct


def _as_long_as(ct: Any, x: Any) -> Any:
    """The cotangent of xs that were longer than the trip count, with zeros for the rest."""
    if type(ct) is Zero or aval_of(ct).shape[0] == x.aval.shape[0]:
        return ct
    first = x.aval.shape[0]
    if isinstance(first, Dim) and isinstance(first.var, BatchTracer):
        return ct  # lanes of different lengths: both are as long as the longest
    zeros = helpers.instantiate(Zero(x.aval))
    return ops.index.dynamic_update_slice(zeros, ct, *[np.int64(0)] * x.aval.ndim)


def linear_carry(
    jaxpr: Jaxpr, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool]
) -> tuple[bool, ...]:
    """Which carries depend on linear operands, in whichever step."""
    mask = tuple(carry)
    while True:
        known = {v for v, lin in zip(jaxpr.invars[1:], (*consts, *mask, *xs), strict=True) if lin}
        for eqn in jaxpr.eqns:
            if any(type(a) is not Literal and a in known for a in eqn.invars):
                known.update(eqn.outvars)
        outs = jaxpr.outs[: len(mask)]
        wider = tuple(m or (type(a) is not Literal and a in known) for m, a in zip(mask, outs, strict=True))
        if wider == mask:
            return mask
        mask = wider


def _stack_nonlinear_carry(
    bind_scan: Bind, parts: Parts, params: dict[str, Any], consts_lin: Any, carry_lin: Any, xs_lin: Any
) -> tuple[Parts, Jaxpr]:
    """Run the part of the loop that is not linear, and give what its carries were as xs."""
    forward, linear = _split_body(params["jaxpr"], consts_lin, carry_lin, xs_lin)
    rest = [not m for m in carry_lin]
    known = Parts(
        parts.lead,
        [x for x in parts.consts if not is_linear(x)],
        pick(parts.carry, rest),
        [x for x in parts.xs if not is_linear(x)],
    )
    kept = bind_scan(known, forward, params)[len(known.carry) :]
    return Parts(parts.lead, parts.consts, pick(parts.carry, carry_lin), [*kept, *parts.xs]), linear


@memoize_by_jaxpr
def _split_body(jaxpr: Jaxpr, consts_lin: Any, carry_lin: Any, xs_lin: Any) -> tuple[Jaxpr, Jaxpr]:
    a, b = 1 + len(consts_lin), 1 + len(consts_lin) + len(carry_lin)
    index, consts, carry, xs = jaxpr.invars[0], jaxpr.invars[1:a], jaxpr.invars[a:b], jaxpr.invars[b:]
    rest = [not m for m in carry_lin]
    fixed = pick(carry, rest)
    ins = [index, *pick(consts, [not m for m in consts_lin]), *fixed, *pick(xs, [not m for m in xs_lin])]
    outs = jaxpr.outs[: len(carry_lin)]
    forward = ancestors(jaxpr, ins, [*pick(outs, rest), *fixed])
    linear = Jaxpr(
        (index, *consts, *pick(carry, carry_lin), *fixed, *xs),
        jaxpr.eqns,
        (*pick(outs, carry_lin), *jaxpr.outs[len(carry_lin) :]),
        jaxpr.name,
    )
    return forward, linear


@memoize_by_jaxpr
def _transposed(
    jaxpr: Jaxpr,
    consts_lin: tuple[bool, ...],
    carry_nz: tuple[bool, ...],
    xs_lin: tuple[bool, ...],
    ys_nz: tuple[bool, ...],
) -> tuple[Jaxpr, tuple[bool, ...], tuple[bool, ...]]:
    """The backward body, which carries get cotangents in some step, those after the loop being marked by `carry_nz`,
    and which linear xs do.

    It takes (i, *nonlinear consts, *accumulators and carry cotangents, *nonlinear xs, *ys
    cotangents). Linear constants are made outputs of the body first: their accumulated
    cotangents then come in as the first contribution, and further ones are added in place.
    """
    passed = passing(jaxpr, (False, *consts_lin, *(False,) * (len(carry_nz) + len(xs_lin))))
    mask = (False, *consts_lin, *(True,) * len(carry_nz), *xs_lin)
    num_consts, end = sum(consts_lin), sum(consts_lin) + len(carry_nz)
    while True:
        back, nonzero = transpose_jaxpr(passed, mask, (*(True,) * num_consts, *carry_nz, *ys_nz))
        wider = union(carry_nz, nonzero[num_consts:end])
        if wider == carry_nz:
            break
        carry_nz = wider
    known = [v for v, lin in zip(jaxpr.invars, mask, strict=True) if not lin]
    linear = pick(jaxpr.invars, mask)
    wanted = (*(True,) * num_consts, *carry_nz, *nonzero[end:])
    num_acc = num_consts + sum(carry_nz)
    num_known, num_head = len(known), 1 + consts_lin.count(False)

    def fn(*args: Any) -> list[Any]:
        head, acc = args[:num_head], args[num_head : num_head + num_acc]
        xs = args[num_head + num_acc : num_known + num_acc]
        values = (*head, *xs)
        env = dict(zip(known, values, strict=True))
        outs = eval_jaxpr(back, [*values, *acc, *args[num_known + num_acc :]])
        full = spread(outs, nonzero, [None] * len(nonzero))
        rows = zip(full, wanted, linear, strict=True)
        return [zeros_in(v.aval, env) if x is None else x for x, w, v in rows if w]

    ins = back.invars
    order = [*ins[:num_head], *ins[num_known : num_known + num_acc]]
    order += [*ins[num_head:num_known], *ins[num_known + num_acc :]]
    return build(fn, order, jaxpr.name), carry_nz, wanted[end:]
