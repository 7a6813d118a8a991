"""`custom_vmap`: a function with a batching rule of its own."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control.call.op import call_op
from tracejit.control.custom.rules import Call, boxed, make_call
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.rules import flags, pick, region_avals, spread, union_effects, zero_tangents
from tracejit.control.regions.staging import call_untraced, flatten, stage_user
from tracejit.control.structured.loops import map as lax_map
from tracejit.errors import CustomRuleError, MissingRuleError
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.jvp import jvp_flat, jvp_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import arg_avals
from tracejit.interpreters.vmap import batch_flat
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CallRegion
from tracejit.ir.primitive import NONLINEAR
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import bind, call_user, is_tracing, use_trace, wrap


class custom_vmap:
    """A function whose batching is given by `def_vmap`.

    The rule `(axis_size, in_batched, *args) -> (out, out_batched)` gets the arguments, the batched ones
    with their batch axis in front; `in_batched` says which those are, a tree of booleans an argument, and
    `out_batched` likewise for the result (a prefix of its tree will do). Forward derivatives are batched
    by the rule too; the linear programs of reverse mode are batched as what the function is made of.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule. Usable as a decorator."""
        self.rule = vmap_rule
        return vmap_rule

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(self.fun, "__name__", "custom_vmap")
        if self.rule is None:
            raise MissingRuleError(name=name, missing="def_vmap")
        if not is_tracing():
            return call_untraced(self.fun, (), args, kwargs)
        call = make_call(self.fun, (), args, kwargs)
        staged = stage_user(
            lambda args: call_user(self.fun, *args), [call.in_tree], arg_avals(call.raw), call.weak, name
        )
        rule = UserRule(self.rule, call, staged.out_tree, staged.out_avals)
        jaxpr = intern_jaxpr(staged.jaxpr)
        outs = bind(
            custom_vmap_op, *staged.consts, *call.raw, jaxpr=jaxpr, consts=len(staged.consts), rule=rule
        )
        return tree.unflatten(staged.out_tree, [wrap(x, w) for x, w in zip(outs, staged.weak, strict=True)])


def sequential_vmap(fun: Callable[..., Any]) -> custom_vmap:
    """`fun`, batched by `lax.map`: one call after the other for the elements of the batch."""
    out = custom_vmap(fun)

    @out.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        leaves, structure = tree.flatten(args)
        which = tree.leaves(in_batched)

        def one(batched: list[Any]) -> Any:
            return call_user(fun, *tree.unflatten(structure, spread(batched, which, leaves)))

        return lax_map(one, pick(leaves, which)), True

    return out


class UserRule:
    """A user's rule on raw values: `(size, batched, raw) -> (outs, which are batched)`."""

    def __init__(
        self, rule: Callable[..., Any], call: Call, out_tree: Any, out_avals: Sequence[Aval]
    ) -> None:
        self.rule = rule
        self.call = call
        self.out_tree = out_tree
        self.out_avals = out_avals

    def __call__(
        self, size: Any, batched: Sequence[bool], raw: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        structure, name = self.call.in_tree, f"the vmap rule of {self.call.name}"
        weak = [w and not b for w, b in zip(self.call.weak, batched, strict=True)]
        args, in_batched = boxed(structure, raw, weak), tree.unflatten(structure, batched)
        got = call_user(self.rule, size, list(in_batched), *args)
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            raise CustomRuleError(rule=name, problem="it did not return a pair (out, out_batched)")
        out = flatten(got[0])
        if out.tree != self.out_tree:
            problem = f"the output is {tree.show(out.tree)} instead of {tree.show(self.out_tree)}"
            raise CustomRuleError(rule=name, problem=problem)
        which = [bool(b) for b in tree.flatten_axes("out_batched", self.out_tree, got[1])]
        for path, x, b, aval in zip(out.paths("the output"), out.raw, which, self.out_avals, strict=True):
            want = aval.with_shape((size, *aval.shape)) if b else aval
            if aval_of(x) != want:
                raise CustomRuleError(rule=name, problem=f"{path} is {aval_of(x)} instead of {want}")
        return out.raw, which


class JvpRule:
    """The derivative of a rule: arguments are primals and the nonzero tangents."""

    def __init__(self, rule: Any, nonzero: tuple[bool, ...], out_nonzero: tuple[bool, ...]) -> None:
        self.rule = rule
        self.nonzero = nonzero
        self.out_nonzero = out_nonzero

    def __call__(
        self, size: Any, batched: Sequence[bool], raw: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        n = len(self.nonzero)
        ts = spread(raw[n:], self.nonzero, zero_tangents(raw[:n]))
        t_batched = spread(batched[n:], self.nonzero, [False] * n)
        both = [p or t for p, t in zip(batched[:n], t_batched, strict=True)]
        primals = [_front(x, p, b, size) for x, p, b in zip(raw[:n], batched[:n], both, strict=True)]
        tangents = [
            Zero(aval_of(x).tangent()) if type(t) is Zero else _front(t, was, b, size)
            for x, t, was, b in zip(primals, ts, t_batched, both, strict=True)
        ]
        which: list[bool] = []

        def fn(*xs: Any) -> list[Any]:
            outs, out_batched = self.rule(size, both, xs)
            which.extend(out_batched)
            return outs

        outs, out_ts = jvp_flat(fn, primals, tangents)
        given = [helpers.instantiate(t) for t in pick(out_ts, self.out_nonzero)]
        return [*outs, *given], [*which, *pick(which, self.out_nonzero)]


def _front(x: Any, is_batched: bool, wanted: bool, size: Any) -> Any:
    return helpers.broadcast_batch(x, 0, size) if wanted and not is_batched else x


def _type(*avals: Aval, jaxpr: Jaxpr, consts: int, rule: Any) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), "custom_vmap")


