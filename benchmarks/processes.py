"""Whole processes, from `python` to the first result: what an import and the first call cost.

A program of `programs/` computes value and gradient of the four-layer perceptron at its middle size, as one would
write it for that library, and prints what it got. The libraries' caches lie in folders of their own, given by the
environment variables that each has for it.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.peers import Peer
from benchmarks.timing import Row, near

PROGRAMS = Path(__file__).parent / "programs"

#: What a user would import first.
IMPORTS = {
    "tracejit": "import tracejit",
    "numpy": "import numpy",
    "numba": "import numba",
    "jax": "import jax, jax.numpy",
    "torch": "import torch",
    "autograd": "import autograd, autograd.numpy",
    "drjit": "import drjit",
}


def cache_variables(folder: Path) -> dict[str, str]:
    """Each library's own cache on disk, which keeps everything, however quickly it was compiled."""
    return {
        "TRACEJIT_CACHE": str(folder / "tracejit"),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_ENABLE_X64": "1",
    }


@dataclass(frozen=True)
class Process:
    """A process that ended: seconds from its start until it printed, its peak memory in bytes, and what it printed."""

    seconds: float
    peak_bytes: int
    output: str


def run(arguments: list[str], folder: Path) -> Process:
    """A fresh interpreter with `arguments`, whose program prints one line. Raises RuntimeError if it fails."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    path = [str(PROGRAMS.parents[1]), *filter(None, [env.get("PYTHONPATH")])]
    env |= {"PYTHONPATH": os.pathsep.join(path), "PYTHONUNBUFFERED": "1", **cache_variables(folder)}
    with tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *arguments], env=env, stdout=subprocess.PIPE, stderr=err, text=True
        )
        assert child.stdout is not None
        output = child.stdout.readline()
        seconds = time.perf_counter() - start
        child.stdout.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode or not output:
            err.seek(0)
            raise RuntimeError((err.read().strip().splitlines() or [f"ended with {child.returncode}"])[-1])
        return Process(seconds, usage.ru_maxrss * 1024, output)


@dataclass(frozen=True)
class ProcessCase:
    """A row of the table whose times are those of whole processes, until they print.

    `cache` is 'warm' (a first run, which is not measured, has filled it), 'empty' (before each run), or '' for
    processes that only import the library.
    """

    label: str
    cache: str
    size: str = "middle"
    dtype: str = "f8"
    family: str = "processes"
    mode: str = ""

    @property
    def name(self) -> str:
        return self.label

    def arguments(self, peer: Peer) -> list[str] | None:
        """What this peer's interpreter is given; None if there is no program for it."""
        if not self.cache:
            return ["-c", f"{IMPORTS[peer.name]}; print(0)"] if peer.name in IMPORTS else None
        program = PROGRAMS / f"perceptron_{peer.name}.py"
        return [str(program)] if program.exists() else None

    def measure(self, peers: list[Peer], rounds: int, limit: float) -> Row:
        """One run of each to fill caches and compare results, then `rounds` of each, in turns. What takes more
        than `limit` seconds is not run again."""
        row, times, reference = Row(self), dict[str, list[float]](), None
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for peer in peers:
                arguments = self.arguments(peer)
                if arguments is None:
                    row.missing[peer.name] = "no program for it"
                    continue
                try:
                    first = run(arguments, folder)
                except RuntimeError as e:
                    row.missing[peer.name] = f"Error: {e}"
                    continue
                got = np.array(first.output.split(), float)
                reference = got if reference is None else reference
                if got.shape != reference.shape or not np.allclose(got, reference, rtol=1e-8):
                    row.missing[peer.name] = f"differs: {got}, not {reference}"
                    continue
                row.first_call[peer.name] = first.seconds
                if first.seconds > limit:
                    row.missing[peer.name] = f"one run takes {first.seconds:.0f} s"
                else:
                    times[peer.name] = []
            for n in range(rounds):
                for peer in [p for p in peers if p.name in (times if n < 3 else near(times))]:
                    if self.cache == "empty":
                        shutil.rmtree(folder)
                        folder.mkdir()
                    times[peer.name].append(run(self.arguments(peer) or [], folder).seconds)
        row.ms = {name: statistics.median(t) * 1e3 for name, t in times.items()}
        return row


CASES = (
    ProcessCase("fresh process, warm disk cache", "warm"),
    ProcessCase("fresh process, empty disk cache", "empty"),
    ProcessCase("import", ""),
)
