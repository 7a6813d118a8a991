"""`custom_vjp`: a function with a reverse derivative of its own."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control.custom.closures import StagedRules, convert
from tracejit.control.custom.rules import (
    Call,
    boxed,
    make_call,
    matching_leaf,
    matching_leaves,
    nondiff_positions,
    stage_call,
)
from tracejit.control.custom.vjp_ops import custom_vjp_op
from tracejit.control.custom.zeros import CustomVJPPrimal, tangents_for
from tracejit.control.regions.staging import call_untraced, flatten
from tracejit.errors import CustomRuleError, FunctionNeededError, MissingRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.values import Zero
from tracejit.tracing import bind, call_user, is_tracing, to_raw, wrap


class custom_vjp:
    """A function whose derivative in reverse is given by `defvjp`.

    Arguments in `nondiff_argnums` (or `nondiff_argnames`) are passed to `fwd` in place and to `bwd`
    first. Usable as a decorator: `@custom_vjp`, or `@partial(custom_vjp, nondiff_argnums=(0,))`.
    Defaults and keywords are arguments like the others: rules get all of them by position.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        FunctionNeededError.check("custom_vjp", fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """`fwd(*args) -> (out, residuals)`; `bwd(*nondiff, residuals, ct) -> cotangents, one an argument`.

        A cotangent of None is zero. With `symbolic_zeros`, the leaves of fwd's arguments are
        `custom_derivatives.CustomVJPPrimal`s, which say whether a derivative with respect to them is
        taken, and leaves of `ct` that are known to be zero are `custom_derivatives.SymbolicZero`s.
        `optimize_remat` is accepted for compatibility: unused residuals are never computed.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise MissingRuleError(name=getattr(self.fun, "__name__", "custom_vjp"), missing="defvjp")
        if not is_tracing():
            return call_untraced(self.fun, self.nondiff_argnums, args, kwargs)
        call = make_call(self.fun, self.nondiff_argnums, args, kwargs)
        staged = stage_call(call)
        rule = UserRules(self.fwd, self.bwd, call, self.symbolic_zeros)
        if staged is None:
            outs = bind(custom_vjp_op, *call.raw, jaxpr=None, fun=rule.primal, consts=0, rule=rule)
            return tree.unflatten(rule.out_tree, [wrap(x) for x in outs])
        rule.out_tree, rule.out_avals = staged.out_tree, staged.out_avals
        used: Any = rule
        jaxpr, consts = staged.jaxpr, staged.consts
        functions = self.fwd, self.bwd, *call.nondiff.values()
        converted = convert(
            lambda: StagedRules(rule, call.raw, staged.out_avals), functions, jaxpr, consts, call.raw
        )
        if converted is not None:
            used, jaxpr, consts = converted
        params = {"jaxpr": jaxpr, "fun": None, "consts": len(consts), "rule": used}
        outs = bind(custom_vjp_op, *consts, *call.raw, **params)
        return tree.unflatten(staged.out_tree, [wrap(x, w) for x, w in zip(outs, staged.weak, strict=True)])


class UserRules:
    """A user's rules on raw values. `extra` operands are given to a rule before the primals."""

    extra = 0

    def __init__(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], call: Call, symbolic: bool = False
    ) -> None:
        self.symbolic = symbolic
        self.user_fwd = fwd
        self.user_bwd = bwd
        self.call = call
        self.out_tree: Any = None
        self.out_avals: Sequence[Aval] | None = None

    def primal(self, *raw: Any) -> list[Any]:
        """The function itself on raw values."""
        args = boxed(self.call.in_tree, raw, self.call.weak)
        leaves, self.out_tree = tree.flatten(call_user(self.call.fun, *self.call.with_nondiff(args)))
        return [to_raw(x) for x in leaves]

    def fwd(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        """(outputs, residuals, what `bwd` needs to know about them)."""
        call = self.call
        name = f"the fwd rule of {call.name}"
        args = boxed(call.in_tree, primals, call.weak)
        if self.symbolic:
            args = tree.unflatten(call.in_tree, map(CustomVJPPrimal, tree.leaves(args), perturbed))
        result = call_user(self.user_fwd, *call.with_nondiff(args))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise CustomRuleError(rule=name, problem="it did not return a pair (out, residuals)")
        if self.out_avals is None:
            leaves, self.out_tree = tree.flatten(result[0])
            outs = [to_raw(x) for x in leaves]
        else:
            outs = matching_leaves(name, "the output", result[0], self.out_tree, self.out_avals)
        residuals = flatten(result[1])
        return outs, residuals.raw, (residuals.tree, residuals.weak)

    def bwd(
        self, info: Any, residuals: Sequence[Any], cts: Sequence[Any], avals: Sequence[Aval]
    ) -> list[Any]:
        """One cotangent (or Zero) a leaf of the arguments, whose tangent types are `avals`."""
        call = self.call
        name = f"the bwd rule of {call.name}"
        res = boxed(info[0], residuals, info[1])
        ct = boxed(self.out_tree, tangents_for(residuals, cts, self.symbolic))
        result = call_user(self.user_bwd, *call.nondiff_args(), res, ct)
        args = call.in_tree.children()
        if not isinstance(result, (tuple, list)) or len(result) != len(args):
            found = len(result) if isinstance(result, (tuple, list)) else type(result).__name__
            problem = f"it returned {found} instead of a tuple of {len(args)} cotangents, one an argument"
            raise CustomRuleError(rule=name, problem=problem)
        out: list[Any] = []
        it = iter(avals)
        for n, (got, sub) in enumerate(zip(result, args, strict=True)):
            out += _cotangents(name, f"cotangent {n}", got, sub, [next(it) for _ in range(sub.num_leaves)])
        return out


def _cotangents(name: str, what: str, got: Any, sub: Any, avals: Sequence[Aval]) -> list[Any]:
    """The leaves of one argument's cotangent; None at any node means zero."""
    if got is None:
        return [Zero(a) for a in avals]
    try:
        leaves = sub.flatten_up_to(got)
    except ValueError:
        found = tree.structure(got)
        raise CustomRuleError(
            rule=name, problem=f"{what} is {tree.show(found)} instead of {tree.show(sub)}"
        ) from None
    rows = list(zip(leaves, avals, tree.paths(sub, what), strict=True))
    for x, _, path in rows:
        if x is not None and not tree.structure(x).is_leaf():
            problem = f"{path} is {tree.show(tree.structure(x))} instead of a single array"
            raise CustomRuleError(rule=name, problem=problem)
    return [Zero(a) if x is None else matching_leaf(name, path, x, a) for x, a, path in rows]
