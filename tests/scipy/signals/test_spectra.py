"""Spectra of segments against SciPy, and their derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import signal

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 50))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: signal.welch(x, nperseg=16),
        lambda x, y: signal.welch(
            x, 2.0, nperseg=15, noverlap=4, nfft=20, scaling="spectrum", average="median", detrend="linear"
        ),
        lambda x, y: signal.welch(x + 1j * y, nperseg=16),
        lambda x, y: signal.welch(np.stack([x, y]).T, nperseg=16, axis=0),
        lambda x, y: signal.welch(x.astype(np.float32), nperseg=16),
        lambda x, y: signal.csd(x, y[:40], nperseg=16, average="median"),
        lambda x, y: signal.periodogram(x, 3.0, nfft=64, scaling="spectrum"),
        lambda x, y: signal.coherence(x, y, nperseg=16),
        lambda x, y: signal.spectrogram(x, nperseg=16),
        lambda x, y: signal.spectrogram(x, nperseg=16, mode="magnitude"),
        lambda x, y: signal.stft(x, nperseg=16),
        lambda x, y: signal.stft(x, 2.0, nperseg=15, noverlap=3, boundary=None, padded=False, scaling="psd"),
        lambda x, y: signal.upfirdn(y[:7], np.stack([x, x]).T, 3, 2, axis=0),
        lambda x, y: signal.resample_poly(x, 3, 2),
        lambda x, y: signal.sosfilt(SOS, x, zi=signal.sosfilt_zi(SOS) * x[0]),
        lambda x, y: signal.lfilter_zi(y[:3], np.array([1.0, 0.2, 0.1])),
        lambda x, y: signal.lfiltic(y[:3], np.array([1.0, 0.2, 0.1, 0.3]), x[:3], y[:1]),
        lambda x, y: signal.lfiltic(y[:4], np.array([2.0, 0.2]), x[:1], y[:5]),
        lambda x, y: signal.lfiltic([1], x[:4], y[:2]),
        lambda x, y: signal.lfiltic(x[:2].astype(np.float32), np.float32([2, 1]), np.float32([3])),
        lambda x, y: signal.lfiltic(x[:1], 2.5, y[:1]),
    ],
)
def test_values(f: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, want = tj.jit(f)(X, Y), f(X, Y)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert g.dtype == w.dtype
        tolerance = 1e-5 if g.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=1e-12)


SOS = signal.butter(3, 0.3, output="sos")


def test_derivatives() -> None:
    check_grads(lambda x: signal.welch(x, nperseg=16)[1], (X,), order=2, rtol=1e-4, atol=1e-4)
    check_grads(lambda x, y: signal.coherence(x, y, nperseg=8)[1], (X, Y), order=1, rtol=1e-3, atol=1e-3)


def test_the_state_of_a_filter_has_the_derivative_by_its_first_coefficient() -> None:
    """SciPy divides by it only if it is not 1."""
    for first in (1.0, 2.0):
        a, b, y = np.array([first, -0.5, 0.2]), np.array([1.0, 0.3]), np.array([0.3, 0.2])
        check_grads(lambda a, b, y: signal.lfiltic(b, a, y, y[:1]), (a, b, y), order=1)
    with pytest.raises(ValueError, match="non-zero"):
        tj.jit(signal.lfiltic, fallback=True)(b, np.array([0.0, 1.0, 2.0]), y)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no traced form"):
        tj.jit(lambda x: signal.welch(x))(X)  # fewer elements than a segment: SciPy warns
    with pytest.raises(ValueError, match="no traced form"):
        tj.jit(lambda x: signal.stft(x, nperseg=8, boundary="even"))(X)
