"""Step lengths meet the conditions that they promise; values and gradients are handed on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

FUNCTIONS = {
    "quadratic": (lambda x: 50 * np.sum(x**2), np.array([1.0, -2.0]), 1.0),
    "steep": (lambda x: np.sum(np.exp(20 * x)), np.array([0.5, 0.2]), 1.0),
    "flat": (lambda x: np.sum(np.log(1 + 1e-4 * x**2)), np.array([30.0, 40.0]), 1.0),
    "not a number far away": (lambda x: np.sum(x - np.log(x)), np.array([0.1, 0.2]), 100.0),
    "many minima": (lambda x: np.sum(x**2 / 20 + np.cos(3 * x)), np.array([2.3, -4.0]), 3.0),
}


def searched(search: Any, f: Any, x: Any, scale: float) -> tuple[Any, Any, Any]:
    """The step that a compiled search takes along `scale` times the steepest descent, and its state."""

    @tj.jit
    def run(x):
        value, grad = tj.value_and_grad(f)(x)
        direction = -scale * grad
        step, state = search.update(direction, search.init(x), x, value=value, grad=grad, value_fn=f)
        return step, state, direction

    with np.errstate(all="ignore"):
        return run(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strong_wolfe(name: str) -> None:
    f, x, scale = FUNCTIONS[name]
    step, state, direction = searched(optim.zoom_linesearch(), f, x, scale)
    f0, d0 = f(x), tj.grad(f)(x) @ direction
    assert not state.failed and state.step_size > 0
    np.testing.assert_allclose(step, state.step_size * direction, rtol=1e-15)
    np.testing.assert_allclose(state.value, f(x + step), rtol=1e-12)
    np.testing.assert_allclose(state.grad, tj.grad(f)(x + step), rtol=1e-9, atol=1e-12)
    assert f(x + step) <= f0 + 1e-4 * state.step_size * d0
    assert abs(state.grad @ direction) <= 0.9 * abs(d0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_backtracking(name: str) -> None:
    f, x, scale = FUNCTIONS[name]
    _, state, direction = searched(optim.backtracking_linesearch(), f, x, scale)
    slope, lengths = tj.grad(f)(x) @ direction, 0.5 ** np.arange(30)
    with np.errstate(all="ignore"):
        enough = [f(x + s * direction) <= f(x) + 1e-4 * s * slope for s in lengths]
    assert state.step_size == lengths[np.argmax(enough)] and not state.failed


def test_uphill_goes_nowhere() -> None:
    f, x = (lambda x: np.sum(x**2)), np.array([1.0, 2.0])
    for search in (optim.zoom_linesearch(), optim.backtracking_linesearch(max_steps=5)):
        step, state, _ = searched(search, f, x, -1.0)
        assert not step.any() and state.failed and state.step_size == 0


def test_value_and_grad_from_state_evaluates_once_a_point() -> None:
    calls: list[Any] = []

    def f(x):
        tj.debug.callback(lambda v: calls.append(v), x[0])
        return np.sum(x**2)

    search = optim.zoom_linesearch()
    both = optim.value_and_grad_from_state(f)

    @tj.jit
    def step(x, state):
        value, grad = both(x, state=state)
        updates, state = search.update(-0.4 * grad, state, x, value=value, grad=grad, value_fn=f)
        return optim.apply_updates(x, updates), state, value

    x, state = np.array([1.0, 2.0]), search.init(np.ones(2))
    x, state, first = step(x, state)
    assert first == 5 and len(calls) == 2  # at the point, and at the step
    _, _, second = step(x, state)
    assert len(calls) == 3  # only at the step
    np.testing.assert_allclose(second, np.sum(x**2), rtol=1e-15)
