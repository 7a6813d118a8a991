"""Measuring: results compared first, then A B A B, medians of samples of many calls."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benchmarks.peers import NotHere, Peer
from benchmarks.registry import Case

#: A sample lasts about this long: many calls of a fast function, one of a slow one.
SAMPLE_SECONDS = 0.004
MAX_CALLS = 2000
#: What takes this many times longer than the fastest is sampled three times only: its ratio is plain.
FAR_BEHIND = 5.0


class Timed(Protocol):
    """What the table needs to know of a row: a workload's case, its compilation, or a whole process."""

    @property
    def family(self) -> str: ...
    @property
    def mode(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> str: ...
    @property
    def dtype(self) -> str: ...


@dataclass
class Row:
    """A case measured: milliseconds a call by peer, and why peers are missing."""

    case: Timed
    ms: dict[str, float] = field(default_factory=dict)
    first_call: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def best_peer(self) -> str | None:
        others = {n: t for n, t in self.ms.items() if not n.startswith("tracejit")}
        return min(others, key=others.__getitem__) if others else None

    @property
    def ratio(self) -> float | None:
        """The best peer's time over ours: above 1 we are faster."""
        best = self.best_peer
        return None if best is None or "tracejit" not in self.ms else self.ms[best] / self.ms["tracejit"]


def measure(case: Case, peers: list[Peer], rounds: int, budget: float) -> Row:
    """Prepare, compare, warm up and time one case; at most about `budget` seconds of timing."""
    row, runs, reference = Row(case), dict[str, Callable[[], Any]](), None
    args = case.args()
    for peer in peers:
        try:
            start = time.perf_counter()
            run = peer.prepare(case, args)
            result = run()
            row.first_call[peer.name] = time.perf_counter() - start
        except NotHere as e:
            row.missing[peer.name] = str(e)
            continue
        except Exception as e:  # a peer's failure is a finding, not the end of the benchmark
            row.missing[peer.name] = (
                f"{type(e).__name__}: {str(e).strip().splitlines()[0][:120] if str(e) else ''}"
            )
            continue
        values = peer.to_numpy(result)
        reference = values if reference is None else reference
        problem = difference(values, reference, case, peer.name)
        if problem:
            row.missing[peer.name] = f"differs: {problem}"
        else:
            runs[peer.name] = run
    row.ms = interleaved(runs, rounds, budget)
    return row


def difference(got: list[np.ndarray], want: list[np.ndarray], case: Case, peer: str = "") -> str:
    """What is wrong with the result of a peer, or ''."""
    rtol = case.workload.near.get(peer, case.workload.rtol[case.dtype])
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape:
            return f"shape {g.shape}, not {w.shape}"
        scale = np.max(np.abs(w), initial=0.0)
        g, w = (x.astype(int) if x.dtype == bool else x for x in (g, w))
        error = np.max(np.abs(g.astype(w.dtype) - w), initial=0.0)
        if not error <= rtol * max(scale, 1e-30):
            return f"off by {error / max(scale, 1e-30):.1e} of the largest value"
    return ""


def interleaved(runs: dict[str, Callable[[], Any]], rounds: int, budget: float) -> dict[str, float]:
    """Median milliseconds a call: in every round each function has its turn. At most about `budget` seconds,
    and three rounds at least."""
    gc.collect()
    gc.disable()
    try:
        calls = {name: _calls(run) for name, run in runs.items()}
        samples: dict[str, list[float]] = {name: [] for name in runs}
        start = time.perf_counter()
        for n in range(rounds):
            for name in runs if n < 3 else near(samples):
                samples[name].append(_sample(runs[name], calls[name]))
            if n >= 2 and time.perf_counter() - start > budget:
                break
    finally:
        gc.enable()
    return {name: statistics.median(s) * 1e3 for name, s in samples.items()}


def near(samples: dict[str, list[float]]) -> list[str]:
    """Those that are not far behind the fastest."""
    limit = FAR_BEHIND * min((min(s) for s in samples.values()), default=0.0)
    return [name for name, s in samples.items() if min(s) <= limit]


def _calls(run: Callable[[], Any]) -> int:
    """How many calls make a sample; also the rest of the warm-up, which slow functions have had."""
    once = _sample(run, 1)
    if once < SAMPLE_SECONDS:
        once = min(_sample(run, 1), _sample(run, 1))
    return max(1, min(MAX_CALLS, int(SAMPLE_SECONDS / max(once, 1e-9))))


def _sample(run: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls
