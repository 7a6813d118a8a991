"""Reductions over axes: `axes` are sorted, non-negative and static. The dtype is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Reduce
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_INPLACE,
    NONLINEAR,
    ZERO_TANGENT,
    Op,
    OpFunction,
    Rule,
    Sentinel,
    binds,
)
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import check_axis, check_kind, lift, shape_of, shift_axes
from tracejit.ops.elementwise.arithmetic import mul, unscale
from tracejit.ops.elementwise.compare import eq, select
from tracejit.ops.kernels import scalar, scalar_order
from tracejit.ops.shapes.moves import sum_of_products
from tracejit.tracing import bind


def _check_axes(name: str, axes: tuple[int, ...], ndim: int) -> None:
    for a in axes:
        check_axis(name, a, ndim)
    if list(axes) != sorted(set(axes)):
        raise ShapeError(op=name, problem=f"axes {axes} are not sorted or not distinct.")


def _reduction(
    name: str,
    doc: str,
    fn: Callable[..., Any],
    *,
    kernel: Reduce,
    jvp: Rule | Sentinel,
    kinds: str,
    transpose: Rule | Sentinel = NONLINEAR,
    result: np.dtype | None = None,
    identity: bool = True,
    simplify: tuple[Rule, ...] = (),
) -> OpFunction[...]:
    """Register `fn(x, axes)`; `identity`: it has a value for no elements at all."""

    def type_rule(x: Aval, *, axes: tuple[int, ...]) -> Aval:
        check_kind(name, kinds, x)
        _check_axes(name, axes, x.ndim)
        if not identity and any(type(x.shape[a]) is int and x.shape[a] == 0 for a in axes):
            raise ShapeError(
                op=name, problem=f"an axis of {x.shape} has no elements, and there is no identity."
            )
        return Aval(tuple(s for n, s in enumerate(x.shape) if n not in axes), result or x.dtype)

    def batch(size: Any, args: Any, dims: Any, *, axes: tuple[int, ...]) -> tuple[Any, int]:
        (d,) = dims
        inner = shift_axes(axes, d)
        return bind(op, args[0], axes=inner), d - sum(a < d for a in inner)

    op = Op(
        name=name,
        doc=doc,
        multi=False,
        type=type_rule,
        eval=lambda x, *, axes: fn(x, axes),
        inplace=NO_INPLACE,
        jvp=jvp,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=batch,
        simplify=(ids.unchanged(lambda e: not e.params["axes"]), *simplify) if result is None else (),
        effects=NO_EFFECTS,
        bounds=NO_BOUNDS,
        kernel=kernel,
    )

    def reduce(x: Any, *, axes: Sequence[int]) -> Any:
        return bind(op, x, axes=tuple(sorted(axes))) if len(axes) or result is not None else x

    reduce.__name__, reduce.__doc__ = name, doc
    return binds(op)(reduce)


def _ufunc(ufunc: np.ufunc) -> Callable[..., Any]:
    def fn(x: Any, axes: tuple[int, ...]) -> Any:
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)

    return fn


def spread(x: Any, axes: tuple[int, ...], shape: Any) -> Any:
    """A reduced value repeated along the axes that were reduced."""
    # A constant stays a scalar: as an array it would be an operand of the program.
    x = ops.shape.expand_dims(x, axes) if shape_of(x) else x
    return ops.shape.broadcast_to(x, shape)


# ---------------------------------------------------------------- kernels


def _wide(dtype: np.dtype) -> np.dtype:
    """Half precision accumulates in float32."""
    return np.dtype(np.float32) if dtypes.is_float(dtype) and dtype.itemsize == 2 else dtype


def _fold(
    start: Callable[[np.dtype], Any], step: Callable[..., Any], tree: str, wide: bool = False
) -> Reduce:
    """A reduction with one scalar of state."""

    def state_dtype(d: np.dtype) -> np.dtype:
        return _wide(d) if wide else d

    return Reduce(
        init=lambda k, dtype: (k.const(start(dtype), state_dtype(dtype)),),
        step=lambda k, state, x, index: (step(k, state[0], k.cast(x, state_dtype(x.dtype))),),
        finish=lambda k, state, dtype: k.cast(state[0], dtype),
        tree=tree,
    )


def _arg_kernel(predicate: str, extreme: Callable[..., Any]) -> Reduce:
    """State: the extreme element, its index. The first one wins; NaN beats all."""
    better = scalar_order.order(predicate)

    def step(k: Any, state: Any, x: Any, index: Any) -> tuple:
        best, where = state
        take = k.or_(k.eq(index, 0), better(k, x, best))
        if scalar.kind(x) in "fc":
            take = k.and_(k.or_(take, k.isnan(x)), k.not_(k.and_(k.isnan(best), k.ne(index, 0))))
        return k.select(take, x, best), k.select(take, index, where)

    return Reduce(
        init=lambda k, dtype: (k.const(0, dtype), k.const(0, np.int64)),
        step=step,
        finish=lambda k, state, dtype: k.cast(state[1], dtype),
        tree="ordered",
        extreme=extreme,
    )


# ---------------------------------------------------------------- sum and product

reduce_sum = _reduction(
    "reduce_sum",
    "the sum over axes",
    _ufunc(np.add),
    kinds="biufc",
    kernel=_fold(lambda d: 0, scalar.add, "sum", wide=True),
    jvp=LINEAR,
    transpose=lambda ct, x, *, axes: [spread(ct, axes, x.aval.shape)],
    simplify=(sum_of_products,),
)


def product_of_others(x: Any, axis: int) -> Any:
    """Along `axis`, the product of all other elements: right where some are zero."""
    cumprod, shift = ops.cumulative.cumprod, ops.cumulative.shift
    before = cumprod(shift(x, axis, 1, 1), axis=axis, reverse=False)
    after = cumprod(shift(x, axis, -1, 1), axis=axis, reverse=True)
    return mul(before, after)


def _prod_jvp(primals: Any, tangents: Any, *, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """One axis after the other: sum over i of t_i * (product of the others)."""
    (x,), (t,) = primals, tangents
    out = reduce_prod(x, axes=axes)
    if is_zero(t):
        return out, Zero(aval_of(out).tangent())
    for axis in reversed(axes):
        t = reduce_sum(mul(product_of_others(x, axis), t), axes=(axis,))
        x = reduce_prod(x, axes=(axis,)) if axis != axes[0] else x
    return out, t


reduce_prod = _reduction(
    "reduce_prod",
    "the product over axes",
    _ufunc(np.multiply),
    kinds="biufc",
    kernel=_fold(lambda d: 1, scalar.mul, "ordered", wide=True),
    jvp=_prod_jvp,
)

# ---------------------------------------------------------------- extrema


def _extremum_jvp(get_op: Callable[[], Any]) -> Rule:
    """The tangents where the extremum is taken, shared equally among ties."""

    def jvp(primals: Any, tangents: Any, *, axes: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = get_op()(x, axes=axes)
        if is_zero(t):
            return out, Zero(aval_of(out).tangent())
        here = eq(x, spread(out, axes, shape_of(x)))
        count = reduce_sum(select(here, lift(1.0, x), lift(0.0, x)), axes=axes)
        # One mask is what it keeps.
        return out, unscale(reduce_sum(select(here, t, lift(0.0, x)), axes=axes), count)

    return jvp


reduce_max = _reduction(
    "reduce_max",
    "the maximum over axes, NaN if there is one",
    _ufunc(np.maximum),
    kinds="biufc",
    kernel=_fold(scalar_order.lowest, scalar_order.greatest, "reassoc"),
    jvp=_extremum_jvp(lambda: reduce_max),
    identity=False,
)

reduce_min = _reduction(
    "reduce_min",
    "the minimum over axes, NaN if there is one",
    _ufunc(np.minimum),
    kinds="biufc",
    kernel=_fold(scalar_order.highest, scalar_order.least, "reassoc"),
    jvp=_extremum_jvp(lambda: reduce_min),
    identity=False,
)


def _arg(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` over the flattened reduced axes."""

    def of(x: Any, axes: tuple[int, ...]) -> Any:
        kept = [n for n in range(x.ndim) if n not in axes]
        flat = np.transpose(x, (*kept, *axes)).reshape(
            *(x.shape[n] for n in kept), math.prod(x.shape[n] for n in axes)
        )
        return fn(flat, axis=-1)

    return of


