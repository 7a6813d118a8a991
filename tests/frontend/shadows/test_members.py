"""Methods of objects that keep their class are captured: their loops and branches are native."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import tracejit as tj

x = np.ones(2)  # a global that has the name of a field


@dataclasses.dataclass
class State:
    x: np.ndarray
    v: float

    def step(self, dt):
        if self.v > 0:
            return self.x * dt
        return self.x - dt

    def total(self, n):
        s = 0.0
        for i in range(n):
            s += self.v * i
        return s


class Pair(NamedTuple):
    x: np.ndarray
    v: float
    step = State.step
    total = State.total  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [State, Pair])
def test_loops_and_branches_of_methods_are_native(cls):
    made = cls(np.arange(3.0), 2.0)
    step = tj.explain(lambda s, dt: s.step(dt))(made, 0.5)
    assert step.fallback is None and "native branch" in step.loops_and_branches[0]
    total = tj.explain(lambda s, n: s.total(n))(made, 500)
    assert total.fallback is None and "native loop of a traced number" in total.loops_and_branches[0]


@pytest.mark.parametrize("cls", [State, Pair])
def test_methods_are_captured_in_transformations(cls):
    made = cls(np.arange(3.0), 2.0)
    slope = tj.jit(tj.grad(lambda s: s.step(3.0).sum()))(made)
    assert type(slope) is cls and slope.x.tolist() == [3, 3, 3] and slope.v == 0


def test_one_program_serves_objects_and_a_method_of_its_class():
    f = tj.jit(lambda s: State.step(s, 2.0))
    assert f(State(x, 1.0)).tolist() == [2, 2] and f(State(x, -1.0)).tolist() == [-1, -1]
    assert f.trace_count == 1


def test_by_getattr():
    f = tj.jit(lambda s, n: getattr(s, n)(2.0))
    assert f(State(x, -1.0), "step").tolist() == [-1, -1] and f(State(x, 1.0), "step").tolist() == [2, 2]
