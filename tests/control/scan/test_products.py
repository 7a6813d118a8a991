"""Cotangents of weights: one product after the loop, equal to the sum of the steps' products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control import unrolled
from tracejit import lax

RNG = np.random.default_rng(0)
W, U = RNG.normal(size=(8, 8)) / 3, RNG.normal(size=(8, 8)) / 3
XS = RNG.normal(size=(6, 8))
V = RNG.normal(size=(8, 8))


def cell(L: Any) -> Callable[..., Any]:
    def f(w: Any, u: Any, xs: Any) -> Any:
        step = lambda c, x: (np.tanh(w @ c + u @ x), c)
        return np.sum(np.sin(L.scan(step, xs[0], xs)[1]))

    return f


def twice(L: Any) -> Callable[..., Any]:
    """Weights used twice in a step, once transposed."""

    def f(w: Any, u: Any, xs: Any) -> Any:
        step = lambda c, x: (np.tanh(w @ c + np.cos(c) @ w + u @ x), c)
        return np.sum(np.sin(L.scan(step, xs[0], xs)[0]))

    return f


def rows(L: Any) -> Callable[..., Any]:
    """Batches as rows: products that contract within a step too."""

    def f(w: Any, u: Any, xs: Any) -> Any:
        step = lambda c, x: (np.tanh(c @ w + x * (x @ u)), None)
        return np.sum(np.sin(L.scan(step, np.stack([xs[0], xs[1]]), xs)[0]))

    return f


def other_uses(L: Any) -> Callable[..., Any]:
    """Weights that enter in another way as well: their cotangents accumulate in the loop."""

    def f(w: Any, u: Any, xs: Any) -> Any:
        step = lambda c, x: (np.tanh(w @ c + u @ x + w[0] * w[:, 1]), None)
        return np.sum(np.sin(L.scan(step, xs[0], xs)[0]))

    return f


@pytest.mark.sample(4)
@pytest.mark.parametrize("model", [cell, twice, rows, other_uses])
def test_against_the_unrolled_loop(model: Any) -> None:
    f, g = model(lax), model(unrolled)
    both = lambda f: lambda *args: tj.jvp(tj.grad(f, (0, 1, 2)), args, (V, W, XS))
    for run in (tj.jit, lambda f: f):
        found, wanted = run(both(f))(W, U, XS), both(g)(W, U, XS)
        for a, b in zip(tj.tree.leaves(found), tj.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    reverse = lambda f: tj.grad(lambda *args: np.sum(tj.grad(f)(*args) * V), (0, 1))
    for a, b in zip(tj.jit(reverse(f))(W, U, XS), reverse(g)(W, U, XS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    lanes = np.stack([XS, XS / 2])
    found = tj.jit(tj.vmap(tj.grad(f), (None, None, 0)))(W, U, lanes)
    np.testing.assert_allclose(found, np.stack([tj.grad(g)(W, U, x) for x in lanes]), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("length", [0, 1, 2])
def test_short_loops(length: int) -> None:
    f = lambda L: lambda w: np.sum(L.scan(lambda c, x: (np.tanh(w @ c + x), None), XS[0], XS[:length])[0])
    np.testing.assert_allclose(tj.jit(tj.grad(f(lax)))(W), tj.grad(f(unrolled))(W), rtol=1e-12)


def test_the_loop_does_not_touch_the_weights_cotangents() -> None:
    """No matrix is carried, and factors that are inputs or residuals already are not stacked again."""
    text = str(tj.make_jaxpr(tj.grad(cell(lax), (0, 1)))(W, U, XS))
    backward = [line for line in text.splitlines() if "reverse=True" in line][-1]
    assert "[8,8]" not in backward.split("scan[")[0]
    assert backward.split("scan[")[0].count("[6,8]") == 1


def test_outer_products_of_small_vectors_stay() -> None:
    """Nine numbers are added up in registers."""
    f = lambda w: np.sum(lax.scan(lambda c, x: (np.tanh(w @ c + x), None), XS[0, :3], XS[:, :3])[0])
    text = str(tj.make_jaxpr(tj.grad(f))(W[:3, :3]))
    backward = [line for line in text.splitlines() if "reverse=True" in line][-1]
    assert "f64[3,3]" in backward.split("scan[")[0]
