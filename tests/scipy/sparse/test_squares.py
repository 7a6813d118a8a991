"""Least squares with sparse matrices: SciPy's results, derivatives against dense formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr, lsqr

import tracejit as tj

RNG = np.random.default_rng(2)
TALL = sp.random_array((14, 6), density=0.4, rng=RNG, format="csr") + sp.eye_array(14, 6)
TALL = TALL.tocsr()
B = RNG.normal(size=14)


def made(a: Any, data: Any) -> Any:
    return sp.csr_array((data, a.indices, a.indptr), shape=a.shape)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", [lsqr, lsmr], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("a", "damp"), [(TALL, 0.0), (TALL, 0.7), (TALL.T.tocsr(), 0.0)])
def test_results_and_derivatives(f: Any, a: Any, damp: float) -> None:
    b = B[: a.shape[0]]
    run = lambda d, b: f(made(a, d), b, damp, 1e-13, 1e-13)
    got, want = tj.jit(run)(a.data, b), run(a.data, b)
    assert [*map(type, got)] == [*map(type, want)]
    np.testing.assert_allclose(got[0], want[0], rtol=1e-8, atol=1e-10)
    assert got[1] == want[1] and abs(got[2] - want[2]) <= 1
    np.testing.assert_allclose(got[3], want[3], rtol=1e-8, atol=1e-10)

    def dense(d: Any, b: Any) -> Any:
        m = made(a, d).toarray()
        if m.shape[0] < m.shape[1]:
            return m.T @ np.linalg.solve(m @ m.T, b)
        return np.linalg.solve(m.T @ m + damp**2 * np.eye(m.shape[1]), m.T @ b)

    weights = np.arange(1.0, 1 + a.shape[1])
    slopes = tj.jit(tj.grad(lambda d, b: run(d, b)[0] @ weights, argnums=(0, 1)))(a.data, b)
    wanted = tj.grad(lambda d, b: dense(d, b) @ weights, argnums=(0, 1))(a.data, b)
    np.testing.assert_allclose(slopes[0], wanted[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(slopes[1], wanted[1], rtol=1e-6, atol=1e-8)


def test_dense_matrices_and_refusals() -> None:
    a = TALL.toarray()
    np.testing.assert_allclose(tj.jit(lambda a: lsqr(a, B)[0])(a), lsqr(a, B)[0], rtol=1e-6)
    for bad in (lambda d: lsqr(made(TALL, d), B, calc_var=True)[0], lambda d: lsmr(made(TALL, d * 1j), B)[0]):
        with pytest.raises(tj.errors.SolverOptionError):
            tj.jit(bad)(TALL.data)
