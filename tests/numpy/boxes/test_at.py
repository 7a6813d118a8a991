"""x.at[...]: functional updates with JAX's out-of-bounds rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit.numpy as tnp
from tests.numpy.running import eager, staged

X = np.arange(5.0)
A = np.arange(12.0).reshape(3, 4)

CASES: dict[str, tuple[Any, Any, Any]] = {
    "set": (lambda at: at[1].set(9.0), X, [0, 9, 2, 3, 4]),
    "set slice": (lambda at: at[1:3].set(9.0), X, [0, 9, 9, 3, 4]),
    "set negative": (lambda at: at[-1].set(9.0), X, [0, 1, 2, 3, 9]),
    "dropped": (lambda at: at[7].set(9.0), X, X),
    "dropped array": (lambda at: at[np.array([1, 7, -9])].add(9.0), X, [0, 10, 2, 3, 4]),
    "clipped": (lambda at: at[7].set(9.0, mode="clip"), X, [0, 1, 2, 3, 9]),
    "add repeated": (lambda at: at[np.array([1, 1, 2])].add(1.0), X, [0, 3, 3, 3, 4]),
    "subtract": (lambda at: at[0].subtract(2.0), X, [-2, 1, 2, 3, 4]),
    "multiply repeated": (lambda at: at[np.array([2, 2])].multiply(3.0), X, [0, 1, 18, 3, 4]),
    "divide": (lambda at: at[1:].divide(2.0), X, [0, 0.5, 1, 1.5, 2]),
    "power": (lambda at: at[2:].power(2), X, [0, 1, 4, 9, 16]),
    "min": (lambda at: at[::2].min(1.0), X, [0, 1, 1, 3, 1]),
    "max": (lambda at: at[np.array([0, 0])].max(np.array([5.0, 2.0])), X, [5, 1, 2, 3, 4]),
    "apply": (lambda at: at[1].apply(np.sqrt), X, [0, 1, 2, 3, 4]),
    "get": (lambda at: at[np.array([1, -1])].get(), X, [1, 4]),
    "get clamps": (lambda at: at[np.array([1, 9])].get(), X, [1, 4]),
    "get fill": (lambda at: at[np.array([1, 9])].get(mode="fill"), X, [1, np.nan]),
    "get fill value": (lambda at: at[np.array([1, 9])].get(mode="fill", fill_value=-1.0), X, [1, -1]),
    "mask": (lambda at: at[X > 2].set(0.0), X, [0, 1, 2, 0, 0]),
    "two": (lambda at: at[1, 2:].set(0.0), A, [[0, 1, 2, 3], [4, 5, 0, 0], [8, 9, 10, 11]]),
    "two arrays": (
        lambda at: at[np.array([0, 1]), np.array([1, 2])].add(100.0),
        A,
        [[0, 101, 2, 3], [4, 5, 106, 7], [8, 9, 10, 11]],
    ),
    "column": (
        lambda at: at[:, np.array([0])].set(np.ones((3, 1))),
        A,
        [[1, 1, 2, 3], [1, 5, 6, 7], [1, 9, 10, 11]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_update(name: str) -> None:
    f, x, want = CASES[name]
    plain = f(tnp.at(x))
    assert type(plain) is np.ndarray
    np.testing.assert_allclose(plain, want)
    for way in (eager, staged):
        got = way(lambda v: f(v.at), x)
        np.testing.assert_allclose(got[0], want, err_msg=way.__name__)
        np.testing.assert_allclose(got[1], x)  # x itself is as it was


def test_traced_indices_and_masks() -> None:
    np.testing.assert_allclose(staged(lambda x, i: x.at[i].add(1.0), X, 2)[0], [0, 1, 3, 3, 4])
    np.testing.assert_allclose(staged(lambda x, i: x.at[i].add(1.0), X, 9)[0], X)
    np.testing.assert_allclose(staged(lambda x: x.at[x > 2].multiply(2.0), X)[0], [0, 1, 2, 6, 8])


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="mode"):
        tnp.at(X)[0].set(1.0, mode="wrap around")
