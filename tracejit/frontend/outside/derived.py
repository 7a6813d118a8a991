"""Which classes derive from a class of the user's: stand-ins are none of them."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any


class _Base:
    """A class of which only one derives."""


def _word(cls: type, at: int) -> int:
    return ctypes.c_size_t.from_address(id(cls) + at).value


@functools.cache
def _listed_at() -> int | None:
    """Where in the memory of a class the address of the dict of its subclasses is, which no function hands out; None
    if that can't be told."""
    size: Any = type.__basicsize__
    places = range(0, size, ctypes.sizeof(ctypes.c_size_t))
    empty = [at for at in places if _word(_Base, at) == 0]
    made = type("_Derived", (_Base,), {})
    filled = [at for at in empty if _word(_Base, at) >> 20]
    if sys.implementation.name != "cpython" or len(filled) != 1:
        return None
    listed = _object_at(_Base, filled[0])
    return filled[0] if type(listed) is dict and list(listed) == [id(made)] else None


def _object_at(cls: type, at: int) -> Any:
    return ctypes.cast(_word(cls, at), ctypes.py_object).value


def unlist(made: type, cls: type) -> None:
    """Take a stand-in out of `cls.__subclasses__()`, where programs look for classes of their own. What changes in
    `cls` is no longer told to the stand-in, which `traced_class` makes up for."""
    at = _listed_at()
    if at is not None and type(listed := _object_at(cls, at)) is dict:
        listed.pop(id(made), None)
