"""Searching: nonzero elements, places in sorted vectors, membership.

Results whose length depends on values have a traced length, or (as in JAX) the one given: `size=`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, DataDependentShapeError, ShapeError
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.masking import selected
from tracejit.numpy.dispatch import implements
from tracejit.numpy.elementwise import truth
from tracejit.numpy.functions.arrays.shaping import box_of, ravel
from tracejit.numpy.functions.statistics.reductions import single_axis
from tracejit.numpy.operands import (
    cast,
    convert,
    dtype_of,
    elements,
    filled,
    promote,
    raw,
    result_type,
    shape_of,
)
from tracejit.tracing import box, new_array, wrap

_I64 = dtypes.int64


def values_of(name: str, x: Any, remedy: str) -> np.ndarray:
    """The known values of `x`. Raises DataDependentShapeError where they are not known."""
    r = raw(x)
    value = extents.known(r)
    if value is None:
        raise DataDependentShapeError(name=f"numpy.{name}", aval=str(aval_of(r)), remedy=remedy)
    return np.asarray(value)


def give_size(name: str) -> str:
    return f"give its length: numpy.{name}(..., size=n), which pads or cuts the result"


def flat(name: str, r: Any) -> Any:
    """A raw value as a vector."""
    shape = shape_of(r)
    return r if len(shape) == 1 else ops.shape.reshape(r, shape=(elements(name, shape),))


def true_places(mask: Any, size: int) -> tuple[Any, Any]:
    """The places of the first `size` true elements of a raw boolean vector, and how many are true.

    Entries after the last true element are the length of the vector.
    """
    counts = ops.cumulative.cumsum(cast(mask, _I64), axis=0, reverse=False)
    total = ops.reduce.reduce_sum(cast(mask, _I64), axes=(0,))
    wanted = np.arange(1, size + 1)
    return ops.search.searchsorted(counts, wanted, side="left"), total


@implements(np.nonzero, "nonzero")
def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """Indices of the elements that are not zero, one array an axis.

    Of traced values their number is traced too; or it is given as `size`: then the first `size` ones,
    followed by `fill_value` (0; or one value an axis) where there are fewer.
    """
    return _nonzero(raw(a), size, fill_value)


def _nonzero(x: Any, size: int | None, fill_value: Any) -> tuple[Any, ...]:
    if not shape_of(x):
        raise ArgumentError(name="nonzero", problem="calling nonzero on 0d arrays is not allowed")
    if size is None:
        known = extents.known(x)
        return selected.nonzero(truth(x)) if known is None else _columns(known)
    shape = shape_of(x)
    fills = _fills(fill_value, len(shape))
    if not elements("nonzero", shape):
        return tuple(wrap(ops.shape.broadcast_to(f, (size,))) for f in fills)
    at, total = true_places(flat("nonzero", truth(x)), size)
    found = ops.compare.lt(np.arange(size), total)
    return tuple(
        wrap(ops.compare.select(found, d, f)) for d, f in zip(unravel(at, shape), fills, strict=True)
    )


def _columns(x: Any) -> tuple[Any, ...]:
    """The coordinates of what is not zero in a known array: columns of one array, as NumPy's are."""
    all_of = new_array(np.array(np.argwhere(x), order="C"))
    return tuple(all_of[:, n] for n in range(np.ndim(x)))


def _fills(value: Any, ndim: int) -> list[Any]:
    many = isinstance(value, (tuple, list))
    if many and len(value) != ndim:
        raise ArgumentError(name="nonzero", problem=f"fill_value has {len(value)} entries for {ndim} axes")
    return [convert(0 if v is None else v, _I64) for v in (value if many else [value] * ndim)]


def unravel(at: Any, shape: Any) -> list[Any]:
    """A raw array of flat positions as positions along each axis, in C order."""
    out: list[Any] = []
    for n in range(len(shape)):
        here = ops.arithmetic.floor_divide(at, np.int64(math.prod(shape[n + 1 :])))
        out.append(ops.arithmetic.remainder(here, np.int64(shape[n])) if n else here)
    return out


@implements(np.flatnonzero, "flatnonzero")
def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`nonzero` of the flattened array."""
    return _nonzero(flat("flatnonzero", raw(a)), size, fill_value)[0]


@implements(np.argwhere, "argwhere")
def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`nonzero`, one row an element."""
    x = raw(a)
    if not shape_of(x):
        return np.zeros((int(bool(values_of("argwhere", x, give_size("argwhere")))), 0), int)
    if size is None and extents.known(x) is None:
        return selected.argwhere(truth(x))
    columns = _nonzero(x, size, fill_value)
    if not any(isinstance(raw(c), Value) for c in columns):
        return np.transpose([np.asarray(raw(c)) for c in columns])
    return wrap(ops.concat.concatenate(*(ops.shape.expand_dims(raw(c), (1,)) for c in columns), dimension=1))


