"""Graphviz as what places boxes: the same promises as of our own rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.pictures.test_layered import random_graph
from tracejit.pictures import graphviz
from tracejit.pictures.layout import layout

needs_dot = pytest.mark.skipif(graphviz.program() is None, reason="Graphviz is not installed")


@needs_dot
@pytest.mark.parametrize("seed", range(3))
def test_boxes_keep_apart_and_arrows_lead_down(seed: int) -> None:
    sizes, edges = random_graph(seed, 40)
    placed = graphviz.place(sizes, edges)
    assert placed is not None
    for n, m in itertools.combinations(range(len(sizes)), 2):
        across = abs(placed.x[n] - placed.x[m]) >= (sizes[n][0] + sizes[m][0]) / 2 - 1
        assert across or placed.row[n] != placed.row[m]
    assert all(a[1] < b[0] for a, b in itertools.pairwise(placed.rows))
    for (a, b), lanes in zip(edges, placed.lanes, strict=True):
        assert placed.row[a] < placed.row[b] and len(lanes) == placed.row[b] - placed.row[a] - 1
        assert all(-1 <= x <= placed.width + 1 for x in lanes)


def test_without_dot_we_place_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(x) ** 2 * np.cos(x))

    picture = tj.draw(tj.grad(f), graphviz=False)(np.ones(3))
    monkeypatch.setattr(graphviz, "program", lambda: None)
    assert graphviz.place(*random_graph(0, 10)) is None
    assert layout(picture.graph).width == picture.drawing.width


def test_what_can_not_be_read_is_placed_by_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("/bin/false", "/bin/true", "/nowhere/dot"):
        monkeypatch.setattr(graphviz, "program", lambda wrong=wrong: wrong)
        assert graphviz.place(*random_graph(0, 10)) is None
