"""Distributions of whole numbers against SciPy's, with their derivatives by the shapes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as theirs

import tracejit as tj
from tracejit.scipy import discrete
from tracejit.scipy.distributions import Distribution

OURS = {n: x for n, x in vars(discrete).items() if isinstance(x, Distribution)}
#: Shapes, and the place of one that may move.
SHAPES = {
    "bernoulli": ((0.3,), None),
    "binom": ((7.0, 0.4), 1),
    "geom": ((0.4,), 0),
    "nbinom": ((2.5, 0.4), 1),
    "poisson": ((1.7,), 0),
    "betabinom": ((7.0, 1.3, 2.1), 1),
    "betanbinom": ((5.0, 2.3, 2.1), 1),
    "boltzmann": ((0.7, 6.0), 0),
    "dlaplace": ((0.8,), 0),
    "hypergeom": ((20.0, 7.0, 12.0), None),
    "logser": ((0.6,), 0),
    "nhypergeom": ((20.0, 7.0, 5.0), None),
    "planck": ((0.51,), 0),
    "randint": ((-2.0, 5.0), None),
    "skellam": ((1.7, 0.9), 0),
    "yulesimon": ((2.5,), 0),
    "zipf": ((2.2,), None),
    "zipfian": ((1.3, 9.0), None),
}
X = np.array([-3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 2.5, 7.0, 30.0])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(OURS))
def test_values_and_derivatives(name: str) -> None:
    shapes, moves = SHAPES[name]
    for method in ("pmf", "logpmf", "cdf", "sf", "logsf"):
        if OURS[name]._formula(method) is None:
            continue
        f = lambda x, *s, m=method: getattr(getattr(theirs, name), m)(x, *s)
        with np.errstate(all="ignore"):
            want = f(X, *shapes)
        np.testing.assert_allclose(tj.jit(f)(X, *shapes), want, rtol=1e-9, atol=1e-13, err_msg=method)
    if moves is None:
        return
    at = np.array([1.0, 2.0, 4.0])

    def g(s):
        return getattr(theirs, name).logpmf(at, *shapes[:moves], s, *shapes[moves + 1 :]).sum()

    near = (g(shapes[moves] + 1e-6) - g(shapes[moves] - 1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(g))(shapes[moves]), near, rtol=1e-5)
