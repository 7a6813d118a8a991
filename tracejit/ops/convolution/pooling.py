"""Reductions of overlapping windows: sums, products, extrema; and the choice of an element of each window.

Every axis of the operand has a window size, stride, padding (low, high; negative ones crop), dilation
(of the operand, `base_dilation`) and window dilation. Padding holds the reduction's identity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError, ShapeError
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.kernel import Composite
from tracejit.ir.primitive import LINEAR, NONLINEAR, ZERO_TANGENT, Op, OpFunction, Rule, Sentinel, binds
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.helpers import plain
from tracejit.ops.building.values import check_kind, dtype_of, shape_of
from tracejit.ops.convolution.conv_shapes import dilated
from tracejit.ops.convolution.sliding import Windows, at_position, count, sliding_windows, strided_windows
from tracejit.ops.elementwise.arithmetic import add, maximum, minimum, mul
from tracejit.ops.elementwise.compare import and_, or_
from tracejit.ops.kernels import scalar_order
from tracejit.ops.reductions import reduce
from tracejit.records import record
from tracejit.tracing import bind

#: Elements of a window up to which shifted copies are combined.
SHIFTS = 32

Ints = tuple[int, ...]


@record(frozen=True)
class Pool:
    """Where the windows lie: one entry of each tuple an axis."""

    dimensions: Ints
    strides: Ints
    padding: tuple[tuple[int, int], ...]
    base_dilation: Ints
    window_dilation: Ints

    def __post_init__(self) -> None:
        ndim = len(self.dimensions)
        rows = (self.strides, self.padding, self.base_dilation, self.window_dilation)
        if any(len(r) != ndim for r in rows):
            raise ShapeError(op="reduce_window", problem=f"parameters for different numbers of axes: {self}")
        positive = (*self.dimensions, *self.strides, *self.base_dilation, *self.window_dilation)
        if min((1, *positive)) < 1:
            raise ShapeError(op="reduce_window", problem="sizes, strides and dilations are at least 1")

    def rows(self) -> list[tuple[int, int, tuple[int, int], int, int]]:
        parts = (self.dimensions, self.strides, self.padding, self.base_dilation, self.window_dilation)
        return list(zip(*parts, strict=True))

    @property
    def size(self) -> int:
        """The number of elements of a window."""
        return math.prod(self.dimensions)

    @property
    def config(self) -> tuple[tuple[int, int, int], ...]:
        """The padding of the operand, as `ops.concat.pad` has it."""
        return tuple((low, high, base - 1) for _, _, (low, high), base, _ in self.rows())

    @property
    def windows(self) -> Windows:
        """The windows of the padded operand, without axes along which they are the elements."""
        axes = tuple(n for n, (size, stride, *_) in enumerate(self.rows()) if (size, stride) != (1, 1))
        parts = (self.dimensions, self.strides, self.window_dilation)
        return Windows(axes, *(tuple(p[a] for a in axes) for p in parts))

    def batched(self, dim: int) -> Pool:
        """The same for an operand with a new axis at `dim`."""

        def insert(xs: Any, x: Any) -> Any:
            return (*xs[:dim], x, *xs[dim:])

        return Pool(
            insert(self.dimensions, 1),
            insert(self.strides, 1),
            insert(self.padding, (0, 0)),
            insert(self.base_dilation, 1),
            insert(self.window_dilation, 1),
        )

    def result(self, name: str, x: Aval) -> tuple[Any, ...]:
        """The shape of one element a window."""
        if len(self.dimensions) != x.ndim:
            raise ShapeError(op=name, problem=f"parameters for {len(self.dimensions)} axes do not fit {x}")
        shape = []
        for n, (size, stride, (low, high), base, dilation) in zip(x.shape, self.rows(), strict=True):
            plain = (size, stride, low + high, base) == (1, 1, 0, 1)
            if isinstance(n, Dim) and not plain:
                raise DynamicExtentError(
                    op=name, problem=f"{x} has a windowed axis whose size is a traced integer"
                )
            shape.append(
                n
                if isinstance(n, Dim)
                else count(max(dilated(n, base) + low + high, 0), size, stride, dilation)
            )
        return tuple(shape)


def padded(x: Any, fill: Any, pool: Pool) -> Any:
    return ops.concat.pad(x, dtype_of(x).type(fill), padding_config=pool.config)


def windowed(x: Any, fill: Any, pool: Pool) -> tuple[Any, Ints]:
    """The windows of `x`, padded with `fill`, and their axes, which are the last."""
    w, ndim = sliding_windows(padded(x, fill, pool), pool.windows), len(shape_of(x))
    return w, tuple(range(ndim, ndim + len(pool.windows.axes)))


def shifts(x: Any, fill: Any, pool: Pool) -> list[Any]:
    """The elements of `x`, padded with `fill`, at each position of the windows, in C order."""
    shape = [*pool.result("reduce_window", aval_of(x)), *pool.windows.sizes]
    whole = padded(x, fill, pool)
    return [at_position(whole, pool.windows, shape, at) for at in pool.windows.positions()]


def array_windows(x: Any, fill: Any, pool: Pool) -> tuple[np.ndarray, Ints]:
    x = ops.concat.pad_op.eval(np.asarray(x), x.dtype.type(fill), padding_config=pool.config)
    windows = pool.windows
    return strided_windows(x, windows), tuple(range(x.ndim, x.ndim + len(windows.axes)))


def _is_empty(x: Any, pool: Pool) -> bool:
    return 0 in pool.result("reduce_window", aval_of(x))


# ---------------------------------------------------------------- reductions


def _record(name: str, doc: str, **slots: Any) -> Op:
    return plain(
        name=name,
        doc=doc,
        **slots,
    )


def _batch(size: int, args: Any, dims: Any, *, op: Op, pool: Pool) -> tuple[Any, int]:
    return bind(op, args[0], pool=pool.batched(dims[0])), dims[0]


def _reduction(
    name: str,
    doc: str,
    ufunc: np.ufunc,
    *,
    identity: Callable[[np.dtype], Any],
    combine: Callable[..., Any],
    reduction: Callable[..., Any],
    kinds: str,
    jvp: Rule | Sentinel,
    transpose: Rule | Sentinel = NONLINEAR,
) -> OpFunction[...]:
    """Register the reduction of windows by `ufunc`; `combine` and `reduction` are its ops."""

    def type_rule(x: Aval, *, pool: Pool) -> Aval:
        check_kind(name, kinds, x)
        return Aval(pool.result(name, x), x.dtype)

    def evaluate(x: Any, *, pool: Pool) -> Any:
        type_rule(aval_of(x), pool=pool)
        w, axes = array_windows(x, identity(x.dtype), pool)
        return ufunc.reduce(w, axis=axes, dtype=x.dtype) if axes else np.array(w)

    def formula(x: Any, *, pool: Pool) -> Any:
        if _is_empty(x, pool):
            return ops.shape.broadcast_to(dtype_of(x).type(0), pool.result(name, aval_of(x)))
        if pool.size <= SHIFTS and not _is_half(x):
            return functools.reduce(combine, shifts(x, identity(dtype_of(x)), pool))
        w, axes = windowed(x, identity(dtype_of(x)), pool)
        return reduction(w, axes=axes)

    def fn(x: Any, pool: Pool) -> Any:
        return bind(op, x, pool=pool)

    op = _record(
        name,
        doc,
        type=type_rule,
        eval=evaluate,
        jvp=jvp,
        transpose=transpose,
        batch=lambda size, args, dims, *, pool: _batch(size, args, dims, op=op, pool=pool),
        kernel=Composite(formula),
    )
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"{doc}, of the windows that `pool` describes."
    return binds(op)(fn)


def _is_half(x: Any) -> bool:
    """Half precision is summed in float32, by the reduction."""
    return dtype_of(x).itemsize == 2 and dtype_of(x).kind not in "iu"


def _sum_transpose(ct: Any, x: Any, *, pool: Pool) -> list[Any]:
    """Every element gets the cotangents of the windows it lies in: sums of windows of the cotangent."""
    if 0 in (*shape_of(ct), *x.aval.shape):
        return [ops.broadcast.zeros(x.aval)]
    rows = []
    sizes = zip(x.aval.shape, shape_of(ct), pool.rows(), strict=True)
    for n, out, (size, stride, (low, _), base, dilation) in sizes:
        reach = (size - 1) * dilation
        if isinstance(n, Dim):
            rows.append((1, 1, (0, 0), 1, 1))
            continue
        before = reach - low
        after = (n - 1) * base + reach - (out - 1) * stride - before
        rows.append((size, base, (before, after), stride, dilation))
    return [reduce_window_sum(ct, Pool(*map(tuple, zip(*rows, strict=True))))]


def _prod_jvp(primals: Any, tangents: Any, *, pool: Pool) -> tuple[Any, Any]:
    """The tangents of the windows' elements, times the products of the others."""
    (x,), (t,) = primals, tangents
    out = reduce_window_prod(x, pool)
    if is_zero(t):
        return out, Zero(aval_of(out).tangent())
    (w, axes), (tw, _) = windowed(x, 1, pool), windowed(t, 0, pool)
    if not axes:
        return out, tw
    shape = shape_of(w)
    flat = (*shape[: axes[0]], pool.size)
    others = reduce.product_of_others(ops.shape.reshape(w, shape=flat), axes[0])
    return out, reduce.reduce_sum(mul(others, ops.shape.reshape(tw, shape=flat)), axes=axes[:1])


