"""Rosenbrock's function on traced values: SciPy's values, and its derivatives by our own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "x", [RNG.normal(size=5), RNG.normal(size=2), RNG.normal(size=5).astype("f4"), np.arange(4)]
)
def test_values(x: np.ndarray) -> None:
    functions = (so.rosen, so.rosen_der, so.rosen_hess, lambda x: so.rosen_hess_prod(x, x + 1))
    for f in functions:
        got, want = tj.jit(lambda x, f=f: f(x))(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5 if x.dtype == np.float32 else 1e-13)


def test_derivatives() -> None:
    x = RNG.normal(size=5)
    np.testing.assert_allclose(tj.jit(tj.grad(so.rosen))(x), so.rosen_der(x))
    np.testing.assert_allclose(tj.jit(tj.hessian(so.rosen))(x), so.rosen_hess(x), atol=1e-10)
    np.testing.assert_allclose(tj.jit(tj.jacobian(so.rosen_der))(x), so.rosen_hess(x), atol=1e-10)


def test_of_lists_and_of_many_points() -> None:
    many = RNG.normal(size=(4, 3))
    for f in (so.rosen, so.rosen_der):
        np.testing.assert_allclose(tj.jit(lambda x, f=f: f(x))(many), f(many))
        np.testing.assert_allclose(tj.jit(lambda x, f=f: f([x, x + 1, 2]))(1.5), f([1.5, 2.5, 2]))
