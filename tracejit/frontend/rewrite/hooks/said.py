"""What NumPy says of an error that tracing has found: the exception that a handler of the user's looks at.

    try:
        return x + y
    except ValueError as e:        # shapes that do not fit: they are known while tracing
        return str(e)

NumPy is asked for the same with arrays of zeros of the same shapes and dtypes. That is only right where values have no
part in it, and only taken where NumPy's exception is of the class that ours stands for.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import AxisError, IndexingError, ReadOnlyViewError, ShapeError, is_internal, refusals
from tracejit.frontend.shadows import kinds
from tracejit.numpy.ufuncs import Ufunc
from tracejit.tracing import Box

#: Errors of shapes alone.
_OF_SHAPES = (ShapeError, AxisError, IndexingError, ReadOnlyViewError)
#: Larger arrays are not made for this.
_MOST_BYTES = 1 << 24
_Asked = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _UnlikeError(Exception):
    """There is no array like this one to ask NumPy with."""


def by_numpy(error: BaseException) -> BaseException | None:
    """NumPy's exception in the place of `error`; None where that is not known."""
    if not isinstance(error, _OF_SHAPES) or getattr(error, "has_traced_sizes", False):
        return None
    asked = _call(_entries(error.__traceback__))
    if asked is None or (isinstance(error, IndexingError) and _has_box(asked[1][1:])):
        return None
    function, args, kwargs = asked
    try:
        given, named = _like(args), _like(kwargs)
    except _UnlikeError:
        return None
    try:
        with refusals.into(None), np.errstate(all="ignore"):
            function(*given, **named)
    except Exception as e:
        said: BaseException = e.with_traceback(None)
        said.__context__ = None
        return said if _stands_for(error, said) else None
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


def _like(x: Any) -> Any:
    """The same with arrays of zeros for traced ones."""
    if type(x) in (tuple, list):
        return type(x)(map(_like, x))
    if type(x) is dict:
        return {k: _like(v) for k, v in x.items()}
    if type(x) is not Box:
        return x
    made = kinds.example(x)
    if not x.aval.is_static:
        raise _UnlikeError
    if type(made) is np.ndarray:
        if made.size * made.itemsize > _MOST_BYTES:
            raise _UnlikeError
        made = np.zeros(made.shape, made.dtype) if all(v.writable for v in x.chain) else made
    return made


def _has_box(x: Any) -> bool:
    return type(x) is Box or (type(x) in (tuple, list) and any(map(_has_box, x)))
