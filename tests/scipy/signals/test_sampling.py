"""Signals at other rates, and filters forwards and backwards: SciPy's values, derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj
from tests.scipy.samples import DATA
from tracejit.test_util import check_grads

X, IMAGE, SOS = DATA["x"], DATA["I"], DATA["sos"]
LONG = np.concatenate([X, -X, X, -X])

CASES = {
    "sosfiltfilt": (lambda x: ss.sosfiltfilt(SOS, x), LONG),
    "with zeros": (lambda x: ss.sosfiltfilt(np.array([[0.2, 0.1, 0, 1, -0.4, 0], SOS[1]]), x), LONG),
    "by sections": (lambda s: ss.sosfiltfilt(s, LONG), SOS),
    "even": (lambda x: ss.sosfiltfilt(SOS, x, axis=0, padtype="even", padlen=4), IMAGE),
    "without an end": (lambda x: ss.sosfiltfilt(SOS, x, padtype=None), X),
    "resample_poly": (lambda x: ss.resample_poly(x, 3, 2), X),
    "mean": (lambda x: ss.resample_poly(x, 2, 4, axis=1, padtype="mean"), IMAGE),
    "own filter": (lambda x: ss.resample_poly(x, 5, 3, window=[0.2, 0.6, 0.2]), X),
    "same rate": (lambda x: ss.resample_poly(x, 3, 3), X),
    "decimate": (lambda x: ss.decimate(x, 2), LONG),
    "one way": (lambda x: ss.decimate(x, 3, 4, zero_phase=False), LONG),
    "fir": (lambda x: ss.decimate(x, 2, ftype="fir", axis=0), IMAGE),
    "sawtooth": (lambda x: ss.sawtooth(x, 0.3), X),
    "rising": (lambda x: ss.sawtooth(3 * x), X),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, x = CASES[name]
    got, want = tj.jit(f)(x), f(x)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    weights = np.cos(np.arange(want.size)).reshape(want.shape)
    if name == "by sections":  # the leading coefficients must stay 1
        slope = tj.grad(lambda c: np.sum(f(x * np.array([c, c, c, 1, 1, 1])) * weights))(1.0)
        assert np.isclose(slope, 2 * len(SOS) * np.sum(want * weights))  # both ways
        return
    check_grads(lambda x: np.sum(f(x) * weights), (x,), order=1, rtol=1e-6, atol=1e-7)


def test_what_scipy_does_itself() -> None:
    for f, x in ((lambda x: ss.resample_poly(x, 3, 2, padtype="line"), X),):
        with tj.config.override(fallback=True):
            np.testing.assert_allclose(tj.jit(f)(x), f(x), rtol=1e-9, atol=1e-12)
    for bad in (
        lambda x: ss.resample_poly(x, 0, 2),
        lambda x: ss.sosfiltfilt(SOS, x[:5]),
    ):
        with pytest.raises(ValueError, match=r">= 1|padlen"):
            tj.jit(bad)(X)
