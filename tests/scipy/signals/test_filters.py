"""Filters against SciPy's, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj
from tracejit.test_util import check_grads

X = np.random.default_rng(4).normal(size=(2, 31))
B, A = ss.butter(3, 0.3)
SOS = ss.butter(4, 0.3, output="sos")

CASES = {
    "hilbert": lambda x: np.abs(ss.hilbert(x)),
    "hilbert even": lambda x: ss.hilbert(x, 40, axis=1).imag,
    "sosfilt": lambda x: ss.sosfilt(SOS, x),
    "filtfilt": lambda x: ss.filtfilt(B, A, x),
    "filtfilt even": lambda x: ss.filtfilt(B, [2.0], x.T, axis=0, padtype="even", padlen=5),
    "filtfilt constant": lambda x: ss.filtfilt(B, A, x, padtype="constant"),
    "savgol": lambda x: ss.savgol_filter(x, 7, 3),
    "savgol slope": lambda x: ss.savgol_filter(x.T, 5, 2, deriv=1, delta=0.5, axis=0),
    "savgol mirror": lambda x: ss.savgol_filter(x, 5, 2, mode="mirror"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f = CASES[name]
    np.testing.assert_allclose(tj.jit(f)(X), f(X), rtol=1e-9, atol=1e-11)
    v = np.cos(X)
    slope = tj.jvp(f, (X,), (v,))[1]
    np.testing.assert_allclose(slope, (f(X + 1e-6 * v) - f(X - 1e-6 * v)) / 2e-6, rtol=1e-6, atol=1e-7)


def test_coefficients_differentiate() -> None:
    check_grads(lambda b, a: ss.filtfilt(b, a, X[0]), (B, A), order=1, rtol=1e-4)
