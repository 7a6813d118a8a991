"""Bytearrays and arrays of the module `array` that a function is given or captures: their memory is seen as an array of
outside. What changes their length is written when the program has run."""

from __future__ import annotations

import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.frontend.journal import Change
from tracejit.frontend.paths import Node
from tracejit.frontend.raw.numbers import CODES, MUTABLE, Raw
from tracejit.frontend.shadows import objects

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


class _Lent:
    """The memory of an object for NumPy, without a lock on its length: an array that is left over would keep the object
    from getting longer."""

    def __init__(self, owner: Any, start: int, dtype: np.dtype) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (start, False),
            "shape": (len(owner),),
            "typestr": dtype.str,
            "version": 3,
        }


def code_of(x: Any) -> str:
    """The type of its numbers."""
    return "B" if type(x) is bytearray else x.typecode


def memory_of(x: Any) -> np.ndarray:
    """The numbers of a bytearray or array as they lie in its memory."""
    dtype = np.dtype(code_of(x))
    if not len(x):
        return np.empty(0, dtype)
    start = x.buffer_info()[0] if type(x) is array.array else np.frombuffer(x, np.uint8).ctypes.data
    return np.asarray(_Lent(x, start, dtype))


def can_follow(x: Any) -> bool:
    """Whether it is an object of which this is known."""
    return type(x) in MUTABLE and code_of(x) in CODES


def wrap(session: Run, node: Node, value: Any) -> Any:
    """The stand-in of such an object. Eager runs use it as it is."""
    if not session.guarded or not can_follow(value):
        return objects.wrap_object(session, node, value)
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    here = session.hold(node, value)
    session.differs(node, value)
    numbers = session.wrap(here.applied(memory_of), memory_of(value))
    return session.remember(value, Raw(type(value), code_of(value), numbers), node)


def changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """Those that the run has made longer."""
    for value, stand_in in session.seen():
        if type(stand_in) is Raw and len(stand_in) != len(value):
            node = session.where_is(stand_in)
            assert node is not None
            yield Change(node, stand_in.tj_refilled()), True