def _eval(*args: Any, jaxpr: Jaxpr, consts: int, rule: Any) -> list[Any]:
    with use_trace(ROOT):
        return list(jit.execute(jaxpr, args))


def _jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, consts: int, rule: Any) -> tuple[list[Any], list[Any]]:
    nonzero = flags(tangents)
    if any(nonzero[:consts]):  # the rule does not know what the function closes over
        return jvp_flat(lambda *xs: eval_jaxpr(jaxpr, xs), primals, tangents)
    new, out_nz = jvp_jaxpr(jaxpr, nonzero)
    new_rule = JvpRule(rule, nonzero[consts:], out_nz)
    outs = bind(custom_vmap_op, *primals, *pick(tangents, nonzero), jaxpr=new, consts=consts, rule=new_rule)
    values = list(outs[: len(out_nz)])
    return values, spread(outs[len(out_nz) :], out_nz, zero_tangents(values))


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """What the function is made of, as a call."""
    return call_op.linearize(tape, primals, tangents, {"jaxpr": params["jaxpr"], "name": "custom_vmap"})  # type: ignore[operator]


def _batch(
    size: Any, args: Any, dims: Any, *, jaxpr: Jaxpr, consts: int, rule: Any
) -> tuple[list[Any], list[Any]]:
    if any(d is not None for d in dims[:consts]):
        return batch_flat(lambda *xs: eval_jaxpr(jaxpr, xs), size, args, dims, processing_axis())
    raw = helpers.batch_axes_first(args[consts:], dims[consts:])
    outs, which = rule(size, [d is not None for d in dims[consts:]], raw)
    return outs, [0 if b else None for b in which]


custom_vmap_op = helpers.plain(
    name="custom_vmap",
    doc="a function with a batching rule of its own",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    linearize=_linearize,
    transpose=NONLINEAR,
    batch=_batch,
    effects=lambda params: union_effects(params["jaxpr"]),
    kernel=CallRegion(),
)
