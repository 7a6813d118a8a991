"""Containers among the arguments that a jitted function changes: the caller's change, by one program."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import tree
from tracejit.errors import ArgumentContainerError


@dataclasses.dataclass
class State:
    t: int
    x: Any
    log: list[Any]


def test_a_state_is_stepped_by_one_program() -> None:
    @tj.jit
    def step(s: Any, dt: Any) -> Any:
        s.t += 1
        s.x = s.x + dt
        s.log.append(s.x.sum())
        return s

    states = [State(0, np.zeros(3), []), State(5, np.ones(3), [1.0])]
    for _ in range(500):
        assert all(step(s, 0.5) is s for s in states)
    assert step.trace_count == 1
    assert [s.t for s in states] == [500, 505] and [len(s.log) for s in states] == [500, 501]
    assert states[0].x.tolist() == [250] * 3 and states[1].log[-1] == 753


def test_lists_of_all_lengths_have_one_program() -> None:
    @tj.jit
    def push(xs: Any, v: Any) -> Any:
        xs.append(v)
        return len(xs)

    xs: list[Any] = []
    assert [push(xs, float(n)) for n in range(1000)] == list(range(1, 1001))
    assert xs == list(map(float, range(1000))) and push.trace_count == 1


def test_whether_arguments_are_one_list_is_guarded() -> None:
    def f(a: Any, b: Any) -> Any:
        a.append(1.0)
        return len(b)

    fast = tj.jit(f)
    ours, theirs = ([[], []] for _ in range(2))
    for n, m in ((0, 1), (0, 0), (1, 0), (0, 0), (0, 1)):
        assert fast(ours[n], ours[m]) == f(theirs[n], theirs[m])
    assert ours == theirs


def test_a_captured_list_that_is_given_is_one() -> None:
    log = [1.0]

    @tj.jit
    def f(xs: Any) -> Any:
        log.append(1.0)
        return len(xs)

    assert [f(log), f([5.0]), f(log), len(log)] == [2, 1, 4, 4]


def test_identity_of_containers_is_asked() -> None:
    known: list[Any] = []
    f = tj.jit(lambda a, b: (a is b, a is known))
    other: list[Any] = []
    assert [f(known, other), f(other, other), f(known, known)] == [(False, True), (True, False), (True, True)]


def test_a_container_put_into_the_place_of_an_equal_one_is_another() -> None:
    given = {"k": [1.0]}
    held = given["k"]
    tj.jit(lambda d: d.update(k=list(d["k"])))(given)
    assert given["k"] == held and given["k"] is not held


def test_other_arguments_stay_in_the_signature() -> None:
    @tj.jit
    def f(xs: Any, w: Any) -> Any:
        xs.append(w["a"].sum())
        return xs[-1]

    xs: list[Any] = []
    for n in (2, 3, 2, 3):
        assert f(xs, {"a": np.ones(n)}) == n
    assert f.trace_count == 2 and xs == [2, 3, 2, 3]
    assert f(np.ones(3).tolist(), w={"a": np.ones(2)}) == 2


def test_nodes_of_registered_classes_are_refused() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    tree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, xs: Pair(*xs))

    def f(p: Any) -> None:
        p.a = p.b

    with pytest.raises(ArgumentContainerError):
        tj.jit(f)(Pair(np.ones(1), np.ones(1)))
