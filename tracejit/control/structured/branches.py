"""`cond` and `switch` for users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.control.cond.op import cond_op
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.staging import (
    Staged,
    check_functions,
    convert,
    flatten,
    stage_user,
    unaliased,
    with_output_dtypes,
)
from tracejit.control.structured import python_loops
from tracejit.errors import ArgumentError, BranchTypeError, PredicateError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import arg_avals
from tracejit.ir.avals import Dim, aval_of
from tracejit.ir.elsewhere import to_host
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.values import Value
from tracejit.tracing import NUMPYS, bind, to_raw, wrap

_NONE: Any = object()  # `operand=None` is an operand


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NONE,
) -> Any:
    """`true_fun(*operands)` if `pred` else `false_fun(*operands)`, as one operation.

    Both branches are recorded and compared, also where the predicate's value is known; then only the chosen
    one runs. A single operand may be named.

    Raises:
        PredicateError: `pred` is not a boolean or number of no dimensions.
        BranchTypeError: the branches give different structures or types.
    """
    operands = _operands(operands, operand)
    check_functions("cond", true_fun=true_fun, false_fun=false_fun)
    raw = to_raw(pred, "the predicate of cond")
    aval = aval_of(raw)
    if aval.shape != () or dtypes.is_complex(aval.dtype):
        raise PredicateError(op="cond", aval=str(aval), wanted="a boolean of no dimensions")
    known = _known(raw)
    if known is not None:
        known = 0 if known else 1
    elif aval.dtype != dtypes.bool_:
        raw = ops.compare.ne(raw, aval.dtype.type(0))
    # Errors name the branches in the order of the arguments; the index of true_fun is 1.
    return _choose(raw, known, (true_fun, false_fun), operands, "cond", ("true_fun", "false_fun"))


def _operands(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NONE:
        return operands
    if operands:
        raise TypeError("operands are given by position or as operand=, not both")
    return (operand,)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NONE) -> Any:
    """`branches[index](*operands)`; an index out of range is clamped.

    Raises:
        PredicateError: `index` is not an integer of no dimensions.
        BranchTypeError: the branches give different structures or types.
    """
    operands = _operands(operands, operand)
    raw = to_raw(index, "the index of switch")
    aval = aval_of(raw)
    if aval.shape != () or not dtypes.is_integer(aval.dtype):
        raise PredicateError(op="switch", aval=str(aval), wanted="an integer of no dimensions")
    if not branches:
        raise ArgumentError(name="switch", problem="there are no branches")
    last = len(branches) - 1
    names = tuple(f"branch {n}" for n in range(len(branches)))
    check_functions("switch", **dict(zip(names, branches, strict=True)))
    known = 0 if last == 0 else _known(raw)
    if known is not None:
        known = min(max(int(known), 0), last)
    else:
        wide = convert(raw, dtypes.int64)
        raw = ops.arithmetic.minimum(ops.arithmetic.maximum(wide, np.int64(0)), np.int64(last))
    return _choose(raw, known, tuple(branches), operands, "switch", names)


def _known(raw: Any) -> Any:
    """The value if it is known now, else None."""
    if not isinstance(raw, Value):
        return to_host(raw)[()]
    primal = getattr(raw, "primal", None)  # what is being differentiated may be known all the same
    return None if primal is None else _known(primal)


def _choose(
    index: Any,
    known: int | None,
    functions: Sequence[Callable[..., Any]],
    operands: Any,
    op: str,
    names: Sequence[str],
) -> Any:
    """The function that `index` chooses, the one at position `known` if that is known."""
    if known is not None and python_loops.applies():
        return python_loops.branch(functions[known], operands)
    given = flatten(operands, "operands")
    avals = arg_avals(given.raw)
    trees = [tree.structure(x) for x in operands]
    bounds = [getattr(x, "bounds", None) for x in given.raw]
    staged = [stage_user(f, trees, avals, given.weak, op, bounds, arrays=True) for f in functions]
    staged = _agree(staged, op, names)
    if known is not None:
        chosen = staged[known]
        outs = eval_jaxpr(chosen.jaxpr, [*chosen.consts, *given.raw])
        outs = unaliased(outs, (*chosen.consts, *given.raw))
    else:
        consts, jaxprs = common_consts(staged)
        if op == "cond":
            jaxprs.reverse()
        outs = bind(cond_op, index, *consts, *given.raw, branches=tuple(jaxprs))
    weak = [all(s.weak[n] for s in staged) for n in range(len(outs))]
    return tree.unflatten(
        staged[0].out_tree, [wrap(x, w and NUMPYS) for x, w in zip(outs, weak, strict=True)]
    )


def _agree(staged: list[Staged], op: str, names: Sequence[str]) -> list[Staged]:
    """The branches with common output types: Python scalars adopt what the others give."""
    first = staged[0]
    for s, name in zip(staged[1:], names[1:], strict=True):
        if s.out_tree != first.out_tree:
            a, b = tree.show(first.out_tree), tree.show(s.out_tree)
            raise BranchTypeError(op=op, first=names[0], second=name, path="output", a=a, b=b)
    targets = [_common(staged, n, op, names) for n in range(len(first.weak))]
    return [with_output_dtypes(s, targets) for s in staged]


def _common(staged: list[Staged], n: int, op: str, names: Sequence[str]) -> np.dtype:
    avals = [s.out_avals[n] for s in staged]
    strong = [a.dtype for a, s in zip(avals, staged, strict=True) if not s.weak[n]]
    target = strong[0] if strong else np.result_type(*(a.dtype for a in avals))
    for k, (a, s) in enumerate(zip(avals, staged, strict=True)):
        fits = a.dtype == target or (s.weak[n] and np.result_type(a.dtype.type(0).item(), target) == target)
        if len(a.shape) != len(avals[0].shape) or not fits or (a.is_static and a.shape != avals[0].shape):
            raise BranchTypeError(
                op=op, first=names[0], second=names[k], path=s.paths[n], a=str(avals[0]), b=str(a)
            )
    return target


def common_consts(staged: Sequence[Staged]) -> tuple[list[Any], list[Jaxpr]]:
    """All branches over the same leading constants."""
    consts: list[Any] = []
    position: dict[int, int] = {}
    for s in staged:
        for c in s.consts:
            if id(c) not in position:
                position[id(c)] = len(consts)
                consts.append(c)
    return consts, [_widened(s, consts, position) for s in staged]


def _widened(staged: Staged, consts: Sequence[Any], position: dict[int, int]) -> Jaxpr:
    """The branch with inputs for all `consts`, its own ones among them."""
    jaxpr, count = staged.jaxpr, len(staged.consts)
    own = {position[id(c)]: v for c, v in zip(staged.consts, jaxpr.invars, strict=False)}
    invars: list[Var] = []
    for n, c in enumerate(consts):
        aval = aval_of(c)
        if n not in own and not aval.is_static:
            dims = (
                Dim(invars[position[id(d.var)]], d.bound) if isinstance(d, Dim) else d for d in aval.shape
            )
            aval = aval.with_shape(tuple(dims))
        invars.append(own[n] if n in own else Var(None, aval))
    return intern_jaxpr(Jaxpr((*invars, *jaxpr.invars[count:]), jaxpr.eqns, jaxpr.outs, jaxpr.name))
