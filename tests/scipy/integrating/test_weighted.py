"""`quad` with weights, with all that QUADPACK tells, and of complex functions, against SciPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import tracejit as tj

CASES: dict[str, Any] = {
    "cos": lambda k: quad(lambda x: np.exp(-k * x * x), 0.1, 2, weight="cos", wvar=3 * k),
    "sin": lambda k: quad(lambda x: np.exp(-k * x), -k, 2, weight="sin", wvar=30.0, maxp1=20),
    "alg": lambda k: quad(lambda x: np.cos(k * x), 0, 2 * k, weight="alg", wvar=(-0.5 * k, 0.3)),
    "loga": lambda k: quad(lambda x, c: c / (x + k), 0, 2, (2.0,), weight="alg-loga", wvar=(-0.7, 0.0)),
    "logb": lambda k: quad(lambda x: x**k, 1, 3, weight="alg-logb", wvar=(0.0, -0.4 * k)),
    "log": lambda k: quad(lambda x: np.exp(k * x), 0, k, weight="alg-log", wvar=(0.5, -0.2)),
    "cauchy": lambda k: quad(lambda x: np.exp(-k * x), 0, 2, weight="cauchy", wvar=0.7 * k),
    "told": lambda k: quad(lambda x: np.exp(-k * x * x), 0, 2, full_output=1)[:2],
    "far": lambda k: quad(lambda x: np.exp(-k * x * x), k, np.inf, full_output=1, limit=30)[:2],
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, k = CASES[name], 0.9
    got, want = tj.jit(f, fallback=False)(k), f(k)
    assert np.isclose(got[0], want[0], rtol=1e-13) and np.isclose(got[1], want[1], rtol=1e-3, atol=1e-15)
    slope = tj.jit(tj.grad(lambda k: f(k)[0]), fallback=False)(k)
    assert np.isclose(slope, (f(k + 1e-5)[0] - f(k - 1e-5)[0]) / 2e-5, rtol=1e-6)


def test_all_that_is_told() -> None:
    f = lambda k: quad(lambda x: np.sqrt(np.abs(x - k)), 0, 2, full_output=1)
    got, want = tj.jit(f, fallback=False)(0.7), f(0.7)
    assert got[:2] == want[:2] and list(got[2]) == list(want[2])
    n = want[2]["last"]
    for key, x in want[2].items():
        assert type(got[2][key]) is type(x)
        np.testing.assert_array_equal(
            got[2][key] if np.ndim(x) == 0 else got[2][key][:n], x if np.ndim(x) == 0 else x[:n]
        )


def test_what_does_not_converge_is_pythons() -> None:
    f = lambda k: quad(lambda x: 1 / np.abs(x - k), 0, 2, full_output=1, limit=3)
    with tj.config.override(fallback=True):
        got = tj.jit(f)(0.7)
    assert got[0] == f(0.7)[0] and got[3] == f(0.7)[3]


def test_complex_functions() -> None:
    f = lambda k: quad(lambda x: np.exp(1j * k * x * x) / (1 + x), 0, 2, complex_func=True)
    got, want = tj.jit(f, fallback=False)(1.5), f(1.5)
    assert np.isclose(got[0], want[0], rtol=1e-14) and type(got[0]) is complex
    slope = tj.jit(tj.grad(lambda k: f(k)[0].imag), fallback=False)(1.5)
    assert np.isclose(slope, (f(1.5001)[0].imag - f(1.4999)[0].imag) / 2e-4, rtol=1e-6)
    weighted = lambda k: quad(lambda x: np.exp(1j * k * x), 0, 2, complex_func=True, weight="cos", wvar=2.0)
    assert np.isclose(tj.jit(weighted, fallback=False)(1.5)[0], weighted(1.5)[0], rtol=1e-13)


def test_refused() -> None:
    with pytest.raises(ValueError, match="not a recognized weighting function"):
        tj.jit(lambda k: quad(lambda x: k * x, 0, 1, weight="tan", wvar=1.0), fallback=False)(1.0)
    with pytest.raises(tj.errors.SolverOptionError, match="infinite limit"):
        tj.jit(lambda k: quad(lambda x: k / x**2, 1, np.inf, weight="cos", wvar=1.0), fallback=False)(1.0)
