"""A few elements beside a loop over many are a thread's of its kernel, unless one touches what the other writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, on_device
from tracejit.lowering.cuda.planner import plan
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.lowered import Lowered

X = np.random.default_rng(0).normal(size=5000)
N = len(X)


def edges(x: Any) -> Any:
    y = x.copy()
    y[1:-1] = 0.5 * (x[2:] + x[:-2])
    return y


def in_place(x: Any) -> Any:
    y = np.concatenate([x[:1] * 2, x[1:] - x[:-1]])
    return np.concatenate([y[:1] + y[-1:], y[1:] * y[:-1]])


CASES = [
    (edges, 1),
    (in_place, 2),
    (np.gradient, 1),
    (lambda x: np.pad(x, 1), 1),
    (lambda x: np.roll(x, 1), 1),
    (lambda x: np.roll(x, -2) * 2 + np.roll(x, 3), None),
    (lambda x: np.concatenate([x[:1], x[1:] - x[:-1], x[-1:]]), 1),
]


@pytest.mark.parametrize(("f", "kernels"), CASES)
@pytest.mark.parametrize("setting", ["emulate", "sanitize"])
def test_edges(f: Any, kernels: int | None, setting: str) -> None:
    program, (got,) = on_device(f, X)
    np.testing.assert_array_equal(got, f(X))
    assert kernels is None or len(program.plan.kernels) == kernels
    with tj.config.override(cuda=setting):
        got = tj.device_get(tj.jit(f, device="cuda", fallback=False)(X))
    np.testing.assert_array_equal(got, f(X))


def test_steps_of_the_host() -> None:
    def f(x: Any) -> Any:
        for _ in range(5):
            x = edges(x)
        return x

    x = np.resize(X, 20_000)
    with tj.config.override(cuda="sanitize"):
        got = tj.device_get(tj.jit(f, device="cuda", fallback=False)(x))
    np.testing.assert_array_equal(got, f(x))


@pytest.mark.parametrize("at", [0, 4000])  # of the few: where the loop writes, and where it does not
@pytest.mark.parametrize("reads", [False, True])  # whether the few are read by the loop, or written over
def test_what_depends_on_each_other_is_apart(at: int, reads: bool) -> None:
    k = Builder("few")
    x, y = (k.buffer(n, np.dtype(float), N, "arg", i) for i, n in enumerate("xy"))
    k.store(y, at, k.load(x, 7))
    with k.loop(0, 4000, vector=True, independent=True) as i:
        k.store(y, i, k.load(y if reads else x, i) * 2)
    for s in k.program.body.stmts:
        if hasattr(s, "grain"):
            s.grain = 1
    kernels = plan(Lowered(k.program, [], [], [], [], {}), ROOM)[0].kernels
    assert len(kernels) == (1 if at == 4000 else 2)


def test_memory_that_is_used_again_is_not_written_too_early() -> None:
    """Two arrays of the arena at the same place, one of which a thread reads before a loop fills the other."""
    k = Builder("again")
    x, z = (k.buffer(n, np.dtype(float), N, "arg", i) for i, n in enumerate("xz"))
    old, new = (k.buffer(n, np.dtype(float), N, "arena", 0) for n in ("old", "new"))
    k.program.arena_bytes = 8 * N
    k.store(z, 4999, k.load(old, 7))
    with k.loop(0, 4000, vector=True, independent=True) as i:
        k.store(new, i, k.load(x, i))
    assert len(plan(Lowered(k.program, [], [], [], [], {}), ROOM)[0].kernels) == 2
