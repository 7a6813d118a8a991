"""Random vectors and matrices, and those made of gamma variates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from tracejit import random
from tracejit.errors import RandomArgumentError

N = 20000
# A correct sampler fails each of these with probability 1e-6; the seeds are fixed.
LEVEL = 1e-6


def test_vectors_and_matrices() -> None:
    key = random.key(6)
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    for method in ("cholesky", "eigh", "svd"):
        x = random.multivariate_normal(key, mean, cov, (N,), method=method)
        assert np.allclose(x.mean(0), mean, atol=0.05) and np.allclose(np.cov(x.T), cov, atol=0.08)
    q = random.orthogonal(key, 4, (3,))
    assert np.allclose(q @ q.swapaxes(1, 2), np.eye(4), atol=1e-12)
    d = random.dirichlet(key, np.array([1.0, 2.0, 3.0]), (N,))
    assert np.allclose(d.sum(1), 1) and np.allclose(d.mean(0), [1 / 6, 2 / 6, 3 / 6], atol=0.01)
    b = random.ball(key, 3, shape=(N,))
    radius = np.linalg.norm(b, axis=1)
    assert st.kstest(radius, lambda r: np.clip(r, 0, 1) ** 3).pvalue > LEVEL
    m = random.multinomial(key, 10, np.array([0.2, 0.3, 0.5]), (2000, 3))
    assert np.all(m.sum(1) == 10) and np.allclose(m.mean(0), [2, 3, 5], atol=0.15)


@pytest.mark.parametrize(
    "call",
    [
        lambda k: random.multivariate_normal(k, np.zeros(2), np.eye(3)),
        lambda k: random.multivariate_normal(k, np.zeros(2), np.eye(2), method="lu"),
    ],
)
def test_arguments_that_make_no_sense_are_named(call: Any) -> None:
    with pytest.raises(RandomArgumentError):
        call(random.key(0))


def test_large_balls_are_compiled() -> None:
    key = random.key(3)
    x = random.ball(key, 3, 1.5, (5000,))
    assert x.shape == (5000, 3) and ((np.abs(x) ** 1.5).sum(-1) <= 1).all()
