"""One run: which rows, in which order, with how much time for each."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks import bandwidth, compiling, memory, processes, timing, workloads
from benchmarks.peers import Peer
from benchmarks.registry import Case

AnyCase = Case | compiling.CompileCase | processes.ProcessCase


class Effort(NamedTuple):
    """Rounds, and seconds of measuring after which a row is done with three."""

    rounds: int
    budget: float


class Efforts(NamedTuple):
    """By kind of row. A run of all sizes and dtypes ends in fifteen minutes, a quick one in two."""

    calls: Effort
    compiling: Effort
    processes: Effort


QUICK = Efforts(Effort(7, 0.5), Effort(2, 1.0), Effort(3, 12.0))
FULL = Efforts(Effort(21, 0.4), Effort(5, 3.0), Effort(5, 60.0))


@dataclass
class Results:
    """All that was measured."""

    rows: list[timing.Row] = field(default_factory=list)
    bandwidth: list[bandwidth.BandwidthRow] = field(default_factory=list)
    memory: list[memory.MemoryRow] = field(default_factory=list)


def sample(cases: list[AnyCase]) -> list[AnyCase]:
    """Every third case of each family, for a quick run."""
    families: dict[str, list[AnyCase]] = {}
    for case in cases:
        families.setdefault(case.family, []).append(case)
    return [case for family in families.values() for case in family[::3]]


class Run:
    """Measures with these peers, telling each row on standard error as it comes. With no sizes asked for, each peer
    is measured at its usual ones."""

    def __init__(self, peers: list[Peer], quick: bool, asked: set[str] | None = None) -> None:
        self.peers, self.quick, self.efforts = peers, quick, QUICK if quick else FULL
        self.asked = asked

    def measure(self, dtypes: set[str], only: re.Pattern[str]) -> Results:
        """The rows of these dtypes whose label `only` finds. Ctrl-C ends it with what was measured."""
        results = Results()
        sizes = self.asked or ({"middle"} if self.quick else {"small", "middle", "large"})
        try:
            self._fill(results, sizes, dtypes, only)
        except KeyboardInterrupt:
            print("interrupted: the tables have what was measured until now", file=sys.stderr)
        return results

    def _fill(self, results: Results, sizes: set[str], dtypes: set[str], only: re.Pattern[str]) -> None:
        every: list[AnyCase] = [c for w in workloads.load() for c in w.cases(sizes, dtypes)]
        every += compiling.cases(sizes, dtypes)
        every += [c for c in processes.CASES if c.size in sizes and c.dtype in dtypes]
        chosen = [c for c in every if only.search(c.label)]
        if self.quick and not only.pattern:
            chosen = sample(chosen)
        for n, case in enumerate(chosen):
            row = self._row(case)
            results.rows.append(row)
            print(f"{n + 1:3}/{len(chosen)} {_line(row)}", file=sys.stderr)
        if "large" in sizes:
            for name, dtype in bandwidth.names(dtypes):
                if only.search(f"bandwidth {name}"):
                    results.bandwidth.append(bandwidth.measure(name, dtype, self.peers, *self.efforts.calls))
            for case in memory.cases(dtypes):
                if only.search(f"memory {case.label}"):
                    results.memory.append(memory.measure(case, self.peers))

    def _row(self, case: AnyCase) -> timing.Row:
        peers = [p for p in self.peers if self.asked or case.size in p.usual_sizes]
        if isinstance(case, processes.ProcessCase):
            return case.measure(peers, *self.efforts.processes)
        if isinstance(case, compiling.CompileCase):
            return case.measure(peers, *self.efforts.compiling)
        return timing.measure(case, peers, *self.efforts.calls)


def _line(row: timing.Row) -> str:
    ratio = "" if row.ratio is None else f"{row.ratio:6.2f}x {row.best_peer}"
    times = "  ".join(f"{k} {v:.4g}" for k, v in row.ms.items())
    problems = "  ".join(
        f"[{k}: {v}]" for k, v in row.missing.items() if "differs" in v or "Error" in v or k == "tracejit"
    )
    case = row.case
    return f"{case.label:40} {case.size:6} {case.dtype}  {ratio:18} ms: {times} {problems}"
