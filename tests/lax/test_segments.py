"""Reductions of segments, against loops in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.test_util import check_grads

X = np.random.default_rng(0).normal(size=(7, 2))
IDS = np.array([2, 0, 2, 5, -1, 0, 9])


@pytest.mark.parametrize(
    ("f", "combine", "start"),
    [
        (lax.segment_sum, np.add, 0.0),
        (lax.segment_prod, np.multiply, 1.0),
        (lax.segment_max, np.maximum, -np.inf),
        (lax.segment_min, np.minimum, np.inf),
    ],
)
def test_values(f: Any, combine: Any, start: float) -> None:
    want = np.full((6, 2), start)
    for row, n in zip(X, IDS, strict=True):
        if 0 <= n < 6:
            want[n] = combine(want[n], row)
    np.testing.assert_allclose(f(X, IDS, 6), want)
    np.testing.assert_allclose(tj.jit(lambda x, i: f(x, i, num_segments=6))(X, IDS), want)
    whole = f(np.array([3, 4, 5]), np.array([1, 1, 0]))
    assert whole.dtype == np.int64 and whole.tolist() == [5, combine(3, 4)]


def test_derivatives_and_lanes() -> None:
    for f in (lax.segment_sum, lax.segment_max, lax.segment_prod):
        inside = lambda x, f=f: f(x, np.array([0, 1, 0, 1, 1, 0, 1]), 2)
        check_grads(inside, (X,), order=1, rtol=1e-4, atol=1e-4)
    lanes = tj.vmap(lambda x: lax.segment_sum(x, IDS, 6))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(lanes[1], 2 * lax.segment_sum(X, IDS, 6))


def test_the_barrier_is_its_operand() -> None:
    assert tj.jit(lambda x: lax.optimization_barrier(2 * x))(3.0) == 6.0


def test_what_a_program_will_give() -> None:
    f = tj.jit(lambda x, y: {"a": (x @ y, x.sum()), "n": 2})
    lowered = f.lower(X, X.T)
    info = lowered.out_info
    assert info["a"][0].shape == (7, 7) and info["a"][1].dtype == np.float64
    assert f.eval_shape(X, X.T)["a"][0].shape == (7, 7)
    assert lowered.cost_analysis() == lowered.compile().cost_analysis()
    assert tj.jit(lambda x: x).eval_shape(X).shape == (7, 2)
