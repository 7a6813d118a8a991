"""Sets of traced values: sorted vectors, the elements that differ from their neighbours, and how many there are.

These are NumPy's own algorithms on arrays of traced length: sort, compare neighbours, take what the mask says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.extents import operand
from tracejit.numpy.boxes.masking import selected
from tracejit.numpy.boxes.masking.masks import iota, mask_of
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.functions.arrays.joining import concatenate
from tracejit.numpy.functions.arrays.shaping import ravel
from tracejit.numpy.functions.order.searching import isin
from tracejit.numpy.functions.order.sorting import argsort, sort
from tracejit.numpy.operands import cast, dtype_of, raw, shape_of
from tracejit.tracing import Box, box, wrap

_I64 = dtypes.int64


def _length(r: Any) -> Any:
    """The length of a raw vector as a raw integer."""
    return operand(extents.of_dim(shape_of(r)[0]))


def _beside(s: Any, step: int) -> Any:
    """For each place of a raw vector the element `step` places on; at the ends some element of it."""
    at = ops.arithmetic.add(iota(shape_of(s), 0), np.int64(step))
    at = ops.arithmetic.maximum(at, np.int64(0))
    at = ops.arithmetic.minimum(
        at, ops.arithmetic.maximum(ops.arithmetic.sub(_length(s), np.int64(1)), np.int64(0))
    )
    return ops.gather.take(s, at, 0, mode="promise_in_bounds")


def _is_last(s: Any) -> Any:
    return ops.compare.eq(iota(shape_of(s), 0), ops.arithmetic.sub(_length(s), np.int64(1)))


def _is_first(s: Any) -> Any:
    return ops.compare.eq(iota(shape_of(s), 0), np.int64(0))


def differs(s: Any, step: int, equal_nan: bool = False) -> Any:
    """Where the elements of a sorted raw vector differ from the one before (`step` -1) or after them (1), or have
    none there."""
    other = _beside(s, step)
    new = ops.compare.ne(s, other)
    if equal_nan and dtypes.is_inexact(dtype_of(s)):
        both = ops.compare.and_(ops.compare.isnan(s), ops.compare.isnan(other))
        new = ops.compare.and_(new, ops.compare.not_(both))
    return ops.compare.or_(new, _is_first(s) if step < 0 else _is_last(s))


def unique(x: Any, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    """`np.unique`'s values, first places, inverse and counts (None where they are not wanted) of a traced array."""
    v = ravel(x)
    order = argsort(v, kind="mergesort" if index else "quicksort") if index or inverse else None
    if not index:
        _leave_two_zeros(raw(v))
    s = raw(sort(v) if order is None else v[order])
    new = differs(s, -1, equal_nan)
    mask = mask_of(new)
    return (
        selected.select(s, 0, new),
        selected.select(raw(order), 0, new) if index else None,
        _inverse(raw(order), new, x) if inverse else None,
        _counts(mask, _length(s)) if counts else None,
    )


def _leave_two_zeros(v: Any) -> None:
    """Leave arrays to Python in which zeros of both signs occur: which one NumPy keeps its own tables decide."""
    if dtype_of(v).kind != "f" or shape_of(v) == (0,):
        return
    zero = ops.compare.eq(v, dtype_of(v).type(0))
    negative = ops.compare.signbit(v)
    some = [
        ops.reduce.reduce_or(ops.compare.and_(zero, sign), axes=(0,))
        for sign in (negative, ops.compare.not_(negative))
    ]
    leave_if(ops.compare.and_(*some), "the sign of the zero that numpy.unique keeps of several")


def _sorted(v: Any) -> Any:
    """A box of a vector as a sorted raw value, of which equal elements are the same."""
    _leave_two_zeros(raw(v))
    return raw(sort(v))


def _inverse(order: Any, new: Any, x: Box) -> Any:
    group = ops.arithmetic.sub(ops.cumulative.cumsum(cast(new, _I64), axis=0, reverse=False), np.int64(1))
    out = box(ops.shape.broadcast_to(np.int64(0), shape_of(order)))
    out = out.at[wrap(order)].set(wrap(group), unique_indices=True)
    return out if x.ndim == 1 else out.reshape(x.shape)


def _counts(mask: Any, total: Any) -> Any:
    starts = mask.places()
    ends = ops.compare.select(
        _is_last(starts), ops.shape.broadcast_to(total, shape_of(starts)), _beside(starts, 1)
    )
    return wrap(ops.arithmetic.sub(ends, starts))


def intersection(a: Any, b: Any, assume_unique: bool, return_indices: bool) -> Any:
    """`np.intersect1d` of vectors: the elements whose successor in both, sorted together, is equal."""
    places: list[Any] = []
    if not assume_unique:
        found = [unique(v, return_indices, False, False, True) for v in (a, b)]
        (a, i, *_), (b, j, *_) = found
        places = [i, j]
    both = concatenate([a, b])
    if not return_indices:
        s = _sorted(both)
        return selected.select(s, 0, _has_equal(s))
    order = argsort(both, kind="mergesort")
    s = raw(both[order])
    common = _has_equal(s)
    first, second = (selected.select(r, 0, common) for r in (raw(order), _beside(raw(order), 1)))
    second = second - a.size
    if places:
        first, second = (
            wrap(ops.gather.take(raw(own), raw(at), 0, mode="promise_in_bounds"))
            for own, at in zip(places, (first, second), strict=True)
        )
    return selected.select(s, 0, common), first, second


def _has_equal(s: Any) -> Any:
    """Where the next element of a sorted raw vector is equal."""
    return ops.compare.not_(differs(s, 1))


def difference(a: Any, b: Any, assume_unique: bool) -> Any:
    """`np.setdiff1d` of vectors."""
    if not assume_unique:
        a = unique(a, False, False, False, True)[0]
    return a[isin(a, b, invert=True)]


def symmetric_difference(a: Any, b: Any, assume_unique: bool) -> Any:
    """`np.setxor1d` of vectors: what differs from both neighbours, sorted together."""
    if not assume_unique:
        a, b = (unique(v, False, False, False, True)[0] for v in (a, b))
    s = _sorted(concatenate([a, b]))
    return selected.select(s, 0, ops.compare.and_(differs(s, -1), differs(s, 1)))
