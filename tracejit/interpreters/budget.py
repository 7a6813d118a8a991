"""How long a call may wait for its program. What takes longer to trace or compile is put off or given up, if Python can
run the call instead.

What counts is the processor's time, so that a busy machine changes nothing. Tracing runs the user's code and is given
up. What is left to do after it, the caller of `check` may say; it is done in the background (`api.jit.later`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tracejit.config import config
from tracejit.errors import CompileBudgetError

#: Seconds after which it is told that tracing goes on.
_PATIENCE = 5.0
#: Seconds without a look at the time after which a step has one.
_LONG = 0.05


class _Thread(threading.local):
    seconds = 0.0
    started: float | None = None  # of what has not been told about yet
    deadline: float | None = None
    steps = 0
    operations = 0  # that were recorded
    looked = 0.0  # when `step` did last


_thread = _Thread()


class Work(NamedTuple):
    """What tracing has taken in this thread: operations that were recorded, in blocks that are staged again as well,
    and seconds of the processor."""

    operations: int
    seconds: float

    @classmethod
    def now(cls) -> Work:
        """All of it until now."""
        return cls(_thread.operations, time.thread_time())

    def __sub__(self, other: Work) -> Work:
        return Work(self.operations - other.operations, self.seconds - other.seconds)

    def __add__(self, other: Work) -> Work:  # type: ignore[override]
        return Work(self.operations + other.operations, self.seconds + other.seconds)

    def exceeds(self, operations: float, seconds: float) -> bool:
        """Whether it is more than so many operations, or seconds, for each second of the compile budget."""
        budget = config.compile_budget
        return bool(budget) and (self.operations > operations * budget or self.seconds > seconds * budget)


def record() -> None:
    """Count an operation that is recorded."""
    _thread.operations += 1


class within:
    """A budget of so many seconds of this thread's time for a `with` block; none if it is 0. The outermost one counts.
    `as` gives whether this is it."""

    __slots__ = ("own", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> bool:
        self.own = _thread.started is None
        if self.own:
            _thread.started = time.thread_time()
            if self.seconds:
                _thread.seconds, _thread.deadline = self.seconds, _thread.started + self.seconds
        return self.own

    def __exit__(self, *_: object) -> None:
        if self.own:
            _thread.deadline = _thread.started = None


def left() -> float | None:
    """The seconds that are left, 0 or more; None if there is no budget."""
    deadline = _thread.deadline
    return None if deadline is None else max(deadline - time.thread_time(), 0.0)


def check(doing: str, rest: Callable[[], Any] | None = None) -> None:
    """Raises CompileBudgetError if the time is over. `rest` does what is left to do, in another thread."""
    if left() == 0.0:
        raise over(doing, rest)


def step() -> None:
    """A step of a loop that Python makes while it traces: it looks at the time now and then, always after steps that
    take long. Loops that compute with known numbers only record nothing, which would look."""
    _thread.steps += 1
    now = time.monotonic()  # costs less than the time of a thread
    if not _thread.steps % 32 or now > _thread.looked + _LONG:
        _thread.looked = now
        check("tracing it")


def is_long() -> bool:
    """Whether it is time to tell that it goes on: once, after some seconds."""
    late = _thread.started is not None and time.thread_time() > _thread.started + _PATIENCE
    if late:
        _thread.started = float("inf")
    return late


def over(doing: str, rest: Callable[[], Any] | None = None) -> CompileBudgetError:
    """The error that says so, for raising."""
    error = CompileBudgetError(doing=doing, seconds=_thread.seconds)
    error.rest = rest
    return error
