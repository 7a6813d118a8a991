"""What programs that measure themselves write, and who is told: counters, a log of all threads, the processor's clock.

The log is one block of memory that native code fills (`llvm.probes` has its form). It is emptied between calls, when it
is half full, and when a profile begins or ends. A line that finds no room is lost; the counters are exact.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
import weakref
from typing import Any, Protocol

import numpy as np

from tracejit.lowering.llvm.probes import HEAD, LINE, LOG_HEAD, WORDS, Probe, clock
from tracejit.lowering.runtime.compile import compile_llvm
from tracejit.timeline import SWITCH, Span

_LINES = 1 << 17
#: More probes than a program has.
PROBES = 1 << 20
#: Nanoseconds after which the rate of the processor's counter is known well enough.
_SETTLED = 10_000_000


class Listener(Protocol):
    """A profile."""

    def meet(self, counters: Counters) -> None:
        """A program that measures itself is there."""
        ...

    def take(self, span: Span) -> None:
        """A span has ended."""
        ...

    def read(self, lines: np.ndarray) -> None:
        """Lines of the log: (probe, thread, start, stop) in ticks."""
        ...


class Counters:
    """The counters of a program, which native code adds to. Probe `n` is `serial * PROBES + n` in the log."""

    def __init__(self, name: str, probes: list[Probe]) -> None:
        self.name = name
        self.probes = probes
        self.serial = 0
        self.words = np.zeros(HEAD + WORDS * len(probes), np.int64)
        RECORDER.add(self)

    @property
    def address(self) -> int:
        return self.words.ctypes.data

    def rows(self) -> np.ndarray:
        """(times, ticks, least, most) of each probe, a copy."""
        rows = self.words[HEAD:].reshape(-1, WORDS).copy()
        rows[:, 2] = np.where(rows[:, 0] > 0, ~rows[:, 2], 0)
        return rows


class Recorder:
    """The one of the process."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []
        self.counters: weakref.WeakSet[Counters] = weakref.WeakSet()
        self._serials = itertools.count()
        self._log: np.ndarray | None = None
        self._clock: Any = None
        self._read = 0
        self.origin = (0, 0)
        self._forked()

    def _forked(self) -> None:
        """A child has no profile: what is recorded is its parent's."""
        self._lock = threading.RLock()
        self._flying = 0
        self.listeners.clear()
        SWITCH.on = False
        SWITCH.epoch += 1

    # -- programs

    def add(self, counters: Counters) -> None:
        """Tell a program where it writes."""
        with self._lock:
            counters.serial = next(self._serials)
            counters.words[:HEAD] = counters.serial * PROBES, self._lines().ctypes.data
            self.counters.add(counters)
            for listener in self.listeners:
                listener.meet(counters)

    def _lines(self) -> np.ndarray:
        if self._log is None:
            self._log = np.zeros(LOG_HEAD // 8 + _LINES * LINE // 8, np.int64)
            self._log[1] = _LINES
        return self._log

    def enter(self) -> None:
        """A measured program is called."""
        with self._lock:
            self._flying += 1

    def leave(self) -> None:
        """It has returned."""
        with self._lock:
            self._flying -= 1
            if self._flying <= 0 and self._lines()[0] * 2 > _LINES:
                with Span("profile", ""):
                    self._drain()

    def _drain(self) -> None:
        log = self._lines()
        count = min(int(log[0]), _LINES)
        table = log[LOG_HEAD // 8 :].reshape(-1, LINE // 8)
        lines = table[self._read : count]
        lines = lines[lines[:, 3] != 0]
        if len(lines):
            for listener in self.listeners:
                listener.read(lines.copy())
        if self._flying <= 0:
            table[:count, 3] = 0
            log[0] = self._read = 0
        else:
            self._read = count

    # -- profiles

    def start(self, listener: Listener) -> None:
        """Tell a profile of what happens from now on."""
        with self._lock:
            self._drain()
            if not self.origin[0]:
                self.origin = self.now()
            if not self.listeners and self._flying <= 0:
                for counters in self.counters:
                    counters.words[HEAD:] = 0
            for counters in self.counters:
                listener.meet(counters)
            self.listeners.append(listener)
            SWITCH.take = self._tell
            SWITCH.on = True
            SWITCH.epoch += 1

    def stop(self, listener: Listener) -> None:
        """Tell it no more."""
        with self._lock:
            self._drain()
            if listener in self.listeners:
                self.listeners.remove(listener)
            SWITCH.on = bool(self.listeners)
            SWITCH.epoch += 1

    def flush(self) -> None:
        """Tell the profiles of what is in the log."""
        with self._lock:
            self._drain()

    def _tell(self, span: Span) -> None:
        for listener in self.listeners:
            listener.take(span)

    # -- time

    def now(self) -> tuple[int, int]:
        """The processor's counter and `time.perf_counter_ns` of the same moment, nearly."""
        if self._clock is None:
            code = compile_llvm(clock())
            self._clock = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address), code
        best = None
        for _ in range(7):
            before, ticks, after = time.perf_counter_ns(), self._clock[0](), time.perf_counter_ns()
            if best is None or after - before < best[0]:
                best = after - before, (ticks, (before + after) // 2)
        assert best is not None
        return best[1]

    def scale(self) -> tuple[int, int, float]:
        """(ticks, nanoseconds, nanoseconds a tick): a moment by both clocks, and the rate of the processor's."""
        ticks, ns = self.now()
        if ns - self.origin[1] < _SETTLED:
            time.sleep((_SETTLED - (ns - self.origin[1])) / 1e9)
            ticks, ns = self.now()
        return ticks, ns, (ns - self.origin[1]) / max(ticks - self.origin[0], 1)


RECORDER = Recorder()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RECORDER._forked)
