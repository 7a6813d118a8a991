"""JAX's names for creating, reshaping, reducing, sorting and multiplying arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.lax.wrapping import raw
from tracejit.lazily import LazyModule
from tracejit.ops.building.dims import normalize_axis
from tracejit.ops.building.helpers import move_batch_axis
from tracejit.ops.reductions import cumulative as cum
from tracejit.ops.reductions import linalg
from tracejit.ops.reductions import reduce as red
from tracejit.ops.reductions import sort as sorting
from tracejit.ops.shapes import shape
from tracejit.tracing import to_raw, wrap

_eager: Any = LazyModule("tracejit.interpreters.jit_cuda.eager")

# ---------------------------------------------------------------- creation and shape


def iota(dtype: Any, size: int) -> Any:
    """0, 1, …, size - 1."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """The index along `dimension`, at every element of an array of `shape`."""
    return wrap(ops.create.iota(shape=tuple(shape), dtype=dtypes.canonical(dtype), dimension=dimension))


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array of `shape` filled with one value."""
    value = to_raw(fill_value)
    value = value if dtype is None else ops.create.convert(value, dtypes.canonical(dtype))
    return wrap(ops.shape.broadcast_to(value, tuple(shape)))


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array like `x` filled with one value, on the device that `x` is on."""
    aval = aval_of(to_raw(x))
    made = full(aval.shape if shape is None else shape, fill_value, aval.dtype if dtype is None else dtype)
    return _eager.beside(x, made) if is_elsewhere(x) and isinstance(made, (np.ndarray, np.generic)) else made


def zeros_like_array(x: Any) -> Any:
    """Zeros of the shape and dtype of `x`."""
    return full_like(x, 0)


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """`operand` with new leading axes of `sizes`."""
    x = to_raw(operand)
    return wrap(shape.broadcast_to(x, (*sizes, *aval_of(x).shape)))


def broadcast_in_dim(operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """`operand` repeated to `shape`; its axis n becomes axis `broadcast_dimensions[n]`."""
    return wrap(
        ops.shape.broadcast_in_dim(
            to_raw(operand), shape=tuple(shape), broadcast_dimensions=tuple(broadcast_dimensions)
        )
    )


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """The elements in C order (of the transpose by `dimensions`) in a new shape."""
    x = to_raw(operand)
    if dimensions is not None:
        x = shape.transpose(x, permutation=tuple(dimensions))
    return wrap(shape.reshape(x, shape=tuple(new_sizes)))


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Axes in another order."""
    return wrap(shape.transpose(to_raw(operand), permutation=tuple(permutation)))


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Without the given axes of size 1."""
    return wrap(shape.squeeze(to_raw(array), dimensions=_axes(array, dimensions)))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """With new axes of size 1 at `dimensions` of the result."""
    x = to_raw(array)
    ndim = len(aval_of(x).shape) + len(dimensions)
    return wrap(shape.expand_dims(x, tuple(sorted(d % ndim for d in dimensions))))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Reversed along `dimensions`."""
    return wrap(shape.rev(to_raw(operand), dimensions=tuple(dimensions)))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays joined along an axis."""
    return wrap(ops.concat.concatenate(*[to_raw(x) for x in operands], dimension=dimension))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Padded by (low, high, interior) for each axis; negative low and high remove elements.

    Raises ShapeError where more is removed than there is, and for negative interior padding.
    """
    x = to_raw(operand)
    config: list[Any] = list(map(tuple, padding_config))
    if any(len(c) != 3 for c in config):
        problem = f"each axis is padded by (low, high, interior), not {config}"
        raise ShapeError(op="pad", problem=problem)
    for n, (size, (lo, hi, inner)) in enumerate(zip(aval_of(x).shape, config, strict=False)):
        if type(size) is int and lo + hi + size + max(size - 1, 0) * inner < 0:
            raise ShapeError(
                op="pad", problem=f"axis {n} of size {size} padded by {(lo, hi, inner)} is negative"
            )
    return wrap(ops.concat.pad(x, raw(padding_value), padding_config=config))


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """`operand[start:limit:stride]` for all axes, with static bounds."""
    return wrap(
        shape.slice(
            to_raw(operand),
            start_indices=tuple(start_indices),
            limit_indices=tuple(limit_indices),
            strides=None if strides is None else tuple(strides),
        )
    )


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Any:
    """`operand[start:limit:stride]` along one axis."""
    x = to_raw(operand)
    sizes = aval_of(x).shape
    axis %= len(sizes)
    lo, hi, _ = np.s_[start_index:limit_index].indices(int(sizes[axis]))  # type: ignore[arg-type]
    start, limit, step = [0] * len(sizes), list(sizes), [1] * len(sizes)
    start[axis], limit[axis], step[axis] = lo, hi, stride
    return wrap(shape.slice(x, start_indices=tuple(start), limit_indices=tuple(limit), strides=tuple(step)))


