"""Which numbers of a loop are Python's, and which NumPy's, where that depends on values.

    for i in range(n):
        r = 0.5 * r + max(1.5, x[i])      # a float while 1.5 is the larger one, then an np.float64

The loop carries the value as NumPy's, and beside it whether it is one of Python's: as the truth value of a hidden name.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from tracejit import dtypes
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell, get, put
from tracejit.frontend.rewrite.blocks.state import raw_of
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.unsure import is_unsure, python_of, taken, unsure, was_unsure
from tracejit.tracing import Box, box


class Pythons:
    """The hidden names of one loop: `cells`, by what they are called; `of`: those of the numbers."""

    def __init__(self, names: Iterable[str], cells: dict[str, Cell]) -> None:
        self.cells: dict[str, Cell] = {}
        self.of: dict[str, str] = {}
        for name in names:
            x = get(cells[name])
            if is_unsure(x) and x.aval.dtype == dtypes.float64:
                self._add(name, x)

    def _add(self, name: str, start: Any) -> bool:
        """Carry whether `name`, which is `start` before the loop, is one of Python's numbers, if it is a number."""
        raw = None if start is UNBOUND else raw_of(taken(start))
        if raw is None or aval_of(raw).shape or (type(start) is Box and not start.scalar):
            return False
        if aval_of(raw).dtype not in (dtypes.float64, dtypes.int64):
            return False
        self.of[name] = f"_tj_python_{name}"
        self.cells[self.of[name]] = types.CellType(_flag(start))
        return True

    def start(self, name: str, value: Any) -> Any:
        """What is carried of the value of `name` before the loop."""
        return taken(value) if name in self.of else value

    def enter(self, objects: dict[str, Any], cells: dict[str, Cell]) -> None:
        """A step finds the numbers `objects`."""
        for name, hidden in self.of.items():
            flag = get(self.cells[hidden])
            objects[name] = unsure(objects[name].read(), flag.read() if type(flag) is Box else flag)
            put(cells[name], objects[name])

    def leave(self, starts: dict[str, Any], cells: dict[str, Cell]) -> bool:
        """Note which of the numbers are Python's after a step. Whether there were more of them than was known."""
        more = False
        for name, start in starts.items():
            x = get(cells[name])
            if name in self.of and x is not UNBOUND:
                put(self.cells[self.of[name]], _flag(x))
                put(cells[name], box(raw_of(taken(x))))
            elif was_unsure(x) and x.aval.dtype == dtypes.float64:
                more |= self._add(name, start)
        return more

    def left(self, cells: dict[str, Cell]) -> None:
        """The loop has left its names in `cells`."""
        for name, hidden in self.of.items():
            flag = get(self.cells[hidden])
            put(cells[name], unsure(raw_of(get(cells[name])), flag.read() if type(flag) is Box else flag))


def _flag(x: Any) -> Any:
    """Whether `x` is one of Python's numbers, as one of these itself."""
    raw = python_of(x)
    return box(raw, weak=True) if isinstance(raw, Value) else bool(raw)
