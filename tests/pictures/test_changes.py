"""What passes did, as marks of the stages: told apart by hand, and that nothing is told where nothing was done."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.pictures.building import graph_of
from tracejit.pictures.changes import counts, mark
from tracejit.pictures.svg import svg

X = np.ones(8)


def wasteful(x: Any) -> Any:
    y = np.sin(x) * 1.0
    z = np.cos(x)
    for i in range(40):
        z = z + np.exp(y) * i  # the exponential does not change from step to step
    return y + z


PICTURE = tj.draw(wasteful)(X)


def told(stage: str) -> list[tuple[str, str, str]]:
    return [
        (n.change, n.op, n.line.text.strip() if n.line else "")
        for n in PICTURE.at(stage).graph.walk()
        if n.change
    ]


def removed(stage: str) -> list[str]:
    return [r.text.split(" = ")[1].split()[0] for g in PICTURE.at(stage).graph.graphs() for r in g.removed]


def test_a_product_with_one_goes_away_and_its_readers_read_what_it_read() -> None:
    assert removed("simplify") == ["mul"]
    changed = told("simplify")
    assert {c for c, *_ in changed} == {"rewritten"}
    assert {op for _, op, _ in changed} == {"scan", "add"}
    assert ("rewritten", "add", "return y + z") in changed
    graph = PICTURE.at("simplify").graph
    (add,) = [n for n in graph.nodes if n.change and n.op == "add"]
    assert add.was.startswith("let ") and add.was != add.text
    assert graph.since == PICTURE.stages[PICTURE.stages.index("simplify") - 1]


def test_what_leaves_a_loop_is_new_outside_and_gone_inside() -> None:
    assert removed("hoist") == ["exp"]
    assert (
        "added",
        "exp",
        "z = z + np.exp(y) * i  # the exponential does not change from step to step",
    ) in told("hoist")
    assert {op for c, op, _ in told("hoist") if c == "rewritten"} <= {"scan", "mul"}


def test_a_program_has_not_changed_since_itself() -> None:
    jaxpr = tj.jit(tj.grad(lambda x: wasteful(x).sum())).lower(X).jaxpr
    one, two = graph_of(jaxpr), graph_of(jaxpr)
    mark("before", one, two)
    assert counts(two) == (0, 0, 0) and two.since == "before"
    assert counts(PICTURE.graph) == (0, 0, 0) and PICTURE.graph.since == ""


def test_marks_are_drawn_and_written() -> None:
    graph = PICTURE.at("hoist").graph
    added, rewritten, gone = counts(graph)
    text = svg(graph)
    assert text.count('<g class="change"') == added + rewritten + 2  # two in the legend
    assert "1 new since `simplify`" in text and "1 removed" in text and gone == 1
    data = PICTURE.at("hoist").as_dict()
    (loop,) = [n for n in data["nodes"] if n["regions"]]
    assert data["since"] == "simplify" and [r["title"] for r in loop["regions"][0]["graph"]["removed"]] == [
        "exp"
    ]
