"""Eigenvalues, singular values and exponentials of sparse matrices: SciPy's, derivatives by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, expm_multiply, spsolve_triangular, svds

import tracejit as tj

RNG = np.random.default_rng(3)
A = (sp.random_array((9, 9), density=0.3, rng=RNG) + sp.diags_array(np.arange(1.0, 10))).tocsr()
B = RNG.normal(size=9)


def made(data: Any) -> Any:
    return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)


def symmetric(data: Any) -> Any:
    return made(data) + made(data).T


CASES = {
    "eigsh": lambda d: eigsh(symmetric(d), 3, return_eigenvectors=False),
    "smallest": lambda d: eigsh(symmetric(d), 3, which="SM", return_eigenvectors=False),
    "next to a number": lambda d: eigsh(symmetric(d), 3, sigma=4.0, return_eigenvectors=False),
    "vectors": lambda d: eigsh(symmetric(d), 2, which="SA")[1] ** 2,
    "svds": lambda d: svds(made(d), 3, return_singular_vectors=False),
    "sides": lambda d: svds(made(d)[:, :7], 2)[0] ** 2 @ svds(made(d)[:, :7], 2)[2] ** 2,
    "exponential": lambda d: expm_multiply(0.3 * made(d), B),
    "at times": lambda d: expm_multiply(-made(d), np.stack([B, B + 1], axis=1), 0.5, 2.0, 4),
    "of a dense matrix": lambda d: expm_multiply(made(d).toarray(), B),
    "one side": lambda d: svds(made(d), 2, v0=B, return_singular_vectors="vh")[2] ** 2,
    "a first vector": lambda d: eigsh(symmetric(d), 2, v0=B, return_eigenvectors=False),
    "unit triangular": lambda d: spsolve_triangular(sp.tril(made(d)).tocsr(), B, unit_diagonal=True),
    "triangular": lambda d: spsolve_triangular(sp.tril(made(d)).tocsr(), B),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f = CASES[name]
    np.testing.assert_allclose(tj.jit(f)(A.data), f(A.data), rtol=1e-7, atol=1e-9)
    weights = RNG.normal(size=np.shape(f(A.data)))
    direction = RNG.normal(size=A.data.shape)
    total = lambda d: np.sum(f(d) * weights)
    near = (total(A.data + 1e-5 * direction) - total(A.data - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(total))(A.data) @ direction, near, rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(tj.jvp(total, (A.data,), (direction,))[1], near, rtol=2e-5, atol=1e-7)


def test_second_derivatives_of_eigenvalues() -> None:
    f = lambda c: eigsh(symmetric(A.data * c + c**2), 2, return_eigenvectors=False).sum()
    g = tj.grad(f)
    np.testing.assert_allclose(tj.grad(g)(1.1), (g(1.1 + 1e-5) - g(1.1 - 1e-5)) / 2e-5, rtol=1e-5)


def test_what_is_refused() -> None:
    for bad in (
        lambda d: eigsh(symmetric(d), 2, M=np.eye(9)),
        lambda d: expm_multiply(made(d.astype(np.float32)), B.astype(np.float32)),
    ):
        with pytest.raises(tj.errors.SolverOptionError):
            tj.jit(bad)(A.data)
    with pytest.raises(ValueError, match="triangular"):
        tj.jit(lambda d: spsolve_triangular(made(d), B))(A.data)
