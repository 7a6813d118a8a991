"""`custom_jvp`: a function with a forward derivative of its own."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import ops, tree
from tracejit.control.custom.closures import StagedRule, convert
from tracejit.control.custom.rules import (
    Call,
    batch_with,
    boxed,
    make_call,
    matching_leaves,
    name_of_rule,
    nondiff_positions,
    stage_call,
)
from tracejit.control.custom.zeros import SymbolicZero, tangents_for, zero_from_primal
from tracejit.control.regions.rules import region_avals, union_effects, zero_tangents
from tracejit.control.regions.staging import call_untraced
from tracejit.errors import ClosureDerivativeError, CustomRuleError, FunctionNeededError, MissingRuleError
from tracejit.interpreters import jit
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CallRegion
from tracejit.ir.primitive import NONLINEAR
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import bind, call_user, is_tracing, to_raw, use_trace, wrap

# (primals, tangents) -> (outs, out tangents), all raw; tangents may be Zeros.
RawRule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class custom_jvp:
    """A function whose derivative is given by `defjvp` or `defjvps`.

    Arguments in `nondiff_argnums` (or `nondiff_argnames`) are passed to the rule first, as they are.
    Usable as a decorator: `@custom_jvp`, or `@partial(custom_jvp, nondiff_argnums=(0,))`. Defaults and
    keywords are arguments like the others: the rule gets all of them by position.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        FunctionNeededError.check("custom_jvp", fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.symbolic_zeros = False
        self.jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule `jvp(*nondiff, primals, tangents) -> (out, tangent_out)`. Usable as a decorator.

        With `symbolic_zeros`, leaves of `tangents` that are known to be zero are
        `custom_derivatives.SymbolicZero`s, which the rule may return too, instead of arrays of zeros.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule an argument, `(tangent, ans, *primals) -> tangent_out`; None for a zero derivative.

        Raises TypeError with `nondiff_argnums`: use `defjvp`.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps knows no nondiff_argnums: use defjvp")

        def jvp(primals: Any, tangents: Any) -> Any:
            ans = self(*primals)
            pairs = [(f, t) for f, t in zip(jvps, tangents, strict=True) if f is not None]
            terms = [f(_arrays(t), ans, *primals) for f, t in pairs if not _all_zero(t)]
            return ans, functools.reduce(_tree_add, terms) if terms else zero_from_primal(ans, True)

        self.defjvp(jvp, symbolic_zeros=True)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(self.fun, "__name__", "custom_jvp")
        if self.jvp is None:
            raise MissingRuleError(name=name, missing="defjvp")
        if not is_tracing():
            return call_untraced(self.fun, self.nondiff_argnums, args, kwargs)
        call = make_call(self.fun, self.nondiff_argnums, args, kwargs)
        staged = stage_call(call)
        rule = UserRule(self.jvp, call, self.symbolic_zeros)
        if staged is None:
            outs = bind(custom_jvp_op, *call.raw, jaxpr=None, fun=rule.primal, consts=0, rule=rule)
            return tree.unflatten(rule.out_tree, [wrap(x) for x in outs])
        rule.out_tree, rule.out_avals = staged.out_tree, staged.out_avals
        used: Any = rule
        jaxpr, consts = staged.jaxpr, staged.consts
        converted = convert(
            lambda: StagedRule(rule, call.raw), (self.jvp, *call.nondiff.values()), jaxpr, consts, call.raw
        )
        if converted is not None:
            used, jaxpr, consts = converted
        params = {"jaxpr": jaxpr, "fun": None, "consts": len(consts), "rule": used}
        outs = bind(custom_jvp_op, *consts, *call.raw, **params)
        return tree.unflatten(staged.out_tree, [wrap(x, w) for x, w in zip(outs, staged.weak, strict=True)])


def _all_zero(t: Any) -> bool:
    return all(type(x) is SymbolicZero for x in tree.leaves(t))


def _arrays(t: Any) -> Any:
    """A tree of tangents with arrays of zeros for symbolic ones."""
    return tree.map(lambda x: wrap(helpers.instantiate(Zero(x.aval))) if type(x) is SymbolicZero else x, t)


def _tree_add(a: Any, b: Any) -> Any:
    return tree.map(lambda x, y: wrap(ops.arithmetic.add(to_raw(x), to_raw(y))), a, b)


class UserRule:
    """A user's jvp rule as a `RawRule`. `extra` operands are given to a rule before the primals."""

    extra = 0

    def __init__(self, jvp: Callable[..., Any], call: Call, symbolic: bool = False) -> None:
        self.symbolic = symbolic
        self.jvp = jvp
        self.call = call
        self.out_tree: Any = None
        self.out_avals: Sequence[Aval] | None = None  # of the staged function; None if it was not staged

    def primal(self, *raw: Any) -> list[Any]:
        """The function itself on raw values."""
        args = boxed(self.call.in_tree, raw, self.call.weak)
        leaves, self.out_tree = tree.flatten(call_user(self.call.fun, *self.call.with_nondiff(args)))
        return [to_raw(x) for x in leaves]

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        call = self.call
        ps = boxed(call.in_tree, primals, call.weak)
        ts = boxed(call.in_tree, tangents_for(primals, tangents, self.symbolic))
        result = call_user(self.jvp, *call.nondiff_args(), ps, ts)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise CustomRuleError(rule=f"the jvp rule of {call.name}", problem="it did not return a pair")
        out, out_t = result
        name = f"the jvp rule of {call.name}"
        if self.out_avals is None:
            leaves, self.out_tree = tree.flatten(out)
            outs = [to_raw(x) for x in leaves]
        else:
            outs = matching_leaves(name, "the primal output", out, self.out_tree, self.out_avals)
        avals = [aval_of(x).tangent() for x in outs]
        return outs, matching_leaves(name, "the tangent output", out_t, self.out_tree, avals)


class BatchedRule:
    """A rule mapped over a batch axis; all outputs are batched at axis 0."""

    def __init__(self, rule: Any, size: Any, dims: Sequence[int | None], axis: Any) -> None:
        self.rule = rule
        self.extra = rule.extra
        self.size = size
        self.dims = dims
        self.axis = axis

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        n = len(primals)
        zero = [type(t) is Zero for t in tangents]
        kept: list[Any] = []

        def fn(*raw: Any) -> list[Any]:
            given = iter(raw[n:])
            ps = raw[:n]
            ts = [Zero(aval_of(p).tangent()) if z else next(given) for p, z in zip(ps, zero, strict=True)]
            outs, out_ts = self.rule(ps, ts)
            kept.extend(type(t) is Zero for t in out_ts)
            return [*outs, *(t for t in out_ts if type(t) is not Zero)]

        some = [t for t in tangents if type(t) is not Zero]
        dims = [*self.dims, *(d for d, z in zip(self.dims, zero, strict=True) if not z)]
        values, out_dims = batch_flat(fn, self.size, [*primals, *some], dims, self.axis)
        values = [batch_to_front(x, d, self.size) for x, d in zip(values, out_dims, strict=True)]
        count = len(kept)
        given = iter(values[count:])
        outs = values[:count]
        return outs, [
            Zero(aval_of(o).tangent()) if z else next(given) for o, z in zip(outs, kept, strict=True)
        ]


def _type(*avals: Aval, jaxpr: Jaxpr, fun: Any, consts: int, rule: Any) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), "custom_jvp")


def _eval(*args: Any, jaxpr: Jaxpr | None, fun: Any, consts: int, rule: Any) -> list[Any]:
    with use_trace(ROOT):
        return list(fun(*args) if jaxpr is None else jit.execute(jaxpr, args))


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    consts, rule = params["consts"], params["rule"]
    if all(type(t) is Zero for t in tangents):
        outs = bind(custom_jvp_op, *primals, **params)
        return outs, zero_tangents(outs)
    if any(type(t) is not Zero for t in tangents[:consts]):
        raise ClosureDerivativeError(name=name_of_rule(rule))
    first = consts - rule.extra
    return rule(primals[first:], tangents[first:])


custom_jvp_op = helpers.plain(
    name="custom_jvp",
    doc="a function with a forward derivative of its own",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    transpose=NONLINEAR,
    batch=batch_with(lambda: custom_jvp_op, BatchedRule),
    effects=lambda params: frozenset() if params["jaxpr"] is None else union_effects(params["jaxpr"]),
    kernel=CallRegion(leading=("consts",)),
)
