"""Whole programs: state that is kept, text that is printed, draws from NumPy's generators, a heap, and histograms.

The row "step that keeps nothing" is the one beside it without state: what the two differ by is what the journal costs.
"""

from __future__ import annotations

import contextlib
import heapq
import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.registry import workload

#: Who can't run programs that keep state, print, or draw from NumPy's generators.
AVOID = dict.fromkeys(
    ("jax", "torch", "torch eager", "autograd", "drjit"), "knows nothing of NumPy's objects"
)
NUMBA = {"numba": "does not take objects of Python's classes"}


def whole(name: str, **options: Any) -> Any:
    """A row in float64."""
    options = {"dtypes": ("f8",), "avoid": AVOID | NUMBA, **options}
    return workload(name, "whole programs", **options)


# ---- state


class Filter:
    """A tracker with eight attributes, all of which a step writes."""

    def __init__(self, n: int) -> None:
        self.x, self.v, self.gain, self.seen = np.zeros(n), np.zeros(n), np.full(n, 0.5), np.zeros(n)
        self.steps, self.error, self.largest, self.time = 0, 0.0, 0.0, 0.0

    def step(self, z: Any) -> Any:
        """One measurement."""
        self.x, self.v, self.gain, self.seen, error = moved(self.x, self.v, self.gain, z)
        self.steps += 1
        self.error = error
        self.largest = max(self.largest, error)
        self.time += 0.1
        return error


def moved(x: Any, v: Any, gain: Any, z: Any) -> tuple[Any, ...]:
    """What a step computes."""
    predicted = x + 0.1 * v
    off = z - predicted
    return predicted + gain * off, v + 0.5 * gain * off, 0.99 * gain, z, float(np.sqrt((off * off).sum()))


def _jit(f: Any) -> Any:
    return importlib.import_module("tracejit").jit(f)


