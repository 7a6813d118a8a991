"""Large programs in parts: nothing is lost, arrows lead from part to part in order."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.pictures import fold
from tracejit.pictures.fold import PART, folded
from tracejit.pictures.layout import layout

W = np.ones(3)


def deep(n: int) -> Any:
    def f(x: Any) -> Any:
        for _ in range(n):
            y = np.sin(x) * W
            x = y + x * 0.5
        return np.sum(x)

    return tj.make_jaxpr(tj.grad(f))(W).draw()


PICTURE = deep(60)


def test_small_graphs_are_left_as_they_are() -> None:
    graph = tj.draw(np.sin)(W).graph
    assert folded(graph, True) is graph


@pytest.mark.parametrize("opened", [True, False])
def test_parts(opened: bool) -> None:
    graph = folded(PICTURE.graph, opened)
    parts = [n for n in graph.nodes if n.op == PART]
    assert len(PICTURE.graph.nodes) > fold.MANY and 40 < len(parts) < fold.MANY
    at = {n.id: k for k, n in enumerate(graph.nodes)}
    assert all(at[e.source] < at[e.target] for e in graph.edges)
    assert len({(e.source, e.target, e.residual) for e in graph.edges}) == len(graph.edges)
    assert {n.order for n in parts} == {0, 1} and all("lines" in n.title or "line " in n.title for n in parts)
    assert all(bool(n.regions) == opened for n in parts)
    layout(graph)


def test_opened_parts_hold_everything() -> None:
    whole, graph = PICTURE.graph, folded(PICTURE.graph, True)
    texts = [n.text for n in whole.nodes if n.text]
    assert [n.text for n in graph.walk() if n.text and n.op != PART] == texts
    ids = [n.id for n in graph.walk()]
    assert len(ids) == len(set(ids))
    counted = [
        (n.id, sum(e.target == n.id for e in whole.edges)) for n in whole.nodes if n.kind == "equation"
    ]
    inner = [e for g in graph.graphs() for e in g.edges]
    for name, count in counted:
        assert sum(e.target == name for e in inner) == count


def test_thousands_of_equations_take_seconds() -> None:
    picture = deep(560)
    assert sum(n.kind == "equation" for n in picture.graph.nodes) > 5000
    start = time.process_time()
    assert picture.svg().count('<g class="node') < fold.MANY
    assert time.process_time() - start < 20  # it takes half a second