def _axes(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    ndim = len(aval_of(to_raw(x)).shape)
    return tuple(sorted(d % ndim if ndim else d for d in axes))


# ---------------------------------------------------------------- reductions


def _reduction(fn: Any, name: str, doc: str) -> Any:
    def call(operand: Any, axes: Sequence[int]) -> Any:
        return wrap(fn(to_raw(operand), axes=_axes(operand, axes)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


reduce_sum = _reduction(red.reduce_sum, "reduce_sum", "The sum over `axes`.")
reduce_prod = _reduction(red.reduce_prod, "reduce_prod", "The product over `axes`.")
reduce_max = _reduction(red.reduce_max, "reduce_max", "The maximum over `axes`.")
reduce_min = _reduction(red.reduce_min, "reduce_min", "The minimum over `axes`.")
reduce_and = _reduction(red.reduce_and, "reduce_and", "Whether all over `axes` hold.")
reduce_or = _reduction(red.reduce_or, "reduce_or", "Whether some over `axes` holds.")
reduce_xor = _reduction(red.reduce_xor, "reduce_xor", "Whether an odd number over `axes` holds.")


def argmax(operand: Any, axis: int, index_dtype: Any = np.int64) -> Any:
    """The position of the first maximum along `axis`."""
    return wrap(
        ops.create.convert(red.argmax(to_raw(operand), axes=_axes(operand, (axis,))), np.dtype(index_dtype))
    )


def argmin(operand: Any, axis: int, index_dtype: Any = np.int64) -> Any:
    """The position of the first minimum along `axis`."""
    return wrap(
        ops.create.convert(red.argmin(to_raw(operand), axes=_axes(operand, (axis,))), np.dtype(index_dtype))
    )


def _cumulative(fn: Any, name: str, doc: str) -> Any:
    def call(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        return wrap(fn(to_raw(operand), axis=_axes(operand, (axis,))[0], reverse=bool(reverse)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


cumsum = _cumulative(cum.cumsum, "cumsum", "Running sums along `axis`.")
cumprod = _cumulative(cum.cumprod, "cumprod", "Running products along `axis`.")
cumlogsumexp = _cumulative(
    cum.cumlogsumexp, "cumlogsumexp", "Running log(sum(exp(x))) along `axis`, of floats."
)
cummax = _cumulative(cum.cummax, "cummax", "Running maxima along `axis`.")
cummin = _cumulative(cum.cummin, "cummin", "Running minima along `axis`.")


# ---------------------------------------------------------------- sorting, products


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorted along `dimension`; a tuple of arrays is sorted together by the first `num_keys`."""
    many = isinstance(operand, (tuple, list))
    xs = [to_raw(x) for x in operand] if many else [to_raw(operand)]
    out = [wrap(o) for o in sorting.sort(*xs, axis=dimension, num_keys=num_keys, stable=is_stable)]
    return tuple(out) if many else out[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """Both sorted by the keys."""
    return sort((keys, values), dimension, is_stable, 1)


def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The `k` largest along an axis, largest first, and their positions (int64).

    Of equal elements the first comes first; NaN is above everything, -0 equals 0.

    Raises:
        ShapeError: `k` is negative or more than the size of the axis. TypeRuleError: complex numbers.
    """
    x = to_raw(operand)
    last = len(aval_of(x).shape) - 1
    axis = normalize_axis("top_k", axis, last + 1)
    outs = ops.search.top_k(move_batch_axis(x, axis, last), k=operator.index(k))
    values, places = (wrap(move_batch_axis(o, last, axis)) for o in outs)
    return values, places


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """A product contracting and batching the given axes: ((lhs_c, rhs_c), (lhs_b, rhs_b)).

    The result has dtype `preferred_element_type`, in which (or in the operands', if that is wider) products
    are summed. `precision` means nothing on a CPU: there is one, the full one.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    numbers = (tuple(lc), tuple(rc)), (tuple(lb), tuple(rb))
    x, y = to_raw(lhs), to_raw(rhs)
    if preferred_element_type is None:
        return wrap(linalg.dot_general(x, y, dimension_numbers=numbers))
    wanted = dtypes.canonical(preferred_element_type)
    wide = np.promote_types(np.promote_types(aval_of(x).dtype, aval_of(y).dtype), wanted)
    x, y = ops.create.convert(x, wide), ops.create.convert(y, wide)
    return wrap(ops.create.convert(linalg.dot_general(x, y, dimension_numbers=numbers), wanted))


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Vector or matrix product, contracting the last axis of `lhs` with the first of `rhs`.

    With `dimension_numbers` it is `dot_general`.
    """
    if dimension_numbers is None:
        ndim = len(aval_of(to_raw(lhs)).shape)
        dimension_numbers = (((ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Matrix products over equal leading axes."""
    n = len(aval_of(to_raw(lhs)).shape)
    lead = tuple(range(n - 2))
    return dot_general(lhs, rhs, (((n - 1,), (n - 2,)), (lead, lead)))
