"""Flame graphs, in the file format of https://www.speedscope.app (its "evented" and "sampled" profiles)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tracejit.profiling.rows import Row
from tracejit.profiling.session import Recording
from tracejit.profiling.traces import Slice, slices_of, thread_name

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(rows: Sequence[Row], recording: Recording) -> dict[str, Any]:
    """A dict for `json.dump`: first the sums, then each thread in time."""
    frames = _Frames()
    profiles = [_sums(rows, frames)]
    threads: dict[int, list[Slice]] = defaultdict(list)
    for s in slices_of(recording):
        threads[s.thread].append(s)
    for n, (thread, slices) in enumerate(threads.items()):
        profiles.append(_evented(thread_name(recording, thread, n + 1), slices, frames, recording.start))
    return {
        "$schema": SCHEMA,
        "name": "tracejit",
        "exporter": "tracejit",
        "activeProfileIndex": 0,
        "shared": {"frames": frames.made},
        "profiles": profiles,
    }


class _Frames:
    """The frames, each once, by name and line."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.known: dict[Any, int] = {}

    def of(self, name: str, file: str, line: int) -> int:
        key = name, file, line
        if key not in self.known:
            self.known[key] = len(self.made)
            frame: dict[str, Any] = {"name": name}
            self.made.append(frame | ({"file": file, "line": line} if file else {}))
        return self.known[key]


def _sums(rows: Sequence[Row], frames: _Frames) -> dict[str, Any]:
    """Each row as a stack with the time of its own."""
    samples: list[list[int]] = []
    weights: list[float] = []
    stack: list[int] = []
    for row in rows:
        del stack[row.depth :]
        stack.append(frames.of(row.name, row.file, row.line))
        if row.own > 0:
            samples.append(list(stack))
            weights.append(row.own * 1e9)
    return {
        "type": "sampled",
        "name": "all threads, summed",
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


def _evented(name: str, slices: list[Slice], frames: _Frames, start: int) -> dict[str, Any]:
    """A thread in time: where each slice opens and closes."""
    events: list[dict[str, Any]] = []
    open_: list[Slice] = []

    def close(until: int | None) -> None:
        while open_ and (until is None or open_[-1].stop <= until):
            s = open_.pop()
            events.append({"type": "C", "frame": frames.of(s.name, s.file, s.line), "at": s.stop - start})

    for s in slices:
        close(s.start)
        events.append({"type": "O", "frame": frames.of(s.name, s.file, s.line), "at": s.start - start})
        open_.append(s)
    close(None)
    ends = [e["at"] for e in events] or [0]
    return {
        "type": "evented",
        "name": name,
        "unit": "nanoseconds",
        "startValue": min(ends),
        "endValue": max(ends),
        "events": events,
    }
