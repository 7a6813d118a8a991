"""tracejit.scipy.integrate against SciPy, in plain SciPy code that is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si
from scipy.integrate import cumulative_trapezoid, simpson, trapezoid

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(2)
Y = RNG.normal(size=(5, 6))
X = np.cumsum(RNG.uniform(0.5, 1.5, 6))
XX = np.cumsum(RNG.uniform(0.5, 1.5, (5, 6)), axis=0)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", [trapezoid, simpson, cumulative_trapezoid])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_samples(f: Any, n: int) -> None:
    y, x, xx = Y[:, :n], X[:n], XX[:n]
    calls = [
        (lambda y: f(y), y),
        (lambda y: f(y, dx=0.3), y),
        (lambda y: f(y, x), y),
        (lambda y: f(y, xx, axis=0), Y[:n]),
        (lambda y: f(y, axis=-2), Y[:n]),
    ]
    for g, data in calls:
        np.testing.assert_allclose(tj.jit(g)(data), g(data), rtol=1e-12, atol=1e-13)
    check_grads(lambda y, x: f(y, x), (y, x), order=2)


def test_initial_value_and_integers() -> None:
    f = lambda y: cumulative_trapezoid(y, X, initial=0)
    np.testing.assert_allclose(tj.jit(f)(Y), f(Y), rtol=1e-13, atol=1e-14)
    assert tj.jit(trapezoid)(np.array([1, 2, 4])) == 4.5
    assert tj.jit(simpson)(np.array([3.0])) == simpson(np.array([3.0])) == 0


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="initial"):
        tj.jit(lambda y: cumulative_trapezoid(y, initial=2))(Y)
    with pytest.raises(ValueError, match="different lengths"):
        tj.jit(lambda y: trapezoid(y, X[:3]))(Y)


@pytest.mark.parametrize(
    "f",
    [
        lambda y: si.romb(y, dx=0.3),
        lambda y: si.romb(y, axis=0),
        lambda y: si.cumulative_simpson(y, dx=0.3),
        lambda y: si.cumulative_simpson(y, dx=0.3, axis=0, initial=2.0),
        lambda y: si.cumulative_simpson(y[:, :2], dx=0.3, initial=0),
        lambda y: si.cumulative_simpson(y, x=np.arange(9.0) ** 1.5),
        lambda y: si.cumulative_simpson(y[:, :6], x=np.arange(6.0) ** 1.5, initial=1),
    ],
)
def test_more_rules_of_samples(f) -> None:
    y = np.random.default_rng(1).normal(size=(5, 9))
    np.testing.assert_allclose(tj.jit(f)(y), f(y), rtol=1e-12, atol=1e-12)
    check_grads(f, (y,), order=1, rtol=1e-5, atol=1e-6)


def test_samples_at_one_place_and_no_samples() -> None:
    for n in (5, 6, 7):
        y = np.arange(2.0 * n).reshape(2, n) ** 2
        for x in (np.zeros(n), np.sort(np.arange(n) // 2), np.r_[np.arange(n - 1), n - 2] * 1.0):
            want = si.simpson(y, x=x)
            np.testing.assert_allclose(tj.jit(lambda y, x: si.simpson(y, x=x))(y, x), want, rtol=1e-13)
            slope = tj.jit(tj.grad(lambda y, x=x: si.simpson(y, x=x).sum()))(y)
            np.testing.assert_allclose((slope * y).sum(), want.sum(), rtol=1e-12)  # it is linear
        np.testing.assert_allclose(tj.jit(lambda y: si.simpson(y, dx=0))(y), 0)
    for f in (si.cumulative_trapezoid, si.cumulative_simpson):
        with pytest.raises(ValueError, match="At least one point"):
            tj.jit(lambda y, f=f: f(y))(np.zeros((3, 0)))
