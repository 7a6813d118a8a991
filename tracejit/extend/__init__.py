"""New primitives, defined in one call: what `tracejit.ops` does for its own, for everybody.

- `pointwise`: a function of every element, from a NumPy ufunc-like function and its derivatives.
- `composite`: a formula in NumPy, recorded as one operation; all rules follow from it.
- `primitive`: anything else, such as a call into a library, from its rules.

Rules take and give what users' functions do: NumPy arrays, which are boxes while something is traced.
A rule is called again by every transformation, so rules may be made of primitives with rules of their
own, this one included: that is where higher derivatives come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.docstrings import complete as _complete
from tracejit.errors import PrimitiveSlotError
from tracejit.extend.define import (
    LEADING_AXES,
    ONE_BY_ONE,
    OPAQUE,
    TRACED,
    claim,
    define,
    first_line,
    kernel_form,
    kernel_of,
    named,
)
from tracejit.extend.formula import Formula
from tracejit.extend.rules import Checked, eval_rule, tangent_rule, type_rule
from tracejit.ir.kernel import Composite, Kernel
from tracejit.ir.primitive import LINEAR, NONLINEAR, ZERO_TANGENT, Op, Sentinel, not_differentiable
from tracejit.numpy import dispatch, operands
from tracejit.ops.building import helpers
from tracejit.tracing import bind, wrap

__all__ = [
    "LEADING_AXES",
    "LINEAR",
    "NONLINEAR",
    "OPAQUE",
    "ONE_BY_ONE",
    "TRACED",
    "ZERO_TANGENT",
    "ShapeDtypeStruct",
    "composite",
    "not_differentiable",
    "pointwise",
    "primitive",
    "scale",
    "unscale",
]

# ---------------------------------------------------------------- pointwise


def pointwise(
    name: str,
    fn: Callable[..., Any],
    *,
    derivatives: Sequence[Callable[..., Any] | None] | Sentinel,
    kernel: Callable[..., Any] | Kernel | Sentinel = OPAQUE,
    kinds: str = "fc",
    result: Any = None,
    arity: int | None = None,
    cost: int = 20,
    doc: str | None = None,
    replace: bool = False,
) -> Callable[..., Any]:
    """Define a primitive that maps element by element; gives a function that broadcasts and promotes.

    `fn(*xs, **params)` computes it on arrays of equal dtype that broadcast (0-d ones are NumPy
    scalars). Keyword arguments of the function are params: static, and hashable where it is jitted.

    `derivatives` has for every operand `(t, ans, *xs, **params) -> tangent`, None for a derivative
    of zero, where `t` is the operand's tangent and `ans` the result. Compute the coefficient first:
    `np.cos(x) * t`; where it can be infinite, `scale(coefficient, t)`. Or `ZERO_TANGENT` (the result
    does not vary) or `not_differentiable(reason)`.

    `kernel` says what compiled programs do: `OPAQUE` calls `fn`; `TRACED` compiles `fn`, which must be
    made of operations that can be traced; a function `(k, *xs, **params)` writes the scalar code (see
    "How to add an op" in ARCHITECTURE.md), `cost` being its number of flops.

    `kinds` are the kinds of dtypes it takes, of 'biufc'; others are converted to float64, as NumPy's
    ufuncs do. `result` is the dtype of the result if it is not the operands' (or a function of theirs).

    Raises:
        PrimitiveNameError: the name is taken. `replace=True` defines a primitive of one's own anew.
        PrimitiveSlotError: the rules do not fit together.
    """
    check = Checked(name, False)
    if arity is None and isinstance(derivatives, Sentinel):
        arity = 1
    count = arity if isinstance(derivatives, Sentinel) else len(derivatives)
    assert count is not None
    claim(name, replace)
    rules: Any = derivatives
    if not isinstance(derivatives, Sentinel):
        rules = tuple(None if d is None else tangent_rule(check, n, d) for n, d in enumerate(derivatives))
    call = helpers.pointwise(
        name,
        first_line(doc, fn, name),
        lambda *xs, **params: evaluate(*xs, **params),
        kinds=kinds,
        kernel=kernel_of(check, kernel, fn, cost),
        derivatives=rules,
        arity=count,
        result=_result(result),
        cost=cost,
    )
    op: Op = call.op
    evaluate = eval_rule(check, fn, op.type)

    def function(*xs: Any, **params: Any) -> Any:
        if len(xs) != count:
            raise TypeError(f"{name}() takes {count} operands, not {len(xs)}")
        return wrap(bind(op, *_promoted(name, xs, kinds), **params))

    return named(function, op, doc or fn.__doc__)


def _result(result: Any) -> Callable[..., np.dtype]:
    if result is None:
        return lambda *ds: ds[0]
    if isinstance(result, np.dtype | type | str):
        fixed = dtypes.canonical(result)
        return lambda *ds: fixed
    return lambda *ds: dtypes.canonical(result(*ds))


def _promoted(name: str, xs: Sequence[Any], kinds: str) -> list[Any]:
    """Raw operands of one dtype and one shape (or 0-d), by NumPy's rules."""
    dtype = operands.result_type(*xs)
    if helpers.kind(dtype) not in kinds and dtype.kind in "biu":
        dtype = operands.promote(dtypes.float64, *map(operands.kind_of, xs))
    raws = [operands.convert(x, dtype) for x in xs]
    return operands.broadcast_operands(name, raws)


