"""Views of memory: overlapping windows (`numpy.lib.stride_tricks.sliding_window_view` and `as_strided`), and that of
other objects (`numpy.frombuffer`)."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, DynamicExtentError, RefusedFunctionError, UnfollowedError
from tracejit.ir.avals import Dim
from tracejit.numpy.boxes import members, memory
from tracejit.numpy.boxes.placed import Placed
from tracejit.numpy.dispatch import implements, plain, publish
from tracejit.numpy.functions.arrays.shaping import box_of, read_only
from tracejit.numpy.functions.refused import REFUSED
from tracejit.numpy.operands import MEMORIES, has_box
from tracejit.ops.building.dims import normalize_axis
from tracejit.ops.convolution.sliding import Windows, sliding_windows
from tracejit.tracing import box

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


class Restrided(Placed):
    """Elements of the parent that may lie in several places of the view."""

    __slots__ = ()

    def write(self, holder: list[Any], new: Any) -> Any:
        reason = "an element may lie in several places of it"
        raise UnfollowedError(what="a write into what `as_strided` gave", reason=reason)


@implements(np.lib.stride_tricks.as_strided, "as_strided")
def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Any:
    """A view of the array's memory with other sizes and steps (in bytes). All of it must lie in the array: what is
    outside is refused, and so are writes into the view."""
    view = box_of(x)
    sizes = tuple(view.aval.shape) if shape is None else _ints(shape)
    if any(isinstance(n, Dim) for n in (*sizes, *view.aval.shape)):
        raise DynamicExtentError(op="as_strided", problem="a size is a traced integer")
    steps = _steps(view, sizes) if strides is None else _ints(strides)
    if len(sizes) != len(steps):
        raise ArgumentError(name="as_strided", problem="mismatch in length of strides and shape")
    where, size = _flat_places(view, sizes, steps), math.prod(view.aval.shape)  # type: ignore[arg-type]

    def elements(raw: Any) -> Any:
        return box(ops.shape.reshape(raw, shape=(size,)))[where].read()

    def places(array: np.ndarray) -> np.ndarray:
        scaled = [
            s * array.itemsize // view.itemsize for s in steps
        ]  # of stand-ins, whose elements may be longer
        return np.lib.stride_tricks.as_strided(array, sizes, scaled, writeable=writeable)

    if not writeable:
        return read_only(view, elements, sizes, places)
    return members.indexing.view_of(view, (*view.chain, Restrided(elements, places)), sizes)


def _steps(x: Any, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The steps that NumPy takes where none are given: those of C order, if the array is in C order."""
    own, item = tuple(members.strides(x)), x.aval.dtype.itemsize
    if own != tuple(s * item for s in memory.c_strides(x.aval.shape)):
        return own
    return tuple(s * item for s in memory.c_strides(sizes))


def _flat_places(x: Any, sizes: tuple[int, ...], steps: tuple[int, ...]) -> np.ndarray:
    """Which elements of `x`, counted in C order, lie at these sizes and steps."""
    offsets = _offsets(tuple(x.aval.shape), tuple(members.strides(x))).ravel()
    wanted = _offsets(sizes, steps)
    order = np.argsort(offsets, kind="stable")
    found = np.searchsorted(offsets, wanted, sorter=order)
    inside = np.take(order, found, mode="clip") if offsets.size else found
    if wanted.size and (not offsets.size or not np.array_equal(offsets[inside], wanted)):
        reason = "a part of it lies outside of the array"
        raise UnfollowedError(what="what `as_strided` gives", reason=reason)
    return inside


def _offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """How far each element is from the first one, in bytes."""
    axes = [np.arange(n) * s for n, s in zip(shape, strides, strict=True)]
    return functools.reduce(np.add.outer, axes, np.zeros((), np.int64))


def frombuffer(buffer: Any, dtype: Any = None, count: Any = -1, offset: Any = 0, *, like: Any = None) -> Any:
    """The bytes of an object as an array, in its memory.

    Raises RefusedFunctionError for the memory of arrays, and where traced integers say which part it is."""
    dtype = float if dtype is None else dtype
    if not has_box([buffer]):
        return plain(np.frombuffer, (buffer, dtype, count, offset), {"like": like})
    known = type(buffer) in MEMORIES and type(count) is int and type(offset) is int and like is None
    kind = dtypes.canonical(dtype) if known else None
    if kind is None or np.dtype(dtype) != kind:
        reason, remedy = REFUSED["frombuffer"]
        raise RefusedFunctionError(name="numpy.frombuffer", reason=reason, remedy=remedy)
    numbers, is_writable, sample = MEMORIES[type(buffer)](buffer)
    np.frombuffer(sample, dtype, count, offset)  # raises what NumPy raises for so many bytes
    seen = numbers if numbers.aval.dtype == np.uint8 else numbers.view(np.uint8)
    seen = seen[offset : None if count < 0 else offset + count * kind.itemsize].view(kind)
    return seen if is_writable else read_only(seen, lambda raw: raw, None, members.frozen)


publish(np.frombuffer, frombuffer, "frombuffer")
