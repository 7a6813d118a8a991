"""The ops behind custom_vjp: the function, and its derivative in a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit import ops
from tracejit.control.custom.rules import batch_with, name_of_rule
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.residuals import refuse_dynamic
from tracejit.control.regions.rules import differentiable, flags, pick, region_avals, spread, union_effects
from tracejit.errors import ClosureDerivativeError, NotDifferentiableError
from tracejit.interpreters import jit
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CallRegion, NoKernel
from tracejit.ir.primitive import (
    NONLINEAR,
    not_differentiable,
)
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import bind, use_trace

_NO_FORWARD = "a function with custom_vjp has a derivative in reverse only"


class BatchedRules:
    """Rules mapped over a batch axis; all outputs are batched at axis 0."""

    def __init__(self, rule: Any, size: Any, dims: Sequence[int | None], axis: Any) -> None:
        self.rule = rule
        self.extra = rule.extra
        self.size = size
        self.dims = dims
        self.axis = axis

    def fwd(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        info: list[Any] = []

        def fn(*raw: Any) -> list[Any]:
            outs, residuals, about = self.rule.fwd(raw, perturbed)
            info.extend((about, len(outs)))
            return [*outs, *residuals]

        values, dims = batch_flat(fn, self.size, primals, self.dims, self.axis)
        count = info[1]
        outs = [batch_to_front(x, d, self.size) for x, d in zip(values[:count], dims[:count], strict=True)]
        return outs, values[count:], (info[0], dims[count:])

    def bwd(
        self, info: Any, residuals: Sequence[Any], cts: Sequence[Any], avals: Sequence[Aval]
    ) -> list[Any]:
        inner, dims = info
        return _batched_bwd(self, inner, residuals, dims, cts, avals)


def _batched_bwd(
    rules: BatchedRules,
    info: Any,
    residuals: Sequence[Any],
    res_dims: Sequence[int | None],
    cts: Sequence[Any],
    avals: Sequence[Aval],
) -> list[Any]:
    """`bwd` for each lane of the residuals and of `cts` (at axis 0); cotangents of unbatched
    arguments are summed over the lanes."""
    zero = [type(c) is Zero for c in cts]
    lanes = [_lane(a, d) for a, d in zip(avals, rules.dims, strict=True)]
    kept: list[bool] = []

    def fn(*raw: Any) -> list[Any]:
        res, given = raw[: len(residuals)], iter(raw[len(residuals) :])
        full = [Zero(_lane(c.aval, 0)) if z else next(given) for c, z in zip(cts, zero, strict=True)]
        outs = rules.rule.bwd(info, res, full, lanes)
        kept.extend(type(o) is not Zero for o in outs)
        return [o for o in outs if type(o) is not Zero]

    some = [c for c, z in zip(cts, zero, strict=True) if not z]
    dims = [*res_dims, *[0] * len(some)]
    values, out_dims = batch_flat(fn, rules.size, [*residuals, *some], dims, rules.axis)
    values = [batch_to_front(x, d, rules.size) for x, d in zip(values, out_dims, strict=True)]
    full = spread(values, kept, [Zero(a) for a in avals])
    return [
        x if type(x) is Zero or d is not None else ops.reduce.reduce_sum(x, axes=(0,))
        for x, d in zip(full, rules.dims, strict=True)
    ]


def _lane(aval: Aval, dim: int | None) -> Aval:
    return aval if dim is None else aval.with_shape(aval.shape[:dim] + aval.shape[dim + 1 :])


# ---------------------------------------------------------------- the function


def _type(*avals: Aval, jaxpr: Jaxpr, fun: Any, consts: int, rule: Any) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), "custom_vjp")


def _eval(*args: Any, jaxpr: Jaxpr | None, fun: Any, consts: int, rule: Any) -> list[Any]:
    with use_trace(ROOT):
        return list(fun(*args) if jaxpr is None else jit.execute(jaxpr, args))


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    consts, rule = params["consts"], params["rule"]
    if any(flags(tangents[:consts])):
        raise ClosureDerivativeError(name=name_of_rule(rule))
    first = consts - rule.extra
    args, ts = primals[first:], tangents[first:]
    nonzero = flags(ts)
    outs, residuals, info = rule.fwd(args, nonzero)
    avals = tuple(aval_of(x).tangent() for x in args)
    out_avals = tuple(aval_of(o).tangent() for o in outs)
    refuse_dynamic("custom_vjp", (*avals, *out_avals))
    out_ts = tape.record(
        custom_vjp_linear_op,
        (*residuals, *pick(ts, nonzero)),
        {"rule": rule, "info": info, "avals": avals, "nonzero": nonzero, "out_avals": out_avals},
    )
    return outs, [
        t if differentiable(o) else Zero(a) for t, a, o in zip(out_ts, out_avals, outs, strict=True)
    ]


custom_vjp_op = helpers.plain(
    name="custom_vjp",
    doc="a function with a reverse derivative of its own",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=not_differentiable(_NO_FORWARD),
    linearize=_linearize,
    transpose=NONLINEAR,
    batch=batch_with(lambda: custom_vjp_op, BatchedRules),
    effects=lambda params: frozenset() if params["jaxpr"] is None else union_effects(params["jaxpr"]),
    kernel=CallRegion(leading=("consts",)),
)


# ---------------------------------------------------------------- its derivative


def _linear_type(*_: Aval, out_avals: Sequence[Aval], **params: Any) -> list[Aval]:
    return list(out_avals)


def _linear_eval(*_: Any, **params: Any) -> Any:
    raise NotDifferentiableError(op=name_of_rule(params["rule"]), reason=_NO_FORWARD)


def _linear_transpose(
    cts: Any, *args: Any, rule: Any, info: Any, avals: Any, nonzero: Any, out_avals: Any
) -> list[Any]:
    count = len(args) - sum(nonzero)
    full = rule.bwd(info, args[:count], cts, avals)
    return [*(None for _ in range(count)), *pick(full, nonzero)]


def _linear_batch(
    size: Any, args: Any, dims: Any, *, rule: Any, info: Any, avals: Any, nonzero: Any, out_avals: Any
) -> tuple[list[Any], list[int]]:
    count = len(args) - sum(nonzero)
    moved = helpers.batch_axes_first(args, dims)
    front = [None if d is None else 0 for d in dims]
    arg_dims = spread(front[count:], nonzero, [None] * len(nonzero))
    outs = bind(
        custom_vjp_linear_op,
        *moved,
        rule=BatchedRules(rule, size, arg_dims, processing_axis()),
        info=(info, front[:count]),
        avals=tuple(
            a if d is None else a.with_shape((size, *a.shape)) for a, d in zip(avals, arg_dims, strict=True)
        ),
        nonzero=nonzero,
        out_avals=tuple(a.with_shape((size, *a.shape)) for a in out_avals),
    )
    return list(outs), [0] * len(outs)


custom_vjp_linear_op = helpers.plain(
    name="custom_vjp_linear",
    doc="the derivative of a custom_vjp function; only its transpose can run",
    multi=True,
    type=_linear_type,
    eval=_linear_eval,
    jvp=not_differentiable(_NO_FORWARD),
    transpose=_linear_transpose,
    batch=_linear_batch,
    kernel=NoKernel("it is transposed before anything is compiled"),
)
