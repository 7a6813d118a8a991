"""Sorting, searching, counting, order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.functions.arrays.shaping import box_of, ravel
from tracejit.numpy.functions.statistics.reductions import axis_of, single_axis
from tracejit.numpy.operands import raw, shape_of
from tracejit.numpy.options import judge_partition, judge_sort
from tracejit.tracing import wrap

# ---------------------------------------------------------------- sorting and searching


def _stable(kind: Any, stable: Any) -> bool:
    """Whether NumPy's options ask for a stable sort; the default is its faster one."""
    return bool(stable) or kind in ("stable", "mergesort")


@implements(np.sort, "sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """A sorted copy; NaN last."""
    judge_sort(kind, order, stable)
    x = raw(ravel(a) if axis is None else a)
    n = axis_of("sort", -1 if axis is None else axis, len(shape_of(x)))
    return wrap(ops.sort.sort(x, axis=n, num_keys=1, stable=_stable(kind, stable))[0])


@implements(np.argsort, "argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """The indices that sort; equal elements stay in order if `stable`."""
    judge_sort(kind, order, stable)
    x = raw(ravel(a) if axis is None else a)
    n = single_axis("argsort", -1 if axis is None else axis, len(shape_of(x)))
    return wrap(ops.sort.argsort(x, axis=n, stable=_stable(kind, stable)))


def _judge_partition(a: Any, kth: Any, axis: Any, kind: Any, order: Any) -> None:
    x = box_of(ravel(a) if axis is None else a)
    known = kth if type(kth) is int else extents.known(raw(kth))
    n = axis_of("partition", -1 if axis is None else axis, x.ndim)
    judge_partition(x.aval.shape[n], () if known is None else known, kind, order)


@implements(np.partition, "partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Sorted entirely, which is a valid partition."""
    _judge_partition(a, kth, axis, kind, order)
    return sort(a, axis)


@implements(np.argpartition, "argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """The indices of a full sort, which is a valid partition."""
    _judge_partition(a, kth, axis, kind, order)
    return argsort(a, axis)


@implements(np.lexsort, "lexsort")
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The indices that sort by several keys, the last one first."""
    xs = [raw(k) for k in keys]
    n = axis_of("lexsort", axis, len(shape_of(xs[0])))
    places = NUMPY_TO_TRACEJIT[np.indices](tuple(map(extents.user_size, shape_of(xs[0]))))[n]
    return wrap(ops.sort.sort(*reversed(xs), raw(places), axis=n, num_keys=len(xs), stable=True)[-1])
