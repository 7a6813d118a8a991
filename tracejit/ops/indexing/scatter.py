"""Writing windows at an array of positions: set, add, multiply, minimum, maximum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.kernel import Segment, Update
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_IDENTITIES,
    NONLINEAR,
    Op,
    OpFunction,
    Rule,
    Sentinel,
    binds,
)
from tracejit.ops.building.helpers import move_batch_axis, to_batch_axis
from tracejit.ops.indexing import scatter_rules as rules
from tracejit.ops.indexing.gather import batched_numbers
from tracejit.ops.indexing.windows import GatherDimensionNumbers, Plan, along, check_numbers, locate
from tracejit.ops.kernels import scalar, scalar_order
from tracejit.records import record
from tracejit.tracing import bind


@record(frozen=True)
class ScatterDimensionNumbers:
    """Which axes of operand, indices and updates belong together (as in JAX): the mirror of a gather's."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()

    def as_gather(self) -> GatherDimensionNumbers:
        """The gather that reads what a scatter with these numbers writes."""
        return GatherDimensionNumbers(
            self.update_window_dims,
            self.inserted_window_dims,
            self.scatter_dims_to_operand_dims,
            self.operand_batching_dims,
            self.scatter_indices_batching_dims,
        )

    @classmethod
    def of_gather(cls, dn: GatherDimensionNumbers) -> ScatterDimensionNumbers:
        return cls(
            dn.offset_dims,
            dn.collapsed_slice_dims,
            dn.start_index_map,
            dn.operand_batching_dims,
            dn.start_indices_batching_dims,
        )


def window_sizes(dn: GatherDimensionNumbers, ndim: int, updates_shape: Shape) -> tuple[Any, ...]:
    """The windows' sizes along the operand's axes."""
    sizes: list[Any] = [1] * ndim
    for p, d in zip(dn.offset_dims, dn.window_dims(ndim), strict=True):
        sizes[d] = updates_shape[p]
    return tuple(sizes)


def _check(name: str, x: Aval, indices: Aval, updates: Aval, dn: GatherDimensionNumbers, mode: str) -> None:
    check_numbers(name, dn, x, indices, updates.ndim, mode)
    if updates.dtype != x.dtype:
        raise TypeRuleError(op=name, problem=f"writes {updates} into {x}; the dtypes differ")
    batch = tuple(updates.shape[p] for p in dn.batch_positions(updates.ndim))
    if batch != indices.shape[:-1]:
        raise ShapeError(op=name, problem=f"the updates {updates} do not fit the indices {indices}")
    for n, (s, d) in enumerate(zip(window_sizes(dn, x.ndim, updates.shape), x.shape, strict=True)):
        if type(s) is int and type(d) is int and s > max(d, 1):
            raise ShapeError(op=name, problem=f"a window of {s} does not fit axis {n} of size {d}")


# ---------------------------------------------------------------- evaluation


def _write_all(x: Any, indices: Any, updates: Any, dn: Any, mode: str, ufunc: Any, unique: bool) -> Any:
    """Combine `updates` into the array `x`, in order; `ufunc` None overwrites."""
    sizes = window_sizes(dn, x.ndim, np.shape(updates))
    plan = Plan(x.shape, indices, dn, sizes, mode)
    if 0 in (plan.count, x.size, np.size(updates)):
        return x
    rows = _rows(updates, plan, dn)
    if plan.valid is not None:
        rows = rows[plan.valid]
        plan.keep_valid()
    if plan.count == 1:
        window = sorted(plan.window_order)
        row = rows.reshape(rows.shape[len(plan.batch_shape) :])
        _combine(x, plan.single(), row.transpose([plan.window_order.index(d) for d in window]), ufunc)
    elif not plan.indexed:
        for row in rows.reshape(plan.count, *rows.shape[len(plan.batch_shape) :]):
            _combine(x.transpose(plan.order), plan.index(), row, ufunc)
    elif ufunc is None or unique:
        _combine(x.transpose(plan.order), _c_ordered(plan.index(), len(plan.indexed)), rows, ufunc)
    elif plan.count:
        _accumulate(x, plan, rows, ufunc)
    return x


def _rows(updates: Any, plan: Plan, dn: GatherDimensionNumbers) -> Any:
    """The updates with axes (positions…, windows in the plan's order)."""
    window = sorted(plan.window_order)
    axes = [dn.offset_dims[window.index(d)] for d in plan.window_order]
    return np.transpose(updates, (*dn.batch_positions(np.ndim(updates)), *axes))


def _combine(x: Any, index: Any, u: Any, ufunc: Any) -> None:
    x[index] = u if ufunc is None else ufunc(x[index], u)