def _extremum_jvp(get: Callable[[], Any], select_name: str) -> Rule:
    def jvp(primals: Any, tangents: Any, *, pool: Pool) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = get()(x, pool)
        if is_zero(t):
            return out, Zero(aval_of(out).tangent())
        return out, ops.selection.select_and_gather_add(t, x, select=select_name, pool=pool)

    return jvp


reduce_window_sum = _reduction(
    "reduce_window_sum",
    "the sums of windows",
    np.add,
    identity=lambda d: 0,
    combine=add,
    reduction=reduce.reduce_sum,
    kinds="iufc",
    jvp=LINEAR,
    transpose=_sum_transpose,
)

reduce_window_prod = _reduction(
    "reduce_window_prod",
    "the products of windows",
    np.multiply,
    identity=lambda d: 1,
    combine=mul,
    reduction=reduce.reduce_prod,
    kinds="iufc",
    jvp=_prod_jvp,
)

reduce_window_max = _reduction(
    "reduce_window_max",
    "the maxima of windows, NaN where there is one",
    np.maximum,
    identity=scalar_order.lowest,
    combine=maximum,
    reduction=reduce.reduce_max,
    kinds="biuf",
    jvp=_extremum_jvp(lambda: reduce_window_max, "ge"),
)

reduce_window_min = _reduction(
    "reduce_window_min",
    "the minima of windows, NaN where there is one",
    np.minimum,
    identity=scalar_order.highest,
    combine=minimum,
    reduction=reduce.reduce_min,
    kinds="biuf",
    jvp=_extremum_jvp(lambda: reduce_window_min, "le"),
)


reduce_window_and = _reduction(
    "reduce_window_and",
    "bitwise and over windows; all() of booleans",
    np.bitwise_and,
    identity=lambda d: -1 if d.kind == "i" else scalar_order.highest(d),
    combine=and_,
    reduction=reduce.reduce_and,
    kinds="biu",
    jvp=ZERO_TANGENT,
)

reduce_window_or = _reduction(
    "reduce_window_or",
    "bitwise or over windows; any() of booleans",
    np.bitwise_or,
    identity=lambda d: 0,
    combine=or_,
    reduction=reduce.reduce_or,
    kinds="biu",
    jvp=ZERO_TANGENT,
)
