"""Sums of probabilities and quantiles of whole numbers, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tracejit as tj

Q = np.array([0.0, 1e-9, 0.03, 0.25, 0.5, 0.77, 0.97, 1.0, 1.5, np.nan])
SHAPES: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,),
    "betabinom": (7.0, 1.3, 2.1),
    "binom": (7.0, 0.4),
    "dlaplace": (0.8,),
    "hypergeom": (20.0, 7.0, 12.0),
    "nbinom": (2.5, 0.4),
    "poisson": (1.7,),
    "randint": (-2.0, 5.0),
    "skellam": (1.7, 0.9),
    "zipfian": (1.3, 9.0),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_quantiles(name: str) -> None:
    d, shapes = getattr(stats, name), SHAPES[name]
    for m in ("ppf", "isf"):
        f = lambda q, *s, method=m: getattr(d, method)(q, *s, loc=2)
        np.testing.assert_array_equal(tj.jit(f)(Q, *shapes), f(Q, *shapes), err_msg=m)


def test_shapes_that_are_none() -> None:
    f = tj.jit(
        lambda p: (stats.nbinom.ppf(0.3, 2.0, p), stats.zipf.cdf(3, p), stats.betabinom.cdf(2, 3, p, 1.0))
    )
    assert np.isnan(f(-1.0)).all()


def test_a_sum_differentiates() -> None:
    f = lambda a: stats.betabinom.cdf(3.0, 7.0, a, 2.1)
    near = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(f))(1.3), near, rtol=1e-6)
