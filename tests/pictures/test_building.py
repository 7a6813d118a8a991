"""Graphs of programs: halves, residuals, regions, names."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.pictures.model import Graph, Node
from tracejit.pictures.svg import legend_of

X = np.linspace(0.1, 1.0, 5)
SCALE = np.full(5, 2.0)


def graph(f: Any, *args: Any) -> Graph:
    return tj.draw(f)(*args).graph


def one(g: Graph, op: str) -> Node:
    (found,) = [n for n in g.walk() if n.op == op]
    return found


def test_halves_and_residuals() -> None:
    g = graph(tj.grad(lambda x: np.sum(np.sin(x))), X)
    assert one(g, "cos").order == 0 and one(g, "mul").order == 1
    assert [(e.source, e.target) for e in g.edges if e.residual] == [(one(g, "cos").id, one(g, "mul").id)]
    assert one(g, "cos").ports[0].residual and not one(g, "mul").ports[0].residual
    assert {n.order for n in g.nodes if n.kind == "output"} == {1}
    twice = graph(tj.grad(lambda x: np.sum(tj.grad(lambda y: np.sum(np.sin(y) ** 3))(x))), X)
    assert {n.order for n in twice.nodes} == {0, 1, 2}
    assert {n.order for n in graph(np.sin, X).nodes} == {0}


def test_the_gradient_of_a_loop_is_in_the_other_half() -> None:
    def f(x: Any) -> Any:
        for _ in range(50):
            x = np.sin(x) * 2
        return np.sum(x)

    forward, backward = [n for n in graph(tj.grad(f), X).nodes if n.regions]
    assert (forward.order, backward.order) == (0, 1)
    assert all(n.order == 1 for n in backward.regions[0].graph.nodes if n.kind == "equation")
    assert all(n.order == 0 for n in forward.regions[0].graph.nodes)
    assert backward.regions[0].label == "each step, backwards"


def test_names_and_lines_of_the_source() -> None:
    def f(x: Any) -> Any:
        a, b = np.sin(x), np.cos(x)
        c = a * b
        c += 1
        return np.sum(c) * 2

    g = graph(f, X)
    users = {n.op: n.ports[0].user for n in g.nodes if n.kind == "equation"}
    assert users["sin"] == "a" and users["cos"] == "b" and users["add"] == "c" and users["reduce_sum"] == ""
    titles = [n.title for n in g.nodes]
    assert "a × b" in titles and "c + 1" in titles and titles[0] == "x"
    line = one(g, "sin").line
    assert line is not None and line.text.strip() == "a, b = np.sin(x), np.cos(x)"
    assert line.text[line.start : line.stop] == "np.sin(x)" and line.short.startswith("test_building.py:")


def test_names_in_loops_and_branches() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(40):
            if x[0] > 0:
                total = total + x[0] * k
        return total

    loop = next(n for n in graph(f, X).nodes if n.regions)
    inner = loop.regions[0].graph
    assert [n.title for n in inner.nodes if n.kind == "input"][0] == "k"
    assert "total" in [n.title for n in inner.nodes if n.kind == "input"]
    branch = next(n for n in inner.nodes if n.regions)
    assert [r.label for r in branch.regions] == ["if false", "if true"]
    assert loop.title == "loop, 40 steps" and branch.ports[1].user == "total"
    ids = [n.id for n in graph(f, X).walk()]
    assert len(ids) == len(set(ids))


def test_names_in_loops_on_conditions() -> None:
    """The operands of a condition have other places than those of the body."""

    def f(x: Any, limit: Any, step: Any) -> Any:
        total = x * 1.0
        while total < limit:
            total = total + step * x
        return total

    loop = next(n for n in graph(f, 0.5, 9.0, 2.0).nodes if n.regions)
    inputs = {r.label: [n.title for n in r.graph.nodes if n.kind == "input"] for r in loop.regions}
    assert inputs["while"][-1] == "total"
    assert inputs["step"][:3] == ["step", "x", "limit"] and inputs["step"][-1] == "total"


def test_captured_arrays_numbers_and_effects() -> None:
    g = graph(lambda x, i: (x * SCALE)[i] + 3.0, X, 2)
    assert [n.title for n in g.nodes if n.kind == "constant"] == ["SCALE"]
    assert any(n.title == "· + 3" for n in g.nodes)
    assert any("error" in n.effects for n in g.nodes)
    assert graph(lambda x: (x, 1.5), X).nodes[-1].title


def test_edges_are_the_operands() -> None:
    """Every operand that is a variable has one edge, from the node that makes it."""
    closed = tj.make_jaxpr(tj.grad(lambda x: np.sum(np.tanh(x) ** 2 * x)))(X)
    g = closed.draw().graph
    made = {p.name: n.id for n in g.nodes if n.kind != "output" for p in n.ports}
    for n in g.nodes:
        sources = {e.operand: e.source for e in g.edges if e.target == n.id}
        assert sources == {k: made[o] for k, o in enumerate(n.operands) if o in made}
    text = str(closed)
    assert all(n.text in text for n in g.nodes if n.text)


def test_what_a_loop_of_unknown_length_keeps_is_said_to_be_of_unknown_size() -> None:
    def f(x: Any) -> Any:
        while np.sum(x * x) > 1:
            x = np.sin(x)
        return np.sum(x)

    g = graph(tj.grad(f), X)
    (kept,) = [words for kind, words in legend_of(g) if kind == "residual"]
    assert kept.startswith("kept for the derivative: ") and kept.endswith("run decides")
    assert "x == 1" in [n.title for n in graph(lambda x: x == 1, X).nodes]
