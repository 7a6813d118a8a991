"""The distribution function of normal vectors: SciPy's values, slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import tracejit as tj
from tests.scipy.beside import check_slope, check_values
from tracejit.errors import ArgumentError

#: The stubs of SciPy take numbers alone.
THEIRS: Any = stats
multivariate_normal = THEIRS.multivariate_normal
MEAN, ROOT = np.array([0.1, 0.2]), np.array([[1.2, 0.0], [0.5, 0.9]])
X = np.array([[0.3, 0.5], [-1.0, 2.0], [0.0, 0.0], [0.0, 1.0], [-3.0, 0.2], [1.0, -1.0]])
GIVEN, STUDENT, MATRICES = (
    multivariate_normal(MEAN, ROOT @ ROOT.T),
    THEIRS.multivariate_t(MEAN, ROOT @ ROOT.T, 5),
    THEIRS.wishart(4, ROOT @ ROOT.T),
)


def of_root(x: Any, mean: Any, root: Any) -> Any:
    return multivariate_normal.cdf(x, mean, root @ root.T)


def test_two_variables() -> None:
    far = np.concatenate([X, [[np.inf, 0.3], [-np.inf, 2.0], [9.0, 9.0]]])
    check_values(of_root, (far, MEAN, ROOT), 1e-11, 1e-14)
    check_slope(of_root, (X[:2], MEAN, ROOT), (0.3, 0.1), 1e-6, 1e-6, 1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("r", [0.0, 0.92, -0.93, 0.9999])
def test_correlations(r: float) -> None:
    def f(x: Any, r: Any) -> Any:
        return multivariate_normal.cdf(x, cov=np.eye(2) + r * (1 - np.eye(2)))

    check_values(f, (X, np.float64(r)), 1e-10, 1e-13)
    check_slope(lambda r: f(X[:2], r), (np.float64(r),), (0.0, 1e-6), 1e-2, 1e-5, 1e-12)


def test_other_counts_of_variables() -> None:
    check_values(lambda x: multivariate_normal.cdf(x, 0.2, 3.0), (X[:, 0],), 1e-13, 0)
    check_values(lambda x: multivariate_normal.logcdf(x, MEAN, ROOT @ ROOT.T), (X,), 1e-10, 0)
    low = np.array([-0.5, 0.7])
    check_values(
        lambda x: multivariate_normal.cdf(x, MEAN, ROOT @ ROOT.T, lower_limit=low), (X,), 1e-10, 1e-13
    )
    root = np.array([[1.2, 0, 0], [0.5, 0.9, 0], [0.1, -0.4, 1]])

    def three(x: Any) -> Any:
        return multivariate_normal.cdf(x, cov=root @ root.T, rng=3)

    at = np.array([0.3, 0.5, 0.1])
    check_values(three, (at,), 1e-4, 0)
    slope = tj.jit(tj.grad(three))(at)
    near = [(three(at + h) - three(at - h)) / 0.2 for h in 0.1 * np.eye(3)]
    np.testing.assert_allclose(slope, near, rtol=1e-2)
    with pytest.raises(ArgumentError, match="rng"):
        tj.grad(lambda x: multivariate_normal.cdf(x, cov=root @ root.T))(at)


def test_frozen_outside() -> None:
    def f(x: Any) -> Any:
        return (
            GIVEN.pdf(x),
            GIVEN.cdf(x, lower_limit=np.array([-1.0, 0.7])),
            STUDENT.logpdf(x),
            GIVEN.entropy(),
        )

    check_values(f, (X,), 1e-10, 1e-13)
    check_values(lambda root: MATRICES.logpdf(root @ root.T), (ROOT,), 1e-12, 0)
