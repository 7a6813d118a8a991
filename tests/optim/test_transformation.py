"""Putting transformations together: chains, masks, labels, numbers in the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

P = {"a": np.array([1.0, 2.0]), "b": {"c": np.array([3.0])}}


def test_chain_in_order() -> None:
    t = optim.chain(optim.clip(1.5), optim.scale(10.0))
    assert t.update(P, t.init(P))[0]["a"].tolist() == [10, 15]
    back = optim.chain(optim.scale(10.0), optim.clip(1.5))
    assert back.update(P, back.init(P))[0]["a"].tolist() == [1.5, 1.5]
    with pytest.raises(tj.errors.OptimizerArgumentError, match="1 parts"):
        t.update(P, t.init(P)[:1])


def test_chain_gives_extra_arguments_to_those_who_take_them() -> None:
    def scaled(updates: Any, state: Any, params: Any = None, *, loss: Any) -> Any:
        return tj.tree.map(lambda u: u * loss, updates), state

    plain = optim.GradientTransformation(lambda p: (), lambda u, s, params=None: (u, s))
    t = optim.chain(plain, optim.GradientTransformation(lambda p: (), scaled), optim.scale(2.0))
    assert t.update(P, t.init(P), P, loss=3.0, other=1)[0]["a"].tolist() == [6, 12]


def test_masked() -> None:
    t = optim.masked(optim.momentum(0.1), {"a": True, "b": False})
    state = t.init(P)
    assert [x.shape for x in tj.tree.leaves(state)] == [(2,)]  # no state for the others
    updates, _ = tj.jit(t.update)(P, state)
    np.testing.assert_allclose(updates["a"], [-0.1, -0.2])
    assert updates["b"]["c"] == 3


def test_partition() -> None:
    labels = {"a": "slow", "b": "frozen"}
    t = optim.partition({"slow": optim.sgd(0.1), "frozen": optim.set_to_zero()}, labels)
    updates, state = t.update(P, t.init(P), P)
    np.testing.assert_allclose(updates["a"], [-0.1, -0.2])
    assert updates["b"]["c"] == 0
    assert set(state) == {"slow", "frozen"}
    bad = optim.partition({"slow": optim.sgd(0.1)}, labels)
    with pytest.raises(tj.errors.OptimizerArgumentError, match="'frozen'"):
        bad.init(P)


def test_numbers_in_the_state() -> None:
    t = optim.inject_hyperparams(optim.sgd)(0.1, momentum=0.5)
    update = tj.jit(t.update)
    state = t.init(P)
    assert state.hyperparams == {"learning_rate": 0.1, "momentum": 0.5}
    first, state = update(P, state)
    state.hyperparams["learning_rate"] = 0.2
    second, state = update(P, state)
    np.testing.assert_allclose(first["a"], [-0.1, -0.2])
    np.testing.assert_allclose(second["a"], [-0.3, -0.6])
    assert update.trace_count == 1 and state.count == 2

    t = optim.inject_hyperparams(optim.sgd)(optim.linear_schedule(1.0, 0.0, 2))
    first, state = t.update(P, t.init(P))
    second, state = t.update(P, state)
    assert first["a"].tolist() == [-1, -2] and second["a"].tolist() == [-0.5, -1]
    assert state.hyperparams["learning_rate"] == 0.5

    t = optim.inject_hyperparams(optim.adamw)(0.1, weight_decay=optim.linear_schedule(1.0, 0.0, 2))
    state = t.init(P)
    assert state.hyperparams["weight_decay"] == 1.0
    _, state = t.update(P, state, P)
    _, state = t.update(P, state, P)
    assert state.hyperparams["weight_decay"] == 0.5


def test_apply_updates_keeps_dtypes() -> None:
    params = {"w": np.ones(2, np.float32), "n": np.float32(1)}
    new = optim.apply_updates(params, {"w": np.full(2, 0.5), "n": 0.5})
    assert new["w"].dtype == np.float32 == new["n"].dtype and new["w"].tolist() == [1.5, 1.5]
    with pytest.raises(tj.errors.PytreeMismatchError):
        optim.apply_updates(params, {"w": 1.0})
