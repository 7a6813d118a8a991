"""Positions: indices of diagonals and triangles, flat positions and back."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import creates, implements
from tracejit.numpy.functions.arrays.shaping import box_of
from tracejit.numpy.functions.order.searching import unravel
from tracejit.numpy.operands import cast, dtype_of, raw
from tracejit.numpy.options import mode_of, order_of
from tracejit.records import record
from tracejit.tracing import Box, wrap

_I64 = dtypes.int64


def _sizes(*xs: Any) -> list[int]:
    """Known integers. Raises TracerIntegerError."""
    return [operator.index(x) for x in xs]


@creates(np.diag_indices, "diag_indices")
def diag_indices(n: Any, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal."""
    return (np.arange(*_sizes(n)),) * ndim


@implements(np.diag_indices_from, "diag_indices_from")
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with equal sizes."""
    shape = box_of(arr).shape
    if len(shape) < 2:
        raise ArgumentError(name="diag_indices_from", problem="input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ArgumentError(
            name="diag_indices_from", problem="all dimensions of input must be of equal length"
        )
    return diag_indices(shape[0], len(shape))


def _triangle(name: str, of: Any) -> Any:
    def indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, ...]:
        size, offset = _sizes(n, k)
        return of(size, offset, None if m is None else operator.index(m))

    indices.__name__ = name
    indices.__doc__ = f"The indices of the {'lower' if 'l' in name[:4] else 'upper'} triangle."
    return creates(getattr(np, name), name)(indices)


tril_indices, triu_indices = (
    _triangle("tril_indices", np.tril_indices),
    _triangle("triu_indices", np.triu_indices),
)


def _triangle_from(name: str, of: Any) -> Any:
    def indices(arr: Any, k: Any = 0) -> tuple[Any, ...]:
        shape = box_of(arr).shape
        if len(shape) != 2:
            raise ArgumentError(name=name, problem="input array must be 2-d")
        return of(shape[0], k, shape[1])

    indices.__name__ = name
    return implements(getattr(np, name), name)(indices)


tril_indices_from = _triangle_from("tril_indices_from", tril_indices)
triu_indices_from = _triangle_from("triu_indices_from", triu_indices)


@creates(np.mask_indices, "mask_indices")
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> tuple[Any, ...]:
    """The indices where a mask-making function such as `np.triu` gives values other than zero."""
    (size,) = _sizes(n)
    mask = extents.known(raw(mask_func(np.ones((size, size), int), k)))
    return np.nonzero(np.asarray(mask) != 0)


@record(frozen=True)
class PositionFailure:
    """Makes the exception of a position outside of the array, found while a compiled program runs."""

    name: str
    size: int

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        problem = f"an index is out of bounds for array with size {self.size}"
        return ArgumentError(name=self.name, problem=problem, where=where)


def _inside(name: str, index: Any, size: int, axis: int) -> Any:
    """Raw positions as int64. Raises ArgumentError for ones outside, also when the program runs."""
    if dtype_of(index).kind not in "iub":
        raise ArgumentTypeError(name=name, problem=f"only int indices permitted, not {dtype_of(index)}")
    wide = cast(cast(index, _I64), np.dtype(np.uint64))  # negative ones become too large
    return ops.index_check.check_index(wide, size=size, axis=axis, failure=PositionFailure(name, size))


def _index_order(order: Any) -> str:
    """C or F. Raises as NumPy does for others."""
    np.unravel_index(0, (1,), order)
    return order_of(order, "C")


@implements(np.unravel_index, "unravel_index")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """Flat positions as positions along each axis."""
    dims = tuple(_sizes(*extents.sequence(shape)))
    at = _inside("unravel_index", raw(indices), math.prod(dims), 0)
    order = _index_order(order)
    parts = unravel(at, dims if order == "C" else dims[::-1])
    return tuple(map(wrap, parts if order == "C" else parts[::-1]))


@implements(np.ravel_multi_index, "ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Positions along each axis as flat ones; modes raise, wrap and clip (one, or one an axis)."""
    order = _index_order(order)
    sizes = _sizes(*extents.sequence(dims))
    modes = list(mode) if isinstance(mode, (tuple, list)) else [mode] * len(sizes)
    indices = list(multi_index) if isinstance(multi_index, (tuple, list)) else [*box_of(multi_index)]
    if len(indices) != len(sizes):
        raise ArgumentError(
            name="ravel_multi_index",
            problem=f"parameter multi_index must be a sequence of length {len(sizes)}",
        )
    order_of = range(len(sizes)) if order == "C" else reversed(range(len(sizes)))
    total: Any = None
    for n in order_of:
        at = wrap(_by_mode(raw(indices[n]), sizes[n], n, modes[n]))
        total = at if total is None else total * sizes[n] + at
    return total


def _by_mode(index: Any, size: int, axis: int, mode: Any) -> Any:
    mode = mode_of(mode)
    if mode == "raise":
        return _inside("ravel_multi_index", index, size, axis)
    index, n = cast(index, _I64), np.int64(size)
    if mode == "wrap":
        return ops.arithmetic.remainder(index, n)
    return ops.arithmetic.minimum(ops.arithmetic.maximum(index, np.int64(0)), np.int64(size - 1))


@implements(np.ix_, "ix_")
def ix_(*args: Any) -> tuple[Any, ...]:
    """Index arrays that make an open mesh; boolean vectors stand for the places where they hold."""
    out = []
    for n, x in enumerate(args):
        v = box_of(x)
        if v.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if v.aval.shape == (0,) and not (type(x) is Box or isinstance(x, np.ndarray)):
            v = v.astype(np.intp)  # not the floats that an empty list would be
        if v.dtype.kind == "b":
            (v,) = map(box_of, NP[np.nonzero](v))
        out.append(v[tuple(slice(None) if k == n else None for k in range(len(args)))])
    return tuple(out)
