"""Each optimiser, step by step, against the formulas of its paper in plain NumPy, eagerly and compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

RNG = np.random.default_rng(3)
PARAMS = {"w": RNG.normal(size=(3, 4)), "b": [RNG.normal(size=4), np.float64(0.3)]}
GRADS = [tj.tree.map(lambda p: np.asarray(RNG.normal(size=np.shape(p)))[()], PARAMS) for _ in range(6)]
RATE = 0.1

Steps = Iterator[np.ndarray]
Rule = Callable[[np.ndarray, list[np.ndarray]], Steps]


def sgd(p: Any, gs: Any) -> Steps:
    for g in gs:
        p = p - RATE * g
        yield p


def momentum(p: Any, gs: Any, nesterov: bool = False) -> Steps:
    v = 0 * p
    for g in gs:
        v = 0.9 * v + g
        p = p - RATE * (g + 0.9 * v if nesterov else v)
        yield p


def adam(p: Any, gs: Any, decay: float = 0.0, nesterov: bool = False) -> Steps:
    m = v = 0 * p
    for t, g in enumerate(gs, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        m_hat = m / (1 - 0.9**t)
        if nesterov:
            m_hat = 0.9 * m / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
        p = p - RATE * (m_hat / (np.sqrt(v / (1 - 0.999**t)) + 1e-8) + decay * p)
        yield p


def lion(p: Any, gs: Any) -> Steps:
    m = 0 * p
    for g in gs:
        p = p - RATE * (np.sign(0.9 * m + 0.1 * g) + 1e-3 * p)
        m = 0.99 * m + 0.01 * g
        yield p


def rmsprop(p: Any, gs: Any, centered: bool = False) -> Steps:
    m = v = u = 0 * p
    for g in gs:
        m, v = 0.9 * m + 0.1 * g, 0.9 * v + 0.1 * g**2
        u = 0.8 * u + RATE * g / np.sqrt(v - (m**2 if centered else 0) + 1e-8)
        p = p - u
        yield p


def adagrad(p: Any, gs: Any) -> Steps:
    s = 0 * p + 0.1
    for g in gs:
        s = s + g**2
        p = p - RATE * g / np.sqrt(s + 1e-7)
        yield p


def adadelta(p: Any, gs: Any) -> Steps:
    v = d = 0 * p
    for g in gs:
        v = 0.9 * v + 0.1 * g**2
        u = np.sqrt(d + 1e-6) / np.sqrt(v + 1e-6) * g
        d = 0.9 * d + 0.1 * u**2
        p = p - RATE * u
        yield p


def lamb(p: Any, gs: Any) -> Steps:
    m = v = 0 * p
    for t, g in enumerate(gs, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        u = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + 0.01 * p
        p = p - RATE * np.sqrt(np.sum(p**2)) / np.sqrt(np.sum(u**2)) * u
        yield p


CASES: dict[str, tuple[Any, Rule]] = {
    "sgd": (optim.sgd(RATE), sgd),
    "momentum": (optim.momentum(RATE), momentum),
    "nesterov": (optim.nesterov(RATE), lambda p, gs: momentum(p, gs, nesterov=True)),
    "adam": (optim.adam(RATE), adam),
    "nadam": (optim.adam(RATE, nesterov=True), lambda p, gs: adam(p, gs, nesterov=True)),
    "adamw": (optim.adamw(RATE, weight_decay=0.02), lambda p, gs: adam(p, gs, decay=0.02)),
    "lion": (optim.lion(RATE), lion),
    "rmsprop": (optim.rmsprop(RATE, momentum=0.8), rmsprop),
    "centered": (
        optim.rmsprop(RATE, momentum=0.8, centered=True),
        lambda p, gs: rmsprop(p, gs, centered=True),
    ),
    "adagrad": (optim.adagrad(RATE), adagrad),
    "adadelta": (optim.adadelta(RATE), adadelta),
    "lamb": (optim.lamb(RATE, weight_decay=0.01), lamb),
}


def run(optimizer: Any, update: Any, params: Any, grads: Any) -> list[Any]:
    state, seen = optimizer.init(params), []
    for g in grads:
        updates, state = update(g, state, params)
        params = optim.apply_updates(params, updates)
        seen.append(params)
    return seen


@pytest.mark.parametrize("name", CASES)
def test_steps(name: str) -> None:
    optimizer, rule = CASES[name]
    compiled = tj.jit(optimizer.update)
    seen = run(optimizer, optimizer.update, PARAMS, GRADS)
    native = run(optimizer, compiled, PARAMS, GRADS)
    assert compiled.trace_count == 1
    for n, p in enumerate(tj.tree.leaves(PARAMS)):
        want = list(rule(p, [tj.tree.leaves(g)[n] for g in GRADS]))
        for got in (seen, native):
            np.testing.assert_allclose([tj.tree.leaves(t)[n] for t in got], want, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_dtypes_stay(name: str) -> None:
    """Parameters in single precision have states and updates in single precision."""
    optimizer = CASES[name][0]
    params = tj.tree.map(lambda p: np.asarray(p, np.float32)[()], PARAMS)
    updates, state = optimizer.update(params, optimizer.init(params), params)
    kinds = {x.dtype for x in tj.tree.leaves((updates, state)) if x.dtype.kind == "f"}
    assert kinds == {np.dtype(np.float32)}


def test_complex_parameters() -> None:
    """Second moments are those of the absolute value: a gradient of z = x + iy moves x and y as one."""
    z = np.array([1 + 2j, -0.5j])
    optimizer = optim.adam(RATE)
    updates, state = optimizer.update(3j * z, optimizer.init(z), z)
    assert state[0].nu.dtype == np.float64
    np.testing.assert_allclose(updates, -RATE * 1j * z / np.abs(z), rtol=1e-6)


def test_training_step_writes_donated_parameters_in_place() -> None:
    optimizer = optim.adamw(RATE)
    params = {"w": np.ones(100_000)}

    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state

    compiled = tj.jit(step, donate_argnums=(0, 1))
    address = params["w"].ctypes.data
    want = step(params, optimizer.init(params), {"w": np.ones(100_000)})[0]["w"]
    new, state = compiled(params, optimizer.init(params), {"w": np.ones(100_000)})
    assert new["w"].ctypes.data == address
    np.testing.assert_allclose(new["w"], want, rtol=1e-14)
    # The parameter, both moments and the step are made in one loop over the elements.
    program = compiled.lower(params, state, params).as_text("loops")
    assert program.count("100000") and program.count("for ") == 1, program
