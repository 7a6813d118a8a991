"""`closure_convert` and `custom_gradient`: functions made free of what they close over."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import dtypes, tree
from tracejit.control.custom.vjp import custom_vjp
from tracejit.control.regions.staging import Staged, flatten, stage_user
from tracejit.errors import CustomRuleError, PytreeMismatchError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import arg_avals
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.values import Value
from tracejit.tracing import call_user, is_tracing, to_raw, wrap


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """`(converted, hoisted)`: a function that closes over nothing that is differentiated, batched or traced.

    `converted(*args, *hoisted)` is `fun(*args)` for arguments of the structure, shapes and dtypes of
    `example_args`; `hoisted` are the floating-point values that `fun` closes over and that belong to a
    transformation around this call. So a function with custom rules can take them as arguments and
    be differentiated with respect to them. Everything else `fun` closes over stays where it is.

    Raises:
        PytreeMismatchError: `converted` is called with arguments of another structure.
    """
    return _converted(fun, example_args, _perturbable)


def convert_all(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """`closure_convert` that hoists all traced values, integers too: the function may be called by rules that run
    when the trace around this call has ended."""
    return _converted(fun, example_args, lambda c: isinstance(c, Value))


def _converted(
    fun: Callable[..., Any], example_args: Sequence[Any], is_hoisted: Callable[[Any], bool]
) -> tuple[Callable[..., Any], list[Any]]:
    staged = _stage(fun, example_args)
    structure = tree.structure(tuple(example_args))
    moved = [is_hoisted(c) for c in staged.consts]
    hoisted = [wrap(c) for c, m in zip(staged.consts, moved, strict=True) if m]
    n_hoisted = len(hoisted)

    @functools.wraps(fun)
    def converted(*args: Any) -> Any:
        count = len(args) - n_hoisted
        given = flatten(args[: max(count, 0)])
        if given.tree != structure:
            problem = f"expected {structure} and {n_hoisted} hoisted values, got {tree.structure(args)}"
            raise PytreeMismatchError(what="the arguments of a converted function", path="", problem=problem)
        consts = iter([to_raw(x) for x in args[count:]])
        values = [next(consts) if m else c for c, m in zip(staged.consts, moved, strict=True)]
        return _result(staged, [*values, *given.raw])

    return converted, hoisted


def _stage(fun: Callable[..., Any], args: Sequence[Any]) -> Staged:
    given = flatten(tuple(args))
    name = getattr(fun, "__name__", "converted")
    return stage_user(fun, given.tree.children(), arg_avals(given.raw), given.weak, name)


def _perturbable(x: Any) -> bool:
    """Whether a constant may be differentiated or batched by a transformation that is under way."""
    return isinstance(x, Value) and dtypes.is_inexact(aval_of(x).dtype)


def _result(staged: Staged, values: Sequence[Any]) -> Any:
    outs = eval_jaxpr(staged.jaxpr, values)
    return tree.unflatten(staged.out_tree, [wrap(x, w) for x, w in zip(outs, staged.weak, strict=True)])


class _Pullback:
    """A pullback as residuals: what it closes over are its leaves, the program belongs to the structure."""

    def __init__(self, jaxpr: Jaxpr, about: Any, consts: Sequence[Any]) -> None:
        self.jaxpr = jaxpr
        self.about = about  # the structure of its result, and which leaves are weak
        self.consts = consts


tree.register(
    _Pullback,
    lambda p: (p.consts, (p.jaxpr, p.about)),
    lambda aux, consts: _Pullback(aux[0], aux[1], list(consts)),
)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its derivative in reverse: `fun(*args) -> (out, pullback)`.

    Gives a function that returns `out`. `pullback(ct)` returns a cotangent for every argument, a tuple
    (or the cotangent itself if there is one argument); it may close over anything that `fun` computed.

    Raises:
        CustomRuleError: `fun` does not return a pair, or the pullback not a cotangent an argument.
    """
    name = getattr(fun, "__name__", "custom_gradient")

    def pair(args: tuple[Any, ...]) -> Any:
        got = call_user(fun, *args) if is_tracing() else fun(*args)
        if not isinstance(got, tuple) or len(got) != 2:
            raise CustomRuleError(rule=name, problem="it did not return a pair (out, pullback)")
        return got

    @functools.wraps(fun)
    def primal(*args: Any) -> Any:
        return pair(args)[0]

    def fwd(*args: Any) -> Any:
        out, pullback = pair(args)
        staged = _stage(pullback, (out,))
        consts = [wrap(c) for c in staged.consts]
        return out, _Pullback(staged.jaxpr, (staged.out_tree, staged.weak), consts)

    def bwd(p: _Pullback, ct: Any) -> Any:
        out_tree, weak = p.about
        staged = Staged(p.jaxpr, [], out_tree, weak)
        cts = _result(staged, [*(to_raw(c) for c in p.consts), *(to_raw(x) for x in tree.leaves(ct))])
        return cts if isinstance(cts, (tuple, list)) and not out_tree.is_leaf() else (cts,)

    converted = custom_vjp(primal)
    converted.defvjp(fwd, bwd)
    return converted
