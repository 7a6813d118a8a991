"""Logarithms, signs and powers of matrices: SciPy's values and dtypes, derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tracejit as tj
from tracejit.errors import ArgumentError

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3))
S = A @ A.T + np.eye(3)
MATRICES = {"definite": S, "other": A + 3 * np.eye(3), "negative": -S, "complex": S + 1j * A}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "logm": sl.logm,
    "signm": sl.signm,
    "power": lambda a: sl.fractional_matrix_power(a, 0.3),
    "inverse power": lambda a: sl.fractional_matrix_power(a, -2.5),
    "sqrtm": sl.sqrtm,
}


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_real_where_scipys_are(name: str) -> None:
    f = FUNCTIONS[name]
    compiled = tj.jit(lambda a: f(a), fallback=True)
    for _ in range(2):  # a program for either dtype
        for a in MATRICES.values():
            got, want = compiled(a), f(a)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    assert tj.jit(lambda a: f(a))(np.stack([S, S])).shape == (2, 3, 3)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "sqrtm"])
@pytest.mark.parametrize("kind", ["definite", "other", "complex"])
def test_derivatives(name: str, kind: str) -> None:
    f, a = FUNCTIONS[name], MATRICES[kind]
    weights, direction, h = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)), 1e-6

    def total(a: Any) -> Any:
        return np.sum(f(a) * weights).real

    want = (total(a + h * direction) - total(a - h * direction)) / (2 * h)
    slope = np.sum(tj.jit(tj.grad(total))(a) * direction).real
    np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-7)


def test_more_derivatives() -> None:
    second = tj.jit(tj.hessian(lambda v: np.sum(sl.logm(S * v)).real))(2.0)
    np.testing.assert_allclose(second, -3 / 4)  # that of the logarithm of 2, times the identity
    h = 1e-6
    power = lambda t: np.sum(sl.fractional_matrix_power(S, t)).real
    np.testing.assert_allclose(
        tj.jit(tj.grad(power))(0.3), (power(0.3 + h) - power(0.3 - h)) / (2 * h), rtol=1e-7
    )


def test_whole_powers_and_what_has_no_traced_form() -> None:
    for t in (2, -1, 0, 3.0):
        got, want = (
            tj.jit(lambda a, t=t: sl.fractional_matrix_power(a, t))(S),
            sl.fractional_matrix_power(S, t),
        )
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-13)
    for a in (S.astype("f4"), np.zeros((0, 0))):
        with pytest.raises(ArgumentError, match="no traced form"):
            tj.jit(lambda a: sl.logm(a))(a)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_scipy_draws_from_numpys_random_numbers() -> None:
    """Where it does so it is called; inside of transformations the state is as before."""
    f = lambda a: (sl.logm(a), sl.fractional_matrix_power(a, 0.3), np.random.random())
    np.random.seed(0)
    want = f(S)
    np.random.seed(0)
    assert tj.jit(f, fallback=True)(S)[2] == want[2]
    np.random.seed(0)
    first = np.random.random()
    np.random.seed(0)
    tj.jit(tj.grad(lambda a: np.sum(sl.logm(a)).real))(S)
    assert first == np.random.random() != want[2]
