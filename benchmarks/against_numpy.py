"""jit against NumPy on array programs, and against hand-known facts on loops: `python benchmarks/against_numpy.py`.

Each program runs interleaved with its NumPy form, results checked equal first; medians in milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax

RNG = np.random.default_rng(0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x: Any) -> Any:
    m = x.mean(axis=1, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(axis=1, keepdims=True) + 1e-5)


def logsumexp(x: Any) -> Any:
    m = x.max()
    return np.log(np.exp(x - m).sum()) + m


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def heat(u: Any) -> Any:
    new = u.copy()
    new[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return new


def distances(x: Any) -> Any:
    return np.exp(-((x[:, None] - x[None, :]) ** 2)).sum(axis=1)


PROGRAMS: list[tuple[Callable[..., Any], Any]] = [
    (softmax, RNG.standard_normal((4096, 512))),
    (layernorm, RNG.standard_normal((4096, 512))),
    (logsumexp, RNG.standard_normal(2_000_000)),
    (rosenbrock, RNG.standard_normal(1_000_000)),
    (heat, RNG.standard_normal((2000, 1000))),
    (distances, RNG.standard_normal(1500)),
    (np.cumsum, RNG.standard_normal(2_000_000)),
    (np.sort, RNG.standard_normal(200_000)),
]


def lorenz(x0: Any, steps: int) -> Any:
    """Explicit steps of the Lorenz system, the state as three scalars."""

    def step(s: Any, _: Any) -> Any:
        x, y, z = s
        return (
            x + 0.001 * 10 * (y - x),
            y + 0.001 * (x * (28 - z) - y),
            z + 0.001 * (x * y - 8 / 3 * z),
        ), None

    return lax.scan(step, (x0, 1.0, 1.0), None, length=steps)[0][2]


def medians(rounds: int, *runs: Callable[[], Any]) -> list[float]:
    """Median milliseconds of each, run in turn."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, record in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            record.append((time.perf_counter() - start) * 1e3)
    return [float(np.median(t)) for t in times]


def main() -> None:
    print(f"{'program':12s} {'NumPy':>9s} {'jit':>9s} {'ratio':>7s}   ms")
    for f, x in PROGRAMS:
        jitted = tj.jit(f)
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-9, atol=1e-12)
        a, b = medians(9, lambda f=f, x=x: f(x), lambda j=jitted, x=x: j(x))
        print(f"{f.__name__:12s} {a:9.3f} {b:9.3f} {a / b:6.1f}x")
    forward, gradient = tj.jit(lorenz, static_argnums=1), tj.jit(tj.grad(lorenz), static_argnums=1)
    forward(1.0, 100_000), gradient(1.0, 100_000)
    a, b = medians(9, lambda: forward(1.0, 100_000), lambda: gradient(1.0, 100_000))
    print(f"Lorenz scan of 10^5 steps, scalar state: forward {a:.2f} ms, gradient {b:.2f} ms")
    x = np.ones(8)
    add = tj.jit(lambda a, b: a + b)
    add(x, x)
    start = time.perf_counter()
    for _ in range(20_000):
        add(x, x)
    print(
        f"call of a jitted function of two small arrays: {(time.perf_counter() - start) / 20_000 * 1e6:.2f} us"
    )
    fresh = tj.jit(lambda x, y: np.exp(-x * x) * y + np.tanh(x))
    start = time.perf_counter()
    fresh(x, x)
    print(f"trace + compile of exp(-x*x)*y+tanh(x): {(time.perf_counter() - start) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
