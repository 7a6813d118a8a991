"""Arrays that say where the elements of a sparse array are, of which nobody has asked yet what they hold.

What a program is compiled for has to be compared at every call, element by element. So a product of a captured sparse
array takes these arrays as inputs, as it does the elements, and they are known, and compared, only if they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.tracing import Box, Storage, Trace


class Unread(Storage):
    """Known integers. `asked()` is called before they are read for the first time; `given()` is the same array as an
    input of the program."""

    __slots__ = ("_asked", "_given", "_value")

    def __init__(self, value: Any, trace: Trace, asked: Callable[[], None], given: Callable[[], Box]) -> None:
        self._asked: Callable[[], None] | None = None
        super().__init__(value, trace)
        self._asked, self._given = asked, given

    @property
    def value(self) -> Any:  # type: ignore[override]
        if self._asked is not None:
            asked, self._asked = self._asked, None
            asked()
        return self._value

    @value.setter
    def value(self, new: Any) -> None:
        self._value = new

    def leave(self, ended: Trace, owner: Trace) -> None:
        self.trace, self.cache = owner, {}  # integers have no derivative

    @property
    def held(self) -> Any:
        return self._value

    def state(self) -> Any:
        return self._value, self.trace, self.version, self.cache

    def given(self) -> Box | None:
        """The input; None where the elements are known already, or were written."""
        return self._given() if self._asked is not None and not self.version else None


def as_inputs(*arrays: Any) -> list[Any] | None:
    """The raw values of inputs that have what the arrays have; None where one of these is something else."""
    if not all(type(x) is Box and type(x.storage) is Unread and not x.chain for x in arrays):
        return None
    given = [x.storage.given() for x in arrays]
    return None if any(x is None for x in given) else [x.read() for x in given]
