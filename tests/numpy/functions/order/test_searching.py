"""Results of given length: `size=` under jit and vmap, against padding by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.errors import ArgumentError, DataDependentShapeError

RNG = np.random.default_rng(1)
A = RNG.integers(-1, 2, (3, 4))
SIZES = [0, 1, 5, 12, 20]


def fitted(x: Any, size: int, fill: Any) -> Any:
    out = np.full((size, *np.shape(x)[1:]), fill, np.asarray(x).dtype)
    out[: len(x)] = x[:size]
    return out


@pytest.mark.parametrize("size", SIZES)
def test_nonzero(size: int) -> None:
    for a in (A, A * 0, A[0], A > 0, A * 0.5, A + 1j * A, np.zeros((2, 0))):
        f = lambda a: tnp.nonzero(a, size=size, fill_value=-7)
        for got in (f(a), tj.jit(f)(a)):
            for g, w in zip(got, np.nonzero(a), strict=True):
                assert g.dtype == np.int64
                np.testing.assert_array_equal(g, fitted(w, size, -7))
    lanes = tj.vmap(lambda r: tnp.flatnonzero(r, size=size))(A)
    np.testing.assert_array_equal(lanes, [fitted(np.flatnonzero(r), size, 0) for r in A])
    got = tj.jit(lambda a: np.where(a > 0, size=size, fill_value=(9, 8)))(A)
    for g, w, fill in zip(got, np.where(A > 0), (9, 8), strict=True):
        np.testing.assert_array_equal(g, fitted(w, size, fill))
    np.testing.assert_array_equal(
        tj.jit(lambda a: np.argwhere(a, size=size))(A), fitted(np.argwhere(A), size, 0)
    )


@pytest.mark.parametrize("size", SIZES)
def test_compress_and_extract(size: int) -> None:
    x = A * 1.5
    got = tj.jit(lambda a: np.extract(a > 0, a, size=size, fill_value=-1.0))(x)
    np.testing.assert_array_equal(got, fitted(x[x > 0], size, -1.0))
    mask = np.array([True, False, True])
    f = lambda m, a: tnp.compress(m, a, 0, size=size)
    np.testing.assert_array_equal(tj.jit(f)(mask, x), fitted(x[mask], size, 0))
    g = tj.grad(lambda a: (f(mask, a) ** 2).sum())(x)
    np.testing.assert_allclose(
        g,
        np.where(np.arange(3)[:, None] < (size + 1) // 2 * 3, 2 * x, 0) * mask[:, None]
        if size > 1
        else 2 * x * (np.arange(3) < size)[:, None],
    )


def test_what_has_no_length_says_so() -> None:
    with pytest.raises(DataDependentShapeError, match=r"size=n") as e:
        tj.vmap(lambda x: np.unique(x))(A)
    assert "numpy.unique" in str(e.value)
    with pytest.raises(ArgumentError):
        tj.jit(lambda x: np.nonzero(x[0, 0]))(A)
    with pytest.raises(ArgumentError):
        tnp.nonzero(A, size=3, fill_value=(1, 2, 3))


def test_digitize_and_searchsorted_refuse() -> None:
    for f in (
        lambda x: np.searchsorted(x, 1.0),
        lambda x: np.searchsorted(x[0], 1.0, side="middle"),
        lambda x: np.digitize(x, [1.0, 3.0, 2.0]),
        lambda x: np.digitize(x, [[1.0]]),
    ):
        with pytest.raises(ValueError, match=r"TJ|monotonically"):
            tj.jit(f)(A * 1.0)


def test_isin_by_sorting() -> None:
    x, t = RNG.integers(0, 50, (40, 5)), RNG.integers(0, 50, 30)
    for way in (tj.jit, lambda f: tj.vmap(f, (0, None))):
        np.testing.assert_array_equal(way(lambda x, t: np.isin(x, t))(x, t), np.isin(x, t))
    np.testing.assert_array_equal(tj.jit(lambda x: np.isin(x, []))(x), np.isin(x, []))
    nan = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(tj.jit(lambda x: np.isin(x, nan))(nan), np.isin(nan, nan))
