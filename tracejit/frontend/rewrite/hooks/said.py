"""What NumPy says of an error that tracing has found: the exception that a handler of the user's looks at.

    try:
        return x + y
    except ValueError as e:        # shapes that do not fit: they are known while tracing
        return str(e)

NumPy is asked for the same with arrays of zeros, and of ones, of the same shapes and dtypes. That is only right
where values have no part in it, and only taken where NumPy's exception is of the class that ours stands for.
"""

from __future__ import annotations

import operator
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import (
    AxisError,
    IndexingError,
    IndexOutOfRangeError,
    ReadOnlyViewError,
    ShapeError,
    is_internal,
    refusals,
)
from tracejit.frontend.shadows import kinds
from tracejit.numpy.ufuncs import Ufunc
from tracejit.tracing import Box

#: Errors of indices, which are only asked for where these are known.
_OF_INDICES = (IndexingError, IndexOutOfRangeError)
#: Errors of shapes alone, and of known indices.
_OF_SHAPES = (ShapeError, AxisError, ReadOnlyViewError, *_OF_INDICES)
#: Larger arrays are not made for this.
_MOST_BYTES = 1 << 24
_Asked = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


_Made = Callable[..., Any]
#: The reason why NumPy can't be asked where what it says depends on values.
_BY_VALUES = ("by values",)


class UnlikeError(Exception):
    """There is no array like this one to ask NumPy with."""


def by_numpy(error: BaseException) -> BaseException | None:
    """NumPy's exception in the place of `error`; None where that is not known."""
    if not isinstance(error, _OF_SHAPES) or getattr(error, "has_traced_sizes", False):
        return None
    try:
        said = _said(error)
    except UnlikeError:
        return None
    return said if said is not None and _stands_for(error, said) else None


def denied(error: BaseException, is_same: Callable[[BaseException], bool]) -> bool:
    """Whether NumPy does not raise what tracing has found, or says more than that; False where it can't be asked.
    `is_same`: whether an exception of NumPy's is as good as `error` where it is caught."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            said = _said(error)
        except UnlikeError as e:
            return e.args == _BY_VALUES
    return said is None or bool(told) or not is_same(said)


def _said(error: BaseException) -> BaseException | None:
    """What NumPy raises for the call that raised `error`. Raises UnlikeError if it can't be asked."""
    asked = _call(_entries(error.__traceback__))
    if asked is None:
        raise UnlikeError
    function, args, kwargs = asked
    if isinstance(error, _OF_INDICES) and _has_box(args[1:2] if function is operator.setitem else args[1:]):
        raise UnlikeError
    said = _asked_with(np.zeros, function, args, kwargs)
    other = _asked_with(np.ones, function, args, kwargs)
    if (type(said), str(said)) != (type(other), str(other)):
        raise UnlikeError(*_BY_VALUES)
    return said


def _asked_with(made: _Made, function: Any, args: Any, kwargs: Any) -> BaseException | None:
    given, named = like(args, made), like(kwargs, made)
    try:
        with refusals.into(None), np.errstate(all="ignore"):
            function(*given, **named)
    except Exception as e:
        said: BaseException = e.with_traceback(None)
        said.__context__ = None
        return said
    return None


def _stands_for(error: BaseException, said: BaseException) -> bool:
    if isinstance(error, AxisError):
        return type(said) is np.exceptions.AxisError
    return type(said) in type(error).__mro__ and type(said) in (ValueError, IndexError, TypeError)


def _entries(at: types.TracebackType | None) -> list[types.FrameType]:
    """The frames of ours that the user's code has called last."""
    found: list[types.FrameType] = []
    while at is not None:
        if not is_internal(at.tb_frame.f_code.co_filename):
            found = []
        elif at.tb_frame.f_code.co_name != "operate":  # which hands it on
            found.append(at.tb_frame)
        at = at.tb_next
    return found


def _call(frames: list[types.FrameType]) -> _Asked | None:
    """The call of NumPy's that the frames stand for: the first of them, or the function that a method is."""
    first = _asked(frames[0]) if frames else None
    if first is not None or not frames:
        return first
    method = frames[0].f_code.co_name
    for frame in frames[1:]:
        asked = _asked(frame)
        if asked is not None:
            return asked if asked[0].__name__ == method else None
    return None


def _asked(frame: types.FrameType) -> _Asked | None:
    """The call of NumPy's that a frame of ours stands for."""
    held, name = frame.f_locals, frame.f_code.co_name
    if name == "call" and held.get("np_function") is not None and {"args", "kwargs"} <= held.keys():
        return None if held.get("out") is not None else (held["np_function"], held["args"], held["kwargs"])
    if type(held.get("self")) is Ufunc and name == "__call__":
        return held["self"].np, held["args"], held["kwargs"]
    if type(held.get("ufunc")) is Ufunc and name in ("forward", "reflected"):
        pair = (held["x"], held["y"]) if name == "forward" else (held["y"], held["x"])
        return held["ufunc"].np, pair, {}
    if name == "subscript" and type(held.get("x")) is Box:
        args = (held["x"], *held["args"])
        return (operator.getitem if len(args) == 2 else operator.setitem), args, {}
    return None


def like(x: Any, made: _Made) -> Any:
    """The same with arrays and numbers that are `made` for traced ones."""
    if type(x) in (tuple, list):
        return type(x)(like(v, made) for v in x)
    if type(x) is dict:
        return {k: like(v, made) for k, v in x.items()}
    if type(x) is not Box:
        return x
    example = kinds.example(x)
    if not x.aval.is_static:
        raise UnlikeError
    if type(example) is not np.ndarray:
        return type(example)(made(()))
    if example.size * example.itemsize > _MOST_BYTES:
        raise UnlikeError
    array = made(example.shape, example.dtype)
    array.flags.writeable = all(v.writable for v in x.chain)
    return array


def _has_box(x: Any) -> bool:
    return type(x) is Box or (type(x) in (tuple, list) and any(map(_has_box, x)))
