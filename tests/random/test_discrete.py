"""Discrete distributions: against SciPy, and the same under every transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import tracejit as tj
from tracejit import dtypes, random
from tracejit.errors import RandomArgumentError, ShapeError

N = 20000
# A correct sampler fails each of these with probability 1e-6; the seeds are fixed.
LEVEL = 1e-6

DISCRETE: dict[str, tuple[Callable[..., Any], Any]] = {
    "randint": (lambda k, s: random.randint(k, s, -3, 9), st.randint(-3, 9)),
    "integers": (lambda k, s: random.integers(k, 6, shape=s), st.randint(0, 6)),
    "bernoulli": (lambda k, s: random.bernoulli(k, 0.3, s), st.bernoulli(0.3)),
    "geometric": (lambda k, s: random.geometric(k, 0.3, s), st.geom(0.3)),
    "poisson 3": (lambda k, s: random.poisson(k, 3.0, s), st.poisson(3)),
    "poisson 60": (lambda k, s: random.poisson(k, 60.0, s), st.poisson(60)),
    "binomial small": (lambda k, s: random.binomial(k, 20, 0.2, s), st.binom(20, 0.2)),
    "binomial large": (lambda k, s: random.binomial(k, 300, 0.7, s), st.binom(300, 0.7)),
    "categorical": (
        lambda k, s: random.categorical(k, np.log([0.1, 0.2, 0.7]), shape=s),
        st.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7])),
    ),
    "choice": (
        lambda k, s: random.choice(k, 3, s, p=np.array([0.5, 0.2, 0.3])),
        st.rv_discrete(values=([0, 1, 2], [0.5, 0.2, 0.3])),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_numbers_have_the_distribution(name: str) -> None:
    draw, law = DISCRETE[name]
    x = np.asarray(draw(random.key(12), (N,))).astype(int)
    values, counts = np.unique(x, return_counts=True)
    expected = law.pmf(values) * N
    assert np.all(expected > 0)
    enough = expected > 5
    assert np.sum(expected[~enough]) < 0.02 * N
    rest = max(N - expected[enough].sum(), 1e-9)
    chi2 = np.sum((counts[enough] - expected[enough]) ** 2 / expected[enough])
    chi2 += (N - counts[enough].sum() - rest) ** 2 / rest if rest > 5 else 0
    assert st.chi2.sf(chi2, enough.sum()) > LEVEL


@pytest.mark.parametrize("name", DISCRETE)
def test_the_same_numbers_under_every_transformation(name: str, thorough: bool) -> None:
    draw, _ = DISCRETE[name]
    keys = random.split(random.key(13), 3)

    def three(k: Any) -> Any:
        return draw(k, (2, 3))

    rows = np.stack([three(k) for k in keys])
    close = {"rtol": 1e-12, "atol": 1e-14}
    if thorough:
        np.testing.assert_allclose(tj.jit(three)(keys[0]), rows[0], **close)
        np.testing.assert_allclose(tj.vmap(three)(keys), rows, **close)
    np.testing.assert_allclose(tj.jit(tj.vmap(three))(keys), rows, **close)


def test_permutations_and_choices() -> None:
    key = random.key(8)
    p = random.permutation(key, 1000)
    assert sorted(p) == list(range(1000)) and not np.array_equal(p, np.arange(1000))
    rows = random.permutation(key, np.arange(12).reshape(4, 3))
    assert sorted(map(tuple, rows)) == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    each = random.permutation(key, np.arange(12).reshape(4, 3), axis=1, independent=True)
    assert np.array_equal(np.sort(each, 1), np.arange(12).reshape(4, 3))
    some = random.choice(key, np.arange(50), (20,), replace=False)
    assert len(set(some.tolist())) == 20
    weighted = random.choice(key, 4, (2,), replace=False, p=np.array([0.5, 0.5, 0.0, 0.0]))
    assert sorted(weighted) == [0, 1]
    never = random.choice(key, 3, (5000,), p=np.array([0.5, 0.5, 0.0]))
    assert never.max() == 1
    counts = np.bincount(np.concatenate([random.permutation(k, 3)[:1] for k in random.split(key, 600)]))
    assert st.chisquare(counts).pvalue > LEVEL


def test_edges() -> None:
    key = random.key(10)
    assert random.poisson(key, np.array([0.0, np.nan, -1.0, np.inf])).tolist() == [0, -1, -1, -1]
    assert random.binomial(key, np.array([5, 5, 0]), np.array([0.0, 1.0, 0.5])).tolist() == [0, 5, 0]
    assert np.isnan(random.binomial(key, 3, 1.5))
    assert random.randint(key, (3,), 5, 5).tolist() == [5, 5, 5]
    full = random.randint(key, (1000,), -128, 128, np.int8)
    assert full.min() == -128 and full.max() == 127
    assert random.permutation(key, 0).shape == (0,)


@pytest.mark.parametrize(
    "call",
    [
        lambda k: random.randint(k, (3,), 0, 5, float),
        lambda k: random.choice(k, 3, (5,), replace=False),
        lambda k: random.choice(k, 3, (2,), p=np.ones(2)),
    ],
)
def test_arguments_that_make_no_sense_are_named(call: Any) -> None:
    with pytest.raises(RandomArgumentError):
        call(random.key(0))


def test_a_number_where_an_array_is_needed_is_refused() -> None:
    key = random.key(0)
    for call in (lambda: random.categorical(key, 3.0), lambda: random.permutation(key, 3.0)):
        with pytest.raises(RandomArgumentError):
            call()
    for call in (
        lambda: random.normal(key, -1),
        lambda: random.split(key, -1),
        lambda: random.bits(key, (2, -3)),
    ):
        with pytest.raises(ShapeError, match="negative dimensions"):
            call()


def test_truncated_normal_keeps_bfloat16() -> None:
    x = random.truncated_normal(random.key(0), -1.0, 2.0, (100,), dtypes.bfloat16)
    assert x.dtype == dtypes.bfloat16 and (x > -1).all() and (x < 2).all()
