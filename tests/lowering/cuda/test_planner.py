"""Which statements become which kernels, and that each kind gives what the CPU gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import on_device
from tracejit.lowering.cuda import planner, running
from tracejit.lowering.cuda.nodes import Control, Host, Kernel, Library, Move

RNG = np.random.default_rng(0)
LONG, ROWS, SMALL = RNG.normal(size=40_001), RNG.normal(size=(37, 300)), RNG.normal(size=(5, 7))


def kinds(steps: list[Any]) -> list[Any]:
    """The kinds of steps, those in loops of the host in lists."""
    found: list[Any] = []
    for s in steps:
        name = {Host: "host", Library: "library", Kernel: getattr(s, "kind", "")}.get(type(s))
        if isinstance(s, Control):
            found.append(kinds(s.first + s.second))
        elif not isinstance(s, Move):
            found.append(name)
    return found


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def relax(x):
    for _ in range(7):
        x = np.tanh(x) * 0.5 + x
    return x


def diffuse(x):
    for _ in range(7):
        x = np.tanh(x) * 0.5 + np.roll(x, 1)
    return x


def halve(x):
    while np.abs(x).max() > 1e-2:
        x = x * 0.5
    return x


def branch(x):
    return np.sin(x) if x[0] > 100 else np.cos(x)


def update(x):
    x = x.copy()
    x[10:2000] += 1
    x[::3] *= 2
    return x


CASES = {
    "pointwise": (lambda x: np.exp(x) * 2 + x, LONG, ["threads"], True),
    "small": (lambda x: np.exp(x) * 2 + x, SMALL, ["block"], True),
    "extreme": (lambda x: x.max(), np.tile(LONG, 2), ["rows", "block"], True),
    "sum": (lambda x: np.sum(x * x), np.tile(LONG, 2), ["rows", "block"], False),
    "rows": (lambda x: x.sum(1), ROWS, ["rows"], False),
    "columns": (lambda x: x.sum(0), ROWS, None, False),
    "softmax": (softmax, ROWS, ["rows"], False),
    "running": (np.cumsum, LONG, ["block"], True),
    "loop over lanes": (relax, SMALL, ["threads"], True),
    "loop in one block": (diffuse, SMALL, ["block"], True),
    "loop of launches": (diffuse, LONG, None, True),
    "while": (halve, SMALL, ["block"], True),
    "while of launches": (halve, LONG, None, True),
    "branch": (branch, LONG, None, True),
    "update": (update, LONG, None, True),
    "join": (lambda x: np.concatenate([x, x * 2]), LONG, ["threads", "threads"], True),
    "library": (np.sort, LONG, None, True),
    "search": (np.argmax, LONG, None, True),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_every_kind_gives_what_the_cpu_gives(name: str) -> None:
    f, x, wanted, exact = CASES[name]
    program, outs = on_device(f, x)
    assert wanted is None or kinds(program.plan.steps) == wanted
    want = np.asarray(tj.jit(f)(x))
    got = next(o for o in outs if o.dtype == want.dtype and o.shape == want.shape)
    if exact:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_long_loops_in_loops_are_launches_of_the_hosts() -> None:
    program, _ = on_device(diffuse, LONG)
    loop = next(s for s in program.plan.steps if isinstance(s, Control))
    assert "threads" in kinds(loop.first)
    assert "the host's for:" in map(str.strip, program.describe())


def test_the_turns_of_the_hosts_loops_are_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on the number of a turn has no launch of its own, and nothing waits for the device."""
    t = RNG.normal(size=(7, 20_003))

    def f(x, t):
        for i in range(7):
            x = np.tanh(x[::-1]) * i + t[i]
        return x

    program, _ = on_device(f, t[0], t)
    loop = next(s for s in program.plan.steps if isinstance(s, Control))
    assert kinds(loop.first) == ["threads"] and loop.span == (0, 7) and not loop.keys
    there = [program.device.array(a) for a in (t[0], t)]
    monkeypatch.setattr(program.device, "write", None)
    monkeypatch.setattr(program.device, "read", None)
    outs = program(*there)
    want = tj.jit(f)(t[0], t)
    assert any(np.array_equal(o.get(), want) for o in outs)


def test_scalars_from_memory_are_part_of_the_kernel() -> None:
    program, (got,) = on_device(lambda s, x: s * x, np.float64(3), LONG)
    assert kinds(program.plan.steps) == ["threads"] and np.array_equal(got, 3 * LONG)


@pytest.mark.parametrize("name", ["softmax", "sum", "while", "update", "search", "loop in one block"])
def test_where_everything_is_a_launch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "ALONE", 0)
    monkeypatch.setattr(planner, "MANY", 8)
    f, x, _, exact = CASES[name]
    _, outs = on_device(f, x)
    want = np.asarray(tj.jit(f)(x))
    got = next(o for o in outs if o.dtype == want.dtype and o.shape == want.shape)
    np.testing.assert_allclose(got, want, rtol=0 if exact else 1e-13, atol=0 if exact else 1e-13)


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (Kernel("k", "block", [], size=999), 1),
        (Kernel("k", "threads", [], size=1000, threads=64, each=4), 4),
        (Kernel("k", "threads", [], size=1025, threads=64, each=4), 5),
        (Kernel("k", "threads", [], size=0), 1),
        (Kernel("k", "threads", [], size=1 << 40), 4096),
        (Kernel("k", "rows", [], size=100), 100),
        (Kernel("k", "rows", [], size=100, warps=8), 13),
        (Kernel("k", "rows", [], size=4000, scratch=1000), 4000),
        (Kernel("k", "rows", [], size=4000, scratch=running._MOST_SCRATCH // 8), 8),
        (Kernel("k", "rows", [], size=4000, scratch=running._MOST_SCRATCH * 2), 1),
        (Kernel("k", "threads", [], size=320_000, scratch=running._MOST_SCRATCH), 4096),
    ],
)
def test_how_many_blocks_a_launch_has(kernel: Kernel, count: int) -> None:
    """As many as its iterations are worth, and as have room for what each has of its own."""
    assert running.blocks_of(kernel) == count
