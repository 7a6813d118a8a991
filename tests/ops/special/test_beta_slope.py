"""Derivatives of the beta distribution by its parameters, against mpmath."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import tracejit as tj
from tracejit.ops import special

PARAMETERS = [(0.05, 0.3), (0.7, 5.0), (2.2, 1.7), (1.0, 1.0), (40.0, 3.0), (300.0, 500.0)]
AT = (1e-3, 0.2, 0.6, 0.99)


def _slopes(a: float, b: float, x: float) -> tuple[float, float]:
    """dI/da and dI/db."""
    with mp.workdps(50):
        p, q, h = mp.mpf(a), mp.mpf(b), mp.mpf(10) ** -14
        probability = lambda p, q: mp.betainc(p, q, 0, mp.mpf(x), regularized=True)
        return (
            float((probability(p + h, q) - probability(p - h, q)) / (2 * h)),
            float((probability(p, q + h) - probability(p, q - h)) / (2 * h)),
        )


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_by_both_parameters(a: float, b: float) -> None:
    x = sp.betaincinv(a, b, AT)
    x = x[(x > 1e-30) & (x < 1 - 1e-6)]
    wanted = np.array([_slopes(a, b, v) for v in x]).T
    by = tj.jit(tj.vmap(tj.grad(sp.betainc, argnums=(0, 1)), in_axes=(None, None, 0)))
    np.testing.assert_allclose(by(a, b, x), wanted, rtol=1e-10)
    density = st.beta.pdf(x, a, b)
    np.testing.assert_allclose(special.random_beta_grad(a, b, x, 1 - x), -wanted[0] / density, rtol=1e-10)
    inverse = tj.jit(tj.vmap(tj.grad(sp.betaincinv, argnums=(0, 1)), in_axes=(None, None, 0)))
    np.testing.assert_allclose(inverse(a, b, sp.betainc(a, b, x)), -wanted / density, rtol=1e-8)


def test_ends_and_what_is_outside() -> None:
    a, x = np.array([2.0, 2.0, -1.0, np.nan, np.inf]), np.array([0.0, 1.0, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(special.random_beta_grad(a, 1.5, x, 1 - x), [0, 0, np.nan, np.nan, np.nan])
    assert tj.jit(tj.grad(sp.betainc))(2.0, 1.5, 0.0) == tj.jit(tj.grad(sp.betainc))(2.0, 1.5, 1.0) == 0


def test_large_parameters() -> None:
    """The distribution is nearly normal, with the mean a / (a + b)."""
    for a in (1e5, 1e9):
        slope = special.random_beta_grad(a, a, 0.5, 0.5)
        assert slope == pytest.approx(0.25 / a, rel=3 / a + 1e-12)


@pytest.mark.parametrize("t", [-2.5, -0.01, 0.0, 0.7, 30.0])
@pytest.mark.parametrize("v", [0.4, 3.3, 200.0])
def test_students_distribution_by_its_degrees_of_freedom(v: float, t: float) -> None:
    with mp.workdps(40):
        h = mp.mpf(10) ** -12

        def probability(v: Any) -> Any:
            tail = mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + mp.mpf(t) ** 2), regularized=True) / 2
            return tail if t < 0 else 1 - tail

        wanted = float((probability(mp.mpf(v) + h) - probability(mp.mpf(v) - h)) / (2 * h)) if t else 0.0
    np.testing.assert_allclose(tj.jit(tj.grad(lambda v: st.t.cdf(t, v)))(v), wanted, rtol=1e-9, atol=1e-16)
    p = st.t.cdf(t, v)
    quantile = tj.jit(tj.grad(lambda v: st.t.ppf(p, v)))(v)
    np.testing.assert_allclose(quantile, -wanted / st.t.pdf(t, v), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["beta", "f", "betaprime"])
@pytest.mark.parametrize("method", ["sf", "isf"])
def test_distributions_by_their_shapes(method: str, name: str) -> None:
    d, shapes, h = getattr(st, name), np.array([2.2, 5.7]), 1e-4
    f = lambda p: getattr(d, method)(0.37, p[0], p[1])
    moved = [(f(shapes + e) - f(shapes - e)) / (2 * h) for e in h * np.eye(2)]
    np.testing.assert_allclose(tj.jit(tj.grad(f))(shapes), moved, rtol=1e-6)
