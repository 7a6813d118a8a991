"""Sets: arrays of distinct sorted elements. Their lengths are known, those of traced values traced, or `size=`."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError
from tracejit.interpreters.vmap import BatchTracer
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.extents import operand
from tracejit.numpy.boxes.masking.masks import iota
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.elementwise import truth
from tracejit.numpy.functions.arrays.joining import concatenate
from tracejit.numpy.functions.arrays.shaping import box_of, ravel, reshape
from tracejit.numpy.functions.order import distinct
from tracejit.numpy.functions.order.searching import flat, give_size, true_places, values_of
from tracejit.numpy.functions.statistics.reductions import axes_of, axis_of
from tracejit.numpy.operands import cast, convert, dtype_of, raw, result_type, shape_of
from tracejit.tracing import box, wrap

_I64 = dtypes.int64
_OUTSIDE = "call it outside of the traced function, or compare with numpy.isin, which has a static shape"


@implements(np.unique, "unique")
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Any = None, *, equal_nan: bool = True, sorted: bool = True, size: int | None = None,
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """The distinct elements in order, with their first places, the inverse, and counts.

    Derivatives flow to the first of equal elements. Of traced values their number is traced too; or it is given
    as `size`: then the first `size` of them, followed by `fill_value` (the least one; counts 0).

    Raises DataDependentShapeError for traced rows (`axis`), complex numbers, and for `sorted=False`, whose order
    is that of a table of NumPy's, without `size`.
    """
    x = box(raw(ar))
    if size is not None:
        if axis is not None:
            raise ArgumentError(name="unique", problem="size= takes no axis: flatten the array first")
        found = _padded(x, int(size), fill_value, equal_nan)
    elif sorted and _is_traced(x) and (axis is None or (x.ndim == 1 and axis_of("unique", axis, 1) == 0)):
        found = distinct.unique(x, return_index, return_inverse, return_counts, equal_nan)
    else:
        known = values_of("unique", x, give_size("unique"))
        _, first, inverse, counts = np.unique(known, True, True, True, axis, equal_nan=equal_nan)
        x = ravel(x) if axis is None else x
        n = 0 if axis is None else axis % x.ndim
        found = x[(slice(None),) * n + (first,)], first, inverse, counts
    wanted = (True, return_index, return_inverse, return_counts)
    out = [v for v, w in zip(found, wanted, strict=True) if w]
    return tuple(out) if len(out) > 1 else out[0]


def _is_traced(*xs: Any) -> bool:
    """Whether some of the arrays are traced, and all of dtypes that native code sorts as NumPy does. Of arrays that
    differ between the examples of a `vmap` the lengths would differ too."""
    raws = [raw(x) for x in xs]
    if any(isinstance(r, BatchTracer) for r in raws):
        return False
    return any(extents.known(r) is None for r in raws) and all(dtype_of(r).kind in "biuf" for r in raws)


def _padded(x: Any, size: int, fill_value: Any, equal_nan: bool) -> tuple[Any, ...]:
    shape = shape_of(raw(x))
    v = flat("unique", raw(x))
    n = shape_of(v)[0]
    if not n:
        raise ArgumentError(name="unique", problem="size= needs at least one element")
    s, order = ops.sort.sort(v, np.arange(n), axis=0, num_keys=1, stable=True)
    new = _starts(s, equal_nan)
    ends, total = true_places(new, size + 1)
    at = _cut(ends, 0, size)
    found = ops.compare.lt(np.arange(size), total)
    fill = ops.gather.take(s, np.int64(0), 0) if fill_value is None else convert(fill_value, dtype_of(s))
    values = ops.compare.select(found, ops.gather.take(s, at, 0), fill)
    first = ops.gather.take(order, at, 0)
    first = ops.compare.select(found, first, ops.gather.take(order, np.int64(0), 0))
    group = ops.arithmetic.sub(ops.cumulative.cumsum(cast(new, _I64), axis=0, reverse=False), np.int64(1))
    inverse = box(np.zeros(n, np.int64)).at[wrap(order)].set(wrap(group), unique_indices=True)
    counts = ops.arithmetic.sub(_cut(ends, 1, size + 1), at)
    return wrap(values), wrap(first), reshape(inverse, shape), wrap(counts)


def _cut(r: Any, lo: int, hi: int) -> Any:
    return ops.shape.slice(r, start_indices=(lo,), limit_indices=(hi,))


def _starts(s: Any, equal_nan: bool) -> Any:
    """Where a new value begins in a sorted raw vector."""
    n = shape_of(s)[0]
    a, b = _cut(s, 0, n - 1), _cut(s, 1, n)
    new = ops.compare.ne(a, b)
    if equal_nan and dtypes.is_inexact(dtype_of(s)):
        both = ops.compare.and_(ops.compare.isnan(a), ops.compare.isnan(b))
        new = ops.compare.and_(new, ops.compare.not_(both))
    return ops.concat.concatenate(np.ones(1, bool), new, dimension=0)


_All = collections.namedtuple("UniqueAllResult", "values indices inverse_indices counts")  # type: ignore[misc]
_Counts = collections.namedtuple("UniqueCountsResult", "values counts")  # type: ignore[misc]
_Inverse = collections.namedtuple("UniqueInverseResult", "values inverse_indices")  # type: ignore[misc]


@implements(np.unique_all, "unique_all")
def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`unique` with everything, NaN all different."""
    return _All(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


@implements(np.unique_counts, "unique_counts")
def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`unique` with counts, NaN all different."""
    return _Counts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


@implements(np.unique_inverse, "unique_inverse")
def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`unique` with the inverse, NaN all different."""
    return _Inverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


@implements(np.unique_values, "unique_values")
def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`unique`, NaN all different; in order, which NumPy does not promise."""
    return unique(x, equal_nan=False, sorted=False, size=size, fill_value=fill_value)


@implements(np.union1d, "union1d")
def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements of both, in order."""
    both = concatenate([ar1, ar2], None)
    return unique(both, size=size, fill_value=fill_value)


def _known_pair(name: str, ar1: Any, ar2: Any) -> tuple[np.ndarray, np.ndarray]:
    return values_of(name, ar1, _OUTSIDE).ravel(), values_of(name, ar2, _OUTSIDE).ravel()


@implements(np.intersect1d, "intersect1d")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that are in both; they are the first array's."""
    if _is_traced(ar1, ar2):
        return distinct.intersection(ravel(ar1), ravel(ar2), assume_unique, return_indices)
    a, b = _known_pair("intersect1d", ar1, ar2)
    _, i, j = np.intersect1d(a, b, assume_unique, return_indices=True)
    out = ravel(box_of(ar1))[i].astype(result_type(ar1, ar2))
    return (out, i, j) if return_indices else out


@implements(np.setdiff1d, "setdiff1d")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The distinct elements of the first that are not in the second."""
    if _is_traced(ar1, ar2):
        return distinct.difference(ravel(ar1), ravel(ar2), assume_unique)
    a, b = _known_pair("setdiff1d", ar1, ar2)
    first = np.arange(a.size) if assume_unique else np.unique(a, return_index=True)[1]
    return ravel(box_of(ar1))[first[~np.isin(a[first], b)]]


@implements(np.setxor1d, "setxor1d")
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The distinct elements that are in one of both only."""
    if _is_traced(ar1, ar2):
        return distinct.symmetric_difference(ravel(ar1), ravel(ar2), assume_unique)
    _known_pair("setxor1d", ar1, ar2)
    rest = [setdiff1d(ar1, ar2, assume_unique), setdiff1d(ar2, ar1, assume_unique)]
    return NP[np.sort](concatenate(rest))


@implements(np.trim_zeros, "trim_zeros")
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Without the zeros at the front and the back: a view, of traced length if the values are."""
    x, sides = box_of(filt), trim.lower()
    if sides not in ("f", "b", "fb", "bf"):
        raise ArgumentError(name="trim_zeros", problem=f"unexpected character(s) in trim {trim!r}")
    if type(filt) in (list, tuple) or isinstance(raw(x), BatchTracer):  # a part of a list is one, too
        values_of("trim_zeros", filt, "cut the array with static slices, and make one of a list")
    cuts = [slice(None)] * x.ndim
    for n in range(x.ndim) if axis is None else axes_of("trim_zeros", axis, x.ndim):
        cuts[n] = slice(*_without_zeros(x, n, sides))
    return x[tuple(cuts)] if x.ndim else x


def _without_zeros(x: Any, axis: int, sides: str) -> tuple[Any, Any]:
    """Where the elements of an axis begin and end that are not all zeros."""
    line = truth(raw(x))
    others = tuple(n for n in range(x.ndim) if n != axis)
    line = ops.reduce.reduce_or(line, axes=others) if others else line
    known = np.zeros(0) if shape_of(line) == (0,) else extents.known(line)
    if known is not None:
        places = np.nonzero(known)[0]
        first, last = (int(places[0]), int(places[-1]) + 1) if places.size else (0, 0)
        return (first if "f" in sides else 0), (last if "b" in sides or not places.size else len(known))
    at, (length,) = iota(shape_of(line), 0), shape_of(line)
    end, zero = operand(extents.of_dim(length)), np.int64(0)
    first = ops.reduce.reduce_min(ops.compare.select(line, at, end), axes=(0,))
    last = ops.reduce.reduce_max(ops.compare.select(line, at, np.int64(-1)), axes=(0,))
    some = ops.reduce.reduce_or(line, axes=(0,))
    stop = ops.arithmetic.add(last, np.int64(1)) if "b" in sides else end
    return (
        wrap(ops.compare.select(some, first, zero)) if "f" in sides else 0,
        wrap(ops.compare.select(some, stop, zero)),
    )
