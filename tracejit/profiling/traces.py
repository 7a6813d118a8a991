"""Slices of time of each thread, and the trace-event format for them.

The format: "Trace Event Format" by the Chromium project, of which Perfetto and Chrome (chrome://tracing) read complete
events (`"ph": "X"`) with times in microseconds. Slices of a thread are nested.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import numpy as np

from tracejit.interpreters.jit_profiled import PROBES, Counters, label
from tracejit.profiling.rows import place, title
from tracejit.profiling.session import Recording
from tracejit.records import record


@record(eq=False)
class Slice:
    """A piece of time of a thread, in nanoseconds; `depth`: how many are around it."""

    thread: int
    start: int
    stop: int
    kind: str
    name: str
    file: str
    line: int
    what: str = ""
    depth: int = 0


def slices_of(recording: Recording) -> list[Slice]:
    """All slices, by thread and time, nested."""
    recording.flush()
    found = [_of_span(s) for s in recording.spans] + _of_lines(recording)
    threads: dict[int, list[Slice]] = defaultdict(list)
    for s in found:
        threads[s.thread].append(s)
    return [s for thread in threads.values() for s in _nested(thread)]


def trace_events(recording: Recording) -> dict[str, Any]:
    """The trace as a dict for `json.dump`."""
    pid = os.getpid()
    slices = slices_of(recording)
    numbers = _numbered(recording, slices)
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "tracejit"}}
    ]
    events += [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": pid,
            "tid": n,
            "args": {"name": thread_name(recording, t, n)},
        }
        for t, n in numbers.items()
    ]
    for s in slices:
        args: dict[str, Any] = {}
        if s.file:
            args["line"] = f"{s.file}:{s.line}"
        if s.what:
            args["equation"] = s.what
        start = (s.start - recording.start) / 1e3
        events.append(
            {"ph": "X", "name": s.name, "cat": s.kind, "pid": pid, "tid": numbers[s.thread], "ts": start,
             "dur": (s.stop - s.start) / 1e3, "args": args}
        )  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"producer": "tracejit"}}


def _numbered(recording: Recording, slices: list[Slice]) -> dict[int, int]:
    """A small number for each thread, that which began the profile first."""
    order = dict.fromkeys([recording.thread, *(s.thread for s in slices)])
    return {thread: n + 1 for n, thread in enumerate(order)}


def thread_name(recording: Recording, thread: int, number: int) -> str:
    """How a thread is called; those of the pool have no names."""
    return recording.names.get(thread, f"worker {number}")


def _of_span(s: Any) -> Slice:
    file, line = s.where if type(s.where) is tuple else ("", 0)
    return Slice(s.thread, s.start, s.stop, s.kind, title(s.kind, s.name), file, line)


def _of_lines(recording: Recording) -> list[Slice]:
    """The slices of native code, moved by what the two clocks differ, so that each program lies in its call."""
    lines = recording.lines()
    programs = {c.serial: c for c, _ in recording.programs()}
    lines = lines[np.isin(lines[:, 0] // PROBES, list(programs))]
    calls: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for s in recording.spans:
        if isinstance(s.where, Counters):
            calls[s.where.serial, s.thread].append((s.start, s.stop))
    found: list[Slice] = []
    described: dict[int, tuple[str, str, str, int, str]] = {}
    shifts = _shifts(lines, calls)
    for (number, thread, start, stop), shift in zip(lines.tolist(), shifts.tolist(), strict=True):
        if number not in described:
            probe = programs[number // PROBES].probes[number % PROBES]
            described[number] = (probe.kind, label(probe), *place(probe), probe.what)
        found.append(Slice(thread, start + shift, stop + shift, *described[number]))
    return found


def _shifts(lines: np.ndarray, calls: dict[tuple[int, int], list[tuple[int, int]]]) -> np.ndarray:
    """For each line what moves it into the call of Python's that it belongs to."""
    shifts = np.zeros(len(lines), np.int64)
    for (serial, thread), spans in calls.items():
        known = np.array(sorted(spans))
        own = np.flatnonzero((lines[:, 0] // PROBES == serial) & (lines[:, 1] == thread))
        entries = own[lines[own, 0] % PROBES == 0]
        if not len(entries):
            continue
        entries = entries[np.argsort(lines[entries, 2])]
        middle = (lines[entries, 2] + lines[entries, 3]) // 2
        at = np.clip(np.searchsorted(known[:, 0], middle, side="right") - 1, 0, len(known) - 1)
        early = np.maximum(known[at, 0] - lines[entries, 2], 0)
        late = np.minimum(known[at, 1] - lines[entries, 3], 0)
        moved = np.where(early > 0, early, late)
        of = np.clip(np.searchsorted(lines[entries, 2], lines[own, 2], side="right") - 1, 0, len(entries) - 1)
        shifts[own] = moved[of]
    return shifts


def _nested(slices: list[Slice]) -> list[Slice]:
    """The slices of a thread in order; one that reaches beyond the one around it is cut off there."""
    open_: list[Slice] = []
    slices.sort(key=lambda s: (s.start, -s.stop))
    for s in slices:
        while open_ and open_[-1].stop <= s.start:
            open_.pop()
        if open_:
            s.stop = min(s.stop, open_[-1].stop)
        s.depth = len(open_)
        open_.append(s)
    return slices
