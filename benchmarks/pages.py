"""python -m benchmarks.pages NAME ...: the tables of figures in pages of docs/, as Markdown.

offload (docs/memory.md), backends (docs/numba.md), exported (docs/export.md), pictures (docs/pictures.md); all of them
without a name. Times are the processor's, the least of some samples, on one thread, so that other work on the machine
changes them little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import tracejit as tj
from benchmarks import memory
from examples.programs import PROGRAMS

STATE, STEPS = 12_500, 6000


def _least(run: Callable[[], Any], samples: int) -> float:
    """Seconds of processor time."""
    times = []
    for _ in range(samples):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def _table(head: str, rows: Iterable[Iterable[str]]) -> None:
    print(f"| {head} |", "|---|" + "---:|" * head.count("|"), sep="\n")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


# ---- docs/memory.md -------------------------------------------------------------------------------


def _steps(x: Any) -> Any:
    for _ in range(STEPS):
        x = x + 0.01 * np.sin(x)
    return x.sum()


def _gradient(kind: str) -> Any:
    named: dict[str, Any] = {"grad": {}, "disk": {"offload": "disk"}}
    given: dict[str, Any] = named[kind] if kind in named else {"memory": int(kind) * 8 * STATE}
    return tj.jit(tj.grad(_steps, **given))


def offload() -> None:
    """What a gradient of a loop needs, within budgets and on disk: each in a process of its own."""
    names = {"grad": "`grad(f)`", "disk": '`offload="disk"`'}
    kinds = ["grad", "disk", "200", "50", "24", "16"]
    command = [sys.executable, "-m", "benchmarks.pages", "--offload"]
    environment = {**os.environ, **memory.ENVIRONMENT}
    rows = []
    for kind in kinds:
        done = subprocess.run(
            [*command, kind], env=environment, check=True, text=True, stdout=subprocess.PIPE
        )
        rows.append([names.get(kind, f"`memory=` {kind} states"), *done.stdout.strip().split("|")])
    _table("| temporary bytes | peak grew by | time", rows)


def _offload(kind: str) -> None:
    x, f = np.linspace(0, 1, STATE), _gradient(kind)
    said = f.lower(x).compile().memory_analysis()["temporary_bytes"]
    f(x)  # compiled, and what it kept for later calls is let go below
    seconds = _least(lambda: f(x), 3)
    memory.forget()
    peak = memory.growth(lambda: f(x))
    print(f"{said / 1e6:.1f} MB|{peak / 1e6:.1f} MB|{seconds:.2f} s")


# ---- docs/numba.md --------------------------------------------------------------------------------


def _price(s: Any, k: Any, t: Any, v: Any, r: float = 0.02) -> Any:
    d = (np.log(s / k) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    return s * special.ndtr(d) - k * np.exp(-r * t) * special.ndtr(d - v * np.sqrt(t))


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _layer(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


def _jacobi(u: Any) -> Any:
    new = u.copy()
    new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return new


def _cholesky(a: Any) -> Any:
    low = np.zeros_like(a)
    for j in range(a.shape[0]):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        for i in range(j + 1, a.shape[0]):
            low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j]) / low[j, j]
    return low


def _workloads() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 2, 100_000), rng.uniform(0.5, 2, 100_000)
    b = rng.normal(size=(64, 64))
    return {
        "Black-Scholes, 100,000 options": (_price, (x, y, x, y)),
        "softmax of 1,000 x 100": (_softmax, (rng.normal(size=(1000, 100)),)),
        "`(x * y + 1) / (y * y + x * x + 2)` of 100,000": (
            lambda x, y: (x * y + 1) / (y * y + x * x + 2),
            (x, y),
        ),
        "sum of 100,000 squares": (lambda x: (x * x).sum(), (x,)),
        "gradient of a layer, 500 x 64 to 64 x 10": (
            tj.grad(_layer),
            (rng.normal(size=(64, 10)), rng.normal(size=(500, 64))),
        ),
        "one sweep of Jacobi's method, 64 x 64": (_jacobi, (rng.normal(size=(64, 64)),)),
        "Cholesky's method, 64 x 64": (_cholesky, (b @ b.T + np.eye(64),)),
    }


def backends() -> None:
    """CPU seconds of the first call, and microseconds of a further one, of both backends."""
    tj.jit(np.sin, backend="numba")(1.0)  # what a process needs once
    with tj.config.override(cache="off", num_threads=1):
        rows = []
        for name, (f, args) in _workloads().items():
            first, later = [], []
            for backend in ("llvm", "numba"):
                g = tj.jit(f, backend=backend)
                first.append(f"{_least(lambda g=g, args=args: g(*args), 1):.2f}")
                later.append(
                    f"{_least(lambda g=g, args=args: [g(*args) for _ in range(20)], 7) / 20 * 1e6:.0f}"
                )
            rows.append([name, *first, *later])
    _table(
        "CPU seconds for the first call; microseconds for a further one | llvm | numba | llvm | numba", rows
    )


# ---- docs/export.md -------------------------------------------------------------------------------

_EXPORTED = ("autocorrelation", "heat_3d", "newton_fractal", "runge_kutta_fehlberg", "gradient of heat_3d")


def _program(name: str) -> tuple[Any, tuple[Any, ...]]:
    known = PROGRAMS[name.removeprefix("gradient of ")]
    args = known.make(np.random.default_rng(0), known.size)
    if name in PROGRAMS:
        return tj.jit(known.f, static_argnums=known.static), args

    def total(*xs: Any) -> Any:
        return sum(np.sum(leaf) for leaf in tj.tree.leaves(known.f(*xs)))

    return tj.jit(tj.grad(total, argnums=known.wrt), static_argnums=known.static), args


def exported() -> None:
    """From after `import tracejit` to the first result, in new processes: three for each way."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in _EXPORTED:
            f, args = _program(name)
            tj.export(f)(*args).save(Path(folder) / "program.tj")
            row = [name]
            for way in ("traced", "cached", "loaded"):
                cache = f"{folder}/cache" if way == "cached" else "off"
                row.append(f"{min(_fresh(way, name, folder, cache) for _ in range(3)) * 1e3:.0f} ms")
            rows.append(row)
    _table("program of `examples/programs` | traced and compiled | code from the disk cache | loaded", rows)


