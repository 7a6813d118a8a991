"""A process that runs rows with or without one mechanism: `python -m benchmarks.ablation.child [NAME]`.

It reads requests, a line of JSON each, and answers each with a line. Before it measures it becomes, if it may, a
real-time process on the last of its processors, for the milliseconds of a sample: other processes on a busy machine
then do not stand in the way.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks import peers
from benchmarks.ablation import mechanisms, rows

SAMPLES = 3  # of which the least counts
SAMPLE_SECONDS = 0.005
MOST_CALLS = 5000


class Child:
    """The rows prepared so far."""

    def __init__(self, real_time: bool) -> None:
        self.peer = next(p for p in peers.ALL if p.name == "tracejit")
        self.runs: dict[str, Callable[[], Any]] = {}
        self.real_time = real_time

    def prepare(self, row: str, path: str) -> dict[str, Any]:
        """Compile a row and write its results to a file: the processor's seconds that took, and calls for a sample."""
        case = rows.find(row)
        args = case.args()
        tj.clear_caches()
        gc.collect()
        start = time.process_time()
        run = self.peer.prepare(case, args)
        result = run()
        spent = time.process_time() - start
        np.savez(path, *self.peer.to_numpy(result))
        self.runs[row] = run
        once = min(self._seconds(run, 1) for _ in range(2))
        return {
            "compile": spent - once,
            "calls": max(1, min(MOST_CALLS, int(SAMPLE_SECONDS / max(once, 1e-9)))),
        }

    def time(self, row: str, calls: int) -> float:
        """Seconds of a call: the least of some samples."""
        gc.collect()
        gc.disable()
        try:
            with self._alone():
                return min(self._seconds(self.runs[row], calls) for _ in range(SAMPLES))
        finally:
            gc.enable()

    @staticmethod
    def _seconds(run: Callable[[], Any], calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        return (time.perf_counter() - start) / calls

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        if not self.real_time:
            yield
            return
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
        try:
            yield
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def peak(self) -> float:
        """The most memory that this process has had, in MB."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    name, real_time = sys.argv[1], sys.argv[2] == "real-time"
    if name:
        mechanisms.BY_NAME[name].switch_off()
    np.cos(np.ones(3))
    tj.jit(lambda x: np.cos(x) + 1)(np.ones(3))  # LLVM and the native shell are there
    child = Child(real_time)
    for line in sys.stdin:
        method, *args = json.loads(line)
        try:
            answer: Any = ["ok", getattr(child, method)(*args)]
        except Exception as e:  # that a row fails without a mechanism is a finding
            answer = ["failed", f"{type(e).__name__}: {str(e).splitlines()[0][:200] if str(e) else ''}"]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
