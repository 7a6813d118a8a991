"""Tanh-sinh quadrature, against SciPy's own with all of its reports, and its derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj
from tracejit.errors import SolverFailedError, SolverOptionError

INF = np.inf
A = np.array([0, 1, -INF, 2, 0, 3])
B = np.array([1.0, INF, INF, 2, np.nan, 1])


def check(got: Any, want: Any) -> None:
    """The same report: levels, evaluations and states to the number."""
    assert type(got) is type(want)
    assert list(got) == list(want)
    assert repr(got).split(":")[0] == repr(want).split(":")[0]
    for key, value in want.items():
        if key == "_order_keys":
            assert got[key] == value
            continue
        assert type(got[key]) is type(value)
        assert (got[key].dtype, got[key].shape) == (value.dtype, value.shape)
        loose = (0.3, 1e-14) if key == "error" else (1e-12, 0)
        np.testing.assert_allclose(got[key], value, rtol=loose[0], atol=loose[1])


def peak(k: Any) -> Any:
    return lambda x: np.exp(k * x) / (0.01 + (x - 0.3) ** 2)


CASES = {
    "smooth": lambda k: si.tanhsinh(lambda x: np.exp(k * x), 0, 1),
    "ends": lambda k: si.tanhsinh(lambda x: k / np.sqrt(x), 0, 1),
    "inside": lambda k: si.tanhsinh(lambda x: k / np.sqrt(np.abs(x)), -1, 1),
    "arrays": lambda k: si.tanhsinh(
        lambda x, k: np.exp(-k * x * x), A, B, args=(np.array([[1.0], [2.0]]) * k,)
    ),
    "reversed": lambda k: si.tanhsinh(lambda x: np.exp(k * x), 1.0, -INF),
    "divergent": lambda k: si.tanhsinh(lambda x: k / x**2, -1, 1),
    "not enough levels": lambda k: si.tanhsinh(lambda x: np.sin(k * x), 0, 300, maxlevel=3),
    "not a number": lambda k: si.tanhsinh(lambda x: np.sqrt(x - k), 0, 1),
    "first level": lambda k: si.tanhsinh(peak(k), 0, 1, minlevel=0),
    "a later first level": lambda k: si.tanhsinh(peak(k), 0, 1, minlevel=4),
    "one level": lambda k: si.tanhsinh(peak(k), 0, 1, maxlevel=0),
    "tolerances": lambda k: si.tanhsinh(peak(k), 0, 1, atol=1e-3, rtol=0 * k + 1e-3),
    "logarithms": lambda k: si.tanhsinh(lambda x: np.log(k) - 2 * np.log(x + 1), 0, [1, 2, INF], log=True),
    "logarithms of a peak": lambda k: si.tanhsinh(lambda x: np.log(peak(k)(x)), 0, [1, 2, 1], log=True),
    "several values": lambda k: si.tanhsinh(
        lambda x: np.stack([np.sin(k * x), 1 / np.sqrt(x)]), 0, 1, preserve_shape=True
    ),
    "nothing": lambda k: si.tanhsinh(lambda x: k * x, np.zeros(0), 1),
}
SLOW = ("a later first level", "one level", "tolerances", "reversed", "ends", "logarithms", "first level")


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive if n in SLOW else ()) for n in CASES]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reports_are_scipys(name: str) -> None:
    check(tj.jit(CASES[name])(0.7), CASES[name](0.7))


DERIVATIVES = {
    "limits": lambda k: (
        si.tanhsinh(lambda x: np.exp(-k * x), [0, k, 2, k], [k, INF, 2, np.nan]).integral[:2].sum()
    ),
    "deep": lambda k: si.tanhsinh(peak(k), 0, k).integral,
    "singular": lambda k: si.tanhsinh(lambda x: x**-k, 0, 1).integral,
    "inside": lambda k: si.tanhsinh(lambda x: k / np.sqrt(np.abs(x)), -k, k).integral,
    "logarithm": lambda k: si.tanhsinh(lambda x: -k * x * x + x, -k, [1, INF], log=True).integral.sum(),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives(name: str) -> None:
    f = DERIVATIVES[name]
    want = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.7), want, rtol=1e-6)
    np.testing.assert_allclose(tj.jit(tj.jacfwd(f))(0.7), want, rtol=1e-6)


def test_second_derivatives_and_vmap() -> None:
    f = lambda k: si.tanhsinh(lambda x: np.exp(k * x), 0.0, k).integral
    k = np.array([0.4, 0.7, 1.3])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(k), np.expm1(k * k) / k, rtol=1e-12)
    # d/dk of exp(k²)·2 - (exp(k²) - 1)/k²
    e = np.exp(k * k)
    want = 4 * k * e - 2 * e / k + 2 * (e - 1) / k**3
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(tj.grad(f))))(k), want, rtol=1e-10)


def test_what_is_left_to_scipy() -> None:
    for f, error in (
        (lambda k: si.tanhsinh(lambda x: np.exp(1j * k * x), 0, 1), SolverOptionError),
        (lambda k: si.tanhsinh(lambda x: k * x, 0, 1, callback=print), SolverOptionError),
        (lambda k: si.tanhsinh(lambda x: k * x, np.float32(0), np.float32(1)), SolverOptionError),
        (lambda k: si.tanhsinh(lambda x: k * x, 1, 0, log=True), SolverFailedError),
        (lambda k: si.tanhsinh(lambda x: k * x, 0, 1, rtol=-1), ValueError),
        (lambda k: si.tanhsinh(lambda x: np.ones(3) * k, 0, 1), ValueError),
        (lambda k: si.tanhsinh(lambda x: k * x, 0, 1, maxlevel=2.5), ValueError),
        (lambda k: si.tanhsinh(lambda x: k * x, 0, 1, minlevel=-1), ValueError),
    ):
        with pytest.raises(error):
            tj.jit(f)(0.7)


def test_functions_are_asked_for_between_the_ends_only() -> None:
    """Left of 0 the logarithm and the root would be warned of."""
    slope = tj.grad(lambda a: si.tanhsinh(lambda x: np.log(x) + np.sqrt(x), 0.0, a).integral)
    assert slope(2.0) == pytest.approx(np.log(2) + np.sqrt(2), rel=1e-12)
    assert tj.jit(slope)(2.0) == pytest.approx(np.log(2) + np.sqrt(2), rel=1e-12)
