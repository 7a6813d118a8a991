"""The rows that mechanisms are measured on: the benchmark's workloads, and some of their own where it has none."""

from __future__ import annotations

import importlib
import itertools
import types
from typing import Any

import numpy as np

from benchmarks import compiling, workloads
from benchmarks.registry import Case, Workload

VECTOR = {"middle": {"n": 100_000}, "large": {"n": 2_000_000}}
MATRIX = {"middle": {"m": 512, "n": 256}, "large": {"m": 4096, "n": 512}}
SQUARE = {"middle": {"n": 256}}
SMALL = {"middle": {"n": 16}}
FEW = {"middle": {"m": 64, "n": 64}}
WIDE = {"middle": {"m": 20, "n": 20_000}, "large": {"m": 300, "n": 20_000}}
NARROW = {"middle": {"m": 50_000, "n": 3}, "large": {"m": 1_000_000, "n": 3}}


def _vector(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal(n).astype(dtype),)


def _matrix(rng: Any, dtype: Any, m: int, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal((m, n)).astype(dtype),)


def _another_size(mode: str, *args: Any) -> Any:
    """A function that compiles a stencil for a size that no call before had, and runs it."""
    tj = importlib.import_module("tracejit")
    sizes = itertools.count(2000)

    def step(u: Any) -> Any:
        return u[1:-1] + 0.1 * np.tanh(u[2:] - 2 * u[1:-1] + u[:-2])

    def run(u: Any) -> Any:
        n = next(sizes)
        return tj.jit(step)(np.resize(u, n))[:8]

    return run


def _steps_of_three(lib: Any, x: Any) -> Any:
    return lib.np.exp(x), lib.np.sqrt(lib.np.abs(x)), x * x


def _with_turned(rng: Any, dtype: Any, m: int, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((m, n)).astype(dtype), rng.standard_normal((n, m)).astype(dtype)


def _turned(lib: Any, a: Any, b: Any) -> Any:
    return (lib.np.tanh(a + 1) * a).T / (1 + b * b)


def _chain(lib: Any, a: Any, b: Any, v: Any) -> Any:
    return a @ b @ v


def _chained(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in ((n, n), (n, n), n))


def _invariant(lib: Any, a: Any, x: Any) -> Any:
    for _ in range(200):
        x = 0.5 * x + lib.np.exp(-(a**2)).sum(0)[: x.size] / a.shape[0]
    return x


def _with_vector(rng: Any, dtype: Any, m: int, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((m, n)).astype(dtype), rng.standard_normal(n).astype(dtype)


def _twice(lib: Any, a: Any) -> Any:
    """Correlations of rows, as code written with helper functions computes them."""

    def mean(a: Any) -> Any:
        return lib.np.mean(a, 1, keepdims=True)

    def deviation(a: Any) -> Any:
        return lib.np.sqrt(lib.np.mean((a - mean(a)) ** 2, 1, keepdims=True))

    def covariance(a: Any) -> Any:
        centred = (a - mean(a)) / deviation(a)
        return centred @ centred.T

    return covariance(a) / lib.np.trace(covariance(a))


def _kept(lib: Any, a: Any, v: Any) -> Any:
    """Weights of the columns that two results read."""
    w = lib.np.broadcast_to(lib.np.exp(lib.np.sin(v)), a.shape)
    return lib.np.exp(a * w)[::-1] * w


def _eager_network(mode: str, *args: Any) -> Any:
    """The gradient of a small network that nothing compiles."""
    tj = importlib.import_module("tracejit")

    def loss(w: Any, x: Any) -> Any:
        for _ in range(3):
            x = np.tanh(x @ w + 0.1)
        return (x**2).sum()

    return tj.grad(loss)


def _network(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return rng.standard_normal((n, n)).astype(dtype), rng.standard_normal((n, n)).astype(dtype)


def _fast(f: Any) -> dict[str, Any]:
    """`f` compiled with fastmath."""

    def make(mode: str, *args: Any) -> Any:
        tj = importlib.import_module("tracejit")
        lib = types.SimpleNamespace(np=np)
        return tj.jit(lambda *xs: f(lib, *xs), fastmath=True)

    return {"tracejit": make}


#: By their labels.
OWN = {
    w.name: w
    for w in (
        Workload("transposed sum", "own", lambda lib, a, b: a.T + 2 * b, _with_turned, MATRIX),
        Workload("transposed expression", "own", _turned, _with_turned, MATRIX),
        Workload("sum of narrow rows", "own", lambda lib, a: (a * a).sum(0), _matrix, NARROW),
        Workload("sum of exp over axis 0", "own", lambda lib, a: lib.np.exp(a).sum(0), _matrix, WIDE),
        Workload(
            "sorted rows in a vector", "own", lambda lib, a: lib.np.sort(a, 1).reshape(-1), _matrix, FEW
        ),
        Workload("weights of columns", "own", _kept, _with_vector, MATRIX),
        Workload("argmax of rows", "own", lambda lib, a: lib.np.argmax(a, 1), _matrix, MATRIX),
        Workload("argmax", "own", lambda lib, x: lib.np.argmax(x), _vector, VECTOR),
        Workload("several large results", "own", _steps_of_three, _vector, VECTOR),
        Workload("chain of products, fastmath", "own", _chain, _chained, SQUARE, by_hand=_fast(_chain)),
        Workload("invariant work in a loop", "own", _invariant, _with_vector, FEW),
        Workload("the same twice", "own", _twice, _matrix, MATRIX),
        Workload(
            "eager gradient of a network",
            "own",
            _twice,
            _network,
            SMALL,
            by_hand={"tracejit": _eager_network},
        ),
        Workload(
            "another size", "own", _steps_of_three, _vector, VECTOR, by_hand={"tracejit": _another_size}
        ),
    )
}


def find(row: str) -> Case:
    """The case of a row such as "exp @large f8". Raises LookupError if there is none."""
    label, _, which = row.partition(" @")
    size, dtype = (which or "middle f8").split()
    if label in OWN:
        return Case(OWN[label], size, dtype)
    every = [*workloads.load(), *compiling.WORKLOADS]
    for workload in every:
        for case in workload.cases({size}, {dtype}):
            if case.label == label:
                return case
    raise LookupError(f"no row {row!r}")
