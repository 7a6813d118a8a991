"""Pullbacks are pytrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import CotangentMismatchError

X = np.array([0.5, -1.0, 2.0])


def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y + x**3


def with_pullback() -> Any:
    """`wave` with the pullback itself as the residual of its rules."""
    f = tj.custom_vjp(wave)
    f.defvjp(lambda *xs: tj.vjp(wave, *xs), lambda pullback, ct: pullback(ct))
    return f


@pytest.mark.parametrize("region", ["none", "jit", "checkpoint", "scan", "cond"])
def test_a_pullback_as_residuals_of_a_custom_vjp(region: str) -> None:
    f = with_pullback()
    around = {
        "none": lambda x, y: f(x, y),
        "jit": tj.jit(f),
        "checkpoint": tj.checkpoint(f),
        "scan": lambda x, y: lax.scan(lambda c, _: (f(c, y), None), x, None, length=1)[0],
        "cond": lambda x, y: lax.cond(x.sum() > 0, f, lambda x, y: x, x, y),
    }[region]
    loss = lambda f: lambda x, y: np.sum(f(x, y) ** 2)
    want = tj.grad(loss(wave), (0, 1))(X, X + 1)
    slope = tj.grad(loss(around), (0, 1))
    for g in (slope, tj.jit(slope)):
        for a, b in zip(g(X, X + 1), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_under_vmap() -> None:
    f = with_pullback()
    rows = np.stack([X, X + 1, X * 2, -X])
    slope = lambda f: tj.vmap(tj.grad(lambda x, y: np.sum(f(x, y))))
    np.testing.assert_allclose(slope(f)(rows, rows), slope(wave)(rows, rows), rtol=1e-14)


def test_a_pullback_leaves_jit_and_enters_another() -> None:
    y, pullback = tj.jit(lambda x: tj.vjp(wave, x, x + 1.0))(X)
    np.testing.assert_allclose(y, wave(X, X + 1), rtol=1e-14)
    want = tj.vjp(wave, X, X + 1)[1](X)
    back = tj.jit(lambda p, ct: p(ct))
    for got in (pullback(X), back(pullback, X), back(pullback, X)):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_mapped_pullbacks() -> None:
    rows = np.stack([X, X + 1])
    _, pulls = tj.vmap(lambda x: tj.vjp(np.sin, x))(rows)
    (got,) = tj.vmap(lambda p, ct: p(ct))(pulls, rows)
    np.testing.assert_allclose(got, np.cos(rows) * rows, rtol=1e-14)


def test_leaves_are_the_residuals() -> None:
    _, pullback = tj.vjp(lambda x: x * X, X)
    leaves, structure = tj.tree.flatten(pullback)
    assert any(x is X for x in leaves)
    (doubled,) = tj.tree.unflatten(structure, [x * 2 for x in leaves])(np.ones(3))
    np.testing.assert_array_equal(doubled, 2 * X)
    with pytest.raises(CotangentMismatchError):
        pullback(np.ones(2))
