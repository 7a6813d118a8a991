"""The choice of one element of each window, the first extreme one: what maxima and minima of windows have as
derivatives. Gathering tangents from where the element was, and adding cotangents there."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Composite
from tracejit.ir.primitive import Op, Rule
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import plain, to_batch_axis
from tracejit.ops.building.values import check_kind, dtype_of
from tracejit.ops.convolution.conv_shapes import dilated
from tracejit.ops.convolution.pooling import SHIFTS, Pool, array_windows, shifts, windowed
from tracejit.ops.convolution.sliding import add_windows, part, sliding_windows_add
from tracejit.ops.elementwise.compare import and_, eq, gt, lt, ne, or_
from tracejit.ops.kernels import scalar_order
from tracejit.ops.reductions import reduce
from tracejit.tracing import bind

#: name of a comparison -> (what padding holds, which of two later elements wins, NumPy's search)
_CHOICES: dict[str, tuple[Any, Any, Any]] = {
    "ge": (scalar_order.lowest, gt, np.argmax),
    "le": (scalar_order.highest, lt, np.argmin),
}


def _check(name: str, first: Aval, x: Aval, select: str) -> None:
    if select not in _CHOICES:
        raise TypeRuleError(op=name, problem=f"select {select!r} is neither 'ge' nor 'le'")
    check_kind(name, "biuf", x)
    check_kind(name, "iufc", first)


def _places(x: Any, choice: str, pool: Pool) -> tuple[np.ndarray, tuple[int, ...]]:
    """The flat position in its window of each window's element; the shape of a window's axes."""
    fill, _, search = _CHOICES[choice]
    w, axes = array_windows(x, fill(x.dtype), pool)
    flat = w.reshape(*w.shape[: x.ndim], pool.size)
    return search(flat, axis=-1), tuple(w.shape[a] for a in axes)


def _choice(x: Any, choice: str, pool: Pool) -> tuple[Any, tuple[int, ...]]:
    """The mask of the chosen elements in the array of windows, and the axes of a window in it."""
    fill, _, search = _CHOICES[choice]
    w, axes = windowed(x, fill(dtype_of(x)), pool)
    shape = dims_of(w)
    where = (reduce.argmax if search is np.argmax else reduce.argmin)(w, axes=axes)
    position = ops.create.iota(shape=(pool.size,), dtype=np.int64)
    position = ops.shape.reshape(position, shape=pool.windows.sizes)
    where = ops.shape.broadcast_to(ops.shape.expand_dims(where, axes), shape)
    return eq(where, ops.shape.broadcast_to(position, shape)), axes


def _batch(size: int, args: Any, dims: Any, op: Op, params: dict[str, Any]) -> tuple[Any, int]:
    first, x = (to_batch_axis(a, d, 0, size) for a, d in zip(args, dims, strict=True))
    return bind(op, first, x, select=params["select"], pool=params["pool"].batched(0)), 0


def _record(name: str, doc: str, *, type: Rule, eval: Rule, formula: Rule, other: Any) -> Op:
    """Register an op that is linear in its first operand, and chooses by the second; `other()` is its
    transpose."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        (first, x), (t, _) = primals, tangents
        out = bind(op, first, x, **params)
        return out, Zero(aval_of(out).tangent()) if is_zero(t) else bind(op, t, x, **params)

    op = plain(
        name=name,
        doc=doc,
        type=type,
        eval=eval,
        jvp=jvp,
        transpose=lambda ct, first, x, **params: [bind(other(), ct, x, **params), None],
        batch=lambda size, args, dims, **params: _batch(size, args, dims, op, params),
        kernel=Composite(formula),
    )
    return op


# ---------------------------------------------------------------- gathering


def _gather_type(t: Aval, x: Aval, *, select: str, pool: Pool) -> Aval:
    _check("select_and_gather_add", t, x, select)
    if t.shape != x.shape:
        raise ShapeError(op="select_and_gather_add", problem=f"{t} and {x} have different shapes")
    return Aval(pool.result("select_and_gather_add", x), t.dtype)


def _gather_eval(t: Any, x: Any, *, select: str, pool: Pool) -> Any:
    _gather_type(aval_of(t), aval_of(x), select=select, pool=pool)
    where, _ = _places(np.asarray(x), select, pool)
    w, _ = array_windows(t, 0, pool)
    flat = w.reshape(*where.shape, pool.size)
    return np.take_along_axis(flat, where[..., None], axis=-1)[..., 0]


def _gather_formula(t: Any, x: Any, *, select: str, pool: Pool) -> Any:
    shape = pool.result("select_and_gather_add", aval_of(x))
    if 0 in shape:
        return ops.shape.broadcast_to(dtype_of(t).type(0), shape)
    if pool.size <= SHIFTS:
        return _tournament(x, shifts(t, 0, pool), select, pool)
    chosen, axes = _choice(x, select, pool)
    w, _ = windowed(t, 0, pool)
    return reduce.reduce_sum(ops.compare.select(chosen, w, dtype_of(t).type(0)), axes=axes)