def _fresh(way: str, name: str, folder: str, cache: str) -> float:
    environment = {**os.environ, "TRACEJIT_CACHE": cache, "TRACEJIT_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.pages", "--exported", way, name, folder]
    done = subprocess.run(command, env=environment, check=True, text=True, stdout=subprocess.PIPE)
    return float(done.stdout)


def _exported(way: str, name: str, folder: str) -> None:
    f, args = _program(name)
    begun = time.process_time()
    g = tj.load_exported(Path(folder) / "program.tj") if way == "loaded" else f
    g(*args)
    print(time.process_time() - begun)


# ---- docs/pictures.md -----------------------------------------------------------------------------


def pictures() -> None:
    """Seconds for the picture of a long program as files."""

    def long(x: Any) -> Any:
        for name in ["sin", "cos"] * 2500:  # texts: not a table of numbers, so that it is unrolled
            x = np.sin(x) if name == "sin" else np.cos(x)
        return x

    picture = tj.draw(long)(np.ones(3))
    with tempfile.TemporaryDirectory() as folder:
        times = [_least(lambda s=s: picture.save(f"{folder}/x.{s}"), 1) for s in ("svg", "html")]
    count = sum(n.kind == "equation" for n in picture.graph.walk())
    print(f"{count} equations: {times[0]:.1f} s as .svg, {times[1]:.1f} s as a page")


def main(names: list[str]) -> None:
    """Print the tables asked for."""
    if names and names[0] in ("--offload", "--exported"):
        {"--offload": _offload, "--exported": _exported}[names[0]](*names[1:])
        return
    every = {"offload": offload, "backends": backends, "exported": exported, "pictures": pictures}
    for name in names or every:
        every[name]()
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
