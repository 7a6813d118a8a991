"""Kernels that read and write more than they compute, at 10^7 elements, beside a plain copy in the same run.

The copy is NumPy's `x.copy()`, whose memory is as new as that of the other kernels' results. Bytes are those of the
arguments and of the result, each once; what a processor reads in order to write a part of a line is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.peers import Peer
from benchmarks.registry import Case, Workload
from benchmarks.timing import interleaved

N = 10_000_000
SIZE = {"10^7": {}}
PEERS = ("tracejit", "numpy", "jax")

#: Name -> how many arrays are read, and the function.
KERNELS: dict[str, tuple[int, Callable[..., Any]]] = {
    "2 * x + 1": (1, lambda lib, x: 2 * x + 1),
    "x + y": (2, lambda lib, x, y: x + y),
    "(x - y)**2 * z": (3, lambda lib, x, y, z: (x - y) ** 2 * z),
    "maximum(x, 0)": (1, lambda lib, x: lib.np.maximum(x, 0)),
    "sqrt(x)": (1, lambda lib, x: lib.np.sqrt(x)),
    "where(x < y, x, 1)": (2, lambda lib, x, y: lib.np.where(x < y, x, 1)),
    "sum": (1, lambda lib, x: x.sum()),
    "sum of x * y": (2, lambda lib, x, y: (x * y).sum()),
    "norm of x - y": (2, lambda lib, x, y: lib.np.sqrt(((x - y) ** 2).sum())),
    "max": (1, lambda lib, x: x.max()),
    "sums of rows": (1, lambda lib, x: x.reshape(-1, 1000).sum(1)),
    "sums of columns": (1, lambda lib, x: x.reshape(-1, 1000).sum(0)),
}


@dataclass
class BandwidthRow:
    """Bytes a second, by peer; and those of the copy."""

    name: str
    dtype: str
    copy: float
    rates: dict[str, float] = field(default_factory=dict)


def names(dtypes: set[str]) -> list[tuple[str, str]]:
    """(kernel, dtype) of the rows asked for."""
    return [(name, dtype) for dtype in ("f8", "f4") if dtype in dtypes for name in KERNELS]


def measure(name: str, dtype: str, peers: list[Peer], rounds: int, budget: float) -> BandwidthRow:
    """The kernel by each peer and the copy, in turns."""
    reads, fn = KERNELS[name]
    work = Workload(name, "bandwidth", fn, _data(reads), SIZE)
    case = Case(work, "10^7", dtype)
    args = case.args()
    runs = {p.name: p.prepare(case, args) for p in peers if p.name in PEERS}
    results = {p.name: p.to_numpy(runs[p.name]())[0] for p in peers if p.name in runs}
    for result in results.values():
        np.testing.assert_allclose(result, results["tracejit"], rtol=1e-4)
    ms = interleaved({"copy": args[0].copy, **runs}, rounds, budget)
    moved = reads * args[0].nbytes + results["tracejit"].nbytes
    rates = {peer: moved / t * 1e3 for peer, t in ms.items() if peer != "copy"}
    return BandwidthRow(name, dtype, 2e3 * args[0].nbytes / ms["copy"], rates)


def _data(reads: int) -> Callable[..., tuple[Any, ...]]:
    return lambda rng, dtype: tuple(rng.random(N).astype(dtype) for _ in range(reads))


def markdown(rows: list[BandwidthRow]) -> str:
    """Gigabytes a second, and the part of the copy's that ours are."""
    peers = [n for n in PEERS if any(n in r.rates for r in rows)]
    lines = ["| 10^7 elements, GB/s | dtype | copy | " + " | ".join(peers) + " | tracejit / copy |"]
    lines.append("|---|---|" + "---:|" * (len(peers) + 2))
    for r in rows:
        figures = " | ".join(f"{r.rates[p] / 1e9:.1f}" if p in r.rates else "" for p in peers)
        part = r.rates["tracejit"] / r.copy
        lines.append(
            f"| {r.name} | float{8 * int(r.dtype[1])} | {r.copy / 1e9:.1f} | {figures} | {part:.2f} |"
        )
    return "\n".join(lines)
