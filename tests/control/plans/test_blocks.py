"""Loops with schedules: the same results, and memory that does not grow with the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.control.call.checkpoint import checkpoint_op
from tracejit.control.plans.binomial import Schedule
from tracejit.control.plans.blocks import loops_of, scheduled, schedules
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import bind, use_trace


def loop(x: Any, rows: Any, reverse: bool = False, a: Any = 1.0) -> Any:
    """A constant, a carry, rows, rows of results, and the number of the row."""

    def step(carry: Any, row: Any) -> Any:
        c, n = carry
        c = np.sin(a * c * row + n)
        return (c, n + 1), c * row

    (c, n), ys = lax.scan(step, (x, 0), rows, reverse=reverse)
    return (c * n).sum() + (ys**2).sum()


def again(block: Jaxpr, args: Any, schedule: Schedule | None) -> list[Any]:
    return list(bind(checkpoint_op, *args, jaxpr=block, policy=schedule, prevent_cse=False))


@pytest.mark.parametrize("length", [4, 7, 16, 23])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_the_same_results(length: int, reverse: bool, width: int) -> None:
    x, rows = np.array([0.3, 0.5]), np.linspace(-1, 1, 2 * length).reshape(length, 2)
    jaxpr = tj.jit(lambda x, rows: loop(x, rows, reverse)).lower(x, rows).jaxpr
    (n,) = loops_of(jaxpr)
    new = scheduled(jaxpr, {n: Schedule(3, width)}, again)
    with use_trace(ROOT):
        np.testing.assert_array_equal(eval_jaxpr(new, [x, rows])[0], eval_jaxpr(jaxpr, [x, rows])[0])
    assert scheduled(jaxpr, {}, again) is jaxpr


def test_loops_get_their_schedules_one_by_one() -> None:
    x = np.ones(2)
    jaxpr = tj.jit(lambda x: loop(x, np.ones((90, 2))) + loop(x, np.ones((5, 2)))).lower(x).jaxpr
    first, second = loops_of(jaxpr)
    assert jaxpr.eqns[first].params["length"] == 90
    found = list(schedules(jaxpr, 40 * x.nbytes, 200 * x.nbytes))
    assert list(found[0]) == [first] and list(found[1]) == [first, second]
    rooms = [chosen[first].slots + chosen[first].width for chosen in found]
    assert rooms == sorted(rooms, reverse=True) and rooms[0] < 50


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
