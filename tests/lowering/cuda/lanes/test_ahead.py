"""Loops of steps over lanes that read what comes later give what they give otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered, on_device
from tracejit.lowering.cuda.kernels import ptx_of
from tracejit.lowering.cuda.lanes.ahead import AHEAD, is_ahead
from tracejit.lowering.cuda.planner import plan
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import For

RNG = np.random.default_rng(0)


def paths(x: Any) -> Any:
    c = x[0] * 0
    for row in x:
        c = 0.9 * c + np.sin(row)
    return c


def two(x: Any, y: Any, on: Any) -> Any:
    c = x[0] * 0
    for r, s, o in zip(x[1:], y[:-1], on[1:], strict=True):
        c = np.where(o, c * r + s, c - r)
    return c


def changed(x: Any) -> Any:
    """Each step reads what the one before wrote."""
    x = x.copy()
    for n in range(1, len(x)):
        x[n] += x[n - 1] * 0.5
    return x


def ahead(f: Any, *args: Any) -> int:
    """The loops of a program that read ahead."""
    low = lowered(f, *args)
    plan(low, ROOM)
    return sum(isinstance(s, For) and is_ahead(s) for s in walk(low.program.body.stmts))


@pytest.mark.sample(4)
@pytest.mark.parametrize("steps", [15, 16, 17, 19, 64])
def test_steps_left_over(steps: int) -> None:
    x, y = RNG.normal(size=(2, steps, 2500))
    on = RNG.integers(0, 2, size=x.shape) > 0
    assert ahead(paths, x) == (steps >= 16)
    for f, args in ((paths, (x,)), (two, (x, y, on)), (changed, (x,))):
        _, (got,) = on_device(f, *args)
        np.testing.assert_array_equal(got, np.asarray(tj.jit(f)(*args)))


def test_nothing_is_read_outside() -> None:
    x = RNG.normal(size=(17, 2100))
    with tj.config.override(cuda="sanitize"):
        got = tj.device_get(tj.jit(paths, device="cuda", fallback=False)(x))
    np.testing.assert_array_equal(got, np.asarray(tj.jit(paths)(x)))


def test_what_is_written_is_not_read_ahead() -> None:
    assert ahead(changed, np.zeros((64, 2500))) == 0


def test_loads_of_four_steps_are_under_way() -> None:
    lines = ptx_of(lowered(paths, np.zeros((64, 100_000)))).partition(".entry")[2].splitlines()
    loads = [n for n, x in enumerate(lines) if "ld.global" in x]
    sines = [n for n, x in enumerate(lines) if "abs.f64" in x]
    assert len(loads) == 2 * AHEAD and loads[AHEAD - 1] < loads[AHEAD] < sines[0], (
        "four before the first step's"
    )
