"""Isotonic regression against SciPy's; derivatives by differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import tracejit as tj

RNG = np.random.default_rng(0)


@pytest.mark.sample(2)
@pytest.mark.parametrize("increasing", [True, False])
def test_values_and_derivatives(increasing: bool) -> None:
    def f(y: Any, w: Any) -> Any:
        return isotonic_regression(y, weights=w, increasing=increasing)

    compiled = tj.jit(lambda y, w: f(y, w), fallback=False)
    plain = tj.jit(lambda y: isotonic_regression(y, increasing=increasing), fallback=False)
    for n in (1, 2, 20):
        first, w = RNG.normal(size=n) + np.linspace(0, 2, n), RNG.uniform(0.5, 1.5, n)
        for y in (first, np.round(first)):  # with equal ones
            for got, want in (
                (compiled(y, w), f(y, w)),
                (plain(y), isotonic_regression(y, increasing=increasing)),
            ):
                assert type(got) is type(want) and list(got) == list(want)
                for name in want:
                    assert got[name].dtype == want[name].dtype
                    np.testing.assert_allclose(got[name], want[name], rtol=1e-13, atol=1e-15)
    way = RNG.normal(size=20)
    along = lambda t: tj.numpy.sum(f(y0 + t * way, w + 0.1 * t * way).x ** 3)
    y0 = RNG.normal(size=20)
    near = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-6)
    many = np.stack([y0, -y0])
    got = tj.jit(tj.vmap(lambda y: f(y, w).x))(many)
    np.testing.assert_allclose(got, [f(y, w).x for y in many], rtol=1e-13)


def test_failures() -> None:
    y = np.arange(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        with pytest.raises(ValueError, match="strictly positive"):
            tj.jit(lambda y: isotonic_regression(y, weights=y), fallback=True)(y)
        with pytest.raises(ValueError, match="equal length"):
            tj.jit(lambda y: isotonic_regression(y, weights=y[1:]), fallback=True)(y)
    with pytest.raises(tj.errors.SolverOptionError, match="blocks"):
        tj.vmap(lambda y: isotonic_regression(y).blocks)(np.stack([y, -y]))
