"""The while op: a body repeated as long as a condition holds.

Operands: cond_consts + body_consts + carry; outputs: the carry, and the rows of all steps of what the body
gives beyond it. A loop with rows counts: its first carry is the number of steps so far, and so the extent of
the rows. That is how reverse mode works: the loop runs once, pushes the residuals of each step as rows on a
tape that grows, and a scan over the rows is its linear map.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.regions.execute import evaluate
from tracejit.control.regions.rules import (
    Typed,
    build,
    flags,
    instantiated,
    pick,
    region_avals,
    rename_dims,
    spread,
    union,
    union_effects,
    zero_tangents,
)
from tracejit.control.scan.linear import linear_plan
from tracejit.control.scan.op import record_linear, stack_rows
from tracejit.control.scan.operands import Parts, deal, interleave
from tracejit.control.while_loop import batch
from tracejit.control.while_loop.operands import WhileParts, bind_while, split_while
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.check import OutputRef
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import WhileRegion
from tracejit.ir.primitive import NONLINEAR
from tracejit.ops.building.helpers import plain
from tracejit.tracing import bind


def _type(*avals: Aval, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int) -> list[Aval]:
    outs = region_avals(body, range(cond_consts, len(avals)), "while")
    carry = len(avals) - cond_consts - body_consts
    steps = Dim(OutputRef(0), None)
    return outs[:carry] + [a.with_shape((steps, *a.shape)) for a in outs[carry:]]


def _python(*args: Any, **params: Any) -> list[Any]:
    p = split_while(args, params)
    carry, rows = p.carry, list[Any]()
    while bool(eval_jaxpr(params["cond"], [*p.cond_consts, *carry])[0]):
        outs = eval_jaxpr(params["body"], [*p.body_consts, *carry])
        carry, row = outs[: len(carry)], outs[len(carry) :]
        rows.append(row)
    sizes = dict(zip(params["body"].invars, [*p.body_consts, *p.carry], strict=True))
    avals = [rename_dims(a.aval, sizes) for a in params["body"].outs[len(carry) :]]
    return carry + [stack_rows(n, a, rows) for n, a in enumerate(avals)]


def _eval(*args: Any, **params: Any) -> list[Any]:
    return evaluate(while_op, _python, args, params)


@memoize_by_jaxpr
def _with_ignored(cond: Jaxpr, cond_consts: int, which: tuple[bool, ...]) -> Jaxpr:
    """`cond` with the tangents of the marked carries after the carry, which it doesn't look at."""
    extra = [Typed(v.aval.tangent()) for v in pick(cond.invars[cond_consts:], which)]
    return build(lambda *args: eval_jaxpr(cond, args[: len(cond.invars)]), [*cond.invars, *extra], cond.name)


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    p, t = split_while(primals, params), split_while(tangents, params)
    num_carry, num_rows = len(p.carry), len(params["body"].outs) - len(p.carry)
    consts_nz, carry_nz = flags(t.body_consts), flags(t.carry)
    if not any((*consts_nz, *carry_nz)):
        outs = bind(while_op, *primals, **params)
        return outs, zero_tangents(outs)
    while True:  # until no further carry gets a tangent
        nonzero = (*consts_nz, *carry_nz)
        new, out_nz = jvp_jaxpr(params["body"], nonzero, (*carry_nz, *(False,) * num_rows))
        wider = union(carry_nz, out_nz[:num_carry])
        if wider == carry_nz:
            break
        carry_nz = wider
    body = interleave(new, (0, len(p.body_consts), num_carry, 0), nonzero, out_nz)
    cond = _with_ignored(params["cond"], params["cond_consts"], carry_nz)
    carry_t = [instantiated(x, y) for x, y in zip(t.carry, p.carry, strict=True)]
    both = WhileParts(
        p.cond_consts, p.body_consts + pick(t.body_consts, consts_nz), p.carry + pick(carry_t, carry_nz)
    )
    return deal(bind_while(while_op, both, cond, body), num_carry, carry_nz, out_nz[num_carry:])


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The loop pushes its residuals; a scan of as many steps, which is a traced integer, is the linear map."""
    p, t = split_while(primals, params), split_while(tangents, params)
    cond, body = params["cond"], params["body"]
    added = 0 if len(body.outs) > len(p.carry) else 1  # a loop without rows does not count yet
    if added:
        start = np.int64(0)
        p.carry.insert(0, start)
        t.carry[:0] = zero_tangents([start])
        cond, body = _counting(cond, body, params["cond_consts"], params["body_consts"])
    nonzero = flags((*t.body_consts, *t.carry))
    plan = linear_plan(_with_index(body), tape.lasts(p.body_consts), len(p.carry), nonzero)
    out_nz = (*plan.carry_nonzero, *plan.ys_nonzero)
    if not any(out_nz):
        outs = bind(while_op, *primals, **params)
        return outs, zero_tangents(outs)
    outs = bind_while(while_op, p, cond, _pushing(plan.forward, len(p.body_consts)))
    values, stacked = outs[: len(out_nz)], outs[len(out_nz) :]
    loop = {"length": None, "bound": None, "reverse": False}
    scanned = Parts([outs[0]], p.body_consts, p.carry, [])
    out_ts = record_linear(tape, plan, scanned, Parts([], t.body_consts, t.carry, []), stacked, loop)
    ts = spread(out_ts, out_nz, zero_tangents(values))
    return values[added:], ts[added:]


@memoize_by_jaxpr
def _counting(cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int) -> tuple[Jaxpr, Jaxpr]:
    """(cond, body) with the number of trips as first carry."""
    n = Typed(aval_of(np.int64(0)))
    cond_ins = [*cond.invars[:cond_consts], n, *cond.invars[cond_consts:]]
    body_ins = [*body.invars[:body_consts], n, *body.invars[body_consts:]]

    def counting_cond(*args: Any) -> list[Any]:
        return eval_jaxpr(cond, [*args[:cond_consts], *args[cond_consts + 1 :]])

    def counting_body(*args: Any) -> list[Any]:
        trips = ops.arithmetic.add(args[body_consts], np.int64(1))
        return [trips, *eval_jaxpr(body, [*args[:body_consts], *args[body_consts + 1 :]])]

    return build(counting_cond, cond_ins, cond.name), build(counting_body, body_ins, body.name)


@memoize_by_jaxpr
def _with_index(body: Jaxpr) -> Jaxpr:
    """`body` as a scan's: with an index that it doesn't look at."""
    return build(
        lambda _i, *args: eval_jaxpr(body, args), [Typed(aval_of(np.int64(0))), *body.invars], body.name
    )


@memoize_by_jaxpr
def _pushing(forward: Jaxpr, body_consts: int) -> Jaxpr:
    """A scan's body as that of a loop that counts: the first carry is the index."""
    return build(
        lambda *args: eval_jaxpr(forward, [args[body_consts], *args]), forward.invars[1:], forward.name
    )


def _batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    return batch.batch_while(while_op, size, args, dims, params)


while_op = plain(
    name="while",
    doc="a body repeated as long as a condition holds",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    linearize=_linearize,
    transpose=NONLINEAR,
    batch=_batch,
    effects=lambda params: union_effects(params["cond"], params["body"]),
    kernel=WhileRegion(),
)
