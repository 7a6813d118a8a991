"""Morphology and Fourier filters against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(1)
IMAGE = RNG.normal(size=(9, 8))
MASK = RNG.uniform(size=(9, 8)) > 0.4
SHIFTED: Any = (0, 1)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: ndimage.grey_dilation(x, footprint=CROSS, mode="nearest"), IMAGE),
        (lambda x: ndimage.grey_erosion(x, size=(2, 3), structure=0.1 * np.ones((2, 3))), IMAGE),
        (lambda x: ndimage.morphological_laplace(x, 3), IMAGE),
        (lambda x: ndimage.binary_erosion(x, CROSS, iterations=2, border_value=1), MASK),
        (lambda x: ndimage.binary_dilation(x, np.ones((2, 3)), origin=SHIFTED), MASK),
        (lambda x: ndimage.binary_dilation(x, iterations=0, mask=IMAGE < 1), MASK),
        (lambda x: ndimage.binary_fill_holes(x), MASK),
        (lambda x: ndimage.binary_opening(x, iterations=2), MASK),
        (lambda x: ndimage.rank_filter(x, -2, footprint=CROSS), IMAGE),
        (lambda x: ndimage.percentile_filter(x, 70, size=(3, 2)), IMAGE),
        (lambda x: ndimage.maximum_filter1d(x, 4, axis=0, origin=1), IMAGE),
        (lambda x: ndimage.gaussian_laplace(x, (1.0, 0.7), mode="wrap"), IMAGE),
        (lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0), IMAGE),
        (lambda x: ndimage.fourier_gaussian(np.fft.rfft2(x), 1.5, n=8), IMAGE),
        (lambda x: ndimage.fourier_shift(x, (0.5, 1.5)), IMAGE),
        (lambda x: ndimage.fourier_uniform(x, 2), IMAGE),
    ],
)
def test_values(f: Any, x: np.ndarray) -> None:
    got, want = tj.jit(f)(x), f(x)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_derivatives() -> None:
    check_grads(lambda x: ndimage.grey_closing(x, 3), (IMAGE,), order=1, rtol=1e-4, atol=1e-4)
    check_grads(
        lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0), (IMAGE,), order=1, rtol=1e-4, atol=1e-4
    )
    flat = tj.grad(lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0).sum())(np.ones((4, 4)))
    assert np.isfinite(flat).all()


def test_traced_structures_are_refused() -> None:
    f = lambda x, s: ndimage.grey_erosion(x, footprint=s)
    np.testing.assert_array_equal(tj.jit(f)(IMAGE, CROSS), f(IMAGE, CROSS))  # as a host call
