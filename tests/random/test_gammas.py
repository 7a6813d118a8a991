"""Gamma variates: derivatives and edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st

import tracejit as tj
from tracejit import random

N = 20000
# A correct sampler fails each of these with probability 1e-6; the seeds are fixed.
LEVEL = 1e-6


def test_derivatives_of_draws() -> None:
    key = random.key(5)
    scale = tj.grad(lambda s: random.rayleigh(key, s, (50,)).sum())(2.0)
    assert np.isclose(scale, random.rayleigh(key, 1.0, (50,)).sum())

    def mean(a: Any) -> Any:
        return random.gamma(key, a, (N,)).mean()

    # the mean of the distribution is a
    assert abs(tj.jit(tj.grad(mean))(2.5) - 1) < 0.05
    assert abs(tj.grad(mean)(0.4) - 1) < 0.1
    # x(a) is the a-quantile of a fixed probability: dx/da by SciPy's inverse
    x = random.gamma(key, 1.7, (20,))
    p, h = st.gamma(1.7).cdf(x), 1e-5
    want = (st.gamma(1.7 + h).ppf(p) - st.gamma(1.7 - h).ppf(p)) / (2 * h)
    got = tj.jvp(lambda a: random.gamma(key, a, (20,)), (1.7,), (1.0,))[1]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_edges() -> None:
    key = random.key(10)
    assert np.isnan(random.gamma(key, np.array([np.nan, -1.0]))).all()
    assert random.gamma(key, 0.0) == 0 and random.gamma(key, np.inf) == np.inf
