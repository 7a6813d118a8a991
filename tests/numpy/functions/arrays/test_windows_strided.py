"""`as_strided` of traced arrays: NumPy's own views, read where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tracejit as tj

X = np.arange(24.0).reshape(4, 6)

VIEWS = {
    "windows of a vector": lambda a: as_strided(a[0], (4, 3), a[0].strides * 2),
    "every second window": lambda a: as_strided(a[1], shape=(2, 3), strides=(16, 8)),
    "windows of rows": lambda a: as_strided(a, (4, 4, 3), (*a.strides, a.strides[-1])),
    "windows of columns": lambda a: as_strided(a.T, (6, 3, 2), (*a.T.strides, a.T.strides[-1])),
    "a diagonal": lambda a: as_strided(a, (4,), (a.strides[0] + a.strides[1],)),
    "a part": lambda a: np.lib.stride_tricks.as_strided(a, (2, 2), writeable=False),
    "rows again and again": lambda a: as_strided(a, (3, *a.shape), (0, *a.strides)),
    "booleans": lambda a: as_strided(a[0] > 2, (4, 3), (1, 1)),
    "the first elements": lambda a: as_strided(a, (3,)),
    "in the order of the array": lambda a: as_strided(a.T, (2, 2)),
    "nothing": lambda a: as_strided(a, (0, 3), (8, 8)),
    "of every second element": lambda a: as_strided(a[::2, ::3], (2, 2), a[::2, ::3].strides),
}


@pytest.mark.parametrize("name", VIEWS)
def test_they_are_numpys(name: str) -> None:
    f = VIEWS[name]
    got = tj.jit(lambda a: f(a) * 1, fallback=False)(X)
    np.testing.assert_array_equal(got, f(X) * 1, strict=True)


def test_a_view_that_is_handed_out_is_one_of_the_argument() -> None:
    x = X.copy()
    got = tj.jit(lambda a: as_strided(a, (4,), (56,)), fallback=False)(x)
    assert np.shares_memory(got, x) and got.tolist() == [0, 7, 14, 21] and got.flags.writeable
    x[1, 1] = -1
    assert got[1] == -1


def test_later_writes_are_seen() -> None:
    def f(a: Any) -> Any:
        a = a.copy()
        windows = as_strided(a, (5, 2), (8, 8))
        a[2] = 100
        return windows.sum(1)

    x = np.arange(6.0)
    assert tj.jit(f, fallback=False)(x).tolist() == f(x).tolist()


def test_their_derivative_counts_each_place() -> None:
    def f(a: Any) -> Any:
        return (as_strided(a, (4, 3), (8, 8)) ** 2).sum()

    x = np.arange(6.0)
    assert tj.jit(tj.grad(f))(x).tolist() == (2 * x * [1, 2, 3, 3, 2, 1]).tolist()


def test_what_is_outside_and_what_is_written_is_left_to_python() -> None:
    def outside(a: Any) -> Any:
        return as_strided(a[::2], (4,), (8,)) + 1

    def written(a: Any) -> Any:
        a = a.copy()
        as_strided(a, (4, 3), (8, 8))[:] += 1
        return a

    x = np.arange(6.0)
    for f in (outside, written):
        with pytest.raises(tj.errors.UnfollowedError):
            tj.jit(f, fallback=False)(x)
        with pytest.warns(tj.errors.FallbackWarning):
            assert tj.jit(f, fallback=True)(x).tolist() == f(x).tolist()
    with pytest.raises(ValueError, match="mismatch"):
        tj.jit(lambda a: as_strided(a, (2, 2), (8,)), fallback=False)(x)
