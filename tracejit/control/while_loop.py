"""The while op: a body repeated as long as a condition holds.

Operands: cond_consts + body_consts + carry; outputs: the carry. Derivatives in
reverse: the loop runs once and counts its trips; a scan of that length, which
is a traced integer, then does what scans do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.axes import processing_axis, uses_axis
from tracejit.control.cond_batch import select_lanes, without_checks
from tracejit.control.effects import refuse_effects, without_effects
from tracejit.control.execute import evaluate
from tracejit.control.lanes import over_lanes
from tracejit.control.regions import (
    Typed,
    build,
    flags,
    instantiated,
    permute,
    pick,
    region_avals,
    spread,
    union,
    union_effects,
    zero_tangents,
)
from tracejit.control.scan import scan_op
from tracejit.errors import DynamicExtentError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.jvp import jvp_jaxpr
from tracejit.interpreters.linearize import linearize_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import WhileRegion
from tracejit.ir.primitive import NO_BOUNDS, NO_IDENTITIES, NO_INPLACE, NONLINEAR, Op
from tracejit.ops import helpers
from tracejit.tracing import bind


@dataclass(frozen=True)
class _Parts:
    cond_consts: list[Any]
    body_consts: list[Any]
    carry: list[Any]

    def all(self) -> list[Any]:
        return [*self.cond_consts, *self.body_consts, *self.carry]


def _split(args: Any, params: dict[str, Any]) -> _Parts:
    a = params["cond_consts"]
    b = a + params["body_consts"]
    args = list(args)
    return _Parts(args[:a], args[a:b], args[b:])


def _bind(parts: _Parts, cond: Jaxpr, body: Jaxpr) -> list[Any]:
    counts = {"cond_consts": len(parts.cond_consts), "body_consts": len(parts.body_consts)}
    return list(bind(while_op, *parts.all(), cond=cond, body=body, **counts))


def _type(*avals: Aval, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int) -> list[Aval]:
    return region_avals(body, range(cond_consts, len(avals)), "while")


def _python(*args: Any, **params: Any) -> list[Any]:
    p = _split(args, params)
    carry = p.carry
    while bool(eval_jaxpr(params["cond"], [*p.cond_consts, *carry])[0]):
        carry = eval_jaxpr(params["body"], [*p.body_consts, *carry])
    return carry


def _eval(*args: Any, **params: Any) -> list[Any]:
    return evaluate(while_op, _python, args, params)


@memoize_by_jaxpr
def _with_ignored(cond: Jaxpr, cond_consts: int, which: tuple[bool, ...]) -> Jaxpr:
    """`cond` with the tangents of the marked carries after the carry, which it doesn't look at."""
    extra = [Typed(v.aval.tangent()) for v in pick(cond.invars[cond_consts:], which)]
    return build(lambda *args: eval_jaxpr(cond, args[: len(cond.invars)]), [*cond.invars, *extra], cond.name)


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    p, t = _split(primals, params), _split(tangents, params)
    consts_nz, carry_nz = flags(t.body_consts), flags(t.carry)
    if not any((*consts_nz, *carry_nz)):
        outs = bind(while_op, *primals, **params)
        return outs, zero_tangents(outs)
    while True:  # until no further carry gets a tangent
        new, out_nz = jvp_jaxpr(params["body"], (*consts_nz, *carry_nz), carry_nz)
        wider = union(carry_nz, out_nz)
        if wider == carry_nz:
            break
        carry_nz = wider
    a, b = len(p.body_consts), len(p.body_consts) + len(p.carry)
    c = b + sum(consts_nz)
    body = permute(new, [*range(a), *range(b, c), *range(a, b), *range(c, c + sum(carry_nz))])
    cond = _with_ignored(params["cond"], params["cond_consts"], carry_nz)
    carry_t = [instantiated(x, y) for x, y in zip(t.carry, p.carry, strict=True)]
    both = _Parts(
        p.cond_consts, p.body_consts + pick(t.body_consts, consts_nz), p.carry + pick(carry_t, carry_nz)
    )
    outs = _bind(both, cond, body)
    values = outs[: len(p.carry)]
    return values, spread(outs[len(p.carry) :], carry_nz, zero_tangents(values))


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    p, t = _split(primals, params), _split(tangents, params)
    if not any(_carries_tangents(params["body"], flags(t.body_consts), flags(t.carry))):
        outs = bind(while_op, *primals, **params)
        return outs, zero_tangents(outs)
    cond, body = _counting(params["cond"], params["body"], params["cond_consts"], params["body_consts"])
    counted = _bind(_Parts(p.cond_consts, p.body_consts, [np.int64(0), *p.carry]), cond, body)
    zero = zero_tangents([counted[0]])
    body = without_effects(params["body"], "while_loop")  # they have happened in the loop that counts
    loop = {"length": None, "bound": None, "reverse": False, "jaxpr": _with_index(body)}
    loop.update(consts=len(p.body_consts), carry=len(p.carry))
    args = (counted[0], *p.body_consts, *p.carry)
    return scan_op.linearize(tape, args, (*zero, *t.body_consts, *t.carry), loop)  # type: ignore[operator]


