"""Densities from samples in compiled programs: SciPy's values, slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import gaussian_kde

import tracejit as tj
from tracejit import tree

RNG = np.random.default_rng(0)
X, Q, W = RNG.normal(size=(2, 20)), RNG.normal(size=(2, 4)), RNG.random(20)
OUTSIDE = gaussian_kde(X, weights=W)


def _set(x: Any, q: Any) -> Any:
    density = gaussian_kde(x)
    density.set_bandwidth(0.7)
    return density(q), density.factor, density.neff, density.covariance, density.inv_cov


CASES: dict[str, Any] = {
    "numbers": lambda x, q: gaussian_kde(x[0])(q[0]),
    "weights": lambda x, q: gaussian_kde(x, "silverman", W * x[0] ** 2).pdf(q),
    "logarithm": lambda x, q: gaussian_kde(x, 0.3).logpdf(q),
    "function": lambda x, q: gaussian_kde(x, lambda k: k.n**-0.2).logpdf(q[:, 0]),
    "box": lambda x, q: gaussian_kde(x[0]).integrate_box_1d(q[0, 0], 1.0),
    "Gaussian": lambda x, q: gaussian_kde(x).integrate_gaussian(q[:, 0], [[1, 0.2], [0.2, 1]]),
    "product": lambda x, q: gaussian_kde(x).integrate_kde(gaussian_kde(x[:, :9] * 2)),
    "marginal": lambda x, q: gaussian_kde(x).marginal([-1])(q[0]),
    "bandwidth": _set,
    "outside": lambda x, q: OUTSIDE(q),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name: str) -> None:
    f = lambda x, q: tree.leaves(CASES[name](x, q))
    ways = np.cos(X), np.sin(Q)
    got, slopes = tj.jit(lambda x, q: tj.jvp(f, (x, q), ways))(X, Q)
    up = f(X + 1e-6 * ways[0], Q + 1e-6 * ways[1])
    down = f(X - 1e-6 * ways[0], Q - 1e-6 * ways[1])
    for a, b, s, high, low in zip(got, f(X, Q), slopes, up, down, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(s, (high - low) / 2e-6, rtol=1e-6, atol=1e-7)


def test_single_precision_and_errors() -> None:
    x, q = X[0].astype(np.float32), Q[0].astype(np.float32)
    got = tj.jit(lambda x, q: gaussian_kde(x)(q))(x, q)
    assert got.dtype == gaussian_kde(x)(q).dtype
    np.testing.assert_allclose(got, gaussian_kde(x)(q), rtol=1e-5)
    for bad in (
        lambda x: gaussian_kde(x[:, :1]),
        lambda x: gaussian_kde(x[0, :1]),
        lambda x: gaussian_kde(x.T),
        lambda x: gaussian_kde(x, "other"),
        lambda x: gaussian_kde(x, weights=x[0, :3]),
        lambda x: gaussian_kde(x)(np.ones((3, 3))),
        lambda x: gaussian_kde(x).integrate_box_1d(0, 1),
    ):
        with pytest.raises(ValueError):
            bad(X)
        with pytest.raises(ValueError):
            tj.jit(bad)(X)
