"""What native loops can run over: a number of steps, and an item for each."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.extents import Number


class Steps:
    """A sequence that native loops can run over: `count`, and `item(k)` for a traced or known `k`."""

    endless = False  # it has more items than any loop takes

    def __init__(self, count: Number) -> None:
        self.count = count

    def item(self, k: Number) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return self.first(self.count)

    def first(self, n: int) -> Iterator[Any]:
        """The first `n` items, one by one."""
        return (self.item(k) for k in builtins.range(n))

    def end(self) -> None:
        """A loop over them has ended."""

    def after(self, n: int) -> Steps:
        """Without the first `n`."""
        return Part(self, n, extents.maximum(extents.sub(self.count, n), 0))

    def every(self, fold: int) -> Steps:
        """The first of each `fold` that are there; the rest that does not fill a step is left out."""
        return Part(self, 0, extents.floordiv(self.count, fold), fold)


class Part(Steps):
    """Some of the steps: `item(k)` is the owner's `item(begin + k * stride)`."""

    def __init__(self, of: Steps, begin: Number, count: Number, stride: int = 1) -> None:
        super().__init__(count)
        self.of, self.begin, self.stride = of, begin, stride

    def item(self, k: Number) -> Any:
        return self.of.item(extents.add(extents.mul(k, self.stride), self.begin))
