"""How views lie in memory: what reshapes without a copy, what is contiguous, in which order the axes are.

A view is given by the shape of its base, the base's strides in elements (None for C order) and the chain of views.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tracejit.ir.avals import Shape
from tracejit.numpy.boxes.placed import Placed, ReadOnly
from tracejit.numpy.boxes.views import ImagPart, RealPart, Region, Reshaped, Strided
from tracejit.tracing import Box, View, new_array

#: So much NumPy may do to find out whether arrays that lie in turns share elements.
_WORK: Any = 1000


def reshape_is_view(
    base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...], shape: tuple[int, ...]
) -> bool:
    """Whether NumPy would reshape without copying: this view of an array of shape `base` whose strides
    (in elements) are `layout`, or C order's."""
    if not chain and layout is None:
        return True
    try:
        shadow = _shadow(base, layout, chain)
        return shadow is not None and np.reshape(shadow, shape, copy=False) is not None
    except ValueError:
        return False


def in_fortran_order(base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...]) -> bool:
    """Whether the view lies in memory in Fortran's order and not in C's."""
    try:
        shadow = _shadow(base, layout, chain)
    except ValueError:
        return False
    return shadow is not None and shadow.flags.fnc


def is_contiguous(base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...], order: str) -> bool:
    """Whether the view lies in memory without gaps in C's or Fortran's order."""
    if not chain and layout is None and order == "C":
        return True
    try:
        shadow = _shadow(base, layout, chain)
    except ValueError:
        return False
    return shadow is not None and (shadow.flags.c_contiguous if order == "C" else shadow.flags.f_contiguous)


def memory_order(
    base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...]
) -> tuple[int, ...] | None:
    """The axes of the view from the largest step in memory to the smallest; None if it is no view of memory."""
    try:
        shadow = _shadow(base, layout, chain)
    except ValueError:
        return None
    if shadow is None:
        return None
    return tuple(sorted(range(shadow.ndim), key=lambda n: (-abs(shadow.strides[n]), n)))


def has_gaps(base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...]) -> bool:
    """Whether the view can be told from a new array with its axes in the same order: its elements do not follow one
    another in memory, or it can't be written."""
    if not chain:
        return False
    if any(not v.writable or isinstance(v, (ImagPart, RealPart)) for v in chain):
        return True
    order = memory_order(base, layout, chain)
    if order is None:  # its extents are traced
        return any(
            isinstance(v, Strided) or (isinstance(v, Region) and any(s != 1 for s in v.steps)) for v in chain
        )
    shadow = _shadow(base, layout, chain)
    return shadow is not None and not shadow.transpose(order).flags.c_contiguous


