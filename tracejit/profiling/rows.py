"""The rows of a profile: how often something ran, how long, and how much of that was its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from typing import Any

import numpy as np

from tracejit.interpreters.jit_profiled import PROBES, Cost, Counters, Probe, label
from tracejit.profiling.session import Recording
from tracejit.records import record
from tracejit.timeline import Span

#: Spans of Python's side, in the words of the table.
PHASES = {
    "call": "guards and arguments",
    "python": "run by Python",
    "trace": "tracing",
    "passes": "passes",
    "pass": "pass",
    "lowering": "loops and LLVM text",
    "disk cache": "disk cache",
    "llvm": "LLVM",
    "link": "linking",
    "native": "arrays in and out",
    "callback": "Python function",
    "profile": "keeping the profile",
    "twin": "compiling again, to measure",
}


@record(eq=False)
class Row:
    """One line of a profile; times in seconds.

    `kind`: of a probe or span; `name` in words; `file`, `line` of the user; `function`: the compiled function that it
    belongs to; `count`, `total`; `own`: what is not in rows below it; `least`, `median`, `p95`, `most` of one time;
    `threads`: how many ran it. `depth`: how far it is indented below its function. `what`: the equation; `flops`,
    `functions` (such as `exp`) and `moved` bytes of running it once, of rows of loops and calls.
    """

    kind: str
    name: str
    file: str
    line: int
    function: str
    count: int
    total: float
    own: float
    least: float
    median: float
    p95: float
    most: float
    threads: int = 1
    depth: int = 0
    what: str = ""
    flops: float = 0.0
    functions: float = 0.0
    moved: float = 0.0
    unknown: bool = False  # what it does is not known before it runs
    path: tuple[str, ...] = field(default_factory=tuple)  # the names around it


def rows_of(recording: Recording) -> list[Row]:
    """All rows: each function with what is in it, in the order in which they were first called."""
    recording.flush()
    return _Maker(recording).rows()


class _Maker:
    def __init__(self, recording: Recording) -> None:
        self.programs = {c.serial: (c, rows) for c, rows in recording.programs()}
        self.rate = recording.scale()[2] / 1e9
        lines = recording.lines()
        order = np.argsort(lines[:, 0], kind="stable")
        self.ids, starts = np.unique(lines[order, 0], return_index=True)
        self.logged = dict(zip(self.ids.tolist(), np.split(lines[order], starts[1:]), strict=False))
        self.groups: dict[Any, list[Span]] = defaultdict(list)
        for span in sorted(recording.spans, key=lambda s: s.start):
            self.groups[_owner(span), _is_in_twin(span), *_key(span)].append(span)
        self.inside: dict[int, float] = defaultdict(float)  # seconds of Python in a program's callbacks
        for (_, _, kind, _, _), spans in self.groups.items():
            if kind == "callback":
                for s in spans:
                    self._called_back(s)

    def _called_back(self, span: Span) -> None:
        outer = span.outer
        if outer is not None and isinstance(outer.where, Counters):
            self.inside[outer.where.serial] += (span.stop - span.start) / 1e9

    def rows(self) -> list[Row]:
        found: list[Row] = []
        for owner in dict.fromkeys(key[0] for key in self.groups):
            for key, spans in self.groups.items():
                if key[0] == owner:
                    found += self.phase(owner[0], key, spans)
        seen = {r.what for r in found if r.kind == "native"}
        for counters, rows in self.programs.values():  # those called by code that is no span
            if f"#{counters.serial}" not in seen:
                found += self.program(counters, rows, counters.name, ())
        for row in found:
            row.what = "" if row.kind == "native" else row.what
        return found

    def phase(self, owner: str, key: Any, spans: list[Span]) -> list[Row]:
        """The rows of spans of one kind."""
        _, _, kind, name, where = key
        times = np.array([s.stop - s.start for s in spans]) / 1e9
        own = sum(s.stop - s.start - s.inside for s in spans) / 1e9
        total = sum(s.stop - s.start for s in spans if not _is_inside_itself(s)) / 1e9
        depth, path = _depth(spans[0]), _path(spans[0])
        counters = where if isinstance(where, Counters) else None
        below: list[Row] = []
        if counters is not None and counters.serial in self.programs:
            _, rows = self.programs[counters.serial]
            entry = rows[0, 1] * self.rate
            callbacks = self.inside[counters.serial]
            own = max(own - (entry - callbacks), 0.0)  # callbacks are inside of both
            below = self.program(counters, rows, owner, (*path, title(kind, name)), depth + 1)
        file, line = where if type(where) is tuple else ("", 0)
        return [
            Row(
                kind, title(kind, name), file, line, owner, len(spans), total, own,
                *_spread(times), threads=len({s.thread for s in spans}), depth=depth,
                what=f"#{counters.serial}" if counters else "", path=path,
            ),
            *below,
        ]  # fmt: skip

    def program(
        self, counters: Counters, table: np.ndarray, owner: str, path: tuple[str, ...], depth: int = 0
    ) -> list[Row]:
        """The rows of a program's probes, those inside of others below them. Probes of one name at one line, as of
        loops that are written out, are one row."""
        below: dict[int, list[int]] = defaultdict(list)
        for n, probe in enumerate(counters.probes):
            below[probe.around].append(n)
        found: list[Row] = []

        def walk(group: list[int], depth: int, path: tuple[str, ...], share: float) -> None:
            sums = table[group, :2].sum(0) * (1, self.rate)
            children = [m for n in group for m in below[n]]
            inside = float(table[children, 1].sum()) * self.rate
            if counters.probes[group[0]].kind == "callback":
                inside += sum(self._python_in(counters, n) for n in group)
            parts = bool(children) and counters.probes[children[0]].kind == "part"
            if parts and inside:  # the time of several threads, as a share of what passed meanwhile
                share, inside = share * min(float(sums[1]) / inside, 1.0), min(inside, float(sums[1]))
            if sums[0]:
                own = max(float(sums[1]) - inside, 0.0) * share
                found.append(self.probe(counters, group, table, own, owner, depth, path))
            for same in _alike(counters, children):
                walk(same, depth + 1, (*path, label(counters.probes[group[0]])), share)

        walk([0], depth, path, 1.0)
        return found

    def probe(
        self,
        counters: Counters,
        group: list[int],
        table: np.ndarray,
        own: float,
        owner: str,
        depth: int,
        path: Any,
    ) -> Row:
        """The row of probes that are alike."""
        probe, rows = counters.probes[group[0]], table[group]
        rows = rows[rows[:, 0] > 0]
        logged = [self.logged[i] for n in group if (i := counters.serial * PROBES + n) in self.logged]
        lines = np.concatenate([*logged, np.zeros((0, 4), np.int64)])
        _, median, p95, _ = _spread((lines[:, 3] - lines[:, 2]) / 1e9)
        costs = [counters.probes[n].cost or Cost() for n in group]
        file, line = place(probe)
        return Row(
            probe.kind, label(probe), file, line, owner, int(rows[:, 0].sum()), float(rows[:, 1].sum()) * self.rate,
            own, float(rows[:, 2].min()) * self.rate, median, p95, float(rows[:, 3].max()) * self.rate,
            threads=max(len(np.unique(lines[:, 1])), 1), depth=depth, what=probe.what,
            flops=sum(c.flops for c in costs) / len(group),
            functions=sum(c.transcendentals for c in costs) / len(group),
            moved=sum(counters.probes[n].moved for n in group) / len(group),
            unknown=any(c.unknown or c.opaque for c in costs), path=path,
        )  # fmt: skip

    def _python_in(self, counters: Counters, n: int) -> float:
        """Seconds of Python's functions in a callback's probe: those of the program, shared by the times."""
        _, rows = self.programs[counters.serial]
        ours = [m for m, p in enumerate(counters.probes) if p.kind == "callback"]
        whole = sum(int(rows[m, 1]) for m in ours)
        return self.inside[counters.serial] * int(rows[n, 1]) / whole if whole else 0.0


def _alike(counters: Counters, numbers: list[int]) -> list[list[int]]:
    """Probes by what they are called, and their line."""
    found: dict[Any, list[int]] = defaultdict(list)
    for n in numbers:
        probe = counters.probes[n]
        found[probe.kind, label(probe), place(probe)].append(n)
    return list(found.values())


def _spread(times: np.ndarray) -> tuple[float, float, float, float]:
    if not len(times):
        return 0.0, 0.0, 0.0, 0.0
    return float(times.min()), float(np.median(times)), float(np.quantile(times, 0.95)), float(times.max())


def _owner(span: Span) -> tuple[str, Any]:
    """The compiled function that a span belongs to: its name and place."""
    at: Span | None = span
    while at is not None:
        if at.kind == "call":
            return at.name, at.where
        at = at.outer
    return span.name or PHASES.get(span.kind, span.kind), None


def _is_inside_itself(span: Span) -> bool:
    """Whether there is a span of the same name around this one, which has its time already."""
    at = span.outer
    while at is not None:
        if _key(at) == _key(span):
            return True
        at = at.outer
    return False


def _is_in_twin(span: Span) -> bool:
    """Whether this is part of compiling a twin, which is no time of the same phase of a program."""
    at: Span | None = span
    while at is not None and at.kind != "twin":
        at = at.outer
    return at is not None


def _key(span: Span) -> tuple[str, str, Any]:
    return span.kind, span.name, span.where


def _depth(span: Span) -> int:
    """How many spans of the same function are around this one."""
    depth, at = 0, span
    while at.kind != "call" and at.outer is not None:
        depth, at = depth + 1, at.outer
    return depth


def _path(span: Span) -> tuple[str, ...]:
    names: list[str] = []
    at = span.outer
    while at is not None:
        names.append(title(at.kind, at.name))
        at = at.outer
    return tuple(reversed(names))


def title(kind: str, name: str) -> str:
    if kind == "call":
        return name
    phase = PHASES.get(kind, kind)
    return f"{phase} {name}" if kind in ("pass", "disk cache", "callback") and name else phase


def place(probe: Probe) -> tuple[str, int]:
    source = probe.source
    return (source.filename, source.line) if source is not None else ("", 0)


def by_line(rows: Iterable[Row]) -> dict[tuple[str, int], float]:
    """Seconds of each of the user's lines: the own time of what belongs to it."""
    found: dict[tuple[str, int], float] = defaultdict(float)
    for row in rows:
        if row.file:
            found[row.file, row.line] += row.own
    return dict(found)
