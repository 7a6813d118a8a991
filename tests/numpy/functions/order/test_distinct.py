"""Sets of traced values: NumPy's results, lengths included, and derivatives through the elements taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NumberError
from tracejit.test_util import check_grads

CASES: dict[str, Any] = {
    "unique": lambda x, y: (np.unique(x), len(np.unique(y)), np.unique(x, equal_nan=False)),
    "places": lambda x, y: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "counts": lambda x, y: (*np.unique(x, return_counts=True), *np.unique_counts(y)),
    "inverse": lambda x, y: np.unique(x.reshape(1, -1), return_inverse=True),
    "of a part": lambda x, y: (np.unique(x[x > 0]),),
    "intersection": lambda x, y: (np.intersect1d(x, y), *np.intersect1d(x, y, return_indices=True)),
    "of unique ones": lambda x, y: np.intersect1d(np.unique(x), np.unique(y), True, True),
    "difference": lambda x, y: (np.setdiff1d(x, y), np.setdiff1d(x, y, assume_unique=True)),
    "either": lambda x, y: (np.setxor1d(x, y), np.union1d(x, y)),
    "among": lambda x, y: (np.isin(x, y[y > 1]), x[np.isin(x, y)]),
    "trimmed": lambda x, y: (np.trim_zeros(x), np.trim_zeros(x, "f"), np.trim_zeros(y, "b")),
}
X = [2, 0, -1, 2, 3, 0, 0], [0, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]
Y = [3, -1, 9], [0, 0, 0], [8, 8, 9]


def same(got: Any, want: Any) -> None:
    for g, w in zip(np.atleast_1d(*got), np.atleast_1d(*want), strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_array_equal(g, w)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_traced_sets_are_numpys(name: str, dtype: Any) -> None:
    f = CASES[name]
    jitted = tj.jit(lambda x, y: tuple(f(x, y)))
    for x, y in zip(X, Y, strict=True):
        a, b = np.array(x, dtype), np.array(y, dtype)
        same(jitted(a, b), tuple(f(a, b)))
        if dtype == np.float64:
            a[1:3] = np.nan
            same(jitted(a, b), tuple(f(a, b)))
    assert jitted.trace_count == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_of_nothing(name: str) -> None:
    a, b = np.zeros(0), np.ones(2)
    for x, y in ((a, b), (b, a), (a, a)):
        same(tj.jit(lambda x, y: tuple(CASES[name](x, y)))(x, y), tuple(CASES[name](x, y)))


def test_zeros_of_both_signs_are_left_to_python() -> None:
    x = np.array([0.0, -0.0, 1.0])
    f = lambda x: np.unique(x)
    with pytest.raises(NumberError, match="sign of the zero"):
        tj.jit(f)(x)
    assert np.signbit(tj.jit(f, fallback=True)(x)).tolist() == np.signbit(np.unique(x)).tolist()
    assert np.signbit(tj.jit(f)(-np.abs(x[1:]))).tolist() == [True, True]


def test_derivatives_pass_through_the_elements_that_are_taken() -> None:
    x = np.array([0.5, 2.0, -1.0, 1.25, 3.0])
    for f in (
        lambda x: (np.unique(x) * np.arange(1.0, 6.0)).sum(),
        lambda x: (np.setdiff1d(x, [7.0]) ** 3).sum(),
        lambda x: np.sin(np.intersect1d(x, x[1:3])).prod(),
        lambda x: np.union1d(x, 2 * x)[-1] ** 2,
        lambda x: np.trim_zeros(np.where(x > 1, x, 0)).prod(),
    ):
        check_grads(f, (x,), order=1)
        np.testing.assert_allclose(tj.jit(tj.grad(f))(x), tj.grad(f)(x), rtol=1e-12)
