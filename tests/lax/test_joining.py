"""Joining and parting arrays, and exchanges between lanes, against NumPy on the whole array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import ShapeError
from tracejit.test_util import check_grads

X = np.arange(24.0).reshape(2, 3, 4)

CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "collapse": (lambda x: lax.collapse(x, 1), X.reshape(2, 12)),
    "collapse some": (lambda x: lax.collapse(x, 0, -1), X.reshape(6, 4)),
    "stack": (lambda x: lax.stack([x, x + 1], axis=1), np.stack([X, X + 1], 1)),
    "tile": (lambda x: lax.tile(x, (1, 2, 1)), np.tile(X, (1, 2, 1))),
    "split": (lambda x: lax.split(x, (1, 3), axis=-1)[1], X[..., 1:]),
    "unstack": (lambda x: lax.unstack(x, axis=1)[2], X[:, 2]),
    "index_in_dim": (lambda x: lax.index_in_dim(x, -1, 2), X[..., -1:]),
    "index_in_dim without": (lambda x: lax.index_in_dim(x, 1, 1, keepdims=False), X[:, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    f, want = CASES[name]
    np.testing.assert_array_equal(f(X), want)
    np.testing.assert_array_equal(tj.jit(f)(X), want)
    check_grads(lambda x: (f(x) ** 2).sum(), (X,), order=2, rtol=1e-4, atol=1e-4)


def test_shapes() -> None:
    assert lax.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    assert lax.empty((2, 3), np.int8).dtype == np.int8
    for call in (lambda: lax.split(X, (1, 2)), lambda: lax.split(X, (3, -1))):
        with pytest.raises(ShapeError):
            call()


LANES = np.random.default_rng(0).normal(size=(3, 6, 3, 2))

EXCHANGES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "all_to_all": (lambda x: lax.all_to_all(x, "i", 1, 0), np.moveaxis(LANES, (2, 0), (0, 1))),
    "all_to_all tiled": (
        lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True),
        np.stack([np.concatenate([LANES[m, 2 * n : 2 * n + 2] for m in range(3)], 1) for n in range(3)]),
    ),
    "pswapaxes": (lambda x: lax.pswapaxes(x, "i", 1), np.swapaxes(LANES, 0, 2)),
    "psum_scatter": (
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=1),
        np.moveaxis(LANES.sum(0), 1, 0),
    ),
    "psum_scatter tiled": (
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True),
        LANES.sum(0).reshape(3, 2, 3, 2),
    ),
    "pshuffle": (lambda x: lax.pshuffle(x, "i", [2, 0, 1]), LANES[[2, 0, 1]]),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_exchanges(name: str) -> None:
    f, want = EXCHANGES[name]
    g = tj.vmap(f, axis_name="i")
    np.testing.assert_allclose(g(LANES), want, rtol=1e-14)
    np.testing.assert_allclose(tj.jit(g)(LANES), want, rtol=1e-14)
    np.testing.assert_allclose(tj.vmap(g)(np.stack([LANES, 2 * LANES]))[1], 2 * want, rtol=1e-14)
    check_grads(lambda x: (g(x) ** 2).sum(), (LANES,), order=2, rtol=1e-4, atol=1e-4)


def test_an_axis_that_does_not_fit_is_named() -> None:
    with pytest.raises(ShapeError, match="as long as the number of lanes, 3"):
        tj.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(LANES)
    with pytest.raises(ShapeError, match="a multiple of the number of lanes"):
        tj.vmap(lambda x: lax.psum_scatter(x, "i", scatter_dimension=2, tiled=True), axis_name="i")(LANES)
