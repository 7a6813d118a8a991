"""Krylov methods whose matrix is a function of trees: against dense solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.scipy.sparse.linalg import bicgstab, cg, gmres

RNG = np.random.default_rng(0)
A = RNG.normal(size=(12, 12)) + 6 * np.eye(12)
B = RNG.normal(size=12)
METHODS = {"cg": (cg, A @ A.T), "gmres": (gmres, A), "bicgstab": (bicgstab, A)}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", METHODS)
def test_solutions_and_derivatives(name: str) -> None:
    method, matrix = METHODS[name]
    want = np.linalg.solve(matrix, B)
    np.testing.assert_allclose(method(matrix, B, tol=1e-11)[0], want, atol=1e-8)
    product = lambda v: matrix @ v
    solve = tj.jit(lambda b: method(product, b, tol=1e-11)[0])
    np.testing.assert_allclose(solve(B), want, atol=1e-8)
    slope = tj.jit(tj.grad(lambda b: method(product, b, tol=1e-11)[0].sum()))(B)
    np.testing.assert_allclose(slope, np.linalg.solve(matrix.T, np.ones(12)), atol=1e-8)


def coupled(t: Any) -> Any:
    return {"u": 2 * t["u"] + 0.1 * t["v"].sum(), "v": 3 * t["v"] + 0.1 * t["u"].sum()}


@pytest.mark.parametrize("method", [cg, gmres, bicgstab], ids=lambda f: f.__name__)
def test_trees(method: Callable[..., Any]) -> None:
    b = {"u": np.ones((2, 2)), "v": np.array([1.0, 2.0])}
    back = coupled(method(coupled, b, x0=b, tol=1e-12, M=lambda t: tj.tree.map(lambda x: x / 2, t))[0])
    for name in b:
        np.testing.assert_allclose(back[name], b[name], atol=1e-10)


def test_what_gmres_does_at_its_ends() -> None:
    found = gmres(np.diag([1.0, 2, 2, 2]), np.ones(4), tol=1e-12)[0]  # two directions are enough
    np.testing.assert_allclose(found, [1, 0.5, 0.5, 0.5], atol=1e-12)
    assert gmres(A, np.zeros(12))[0].tolist() == [0.0] * 12
    slow = gmres(A, B, tol=1e-12, restart=2, maxiter=1)[0]
    assert 1e-6 < np.abs(A @ slow - B).max() < np.abs(B).max()
    np.testing.assert_allclose(gmres(A, B, tol=1e-11, restart=3)[0], np.linalg.solve(A, B), atol=1e-8)
