"""Options given by name, such as `order='F'`: NumPy itself judges them, so that it raises its own exceptions."""

from __future__ import annotations

import math
import operator
import sys
import types
import warnings
from typing import Any

import numpy as np

from tracejit.errors import ArgumentError, is_internal
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.operands import convert
from tracejit.tracing import Box

_NOTHING: Any = np.empty(0)
_THREE: Any = np.arange(3)


def _without_output() -> list[str]:
    """What NumPy (since 2.4) warns of where a ufunc has `where` and no `out`."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        np.positive(_THREE, where=_THREE > 3)
    return [str(w.message) for w in told]


NO_OUTPUT = _without_output()
_ORDERS = frozenset({"C", "F", "A", "K"})
_MODES = {4: "raise", 1: "wrap", 2: "clip"}


def order_of(order: Any, default: str = "K") -> str:
    """An order of elements in memory, in capitals. Raises as NumPy does for what is none."""
    if type(order) is str and order in _ORDERS:
        return order
    _NOTHING.copy(order)
    return default if order is None else str(order).upper()


def copy_of(copy: Any) -> Any:
    """What is given as `copy`, whose truth counts. Raises as NumPy does for text."""
    if isinstance(copy, str):  # also one that a condition chooses
        np.asarray(_NOTHING, copy="text")  # type: ignore[arg-type]
    return copy


def judge_order_of_new(order: Any) -> None:
    """Raises as NumPy does for the order of an array made of nothing but its shape."""
    if order != "C":
        np.empty(0, order=order)


def order_of_shape(order: Any) -> str:
    """An order in which elements are counted: C, F or A."""
    order = order_of(order, "C")
    if order == "K":
        _NOTHING.reshape((0,), order=order)
    return order


def judge_sort(kind: Any, order: Any, stable: Any = None) -> None:
    """Raises as NumPy does for the options of a sort of numbers."""
    if kind is not None or order is not None or stable is not None:
        _NOTHING.copy().sort(kind=kind, order=order, stable=stable)


def judge_partition(size: Any, kth: Any, kind: Any, order: Any) -> None:
    """Raises as NumPy does for the options of a partition of numbers along an axis of this size (an int, if known)."""
    _THREE.copy().partition(0, kind="introselect" if kind is None else kind, order=order)
    if type(size) is not int:
        return
    for k in np.ravel(kth).tolist():
        if not -size <= k < size and size:
            raise ValueError(f"kth(={k + size if k < 0 else k}) out of bounds ({size})")


def keeps(keepdims: Any, strict: bool = True) -> bool:
    """Whether reduced axes stay, with size 1. NumPy's functions in C are `strict` and want an integer, the others take
    what is true. A traced number is asked for its value."""
    if keepdims is True or keepdims is False or keepdims is np._NoValue:
        return keepdims is True
    return bool(operator.index(keepdims)) if strict else bool(keepdims)


def freedom(ddof: Any, correction: Any) -> Any:
    """`ddof`, or `correction`, which is another name for it. Raises ArgumentError as NumPy does if both are given."""
    if correction is None or correction is np._NoValue:
        return ddof
    if ddof != 0:
        raise ArgumentError(name="var", problem="ddof and correction can't be provided simultaneously.")
    return correction


def initial_of(x: Any, dtype: np.dtype) -> Any:
    """What a reduction starts from, as `dtype`. Raises ArgumentError as NumPy does for what has dimensions."""
    if isinstance(x, (list, tuple)) or (x.aval.shape if type(x) is Box else np.ndim(x)):
        raise ArgumentError(name="reduce", problem="setting an array element with a sequence.")
    return convert(x, dtype)


def let_numpy_warn(
    function: Any, x: Any, axes: tuple[int, ...], where: Any, most: Any, **options: Any
) -> bool:
    """Have `function` of NumPy warn of too few elements, `most` of them, along the reduced axes of a raw value: it, or
    the method of arrays, if that is what the user has called. Whether there are so few."""
    shape = aval_of(x).shape
    known = where is True or not (type(where) is Box or isinstance(where, Value))
    if not known or type(most) is not int or not all(type(d) is int for d in shape):
        return False
    n = math.prod(shape[axis] for axis in axes)
    if where is not True and n > most:
        counts = np.broadcast_to(where, shape).sum(axes)  # type: ignore[arg-type]
        n = counts.min() if counts.size else n
    if n <= most:
        function = _for_mean(function)
        options |= {} if where is True else {"where": where}
        called = getattr(np.ndarray, function.__name__) if _is_method() else function
        with np.errstate(all="ignore"):
            called(np.broadcast_to(np.zeros((), aval_of(x).dtype), shape), axis=axes, **options)  # type: ignore[arg-type]
    return n <= most


#: Functions that warn where NumPy takes the mean of nothing for them.
_BY_MEAN = {np.mean: (np.average, np.median), np.nanmean: (np.nanmedian,)}


def _for_mean(function: Any) -> Any:
    """The function of NumPy's that the user has called, if it is one that takes a mean by `function`; else that."""
    frame: types.FrameType | None = sys._getframe(2)
    found = function
    while frame is not None and is_internal(frame.f_code.co_filename):
        if frame.f_code.co_name == "call":
            found = frame.f_locals.get("np_function", found)
        frame = frame.f_back
    return found if any(found is f for f in _BY_MEAN.get(function, ())) else function


def _is_method() -> bool:
    """Whether the innermost function of `numpy.dispatch` is at work for a method of an array."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and "np_function" not in frame.f_locals:
        frame = frame.f_back
    return frame is not None and frame.f_back is not None and frame.f_back.f_code.co_name == "method"


def mode_of(mode: Any) -> str:
    """What becomes of indices out of range: raise, wrap or clip. Raises as NumPy does for what is none of them."""
    if type(mode) is str and mode in _MODES.values():
        return mode
    try:
        return _MODES[int(_THREE.take([4], mode=mode)[0])]
    except IndexError:
        return "raise"
