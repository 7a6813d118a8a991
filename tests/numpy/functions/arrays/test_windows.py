"""Sliding windows against NumPy's, and their derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tracejit as tj
from tracejit.test_util import check_grads

X = np.random.default_rng(3).normal(size=(5, 6, 4))
CASES: list[tuple[tuple[int, ...], Any, Any]] = [
    ((5,), 3, None),
    ((5,), 5, 0),
    ((5,), 0, None),
    ((5, 6), (2, 3), None),
    ((5, 6), 4, 1),
    ((5, 6), (2, 3), (1, 0)),
    ((5, 6), (2, 3), (0, 0)),
    ((5, 6, 4), (2, 2), (-1, 0)),
]


@pytest.mark.parametrize(("shape", "window", "axis"), CASES)
def test_windows_are_numpys(shape: tuple[int, ...], window: Any, axis: Any) -> None:
    x = X[tuple(slice(n) for n in shape) + (0,) * (3 - len(shape))]

    def f(x: Any) -> Any:
        return sliding_window_view(x, window, axis)

    want = f(x)
    np.testing.assert_array_equal(tj.jit(f)(x), want)
    np.testing.assert_array_equal(tj.jvp(f, (x,), (x,))[1], want)
    np.testing.assert_array_equal(tj.jit(tj.vmap(f))(np.stack([x, -x])), [want, -want])
    check_grads(lambda x: np.sin(f(x)) * 2, (x,), order=2)


def test_rolling_statistics() -> None:
    def rolling(x: Any) -> Any:
        windows = sliding_window_view(x, 3)
        return windows.mean(axis=-1) + windows.std(axis=-1) + np.median(windows, axis=-1)

    x = X[0, :, 0]
    np.testing.assert_allclose(tj.jit(rolling)(x), rolling(x), rtol=1e-13)


def test_windows_read_what_is_written_into_the_array() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        windows = sliding_window_view(y, 2)
        y[0] = 7
        return windows.sum()

    x = np.arange(4.0)
    assert tj.jit(f)(x) == f(x) == 16


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"window_shape": 7}, "larger than input"),
        ({"window_shape": -1}, "negative"),
        ({"window_shape": (1, 1)}, "2 window sizes for 1 axes"),
        ({"window_shape": 2, "writeable": True}, "cannot be written"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tj.jit(lambda x: sliding_window_view(x, **arguments))(np.ones(4))
    with pytest.raises(ValueError, match="read-only"):
        tj.jit(lambda x: sliding_window_view(x, 2).fill(0))(np.ones(4))
