"""Sorting, searching, counting, order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.functions.arrays.shaping import box_of, ravel
from tracejit.numpy.functions.statistics.reductions import axis_of, single_axis
from tracejit.numpy.operands import cast, dtype_of, raw, shape_of
from tracejit.numpy.options import judge_partition, judge_sort
from tracejit.records import record
from tracejit.tracing import wrap


@record(frozen=True)
class PlaceFailure:
    """Makes NumPy's exception of a place of a partition that the array has not."""

    size: int | None

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        k, size = details[0], details[1] if self.size is None else self.size
        return ValueError(f"kth(={k + size if k < 0 else k}) out of bounds ({size})")


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
    size = extents.of_dim(x.aval.shape[n])
    judge_partition(size, () if known is None else known, kind, order)
    if known is None and size != 0:
        _check_places(raw(kth), size)


def _check_places(kth: Any, size: Any) -> None:
    """Let the program raise as NumPy does for traced places that an array of this size has not."""
    if dtype_of(kth).kind not in "iub":
        raise TypeError("Partition index must be integer")
    kth = cast(kth, dtypes.int64)
    static = size if type(size) is int else None
    if static is None:  # of nothing everything is a partition
        kth = ops.arithmetic.mul(kth, cast(ops.compare.ne(size, np.int64(0)), dtypes.int64))
        size = extents.maximum(size, 1)
    ops.index_check.check_index(kth, size=size, axis=0, failure=PlaceFailure(static))


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
