"""tracejit.scipy.spatial.distance against SciPy, in plain SciPy code that is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3))
SPD = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
METRICS: dict[str, dict[str, Any]] = {
    "euclidean": {}, "sqeuclidean": {}, "cityblock": {}, "chebyshev": {}, "cosine": {}, "correlation": {},
    "canberra": {}, "braycurtis": {}, "minkowski": {"p": 3, "w": np.array([1.0, 2, 0.5])},
    "seuclidean": {"V": np.array([1.0, 2, 0.5])}, "mahalanobis": {"VI": SPD},
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric: str) -> None:
    options = METRICS[metric]
    np.testing.assert_allclose(
        tj.jit(lambda a, b: cdist(a, b, metric, **options))(A, B), cdist(A, B, metric, **options), rtol=1e-12
    )
    np.testing.assert_allclose(
        tj.jit(lambda a: pdist(a, metric, **options))(A), pdist(A, metric, **options), rtol=1e-12
    )
    check_grads(lambda a, b: cdist(a, b, metric, **options), (A, B), order=1)


def test_squareform() -> None:
    x = np.array([1.0, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(tj.jit(squareform)(x), squareform(x))
    np.testing.assert_array_equal(tj.jit(squareform)(squareform(x)), x)
    check_grads(lambda x: squareform(squareform(x) ** 2), (x,), order=2)
    assert tj.jit(squareform)(np.zeros(0)).shape == (1, 1)


def test_kernels_of_distances() -> None:
    """The slope of a distance that is 0 is 0: kernels have finite gradients on the diagonal."""
    slope = tj.jit(tj.grad(lambda a: np.exp(-cdist(a, a)).sum()))(A)
    h, t = 1e-6, RNG.normal(size=A.shape)
    difference = np.exp(-cdist(A + h * t, A + h * t)).sum() - np.exp(-cdist(A - h * t, A - h * t)).sum()
    np.testing.assert_allclose((slope * t).sum(), difference / (2 * h), rtol=1e-7)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda a: cdist(a, B[:, :2]), "same number of columns"),
        (lambda a: cdist(a[0], B), "2-dimensional"),
        (lambda a: cdist(a, B, "jaccard"), "jaccard"),
        (lambda a: cdist(a, B, "mahalanobis"), "needs VI="),
        (lambda a: squareform(a), "square"),
        (lambda a: squareform(a[0, :2]), "length"),
        (lambda a: squareform(a[0], "tovector"), "force"),
        (lambda a: squareform(cdist(a, a), "tomatrix"), "force"),
    ],
)
def test_bad_arguments(f: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tj.jit(f)(A)
