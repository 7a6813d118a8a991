"""`linear_call`: a linear function with a transpose of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import tree
from tracejit.control.custom.closures import with_ignored
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.rules import Typed, region_avals, union_effects, zero_tangents
from tracejit.control.regions.staging import Leaves, Staged, flatten, stage_user
from tracejit.errors import CustomRuleError, NotDifferentiableError
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import arg_avals
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CallRegion
from tracejit.ir.values import Zero, is_linear
from tracejit.ops.building import helpers
from tracejit.ops.elementwise import arithmetic
from tracejit.tracing import bind, use_trace, wrap


def linear_call(
    fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, a function that is linear in `linear_args`, whose transpose is
    `fun_transpose(residual_args, ct) -> cotangent of linear_args`.

    Both are trees of arrays. That `fun` is linear and that the two belong together is not checked. It
    can also be differentiated with respect to `residual_args`, through `fun`.

    Raises:
        CustomRuleError: `fun_transpose` does not return what `linear_args` is.
    """
    return call_linear(fun, fun_transpose, residual_args, linear_args)


def call_linear(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
    eager_constants: bool = True,
) -> Any:
    """`linear_call`; without `eager_constants` its residuals are those given, and no small constants."""
    res, lin = flatten(residual_args), flatten(linear_args)
    name = getattr(fun, "__name__", "linear_call")

    def staged_of(f: Callable[..., Any], trees: Any, raw: Any, weak: Any) -> Staged:
        return stage_user(f, trees, arg_avals(raw), weak, name, eager_constants=eager_constants)

    staged = staged_of(fun, [res.tree, lin.tree], [*res.raw, *lin.raw], [*res.weak, *lin.weak])
    inputs = [*res.raw, *map(Typed, staged.out_avals)]
    back = staged_of(fun_transpose, [res.tree, staged.out_tree], inputs, [*res.weak, *staged.weak])
    _check(name, back, lin)
    outs = bind(
        linear_call_op,
        *staged.consts,
        *back.consts,
        *res.raw,
        *lin.raw,
        jaxpr=intern_jaxpr(with_ignored(staged.jaxpr, len(staged.consts), back.consts)),
        transposed=intern_jaxpr(with_ignored(back.jaxpr, 0, staged.consts)),
        residuals=len(staged.consts) + len(back.consts) + len(res.raw),
        name=name,
    )
    return tree.unflatten(staged.out_tree, [wrap(x) for x in outs])


def _check(name: str, back: Staged, lin: Leaves) -> None:
    rule = f"the transpose of {name}"
    if back.out_tree != lin.tree:
        problem = f"the cotangent is {tree.show(back.out_tree)} instead of {tree.show(lin.tree)}"
        raise CustomRuleError(rule=rule, problem=problem)
    for path, got, x in zip(lin.paths("the cotangent"), back.out_avals, lin.raw, strict=True):
        if got != aval_of(x):
            raise CustomRuleError(rule=rule, problem=f"{path} is {got} instead of {aval_of(x)}")


def _type(*avals: Aval, jaxpr: Jaxpr, **_: Any) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), "linear_call")


def _eval(*args: Any, jaxpr: Jaxpr, **_: Any) -> list[Any]:
    with use_trace(ROOT):
        return list(jit.execute(jaxpr, args))


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    n = params["residuals"]
    outs = bind(linear_call_op, *primals, **params)
    total: list[Any] = zero_tangents(outs)
    if any(type(t) is not Zero for t in tangents[n:]):
        total = bind(linear_call_op, *primals[:n], *map(helpers.instantiate, tangents[n:]), **params)
    if any(type(t) is not Zero for t in tangents[:n]):
        ts = [*tangents[:n], *zero_tangents(primals[n:])]
        _, extra = jvp_flat(lambda *xs: eval_jaxpr(params["jaxpr"], xs), primals, ts)
        total = [_add(a, b) for a, b in zip(total, extra, strict=True)]
    return list(outs), list(total)


def _add(a: Any, b: Any) -> Any:
    if type(a) is Zero or type(b) is Zero:
        return b if type(a) is Zero else a
    return arithmetic.add(a, b)


def _transpose(cts: Any, *args: Any, jaxpr: Jaxpr, transposed: Jaxpr, residuals: int, name: str) -> list[Any]:
    known, linear = args[:residuals], args[residuals:]
    if any(map(is_linear, known)):
        reason = "its residual arguments are not linear"
        raise NotDifferentiableError(op=f"the transpose of {name}", reason=reason)
    params = {"jaxpr": transposed, "transposed": jaxpr, "residuals": residuals, "name": name}
    outs = bind(linear_call_op, *known, *map(helpers.instantiate, cts), **params)
    return [*(None for _ in known), *(o if is_linear(a) else None for o, a in zip(outs, linear, strict=True))]


def _batch(
    size: Any, args: Any, dims: Any, *, jaxpr: Jaxpr, transposed: Jaxpr, residuals: int, name: str
) -> tuple[Any, Any]:
    """The linear arguments are all batched, so that their cotangents are too."""
    n = residuals
    known = helpers.batch_axes_first(args[:n], dims[:n])
    linear = [helpers.to_batch_axis(x, d, 0, size) for x, d in zip(args[n:], dims[n:], strict=True)]
    batched = tuple(d is not None for d in dims[:n])
    new, _ = batch_jaxpr(jaxpr, size, batched + (True,) * len(linear), True, processing_axis())
    flags = batched + (True,) * (len(transposed.invars) - n)
    back, _ = batch_jaxpr(transposed, size, flags, True, processing_axis())
    outs = bind(linear_call_op, *known, *linear, jaxpr=new, transposed=back, residuals=n, name=name)
    return list(outs), [0] * len(outs)


linear_call_op = helpers.plain(
    name="linear_call",
    doc="a linear function with a transpose of its own",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: union_effects(params["jaxpr"]),
    kernel=CallRegion(),
)
