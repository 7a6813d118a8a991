"""The rows that a loop of unknown length gives: records on one block that grows.

A step's values lie side by side, those of larger elements first, so that every field is aligned. One pointer
and one comparison a step serve them all, and a loop that walks back reads one stream of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.avals import Aval
from tracejit.lowering.loops.nodes import I64, Grow
from tracejit.lowering.plan.access import Stored

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_BYTE = np.dtype(np.uint8)


class Tape:
    """A growing block with a field for each of `avals`, the types of its rows."""

    def __init__(self, body: Body, avals: Sequence[Aval]) -> None:
        self.k = body.k
        self.block = body.ctx.buffer(_BYTE, 0, "heap", "tape")
        layouts = [body.ctx.layout(body, a.shape) for a in avals]
        starts: list[Any] = [0] * len(avals)
        row: Any = 0
        sizes = [a.dtype.itemsize for a in avals]
        for n in sorted(range(len(avals)), key=lambda n: -sizes[n]):
            starts[n] = row
            row = self._plus(row, self._times(layouts[n][1], sizes[n]))
        self.row = self._rounded(row, max(sizes, default=1))
        self.fields: list[Stored] = []
        for a, start, (strides, _) in zip(avals, starts, layouts, strict=True):
            field = body.ctx.buffer(a.dtype, 0, "field", "row")
            field.slot, field.block = start, self.block
            lead = self._parts(a.dtype.itemsize)
            self.fields.append(Stored(field, (lead, *strides), 0, self.k.depth))

    def push(self, count: Any) -> None:
        """Make room for row number `count`."""
        k = self.k
        k.emit(Grow(self.block, k.lift(k.mul(k.add(count, 1), self.row), I64)))

    # -- arithmetic of sizes, which are ints or int64 operands

    def _plus(self, a: Any, b: Any) -> Any:
        return a + b if type(a) is int and type(b) is int else self.k.add(a, b)

    def _times(self, a: Any, b: Any) -> Any:
        return a * b if type(a) is int and type(b) is int else self.k.mul(a, b)

    def _rounded(self, size: Any, to: int) -> Any:
        """The next multiple of `to`."""
        if type(size) is int:
            return -(-size // to) * to
        return self.k.mul(self.k.int_op("udiv", self.k.add(size, to - 1), to), to)

    def _parts(self, size: int) -> Any:
        return self.row // size if type(self.row) is int else self.k.int_op("udiv", self.row, size)
