"""What a chain of updates of boxes is made of: links, parts with their bounds, and the cells that these cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.ir.jaxpr import Atom, Eqn
from tracejit.lowering.plan.access import Index
from tracejit.records import record


@record(frozen=True)
class Part:
    """`source` is combined into (or replaces, if `combine` is None) the box [starts, stops) of the result; a stop
    None is the end of a dynamic axis."""

    source: Atom
    starts: tuple[int, ...]
    stops: tuple[int | None, ...]
    combine: Any

    def meets(self, ranges: Sequence[Any]) -> bool:
        """Whether it has any element of the product of `ranges`, (low, high) or None for a dynamic axis."""
        bounds = zip(self.starts, self.stops, ranges, strict=True)
        return all(
            r is None or stop is None or max(start, r[0]) < min(stop, r[1]) for start, stop, r in bounds
        )

    def index(self, k: Any, idx: Index) -> Index:
        """The index in `source` of the result's element `idx`."""
        return tuple(k.add(i, -start) for i, start in zip(idx, self.starts, strict=True))


@record(frozen=True)
class Cell:
    """A range of an axis: the long interval from `first` to `last` and short ones before and after it."""

    low: int
    high: int
    first: int
    last: int
    short: tuple[tuple[int, int], ...] = ()

    @property
    def inner(self) -> tuple[int, int]:
        return self.first, self.last


@record(eq=False)
class Chain:
    """Updates that are one nest. `base`: what the parts are laid on, an array, a 0-d value for all elements, or
    None where the parts cover the result; `axes`: the cells of each axis of the result, None for dynamic ones."""

    links: list[Eqn]
    base: Atom | None
    parts: list[Part]
    axes: list[list[Cell] | None]

    @property
    def is_filled(self) -> bool:
        return self.base is not None and not self.base.aval.shape
