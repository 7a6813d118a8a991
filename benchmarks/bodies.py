"""python -m benchmarks.bodies: tracing and compiling a loop beside its body alone.

Milliseconds of processor time for `jit(f).lower(...).compile()`, the least of a few with empty caches: of one step,
of the loop, and of value and gradient of both. A gradient of a loop is two loops, which share less than the
step and its derivative in one piece of code do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax

ROUNDS = 5


def lorenz(c: Any) -> Any:
    def slope(s: Any) -> Any:
        x, y, z = s
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    k1 = slope(c)
    k2 = slope(c + 0.005 * k1)
    k3 = slope(c + 0.005 * k2)
    return c + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(c + 0.01 * k3))


def scalars(*c: Any) -> Any:
    return tuple(0.9 * a + 0.1 * np.sin(b) * a for a, b in zip(c, c[1:] + c[:1], strict=True))


def recurrent(h: Any, x: Any, w: Any, v: Any) -> Any:
    return np.tanh(w @ h + v @ x)


def matrix(m: Any) -> Any:
    return np.tanh(m @ m * 0.3) + 0.1


def newton(c: Any) -> Any:
    return c - (c * c * c - 2) / (3 * c * c)


def far(c: Any) -> Any:
    return abs(c**3 - 2) > 1e-9


def stencil(u: Any) -> Any:
    return np.concatenate([u[:1], 0.25 * (u[:-2] + 2 * u[1:-1] + u[2:]), u[-1:]])


def wave(c: Any) -> Any:
    return np.sin(c) * c


def branch(c: Any) -> Any:
    return lax.cond(c[0] > 0, np.sin, np.cos, c)


def repeated(step: Callable[..., Any], n: int) -> Callable[..., Any]:
    return lambda *c: lax.fori_loop(0, n, lambda _, c: step(*c) if len(c) > 1 else (step(*c),), c)


def cases() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]]:
    """Name -> (step, loop, arguments)."""
    rng = np.random.default_rng(0)
    h, xs = rng.standard_normal(32), rng.standard_normal((50, 32))
    w, v = rng.standard_normal((2, 32, 32)) / 6
    three = np.array([1.0, 2.0, 3.0])

    def network(h: Any, xs: Any, w: Any, v: Any) -> Any:
        return lax.scan(lambda h, x: (recurrent(h, x, w, v), None), h, xs)[0]

    return {
        "Lorenz RK4": (lorenz, repeated(lorenz, 1000), (three,)),
        "12 scalars": (scalars, repeated(scalars, 500), tuple(map(float, rng.standard_normal(12)))),
        "recurrent network": (lambda h, xs, w, v: recurrent(h, xs[0], w, v), network, (h, xs, w, v)),
        "3x3 matrix": (matrix, repeated(matrix, 300), (rng.standard_normal((3, 3)),)),
        "Newton, while": (
            lambda c: np.where(far(c), newton(c), c),  # a step decides, too
            lambda c: lax.while_loop(far, newton, c),
            (1.5,),
        ),
        "stencil": (stencil, repeated(stencil, 100), (rng.standard_normal(200),)),
        "stacked rows": (wave, lambda c: lax.scan(lambda c, _: (wave(c), c * c), c, length=300), (three,)),
        "cond in a scan": (branch, repeated(branch, 100), (three,)),
    }


def seconds(f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """The least of a few, from a new function to machine code."""
    found = []
    for _ in range(ROUNDS):
        tj.clear_caches()
        start = time.process_time()
        tj.jit(f).lower(*args).compile()
        found.append(time.process_time() - start)
    return min(found)


def gradient(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    def total(*args: Any) -> Any:
        return sum(np.sum(y) for y in tj.tree.leaves(f(*args)))

    return tj.value_and_grad(total, argnums=tuple(range(count)))


def main() -> None:
    tj.config.cache = "off"
    print("| | step | loop | ratio | step and gradient | loop and gradient | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (step, loop, args) in cases().items():
        a, b = seconds(step, args), seconds(loop, args)
        c, d = seconds(gradient(step, len(args)), args), seconds(gradient(loop, len(args)), args)
        cells = [
            f"{a * 1e3:.1f}",
            f"{b * 1e3:.1f}",
            f"{b / a:.2f}",
            f"{c * 1e3:.1f}",
            f"{d * 1e3:.1f}",
            f"{d / c:.2f}",
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