def _tournament(x: Any, prizes: list[Any], choice: str, pool: Pool) -> Any:
    """Of each window the prize of its element's position. One position after the other is compared with the
    best so far, which keeps its place in a tie; NaN wins."""
    fill, beats, _ = _CHOICES[choice]
    best, *rest = shifts(x, fill(dtype_of(x)), pool)
    out = prizes[0]
    for x_next, prize in zip(rest, prizes[1:], strict=True):
        wins = beats(x_next, best)
        if dtype_of(x).kind not in "biu":
            wins = or_(wins, and_(ne(x_next, x_next), eq(best, best)))
        best, out = ops.compare.select(wins, x_next, best), ops.compare.select(wins, prize, out)
    return out


select_and_gather_add_op = _record(
    "select_and_gather_add",
    "of each window the element of t where x has its first extreme one",
    type=_gather_type,
    eval=_gather_eval,
    formula=_gather_formula,
    other=lambda: select_and_scatter_add_op,
)


def select_and_gather_add(t: Any, x: Any, *, select: str, pool: Pool) -> Any:
    """Of each window of `t` (padded with zeros) the element where `x` has its first maximum (`select` 'ge')
    or minimum ('le'), NaN first."""
    return bind(select_and_gather_add_op, t, x, select=select, pool=pool)


# ---------------------------------------------------------------- scattering


def _scatter_type(source: Aval, x: Aval, *, select: str, pool: Pool) -> Aval:
    _check("select_and_scatter_add", source, x, select)
    shape = pool.result("select_and_scatter_add", x)
    if source.shape != shape:
        raise ShapeError(
            op="select_and_scatter_add", problem=f"{x} has windows {shape}, {source} does not fit"
        )
    return Aval(x.shape, source.dtype)


def _padded_shape(shape: Any, pool: Pool) -> tuple[int, ...]:
    rows = zip(shape, pool.config, strict=True)
    return tuple(max(dilated(n, inner + 1) + low + high, 0) for n, (low, high, inner) in rows)


def _scatter_eval(source: Any, x: Any, *, select: str, pool: Pool) -> Any:
    _scatter_type(aval_of(source), aval_of(x), select=select, pool=pool)
    x, source = np.asarray(x), np.asarray(source)
    where, sizes = _places(x, select, pool)
    total = np.zeros(_padded_shape(x.shape, pool), source.dtype)
    each = np.where(where[..., None] == np.arange(pool.size), source[..., None], source.dtype.type(0))
    each = each.reshape(*source.shape, *sizes)
    total = add_windows(total, each, pool.windows)
    undo = tuple((-low, -high, 0) for low, high, _ in pool.config)
    total = ops.concat.pad_op.eval(total, source.dtype.type(0), padding_config=undo)
    return total[tuple(slice(None, None, inner + 1) for _, _, inner in pool.config)]


def _scatter_formula(source: Any, x: Any, *, select: str, pool: Pool) -> Any:
    zero, shape = dtype_of(source).type(0), dims_of(x)
    if 0 in dims_of(source) or 0 in shape:
        return ops.shape.broadcast_to(zero, shape)
    total = _scattered(source, x, select, pool) if pool.windows.axes else source
    total = ops.concat.pad(total, zero, padding_config=[(-low, -high, 0) for low, high, _ in pool.config])
    steps = [inner + 1 for _, _, inner in pool.config]
    return ops.slices.slice(
        total, start_indices=[0] * len(steps), limit_indices=[None] * len(steps), strides=steps
    )


def _scattered(source: Any, x: Any, choice: str, pool: Pool) -> Any:
    """The result before its padding is taken off."""
    zero, select = dtype_of(source).type(0), ops.compare.select
    base = ops.shape.broadcast_to(zero, _padded_shape(dims_of(x), pool))
    if pool.size > SHIFTS:
        chosen, axes = _choice(x, choice, pool)
        spread = ops.shape.broadcast_to(ops.shape.expand_dims(source, axes), dims_of(chosen))
        return sliding_windows_add(base, select(chosen, spread, zero), pool.windows)
    places = [ops.create.full(np.int32(n), shape=dims_of(source)) for n in range(pool.size)]
    where = _tournament(x, places, choice, pool)
    shape = (*dims_of(source), *pool.windows.sizes)
    for n, position in enumerate(pool.windows.positions()):
        start, limit, step = part(pool.windows, shape, position)
        some = select(eq(where, np.int32(n)), source, zero)
        base = ops.slices.slice_add(base, some, start_indices=start, limit_indices=limit, strides=step)
    return base


select_and_scatter_add_op = _record(
    "select_and_scatter_add",
    "the elements of source added where x has the first extreme one of each window",
    type=_scatter_type,
    eval=_scatter_eval,
    formula=_scatter_formula,
    other=lambda: select_and_gather_add_op,
)


def select_and_scatter_add(source: Any, x: Any, *, select: str, pool: Pool) -> Any:
    """Zeros of the shape of `x`, with each element of `source` (one a window) added where its window has its
    first maximum (`select` 'ge') or minimum ('le')."""
    return bind(select_and_scatter_add_op, source, x, select=select, pool=pool)
