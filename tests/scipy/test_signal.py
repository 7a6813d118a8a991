"""scipy.signal on traced values, against SciPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.signal

import tracejit as tj
import tracejit.scipy.signal as tsignal
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)
MODES = ("full", "same", "valid")


def check(f: Any, *xs: Any, rtol: float = 1e-11) -> None:
    want = f(*xs)
    got = tj.jit(f)(*xs)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.shape, want.shape)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * max(1.0, float(np.abs(want).max(initial=0))))


@pytest.mark.sample(8)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
def test_convolutions(name: str, mode: str) -> None:
    f = getattr(scipy.signal, name)
    for m, n in itertools.product((1, 4, 5), (1, 2, 4, 5)):
        check(lambda x, w: f(x, w, mode), RNG.normal(size=m), RNG.normal(size=n))
    check(lambda x, w: f(x, w, mode), RNG.normal(size=(6, 5)), RNG.normal(size=(3, 2)))
    check(lambda x, w: f(x, w, mode), RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4)))
    check(lambda x, w: f(x, w, mode), RNG.normal(size=(4, 3, 5)), RNG.normal(size=(2, 3, 2)))
    z = RNG.normal(size=6) + 1j * RNG.normal(size=6)
    check(lambda x, w: f(x, w, mode), z, z[:3] * 2)
    check(lambda x, w: f(x, w, mode), RNG.normal(size=6), z[:3])
    check_grads(lambda x, w: f(x, w, mode), (RNG.normal(size=6), RNG.normal(size=3)), order=2)


def test_integers_methods_and_large_arrays() -> None:
    x, w = RNG.integers(-5, 5, 20), RNG.integers(-5, 5, 7)
    for method in ("auto", "direct", "fft"):
        check(lambda x, w, m=method: scipy.signal.convolve(x, w, "same", m), x, w)
    check(lambda x, w: scipy.signal.convolve(x, w), x.astype("f4"), w.astype("f4"), rtol=1e-5)
    check(scipy.signal.convolve, RNG.normal(size=2000), RNG.normal(size=600))
    check(
        lambda x, w: scipy.signal.fftconvolve(x, w, axes=1), RNG.normal(size=(3, 5)), RNG.normal(size=(3, 2))
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(("mode", "boundary"), list(itertools.product(MODES, ("fill", "wrap", "symm"))))
def test_matrices(mode: str, boundary: str) -> None:
    x, w, even = RNG.normal(size=(6, 7)), RNG.normal(size=(3, 3)), RNG.normal(size=(2, 4))
    for k in (w, even):
        check(lambda x, w: scipy.signal.convolve2d(x, w, mode, boundary), x, k)
        check(lambda x, w: scipy.signal.correlate2d(x, w, mode, boundary), x, k)
    if boundary == "fill":
        check(lambda x, w: scipy.signal.convolve2d(x, w, mode, fillvalue=1.5), x, w)
        check(lambda x, w: scipy.signal.correlate2d(w, x, mode), x, w)
    check_grads(lambda x, w: scipy.signal.convolve2d(x, w, mode, boundary), (x, w), order=1)


def test_detrend() -> None:
    x = RNG.normal(size=(4, 9)).cumsum(axis=1)
    check(lambda x: scipy.signal.detrend(x), x)
    check(lambda x: scipy.signal.detrend(x, axis=0, type="constant"), x)
    check(lambda x: scipy.signal.detrend(x, bp=[3, 6]), x)
    check(lambda x: scipy.signal.detrend(x), x.astype("f4"), rtol=1e-5)
    check_grads(lambda x: scipy.signal.detrend(x, bp=4), (x,), order=2)


def test_lfilter() -> None:
    b, a = scipy.signal.butter(3, 0.2)
    x = RNG.normal(size=(3, 30))
    check(lambda x: scipy.signal.lfilter(b, a, x), x)
    check(lambda x: scipy.signal.lfilter([0.5, 0.25], [2.0], x, axis=0), x)
    check(lambda x: scipy.signal.lfilter([3.0], [2.0], x), x)
    check(lambda x: scipy.signal.lfilter([1, 2], [1, 0.5, 0.1], x), np.arange(6))
    zi = scipy.signal.lfilter_zi(b, a)
    f = lambda x: scipy.signal.lfilter(b, a, x, zi=zi * x[0])
    want, got = f(x[0]), tj.jit(f)(x[0])
    for g, v in zip(got, want, strict=True):
        np.testing.assert_allclose(g, v, atol=1e-12)
    check_grads(lambda b, a, x: scipy.signal.lfilter(b, a, x), (b, a, x[0, :8]), order=1)
    np.testing.assert_allclose(
        tj.jit(tj.vmap(lambda x: scipy.signal.lfilter(b, a, x)))(x), scipy.signal.lfilter(b, a, x), atol=1e-12
    )


def test_a_name_imported_from_scipy_is_traced() -> None:
    from scipy.signal import convolve

    x = RNG.normal(size=5)
    slope = tj.jit(tj.grad(lambda x: np.sum(convolve(x, np.ones(3), "valid"))))(x)
    np.testing.assert_allclose(slope, [1, 2, 3, 2, 1])
    assert tsignal.sepfir2d.__wrapped__ is scipy.signal.sepfir2d and "convolve" in dir(tsignal)


def test_errors() -> None:
    x = np.ones((3, 4))
    for bad in (
        lambda x: tsignal.convolve(x, x[0]),
        lambda x: tsignal.convolve(x, x, "other"),
        lambda x: tsignal.convolve(x, x, "same", "other"),
        lambda x: tsignal.convolve(x, x.T, "valid"),
        lambda x: tsignal.fftconvolve(x, x.T, "valid"),
        lambda x: tsignal.convolve2d(x[0], x[0]),
        lambda x: tsignal.convolve2d(x, x, boundary="other"),
        lambda x: tsignal.detrend(x, type="cubic"),
        lambda x: tsignal.detrend(x, bp=9),
        lambda x: tsignal.lfilter(x, [1.0], x),
    ):
        with pytest.raises(TracejitError):
            tj.jit(bad)(x)
    with pytest.raises(AttributeError, match="convolve9"):
        tsignal.convolve9
