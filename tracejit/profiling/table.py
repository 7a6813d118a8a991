"""A profile as a table: of text, and of rich where that is installed."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

from tracejit.lazily import LazyModule
from tracejit.profiling.rows import PHASES, Row
from tracejit.profiling.session import Recording

_rich: Any = LazyModule("rich.table")
HEADS = ("time", "own", "own %", "times", "min", "median", "p95", "what", "line")
_WIDEST = 60  # letters of a name
_TWIN = PHASES["twin"]


class Table:
    """Rows of a profile, those that take longest. `str` gives text; rich's `print` shows a table of its own.

    Compiling again, to measure, is one row here, and counts in no share: without a profile it takes no time."""

    def __init__(self, rows: Sequence[Row], recording: Recording, limit: int) -> None:
        self.again = compiling_again(rows)
        rows = folded(rows)
        self.rows = shown(rows, limit)
        self.left_out = len(rows) - len(self.rows)
        self.seconds = recording.seconds
        self.dropped = recording.dropped
        self.inside = sum(r.own for r in rows)

    def lines(self) -> list[tuple[str, ...]]:
        """The cells of each row, as text."""
        whole = max(self.seconds - self.again, 0.0) or 1.0
        return [
            (
                duration(r.total), duration(r.own), "" if r.kind == "twin" else f"{100 * r.own / whole:.1f}",
                str(r.count), duration(r.least), duration(r.median), duration(r.p95),
                f"{'  ' * r.depth}{short(r.name)}{threads(r)}", place(r),
            )
            for r in self.rows
        ]  # fmt: skip

    def title(self) -> str:
        """The first line."""
        text = f"profile of {duration(self.seconds)}"
        inside = duration(self.inside) if self.inside else "nothing"
        text = f"{text}, {inside} of it in compiled functions and in compiling them"
        return f"{text}, {duration(self.again)} of that to measure" if self.again else text

    def notes(self) -> list[str]:
        """What is to be said below."""
        notes = []
        if not self.rows:
            notes.append("no compiled function ran: @tj.jit above a function compiles it")
        if self.left_out:
            notes.append(f"{self.left_out} shorter rows are left out: table(limit=...) has more")
        if self.dropped:
            notes.append(
                f"{self.dropped} events were too many to be kept: medians and p95 are of those before"
            )
        return notes

    def __str__(self) -> str:
        cells = [HEADS, *self.lines()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = (len(HEADS) - 2, len(HEADS) - 1)
        text = [
            "  ".join(
                c.ljust(w) if n in left else c.rjust(w)
                for n, (c, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join([self.title(), *text, *self.notes()])

    __repr__ = __str__

    def __rich__(self) -> Any:
        table = _rich.Table(title=self.title(), caption="\n".join(self.notes()) or None)
        for n, head in enumerate(HEADS):
            wide = n >= len(HEADS) - 2
            table.add_column(head, justify="left" if wide else "right", no_wrap=True, min_width=wide * 12)
        for cells in self.lines():
            table.add_row(*(c.replace("[", "\\[") for c in cells))
        return table


def compiling_again(rows: Iterable[Row]) -> float:
    """Seconds that took compiling twins of programs, which only a profile needs."""
    return sum(r.own for r in rows if r.kind == "twin" or _TWIN in r.path)


def folded(rows: Iterable[Row]) -> list[Row]:
    """The rows, with those of compiling a twin as one."""
    found: list[Row] = []
    twin: Row | None = None
    for row in rows:
        if row.kind == "twin":
            row = twin = dataclasses.replace(row)
        elif twin is not None and _TWIN in row.path:
            twin.own += row.own
            continue
        found.append(row)
    return found


def shown(rows: Sequence[Row], limit: int) -> list[Row]:
    """The rows with the longest times of their own, and those around them."""
    if len(rows) <= limit:
        return list(rows)
    keep: set[int] = set()
    for n in sorted(range(len(rows)), key=lambda n: rows[n].own, reverse=True):
        around = _around(rows, n) - keep
        if len(keep) + len(around) > limit:
            break
        keep |= around
    return [rows[n] for n in sorted(keep)]


def _around(rows: Sequence[Row], n: int) -> set[int]:
    """A row and those that it is in."""
    found, depth = {n}, rows[n].depth
    for m in range(n - 1, -1, -1):
        if depth == 0:
            break
        if rows[m].depth < depth:
            found.add(m)
            depth = rows[m].depth
    return found


def short(name: str) -> str:
    """A name that fits."""
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 3]}..."


def threads(row: Row) -> str:
    """How many threads, if there are several."""
    return f" ({row.threads} threads)" if row.threads > 1 else ""


def place(row: Row) -> str:
    """The user's line."""
    return f"{os.path.basename(row.file)}:{row.line}" if row.file else ""


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds / size < 1000 else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns" if seconds > 0 else "-"