def _carries_tangents(
    body: Jaxpr, consts_nz: tuple[bool, ...], carry_nz: tuple[bool, ...]
) -> tuple[bool, ...]:
    """Which carries have tangents in the end."""
    while True:
        wider = union(carry_nz, linearize_jaxpr(body, (*consts_nz, *carry_nz))[2])
        if wider == carry_nz:
            return wider
        carry_nz = wider


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


def _batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    cond, body = params["cond"], params["body"]
    try:
        new = _batched(size, dims, params)
    except DynamicExtentError:  # extents that differ between the lanes
        new = None
    if new is None:
        if uses_axis((cond, body), processing_axis()):
            return _masked(size, args, dims, params)
        return over_lanes(scan_op, lambda *raw: bind(while_op, *raw, **params), size, args, dims, "while")  # type: ignore[return-value]
    new_cond, new_body, carry_b = new
    p, d = _split(args, params), _split(dims, params)
    rows = zip(p.carry, d.carry, carry_b, strict=True)
    carry = [helpers.to_batch_axis(x, k, 0, size) if b else x for x, k, b in rows]
    moved = _Parts(_front(p.cond_consts, d.cond_consts), _front(p.body_consts, d.body_consts), carry)
    return _bind(moved, new_cond, new_body), [0 if b else None for b in carry_b]


def _front(values: list[Any], dims: list[Any]) -> list[Any]:
    return [x if d is None else helpers.move_batch_axis(x, d, 0) for x, d in zip(values, dims, strict=True)]


def _batched(size: Any, dims: Any, params: dict[str, Any]) -> tuple[Jaxpr, Jaxpr, tuple[bool, ...]] | None:
    """(cond, body, batched carries), or None if the condition differs between lanes."""
    d = _split(dims, params)
    axis = processing_axis()
    cond_b, body_b, carry_b = (
        tuple(x is not None for x in part) for part in (d.cond_consts, d.body_consts, d.carry)
    )
    while True:  # until no further carry becomes batched
        body, out_b = batch_jaxpr(params["body"], size, (*body_b, *carry_b), carry_b, axis)
        wider = union(carry_b, out_b)
        if wider == carry_b:
            break
        carry_b = wider
    cond, pred_b = batch_jaxpr(params["cond"], size, (*cond_b, *carry_b), False, axis)
    return None if pred_b[0] else (cond, body, carry_b)


def _masked(size: Any, args: Any, dims: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """All lanes together until the last is done; finished lanes keep their values.

    For lanes that talk to each other. Operands are batched throughout.
    """
    refuse_effects(
        "while_loop",
        (params["cond"], params["body"]),
        "there is a callback in it, but its lanes talk by collectives, so that they run on together",
    )
    p = _split([helpers.to_batch_axis(x, d, 0, size) for x, d in zip(args, dims, strict=True)], params)
    cond, body = _masked_jaxprs(
        params["cond"], params["body"], size, params["cond_consts"], params["body_consts"], processing_axis()
    )
    parts = _Parts(p.cond_consts, p.cond_consts + p.body_consts, p.carry)
    return _bind(parts, cond, body), [0] * len(p.carry)


@memoize_by_jaxpr
def _masked_jaxprs(
    cond: Jaxpr, body: Jaxpr, size: Any, cond_consts: int, body_consts: int, axis: Any
) -> tuple[Jaxpr, Jaxpr]:
    one_cond, _ = batch_jaxpr(without_checks(cond), size, (True,) * len(cond.invars), True, axis)
    one_body, _ = batch_jaxpr(without_checks(body), size, (True,) * len(body.invars), True, axis)
    carry = one_body.invars[body_consts:]

    def any_lane(*args: Any) -> list[Any]:
        return [ops.reduce.reduce_or(eval_jaxpr(one_cond, args)[0], axes=(0,))]

    def step(*args: Any) -> list[Any]:
        old = args[cond_consts + body_consts :]
        active = eval_jaxpr(one_cond, [*args[:cond_consts], *old])[0]
        new = eval_jaxpr(one_body, args[cond_consts:])
        return [select_lanes(active, x, y) for x, y in zip(new, old, strict=True)]

    ins = [*one_cond.invars[:cond_consts], *one_body.invars[:body_consts], *carry]
    return build(any_lane, one_cond.invars, cond.name), build(step, ins, body.name)


while_op = Op(
    name="while",
    doc="a body repeated as long as a condition holds",
    multi=True,
    type=_type,
    eval=_eval,
    inplace=NO_INPLACE,
    jvp=_jvp,
    linearize=_linearize,
    transpose=NONLINEAR,
    batch=_batch,
    simplify=NO_IDENTITIES,
    effects=lambda params: union_effects(params["cond"], params["body"]),
    bounds=NO_BOUNDS,
    kernel=WhileRegion(),
)
