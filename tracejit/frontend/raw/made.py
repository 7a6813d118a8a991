"""Bytes and bytearrays that traced code makes of traced values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.raw.numbers import Raw, RawBytes, bytes_of
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box

_zeros = NUMPY_TO_TRACEJIT[np.zeros]


def _numbers_of(x: Any) -> Box | None:
    """The bytes that `bytes(x)` has, as an array; None where it is for Python to say."""
    if isinstance(x, Raw):
        return bytes_of(x).tj_box
    if type(x) is Box:
        if class_of(x) is np.ndarray:
            made = bytes_of(x)
            return None if made is None else made.tj_box
        if x.aval.dtype.kind not in "biu":
            return None
        index: Any = operator.index
        return _zeros(index(x), np.uint8)
    if type(x) in (list, tuple) and any(type(v) is Box for v in x):
        made = Raw(bytearray, "B", _zeros(0, np.uint8))
        made.extend(x)
        return made.tj_box
    return None


def bytes_(*args: Any, **kwargs: Any) -> Any:
    """`bytes`."""
    if len(args) != 1 or kwargs or type(args[0]) is RawBytes:
        return args[0] if len(args) == 1 and not kwargs else bytes(*args, **kwargs)
    numbers = _numbers_of(args[0])
    return bytes(args[0]) if numbers is None else RawBytes(bytes, "B", numbers)


def bytearray_(*args: Any, **kwargs: Any) -> Any:
    """`bytearray`: one that the program makes at each call."""
    real = args[0] if len(args) == 1 and not kwargs else None
    numbers = None if real is None else _numbers_of(real)
    if numbers is None:
        made = bytearray(*args, **kwargs)
        numbers = _zeros(len(made), np.uint8)
        if any(made):
            numbers[:] = np.frombuffer(bytes(made), np.uint8)
    elif isinstance(real, Raw) or type(real) is Box:
        numbers = numbers.copy()
    return Raw(bytearray, "B", numbers)


FORMS: dict[Any, Callable[..., Any]] = {bytes: bytes_, bytearray: bytearray_}
