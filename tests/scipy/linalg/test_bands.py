"""Matrices of few diagonals: SciPy's values, derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tracejit as tj
from tracejit.errors import ArgumentError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(5)
UP = np.stack([np.r_[9, 9, RNG.normal(size=3)], np.r_[8, RNG.normal(size=4)], np.full(5, 6.0)])
LOW = np.stack([np.full(5, 6.0), np.r_[RNG.normal(size=4), 8], np.r_[RNG.normal(size=3), 9, 9]])
LOW_COMPLEX = LOW + np.array([[0], [0.3], [-0.2]]) * 1j
B, V = RNG.normal(size=(5, 2)), RNG.normal(size=5)
D, E = np.arange(5.0), RNG.normal(size=4)
ROWS = {
    "upper": (UP, False),
    "lower": (LOW, True),
    "complex": (LOW_COMPLEX, True),
    "whole": (UP[1:].round(), False),
}
ROWS["whole"] = (ROWS["whole"][0].astype(int), False)


def same(f: Any, *args: Any) -> None:
    got, want = tj.tree.leaves(tj.jit(f)(*args)), tj.tree.leaves(f(*args))
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ROWS)
def test_as_scipy(name: str) -> None:
    rows, lower = ROWS[name]
    same(lambda a: sl.cholesky_banded(a, lower=lower), rows)
    for b in (B, V):
        same(lambda a, b: sl.cho_solve_banded((sl.cholesky_banded(a, lower=lower), lower), b), rows, b)
    same(lambda a: sl.eigvals_banded(a, lower=lower), rows)
    same(lambda a: sl.eigvals_banded(a, lower=lower, select="i", select_range=(1, 2)), rows)

    def parts(a: Any) -> Any:
        w, v = sl.eig_banded(a, lower=lower)
        return w, np.abs(v)

    same(parts, rows)


def test_three_diagonals() -> None:
    def parts(d: Any, e: Any) -> Any:
        w, v = sl.eigh_tridiagonal(d, e, select="i", select_range=(1, 3))
        return w, np.abs(v)

    same(parts, D, E)
    same(lambda d, e: sl.eigvalsh_tridiagonal(d, e), D, E)
    same(lambda d, e: sl.eigvalsh_tridiagonal(d, e), np.arange(4), np.arange(3))


def test_derivatives() -> None:
    check_grads(lambda a: sl.cholesky_banded(a), (UP[1:],), order=1)
    check_grads(lambda a, b: sl.cho_solve_banded((a, False), b), (UP, V), order=1)
    check_grads(lambda d, e: sl.eigh_tridiagonal(d, e)[0], (D, E), order=1)


def test_what_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        tj.jit(lambda a: sl.cholesky_banded(a))(-UP)
    with pytest.raises(ValueError, match="not compatible"):
        tj.jit(lambda a, b: sl.cho_solve_banded((a, False), b))(UP, V[:4])
    with pytest.raises(ValueError, match="out of bounds"):
        tj.jit(lambda d, e: sl.eigvalsh_tridiagonal(d, e, select="i", select_range=(1, 7)))(D, E)
    with pytest.raises(ArgumentError, match="no traced form"):
        tj.jit(lambda d, e: sl.eigvalsh_tridiagonal(d, e, select="v", select_range=(0, 2)))(D, E)
    with pytest.raises(TypeError, match="real"):
        tj.jit(lambda d, e: sl.eigvalsh_tridiagonal(d, e))(D, E * 1j)
