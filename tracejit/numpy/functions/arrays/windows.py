"""Overlapping windows: `numpy.lib.stride_tricks.sliding_window_view`."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tracejit.errors import ArgumentError, DynamicExtentError
from tracejit.ir.avals import Dim
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.shaping import box_of, read_only
from tracejit.ops.building.dims import normalize_axis
from tracejit.ops.convolution.sliding import Windows, sliding_windows

_NAME = "sliding_window_view"


def _ints(x: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, x)) if np.iterable(x) else (operator.index(x),)


@implements(np.lib.stride_tricks.sliding_window_view, _NAME)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """A read-only view of all windows of `window_shape` along `axis` (all axes if None; an axis may be named
    twice): out[..., o, ..., p] = x[..., o + p, ...], the positions in a window in new axes at the end.

    Raises ArgumentError (a ValueError) for windows larger than the array, and for `writeable=True`: elements
    that lie in several windows have no separate places to be written to.
    """
    box = box_of(x)
    sizes = _ints(window_shape)
    axes = range(box.ndim) if axis is None else [normalize_axis(_NAME, a, box.ndim) for a in _ints(axis)]
    if len(axes) != len(sizes):
        problem = f"{len(sizes)} window sizes for {len(axes)} axes"
        raise ArgumentError(name=_NAME, problem=problem)
    if min(sizes, default=0) < 0:
        raise ArgumentError(name=_NAME, problem="`window_shape` cannot contain negative values")
    if writeable:
        raise ArgumentError(name=_NAME, problem="windows of traced arrays cannot be written into")
    # One axis at a time, since an axis may be named twice: its second windows are windows of its first.
    left = list(box.aval.shape)
    for a, size in zip(axes, sizes, strict=True):
        n = left[a]
        if isinstance(n, Dim):
            raise DynamicExtentError(op=_NAME, problem=f"the size of axis {a} is a traced integer")
        if n < size:
            problem = "window shape cannot be larger than input array shape"
            raise ArgumentError(name=_NAME, problem=problem)
        left[a] = n - size + 1

    def windows(raw: Any) -> Any:
        if len(set(axes)) == len(axes):
            return sliding_windows(raw, _plain(tuple(axes), sizes))
        for a, size in zip(axes, sizes, strict=True):
            raw = sliding_windows(raw, _plain((a,), (size,)))
        return raw

    places = functools.partial(np.lib.stride_tricks.sliding_window_view, window_shape=sizes, axis=tuple(axes))
    return read_only(box, windows, (*left, *sizes), places)


def _plain(axes: tuple[int, ...], sizes: tuple[int, ...]) -> Windows:
    ones = (1,) * len(axes)
    return Windows(axes, sizes, ones, ones)
