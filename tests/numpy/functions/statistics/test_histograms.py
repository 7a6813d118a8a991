"""Counting under jit and vmap: lengths, edges, weights."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.errors import ArgumentTypeError, DataDependentShapeError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(6)
X = RNG.normal(size=200)
K = RNG.integers(0, 7, 50)


def test_bincount_of_a_given_length() -> None:
    for n in (0, 3, 7, 12):
        want = np.bincount(K, minlength=n)[:n]
        for way in (lambda f: f, tj.jit):
            np.testing.assert_array_equal(way(lambda k, n=n: tnp.bincount(k, length=n))(K), want)
    lanes = tj.vmap(lambda k: np.bincount(k, minlength=7))(K.reshape(5, 10))
    np.testing.assert_array_equal(lanes, [np.bincount(k, minlength=7) for k in K.reshape(5, 10)])
    np.testing.assert_array_equal(tnp.bincount(np.array([-1, 2, -2]), length=3), [0, 0, 1])
    check_grads(lambda w: np.bincount(K, w, 7), (X[:50],), order=2)
    with pytest.raises(DataDependentShapeError, match="length=n"):
        tj.vmap(lambda k: np.bincount(k))(K.reshape(5, 10))
    np.testing.assert_array_equal(tj.jit(lambda k: np.bincount(k))(K), np.bincount(K))


@pytest.mark.sample(4)
@pytest.mark.parametrize("bins", [1, 7, [-1.0, 0.0, 0.5, 3.0], [0.0, 0.0, 1.0]])
@np.errstate(all="ignore")
def test_histogram(bins: object) -> None:
    for density in (False, True):
        f = lambda x: np.histogram(x, bins, density=density)
        for x in (X, np.round(X, 1), np.full(5, 0.5), np.array([0.0, 1.0, 1.0, 3.0])):
            with np.errstate(all="ignore"):
                want = f(x)
            for g, w in zip(tj.jit(f)(x), want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-12)
        rows = X.reshape(4, 50)
        for g, w in zip(tj.vmap(f)(rows), zip(*map(f, rows), strict=True), strict=True):
            np.testing.assert_allclose(g, np.stack(w), rtol=1e-12)
    check_grads(lambda w: np.histogram(X, bins, weights=w)[0], (X * X,), order=2)


def test_refusals() -> None:
    for f in (
        lambda x: np.histogram(x, 0), lambda x: np.histogram(x, [2.0, 1.0]), lambda x: np.histogram(x, 3, (2.0, 1.0)),
        lambda x: np.histogram(x, [[1.0]]), lambda x: np.histogram(x, 3, weights=x[:5]),
        lambda x: np.bincount(x[None].astype(int)), lambda x: np.histogramdd(x, [1, 2]),
        lambda x: np.histogram2d(x, x[:5]),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            tj.jit(f)(X)
    with pytest.raises(ArgumentTypeError):
        tj.jit(lambda x: np.bincount(x))(X)
    with pytest.raises(ValueError, match="no negative elements"):
        tj.jvp(lambda x: np.bincount(x.astype(int)), (-np.ones(3),), (np.ones(3),))


def test_bincount_checks_that_minlength_suffices() -> None:
    f = tj.jit(lambda x: np.bincount(x, minlength=4))
    assert f(np.array([3, 1, 3])).tolist() == [0, 1, 0, 2]
    for g, x in ((f, [1, 7, 3]), (tj.vmap(f), [[1, 7, 3]])):
        with pytest.raises(ValueError, match="7 is beyond minlength=4"):
            g(np.array(x))


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", range(40))
def test_values_at_the_edges_of_equal_bins(seed: int) -> None:
    """Where rounding decides: multiples of a tenth, small integers, numbers of few digits."""
    rng = np.random.default_rng(seed)
    n, bins = int(rng.choice([1, 2, 7, 50, 200])), int(rng.choice([1, 2, 3, 7, 10, 33]))
    x = [
        rng.integers(0, 30, n) / 10,
        np.round(rng.normal(size=n), 1).astype(np.float32),
        np.round(rng.normal(size=n), 1).astype(np.float16),
        rng.integers(-9, 9, n),
        rng.integers(0, 255, n).astype(np.uint8),
        np.linspace(0, 1, n)[rng.permutation(n)],
        np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
    ][seed % 7]
    span = (-0.3, 0.9) if seed % 2 or np.isnan(x).any() else None
    want = np.histogram(x, bins, span)
    for got in (tnp.histogram(x, bins, span), tj.jit(lambda x: np.histogram(x, bins, span))(x)):
        assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
