"""Eigenvalues of general matrices, incomplete factors, operators without a transpose: as SciPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import linalg
from scipy.sparse.linalg import bicgstab, eigs, gmres, spilu

import tracejit as tj
from tests.scipy.beside import check_slope, check_values
from tracejit.errors import NotDifferentiableError

LinearOperator: Any = linalg.LinearOperator
RNG = np.random.default_rng(5)
A = (sp.random_array((7, 7), density=0.3, rng=RNG) + sp.diags_array(np.arange(2.0, 9))).tocsr()
B, FIRST = RNG.normal(size=7), np.ones(7)
EXACT: Any = {"rtol": 1e-13}


def made(data: Any) -> Any:
    return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)


def approximately(d: Any) -> Any:
    return LinearOperator((7, 7), spilu(made(d).tocsc(), drop_tol=0.1).solve, dtype=float)


CASES: dict[str, Any] = {
    "eigs": lambda d: eigs(made(d), 2, v0=FIRST)[0],
    "vectors": lambda d: abs(eigs(made(d), 2, v0=FIRST, which="SR")[1]),
    "values alone": lambda d: eigs(made(d), 3, v0=FIRST, which="LR", return_eigenvectors=False),
    "preconditioner": lambda d: gmres(made(d), B, M=approximately(d), **EXACT)[0],
    "operator": lambda d: bicgstab(LinearOperator((7, 7), lambda x: made(d) @ x), B, **EXACT)[0],
    "places": lambda d: (made(d)[[0, 2], [0, 2]], made(d)[[[0], [2]], [1, 2]] @ np.ones(2)),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name: str) -> None:
    check_values(CASES[name], (A.data,), 1e-9, 1e-12)
    check_slope(CASES[name], (A.data,), (0.2, 0.1), 1e-5, 1e-6, 1e-8)


def test_incomplete_factors() -> None:
    solved = lambda d, b: (spilu(made(d).tocsc(), drop_tol=0.1).solve(b), approximately(d).matvec(b))
    check_values(solved, (A.data, B), 1e-14, 0)
    with pytest.raises(NotDifferentiableError, match="spsolve and splu have derivatives"):
        tj.grad(lambda d: solved(d, B)[0].sum())(A.data)
