"""Two processes, with and without a mechanism, that take turns at the rows that it serves."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import timing
from benchmarks.ablation import rows
from benchmarks.ablation.mechanism import Mechanism

#: A gain below this is none, whatever its spread.
LEAST_GAIN = 0.03


@dataclass(frozen=True)
class Effort:
    """Pairs of processes, rounds of each, and seconds after which a pair is done with a row."""

    pairs: int = 2
    rounds: int = 12
    seconds: float = 0.6


@dataclass
class Row:
    """What one row gains: the time without the mechanism over that with it, of each pair of processes."""

    label: str
    ratios: list[float] = field(default_factory=list)
    compiling: list[float] = field(default_factory=list)  # seconds with it, less those without
    ms: float = 0.0
    problem: str = ""

    @property
    def gain(self) -> float:
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> str:
        """'gain', 'loss' or 'noise': where the pairs do not agree, or by no more than 3 %, it is noise."""
        low, high = min(self.ratios), max(self.ratios)
        if low > 1 + LEAST_GAIN / 2 and self.gain >= 1 + LEAST_GAIN:
            return "gain"
        return "loss" if high < 1 - LEAST_GAIN / 2 and self.gain <= 1 - LEAST_GAIN else "noise"


@dataclass
class Result:
    """A mechanism measured. `memory`: the peak without it less that with it, in MB."""

    mechanism: Mechanism
    rows: list[Row] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)


class Worker:
    """A child process."""

    def __init__(self, name: str, threads: int, real_time: bool) -> None:
        env = {**os.environ, "TRACEJIT_CACHE": "off", "PYTHONHASHSEED": "0"}
        for variable in ("OMP", "OPENBLAS", "MKL", "TRACEJIT"):
            env[f"{variable}_NUM_THREADS"] = str(threads)
        processors = sorted(os.sched_getaffinity(0))[-threads:]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ablation.child", name, "real-time" if real_time else ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
        )

    def ask(self, *request: Any) -> Any:
        """The answer to a request; raises RuntimeError if it failed."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with {self.process.wait()}")
        outcome, answer = json.loads(line)
        if outcome != "ok":
            raise RuntimeError(answer)
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(mechanism: Mechanism, effort: Effort, real_time: bool = False) -> Result:
    """Results compared first, then the rows of one mechanism, by several pairs of processes."""
    result = Result(mechanism, [Row(label) for label in mechanism.rows])
    for n in range(effort.pairs):
        names = ("", mechanism.name)
        both = [Worker(name, mechanism.threads, real_time) for name in (names if n % 2 else names[::-1])]
        on, off = both if n % 2 else both[::-1]
        try:
            for row in result.rows:
                if not row.problem:
                    _pair(row, on, off, effort)
            result.memory.append(off.ask("peak") - on.ask("peak"))
        except RuntimeError as e:
            for row in result.rows:
                row.problem = row.problem or str(e)
        finally:
            for worker in both:
                worker.close()
    return result


def _pair(row: Row, on: Worker, off: Worker, effort: Effort) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.npz") for name in ("on", "off")]
        try:
            given, lacking = (w.ask("prepare", row.label, p) for w, p in zip((on, off), paths, strict=True))
        except RuntimeError as e:
            row.problem = f"fails: {e}"
            return
        problem = timing.difference(_load(paths[1]), _load(paths[0]), rows.find(row.label))
    if problem:
        row.problem = f"differs: {problem}"
        return
    row.compiling.append(given["compile"] - lacking["compile"])
    times: tuple[list[float], list[float]] = ([], [])
    start = time.perf_counter()
    for n in range(effort.rounds):
        for worker, found in list(zip((on, off), times, strict=True))[:: 1 if n % 2 else -1]:
            found.append(worker.ask("time", row.label, given["calls"]))
        if n >= 3 and time.perf_counter() - start > effort.seconds:
            break
    with_it, without = map(statistics.median, times)
    row.ratios.append(without / with_it)
    row.ms = 1e3 * with_it


def _load(path: str) -> list[np.ndarray]:
    with np.load(path) as file:
        return [file[name] for name in file.files]
