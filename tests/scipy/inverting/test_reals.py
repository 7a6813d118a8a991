"""Roots of distribution functions, all at once."""

from __future__ import annotations

import numpy as np
from scipy import stats

import tracejit as tj
from tracejit import numpy as tnp
from tracejit.scipy.inverting.reals import inverse


def test_open_and_closed_ends() -> None:
    q = np.array([-700.0, -3.0, 0.25, 2.0, 4e5])
    cube = tj.jit(lambda q: inverse(lambda x: x**3, q, -np.inf, np.inf))
    np.testing.assert_allclose(cube(q), np.cbrt(q), rtol=1e-14)
    falls = tj.jit(lambda q: inverse(lambda x: tnp.exp(-x), q, 0.0, np.inf, falls=True))
    np.testing.assert_allclose(falls(np.array([1.0, 1e-3, 1e-200])), [0, 3 * np.log(10), 200 * np.log(10)])
    inside = inverse(lambda x: x * x, np.array([0.0, 1e-20, 1.0]), np.zeros(3), np.ones(3))
    np.testing.assert_allclose(inside, [0, 1e-10, 1], rtol=1e-5)


def test_what_has_no_root_ends() -> None:
    nowhere = tj.jit(lambda q: inverse(lambda x: x * np.nan, q, -np.inf, np.inf))
    assert nowhere(np.array([0.5])).shape == (1,)
    with np.errstate(all="ignore"):
        tj.jit(lambda q: inverse(lambda x: 0 * x, q, -np.inf, np.inf))(np.array([0.5]))


def test_derivatives_by_everything() -> None:
    f = lambda q, a: inverse(lambda x: x**3 + a * x, q, -np.inf, np.inf)
    q, a = np.array([0.1, 0.6]), 1.3
    x = f(q, a)
    slopes = tj.jit(tj.vmap(tj.grad(f, argnums=(0, 1)), in_axes=(0, None)))(q, a)
    np.testing.assert_allclose(slopes[0], 1 / (3 * x**2 + a), rtol=1e-12)
    np.testing.assert_allclose(slopes[1], -x / (3 * x**2 + a), rtol=1e-12)


def test_a_quantile_of_scipys() -> None:
    f = tj.jit(tj.vmap(lambda q: stats.argus.ppf(q, 1.3)))
    q = np.array([0.1, 0.6])
    np.testing.assert_allclose(f(q), stats.argus.ppf(q, 1.3), rtol=1e-12)
