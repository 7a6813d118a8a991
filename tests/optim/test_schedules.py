"""Schedules against their formulas, at steps given as Python's, NumPy's and traced integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim


def polynomial(n: int) -> float:
    return 0.01 + 0.09 * (1 - min(max(n - 2, 0), 5) / 5) ** 2


def cosine(n: int) -> float:
    return 0.1 * (0.9 * (0.5 * (1 + math.cos(math.pi * min(n, 8) / 8))) ** 2 + 0.1)


def staircase(n: int) -> float:
    return max(0.1 * 0.5 ** (max(n - 1, 0) // 3), 0.03)


def warm(n: int) -> float:
    if n < 4:
        return 0.1 * n / 4
    return 0.01 + 0.09 * 0.5 * (1 + math.cos(math.pi * min(n - 4, 6) / 6))


CASES: dict[str, tuple[Any, Callable[[int], float]]] = {
    "constant": (optim.constant_schedule(0.1), lambda n: 0.1),
    "linear": (optim.linear_schedule(0.0, 1.0, 4), lambda n: min(n, 4) / 4),
    "polynomial": (optim.polynomial_schedule(0.1, 0.01, 2.0, 5, 2), polynomial),
    "cosine": (optim.cosine_decay_schedule(0.1, 8, alpha=0.1, exponent=2.0), cosine),
    "exponential": (optim.exponential_decay(0.1, 3, 0.5), lambda n: 0.1 * 0.5 ** (n / 3)),
    "warm, then a staircase": (
        optim.warmup_exponential_decay_schedule(0.0, 0.1, 2, 3, 0.5, 1, True, 0.03),
        lambda n: 0.1 * n / 2 if n < 2 else staircase(n - 2),
    ),
    "nothing to scale": (optim.piecewise_constant_schedule(0.1), lambda n: 0.1),
    "staircase": (optim.exponential_decay(0.1, 3, 0.5, 1, staircase=True, end_value=0.03), staircase),
    "growing": (optim.exponential_decay(0.1, 3, 2.0, end_value=0.3), lambda n: min(0.1 * 2 ** (n / 3), 0.3)),
    "inverse time": (optim.inverse_time_decay(0.1, 2, 0.5), lambda n: 0.1 / (1 + 0.25 * n)),
    "piecewise": (
        optim.piecewise_constant_schedule(1.0, {6: 0.1, 3: 0.5}),
        lambda n: 1.0 if n < 3 else 0.5 if n < 6 else 0.05,
    ),
    "warm-up, constant": (optim.warmup_constant_schedule(0.0, 0.2, 5), lambda n: 0.2 * min(n, 5) / 5),
    "warm-up, cosine": (optim.warmup_cosine_decay_schedule(0.0, 0.1, 4, 10, 0.01), warm),
    "warm-up, exponential": (
        optim.warmup_exponential_decay_schedule(0.0, 0.1, 4, 2, 0.5),
        lambda n: 0.1 * n / 4 if n < 4 else 0.1 * 0.5 ** ((n - 4) / 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    schedule, want = CASES[name]
    compiled = tj.jit(schedule)
    for n in range(13):
        assert math.isclose(schedule(n), want(n), rel_tol=1e-13, abs_tol=1e-16)
        assert math.isclose(compiled(np.int64(n)), want(n), rel_tol=1e-13, abs_tol=1e-16)


def test_schedule_in_an_optimizer() -> None:
    optimizer = optim.sgd(optim.piecewise_constant_schedule(1.0, {2: 0.1}))
    x, state, seen = np.ones(2), optimizer.init(np.ones(2)), []
    for _ in range(4):
        updates, state = optimizer.update(x, state)
        seen.append(float(updates[0]))
    assert seen == [-1, -1, -0.1, -0.1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.cosine_decay_schedule(0.1, 0),
        lambda: optim.exponential_decay(0.1, 3, 0.0),
        lambda: optim.linear_schedule(0.0, 1.0, -1),
        lambda: optim.warmup_cosine_decay_schedule(0.0, 0.1, 4, 4),
        lambda: optim.piecewise_constant_schedule(0.1, {3: -1.0}),
        lambda: optim.join_schedules([optim.constant_schedule(1.0)], [3]),
    ],
)
def test_bad_arguments(make: Callable[[], Any]) -> None:
    with pytest.raises(tj.errors.OptimizerArgumentError):
        make()
