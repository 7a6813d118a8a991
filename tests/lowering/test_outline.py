"""The outline of a lowering: which equations share a nest, what is stored, when memory is needed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.interpreters.jit_pictured import Outline, outlined


def outline_of(f: Any, *args: Any) -> tuple[Any, Outline]:
    return outlined(tj.jit(f).lower(*args).compile()._compiled)


def test_what_is_fused_shares_a_nest() -> None:
    jaxpr, found = outline_of(lambda x: np.sin(x) * 2 + 1, np.ones(1000))
    assert {found.nests[e] for e in jaxpr.eqns} == {(1,)} and len(found.steps) == 1
    assert [v for v in found.stored if found.stored[v].kind != "arg"] == []


def test_what_is_stored_and_read_later() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return y / np.sum(y)

    jaxpr, found = outline_of(f, np.ones(1000))
    rooms = [r for r in found.rooms if r.kind == "arena"]
    assert [(r.bytes, len(r.values)) for r in rooms] in ([(8000, 1)], [])
    assert len(found.steps) == 2 and len({found.nests[e] for e in jaxpr.eqns}) >= 2


def test_what_is_computed_again_is_in_several_nests() -> None:
    _, found = outline_of(lambda x: (np.sum(x + 1), np.cumsum(x + 1)), np.ones(1000))
    assert max(len(n) for n in found.nests.values()) == 2


def test_regions_have_nests_of_their_own() -> None:
    def f(x: Any) -> Any:
        for _ in range(20):
            x = np.sort(x) + 1
        return x

    jaxpr, found = outline_of(f, np.ones(1000))
    inner = jaxpr.eqns[0].params["jaxpr"]
    assert all(set(found.nests[e]).isdisjoint(found.nests[jaxpr.eqns[0]]) for e in inner.eqns)


def test_rooms_that_are_needed_at_once_share_no_byte() -> None:
    w = np.ones((30, 30))
    _, found = outline_of(tj.grad(lambda w: np.sum(np.tanh(np.tanh(w @ w) @ w))), w)
    rooms = [r for r in found.rooms if r.offset is not None]
    assert len(rooms) > 2
    for n, a in enumerate(rooms):
        for b in rooms[:n]:
            at_once = a.first <= b.last and b.first <= a.last
            assert not at_once or a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
    assert all(s.first <= s.last <= found.statements for s in found.steps)


def test_statements_are_counted_as_the_lifetimes_of_rooms_are() -> None:
    """What the last nest reads is needed until one of its statements."""
    w = np.ones((30, 30))
    f = lambda w: np.tanh(np.cumsum(np.tanh(np.cumsum(w, axis=1)), axis=0) @ w) @ w
    _, found = outline_of(f, w)
    rooms = [r for r in found.rooms if r.offset is not None]
    assert rooms and found.steps[-1].last <= found.statements
    assert all(a.last < b.first for a, b in itertools.pairwise(found.steps))
    assert found.steps[-1].first <= max(r.last for r in rooms) <= found.steps[-1].last, (
        "the last nest reads one"
    )


def test_equations_of_a_step_are_in_order() -> None:
    jaxpr, found = outline_of(lambda x: (np.sin(x), np.cos(x), np.exp(x), np.tanh(x), x + 1), np.ones(500))
    (step,) = found.steps
    assert list(step.eqns) == [e for e in jaxpr.eqns if e in step.eqns] and len(step.eqns) == 5
    assert step.operations == 500 * 5 and step.moved == 6 * 4000
