"""The time of a function beside that of its compiled form."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.api.explain import explain
from tracejit.api.jit.jitted import Jitted, jit
from tracejit.lazily import LazyModule
from tracejit.terminal.targets import Target

_rich: Any = LazyModule("rich.table")
#: Calls that are measured at least, and the seconds after which no more are made.
LEAST, ENOUGH = 3, 1.0


@dataclass(frozen=True)
class Measured:
    """Seconds of calls: those of the first one, and of the ones after it."""

    first: float
    others: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one of the later calls."""
        return sorted(self.others)[len(self.others) // 2]


def measure(f: Callable[..., Any], target: Target, seconds: float = ENOUGH) -> tuple[Measured, Any]:
    """Call `f` with fresh arguments, for about so many seconds but three times at least; and the first result."""
    first, result = _timed(f, target)
    others: list[float] = []
    while len(others) < LEAST or (sum(others) < seconds and len(others) < 1000):
        others.append(_timed(f, target)[0])
    return Measured(first, tuple(others)), result


def _timed(f: Callable[..., Any], target: Target) -> tuple[float, Any]:
    args, kwargs = target.fresh()
    begun = time.perf_counter()
    result = f(*args, **kwargs)
    return time.perf_counter() - begun, result


def plain(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Python runs it."""
    return f.fun if isinstance(f, Jitted) else f


class Comparison:
    """What `bench` shows. `str` gives text; rich's `print` shows a table."""

    HEADS = ("", "first call", "median", "least", "calls", "times faster")

    def __init__(self, target: Target, seconds: float = ENOUGH) -> None:
        function = target.function
        self.jitted = function if isinstance(function, Jitted) else jit(function)
        self.name = getattr(function, "__qualname__", repr(function))
        self.python, expected = measure(plain(function), target, seconds)
        self.compiled, result = measure(self.jitted, target, seconds)
        self.difference = difference(expected, result)
        args, kwargs = target.fresh()
        self.fallback = explain(self.jitted)(*args, **kwargs).fallback

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The cells, as text."""
        for name, m in (("Python", self.python), ("tracejit", self.compiled)):
            gain = self.python.median / m.median
            times = [duration(s) for s in (m.first, m.median, min(m.others))]
            yield name, *times, str(len(m.others)), f"{gain:.3g}"

    def notes(self) -> Iterator[str]:
        """What is to be said below the table."""
        yield f"results {self.difference}"
        if self.fallback:
            yield f"not compiled, Python runs it: {self.fallback}"
            return
        saved = self.python.median - self.compiled.median
        if saved > 0:
            calls = math.ceil(max(self.compiled.first - self.compiled.median, 0) / saved)
            yield f"compiling pays after {calls} call{'s' if calls != 1 else ''}"

    def __str__(self) -> str:
        cells = [self.HEADS, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([self.name, *lines, *self.notes()])

    def __rich__(self) -> Any:
        table = _rich.Table(
            title=self.name, caption="\n".join(self.notes()), title_justify="left", caption_justify="left"
        )
        for k, head in enumerate(self.HEADS):
            table.add_column(head, justify="right" if k else "left")
        for row in self.rows():
            table.add_row(*row)
        return table


def difference(expected: Any, result: Any) -> str:
    """How two results differ, in words."""
    (a, first), (b, second) = tree.flatten(expected), tree.flatten(result)
    if first != second or [np.shape(x) for x in a] != [np.shape(x) for x in b]:
        return "DIFFER in their structure"
    largest = 0.0
    for x, y in zip(a, b, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
            if not np.array_equal(x, y):
                return "DIFFER"
        elif x.size:
            with np.errstate(invalid="ignore"):
                apart = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
                scale = np.max(np.abs(x), initial=0.0, where=np.isfinite(x))
            largest = max(largest, float(np.max(apart)) / (float(scale) or 1.0))
    return "are the same" if largest == 0 else f"differ by {largest:.1e} of the largest number"


def duration(seconds: float) -> str:
    """A time with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
