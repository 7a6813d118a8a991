"""Counting: bincount and histograms. Bins are static in number; their edges may depend on values."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, DataDependentShapeError
from tracejit.interpreters.vmap import BatchTracer
from tracejit.ir.avals import DimSize, aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.boxes.masking.calls import worst
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.joining import stack
from tracejit.numpy.functions.arrays.ranges import linspace
from tracejit.numpy.functions.arrays.shaping import box_of, ravel, reshape
from tracejit.numpy.functions.numerics.calculus import diff
from tracejit.numpy.functions.order.searching import searchsorted
from tracejit.numpy.functions.order.selection import where
from tracejit.numpy.functions.statistics.reductions import max_, min_
from tracejit.numpy.operands import cast, dtype_of, filled, raw, result_type, shape_of
from tracejit.numpy.ufuncs import TABLE
from tracejit.records import record
from tracejit.tracing import Box, box, caller, wrap


def _fails(message: str) -> ops.index_check.Raising:
    return ops.index_check.Raising(ValueError, message)


_NEGATIVE = _fails("'list' argument must have no negative elements")
_SHORT = _fails("'minlength' must not be negative")
_UNSORTED = _fails("`bins` must increase monotonically, when an array")
_REVERSED = _fails("max must be larger than min in range parameter.")


@implements(np.bincount, "bincount")
def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """How often each integer occurs, or the sum of its weights.

    The result has `length` elements if given (values outside are dropped); else as many as the values need, and at
    least `minlength`. Traced values must be below a `minlength` that is given, which is checked: so the result has as
    many elements in each example of a `vmap`.

    Raises DataDependentShapeError for values that differ between the examples of a `vmap`, without a length.
    """
    r = raw(x)
    if len(shape_of(r)) != 1:
        raise ArgumentError(name="bincount", problem="object too deep for desired array: x is no vector")
    if dtype_of(r).kind not in "biu":
        raise ArgumentTypeError(name="bincount", problem=f"cannot cast x from {dtype_of(r)} to int64 safely")
    size = _length(r, extents.number(minlength), length)
    index: Any = box(cast(r, dtypes.int64))
    if length is None and dtype_of(r).kind == "i":
        ops.index_check.fail_where(ops.compare.lt(raw(index), np.int64(0)), _NEGATIVE)
    w = wrap(filled(1, dtypes.int64, shape_of(r))) if weights is None else box_of(weights).astype(float)
    if shape_of(raw(w)) != shape_of(r):
        raise ArgumentError(name="bincount", problem="the weights and list don't have the same length")
    if length is None and type(size) is int and extents.known(r) is None:
        text = f"numpy.bincount: {{}} is beyond minlength={size}, and compiled results have as many elements only"
        failure = ops.index_check.Raising(ValueError, text, dtypes.int64)
        ops.index_check.fail_where(ops.compare.ge(raw(index), np.int64(size)), failure, raw(index))
    if weights is not None and not extents.at_least(extents.of_dim(shape_of(r)[0]), 1):
        if shape_of(r) == (0,):  # NumPy counts then
            return box(filled(0, dtypes.int64, (size,)))
        leave_if(
            ops.compare.eq(extents.of_dim(shape_of(r)[0]), np.int64(0)),
            "the integers that NumPy gives for nothing",
        )
    beyond = wrap(extents.operand(extents.of_dim(size)))
    index = where(index < 0, beyond, index)  # x.at would count from the end; beyond it nothing is added
    return box(filled(0, dtype_of(raw(w)), (size,))).at[index].add(w)


def _length(r: Any, least: Any, given: int | None) -> DimSize:
    """How many bins there are: a number of the program where the values are traced, or `least` is."""
    if type(least) is int and least < 0:
        raise ValueError("'minlength' must not be negative")
    if not extents.at_least(least, 0):
        ops.index_check.fail_where(ops.compare.lt(least, np.int64(0)), _SHORT)
    if given is not None:
        return operator.index(given)
    known = extents.known(r)
    if known is not None:
        needed: Any = int(known.max()) + 1 if known.size else 0
    elif shape_of(r) == (0,):
        needed = 0
    elif type(least) is int and least:
        return least
    elif isinstance(r, BatchTracer):
        remedy = "give its length: numpy.bincount(x, length=n), or minlength=n if all values are below n"
        raise DataDependentShapeError(name="numpy.bincount", aval=str(aval_of(r)), remedy=remedy)
    else:
        largest = cast(ops.reduce.reduce_max(r, axes=(0,)), dtypes.int64)
        some = ops.compare.gt(extents.operand(extents.of_dim(shape_of(r)[0])), np.int64(0))
        needed = ops.compare.select(some, ops.arithmetic.add(largest, np.int64(1)), np.int64(0))
    return extents.to_dim(extents.maximum(needed, least), None)


# ---------------------------------------------------------------- edges


@implements(np.histogram_bin_edges, "histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins: equal ones between the extremes or over `range`, or `bins` themselves.

    Rules given by name ("auto", "fd" …) choose a number of bins by values, which must be known.
    """
    x = _sample(a)
    if isinstance(bins, str):
        return _edges_by_rule(x, bins, range, weights)
    if not _is_number(bins):
        return _given_edges(bins, _UNSORTED)
    n = operator.index(bins)
    if n < 1:
        raise ArgumentError(name="histogram", problem="`bins` must be positive, when an integer")
    first, last = _outer_edges(x, range)
    dtype = result_type(first, last, x)
    dtype = dtype if dtypes.is_inexact(dtype) else np.result_type(dtype, float)
    return linspace(first, last, n + 1, dtype=dtype)


