"""scipy.ndimage's sums, means and moments of the elements with each label."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.lax.segments import segment_sum
from tracejit.numpy.operands import raw
from tracejit.scipy.imaging.filters import PART
from tracejit.tracing import to_raw, wrap


def _sums(values: list[Any], labels: Any, index: Any) -> list[Any]:
    """The sum of each of `values` over the elements with each label of `index`, and the number of these; numbers where
    there is one label, or none is told from others."""
    if labels is None:
        return [*(v.sum() for v in values), np.float64(math.prod(values[0].shape))]
    *values, labels = tnp.broadcast_arrays(*values, wrap(raw(labels)))
    if index is None:
        within = labels > 0
        return [*(tnp.where(within, v, 0).sum() for v in values), within.sum().astype(float)]
    at = tnp.asarray(index)
    order = tnp.argsort(at.reshape(-1), kind="stable")
    known = at.reshape(-1)[order]
    count = known.shape[0]
    place = tnp.clip(tnp.searchsorted(known, labels.reshape(-1)), 0, max(count - 1, 0))
    place = tnp.where(known[place] == labels.reshape(-1), place, -1)
    # A label that is asked for more than once is counted where it comes first.
    back = tnp.searchsorted(known, at.reshape(-1))
    ones = tnp.ones(labels.size)
    sums = [segment_sum(v.reshape(-1), place, count)[back].reshape(at.shape) for v in (*values, ones)]
    return [wrap(to_raw(s)) for s in sums]  # a number where `index` is one


def _values(input: Any) -> Any:
    x = wrap(raw(input))
    if dtypes.is_complex(x.dtype):
        raise TypeError("Complex type not supported")
    return x


def _precise(input: Any, labels: Any, index: Any) -> Any:
    """Sums by label are of double precision, others of that of the input."""
    x = _values(input)
    whole = labels is None or index is None
    return x if whole and dtypes.is_inexact(x.dtype) else x.astype(float)


@PART.function
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The sum of the elements with each label."""
    x = _values(input)
    if labels is None or index is None:
        return _sums([x], labels, index)[0]
    return _sums([x.astype(float)], labels, index)[0]


@PART.function
def sum(input: Any, labels: Any = None, index: Any = None) -> Any:
    """`sum_labels`, by its older name."""
    return sum_labels(input, labels, index)


@PART.function
def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean of the elements with each label."""
    total, count = _sums([_precise(input, labels, index)], labels, index)
    return total / count


def _variance(input: Any, labels: Any, index: Any) -> Any:
    x = _precise(input, labels, index)
    total, count = _sums([x], labels, index)
    middle = total / count
    if labels is None or index is None:
        return _sums([(x - middle) ** 2], labels, index)[0] / count
    # Around the mean of all, which is taken out again: each element's own mean would have to be looked up.
    center = tnp.mean(x)
    first, second, count = _sums([x - center, (x - center) ** 2], labels, index)
    return second / count - (first / count) ** 2


@PART.function
def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The variance of the elements with each label."""
    return _variance(input, labels, index)


@PART.function
def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Its square root."""
    return tnp.sqrt(_variance(input, labels, index))


@PART.function
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean place of the elements with each label, weighted by them: a tuple, or a list of tuples."""
    x = _precise(input, labels, index)
    places = [
        np.arange(n).reshape([-1 if d == k else 1 for d in range(x.ndim)]) for k, n in enumerate(x.shape)
    ]
    total, *moments = _sums([x, *(x * p for p in places)], labels, index)[:-1]
    centers = [m / total for m in moments]
    if not tnp.ndim(total):
        return tuple(centers)
    rows = tnp.stack(centers, axis=-1)
    return [tuple(rows[n, d] for d in range(x.ndim)) for n in range(rows.shape[0])]


__all__ = ["center_of_mass", "mean", "standard_deviation", "sum", "sum_labels", "variance"]
