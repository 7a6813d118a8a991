"""The binomial distribution's functions of scipy.special: bdtr, bdtrc, bdtri."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj

_NAMES = ("bdtr", "bdtrc", "bdtri")
_INF, _NAN = np.inf, np.nan
_K = np.array([-_INF, -1.5, -1, -0.5, 0, 0.5, 1, 2, 3.7, 5, 6, 10, 40, _INF, _NAN])
_N = np.array([-_INF, -1, -0.5, 0, 1, 2, 5, 5.5, 10, 60, 1000, _INF, _NAN])
_P = np.array([-0.1, 0, -0.0, 1e-300, 1e-5, 0.1, 0.3, 0.5, 0.9, 0.999, 1, 1.1, _INF, -_INF, _NAN])


def grid(*axes: np.ndarray) -> list[np.ndarray]:
    return [a.ravel() for a in np.meshgrid(*axes)]


def of_scipy(name: str, *xs: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of every float n
        return getattr(sp, name)(*xs)


@pytest.mark.parametrize("name", _NAMES)
def test_values_and_edges(name: str) -> None:
    k, n, p = grid(_K, _N, _P)
    got, want = tj.jit(lambda *xs: getattr(sp, name)(*xs))(k, n, p), of_scipy(name, k, n, p)
    # Of 1000 trials SciPy's inverse of 1e-300 is right to 4 digits only.
    rough = (n == 1000) & (p == 1e-300) & (name == "bdtri")
    np.testing.assert_allclose(got[~rough], want[~rough], rtol=1e-11)
    np.testing.assert_allclose(got[rough], want[rough], rtol=1e-3)


@pytest.mark.parametrize("name", _NAMES)
def test_integers_and_float32(name: str) -> None:
    compiled = tj.jit(lambda *xs: getattr(sp, name)(*xs))
    k, n, p = grid(np.arange(4), np.array([5, 9, 70_000]), np.array([1e-5, 0.2, 0.7]))
    for xs in ((k, n, p), (k + 0.5, n, p)):  # SciPy does not warn here, and nor must compiled code
        got, want = compiled(*xs), getattr(sp, name)(*xs)
        np.testing.assert_allclose(got[n < 10], want[n < 10], rtol=1e-11)
        np.testing.assert_allclose(
            got, want, rtol=1e-9, atol=1e-300
        )  # SciPy's error is 1e-10 for many trials
    singles = [x.astype(np.float32) for x in (k, n, p)]
    got, want = compiled(*singles), of_scipy(name, *singles)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_many_trials_are_more_exact_than_in_scipy() -> None:
    n, p = 70_000, 1e-5
    at_most_two = float(
        sum(mp.binomial(n, i) * mp.mpf(p) ** i * (1 - mp.mpf(p)) ** (n - i) for i in range(3))
    )
    assert np.isclose(tj.jit(lambda p: sp.bdtr(2, n, p))(p), at_most_two, rtol=1e-13)
    assert np.isclose(tj.jit(lambda p: sp.bdtrc(2, n, p))(p), 1 - at_most_two, rtol=1e-12)


def test_inverse_is_one_where_that_of_scipy_is_rough() -> None:
    k, n, y = grid(np.array([1, 3, 10, 40]), np.array([60, 1000]), np.array([1e-12, 1e-3, 0.4, 0.9]))
    p = tj.jit(lambda *xs: sp.bdtri(*xs))(k, n, y)
    np.testing.assert_allclose(sp.bdtr(k.astype(float), n, p), y, rtol=1e-10)


@pytest.mark.parametrize("name", _NAMES)
def test_derivatives(name: str) -> None:
    k, n, p = grid(np.array([-1, 0, 1, 4, 5, 6]), np.array([5]), np.array([0.1, 0.4, 0.8]))
    f, h = getattr(sp, name), 1e-6
    near = (f(k, n, p + h) - f(k, n, p - h)) / (2 * h)
    if name != "bdtri":
        near = np.where(np.isnan(near), 0.0, near)  # NaN does not depend on p
    fine = ~np.isnan(near)
    tangent = tj.jvp(lambda x: f(k, n, x), (p,), (np.ones_like(p),))[1]
    gradient = tj.grad(lambda x: np.where(fine, f(k, n, x), 0.0).sum())(p)
    np.testing.assert_allclose(tangent[fine], near[fine], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(gradient, np.where(fine, near, 0.0), rtol=1e-7, atol=1e-9)


def test_inverse_of_the_smallest_probabilities() -> None:
    """1 - p is (y / 10)**(1 / 3) for two of five: less than the rounding of p, whose derivative is large."""
    assert tj.jit(lambda y: sp.bdtri(2, 5, y))(1e-300) == 1.0
    slope = tj.grad(lambda y: sp.bdtri(2, 5, y))(1e-300)
    assert np.isclose(slope, -(1e-301 ** (1 / 3)) / 3e-300, rtol=1e-9)
