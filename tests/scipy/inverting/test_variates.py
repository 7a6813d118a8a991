"""Variates of distributions with traced parameters, beside SciPy's own from the same state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import tracejit as tj
from tracejit.errors import RandomStateError

st: Any = scipy.stats
DRAWS: dict[str, Callable[[float], Any]] = {
    "exponential": lambda x: st.expon.rvs(scale=x, size=4),
    "one exponential": lambda x: st.expon.rvs(0, x),
    "gamma": lambda x: st.gamma.rvs(x, loc=1, scale=x, size=(2, 3)),
    "beta": lambda x: st.beta.rvs(x, 2 * x),
    "counts": lambda x: st.poisson.rvs(x, size=5),
    "one count": lambda x: st.poisson.rvs(x, loc=3),
    "a coin": lambda x: st.bernoulli.rvs(x / 4),
    "inverted": lambda x: st.cauchy.rvs(x, scale=2.0, size=3),
    "a rotation": lambda x: x * st.special_ortho_group.rvs(3),
    "unitary": lambda x: x * st.unitary_group.rvs(2, size=2),
    "a direction": lambda x: x * st.uniform_direction.rvs(3),
    "frozen": lambda x: st.gamma(x, scale=2.0).rvs(size=3),
    "of several scales": lambda x: st.norm.rvs(x, np.array([1.0, 2.0])),
}


@pytest.mark.parametrize("name", DRAWS)
def test_they_are_scipys_from_the_same_state(name: str) -> None:
    draw, seen = DRAWS[name], []
    for f in (draw, tj.jit(draw, fallback=False)):
        np.random.seed(5)
        seen.append([f(x) for x in (1.5, 2.5, 0.5)] + [np.random.random()])
    for want, got in zip(*seen, strict=True):
        assert type(want) is type(got) and np.shape(want) == np.shape(got)
        assert getattr(want, "dtype", None) == getattr(got, "dtype", None)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_parameters_out_of_the_domain_are_refused_as_scipy_does() -> None:
    f = tj.jit(lambda x: st.expon.rvs(scale=x))
    assert f(1.0) >= 0
    with pytest.raises(ValueError, match=r"Domain error.*scipy\.stats\.expon"):
        f(-1.0)


def test_a_scale_of_zero_draws_nothing() -> None:
    f = tj.jit(lambda x: st.norm.rvs(3.0, x, size=2), fallback=True)
    np.random.seed(1)
    before = np.random.get_state()[2]  # type: ignore[index]
    assert f(0.0).tolist() == [3.0, 3.0] and np.random.get_state()[2] == before  # type: ignore[index]


def test_a_distribution_of_outside_draws_from_its_own_generator() -> None:
    def made(seed: int) -> Any:
        d = st.norm(0, 1.0)
        d.random_state = np.random.default_rng(seed)
        return d

    f = tj.jit(lambda d, x: d.rvs(size=2) * x, fallback=False)
    for seed in (1, 2, 1):
        ours, theirs = made(seed), made(seed)
        for _ in range(2):
            np.testing.assert_array_equal(f(ours, 2.0), theirs.rvs(size=2) * 2.0)


def test_a_generator_that_traced_code_gives_to_a_distribution_is_refused() -> None:
    def f(x: float) -> Any:
        d = st.gamma(2.0)
        d.random_state = 3
        return d.rvs(size=2) * x

    with pytest.raises(RandomStateError):
        tj.jit(f, fallback=False)(1.0)
