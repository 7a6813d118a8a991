"""What is written as slices: mgrid, ogrid, r_ and c_."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import ArgumentError
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import plain, publish
from tracejit.numpy.functions.arrays.joining import concatenate, stack
from tracejit.numpy.functions.arrays.ranges import arange, count, is_real, linspace
from tracejit.numpy.functions.arrays.shaping import atleast_1d, box_of, broadcast_arrays, expand_dims, reshape
from tracejit.numpy.operands import convert, has_box, result_type
from tracejit.tracing import Box, is_tracing, new_array, wrap


def _ends(key: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step of a slice, as far as they are traced and known integers as these."""
    ends = (0 if key.start is None else key.start, key.stop, 1 if key.step is None else key.step)
    return tuple(v if type(v) is not Box or is_real(v) else extents.number(v) for v in ends)  # type: ignore[return-value]


def _has_real(key: Any) -> bool:
    """Whether ends of the slices are traced numbers that are no integers."""
    return any(
        is_real(v)
        for part in (key if isinstance(key, tuple) else (key,))
        for v in ((part.start, part.stop, part.step) if isinstance(part, slice) else (part,))
    )


def _is_python(x: Any) -> bool:
    return x.weak if type(x) is Box else type(x) in (bool, int, float, complex)


class _Joiner:
    """`np.r_[...]` and `np.c_[...]`: arrays, numbers and ranges (slices) joined along the last axis."""

    def __init__(self, np_joiner: Any, columns: bool) -> None:
        self._np = np_joiner
        self._columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not has_box(parts) and not any(isinstance(p, slice) and _has_real(p) for p in parts):
            return plain(self._np.__getitem__, (key,), {})
        if any(isinstance(p, str) for p in parts):
            raise ArgumentError(
                name="r_", problem="directives in strings are not implemented for traced arrays"
            )
        parts = [self._range(p) if isinstance(p, slice) else p if _is_python(p) else box_of(p) for p in parts]
        kind = result_type(*parts)  # Python's numbers are weak
        xs = [atleast_1d(wrap(convert(p, kind))) for p in parts]
        if not self._columns:
            return concatenate(xs, 0)
        return concatenate([expand_dims(x, 1) if x.ndim == 1 else x for x in xs], -1)

    def _range(self, key: slice) -> Any:
        if not _has_real(key):
            return self._np[key]
        start, stop, step = _ends(key)
        if isinstance(step, complex):
            return linspace(start, stop, num=int(abs(step)))
        return arange(start, stop, step)


publish(None, _Joiner(np.r_, columns=False), "r_")
publish(None, _Joiner(np.c_, columns=True), "c_")


class _Grid:
    """`np.mgrid[...]` and `np.ogrid[...]`, as arrays that traced values may be assigned into."""

    def __init__(self, np_grid: Any, sparse: bool) -> None:
        self._np = np_grid
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        key = tuple(key) if isinstance(key, list) else key
        if _has_real(key):
            return self._of_traced(key)
        # What is traced raises where its value is not known.
        parts = [
            slice(*map(_known, (p.start, p.stop, p.step)))
            for p in (key if isinstance(key, tuple) else (key,))
        ]
        grids = self._np[tuple(parts) if isinstance(key, tuple) else parts[0]]
        if not is_tracing():
            return grids
        return tuple(map(new_array, grids)) if type(grids) is tuple else new_array(grids)

    def _of_traced(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            start, stop, step = ends = _ends(key)
            kind = result_type(start, stop, abs(step)) if isinstance(step, complex) else None
            return _points(ends, kind)
        kind = result_type(*(abs(v) if isinstance(v, complex) else v for p in key for v in _ends(p)))
        lines = [_points(_ends(p), kind) for p in key]
        n = len(lines)
        open_ = [reshape(x, tuple(-1 if k == i else 1 for k in range(n))) for i, x in enumerate(lines)]
        return tuple(open_) if self._sparse else stack(broadcast_arrays(*open_))


def _known(end: Any) -> Any:
    return end.__index__() if type(end) is Box else end


def _points(ends: tuple[Any, Any, Any], kind: Any) -> Any:
    """The points of one axis, in a dtype; `arange`'s without one."""
    start, stop, step = ends
    if isinstance(step, complex):
        size = int(abs(step))
        step = (stop - start) / float(size - 1) if size > 1 else stop - start
    elif kind is None:
        return arange(start, stop, step)
    else:
        size = extents.user_size(extents.to_dim(count(start, stop, step), None))
    return (arange(size, dtype=kind) * step + start).astype(kind)


publish(None, _Grid(np.mgrid, sparse=False), "mgrid")
publish(None, _Grid(np.ogrid, sparse=True), "ogrid")
