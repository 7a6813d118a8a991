"""Hints to a compiler, and functions that are exact here."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import ArgumentError, ShapeError
from tracejit.test_util import check_grads


def test_barrier() -> None:
    x = np.linspace(0, 1, 4)
    out = tj.jit(lambda x: lax.optimization_barrier({"a": np.sin(x), "n": 2}))(x)
    assert out["n"] == 2 and np.array_equal(out["a"], np.sin(x))
    twice = tj.jit(lambda x: np.sin(x) + np.sin(lax.optimization_barrier(x))).lower(x).compile().jaxpr
    assert str(twice).count(" sin ") == 2
    check_grads(lambda x: lax.optimization_barrier(np.sin(x)) ** 2, (x,), order=2)


def test_nearly_the_largest() -> None:
    x = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    values, places = tj.jit(lambda x: lax.approx_max_k(x, 2))(x)
    assert values.tolist() == [[3, 2], [5, 4]] and places.tolist() == [[0, 2], [1, 2]]
    values, places = lax.approx_min_k(x, 1, reduction_dimension=0)
    assert values.tolist() == [[0, 1, 2]] and places.tolist() == [[1, 0, 0]]
    unsigned = np.array([3, 0, 255], np.uint8)
    assert lax.approx_min_k(unsigned, 2)[0].tolist() == [0, 3]
    least = np.array([5, -128, 127], np.int8)
    assert lax.approx_min_k(least, 2)[0].tolist() == [-128, 5]


def test_groups_of_rows() -> None:
    rng = np.random.default_rng(0)
    x, w, sizes = rng.normal(size=(7, 3)), rng.normal(size=(3, 3, 2)), np.array([2, 0, 4])
    want = np.concatenate([x[:2] @ w[0], x[2:6] @ w[2], np.zeros((1, 2))])
    np.testing.assert_allclose(tj.jit(lax.ragged_dot)(x, w, sizes), want, rtol=1e-13)
    check_grads(lambda x, w: lax.ragged_dot(x, w, sizes), (x, w), order=1)
    with pytest.raises(ShapeError, match=r"are not \(m, k\)"):
        lax.ragged_dot(x, w, sizes[:2])


def test_choices() -> None:
    f = lambda x: lax.platform_dependent(x, cpu=np.sin, default=np.cos)
    assert tj.jit(f)(1.0) == np.sin(1.0) and lax.platform_dependent(1.0, default=np.cos) == np.cos(1.0)
    with pytest.raises(ArgumentError, match="for tpu only"):
        lax.platform_dependent(1.0, tpu=np.sin)
    assert tj.grad(lax.composite(np.sin, "own.sin"))(0.0) == 1
    assert lax.Precision(2) is lax.Precision("highest") is lax.Precision.HIGHEST
    with pytest.raises(ValueError, match="not a valid Precision"):
        lax.Precision("float64")
    x = np.ones((2, 3))
    assert lax.broadcast_to_rank(x, 4).shape == (1, 1, 2, 3)
    assert lax.dot(x, x.T, precision=lax.Precision.HIGHEST).shape == (2, 2)
    with pytest.raises(ShapeError, match="has 2 axes"):
        lax.broadcast_to_rank(x, 1)