def _c_ordered(index: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Index arrays in full and in C order, so that NumPy writes duplicates in order."""
    full = np.broadcast_arrays(*index[:count])
    return (*map(np.ascontiguousarray, full), *index[count:])


def _accumulate(x: Any, plan: Plan, rows: Any, ufunc: Any) -> None:
    """`ufunc.at`, through flat positions where possible: NumPy has a fast loop for those."""
    index = plan.index()
    if not x.flags.c_contiguous:
        ufunc.at(x.transpose(plan.order), index, rows)
        return
    strides = [s // x.itemsize for s in x.strides]
    batch, ndim = len(plan.batch_shape), rows.ndim
    flat: Any = None
    for d, at in zip(plan.indexed, index, strict=False):
        at = at.reshape(at.shape + (1,) * (ndim - at.ndim))
        at = at if strides[d] == 1 else at * strides[d]
        flat = at if flat is None else flat + at
    for n, d in enumerate(plan.window_order[len(plan.windowed) :], batch + len(plan.windowed)):
        flat = flat + along(np.arange(plan.sizes[d]) * strides[d], n, ndim)
    ufunc.at(x.reshape(-1), np.broadcast_to(flat, rows.shape).reshape(-1), rows.reshape(-1))


# ---------------------------------------------------------------- the family


def _segments(combine: Callable[..., Any] | None) -> Callable[..., list[Segment]]:
    def segments(params: Any, avals: Any, out: Any) -> list[Segment]:
        dn = params["dimension_numbers"].as_gather()
        if any(d == 0 for d in avals[0].shape):
            return []
        sizes = window_sizes(dn, avals[0].ndim, avals[2].shape)
        extents = {d: p for p, d in zip(dn.offset_dims, dn.window_dims(avals[0].ndim), strict=True)}

        def place(k: Any, idx: Any, operands: Any, out: Any) -> Any:
            full = [operands[2].extent(extents[d]) if isinstance(s, Dim) else s for d, s in enumerate(sizes)]
            return locate(k, idx, out, operands[1], full, dn, params["mode"])

        return [Segment(2, place, combine, repeats=not params["unique_indices"])]

    return segments


def _batch_rule(get_op: Callable[[], Op]) -> Rule:
    def batch(size: int, args: Any, dims: Any, *, dimension_numbers: Any, **params: Any) -> tuple[Any, int]:
        x, indices, updates = args
        x = to_batch_axis(x, dims[0], 0, size)
        updates = to_batch_axis(updates, dims[2], 0, size)
        if dims[1] is not None:
            indices = move_batch_axis(indices, dims[1], 0)
        dn = batched_numbers(dimension_numbers.as_gather(), True, dims[1] is not None)
        dn = ScatterDimensionNumbers.of_gather(dn)
        return bind(get_op(), x, indices, updates, dimension_numbers=dn, **params), 0

    return batch


_MODES = """

    `mode`: 'clip' moves windows inside, 'fill' drops those that are not, 'promise_in_bounds' checks
    nothing. `unique_indices` promises that no two windows overlap.
    """


def _scatter(
    name: str, doc: str, ufunc: Any, combine: Any, jvp: Rule | Sentinel, transpose: Rule | Sentinel
) -> OpFunction[...]:
    def type_rule(
        x: Aval, indices: Aval, updates: Aval, *, dimension_numbers: Any, mode: str, unique_indices: bool
    ) -> Aval:
        _check(name, x, indices, updates, dimension_numbers.as_gather(), mode)
        return x

    def inplace(
        x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: str, unique_indices: bool
    ) -> Any:
        return _write_all(x, indices, updates, dimension_numbers.as_gather(), mode, ufunc, unique_indices)

    op = Op(
        name=name,
        doc=doc,
        multi=False,
        type=type_rule,
        eval=lambda x, indices, updates, **params: inplace(
            np.array(x, order="C"), indices, updates, **params
        ),
        inplace=inplace,
        jvp=jvp,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=_batch_rule(lambda: op),
        simplify=NO_IDENTITIES,
        effects=NO_EFFECTS,
        bounds=NO_BOUNDS,
        kernel=Update(lambda params: 0, _segments(combine)),
    )

    def call(
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: str,
        unique_indices: bool = False,
    ) -> Any:
        return bind(
            op,
            x,
            indices,
            updates,
            dimension_numbers=dimension_numbers,
            mode=mode,
            unique_indices=unique_indices,
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc[0].upper()}{doc[1:]}.{_MODES}"
    return binds(op)(call)


def _extremum(of_reals: Callable[..., Any], predicate: str) -> Callable[..., Any]:
    before = scalar_order.order(predicate)

    def combine(k: Any, old: Any, new: Any) -> Any:
        if not dtypes.is_complex(old.dtype):
            return of_reals(k, old, new)
        return k.select(k.or_(k.isnan(old), before(k, old, new)), old, new)

    return combine


scatter = _scatter(
    "scatter", "x with windows replaced; of updates to the same place the last one stays",
    None, None, LINEAR, rules.set_transpose,
)  # fmt: skip
scatter_add = _scatter(
    "scatter_add", "x with updates added in", np.add, scalar.add, LINEAR, rules.add_transpose
)
scatter_mul = _scatter(
    "scatter_mul", "x with updates multiplied in", np.multiply, scalar.mul, rules.mul_jvp, rules.mul_transpose
)
scatter_min = _scatter(
    "scatter_min", "the minimum of x and updates", np.minimum, _extremum(scalar_order.minimum, "le"),
    rules.extremum_jvp("scatter_min"), NONLINEAR,
)  # fmt: skip
scatter_max = _scatter(
    "scatter_max", "the maximum of x and updates", np.maximum, _extremum(scalar_order.maximum, "ge"),
    rules.extremum_jvp("scatter_max"), NONLINEAR,
)  # fmt: skip

scatter_op, scatter_add_op, scatter_mul_op = scatter.op, scatter_add.op, scatter_mul.op
scatter_min_op, scatter_max_op = scatter_min.op, scatter_max.op
