"""Flat positions and back: what is outside is refused, also while a compiled program runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArgumentError, ArgumentTypeError


def test_there_and_back() -> None:
    i = np.arange(24).reshape(4, 6)
    for order in "CF":
        f = lambda i, order=order: np.unravel_index(i, (2, 3, 4), order=order)
        for way in (tj.jit, tj.vmap):
            for g, w in zip(way(f)(i), f(i), strict=True):
                np.testing.assert_array_equal(g, w)
            back = way(lambda i, f=f, order=order: np.ravel_multi_index(f(i), (2, 3, 4), order=order))(i)
            np.testing.assert_array_equal(back, i)


@pytest.mark.parametrize("bad", [-1, 24])
def test_outside(bad: int) -> None:
    for way in (lambda f: f, tj.jit):
        with pytest.raises(ValueError, match="out of bounds"):
            way(lambda i: np.unravel_index(i, (2, 3, 4)))(np.array([3, bad]))
    with pytest.raises(ArgumentError):
        tj.jit(lambda i: np.unravel_index(i, (2, 3, 4)))(np.array([3, bad]))
    with pytest.raises(ArgumentError):
        tj.jit(lambda i: np.ravel_multi_index((i, i), (2, 25)))(np.array([0, bad]))


@pytest.mark.parametrize("modes", list(itertools.product(["clip", "wrap"], repeat=2)))
def test_modes(modes: tuple[str, str]) -> None:
    i, j = np.array([-5, -1, 0, 7]), np.array([9, 2, -1, 3])
    f = lambda i, j: np.ravel_multi_index((i, j), (3, 4), mode=modes)
    np.testing.assert_array_equal(tj.jit(f)(i, j), f(i, j))


def test_refusals() -> None:
    for f in (
        lambda x: np.unravel_index(x, (3,), order="K"), lambda x: np.ravel_multi_index((x,), (3, 4)),
        lambda x: np.ravel_multi_index((x,), (3,), mode="other"), lambda x: np.diag_indices_from(x),
        lambda x: np.tril_indices_from(x), lambda x: np.ix_(x[None]),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            tj.jit(f)(np.arange(3))
    with pytest.raises(ArgumentTypeError):
        tj.jit(lambda x: np.unravel_index(x, (3,)))(np.ones(3))
