"""Builders of pointwise records beyond one dtype and one result: several results, operands of other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import NONLINEAR, ZERO_TANGENT, Op, OpFunction
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.helpers import (
    align_pointwise,
    batch_pointwise,
    broadcast_like,
    check_kind,
    common_dtype,
    common_shape,
    op_function,
    plain,
    sum_jvp,
)
from tracejit.ops.elementwise.arithmetic import add
from tracejit.tracing import bind

Derivative = Callable[..., Any]

# ---------------------------------------------------------------- several results


def several(
    name: str,
    doc: str,
    fn: Callable[..., Any],
    *,
    kernel: Callable[..., Any],
    derivatives: tuple[tuple[Derivative | None, ...], ...],
    kinds: str,
    results: Callable[[np.dtype], tuple[np.dtype, ...]],
    cost: int = 1,
) -> OpFunction[...]:
    """Register an op that maps element by element to several results, and return the function that binds it.

    As `helpers.pointwise`, except that `fn` and `kernel` give tuples, `results(dtype)` their dtypes, and
    `derivatives[r][n]` is what `(t, outs, *xs)` adds to the tangent of result r for the tangent `t` of
    operand n, None for nothing.
    """
    count = len(derivatives[0])

    def type_rule(*avals: Aval) -> list[Aval]:
        if len(avals) != count:
            raise TypeRuleError(op=name, problem=f"takes {count} operands, not {len(avals)}")
        check_kind(name, kinds, *avals)
        shape = common_shape(name, avals)
        return [Aval(shape, d) for d in results(common_dtype(name, avals))]

    def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        outs = bind(op, *primals)
        return outs, [_tangent(row, n, outs, primals, tangents) for n, row in enumerate(derivatives)]

    def batch(size: Any, args: Any, dims: Any) -> tuple[Any, Any]:
        xs, dim = align_pointwise(size, args, dims)
        outs = bind(op, *xs)
        return outs, [dim] * len(outs)

    op = plain(
        name=name,
        doc=doc,
        multi=True,
        type=type_rule,
        eval=fn,
        jvp=jvp,
        transpose=NONLINEAR,
        batch=batch,
        kernel=Pointwise(kernel, cost),
    )
    return op_function(op, count)


def _tangent(row: Any, n: int, outs: Any, primals: Any, tangents: Any) -> Any:
    """The tangent of result `n`: the sum over the operands that vary."""
    aval, total = aval_of(outs[n]), None
    for d, t in zip(row, tangents, strict=True):
        if d is not None and not is_zero(t):
            term = d(t, outs, *primals)
            total = term if total is None else add(total, term)
    return Zero(aval.tangent()) if total is None else broadcast_like(total, aval.shape)


# ---------------------------------------------------------------- a second operand of another dtype


def with_integers(
    name: str,
    doc: str,
    fn: Callable[..., Any],
    *,
    kernel: Callable[..., Any],
    derivative: Derivative | None,
    transpose: Any = NONLINEAR,
    cost: int = 1,
) -> OpFunction[...]:
    """Register `f(x, n)`, element by element, of floats and signed integers of any width.

    `derivative` is `(t, ans, x, n) -> tangent` for the floats, None where the result does not vary.
    """

    def type_rule(x: Aval, n: Aval) -> Aval:
        check_kind(name, "f", x)
        check_kind(name, "i", n)
        return Aval(common_shape(name, (x, n)), x.dtype)

    def get_op() -> Op:
        return op

    op = plain(
        name=name,
        doc=doc,
        type=type_rule,
        eval=fn,
        jvp=ZERO_TANGENT if derivative is None else sum_jvp(get_op, (derivative, None)),
        transpose=transpose,
        batch=batch_pointwise(get_op),
        kernel=Pointwise(kernel, cost),
    )
    return op_function(op, 2)
