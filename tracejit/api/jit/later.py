"""Compiling that goes on after Python has answered the call: one thread does what is left, one job after another.

The thread runs no code of the user's, and nobody waits for it. It ends with the process. A process that is forked
has no such thread: what was under way there is tried again when it is asked for.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from tracejit.interpreters import messages

#: Jobs that may be under way; what comes on top is not compiled.
_MOST = 16


class Job:
    """What is left to do of a program. `done`: it has ended well, so that calls may ask for the program again."""

    def __init__(self, name: str, rest: Callable[[], Any]) -> None:
        self.name = name
        self.rest = rest
        self.done = False

    def run(self) -> None:
        """Do it; what fails is Python's from now on."""
        try:
            self.rest()
            self.done = True
        except Exception as e:
            messages.debug(1, f"tracejit: {self.name} could not be compiled in the background: {e}")


_jobs: deque[Job] = deque()  # the first one is under way
_lock = threading.Lock()


def go_on(name: str, rest: Callable[[], Any]) -> Job | None:
    """Let `rest` be done in the background; None if too much is to be done there."""
    job = Job(name, rest)
    with _lock:
        if len(_jobs) >= _MOST:
            return None
        if not _jobs:
            try:
                threading.Thread(target=_work, name="tracejit-later", daemon=True).start()
            except RuntimeError:  # at the end of the process
                return None
        _jobs.append(job)
    return job


def _work() -> None:
    while True:
        with _lock:
            job = _jobs[0]
        job.run()
        with _lock:
            _jobs.popleft()
            if not _jobs:
                return


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for job in _jobs:
        job.done = True
    _jobs.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
