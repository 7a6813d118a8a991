"""Running sums, products and extrema along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.kernel import Cumulative
from tracejit.ir.primitive import LINEAR, NONLINEAR, OpFunction, Rule, Sentinel, binds
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.helpers import check_axis, check_kind, dtype_of, lift, plain, shape_of, shift_axes
from tracejit.ops.elementwise.arithmetic import add, maximum, mul, neg, sub
from tracejit.ops.elementwise.compare import and_, eq, gt, isfinite, lt, not_, select
from tracejit.ops.kernels import scalar, scalar_order
from tracejit.tracing import bind


def _cumulative(
    name: str,
    doc: str,
    ufunc: np.ufunc,
    *,
    start: Callable[[np.dtype], Any],
    step: Callable[..., Any],
    jvp: Rule | Sentinel,
    transpose: Rule | Sentinel = NONLINEAR,
    kinds: str = "biufc",
) -> OpFunction[...]:
    """Register the running `ufunc`; `start(dtype)` and `step(k, acc, x)` are its kernel."""

    def type_rule(x: Aval, *, axis: int, reverse: bool) -> Aval:
        check_kind(name, kinds, x)
        check_axis(name, axis, x.ndim)
        return x

    def evaluate(x: Any, *, axis: int, reverse: bool) -> Any:
        if reverse:
            return np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype)

    def batch(size: Any, args: Any, dims: Any, *, axis: int, reverse: bool) -> tuple[Any, int]:
        (d,) = dims
        return bind(op, args[0], axis=shift_axes((axis,), d)[0], reverse=reverse), d

    op = plain(
        name=name,
        doc=doc,
        type=type_rule,
        eval=evaluate,
        jvp=jvp,
        transpose=transpose,
        batch=batch,
        kernel=Cumulative(lambda k, dtype: k.const(start(dtype), dtype), step),
    )

    def cumulate(x: Any, *, axis: int, reverse: bool = False) -> Any:
        return bind(op, x, axis=axis, reverse=reverse)

    cumulate.__name__, cumulate.__doc__ = name, doc
    return binds(op)(cumulate)


# ---------------------------------------------------------------- derivatives by doubling


def shift(x: Any, axis: int, by: int, fill: Any) -> Any:
    """Elements moved `by` places along `axis` (towards its end if positive), `fill` coming in."""
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (by, -by, 0)
    return ops.concat.pad(x, lift(fill, x), padding_config=tuple(config))


def _strides(x: Any, axis: int, reverse: bool) -> list[int]:
    """1, 2, 4 … below the length of the axis; negative in reverse."""
    n = shape_of(x)[axis]
    n = n.bound if isinstance(n, Dim) else n
    if n is None:
        raise DynamicExtentError(
            op="the derivative of a running reduction", problem="needs an axis of bounded size"
        )
    return [-(1 << b) if reverse else 1 << b for b in range(max(n - 1, 0).bit_length())]


def _doubling_jvp(get_op: Callable[[], Any], fill: Callable[[np.dtype], Any], combine: Rule) -> Rule:
    """The tangent of a running reduction from log2(n) combinations of neighbours.

    After the step of stride s, every place holds the reduction of the 2s
    elements that end there, and its tangent. `combine(x, xs, t, ts)` is the
    reduction of an element and of an earlier one, with their tangents: a
    derivative of any order follows, zeros and ties included.
    """

    def jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = get_op()(x, axis=axis, reverse=reverse)
        if is_zero(t):
            return out, Zero(aval_of(out).tangent())
        for s in _strides(x, axis, reverse):
            x, t = combine(x, shift(x, axis, s, fill(dtype_of(x))), t, shift(t, axis, s, 0))
        return out, t

    return jvp


def _product(x: Any, xs: Any, t: Any, ts: Any) -> tuple[Any, Any]:
    return mul(x, xs), add(mul(xs, t), mul(x, ts))


def _later_unless(beats: Rule) -> Rule:
    """Of two elements the one that beats the other, the later one in a tie."""

    def combine(x: Any, xs: Any, t: Any, ts: Any) -> tuple[Any, Any]:
        earlier = beats(xs, x)
        return select(earlier, xs, x), select(earlier, ts, t)

    return combine


cumsum = _cumulative(
    "cumsum",
    "running sum along an axis",
    np.add,
    start=lambda d: 0,
    step=scalar.add,
    jvp=LINEAR,
    transpose=lambda ct, x, *, axis, reverse: [cumsum(ct, axis=axis, reverse=not reverse)],
)

cumprod = _cumulative(
    "cumprod",
    "running product along an axis",
    np.multiply,
    start=lambda d: 1,
    step=scalar.mul,
    jvp=_doubling_jvp(lambda: cumprod, lambda d: 1, _product),
)

cummax = _cumulative(
    "cummax",
    "running maximum along an axis",
    np.maximum,
    start=scalar_order.lowest,
    step=scalar_order.maximum,
    jvp=_doubling_jvp(lambda: cummax, scalar_order.lowest, _later_unless(gt)),
)

cummin = _cumulative(
    "cummin",
    "running minimum along an axis",
    np.minimum,
    start=scalar_order.highest,
    step=scalar_order.minimum,
    jvp=_doubling_jvp(lambda: cummin, scalar_order.highest, _later_unless(lt)),
)


def _apart(x: Any, y: Any) -> Any:
    """x - y, and 0 where both are the same infinity."""
    same = and_(eq(x, y), not_(isfinite(x)))
    return sub(select(same, lift(0.0, x), x), select(same, lift(0.0, y), y))


def _logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) in steps that have derivatives; the greater one, taken out, counts as a constant."""
    top = maximum(ops.create.stop_gradient(x), ops.create.stop_gradient(y))
    exp = ops.transcendental.exp
    return add(ops.transcendental.log(add(exp(_apart(x, top)), exp(_apart(y, top)))), top)


def _mean_tangent(x: Any, xs: Any, t: Any, ts: Any) -> tuple[Any, Any]:
    """The tangents' mean with the weights exp(x) and exp(xs)."""
    apart = _apart(x, xs)
    weight, rest = ops.transcendental.logistic(apart), ops.transcendental.logistic(neg(apart))
    return _logaddexp(x, xs), add(mul(weight, t), mul(rest, ts))


def _logaddexp_kernel(k: Any, acc: Any, x: Any) -> Any:
    """max + log1p(exp(-|difference|)); equal infinities are their own sum."""
    top = scalar_order.maximum(k, acc, x)
    apart = k.sub(scalar_order.minimum(k, acc, x), top)
    return k.select(
        k.eq(acc, x),
        k.add(x, k.const(np.log(2.0), x.dtype)),
        k.add(top, k.math("log1p", k.math("exp", apart))),
    )


cumlogsumexp = _cumulative(
    "cumlogsumexp",
    "running log(sum(exp(x))) along an axis",
    np.logaddexp,
    start=lambda d: -np.inf,
    step=_logaddexp_kernel,
    jvp=_doubling_jvp(lambda: cumlogsumexp, lambda d: -np.inf, _mean_tangent),
    kinds="f",
)
