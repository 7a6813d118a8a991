"""Functions that another compiler made, as programs call them: `native:7` is the seventh of this process.

A name means something in this process only, so that addresses are in no text and no file: machine code finds them in
its table of pointers, as it finds all functions outside of it.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from typing import Any

from tracejit.errors import InternalTypeError

__all__ = ["PREFIX", "Native", "find"]

PREFIX = "native:"
_numbers = itertools.count()
_known: weakref.WeakValueDictionary[str, Native] = weakref.WeakValueDictionary()


class Native:
    """`int32_t f(void *...)` at `address`: pointers to operands and results, 0 if it worked. `keep` is what has to live
    as long. Who calls it holds this object."""

    def __init__(self, address: int, count: int, keep: Any) -> None:
        self.address = address
        self.keep = keep
        self.signature = f"i32({','.join(['ptr'] * count)})"
        self.name = f"{PREFIX}{next(_numbers)}"
        self.call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * count)(address)
        _known[self.name] = self


def find(name: str) -> Native:
    """The function of this name. Raises InternalTypeError."""
    found = _known.get(name)
    if found is None:
        raise InternalTypeError(problem=f"no address for the external function {name!r}")
    return found
