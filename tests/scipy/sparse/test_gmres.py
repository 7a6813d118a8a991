"""GMRES on dense, sparse and factored matrices against SciPy's: as many steps, the same failures, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import gmres

import tracejit as tj

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(12, 12)) + 6 * np.eye(12), RNG.normal(size=12)
TURN = A + 1j * RNG.normal(size=A.shape)
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "restarts": {"restart": 3},
    "not enough": {"restart": 3, "maxiter": 1},
    "exact": {"rtol": 1e-12},
    "preconditioner": {"M": np.diag(1 / np.diag(A)), "restart": 4},
    "guess": {"x0": np.ones(12), "restart": 4},
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", OPTIONS)
def test_as_scipy(name: str) -> None:
    compiled = tj.jit(lambda a, b: gmres(a, b, **OPTIONS[name]), fallback=False)
    for a in (A, TURN):
        got, want = compiled(a, B), gmres(a, B, **OPTIONS[name])
        np.testing.assert_allclose(got[0], want[0], rtol=1e-10, atol=1e-13)
        assert got[0].dtype == want[0].dtype
        assert got[1] == want[1] and type(got[1]) is int
    assert "library_call" not in compiled.lower(A, B).as_text("jaxpr")


def test_its_ends() -> None:
    few = np.diag([1.0, 2, 2, 2])  # two directions are enough
    compiled = tj.jit(lambda a, b: gmres(a, b, rtol=1e-12), fallback=False)
    assert compiled(few, np.ones(4))[1] == gmres(few, np.ones(4), rtol=1e-12)[1] == 0
    assert compiled(A, np.zeros(12))[0].tolist() == [0.0] * 12
    sparse = sp.random_array((12, 12), density=0.3, rng=1).tocsr() + 4 * sp.eye_array(12).tocsr()
    found = tj.jit(
        lambda d: gmres(sp.csr_array((d, sparse.indices, sparse.indptr), shape=(12, 12)), B), fallback=False
    )(sparse.data)
    np.testing.assert_allclose(found[0], gmres(sparse, B)[0], rtol=1e-12)


def test_derivatives_and_batches() -> None:
    way = RNG.normal(size=A.shape)
    f = lambda t: tj.numpy.sum(gmres(A + t * way, B * (1 + t), rtol=1e-13)[0] ** 2)
    near = (f(1e-6) - f(-1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.0), near, rtol=1e-6)
    many = np.stack([B, 2 * B + 1, 0 * B])
    got = tj.jit(tj.vmap(lambda b: gmres(A, b)[0]))(many)
    np.testing.assert_allclose(got, [gmres(A, b)[0] for b in many], rtol=1e-12, atol=1e-14)
