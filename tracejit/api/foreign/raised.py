"""Exceptions that Numba's callers raise for us.

Numba hands on an exception as the address of a pickle of (class, arguments, location), and calls the class when it is
Python's turn. Exceptions wait here meanwhile. Their places are used again and again: Numba keeps what it has
unpickled, by the bytes, for ever.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import pickle
import sys
import threading
from typing import Any, NamedTuple

#: Exceptions that wait at the same time, at most.
_PLACES = 64
_waiting: list[Any] = [None] * _PLACES
_next = itertools.count()


class Again(Exception):
    """`Again(n)` is the exception that waits at place `n`."""

    def __new__(cls, given: Any) -> Any:
        return given if isinstance(given, BaseException) else _waiting[given]


class _Unraisable(NamedTuple):
    """What `sys.unraisablehook` takes."""

    exc_type: type
    exc_value: BaseException
    exc_traceback: Any
    err_msg: str
    object: Any


class _Told(ctypes.Structure):
    """How Numba lays out what it raises."""

    _fields_ = (
        ("data", ctypes.c_char_p),
        ("size", ctypes.c_int32),
        ("hash", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("allocated", ctypes.c_int32),
    )


@functools.cache
def _told(place: int) -> _Told:
    data = pickle.dumps((Again, (place,), None))
    return _Told(data, len(data), hashlib.sha1(data, usedforsecurity=False).digest(), None, 0)


def keep(error: BaseException) -> int:
    """The address by which Numba raises `error`. In threads of its parallel loops Numba loses what is raised: there it
    goes to `sys.unraisablehook`, too."""
    if all(t.ident != threading.get_ident() for t in threading.enumerate()):
        message = "Exception ignored in a parallel loop of Numba's"
        sys.unraisablehook(_Unraisable(type(error), error, error.__traceback__, message, None))  # type: ignore[arg-type]
    place = next(_next) % _PLACES
    _waiting[place] = error.with_traceback(None)  # which would keep the frames
    return ctypes.addressof(_told(place))
