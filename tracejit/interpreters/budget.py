"""How long a call may wait for its program. What takes longer to trace or compile is put off or given up, if Python can
run the call instead.

What counts is the processor's time, so that a busy machine changes nothing. Tracing runs the user's code and is given
up. What is left to do after it, the caller of `check` may say; it is done in the background (`api.jit.later`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from tracejit.errors import CompileBudgetError


class _Thread(threading.local):
    seconds = 0.0
    deadline: float | None = None


_thread = _Thread()


class within:
    """A budget of so many seconds of this thread's time for a `with` block; none if it is 0. The outermost one counts.
    `as` gives whether this is it."""

    __slots__ = ("outer", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> bool:
        self.outer = _thread.deadline
        if self.outer is not None:
            return False
        if self.seconds:
            _thread.seconds, _thread.deadline = self.seconds, time.thread_time() + self.seconds
        return True

    def __exit__(self, *_: object) -> None:
        _thread.deadline = self.outer


def left() -> float | None:
    """The seconds that are left, 0 or more; None if there is no budget."""
    deadline = _thread.deadline
    return None if deadline is None else max(deadline - time.thread_time(), 0.0)


def check(doing: str, rest: Callable[[], Any] | None = None) -> None:
    """Raises CompileBudgetError if the time is over. `rest` does what is left to do, in another thread."""
    if left() == 0.0:
        raise over(doing, rest)


def over(doing: str, rest: Callable[[], Any] | None = None) -> CompileBudgetError:
    """The error that says so, for raising."""
    error = CompileBudgetError(doing=doing, seconds=_thread.seconds)
    error.rest = rest
    return error