def _sample(a: Any) -> Any:
    """The values as a vector of what can be subtracted."""
    x = ravel(box_of(a))
    if x.dtype.kind != "b":
        return x
    caller.warn("Converting input from bool to <class 'numpy.uint8'> for compatibility.", RuntimeWarning)
    return x.astype(np.uint8)


def _given_edges(bins: Any, unsorted: Any) -> Any:
    edges = box_of(bins)
    if edges.ndim != 1:
        raise ArgumentError(name="histogram", problem="`bins` must be 1d, when an array")
    ops.index_check.fail_where(raw(edges[:-1] > edges[1:]), unsorted)
    return edges


def _is_number(x: Any) -> bool:
    return not shape_of(raw(x))


def _edges_by_rule(x: Any, rule: str, span: Any, weights: Any) -> Any:
    np.histogram_bin_edges(np.zeros(1), rule)  # raises where it is unknown
    known = extents.known(raw(x))
    if known is None:
        remedy = "give the number of bins instead of a rule"
        raise DataDependentShapeError(name="numpy.histogram", aval=str(aval_of(raw(x))), remedy=remedy)
    n = len(np.histogram_bin_edges(known, rule, span, weights)) - 1
    return histogram_bin_edges(x, n, span)


def _outer_edges(x: Any, span: Any) -> tuple[Any, Any]:
    """The ends of the bins, apart even if all values are equal."""
    if span is not None:
        first, last = span
        ops.index_check.fail_where(raw(box_of(first) > last), _REVERSED)
        _judge_finite("supplied", first, last)
    elif x.aval.shape[0] == 0:
        first, last = 0.0, 1.0
    elif not x.aval.is_static:
        empty, ends = x.shape[0] == 0, (worst(x.dtype, False), worst(x.dtype, True))
        first, last = where(empty, 0, min_(x, initial=ends[0])), where(empty, 1, max_(x, initial=ends[1]))
    else:
        first, last = min_(x), max_(x)
        _judge_finite("autodetected", first, last)
    if all(type(e) in (int, float) for e in (first, last)):
        return (first - 0.5, last + 0.5) if first == last else (first, last)
    lo, hi = box(raw(first)), box(raw(last))
    lo, hi = (e if dtypes.is_inexact(e.dtype) else e.astype(float) for e in (lo, hi))
    same = lo == hi
    return where(same, lo - 0.5, lo), where(same, hi + 0.5, hi)  # type: ignore[operator]


