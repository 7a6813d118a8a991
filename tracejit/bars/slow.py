"""Says on a terminal that a compilation goes on, if it takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from tracejit.lazily import LazyModule

_drawing: Any = LazyModule("tracejit.bars.drawing")
PATIENCE = 1.0


class telling:
    """A `with` block that compiles `name`: a line says so after a second, and another one how long it took. Other
    threads than the main one say nothing."""

    __slots__ = ("begun", "name", "timer", "told")

    def __init__(self, name: str) -> None:
        self.name = name
        self.timer: threading.Timer | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self.told, self.begun = False, time.monotonic()
            self.timer = threading.Timer(PATIENCE, self._tell)
            self.timer.daemon = True
            self.timer.start()

    def _tell(self) -> None:
        self.told = True
        _say(f"tracejit: compiling {self.name} ...")

    def __exit__(self, kind: Any, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
            if self.told:
                after = _drawing.clock(time.monotonic() - self.begun)
                _say(
                    f"tracejit: {'compiled' if kind is None else 'gave up compiling'} {self.name} after {after}"
                )


def _say(text: str) -> None:
    """Write a line. A stream that was closed or taken away meanwhile is no reason to fail."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass
