"""What custom_jvp and custom_vjp share: calling users' rules on raw values, checking what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import dtypes, tree
from tracejit.control.custom.zeros import SymbolicZero
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.staging import Staged, convert, flatten, stage_user
from tracejit.errors import (
    ConcreteValueError,
    CustomRuleError,
    TracerArrayError,
    TracerBoolError,
    TracerFloatError,
    TracerIntegerError,
)
from tracejit.errors.refusals import attempt
from tracejit.interpreters.autodiff.tangents import TangentTrace
from tracejit.interpreters.stage import StageTrace, arg_avals
from tracejit.interpreters.vmap import BatchTrace, batch_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.primitive import Op
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.records import record
from tracejit.tracing import Box, bind, box, call_user, current_trace, to_raw

# What a function raises that looks at the values of its arguments while it is staged.
_NEEDS_VALUES = (ConcreteValueError, TracerArrayError, TracerBoolError, TracerFloatError, TracerIntegerError)


@record(frozen=True)
class Call:
    """One call of a function with custom rules: its differentiable arguments as leaves."""

    fun: Callable[..., Any]
    nondiff: dict[int, Any]  # position -> argument
    raw: list[Any]
    weak: list[bool]
    in_tree: Any
    name: str

    def with_nondiff(self, args: Sequence[Any]) -> list[Any]:
        """All arguments of the function, in order."""
        it = iter(args)
        count = len(args) + len(self.nondiff)
        return [self.nondiff[n] if n in self.nondiff else next(it) for n in range(count)]

    def nondiff_args(self) -> list[Any]:
        return [self.nondiff[n] for n in sorted(self.nondiff)]


def make_call(fun: Callable[..., Any], nondiff_argnums: Sequence[int], args: Any, kwargs: Any) -> Call:
    """Arguments by position, keywords and defaults filled in."""
    name = getattr(fun, "__name__", type(fun).__name__)
    args = positional(fun, args, kwargs)
    fixed = {n % len(args) for n in nondiff_argnums}
    given = flatten(tuple(a for n, a in enumerate(args) if n not in fixed))
    return Call(fun, {n: args[n] for n in fixed}, given.raw, given.weak, given.tree, name)


def positional(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, with defaults. Raises TypeError for keyword-only ones that are given."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:  # no signature is known
        if not kwargs:
            return args
        raise
    given = set(bound.arguments)
    bound.apply_defaults()
    only = [n for n in bound.kwargs if n in given or n not in bound.signature.parameters]
    if only:
        name = getattr(fun, "__name__", type(fun).__name__)
        raise TypeError(
            f"{name}: keyword-only arguments ({', '.join(only)}) can't be given to a function with "
            "custom rules, which know arguments by position"
        )
    return bound.args


def nondiff_positions(
    fun: Callable[..., Any], nums: int | Sequence[int], names: str | Sequence[str]
) -> tuple[int, ...]:
    """`nondiff_argnums` and `nondiff_argnames` as positions. Raises ValueError for an unknown name."""
    numbers = (nums,) if isinstance(nums, int) else tuple(nums)
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if not wanted:
        return numbers
    parameters = list(inspect.signature(fun).parameters)
    for name in wanted:
        if name not in parameters:
            raise ValueError(f"nondiff_argnames: {name!r} is not a parameter of {fun.__name__}")
    return tuple(dict.fromkeys((*numbers, *(parameters.index(name) for name in wanted))))


def stage_call(call: Call) -> Staged | None:
    """The function as a jaxpr, or None if it branches on values that are known here."""

    def run(args: tuple[Any, ...]) -> Any:
        return call_user(call.fun, *call.with_nondiff(args))

    try:
        bounds = [getattr(x, "bounds", None) for x in call.raw]
        with attempt(*_NEEDS_VALUES) if _all_concrete(current_trace()) else attempt():
            staged = stage_user(run, [call.in_tree], arg_avals(call.raw), call.weak, call.name, bounds)
    except _NEEDS_VALUES:
        if _all_concrete(current_trace()):
            return None
        raise
    return Staged(intern_jaxpr(staged.jaxpr), staged.consts, staged.out_tree, staged.weak)


def _all_concrete(trace: Any) -> bool:
    while trace is not None:
        if isinstance(trace, (StageTrace, BatchTrace)) and not isinstance(trace, TangentTrace):
            return False
        trace = trace.parent
    return True


def boxed(treedef: Any, raw: Sequence[Any], weak: Sequence[bool] | None = None) -> Any:
    """A tree of fresh boxes."""
    flags = weak or [False] * len(raw)
    leaves = [x if type(x) is SymbolicZero else box(x, w) for x, w in zip(raw, flags, strict=True)]
    return tree.unflatten(treedef, leaves)


def matching_leaves(rule: str, what: str, got: Any, treedef: Any, avals: Sequence[Aval]) -> list[Any]:
    """The raw leaves of `got`, which must have structure `treedef` and types `avals`; None stands for zero.

    Raises:
        CustomRuleError: it has not.
    """
    leaves, structure = tree.flatten(got)
    if structure != treedef:
        raise CustomRuleError(
            rule=rule, problem=f"{what} is {tree.show(structure)} instead of {tree.show(treedef)}"
        )
    rows = zip(leaves, avals, tree.paths(treedef, what), strict=True)
    return [matching_leaf(rule, path, x, aval) for x, aval, path in rows]


def matching_leaf(rule: str, path: str, x: Any, aval: Aval) -> Any:
    """`x` as a raw value of type `aval`; a Zero for integers."""
    if aval.dtype == dtypes.float0 or type(x) is SymbolicZero:
        return Zero(aval)
    raw = to_raw(x, path)
    found = aval_of(raw)
    if found.dtype == dtypes.float0:
        return Zero(aval)
    weak = x.weak if type(x) is Box else type(x) in (bool, int, float, complex)
    if len(found.shape) != len(aval.shape) or (
        found.is_static and aval.is_static and found.shape != aval.shape
    ):
        raise CustomRuleError(rule=rule, problem=f"{path} is {found} instead of {aval}")
    if found.dtype != aval.dtype:
        if not weak:
            raise CustomRuleError(rule=rule, problem=f"{path} is {found} instead of {aval}")
        raw = convert(raw, aval.dtype)
    return raw


def name_of_rule(rule: Any) -> str:
    """The user's function that a rule belongs to."""
    while hasattr(rule, "rule"):
        rule = rule.rule
    return rule.call.name


def batch_with(get_op: Callable[[], Op], batched_rule: Callable[..., Any]) -> Callable[..., Any]:
    """The batch rule of an op with a user's rule: its jaxpr batched, its rule wrapped in `batched_rule`."""

    def batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[list[Any], list[Any]]:
        moved = helpers.batch_axes_first(args, dims)
        batched = tuple(d is not None for d in dims)
        new, _ = batch_jaxpr(params["jaxpr"], size, batched, True, processing_axis())
        front = [0 if b else None for b in batched[params["consts"] - params["rule"].extra :]]
        rule = batched_rule(params["rule"], size, front, processing_axis())
        outs = bind(get_op(), *moved, **{**params, "jaxpr": new, "rule": rule})
        return list(outs), [0] * len(outs)

    return batch
