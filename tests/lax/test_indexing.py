"""Windows that move and paddings, against loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import ShapeError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(2)
X = RNG.normal(size=(4, 5))
PADS = list(itertools.product(range(-4, 4), range(-4, 4), range(3)))


def padded(x: Any, lo: int, hi: int, inner: int, value: float) -> Any:
    width = len(x) + max(len(x) - 1, 0) * inner
    wide = np.full(width, value)
    wide[:: inner + 1] = x
    return np.array([wide[i] if 0 <= i < width else value for i in range(-lo, width + hi)])


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", range(5))
def test_pad(n: int) -> None:
    x = RNG.normal(size=n)
    for lo, hi, inner in PADS:
        f = lambda x, v, c=(lo, hi, inner): lax.pad(x, v, [c])
        if n + max(n - 1, 0) * inner + lo + hi < 0:
            with pytest.raises(ShapeError):
                f(x, 2.0)
            continue
        want = padded(x, lo, hi, inner, 2.0)
        np.testing.assert_array_equal(f(x, 2.0), want)
        if (lo + 2 * hi + inner) % 7 == 0:
            np.testing.assert_array_equal(tj.jit(f)(x, 2.0), want)
            check_grads(f, (x, 2.0), order=2)


@pytest.mark.parametrize("i, j", list(itertools.product([-9, -4, -1, 0, 2, 9], [-9, -3, 1, 5, 9])))
def test_windows_move_inside(i: int, j: int) -> None:
    a = min(max(i + 4 if i < 0 else i, 0), 2)
    b = min(max(j + 5 if j < 0 else j, 0), 2)
    f = lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3))
    for got in (
        f(X, i, j),
        tj.jit(f)(X, i, j),
        tj.vmap(f, (None, 0, 0))(X, np.array([i, 0]), np.array([j, 0]))[0],
    ):
        np.testing.assert_array_equal(got, X[a : a + 2, b : b + 3])
    want = X.copy()
    want[a : a + 2, b : b + 3] = 1
    g = lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j))
    for way in (g, tj.jit(g)):
        np.testing.assert_array_equal(way(X, np.ones((2, 3)), i, j), want)


@pytest.mark.parametrize("s", [slice(None, None, -2), slice(4, 0, -1), slice(1, None, 3), slice(-1, -4, -1)])
def test_strided_slices(s: slice) -> None:
    f = lambda x: x[:, s] ** 2
    np.testing.assert_array_equal(tj.jit(f)(X), X[:, s] ** 2)
    np.testing.assert_array_equal(tj.vmap(lambda x: x[s] ** 2)(X), X[:, s] ** 2)
    check_grads(f, (X,), order=2)


def test_one_entry_is_along_the_first_axis_unless_told() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert lax.dynamic_index_in_dim(x, 1).tolist() == [[3, 4, 5]]
    assert lax.dynamic_index_in_dim(x, 1, keepdims=False).tolist() == [3, 4, 5]
    assert lax.dynamic_index_in_dim(x, 1, -1, keepdims=False).tolist() == [1, 4]
