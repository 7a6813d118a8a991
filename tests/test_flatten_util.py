"""Trees as vectors, and back."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.flatten_util import ravel_pytree


def test_there_and_back() -> None:
    t = {"b": np.arange(6.0).reshape(2, 3).T, "a": [np.float32(0.5), np.array([], np.int64)]}
    vector, unravel = ravel_pytree(t)
    assert vector.dtype == np.float64 and vector.tolist() == [0.5, 0, 3, 1, 4, 2, 5]
    back = unravel(2 * vector)
    assert back["a"][0] == 1 and back["a"][0].dtype == np.float32 and back["a"][1].shape == (0,)
    assert (back["b"] == 2 * t["b"]).all()
    with pytest.raises(tj.errors.ShapeError, match="7 elements"):
        unravel(np.ones(8))
    empty, unravel = ravel_pytree({})
    assert empty.shape == (0,) and unravel(empty) == {}


def test_under_transformations() -> None:
    t = {"a": np.arange(3.0), "b": np.ones((2, 2))}
    vector, unravel = ravel_pytree(t)

    def f(v):
        p = unravel(v)
        return np.sum(p["a"] ** 2) * np.sum(p["b"])

    want = np.concatenate([2 * t["a"] * 4, np.full(4, 5.0)])
    np.testing.assert_allclose(tj.grad(f)(vector), want)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(vector), want)
    stacked = tj.vmap(lambda a: ravel_pytree({"a": a, "n": 1.0})[0])(np.ones((4, 2)))
    assert stacked.shape == (4, 3)