def stateful(jit: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(mode: str, z: Any) -> Any:
        tracker, step = Filter(z.size), jit(Filter.step)
        return lambda z: step(tracker, z) * 0.0  # each peer has made other numbers of steps

    return run


@whole(
    "step that keeps 8 attributes",
    make=lambda rng, dtype, n: (rng.normal(size=n),),
    sizes={"middle": {"n": 4}},
    by_hand={"tracejit": stateful(_jit), "numpy": stateful(lambda f: f)},
)
def step_with_state(lib: Any, z: Any) -> Any:
    raise NotImplementedError


@whole(
    "step that keeps nothing",
    make=lambda rng, dtype, n: (np.zeros(n), np.zeros(n), np.full(n, 0.5), rng.normal(size=n)),
    sizes={"middle": {"n": 4}},
    by_hand={"tracejit": lambda mode, *_: _jit(moved), "numpy": lambda mode, *_: moved},
)
def step_without_state(lib: Any, *_: Any) -> Any:
    raise NotImplementedError


# ---- text


def printing(jit: Callable[[Any], Any]) -> Callable[..., Any]:
    def report(x: Any, n: int) -> Any:
        for k in range(n):
            x = x - 0.1 * np.sin(x)
            print(f"step {k:4d}: {x[0]:.6f} {(x * x).sum():.3e}")
        return x

    compiled = jit(report)

    def run(mode: str, *_: Any) -> Any:
        def call(x: Any, n: int) -> Any:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                return compiled(x, n)

        return call

    return run


@whole(
    "loop that prints",
    make=lambda rng, dtype, n: (rng.normal(size=8), n),
    sizes={"middle": {"n": 1000}},
    by_hand={"tracejit": lambda mode, *a: printing(_jit)(mode, *a), "numpy": printing(lambda f: f)},
)
def prints(lib: Any, x: Any, n: int) -> Any:
    raise NotImplementedError


# ---- draws


def _permuted(rng: Any, n: int) -> Any:
    x = np.arange(n)
    rng.shuffle(x)
    return x


DRAWS: dict[str, Callable[[Any, int], Any]] = {
    "random": lambda rng, n: rng.random(n),
    "uniform": lambda rng, n: rng.uniform(-1.0, 3.0, n),
    "standard_normal": lambda rng, n: rng.standard_normal(n),
    "normal": lambda rng, n: rng.normal(1.0, 2.0, n),
    "exponential": lambda rng, n: rng.exponential(2.0, n),
    "integers": lambda rng, n: rng.integers(0, 1000, n),
    "gamma": lambda rng, n: rng.gamma(2.5, 1.0, n),
    "beta": lambda rng, n: rng.beta(2.0, 3.0, n),
    "poisson": lambda rng, n: rng.poisson(4.0, n),
    "binomial": lambda rng, n: rng.binomial(20, 0.3, n),
    "choice": lambda rng, n: rng.choice(1000, n),
    "permutation": lambda rng, n: rng.permutation(n),
    "shuffle": _permuted,
}


def drawing(name: str, jit: Callable[[Any], Any]) -> Callable[..., Any]:
    """Draws from a generator of outside, which each call advances: nothing is known of them while tracing."""

    def run(mode: str, n: int) -> Any:
        draw, rng = DRAWS[name], np.random.default_rng(7)
        return jit(lambda _: draw(rng, n))

    return run


def undrawn(lib: Any, n: int) -> Any:
    raise NotImplementedError


for _name in DRAWS:
    whole(
        f"draws: {_name}",
        make=lambda rng, dtype, n: (n,),
        sizes={"middle": {"n": 1_000_000}},
        by_hand={"tracejit": drawing(_name, _jit), "numpy": drawing(_name, lambda f: f)},
    )(undrawn)


# ---- a heap


def graph(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    """Edges from each node to eight others, as rows of targets and lengths."""
    return rng.integers(0, n, (n, 8)), rng.uniform(0.1, 1.0, (n, 8))


def shortest(targets: Any, lengths: Any) -> Any:
    """Dijkstra's distances from node 0."""
    n = targets.shape[0]
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, at = heapq.heappop(heap)
        if d > distance[at]:
            continue
        for k in range(targets.shape[1]):
            to = targets[at, k]
            new = d + lengths[at, k]
            if new < distance[to]:
                distance[to] = new
                heapq.heappush(heap, (new, to))
    distance[np.isinf(distance)] = -1.0
    return distance


@whole(
    "Dijkstra",
    make=graph,
    sizes={"middle": {"n": 10_000}},
    avoid=AVOID,
    by_hand={
        "tracejit": lambda mode, *_: _jit(shortest),
        "numpy": lambda mode, *_: shortest,
        "numba": lambda mode, *_: importlib.import_module("numba").njit(shortest),
    },
)
def dijkstra(lib: Any, *_: Any) -> Any:
    raise NotImplementedError


# ---- histograms, and factors of library's code


@whole(
    "np.histogram",
    make=lambda rng, dtype, n: (rng.normal(size=n),),
    sizes={"middle": {"n": 1_000_000}},
    avoid={n: r for n, r in AVOID.items() if n != "jax"} | NUMBA,
)
def histogram(lib: Any, x: Any) -> Any:
    return lib.np.histogram(x, 100)[0]


@whole(
    "azimuthal integration",
    make=lambda rng, dtype, n: (rng.random(n), rng.random(n)),
    sizes={"middle": {"n": 1_000_000}},
    avoid={n: r for n, r in AVOID.items() if n != "jax"} | NUMBA,
)
def azimuthal(lib: Any, data: Any, radius: Any) -> Any:
    counts = lib.np.histogram(radius, 1000)[0]
    return lib.np.histogram(radius, 1000, weights=data)[0] / counts


@whole(
    "np.linalg.cholesky",
    make=lambda rng, dtype, n: ((lambda a: a @ a.T + n * np.eye(n))(rng.normal(size=(n, n))),),
    sizes={"middle": {"n": 512}},
    avoid={n: r for n, r in AVOID.items() if n != "jax"} | NUMBA,
)
def cholesky(lib: Any, a: Any) -> Any:
    return lib.np.linalg.cholesky(a)
