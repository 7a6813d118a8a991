"""The pool of threads that loops are shared among: native threads that know nothing of Python.

`run(fn, frame, start, stop, grain, status)` has the range in chunks worked on by `fn`, by as many threads as
`config.num_threads` says, the caller's included: it works as they do, so a busy or missing thread delays
nothing. There is one job at a time; who comes meanwhile (another thread of the user's) works alone.
Threads are started by the first job that has use for them, spin for some microseconds when they have
nothing to do, and then sleep. What a chunk computes must not depend on how the range is cut.

A chunk that fails leaves its code and details; chunks after it are not begun, those before it are ended, and
the first failure in the order of the range is the one reported, as if there were one thread. Only the
caller lets Python handle signals.

After a fork the child has a pool without threads, whatever the parent's threads were doing.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import platform
import signal
import string
from typing import Any

from tracejit.config import config
from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.loops.parallel import UNIT
from tracejit.lowering.runtime import shell
from tracejit.lowering.runtime.compile import compile_llvm
from tracejit.tracing import LOCK

STOPPED = -5  # a chunk was given up since one before it failed
FORKED = -6  # the process is a copy made by a signal handler in the middle of a job

_SPINS = 2000  # looks for work before a thread goes to sleep: some tens of microseconds
_PARTS = 4  # chunks a thread, so that slow ones can be made up for
_WAIT = 50_000_000  # nanoseconds between the caller's looks for signals while it waits for the last chunks
_OPEN = 1 << 32  # the bit of @gate that lets threads in; below it the number of those that are

_NEEDED = (
    "pthread_create", "pthread_detach", "pthread_sigmask", "pthread_mutex_init", "pthread_mutex_lock",
    "pthread_mutex_unlock", "pthread_cond_init", "pthread_cond_wait", "pthread_cond_timedwait",
    "pthread_cond_signal", "pthread_cond_broadcast", "clock_gettime", "usleep",
)  # fmt: skip

# Without pthreads: the caller alone.
_ALONE = """
@functions = internal constant [5 x ptr] [ptr @run, ptr @look, ptr @nothing, ptr @nothing, ptr @none]
@check = internal global ptr null

define ptr @entry(ptr %count, ptr %check) nounwind {
  store ptr %check, ptr @check
  ret ptr @functions
}

define internal i32 @run(ptr %fn, ptr %frame, i64 %start, i64 %stop, i64 %grain, ptr %status) nounwind {
  %code = call i32 %fn(ptr %frame, i64 %start, i64 %stop, ptr %status, i64 0)
  ret i32 %code
}

define internal i32 @look(i64 %who) nounwind {
  %check = load ptr, ptr @check
  %code = call i32 %check()
  ret i32 %code
}

define internal void @nothing() nounwind {
  ret void
}

define internal i64 @none() nounwind {
  ret i64 0
}
"""

# What a processor does while it waits for another: instruction and declaration.
_PAUSES = {
    "x86": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "arm": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    "": ("", ""),
}


def _pause() -> tuple[str, str]:
    machine = platform.machine().lower()
    kind = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}.get(machine, "")
    return _PAUSES[kind]


def _has_pthreads() -> bool:
    try:
        libc = ctypes.CDLL(None)
    except (TypeError, OSError):
        return False
    return all(hasattr(libc, name) for name in _NEEDED)


def _text() -> str:
    if not _has_pthreads():
        return _ALONE
    pause, declaration = _pause()
    # Signals go to the user's threads, but for those that are about the thread itself.
    own = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
    path = os.path.join(os.path.dirname(__file__), "threads.ll")
    text = __loader__.get_data(path).decode()  # type: ignore[name-defined]  # also from an archive
    return string.Template(text).substitute(
        pause=pause, pause_declaration=declaration, setmask=int(signal.SIG_SETMASK),
        blocked=~sum(1 << n - 1 for n in own), ones=", ".join(["i64 -1"] * 15),
        words=STATUS_WORDS, bytes=8 * STATUS_WORDS, parts=_PARTS, unit=UNIT, spins=_SPINS, wait=_WAIT, patience=1000,
        never=(1 << 63) - 1, open=_OPEN, below=_OPEN - 1, shut=~_OPEN, caller=1, worker=2,
        stopped=STOPPED, forked=FORKED, interrupted=shell.INTERRUPTED,
    )  # fmt: skip


def _functions() -> dict[str, int]:
    """The addresses of the pool's functions. The first call makes the pool, without threads."""
    with LOCK:
        if not _addresses:
            code = compile_llvm(_text())
            _kept.append(code)
            enter = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p * len(_NAMES)), *[ctypes.c_void_p] * 2)
            table = enter(code.address)(ctypes.addressof(_count), shell.signal_check()).contents
            _addresses.update((name, address or 0) for name, address in zip(_NAMES, table, strict=True))
            reset, close = (ctypes.CFUNCTYPE(None)(_addresses[n]) for n in ("reset", "close"))
            reset()
            os.register_at_fork(after_in_child=reset)
            atexit.register(close)
        return _addresses


_NAMES = ("run", "look", "reset", "close", "hired")
_count = ctypes.c_int64()  # the setting where native code reads it
config.watch("num_threads", functools.partial(setattr, _count, "value"))
_addresses: dict[str, int] = {}
#: Threads may be in this code until the process is gone.
_kept: list[Any] = []


def address(name: str) -> int:
    """The address of a function for the table of a program.

    `run`: i32(ptr fn, ptr frame, i64 start, i64 stop, i64 grain, ptr status), where `fn` is an
    i32(ptr frame, i64 first, i64 last, ptr status, i64 who) that works on a part of the range: 0, or the code
    of the first part that failed, whose details are then at `status`. The range is cut at multiples of `grain`
    (a power of two) or of UNIT, whichever is less, into parts of at least `grain`. A range of less than two
    parts is worked on by the caller alone.
    `look`: i32(i64 who), for long chunks to call now and then: 0 to go on, or the code to end with.
    """
    return _functions()[name]


def code() -> Any:
    """The module of the pool."""
    _functions()
    return _kept[0]


def started() -> int:
    """How many threads the pool has, besides those that call it."""
    return ctypes.CFUNCTYPE(ctypes.c_int64)(_functions()["hired"])()