argmax = _reduction(
    "argmax",
    "the index of the first maximum or NaN, in the flattened axes",
    _arg(np.argmax),
    kinds="biufc",
    kernel=_arg_kernel("gt", scalar_order.greatest),
    jvp=ZERO_TANGENT,
    result=dtypes.int64,
    identity=False,
)

argmin = _reduction(
    "argmin",
    "the index of the first minimum or NaN, in the flattened axes",
    _arg(np.argmin),
    kinds="biufc",
    kernel=_arg_kernel("lt", scalar_order.least),
    jvp=ZERO_TANGENT,
    result=dtypes.int64,
    identity=False,
)

# ---------------------------------------------------------------- logic


def _all_ones(d: np.dtype) -> Any:
    return -1 if d.kind == "i" else scalar_order.highest(d)


reduce_and = _reduction(
    "reduce_and",
    "bitwise and over axes; all() of booleans",
    _ufunc(np.bitwise_and),
    kinds="biu",
    kernel=_fold(_all_ones, lambda k, x, y: k.and_(x, y), "reassoc"),
    jvp=ZERO_TANGENT,
)

reduce_or = _reduction(
    "reduce_or",
    "bitwise or over axes; any() of booleans",
    _ufunc(np.bitwise_or),
    kinds="biu",
    kernel=_fold(lambda d: 0, lambda k, x, y: k.or_(x, y), "reassoc"),
    jvp=ZERO_TANGENT,
)

reduce_xor = _reduction(
    "reduce_xor",
    "bitwise exclusive or over axes; whether an odd number of booleans holds",
    _ufunc(np.bitwise_xor),
    kinds="biu",
    kernel=_fold(lambda d: 0, lambda k, x, y: k.xor(x, y), "reassoc"),
    jvp=ZERO_TANGENT,
)