def strides_of(
    base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...]
) -> tuple[int, ...] | None:
    """The steps of the view in elements; None if it is no view of memory."""
    try:
        shadow = _shadow(base, layout, chain, any_size=True)
    except ValueError:
        return None
    return None if shadow is None else tuple(s // 8 for s in shadow.strides)


def overlap(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays may have an element in common: fields of one array have none, though they lie in turns."""
    return np.may_share_memory(x, y, _WORK)


class Uneven(tuple[int, ...]):
    """The strides of an array whose steps are no whole elements, as fields of a structure may have them: as many times
    as long as they are, so that they are whole. What is contiguous, and what reshapes, is the same."""

    __slots__ = ()


def layout_of(x: Any) -> tuple[int, ...] | None:
    """The strides in elements, if `x` is an array that is not in C order."""
    if type(x) is not np.ndarray or x.flags.c_contiguous:
        return None
    return in_elements(x.strides, x.itemsize)


def new_of(array: np.ndarray) -> Box:
    """A box of a new array, which user code may write into; it lies in memory as NumPy has made it."""
    made = new_array(array)
    made.storage.layout = layout_of(array)
    return made


def in_elements(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes as strides in elements."""
    if any(s % itemsize for s in strides):
        scale = itemsize // math.gcd(itemsize, *strides)
        return Uneven(s * scale // itemsize for s in strides)
    return tuple([s // itemsize for s in strides])


def c_strides(shape: Shape) -> tuple[int, ...]:
    """The steps of an array in C order, in elements."""
    return tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))


def length(d: Any) -> int:
    """The extent of a dimension; where that is traced, what stands for it in strides."""
    return d if type(d) is int else d.bound or 7


def strides_in(shape: Shape, order: tuple[int, ...]) -> tuple[int, ...]:
    """The strides in elements of an array without gaps whose axes lie in this order, from the largest step to the
    smallest."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= length(shape[axis])
    return tuple(strides)


def layout_of_field(dtype: np.dtype, name: str, shape: Any) -> tuple[int, ...] | None:
    """The strides in elements of a field of a new array; None if it is in C order."""
    field = dtype[name]
    sizes = [length(d) for d in shape]
    outer = len(sizes) - len(field.shape)
    steps = [s * dtype.itemsize for s in c_strides(tuple(sizes[:outer]))]
    steps += [s * field.base.itemsize for s in c_strides(field.shape)]
    strides = in_elements(tuple(steps), field.base.itemsize)
    return None if strides == c_strides(tuple(sizes)) else strides


def fields_overlap(dtype: np.dtype) -> bool:
    """Whether two fields of a dtype share memory."""
    fields = [dtype.fields[n] for n in dtype.names or ()]  # type: ignore[index]
    ends = sorted((offset, offset + field.itemsize) for field, offset, *_ in fields)
    return any(end > start for (_, end), (start, _) in itertools.pairwise(ends))


def order_of_strides(
    strides: tuple[int, ...] | None, shape: tuple[Any, ...] | None = None
) -> tuple[int, ...] | None:
    """The axes from the largest step to the smallest, those without steps where they are; None for C order's."""
    if strides is None:
        return None
    long = [n for n, s in enumerate(strides) if s and (shape is None or shape[n] != 1)]
    order = list(range(len(strides)))
    for place, axis in zip(long, sorted(long, key=lambda n: (-abs(strides[n]), n)), strict=True):
        order[place] = axis
    return None if order == list(range(len(order))) else tuple(order)


def _shadow(
    base: Shape, layout: tuple[int, ...] | None, chain: tuple[View, ...], any_size: bool = False
) -> np.ndarray | None:
    """An array with the strides of the view, over no memory of its own: it must not be read. `any_size`: its sizes do
    not matter."""
    traced = not all(type(d) is int for d in base)
    base = tuple(map(length, base))
    elements = layout or c_strides(base)
    strides = [8 * s for s in elements]
    out = np.lib.stride_tricks.as_strided(np.empty(1), base, strides)
    for view in chain:
        if isinstance(view, Reshaped) and (traced or not all(type(d) is int for d in view.shape)):
            return None
        if isinstance(view, Reshaped):
            out = np.reshape(out, view.shape, copy=False)
        elif isinstance(view, Region) and (any_size or view.is_static or _is_front(view)):
            out = _shadow_region(out, view)
        elif (
            isinstance(view, (Placed, ReadOnly)) and view.places is not None and not view.sizes and not traced
        ):
            out = view.places(out)
        else:
            return None
    return out


def _is_front(r: Region) -> bool:
    """Whether a region with a traced number of whole rows lies in memory as any number of them does."""
    whole = all(
        n is d or n is getattr(d, "var", d) or _same(n, d)
        for n, d in zip(r.sizes[1:], r.base[1:], strict=True)
    )
    return whole and None not in r.axes and all(s == 1 for s in r.steps)


def _same(n: Any, d: Any) -> bool:
    return type(n) is int and n == d


def _shadow_region(x: np.ndarray, r: Region) -> np.ndarray:
    sizes = [n if type(n) is int else d for n, d in zip(r.sizes, x.shape, strict=True)]
    shape = [1 if a is None else sizes[a] for a in r.axes]
    strides = [0 if a is None else x.strides[a] * r.steps[a] for a in r.axes]
    return np.lib.stride_tricks.as_strided(x, shape, strides)
