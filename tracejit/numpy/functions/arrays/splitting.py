"""Arrays taken apart along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.pythons import require
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.shaping import box_of, moveaxis, rank
from tracejit.numpy.functions.statistics.reductions import axis_of


@implements(np.array_split, "array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """Parts along an axis (views), of nearly equal size or cut at these positions."""
    x = box_of(ary)
    a = axis_of("split", axis, x.ndim)
    n = x.shape[a]
    if np.ndim(indices_or_sections) == 0:
        k = int(indices_or_sections)
        if k <= 0:
            raise ArgumentError(name="array_split", problem="number sections must be larger than 0")
        least = min if isinstance(n, int) else NP[np.minimum]
        cuts = [i * (n // k) + least(i, n % k) for i in range(k + 1)]
    else:
        cuts = [0, *indices_or_sections, None]
    head = (slice(None),) * a
    return [x[(*head, slice(lo, hi))] for lo, hi in pairwise(cuts)]


@implements(np.split, "split")
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    """Like `array_split`; the parts must be of equal size."""
    if np.ndim(indices_or_sections) == 0 and box_of(ary).shape[axis] % int(indices_or_sections):
        raise ArgumentError(name="split", problem="array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit, "hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the second axis (the first of one-dimensional arrays)."""
    return split(_of_rank(ary, 1, "hsplit"), indices_or_sections, 1 if rank(ary) > 1 else 0)


@implements(np.vsplit, "vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the first axis."""
    return split(_of_rank(ary, 2, "vsplit"), indices_or_sections, 0)


@implements(np.dsplit, "dsplit")
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the third axis."""
    return split(_of_rank(ary, 3, "dsplit"), indices_or_sections, 2)


def _of_rank(ary: Any, n: int, name: str) -> Any:
    if rank(ary) < n:
        raise ValueError(f"{name} only works on arrays of {n} or more dimensions")
    return ary


@implements(np.unstack, "unstack")
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The sub-arrays along an axis."""
    require(x, "ndim")
    if not rank(x):
        raise ArgumentError(name="unstack", problem="Input array must be at least 1-d.")
    return tuple(moveaxis(x, axis, 0))
