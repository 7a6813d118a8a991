"""Sets: unique with a given length, derivatives, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.errors import ArgumentError, DataDependentShapeError

I = np.array([[3, 1, 3], [7, 1, 1]])  # noqa: E741
N = np.array([2.0, np.nan, 1.0, np.nan, 2.0])


@pytest.mark.parametrize("size", [0, 1, 3, 5])
def test_unique_of_a_given_length(size: int) -> None:
    def f(x: Any) -> Any:
        return np.unique(x, return_index=True, return_inverse=True, return_counts=True, size=size)

    values, first, inverse, counts = tj.jit(f)(I)
    want = np.unique(I, return_index=True, return_inverse=True, return_counts=True)
    n = min(size, 3)
    np.testing.assert_array_equal(values[:n], want[0][:n])
    np.testing.assert_array_equal(values[n:], 1)
    np.testing.assert_array_equal(first[:n], want[1][:n])
    np.testing.assert_array_equal(inverse, want[2])
    np.testing.assert_array_equal(counts[:n], want[3][:n])
    np.testing.assert_array_equal(counts[n:], 0)
    lanes = tj.vmap(lambda r: np.unique(r, size=3, fill_value=-1))(I)
    np.testing.assert_array_equal(lanes, [[1, 3, -1], [1, 7, -1]])
    np.testing.assert_array_equal(tnp.unique(I, size=2), [1, 3])


def test_nan_counts_once_or_each() -> None:
    got = tj.jit(lambda x: np.unique(x, size=5, fill_value=0.0, return_counts=True))(N)
    np.testing.assert_array_equal(got[0], [1, 2, np.nan, 0, 0])
    np.testing.assert_array_equal(got[1], [1, 2, 2, 0, 0])
    got = tj.jit(lambda x: np.unique(x, size=5, fill_value=0.0, equal_nan=False))(N)
    np.testing.assert_array_equal(got, [1, 2, np.nan, np.nan, 0])
    got = tj.jit(lambda x: tuple(np.unique_counts(x, size=4)))(N)
    np.testing.assert_array_equal(got[1], [1, 2, 1, 1])


def test_derivatives_go_to_the_first() -> None:
    x = np.array([2.0, 1.0, 2.0, 3.0])
    w = np.array([10.0, 20.0, 30.0])
    for size in (None, 3):
        np.testing.assert_array_equal(
            tj.grad(lambda x: (np.unique(x, size=size) * w).sum())(x), [20, 10, 0, 30]
        )
    np.testing.assert_array_equal(tj.grad(lambda x: np.union1d(x, x * 2)[-1])(x), [0, 0, 0, 2])
    np.testing.assert_array_equal(tj.grad(lambda x: np.setdiff1d(x, [2.0]).sum())(x), [0, 1, 0, 1])
    np.testing.assert_array_equal(tj.grad(lambda x: np.intersect1d(x, [3.0, 1.0])[1])(x), [0, 0, 0, 1])
    np.testing.assert_array_equal(tj.grad(lambda x: (np.trim_zeros(x * (x > 1)) ** 2).sum())(x), [4, 0, 4, 6])


def test_refusals() -> None:
    for f in (
        lambda x: np.union1d(x, x), lambda x: np.intersect1d(x, x), lambda x: np.setdiff1d(x, x),
        lambda x: np.setxor1d(x, x), lambda x: np.trim_zeros(x), lambda x: np.unique_all(x),
    ):  # fmt: skip
        with pytest.raises(DataDependentShapeError):
            tj.vmap(f)(N.reshape(1, 5))
    for f in (
        lambda x: np.unique(x.reshape(1, 5), axis=0),
        lambda x: np.unique(x * 1j),
        lambda x: np.unique(x, sorted=False),  # in the order of a table of NumPy's
        lambda x: np.unique_values(x),
    ):
        with pytest.raises(DataDependentShapeError):
            tj.jit(f)(N)
    for f in (
        lambda x: np.unique(x, axis=0, size=2),
        lambda x: np.unique(x[:0], size=2),
        lambda x: np.trim_zeros(x, "q"),
    ):
        with pytest.raises(ArgumentError):
            tj.jvp(f, (I * 1.0,), (I * 1.0,))
