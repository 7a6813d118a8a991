"""Bars: how far loops have come. Programs and Python's own loops tell a bar its position now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from time import monotonic, perf_counter
from typing import Any

from tracejit.lazily import LazyModule

_drawing: Any = LazyModule("tracejit.bars.drawing")
#: Seconds between two pictures of a bar. Where drawing one takes long, as on a busy machine, so many times of that
#: pass, so that bars are half a percent of the time of a loop; but no more than a second.
BETWEEN, PATIENCE, LONGEST = 0.1, 200, 1.0
#: The position that says that a loop has ended.
END = -1
#: How often a loop of a known number of steps tells its position, about; and a power of two: one of so many positions
#: of each octave is told where the number of steps is not known.
TOLD, OCTAVE = 64, 8


class Bar:
    """The bar of a loop, by its title. Bars that are equal are one: programs that are traced again are the same.

    `show`: whether it is drawn; None: if stderr is a terminal, or in a notebook.
    """

    __slots__ = ("show", "title")

    def __init__(self, title: str = "", show: bool | None = None) -> None:
        self.title, self.show = title, show

    def __eq__(self, other: object) -> bool:
        return type(other) is Bar and (other.title, other.show) == (self.title, self.show)

    def __hash__(self) -> int:
        return hash((self.title, self.show))

    def __repr__(self) -> str:
        return f"Bar({self.title!r})"

    def tell(self, position: int, total: int) -> None:
        """A loop of `total` steps (below zero: not known) begins its step `position`, or has come to its END."""
        key = self, threading.get_ident()
        run = _runs.get(key)
        if position == END:
            if run is not None:
                del _runs[key]
                run.end()
            return
        if run is None or position < run.position:
            run = _runs[key] = Run(self, total)
        run.at(position)


class Run:
    """One run of a loop with a bar."""

    def __init__(self, bar: Bar, total: int) -> None:
        self.bar, self.total = bar, total if total >= 0 else None
        self.position = 0
        self.begun = self.drawn = monotonic()
        self.between = BETWEEN
        self.shown: Any = _drawing.place(bar.show)

    def at(self, position: int) -> None:
        """The loop is there."""
        self.position = position
        now = monotonic()
        if self.shown is not None and now - self.drawn >= self.between:
            self.drawn = now
            began = perf_counter()
            self.shown.draw(self, False)
            self.between = min(max(PATIENCE * (perf_counter() - began), BETWEEN), LONGEST)

    def end(self) -> None:
        """The loop has ended, wherever it was."""
        if self.shown is not None and self.drawn > self.begun:  # what was quick is not shown at all
            self.shown.draw(self, True)

    @property
    def is_last(self) -> bool:
        """Whether no later position would have been told, so that a loop that has ended has made all of its steps."""
        return self.total is not None and self.position + mask(self.position, self.total) + 1 >= self.total

    @property
    def seconds(self) -> float:
        """Since it has begun."""
        return monotonic() - self.begun


_runs: dict[tuple[Bar, int], Run] = {}


class Shown:
    """An iterable of Python's with a bar. `tell` is what is told the positions instead of the bar."""

    def __init__(
        self,
        iterable: Iterable[Any],
        bar: Bar,
        total: int | None = None,
        tell: Callable[[int, int], None] | None = None,
    ) -> None:
        self.iterable, self.tell = iterable, tell or bar.tell
        self.total = len(iterable) if total is None and hasattr(iterable, "__len__") else total  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        total = END if self.total is None else self.total
        tell = self.tell
        try:
            for position, item in enumerate(self.iterable):
                if is_told(position, total):
                    tell(position, total)
                yield item
        finally:
            tell(END, total)


def is_told(position: int, total: int) -> bool:
    """Whether a loop tells its bar of this position."""
    return position & mask(position, total) == 0


def mask(position: int, total: int) -> int:
    """Bits that are zero in positions that are told. Below zero, the total is not known."""
    if total >= 0:
        return (1 << max(total // TOLD, 1).bit_length() - 1) - 1
    return max((1 << position.bit_length()) // (2 * OCTAVE), 1) - 1
