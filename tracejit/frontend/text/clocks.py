"""The clock: it is read, and waited for, when the program is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.text.shown import parts_of
from tracejit.frontend.text.sinks import asked, enter, is_recording

_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)


def _clock(read: Callable[[], Any], dtype: np.dtype) -> Callable[..., Any]:
    def clock(*args: Any) -> Any:
        if args or not is_recording():
            return read(*args)
        return asked(read.__name__, read, dtype)

    clock.__name__ = read.__name__
    return clock


def sleep(seconds: Any, /) -> None:
    """`time.sleep`."""
    if not is_recording():
        time.sleep(seconds)
        return
    enter(
        "sleep", time.sleep, [parts_of(seconds)], raises=(ValueError, TypeError, OverflowError), at_once=True
    )


#: Functions of `time` -> what traced code has in their place.
CLOCKS: dict[Any, Callable[..., Any]] = {
    read: _clock(read, _INT if read.__name__.endswith("_ns") else _FLOAT)
    for read in (
        *(time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time),
        *(time.time_ns, time.perf_counter_ns, time.monotonic_ns, time.process_time_ns),
    )
}
CLOCKS[time.sleep] = sleep
