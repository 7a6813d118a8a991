"""Loops in loops: the same results, and memory that does not grow with the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.control.plans.blocks import blocked, depths, levels_of, loops_of, states_of
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import use_trace


def loop(x: Any, rows: Any, reverse: bool = False) -> Any:
    """A carry, rows, rows of results, and the number of the row."""

    def step(carry: Any, row: Any) -> Any:
        c, n = carry
        c = np.sin(c * row + n)
        return (c, n + 1), c * row

    (c, n), ys = lax.scan(step, (x, 0), rows, reverse=reverse)
    return (c * n).sum() + (ys**2).sum()


def again(block: Jaxpr, args: Any) -> list[Any]:
    return eval_jaxpr(block, args)


@pytest.mark.parametrize("length", [4, 7, 16, 23])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("levels", [2, 3])
def test_the_same_results(length: int, reverse: bool, levels: int) -> None:
    x, rows = np.array([0.3, 0.5]), np.linspace(-1, 1, 2 * length).reshape(length, 2)
    jaxpr = tj.jit(lambda x, rows: loop(x, rows, reverse)).lower(x, rows).jaxpr
    (n,) = loops_of(jaxpr)
    new = blocked(jaxpr, {n: levels}, again)
    with use_trace(ROOT):
        np.testing.assert_array_equal(eval_jaxpr(new, [x, rows])[0], eval_jaxpr(jaxpr, [x, rows])[0])
    assert blocked(jaxpr, {n: 1}, again) is jaxpr


def test_levels() -> None:
    assert [states_of(1000, n) for n in (1, 2, 3, 10)] == [1000, 32, 10, 2]
    assert levels_of(1024) == 10 and levels_of(4) == 2
    x = np.ones(2)
    jaxpr = tj.jit(lambda x: loop(x, np.ones((9, 2))) + loop(x, np.ones((4, 2)))).lower(x).jaxpr
    ways = list(depths(jaxpr))
    assert [sorted(w.values()) for w in ways] == [[1, 1], [1, 2], [2, 2], [2, 3], [2, 4]]


def test_memory_of_long_loops() -> None:
    def f(x: Any) -> Any:
        for k in range(2000):
            x = np.sin(x) + 0.01 * k
        return (x**2).sum()

    x = np.linspace(0, 1, 100)
    want = tj.jit(tj.grad(f))(x)
    seen = []
    for budget in (10**7, 300 * x.nbytes, 100 * x.nbytes):
        planned = tj.jit(tj.grad(f, memory=budget))
        seen.append(planned.lower(x).compile().memory_analysis()["temporary_bytes"])
        assert seen[-1] <= budget
        np.testing.assert_array_equal(planned(x), want)
    assert seen[0] > 2000 * x.nbytes
