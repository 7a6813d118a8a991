from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax

RNG = np.random.default_rng(3)
X = RNG.standard_normal(700)


def take(x: Any, i: Any) -> Any:
    return x[i]


def loops_of(f: Any, *args: Any) -> str:
    return tj.jit(f).lower(*args).as_text("loops")


@pytest.mark.parametrize("size", [63, 64, 256, 257, 5000])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16, np.uint64])
def test_indices_of_all_kinds(size: int, dtype: Any) -> None:
    low = 0 if np.dtype(dtype).kind == "u" else -700
    i = RNG.integers(low, 700, size).astype(dtype)
    np.testing.assert_array_equal(tj.jit(take)(X, i), X[i])
    assert ("failed" in loops_of(take, X, i)) == (size >= 64)


@pytest.mark.parametrize("place", [0, 1, 255, 256, 2047, 2500, 4999])
@pytest.mark.parametrize("wrong", [700, -701, 2**62, -(2**62)])
def test_the_first_wrong_index_is_named(place: int, wrong: int) -> None:
    i = RNG.integers(-700, 700, 5000)
    i[place] = wrong
    i[place + 1 :][::50] = 12345  # later ones are not
    f = tj.jit(take)
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 700"):
        f(X, i)
    i[:] = 5
    np.testing.assert_array_equal(f(X, i), X[i])


def test_several_checks() -> None:
    """The first axis is checked first, wherever the wrong indices are."""
    m = RNG.standard_normal((30, 40))
    i, j = RNG.integers(-30, 30, 3000), RNG.integers(-40, 40, 3000)
    f = tj.jit(lambda m, i, j: m[i, j])
    np.testing.assert_array_equal(f(m, i, j), m[i, j])
    j[10], i[2900] = 40, 30
    with pytest.raises(IndexError, match="index 30 is out of bounds for axis 0"):
        f(m, i, j)
    i[2900] = 0
    with pytest.raises(IndexError, match="index 40 is out of bounds for axis 1"):
        f(m, i, j)


def test_shapes_and_views() -> None:
    i = RNG.integers(-700, 700, (60, 50))
    f = tj.jit(take)
    for index in (i, i.T, i[::2], i[:, ::-1], i[:, :, None]):
        np.testing.assert_array_equal(f(X, index), X[index])


def test_computed_and_overwritten_indices() -> None:
    def chase(i: Any) -> Any:
        i[:] = i[(i * 7 + 3) % i.size - i.size]
        return i[i]

    mine, theirs = (np.random.default_rng(0).permutation(4000) for _ in range(2))
    np.testing.assert_array_equal(tj.jit(chase)(mine), chase(theirs))
    np.testing.assert_array_equal(mine, theirs)
    mine[5] = theirs[5] = 4000
    with pytest.raises(IndexError, match="4000"):
        chase(theirs)
    with pytest.raises(IndexError, match="4000"):
        tj.jit(chase)(mine)


def test_in_loops() -> None:
    i = RNG.integers(0, 700, (3, 2500))

    def f(x: Any, i: Any) -> Any:
        return lax.scan(lambda c, row: (c + x[row], x[row].sum()), np.zeros(2500), i)

    total, sums = tj.jit(f)(X, i)
    np.testing.assert_allclose(total, X[i].sum(0), rtol=1e-12)
    np.testing.assert_allclose(sums, X[i].sum(1), rtol=1e-12)
    i[1, 2000] = -701
    with pytest.raises(IndexError, match="index -701"):
        tj.jit(f)(X, i)


def test_scatters_write_nothing_before_all_indices_are_right() -> None:
    def f(x: Any, i: Any) -> None:
        x[i] = 0.0

    i = RNG.integers(0, 700, 3000)
    i[2999] = 700
    x = X.copy()
    with pytest.raises(IndexError, match="index 700"):
        tj.jit(f)(x, i)
    np.testing.assert_array_equal(x, X)


def test_every_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    i = RNG.integers(-700, 700, 400_000)
    wrong = i.copy()
    wrong[300_000], wrong[399_999] = 700, 701
    for threads in (1, 2, 3):
        with tj.config.override(num_threads=threads):
            np.testing.assert_array_equal(tj.jit(take)(X, i), X[i])
            with pytest.raises(IndexError, match=r"index 70[01] is out"):
                tj.jit(take)(X, wrong)
