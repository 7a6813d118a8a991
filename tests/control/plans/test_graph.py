"""The model: what is alive when, for chains whose answer is known."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.control.plans.graphs import problem
from tracejit.control.plans.graph import Graph
from tracejit.control.plans.greedy import Descent
from tracejit.control.plans.integer import best

UNIT = 16 * 16 * 8


def chain(length: int) -> Graph:
    """Tangents of products with matrices: one value of UNIT bytes a layer matters."""

    def f(x: Any, ws: Any) -> Any:
        for w in ws:
            x = np.tanh(x @ w)
        return x.sum()

    w = np.linspace(-1, 1, 256).reshape(16, 16)
    return problem(f, (w.copy(), [w] * length)).graph


def test_a_chain() -> None:
    graph = chain(9)
    assert [graph.nodes[n].eqn.op.name for n in graph.candidates] == ["tanh"] * 9
    everything, nothing = graph.evaluate(graph.candidates), graph.evaluate([])
    assert nothing.cost > everything.cost == graph.evaluate(graph.candidates).cost
    third = graph.evaluate([graph.candidates[n] for n in (2, 5)])
    assert third.peak < everything.peak and third.peak < nothing.peak
    assert everything.cost < third.cost < nothing.cost


@pytest.mark.parametrize("length", [6, 9])
def test_the_integer_programme_finds_the_best(length: int) -> None:

    graph = chain(length)
    nodes = graph.candidates
    all_ = [graph.evaluate(s) for k in range(length + 1) for s in itertools.combinations(nodes, k)]
    top = graph.evaluate(nodes).peak
    for budget in (top - UNIT, top - 2 * UNIT, top - 3 * UNIT):
        costs = [v.cost for v in all_ if v.peak <= budget]
        got = best(graph, budget)
        if not costs:
            assert got is None
            continue
        assert got is not None and graph.evaluate(got).peak <= budget
        assert graph.evaluate(got).cost <= 1.01 * min(costs)
        by_greed, fits = Descent(graph).choose(budget)
        assert (
            fits
            and graph.evaluate(by_greed).peak <= budget
            and graph.evaluate(by_greed).cost <= 1.3 * min(costs)
        )


def test_what_is_light_needs_no_memory() -> None:
    x = np.linspace(0.1, 1, 100)
    graph = problem(lambda x: (np.exp(x) * 2 + 1).sum(), (x,)).graph
    light = [n.eqn.op.name for n in graph.nodes if n.light]
    assert "exp" not in light and {"mul", "add"} & set(light)


def test_greed_without_a_budget_gives_what_it_can() -> None:
    graph = chain(6)
    nodes, fits = Descent(graph).choose(0)
    assert not fits and len(nodes) < 6
