"""Continuous distributions, gammas too: against SciPy, and the same under every transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import tracejit as tj
from tracejit import random
from tracejit.errors import RandomArgumentError

N = 20000
# A correct sampler fails each of these with probability 1e-6; the seeds are fixed.
LEVEL = 1e-6

CONTINUOUS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniform": (lambda k, s: random.uniform(k, s, minval=-2, maxval=3), st.uniform(-2, 5)),
    "normal": (random.normal, st.norm()),
    "lognormal": (lambda k, s: random.lognormal(k, 0.7, s), st.lognorm(0.7)),
    "truncated_normal": (lambda k, s: random.truncated_normal(k, -1.0, 2.0, s), st.truncnorm(-1, 2)),
    "exponential": (random.exponential, st.expon()),
    "gumbel": (random.gumbel, st.gumbel_r()),
    "laplace": (random.laplace, st.laplace()),
    "logistic": (random.logistic, st.logistic()),
    "cauchy": (random.cauchy, st.cauchy()),
    "rayleigh": (lambda k, s: random.rayleigh(k, 2.0, s), st.rayleigh(scale=2)),
    "weibull_min": (lambda k, s: random.weibull_min(k, 2.0, 1.5, s), st.weibull_min(1.5, scale=2)),
    "pareto": (lambda k, s: random.pareto(k, 3.0, s), st.pareto(3)),
    "triangular": (lambda k, s: random.triangular(k, -1.0, 0.5, 2.0, s), st.triang(0.5, -1, 3)),
    "maxwell": (random.maxwell, st.maxwell()),
    "wald": (lambda k, s: random.wald(k, 2.0, s), st.invgauss(2.0)),
    "gamma": (lambda k, s: random.gamma(k, 2.5, s), st.gamma(2.5)),
    "gamma below 1": (lambda k, s: random.gamma(k, 0.3, s), st.gamma(0.3)),
    "loggamma": (lambda k, s: random.loggamma(k, 0.8, s), st.loggamma(0.8)),
    "beta": (lambda k, s: random.beta(k, 0.7, 2.0, s), st.beta(0.7, 2.0)),
    "chisquare": (lambda k, s: random.chisquare(k, 3.0, s), st.chi2(3)),
    "t": (lambda k, s: random.t(k, 4.0, s), st.t(4)),
    "f": (lambda k, s: random.f(k, 5.0, 7.0, s), st.f(5, 7)),
    "generalized_normal": (lambda k, s: random.generalized_normal(k, 1.5, s), st.gennorm(1.5)),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_numbers_have_the_distribution(name: str) -> None:
    draw, law = CONTINUOUS[name]
    x = draw(random.key(11), (N,))
    assert x.shape == (N,) and x.dtype == np.float64
    assert st.kstest(x, law.cdf).pvalue > LEVEL


@pytest.mark.sample(14)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_same_numbers_under_every_transformation(name: str, thorough: bool) -> None:
    draw, _ = CONTINUOUS[name]
    keys = random.split(random.key(13), 3)

    def three(k: Any) -> Any:
        return draw(k, (2, 3))

    rows = np.stack([three(k) for k in keys])
    close = {"rtol": 1e-12, "atol": 1e-14}
    if thorough:
        np.testing.assert_allclose(tj.jit(three)(keys[0]), rows[0], **close)
        np.testing.assert_allclose(tj.vmap(three)(keys), rows, **close)
    np.testing.assert_allclose(tj.jit(tj.vmap(three))(keys), rows, **close)


@pytest.mark.parametrize("dtype", ["f2", "f4", "bfloat16"])
def test_other_floats(dtype: str) -> None:
    d = tj.numpy.dtype("bfloat16") if dtype == "bfloat16" else np.dtype(dtype)
    for draw in (random.uniform, random.normal, random.exponential, random.gumbel, random.laplace):
        x = draw(random.key(2), (4000,), d)
        assert x.dtype == d
        assert np.all(np.isfinite(x.astype(float)))
    u = random.uniform(random.key(2), (4000,), d).astype(float)
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.03


@pytest.mark.parametrize(
    "call",
    [
        lambda k: random.normal(k, (3,), dtype=int),
        lambda k: random.normal(k, (3,), dtype=complex),
        lambda k: random.gamma(k, np.ones(3), (2,)),
    ],
)
def test_arguments_that_make_no_sense_are_named(call: Any) -> None:
    with pytest.raises(RandomArgumentError):
        call(random.key(0))
