"""np.convolve and np.correlate on traced vectors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

MODES = ("full", "same", "valid")


def vector(n: int, dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.integers(0 if np.dtype(dtype).kind in "bu" else -5, 6, n)
    return (x + 1j * rng.integers(-5, 6, n) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", MODES)
def test_values(f: Any, mode: str) -> None:
    for one, other in (
        ("f8", "f8"),
        ("i8", "i8"),
        ("c16", "c16"),
        ("?", "?"),
        ("f4", "c8"),
        ("i4", "f4"),
    ):
        lengths = itertools.product((1, 3, 4), repeat=2)
        pairs = [(vector(m, one, 0), vector(n, other, 1)) for m, n in lengths]
        got = tj.jit(lambda pairs: [f(x, y, mode) for x, y in pairs])(pairs)
        for g, (x, y) in zip(got, pairs, strict=True):
            want = f(x, y, mode)
            assert g.dtype == want.dtype
            np.testing.assert_array_equal(g, want)


def test_long_vectors() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 700))
    for mode in MODES:
        got = tj.jit(lambda x, y, m=mode: np.convolve(x, y[:300], m))(x, y)
        np.testing.assert_allclose(got, np.convolve(x, y[:300], mode), atol=1e-12)


def test_numbers_are_vectors_of_one() -> None:
    assert tj.jit(lambda x: np.convolve(x, [2.0, 3.0]))(2.0).tolist() == [4, 6]


@pytest.mark.parametrize("mode", MODES)
def test_derivatives(mode: str) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 6))
    check_grads(lambda x, y: np.convolve(x, y, mode), (x, y[:3]), order=2)
    check_grads(lambda x, y: np.correlate(x, y, mode), (x[:3], y + 1j * x), order=2)
    rows = np.stack([x, y])
    want = np.stack([np.convolve(r, x[:3], mode) for r in rows])
    got = tj.jit(tj.vmap(lambda r: np.convolve(r, x[:3], mode)))(rows)
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_errors() -> None:
    x = np.ones(3)
    for bad in (
        lambda x: np.convolve(x, x, "other"),
        lambda x: np.convolve(x[None], x),
        lambda x: np.correlate(x[:0], x),
        lambda x: np.correlate(x[0], x),
    ):
        with pytest.raises(TracejitError):
            tj.jit(bad)(x)


@pytest.mark.sample(4)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_infinities_meet_no_zeros_beyond_the_ends(f: Any, mode: Any) -> None:
    a, b = np.array([1.0, 2, 3, 4]), np.array([np.inf, 2.0, 3.0])
    for x, y in ((a, b), (b, a), (b, b[:2]), (a, b[1:])):
        want, g = f(x, y, mode), lambda x, y: f(x, y, mode)
        for got in (
            tj.jit(g)(x, y),
            tj.vmap(g)(x[None], y[None])[0],
            tj.jit(tj.vmap(g))(x[None], y[None])[0],
        ):
            np.testing.assert_array_equal(got, want)
