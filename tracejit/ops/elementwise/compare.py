"""Comparisons, logic on booleans and bits, tests of floats, and choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_EFFECTS,
    NO_INPLACE,
    NONLINEAR,
    ZERO_TANGENT,
    Op,
    binds,
    with_series,
)
from tracejit.ir.values import Zero, is_linear, is_zero
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import (
    batch_pointwise,
    broadcast_like,
    common_dtype,
    common_shape,
    dtype_of,
    lift,
    lift_all,
    pointwise,
    unbroadcast,
)
from tracejit.ops.kernels import scalar_order
from tracejit.tracing import bind


def _bool(*_: Any) -> np.dtype:
    return dtypes.bool_


def _comparison(name: str, doc: str, fn: Any, kernel: Any, says: Any) -> Any:
    return pointwise(
        name,
        doc,
        fn,
        kinds="biufc",
        kernel=kernel,
        derivatives=ZERO_TANGENT,
        arity=2,
        result=_bool,
        bounds=says,
    )


eq = _comparison("eq", "x == y", np.equal, scalar_order.equal, ids.equal_says)
ne = _comparison("ne", "x != y", np.not_equal, scalar_order.not_equal, ids.unequal_says)
lt = _comparison("lt", "x < y", np.less, scalar_order.order("lt"), ids.less_says)
le = _comparison("le", "x <= y", np.less_equal, scalar_order.order("le"), ids.at_most_says)
gt = _comparison("gt", "x > y", np.greater, scalar_order.order("gt"), ids.more_says)
ge = _comparison("ge", "x >= y", np.greater_equal, scalar_order.order("ge"), ids.at_least_says)

# ---------------------------------------------------------------- logic and bits

and_ = pointwise(
    "and_",
    "bitwise and; logical on booleans",
    np.bitwise_and,
    kinds="biu",
    kernel=lambda k, x, y: k.and_(x, y),
    derivatives=ZERO_TANGENT,
    arity=2,
    simplify=(*ids.both_sides(True, "b"), ids.same_operands),
    bounds=ids.both_say,
)

or_ = pointwise(
    "or_",
    "bitwise or; logical on booleans",
    np.bitwise_or,
    kinds="biu",
    kernel=lambda k, x, y: k.or_(x, y),
    derivatives=ZERO_TANGENT,
    arity=2,
    simplify=(*ids.both_sides(0, "biu"), ids.same_operands),
    bounds=ids.either_says,
)

xor = pointwise(
    "xor",
    "bitwise exclusive or",
    np.bitwise_xor,
    kinds="biu",
    kernel=lambda k, x, y: k.xor(x, y),
    derivatives=ZERO_TANGENT,
    arity=2,
    simplify=ids.both_sides(0, "biu"),
)

not_ = pointwise(
    "not_",
    "bitwise complement; logical on booleans",
    np.invert,
    kinds="biu",
    kernel=lambda k, x: k.not_(x),
    derivatives=ZERO_TANGENT,
    simplify=(ids.undoes("not_"),),
    bounds=ids.not_says,
)

shift_left = pointwise(
    "shift_left",
    "x << n, 0 for counts of the width or more",
    np.left_shift,
    kinds="iu",
    kernel=scalar_order.shift("shl"),
    derivatives=ZERO_TANGENT,
    arity=2,
    bounds=ids.shift_left_bounds,
    simplify=(ids.neutral(1, 0, "iu"),),
)

shift_right = pointwise(
    "shift_right",
    "x >> n, arithmetic for signed integers",
    np.right_shift,
    kinds="iu",
    kernel=scalar_order.shift("ashr"),
    derivatives=ZERO_TANGENT,
    arity=2,
    bounds=ids.shift_right_bounds,
    simplify=(ids.neutral(1, 0, "iu"),),
)

# ---------------------------------------------------------------- tests of floats


def _test(name: str, doc: str, fn: Any, kinds: str, kernel: Any) -> Any:
    return pointwise(name, doc, fn, kinds=kinds, kernel=kernel, derivatives=ZERO_TANGENT, result=_bool)


isnan = _test("isnan", "x is not a number", np.isnan, "fc", lambda k, x: k.isnan(x))
isinf = _test("isinf", "x is infinite", np.isinf, "fc", scalar_order.isinf)
isfinite = _test("isfinite", "x is neither infinite nor NaN", np.isfinite, "fc", scalar_order.isfinite)
signbit = _test("signbit", "the sign bit of x is set", np.signbit, "f", scalar_order.signbit)

# ---------------------------------------------------------------- choice


def _select_type(pred: Aval, x: Aval, y: Aval) -> Aval:
    if pred.dtype != dtypes.bool_:
        raise TypeRuleError(
            op="select", problem=f"the predicate is {dtypes.short_name(pred.dtype)}, not bool"
        )
    return Aval(common_shape("select", (pred, x, y)), common_dtype("select", (x, y)))


def _select_eval(pred: Any, x: Any, y: Any) -> Any:
    return np.where(pred, x, y)[()]


def _zero(t: Any, other: Any) -> Any:
    return lift(0, dtype_of(other)) if is_zero(t) else t


def _select_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    out = select(*primals)
    _, tx, ty = tangents
    aval = aval_of(out)
    if is_zero(tx) and is_zero(ty):
        return out, Zero(aval.tangent())
    return out, broadcast_like(select(primals[0], _zero(tx, out), _zero(ty, out)), aval.shape)


def _select_transpose(ct: Any, pred: Any, x: Any, y: Any) -> list[Any]:
    zero = lift(0, dtype_of(ct))
    ct_x = unbroadcast(select(pred, ct, zero), x.aval) if is_linear(x) else None
    ct_y = unbroadcast(select(pred, zero, ct), y.aval) if is_linear(y) else None
    return [None, ct_x, ct_y]


_select = Op(
    name="select",
    doc="on_true where pred, else on_false",
    multi=False,
    type=_select_type,
    eval=_select_eval,
    inplace=NO_INPLACE,
    jvp=with_series(_select_jvp, LINEAR),
    linearize=FROM_JVP,
    transpose=_select_transpose,
    batch=batch_pointwise(lambda: _select),
    simplify=(ids.select_known,),
    effects=NO_EFFECTS,
    bounds=ids.select_bounds,
    kernel=Pointwise(lambda k, pred, x, y: k.select(pred, x, y)),
)


@binds(_select)
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`np.where(pred, on_true, on_false)`; each operand 0-d or full."""
    return bind(_select, lift(pred, dtypes.bool_), *lift_all((on_true, on_false)))


def _inside(x: Any, lo: Any, hi: Any) -> Any:
    return and_(gt(x, lo), lt(x, hi))


def _masked(mask: Any, t: Any) -> Any:
    return select(mask, t, lift(0, dtype_of(t)))


clamp = pointwise(
    "clamp",
    "min(max(x, lo), hi)",
    lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi),
    kinds="biuf",
    kernel=lambda k, x, lo, hi: scalar_order.minimum(k, scalar_order.maximum(k, x, lo), hi),
    derivatives=(
        lambda t, ans, x, lo, hi: _masked(_inside(x, lo, hi), t),
        lambda t, ans, x, lo, hi: _masked(gt(lo, x), t),
        lambda t, ans, x, lo, hi: _masked(lt(hi, x), t),
    ),
    transpose=NONLINEAR,
    bounds=ids.clamp_bounds,
    cost=2,
)