# ---------------------------------------------------------------- anything


def primitive(
    name: str,
    *,
    eval: Callable[..., Any],
    type: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | Sequence[Callable[..., Any] | None] | Sentinel | None = None,
    transpose: Callable[..., Any] | Sentinel = NONLINEAR,
    batch: Callable[..., Any] | Sentinel = ONE_BY_ONE,
    kernel: Kernel | Sentinel = OPAQUE,
    outputs: int = 1,
    effects: Iterable[str] = (),
    doc: str | None = None,
    replace: bool = False,
) -> Callable[..., Any]:
    """Define a primitive from its rules; gives a function of arrays, params by keyword.

    eval: `(*arrays, **params) -> array`, through NumPy or any library; it must not change its operands.
    type: `(*operands, **params) -> ShapeDtypeStruct` (or a pair (shape, dtype)), the operands being
        `ShapeDtypeStruct`s. Required.
    jvp: `(primals, tangents, **params) -> (out, tangent)`, or one `(t, ans, *primals, **params) ->
        tangent` an operand, None where the derivative is zero. `LINEAR`: the primitive is linear in all
        its floating-point operands jointly. `ZERO_TANGENT`: the result does not vary. Without one,
        derivatives are refused, as they are by `not_differentiable(reason)`.
    transpose: `(ct, *operands, **params) -> cotangents`, one an operand: needed for reverse mode where
        the primitive is applied to tangents, as it is if it is `LINEAR` or if its own jvp rule does so.
        Operands to be transposed are given as `ShapeDtypeStruct`s; entries of the others are None.
    batch: `(size, operands, dims, **params) -> (out, dim)`, dims being axes or None; or `LEADING_AXES`
        or `ONE_BY_ONE`.
    kernel: `OPAQUE`, `TRACED` (`eval` is traced and compiled), or a form of `tracejit.ir.kernel`.
    outputs: how many there are. More than one: rules give and take tuples of them.
    effects: 'ordered' if it must neither be dropped, duplicated nor moved.

    Tangents and cotangents that are known to be zero come as arrays of zeros; a rule may return None
    for a zero.

    Raises:
        PrimitiveNameError: the name is taken. `replace=True` defines a primitive of one's own anew.
        PrimitiveSlotError: a rule is missing, or does not fit the others.
        PrimitiveRuleError: (when a rule runs) it returned something of the wrong structure or type.
    """
    check = Checked(name, outputs > 1)
    if type is None:
        problem = "a type rule is needed: give type=, or use composite for a formula"
        raise PrimitiveSlotError(name=name, problem=problem)
    types = type_rule(check, type)
    return define(
        check,
        type=types,
        eval=eval_rule(check, eval, types),
        jvp=not_differentiable("it has no jvp rule") if jvp is None else jvp,
        transpose=transpose,
        batch=batch,
        kernel=kernel_form(check, kernel, eval),
        effects=effects,
        doc=first_line(doc, eval, name),
        text=doc or eval.__doc__,
        replace=replace,
    )


def composite(
    name: str,
    formula: Callable[..., Any],
    *,
    jvp: Callable[..., Any] | Sequence[Callable[..., Any] | None] | Sentinel | None = None,
    transpose: Callable[..., Any] | None = None,
    batch: Callable[..., Any] | None = None,
    outputs: int = 1,
    doc: str | None = None,
    replace: bool = False,
) -> Callable[..., Any]:
    """Define a primitive by a formula in NumPy: one equation in programs, compiled as what it is made of.

    `formula(*arrays, **params) -> array` (a tuple if `outputs` is more than 1). Its derivatives and its
    batching follow; `jvp`, `transpose` and `batch` (as for `primitive`) replace them by better ones.
    Operands are arrays: a Python number is float64 or int64.

    Raises:
        PrimitiveNameError: the name is taken. `replace=True` defines a primitive of one's own anew.
        PrimitiveRuleError: (when it runs) the formula does not return what it should.
    """
    check = Checked(name, outputs > 1)
    rules = Formula(check, formula)
    return define(
        check,
        type=rules.type,
        eval=rules.eval,
        jvp=rules.jvp if jvp is None else jvp,
        transpose=rules.transpose if transpose is None else transpose,
        batch=rules.batch if batch is None else batch,
        kernel=Composite(rules.expand),
        effects=(),
        doc=first_line(doc, formula, name),
        text=doc or formula.__doc__,
        replace=replace,
    )


# ---------------------------------------------------------------- products for rules


def scale(coefficient: Any, t: Any) -> Any:
    """`coefficient * t`, and 0 where one of them is 0: for derivatives whose coefficient can be infinite."""
    return wrap(ops.arithmetic.scale(*_promoted("scale", (coefficient, t), "fc")))


def unscale(t: Any, divisor: Any) -> Any:
    """`t / divisor`, and 0 where `t` is 0: for derivatives whose divisor can be 0."""
    return wrap(ops.arithmetic.unscale(*_promoted("unscale", (t, divisor), "fc")))


_complete(__name__)
