"""Clipping and weight decay against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

G = {"a": np.array([3.0, -4.0]), "b": np.array([[12.0]])}
P = {"a": np.array([1.0, -2.0]), "b": np.array([[0.5]])}


def one(t: Any, updates: Any = G, params: Any = P) -> Any:
    eager = t.update(updates, t.init(params), params)[0]
    native = tj.jit(t.update)(updates, t.init(params), params)[0]
    for x, y in zip(tj.tree.leaves(eager), tj.tree.leaves(native), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-15)
    return eager


def test_global_norm() -> None:
    assert optim.global_norm(G) == 13
    assert optim.global_norm({"z": np.array([3 + 4j])}) == 5


def test_clipping() -> None:
    assert one(optim.clip(3.5))["a"].tolist() == [3, -3.5]
    whole = one(optim.clip_by_global_norm(6.5))
    np.testing.assert_allclose(whole["a"], [1.5, -2], rtol=1e-15)
    np.testing.assert_allclose(whole["b"], [[6]], rtol=1e-15)
    each = one(optim.clip_by_norm(5.0))
    np.testing.assert_allclose(each["b"], [[5]], rtol=1e-15)
    assert each["a"].tolist() == [3, -4]  # five long: as it was, to the bit


def test_zeros_are_clipped_to_zeros() -> None:
    zeros = tj.tree.map(np.zeros_like, G)
    for t in (optim.clip_by_global_norm(1.0), optim.clip_by_norm(1.0), optim.adaptive_grad_clip(0.1)):
        assert all(not x.any() for x in tj.tree.leaves(one(t, zeros)))


def test_adaptive_clipping_by_unit() -> None:
    w, g = np.array([[3.0, 0.0], [4.0, 0.0]]), np.array([[30.0, 1e-5], [40.0, 0.0]])
    got = one(optim.adaptive_grad_clip(0.1), g, w)
    np.testing.assert_allclose(got[:, 0], [0.3, 0.4], rtol=1e-14)  # 0.1 of 5, from 50
    assert got[0, 1] == 1e-5  # below 0.1 of the least norm, 1e-3


def test_weight_decay() -> None:
    np.testing.assert_allclose(one(optim.add_decayed_weights(0.1))["a"], [3.1, -4.2])
    np.testing.assert_allclose(one(optim.add_decayed_weights(0.1, order=1))["a"], [3.1, -4.1])
    some = one(optim.add_decayed_weights(0.1, mask={"a": True, "b": False}))
    np.testing.assert_allclose(some["a"], [3.1, -4.2])
    assert some["b"] == 12
    matrices = one(optim.add_decayed_weights(0.1, mask=lambda p: tj.tree.map(lambda x: x.ndim > 1, p)))
    assert matrices["a"].tolist() == [3, -4] and matrices["b"] == 12.05


def test_bad_arguments() -> None:
    with pytest.raises(tj.errors.OptimizerArgumentError, match="order"):
        optim.add_decayed_weights(0.1, order=3)
    t = optim.add_decayed_weights(0.1)
    with pytest.raises(tj.errors.OptimizerArgumentError, match="needs the parameters"):
        t.update(G, t.init(P))