_ENDS = (np.nan, np.inf, -np.inf)
_BITS_OF_INF = np.float64(np.inf).view(np.int64)


@record(frozen=True)
class RangeFailure:
    """The failure of a range that is not finite, of numbers of two dtypes. The check's index has the bits of the
    finite end, less those of inf (so that it is none of the small integers), and its size says what the other is; or
    the index is a code of both."""

    which: str
    ends: tuple[np.dtype, np.dtype]

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        code, size, *_ = details
        if 0 <= code < 9:
            pair = [_ENDS[code // 3], _ENDS[code % 3]]
        else:
            finite = (np.int64(code) ^ _BITS_OF_INF).view(np.float64)
            pair = [finite, _ENDS[size % 3]] if size < 3 else [_ENDS[size % 3], finite]
        first, last = (d.type(x) for x, d in zip(pair, self.ends, strict=True))
        return ValueError(f"{self.which} range of [{first}, {last}] is not finite")


def _judge_finite(which: str, first: Any, last: Any) -> None:
    """Raise, when the program runs, where an end of a range is infinite or NaN."""
    c, ends = ops.compare, [raw(first), raw(last)]
    if not any(dtypes.is_float(dtype_of(e)) for e in ends):
        return
    lo, hi = (ops.create.convert(e, dtypes.float64) for e in ends)
    fine, (low, high) = [c.isfinite(e) for e in (lo, hi)], [_code(e) for e in (lo, hi)]
    bits = ops.create.bitcast(c.select(fine[0], lo, hi), dtype=dtypes.int64)
    both = ops.arithmetic.add(ops.arithmetic.mul(low, 3), high)
    index = c.select(c.or_(*fine), c.xor(bits, _BITS_OF_INF), both)
    size = c.select(fine[0], high, c.select(fine[1], ops.arithmetic.add(low, 3), np.int64(0)))
    good = c.and_(*fine)
    failure = RangeFailure(which, (dtype_of(ends[0]), dtype_of(ends[1])))
    index, size = c.select(good, np.int64(0), index), c.select(good, np.int64(1), size)
    ops.index_check.check_index(index, size=size, axis=0, failure=failure)


def _code(x: Any) -> Any:
    """Which of `_ENDS` a number is that is not finite."""
    infinite = ops.compare.select(ops.compare.gt(x, 0.0), np.int64(1), np.int64(2))
    return ops.compare.select(ops.compare.isnan(x), np.int64(0), infinite)


# ---------------------------------------------------------------- histograms


@implements(np.histogram, "histogram")
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """How many values lie in each bin (the last one includes its right edge), and the edges.

    Counts have no derivative with respect to the values; sums of `weights` have one to the weights.
    """
    x = _sample(a)
    edges = histogram_bin_edges(x, bins, range, weights)
    if weights is None:
        w = wrap(filled(1, dtypes.int64, x.aval.shape))
    else:
        w = ravel(box_of(weights))
        if w.aval.shape != x.aval.shape:
            raise ArgumentError(name="histogram", problem="weights should have the same shape as a")
    equal = isinstance(bins, str) or _is_number(bins)
    counts = _into_bins((_equal_bin if equal else _bin)(x, edges), edges.shape[0] - 1, w)
    if not density:
        return counts, edges
    return counts / diff(edges).astype(float) / counts.sum(), edges


def _bin(x: Any, edges: Any) -> Any:
    """The bin of each value; the number of bins for values outside."""
    n = edges.shape[0] - 1
    place = searchsorted(edges, x, side="right") - 1
    place = where(x == edges[-1], n - 1, place)
    outside = (place < 0) | (x > edges[-1]) | TABLE["isnan"](x)
    return where(outside, n, place)


def _equal_bin(x: Any, edges: Any) -> Any:
    """`_bin` where all bins are as wide: computed, and then compared with the edges beside it, since it is rounded."""
    n, x = edges.shape[0] - 1, x.astype(edges.dtype)
    first, last = edges[0], edges[-1]
    inside = (x >= first) & (x <= last)
    guess = where(inside, (x - first) / (last - first) * n, 0).astype(np.int64)
    guess = TABLE["minimum"](guess, n - 1)
    place = guess - (x < edges[guess]) + ((x >= edges[guess + 1]) & (guess < n - 1))
    return where(inside, place, n)


def _into_bins(place: Any, n: int, w: Any) -> Any:
    return box(filled(0, w.dtype, (n,))).at[place].add(w)


@implements(np.histogramdd, "histogramdd")
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """A histogram of points: an (N, D) array, or a sequence of D coordinate vectors. Counts are floats."""
    if type(sample) is Box and sample.weak:
        raise TypeError(f"'{class_of(sample).__name__}' object is not iterable")
    columns = _columns(sample)
    d = len(columns)
    each = list(bins) if _has_length(bins) else [bins] * d
    if len(each) != d:
        raise ArgumentError(
            name="histogramdd", problem="the dimension of bins must be equal to the dimension of the sample x"
        )
    spans = [None] * d if range is None else list(range)
    if len(spans) != d:
        raise ArgumentError(name="histogramdd", problem="range argument must have one entry per dimension")
    edges = [_edges(n, c, b, s) for n, (c, b, s) in enumerate(zip(columns, each, spans, strict=True))]
    sizes = [e.shape[0] - 1 for e in edges]
    place: Any = 0
    for c, e, n in zip(columns, edges, sizes, strict=True):
        b = _bin(c, e)
        place = place * (n + 2) + where(
            b < n, b + 1, 0
        )  # in NumPy's larger array, whose outermost cells are outside
    wide = [n + 2 for n in sizes]
    w = wrap(filled(1, dtypes.float64, columns[0].aval.shape))
    w = w if weights is None else ravel(weights).astype(result_type(weights, 1.0))
    out = reshape(_into_bins(place, math.prod(wide), w), tuple(wide))[(slice(1, -1),) * d]
    if density:
        whole = out.sum()
        for n, e in enumerate(edges):
            out = out / reshape(diff(e), (-1,) + (1,) * (d - n - 1))
        out = out / whole
    return out, edges


def _has_length(bins: Any) -> bool:
    return isinstance(bins, (tuple, list)) or bool(shape_of(raw(bins)))


def _columns(sample: Any) -> list[Any]:
    if isinstance(sample, (tuple, list)):
        sample = NP[np.atleast_2d](stack([box_of(s) for s in sample])).T
    x = box_of(sample)
    x = x if x.ndim == 2 else NP[np.atleast_2d](x).T
    return [x[:, n] for n in np.arange(x.shape[1])]


def _edges(n: int, x: Any, bins: Any, span: Any) -> Any:
    if not _is_number(bins):
        return _given_edges(bins, _fails(f"`bins[{n}]` must be monotonically increasing, when an array"))
    first, last = _outer_edges(x, span)
    return linspace(first, last, operator.index(bins) + 1)


@implements(np.histogram2d, "histogram2d")
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """A histogram of points in the plane: counts, edges of x, edges of y."""
    if shape_of(raw(x)) != shape_of(raw(y)):
        raise ArgumentError(name="histogram2d", problem="x and y must have the same length")
    pair = _has_length(bins) and len(bins) == 2
    each: Sequence[Any] = bins if pair or not _has_length(bins) else [bins, bins]
    out, edges = histogramdd([x, y], each, range, density, weights)
    return out, edges[0], edges[1]
