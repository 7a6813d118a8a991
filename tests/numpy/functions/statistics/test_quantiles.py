"""Quantiles: ends, traced fractions, derivatives, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArgumentTypeError
from tracejit.numpy.functions.statistics.quantiles import METHODS
from tracejit.test_util import check_grads

RNG = np.random.default_rng(4)
A = RNG.normal(size=(5, 7))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
@pytest.mark.sample(20)
def test_every_method_at_every_place(method: str, n: int) -> None:
    x, q = A[0, :n], np.linspace(0, 1, 29)
    holes = np.concatenate([x, [np.nan, np.nan]])
    f = lambda q: (np.quantile(x, q, method=method), np.nanquantile(holes, q, method=method))
    for way in (tj.jit, tj.vmap):
        np.testing.assert_allclose(way(f)(q), f(q), rtol=1e-13)


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", ["linear", "hazen", "median_unbiased"])
def test_derivatives(method: str) -> None:
    check_grads(lambda x, q: np.quantile(x, q, axis=1, method=method), (A, np.array([0.23, 0.61])), order=2)
    holes = A.copy()
    holes[RNG.random(A.shape) < 0.3] = np.nan
    g = tj.jit(tj.grad(lambda x: np.nanquantile(x, 0.4, axis=1, method=method).sum()))(holes)
    assert np.isfinite(g[~np.isnan(holes)]).all()
    np.testing.assert_allclose(np.nansum(g, 1), 1.0)


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_rows_without_numbers() -> None:
    x = np.array([[np.nan, np.nan], [1.0, np.nan]])
    for f in (
        lambda x: np.nanmedian(x, axis=1), lambda x: np.nanquantile(x, 0.3, axis=1), lambda x: np.median(x, axis=0)
    ):  # fmt: skip
        want = (
            np.array([np.nan, 1.0]) if f(x[1:])[0] == 1 and f(x[1:]).size == 1 else np.array([np.nan, np.nan])
        )
        np.testing.assert_array_equal(tj.jit(f)(x), want)


@pytest.mark.filterwarnings("ignore:All-NaN slice")
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_complex_medians_among_infinities_and_nans(n: int) -> None:
    parts = [np.nan, 1.0, -2.0, np.inf, -np.inf]
    rng = np.random.default_rng(n)
    z = rng.choice(parts, (60, n)) + 0j
    z.imag = rng.choice(parts, (60, n))
    z[:2] = np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tj.jit(lambda z: np.median(z, axis=1))(z), np.median(z, axis=1))
        none = tj.jit(lambda z: np.nanmedian(z, axis=1))(z)[np.isnan(z).all(axis=1)]
    np.testing.assert_array_equal(none.real, np.nan)
    np.testing.assert_array_equal(none.imag, 0.0)


def test_refusals() -> None:
    for f in (
        lambda x: np.quantile(x, 1.5),
        lambda x: np.percentile(x, [-1, 5]),
        lambda x: np.quantile(x, 0.5, method="best"),
        lambda x: np.quantile(x, 0.5, weights=x, method="linear"),
    ):
        with pytest.raises(ValueError):
            tj.jit(f)(A)
    with pytest.raises(ArgumentTypeError):
        tj.jit(lambda x: np.quantile(x, 0.5))(A + 1j)
    with pytest.raises(ArgumentTypeError):
        tj.jit(lambda x, w: np.quantile(x, 0.5, weights=w, method="inverted_cdf"))(A, A[0])
