"""Reading the bits of an array as a dtype of another size: with an axis more, or one less.

As JAX's bitcast_convert_type: an element of 8 bytes becomes a row of two of 4 bytes, the low half first, and
back. Sizes are those of little-endian machines. Derivatives are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import Kernel, Pull
from tracejit.ir.primitive import NONLINEAR, ZERO_TANGENT, Op, Rule, binds
from tracejit.ops.building.helpers import dtype_of, kind, move_batch_axis, plain, shape_of
from tracejit.tracing import bind


def _check(name: str, wide: np.dtype, narrow: np.dtype) -> int:
    """How many of `narrow` one of `wide` holds. Raises TypeRuleError for others than real dtypes of two sizes."""
    if wide.itemsize <= narrow.itemsize or "c" in (kind(wide), kind(narrow)) or kind(wide) == "b":
        names = f"{dtypes.short_name(wide)} and {dtypes.short_name(narrow)}"
        raise TypeRuleError(op=name, problem=f"{names} are not a wider and a narrower real dtype")
    return wide.itemsize // narrow.itemsize


def _record(name: str, doc: str, type_rule: Rule, evaluate: Rule, kernel: Kernel) -> Op:
    def batch(size: Any, args: Any, dims: Any, *, dtype: np.dtype) -> tuple[Any, int]:
        return bind(op, move_batch_axis(args[0], dims[0], 0), dtype=dtype), 0

    op = plain(
        name=name,
        doc=doc,
        type=type_rule,
        eval=evaluate,
        jvp=ZERO_TANGENT,
        transpose=NONLINEAR,
        batch=batch,
        kernel=kernel,
    )
    return op


# ---------------------------------------------------------------- wide to narrow


def _split_type(x: Aval, *, dtype: np.dtype) -> Aval:
    return Aval((*x.shape, _check("bitcast_split", x.dtype, dtype)), dtype)


def _split_eval(x: Any, *, dtype: np.dtype) -> Any:
    x = np.ascontiguousarray(x).reshape(*np.shape(x), 1)
    return x.view(dtype)


def _split_kernel(k: Any, idx: Any, operands: Any, out: Any, *, dtype: np.dtype) -> Any:
    x = operands[0][idx[:-1]]
    wide, narrow = np.dtype(f"u{x.dtype.itemsize}"), np.dtype(f"u{dtype.itemsize}")
    shift = k.cast(k.mul(idx[-1], 8 * dtype.itemsize), wide)
    part = k.cast(k.int_op("lshr", k.bitcast(x, wide), shift), narrow)
    return k.ne(part, 0) if dtype.kind == "b" else k.bitcast(part, dtype)


_split = _record(
    "bitcast_split",
    "the bits of each element as a row of a narrower dtype, the lowest first",
    _split_type,
    _split_eval,
    Pull(_split_kernel),
)

# ---------------------------------------------------------------- narrow to wide


def _join_type(x: Aval, *, dtype: np.dtype) -> Aval:
    count = _check("bitcast_join", dtype, x.dtype)
    if not x.shape or x.shape[-1] != count:
        raise ShapeError(
            op="bitcast_join",
            problem=f"the last axis of {x} does not have the {count} elements of one {dtypes.short_name(dtype)}",
        )
    return Aval(x.shape[:-1], dtype)


def _join_eval(x: Any, *, dtype: np.dtype) -> Any:
    return np.ascontiguousarray(x).view(dtype).reshape(x.shape[:-1])[()]


def _join_kernel(k: Any, idx: Any, operands: Any, out: Any, *, dtype: np.dtype) -> Any:
    (x,) = operands
    narrow, wide = np.dtype(f"u{x.dtype.itemsize}"), np.dtype(f"u{dtype.itemsize}")
    total = None
    for n in range(dtype.itemsize // x.dtype.itemsize):
        element = x[(*idx, n)]
        unsigned = k.cast(element, narrow) if x.dtype.kind == "b" else k.bitcast(element, narrow)
        part = k.cast(unsigned, wide)
        shifted = k.int_op("shl", part, 8 * x.dtype.itemsize * n) if n else part
        total = shifted if total is None else k.or_(total, shifted)
    return k.bitcast(total, dtype)


_join = _record(
    "bitcast_join",
    "rows of bits, the lowest first, as the elements of a wider dtype",
    _join_type,
    _join_eval,
    Pull(_join_kernel),
)

# ---------------------------------------------------------------- any two dtypes


@binds(_split)
def bitcast_convert(x: Any, *, dtype: Any) -> Any:
    """The bits of `x` as `dtype`: the same shape, a new last axis, or the last axis gone.

    Raises:
        TypeRuleError: a complex dtype.
        ShapeError: the last axis has not the number of elements that make one of `dtype`.
    """
    dtype = dtypes.canonical(dtype)
    old = dtype_of(x)
    if old.itemsize == dtype.itemsize:
        return x if old == dtype else ops.create.bitcast(x, dtype=dtype)
    return bind(_split if old.itemsize > dtype.itemsize else _join, x, dtype=dtype)


def view_as(x: Any, *, dtype: Any) -> Any:
    """`ndarray.view(dtype)` of C-ordered `x`: a last axis longer or shorter by the ratio of the sizes.

    Raises:
        ShapeError: `x` is 0-d, or its last axis does not divide into elements of `dtype`.
    """
    dtype, old, shape = dtypes.canonical(dtype), dtype_of(x), shape_of(x)
    if old == dtype:
        return x
    if old.itemsize != dtype.itemsize and not shape:
        raise ShapeError(op="view", problem="changing the dtype of a 0d array needs dtypes of one size")
    if old.kind == "c":
        return _regrouped(_parts(x), dtype)
    if dtype.kind == "c":
        part = dtypes.real_part_dtype(dtype)
        pairs = _rows(view_as(x, dtype=part) if shape else x, 2, dtype)
        return ops.complexes.complex(_column(pairs, 0), _column(pairs, 1))
    return _regrouped(x, dtype)


def _parts(z: Any) -> Any:
    """Complex numbers as real and imaginary parts along the last axis."""
    n = len(shape_of(z))
    parts = [ops.shape.expand_dims(f(z), dimensions=(n,)) for f in (ops.complexes.real, ops.complexes.imag)]
    both = ops.concat.concatenate(*parts, dimension=n)
    return _merged(both) if n else both


def _regrouped(x: Any, dtype: np.dtype) -> Any:
    """A real array as another real dtype, or as complex numbers of the same size."""
    old = dtype_of(x)
    if dtype.kind == "c":
        return view_as(x, dtype=dtype)
    if old.itemsize == dtype.itemsize:
        return bitcast_convert(x, dtype=dtype)
    if old.itemsize > dtype.itemsize:
        return _merged(bitcast_convert(x, dtype=dtype))
    return bitcast_convert(_rows(x, dtype.itemsize // old.itemsize, dtype), dtype=dtype)


def _merged(x: Any) -> Any:
    """The last two axes as one."""
    *head, n, m = shape_of(x)
    return ops.shape.reshape(x, shape=(*head, n * m))


def _rows(x: Any, count: int, dtype: np.dtype) -> Any:
    """The last axis as rows of `count`. Raises ShapeError where it does not divide."""
    *head, n = shape_of(x)
    if n % count:
        raise ShapeError(
            op="view", problem=f"the last axis of size {n} does not divide into elements of {dtype}"
        )
    return ops.shape.reshape(x, shape=(*head, n // count, count))


def _column(x: Any, n: int) -> Any:
    """Element n of the last axis."""
    shape = shape_of(x)
    starts, limits = (*[0] * (len(shape) - 1), n), (*shape[:-1], n + 1)
    part = ops.slices.slice(x, start_indices=starts, limit_indices=limits, strides=(1,) * len(shape))
    return ops.shape.squeeze(part, dimensions=(len(shape) - 1,))
