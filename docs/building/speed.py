"""The page of the benchmarks: the committed results as pictures and as the table of the README."""

from __future__ import annotations

from pathlib import Path

from benchmarks import readme
from docs.building import plots
from docs.building.staging import put

_PAGE = """# Speed

`make bench` compares tracejit with NumPy, JAX, PyTorch, autograd, hand-written Numba and Dr.Jit. All run the same
workload with the same number of processors, results are compared first, and the calls of the libraries alternate. These
are the committed results; [all rows](../benchmarks/results/results.md) are a page of their own, and
[Where we are not the fastest](limits.md) explains those in which another library is faster.

{table}

![How many times longer each library takes](pictures/speed.svg)

## By kind of work

A dot is one workload at one size in one dtype, a black line a geometric mean.

![The best other library over tracejit, by family](pictures/speed-families.svg)

## The first call

It traces and compiles. Above the line the other library takes longer.

![Seconds of the first call](pictures/speed-compiling.svg)

## Memory bandwidth

Ten million elements, which no cache holds. NumPy makes an array of each intermediate result.

![Bytes a second](pictures/speed-bandwidth.svg)

## Memory

![The memory that a call needs](pictures/speed-memory.svg)
"""


def write(docs: Path) -> set[Path]:
    """Write docs/speed.md and its pictures; the pages written."""
    data = plots.results()
    for name, draw in (
        ("speed-families", plots.families),
        ("speed-compiling", plots.compiling),
        ("speed-bandwidth", plots.bandwidth),
        ("speed-memory", plots.memory),
    ):
        put(docs / f"pictures/{name}.svg", plots.svg(draw, data))
    return {put(docs / "speed.md", _PAGE.format(table=readme.block(data)).encode())}
