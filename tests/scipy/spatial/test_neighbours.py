"""Nearest points in compiled programs: SciPy's, with slopes of the distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import KDTree, cKDTree
from scipy.spatial.distance import directed_hausdorff

import tracejit as tj
from tracejit import tree
from tracejit.errors import SolverOptionError

RNG = np.random.default_rng(0)
P, Q = RNG.normal(size=(8, 3)), RNG.normal(size=(5, 3))
OUTSIDE = cKDTree(P)

CASES: dict[str, Any] = {
    "one": lambda p, q: cKDTree(p).query(q),
    "several": lambda p, q: KDTree(p).query(q, k=3),
    "chosen": lambda p, q: KDTree(p).query(q, k=[1, 3], p=1),
    "vector": lambda p, q: cKDTree(p).query(q[0]),
    "bound": lambda p, q: cKDTree(p).query(q, k=9, distance_upper_bound=1.5),
    "outside": lambda p, q: OUTSIDE.query(q.reshape(1, 5, 3), p=np.inf),
    "Hausdorff": lambda p, q: directed_hausdorff(p, q),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name: str) -> None:
    f = CASES[name]
    got, want = (tree.leaves(x) for x in (tj.jit(f)(P, Q), f(P, Q)))
    for a, b in zip(got, want, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-14)
    far = lambda p, q: np.where(np.isinf(d := np.asarray(f(p, q)[0])), 0.0, d)
    ways = np.cos(P), np.sin(Q)
    _, slope = tj.jit(lambda p, q: tj.jvp(lambda p, q: f(p, q)[0], (p, q), ways))(P, Q)
    near = (far(P + 1e-6 * ways[0], Q + 1e-6 * ways[1]) - far(P - 1e-6 * ways[0], Q - 1e-6 * ways[1])) / 2e-6
    np.testing.assert_allclose(slope, near, rtol=1e-6, atol=1e-8)


def test_the_points_of_a_distance_are_those_that_scipy_finds() -> None:
    """Of several; also where some are NaN; and its types."""
    f = tj.jit(directed_hausdorff)
    p, q = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [3.0, 3.0]])
    for points in (p, p[::-1].copy(), p * np.array([[1], [1], [np.nan], [1]]), np.tile(p, (3, 1))):
        got, want = f(points, q), directed_hausdorff(points, q)
        assert got == want and [type(x) for x in got] == [type(x) for x in want]


def test_objects_and_refusals() -> None:
    assert tj.jit(lambda q: q * OUTSIDE.n)(Q)[0, 0] == Q[0, 0] * 8
    np.testing.assert_array_equal(tj.jit(tj.vmap(lambda q: OUTSIDE.query(q)[1]))(Q), OUTSIDE.query(Q)[1])
    with pytest.raises(SolverOptionError):
        tj.jit(lambda p: cKDTree(p).query_ball_point(p, 1.0))(P)
    with pytest.raises(ValueError, match="vectors of length 3"):
        tj.jit(lambda p: cKDTree(p).query(p[:, :2]))(P)
