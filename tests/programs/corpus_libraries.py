"""Programs that call other libraries: scikit-learn's metrics and scalers, and compiled functions that write into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.metrics
import sklearn.metrics.pairwise
from sklearn._isotonic import _inplace_contiguous_isotonic_regression
from sklearn.preprocessing import minmax_scale, scale

from tests.programs.observe import program


def _samples(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(30, 2))
    return x, np.array(x[:, 0] - 0.5 * x[:, 1] + 0.3 * rng.normal(size=30) > 0, np.int64)


@program
def a_classifier_is_scored() -> Any:
    """Logistic regression by hand, judged by a library."""

    def f(x, y, rate):
        z = np.column_stack([np.ones(len(x)), scale(x)])
        w = np.zeros(z.shape[1])
        for _ in range(40):
            p = 1 / (1 + np.exp(-z @ w))
            w = w + rate * z.T @ (y - p) / len(y)
        found = np.where(p > 0.5, 1, 0)
        return {
            "accuracy": sklearn.metrics.accuracy_score(y, found),
            "table": sklearn.metrics.confusion_matrix(y, found),
            "loss": sklearn.metrics.log_loss(y, p),
            "weights": w,
        }

    return f, [(*_samples(1), 0.5), (*_samples(2), 0.3), (*_samples(3), 1.0)], None


@program
def a_curve_that_rises() -> Any:
    """The array that a compiled function writes into is the caller's, and is read afterwards."""

    def f(y, weights):
        fitted = minmax_scale(y)
        _inplace_contiguous_isotonic_regression(fitted, weights)
        return fitted, float(np.sum(weights * (fitted - y) ** 2)), np.diff(fitted).min() >= 0

    def calls():
        rng = np.random.default_rng(8)
        return [(np.cumsum(rng.normal(0.2, 1, 12)), np.ones(12)) for _ in range(3)]

    return f, calls(), None


@program
def distances_in_steps() -> Any:
    """Lloyd's algorithm with a library's distances: each step of a short loop is a call."""

    def f(points, centres):
        for _ in range(4):
            far = sklearn.metrics.pairwise.euclidean_distances(points, centres)
            nearest = far.argmin(axis=1)
            centres = np.array([points[nearest == k].mean(axis=0) for k in range(len(centres))])
        return centres, nearest, sklearn.metrics.pairwise.manhattan_distances(centres)

    def calls():
        rng = np.random.default_rng(4)
        return [
            (rng.normal(size=(20, 2)) + 3 * (np.arange(20) % 2)[:, None], np.array([[0.0, 0], [3.0, 3]]))
            for _ in range(3)
        ]

    return f, calls(), None
