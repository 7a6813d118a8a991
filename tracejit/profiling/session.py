"""profile: what happens between two moments, from spans of Python's side and what measured programs count and log."""

from __future__ import annotations

import threading
import time

import numpy as np

from tracejit.api.jit.bounded import BOUNDED
from tracejit.interpreters.jit_profiled import RECORDER, Counters
from tracejit.timeline import Span

#: Spans and lines of the log that are kept; of more, those that come first.
MOST = 1_000_000


class Recording:
    """What is recorded of a piece of time. `start`, `stop`: in nanoseconds of `time.perf_counter_ns`; `dropped`: spans
    and lines that were too many to be kept."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.start = self.stop = self.dropped = 0
        self.thread = threading.get_ident()
        self.names: dict[int, str] = {}
        self._parts: list[np.ndarray] = []
        self._kept = 0
        self._met: dict[int, tuple[Counters, np.ndarray]] = {}
        self._ended: dict[int, np.ndarray] | None = None
        self._scale: tuple[int, int, float] | None = None

    # -- what the recorder tells

    def meet(self, counters: Counters) -> None:
        """A program that measures itself is there."""
        self._met.setdefault(counters.serial, (counters, counters.rows()))

    def take(self, span: Span) -> None:
        """A span has ended."""
        if len(self.spans) < MOST:
            self.spans.append(span)
        else:
            self.dropped += 1

    def read(self, lines: np.ndarray) -> None:
        """Lines of the log."""
        room = MOST - self._kept
        self.dropped += max(len(lines) - room, 0)
        self._parts.append(lines[: max(room, 0)])
        self._kept += len(self._parts[-1])

    # -- begin and end

    def begin(self) -> None:
        """Record from now on."""
        RECORDER.start(self)
        _forget_fast()
        self.start = time.perf_counter_ns()

    def end(self) -> None:
        """Record no more."""
        self.stop = time.perf_counter_ns()
        RECORDER.stop(self)
        _forget_fast()
        self._scale = RECORDER.scale()
        self.names = {t.ident: t.name for t in threading.enumerate() if t.ident is not None}
        self._ended = {serial: self._since(serial) for serial in self._met}

    def _since(self, serial: int) -> np.ndarray:
        counters, before = self._met[serial]
        rows = counters.rows()
        rows[:, :2] -= before[:, :2]
        return rows

    # -- what was recorded

    def flush(self) -> None:
        """Let what is under way be seen."""
        if self._ended is None:
            RECORDER.flush()

    @property
    def seconds(self) -> float:
        """How long it was, or has been."""
        return ((self.stop or time.perf_counter_ns()) - self.start) / 1e9

    def programs(self) -> list[tuple[Counters, np.ndarray]]:
        """The programs that ran, each with (times, ticks, least, most) of its probes."""
        found = []
        for serial, (counters, _) in self._met.items():
            rows = self._ended[serial] if self._ended is not None else self._since(serial)
            if rows[:, 0].any():
                found.append((counters, rows))
        return found

    def lines(self) -> np.ndarray:
        """(probe, thread, start, stop) of what was logged, in nanoseconds of `time.perf_counter_ns`."""
        lines = np.concatenate([*self._parts, np.zeros((0, 4), np.int64)])
        ticks, ns, rate = self.scale()
        lines[:, 2:] = np.rint((lines[:, 2:] - ticks) * rate).astype(np.int64) + ns
        return lines

    def scale(self) -> tuple[int, int, float]:
        """(ticks, nanoseconds, nanoseconds a tick)."""
        return self._scale or RECORDER.scale()


def _forget_fast() -> None:
    """Let the next call of each jitted function choose between its programs and their measured twins."""
    for jitted in BOUNDED.owners():
        jitted.forget_fast()
