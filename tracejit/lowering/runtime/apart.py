"""LLVM in a process of its own: for modules that take long, whose callers may stop waiting.

A thread would not do. llvmlite has one lock, for which whatever else is compiled would wait, and a fork too; and a
process that ends while LLVM is at work in one of its threads may crash. Another process can be left alone, and ended
at any time.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from pathlib import Path

from tracejit.lazily import LazyModule

subprocess = LazyModule("subprocess")

#: Bytes of LLVM text that are compiled in a second, about.
_RATE = 500_000
#: Bytes of text from which the start of a process is a small part of the time.
LARGE = 1_000_000
#: Seconds between two looks at how far a process is.
_POLL = 0.02
#: The module is given on its standard input, the object comes on its standard output. The package is put there by hand:
#: its `__init__` would import all of it.
_PROGRAM = """
import sys, types
sys.path[:] = {path!r}
package = sys.modules["tracejit"] = types.ModuleType("tracejit")
package.__path__ = [{folder!r}]
from tracejit.lowering.runtime import compile
sys.stdout.buffer.write(compile.object_of(sys.stdin.buffer.read().decode()))
"""

_FOLDER = str(Path(__file__).parents[2])
_running: set[Apart] = set()
_forgotten: list[Apart] = []  # those of the process that this one was forked from


class Apart:
    """A module that another process compiles. `object` is what it has made, None while it is at work or if it failed.

    Raises OSError if there can't be such a process."""

    def __init__(self, text: str) -> None:
        if not _python():
            raise OSError("the executable of this process is no Python")
        self.object: bytes | None = None
        self._ended = threading.Event()
        self._start = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=[*map(str, sys.path)], folder=_FOLDER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the user's program
        )
        _running.add(self)
        try:
            threading.Thread(target=self._talk, args=(text,), name="tracejit-llvm", daemon=True).start()
        except RuntimeError as e:  # at the end of the process
            self.end()
            raise OSError(str(e)) from e

    def _talk(self, text: str) -> None:
        try:
            made, _ = self._process.communicate(text.encode())
            self.object = made if self._process.returncode == 0 else None
        finally:
            _running.discard(self)
            self._ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it ended before it had used so many seconds of a processor's time. An interrupt ends it."""
        try:
            while not self._ended.wait(_POLL):
                if seconds is not None and self.spent() > seconds:
                    return False
        except BaseException:
            self.end()
            raise
        return True

    def spent(self) -> float:
        """Seconds of a processor's time; where the system does not tell, seconds since the start."""
        try:
            return time.clock_gettime(~self._process.pid << 3 | 2)  # Linux: what clock_getcpuclockid gives
        except (AttributeError, OSError, OverflowError):
            return time.perf_counter() - self._start

    def end(self) -> None:
        """Let nothing of it be left."""
        self._process.kill()
        self._process.wait()
        _running.discard(self)


def started(text: str, seconds: float | None) -> Apart | None:
    """A process for a module whose caller waits so many seconds (None: without end); None if it is better compiled
    in this process, or can't be elsewhere."""
    if seconds is None or len(text) < min(LARGE, seconds * _RATE):
        return None
    try:
        return Apart(text)
    except OSError:
        return None


def _python() -> bool:
    """Whether `sys.executable` is known to be Python, rather than an application that has it inside."""
    name = os.path.basename(sys.executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _end_all() -> None:
    for module in list(_running):
        module.end()


def _forget() -> None:
    """They belong to the parent."""
    _forgotten.extend(_running)
    _running.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
