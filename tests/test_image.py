"""jax.image: results that JAX gave, and what can be said of any resampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import image
from tracejit.errors import ArgumentError
from tracejit.test_util import check_grads

METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]
X = np.array([[1.0, 4.0, 2.0, 8.0, 5.0]])
#: What JAX 0.10 gave for X: method -> 3 pixels with and without antialiasing, 8 pixels.
SEEN: dict[str, list[list[float]]] = {
    "linear": [
        [2.28571429, 3.77777778, 6.28571429],
        [2.0, 2.0, 6.0],
        [1.0, 2.3125, 3.875, 2.625, 3.875, 7.625, 6.3125, 5.0],
    ],
    "cubic": [
        [2.12307692, 3.89767442, 6.36923077],
        [1.89655172, 2.0, 6.03448276],
        [0.784132841, 2.28507821, 3.99768066, 2.20202637, 3.58630371, 7.85754395, 6.48647106, 4.78413284],
    ],
    "cubic-pytorch": [
        [2.12307692, 3.89767442, 6.36923077],
        [2.05555556, 2.0, 6.27777778],
        [0.784132841, 2.28507821, 3.99768066, 2.20202637, 3.58630371, 7.85754395, 6.48647106, 4.78413284],
    ],
    "lanczos3": [
        [1.96805819, 4.07260518, 6.39815487],
        [2.0244054, 2.0, 6.26939018],
        [0.631090625, 2.43088674, 3.9725891, 2.02263773, 3.55917716, 7.85656201, 6.72510702, 4.50626526],
    ],
    "lanczos5": [
        [1.86901255, 4.14912613, 6.36653544],
        [2.2471157, 2.0, 6.47001636],
        [0.416593226, 2.66190272, 3.94926052, 2.0331152, 3.43680907, 7.80706361, 6.94483212, 4.30754965],
    ],
    "area": [[2.2, 3.6, 6.2], [2.2, 3.6, 6.2], [1.0, 2.2, 4.0, 2.4, 3.2, 8.0, 6.2, 5.0]],
}


@pytest.mark.parametrize("method", METHODS)
def test_as_jax(method: str) -> None:
    small, rough, large = SEEN[method]
    np.testing.assert_allclose(image.resize(X, (1, 3), method)[0], small, rtol=1e-6)
    np.testing.assert_allclose(image.resize(X, (1, 3), method, antialias=False)[0], rough, rtol=1e-6)
    np.testing.assert_allclose(tj.jit(lambda x: image.resize(x, (1, 8), method))(X)[0], large, rtol=1e-6)


def test_nearest_keeps_the_dtype() -> None:
    x = np.arange(6).reshape(2, 3)
    assert image.resize(x, (4, 2), "nearest").tolist() == [[0, 2], [0, 2], [3, 5], [3, 5]]
    assert image.resize(x, (2, 3), "linear").tolist() == x.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_stays(method: str) -> None:
    x = np.full((4, 5, 2), 3.0)
    np.testing.assert_allclose(image.resize(x, (7, 3, 2), method), np.full((7, 3, 2), 3.0), rtol=1e-12)


def test_moving_and_derivatives() -> None:
    x = np.arange(6.0)
    moved = image.scale_and_translate(x, (6,), (0,), np.array([1.0]), np.array([2.0]), "linear")
    assert moved.tolist() == [0, 0, 0, 1, 2, 3]

    def f(x: Any, scale: Any, translation: Any) -> Any:
        return image.scale_and_translate(x, (8,), (0,), scale, translation, "cubic").sum()

    check_grads(f, (x**2, np.array([1.2]), np.array([0.7])), order=1)


def test_errors() -> None:
    with pytest.raises(ArgumentError, match="no method 'wavy'; there are area"):
        image.resize(X, (1, 3), "wavy")
    with pytest.raises(ArgumentError, match="has 1 axes, the image 2"):
        image.resize(X, (3,), "linear")
    with pytest.raises(ArgumentError, match="no method 'nearest'"):
        image.scale_and_translate(X, (1, 3), (1,), [1.0], [0.0], "nearest")
    with pytest.raises(ArgumentError, match="can't have the shape"):
        image.scale_and_translate(X, (2, 3), (1,), [1.0], [0.0], "linear")
