"""`at(x)[index].set(y)`: how SciPy's functions write into arrays that may be immutable."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.tracing import Box

_UNSET: Any = object()


class At:
    """array-api-extra's `at` for NumPy's arrays, traced ones too: an array is written into, and copied before where
    `copy` is true, or not said of a number or an array that can't be written into."""

    def __init__(self, x: Any, idx: Any = _UNSET, /) -> None:
        self.x, self.index = x, idx

    def __getitem__(self, idx: Any, /) -> At:
        if self.index is not _UNSET:
            raise ValueError("Index has already been set")
        return At(self.x, idx)

    def _written(self, step: Callable[[Any, Any], Any] | None, y: Any, copy: bool | None) -> Any:
        if self.index is _UNSET:
            raise ValueError("Index has not been set.")
        x = self.x
        fixed = not (isinstance(x, Box) or hasattr(x, "flags")) or not x.flags.writeable
        if copy or (copy is None and fixed):
            x = tnp.array(x, copy=True)
        elif fixed:
            raise ValueError(f"Can't update read-only array {x}")
        x[self.index] = y if step is None else step(x[self.index], y)
        return x

    def set(self, y: Any, /, copy: bool | None = None, xp: Any = None) -> Any:
        """x[index] = y"""
        return self._written(None, y, copy)


def _stepping(step: Callable[[Any, Any], Any]) -> Any:
    def write(self: At, y: Any, /, copy: bool | None = None, xp: Any = None) -> Any:
        return self._written(step, y, copy)

    return write


for _name, _step in {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "min": tnp.minimum,
    "max": tnp.maximum,
}.items():
    setattr(At, _name, _stepping(_step))
