"""How long a call may wait for its program. What takes longer to trace or compile is given up, if Python can run the
call instead.

Both take time that grows with the number of operations: a loop that Python unrolls over thousands of elements makes
thousands of them, and LLVM takes about a second for half a megabyte of text.
"""

from __future__ import annotations

import threading
import time

from tracejit.errors import CompileBudgetError

#: Bytes of LLVM text that are compiled in a second, at least.
_RATE = 500_000


class _Thread(threading.local):
    seconds = 0.0
    deadline: float | None = None


_thread = _Thread()


class within:
    """A budget of so many seconds for a `with` block; none if it is 0. The outermost one counts."""

    __slots__ = ("outer", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self.outer = _thread.deadline
        if self.outer is None and self.seconds:
            _thread.seconds, _thread.deadline = self.seconds, time.perf_counter() + self.seconds

    def __exit__(self, *_: object) -> None:
        _thread.deadline = self.outer


def check(doing: str, text: int = 0) -> None:
    """Raises CompileBudgetError if the time is over, or if LLVM will take longer than is left for so much text."""
    deadline = _thread.deadline
    if deadline is not None and time.perf_counter() + text / _RATE > deadline:
        raise CompileBudgetError(doing=doing, seconds=_thread.seconds)