@implements(np.compress, "compress")
def compress(
    condition: Any, a: Any, axis: Any = None, *, size: int | None = None, fill_value: Any = 0
) -> Any:
    """Slices where a condition holds; or the first `size` of them, then `fill_value`."""
    x = ravel(box(raw(a))) if axis is None else box(raw(a))
    n = single_axis("compress", 0 if axis is None else axis, x.ndim)
    c = raw(condition)
    if len(shape_of(c)) != 1:
        raise ShapeError(op="compress", problem="condition must be a 1-d array")
    if size is None:
        before = (slice(None),) * n
        known = extents.known(c)
        if known is not None:
            return x[(*before, np.nonzero(known)[0])]
        return x[(*before, slice(shape_of(c)[0]))][(*before, wrap(truth(c)))]
    at, total = true_places(truth(c), size)
    found = ops.compare.lt(np.arange(size), total)
    taken = raw(x.at[(slice(None),) * n + (wrap(at),)].get(mode="clip"))
    mask = ops.shape.expand_dims(found, tuple(d for d in range(x.ndim) if d != n))
    mask = ops.shape.broadcast_to(mask, shape_of(taken))
    return wrap(ops.compare.select(mask, taken, convert(fill_value, dtype_of(taken))))


@implements(np.extract, "extract")
def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements where a condition holds; or the first `size` of them, then `fill_value`."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# ---------------------------------------------------------------- sorted vectors


@implements(np.searchsorted, "searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where to insert values into a sorted vector, by binary search; NaN is last."""
    x = box_of(a) if sorter is None else box_of(a)[sorter]
    if x.ndim != 1:
        raise ShapeError(op="searchsorted", problem="object too deep for desired array: it is no vector")
    if side not in ("left", "right"):
        raise ArgumentError(name="searchsorted", problem=f"side must be 'left' or 'right', not {side!r}")
    d = promote(dtype_of(x), dtype_of(raw(v)))  # a Python number is an array here
    return wrap(ops.search.searchsorted(convert(x, d), convert(v, d), side=side))


_UNSORTED = ops.index_check.Raising(ValueError, "bins must be monotonically increasing or decreasing")


@implements(np.digitize, "digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The index of the bin of each value; bins increase or decrease."""
    edges = box_of(bins)
    if dtype_of(raw(x)).kind == "c":
        raise ArgumentTypeError(name="digitize", problem="x may not be complex")
    if edges.ndim != 1:
        raise ShapeError(
            op="digitize", problem="object of too small depth for desired array: bins are no vector"
        )
    up = searchsorted(edges, x, side="left" if right else "right")
    n = edges.shape[0]
    if n < 2:
        return up
    c, known = ops.compare, extents.known(raw(edges))
    before, after = raw(edges[:-1]), raw(edges[1:])
    falls, rises = (ops.reduce.reduce_or(x, axes=(0,)) for x in (c.lt(after, before), c.gt(after, before)))
    ops.index_check.fail_where(c.and_(falls, rises), _UNSORTED)
    if known is not None and known[0] <= known[-1]:
        return up
    down = n - searchsorted(edges[::-1], x, side="left" if right else "right")
    rising = ops.compare.le(raw(edges[0]), raw(edges[-1]))
    if known is not None:
        return down
    return wrap(ops.compare.select(rising, raw(up), raw(down)))


@implements(np.isin, "isin", arrays=True)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Which elements occur among `test_elements`: by binary search in them, sorted."""
    if kind not in (None, "sort", "table"):
        raise ArgumentError(name="isin", problem=f"`kind=` is 'sort' or 'table', not {kind!r}")
    d = result_type(element, test_elements)
    x = convert(element, d)
    tests = flat("isin", convert(test_elements, d))
    n = extents.of_dim(shape_of(tests)[0])
    if type(n) is int and n == 0:
        return wrap(filled(invert, dtypes.bool_, shape_of(x)))
    tests = ops.sort.sort(tests, axis=0, num_keys=1, stable=False)[0]
    return wrap(_is_among(x, tests, n, invert))


def _is_among(x: Any, tests: Any, n: Any, invert: bool) -> Any:
    """Whether the elements of a raw array are among those of a sorted vector of `n`, which may be traced, or 0."""
    last = extents.maximum(extents.sub(n, 1), 0)
    at = ops.search.searchsorted(tests, x, side="left")
    at = ops.arithmetic.minimum(at, extents.operand(last))
    found = ops.compare.eq(ops.gather.take(tests, at, 0), x)
    if not extents.at_least(n, 1):
        found = ops.compare.and_(found, ops.compare.gt(n, np.int64(0)))
    return ops.compare.not_(found) if invert else found
