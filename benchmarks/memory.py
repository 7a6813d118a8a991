"""Peak memory of a call, by itself: `python -m benchmarks.memory PEER LABEL DTYPE` measures one.

Each measurement is a process of its own. It calls the function once, so that everything is compiled, lets go of
what is kept for later calls, and reads by how much the resident memory of the process grew during the next call:
results and everything in between, but not the arguments. Linux only, which can forget its high-water mark.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import ALL, NotHere, Peer, derived, split, with_lib
from benchmarks.registry import WORKLOADS, Case

#: Which workloads, by their labels; at their large sizes, beside which rounding to pages is nothing.
CHOSEN = (
    "softmax",
    "4-layer perceptron value and grad",
    "2-D heat energy grad",
    "Lorenz RK4, vector state grad",
)
#: Those that compile in seconds.
PEERS = ("tracejit", "numpy", "jax", "autograd", "torch eager")

#: Freed blocks go back to the system at once, and no page is larger than what is written into it.
ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "NUMPY_MADVISE_HUGEPAGE": "0",
}


@dataclass
class MemoryRow:
    """Bytes a call needs beside its arguments, by peer; `said` is what `memory_analysis()` says of it."""

    case: Case
    peaks: dict[str, int] = field(default_factory=dict)
    said: int | None = None
    missing: dict[str, str] = field(default_factory=dict)


def cases(dtypes: set[str]) -> list[Case]:
    """The rows asked for."""
    every = [c for w in WORKLOADS for c in w.cases({"large"}, dtypes & {"f8"})]
    return [c for c in every if c.label in CHOSEN]


def measure(case: Case, peers: list[Peer]) -> MemoryRow:
    """One process for each peer."""
    row = MemoryRow(case)
    for peer in peers:
        if peer.name not in PEERS:
            continue
        command = [sys.executable, "-m", "benchmarks.memory", peer.name, case.label, case.dtype]
        done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
        if done.returncode:
            row.missing[peer.name] = (done.stderr.strip().splitlines() or ["failed"])[-1]
            continue
        answer = json.loads(done.stdout)
        if "missing" in answer:
            row.missing[peer.name] = answer["missing"]
            continue
        row.peaks[peer.name] = answer["peak"]
        row.said = answer["said"] if peer.name == "tracejit" else row.said
    return row


def markdown(rows: list[MemoryRow]) -> str:
    """Megabytes by peer."""
    names = [n for n in PEERS if any(n in r.peaks for r in rows)]
    lines = ["| peak memory beside the arguments, MB | memory_analysis() | " + " | ".join(names) + " |"]
    lines.append("|---|" + "---:|" * (len(names) + 1))
    for r in rows:
        figures = [r.said, *(r.peaks.get(n) for n in names)]
        lines.append(
            f"| {r.case.label} | " + " | ".join("" if f is None else f"{f / 1e6:.1f}" for f in figures) + " |"
        )
    return "\n".join(lines)


# ---------------------------------------------------------------- in the process that is measured


def _measured(peer: Peer, case: Case) -> dict[str, Any]:
    args = case.args()
    try:
        run = peer.prepare(case, args)
        run()
    except NotHere as e:
        return {"missing": str(e)}
    said = None
    if peer.name == "tracejit":
        said = _said(peer, case, args)
        forget()
    return {"peak": growth(run), "said": said}


def forget() -> None:
    """Let go of the memory that tracejit keeps for later calls."""
    importlib.import_module("tracejit.lowering.runtime.arena").ARENA.clear()
    importlib.import_module("tracejit.lowering.runtime.pool").clear()


def _said(peer: Peer, case: Case, args: tuple[Any, ...]) -> int:
    tj = importlib.import_module("tracejit")
    static, dynamic = split(case.workload, args)
    f = tj.jit(derived(case.workload, with_lib(case.workload, peer.lib, static), tj))
    analysis = f.lower(*dynamic).compile().memory_analysis()
    return analysis["peak_bytes"] - analysis["argument_bytes"]


def growth(run: Callable[[], Any]) -> int:
    """Bytes by which the resident memory grows at most while `run` runs."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = run()
    peak = _status("VmHWM") - before
    del result
    return peak


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}")


def _main(name: str, label: str, dtype: str) -> None:
    importlib.import_module("benchmarks.workloads").load()
    (case,) = [c for c in cases({dtype}) if c.label == label]
    (peer,) = [p for p in ALL if p.name == name]
    print(json.dumps(_measured(peer, case)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
