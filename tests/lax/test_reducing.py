"""lax.reduce: any monoid, several operands, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import CarryStructureError, CarryTypeError, ShapeError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4, 5))
K = RNG.integers(0, 9, (3, 4, 5))
P = np.broadcast_to(np.arange(5), X.shape)

KNOWN = [
    ("reduce_sum", lax.add, X, 0.5, lambda x, a: x.sum(a) + 0.5),
    ("reduce_prod", lax.mul, X, 2.0, lambda x, a: x.prod(a) * 2.0),
    ("reduce_max", lax.max, X, -np.inf, lambda x, a: x.max(a)),
    ("reduce_min", lax.min, X, 0.1, lambda x, a: np.minimum(x.min(a), 0.1)),
    ("reduce_and", lax.bitwise_and, K, -1, lambda x, a: np.bitwise_and.reduce(x, a)),
    ("reduce_or", lax.bitwise_or, K, 0, lambda x, a: np.bitwise_or.reduce(x, a)),
    ("reduce_xor", lax.bitwise_xor, K, 0, lambda x, a: np.bitwise_xor.reduce(x, a)),
    ("reduce_sum", lambda a, b: a + b, X, 0.0, lambda x, a: x.sum(a)),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name, fn, x, init, want", KNOWN)
@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 2), (0, 1, 2), (-1,)])
def test_known_monoids(name: str, fn: Any, x: Any, init: Any, want: Any, axes: Any) -> None:
    f = lambda x: lax.reduce(x, init, fn, axes)
    assert name in str(tj.make_jaxpr(f)(x)) and "scan" not in str(tj.make_jaxpr(f)(x))
    for way in (f, tj.jit(f)):
        np.testing.assert_allclose(way(x), want(x, axes), rtol=1e-11)
    np.testing.assert_allclose(tj.vmap(f, 0)(np.stack([x, x[::-1]]))[1], want(x[::-1], axes), rtol=1e-11)


def logsumexp(a: Any, b: Any) -> Any:
    return np.logaddexp(a, b)


def larger(a: Any, b: Any) -> Any:
    (v, i), (w, j) = a, b
    return np.where(w > v, w, v), np.where(w > v, j, i)


def affine(a: Any, b: Any) -> Any:
    """Maps x -> p x + q composed, which does not commute."""
    return {"p": b["p"] * a["p"], "q": b["p"] * a["q"] + b["q"]}


def test_a_formula() -> None:
    f = lambda x: lax.reduce(x, -np.inf, logsumexp, (0, 2))
    want = np.logaddexp.reduce(X.transpose(0, 2, 1).reshape(15, 4))
    for way in (f, tj.jit(f)):
        np.testing.assert_allclose(way(X), want, rtol=1e-13)
    check_grads(lambda x: lax.reduce(x, -9.0, logsumexp, (1,)), (X[:, :, 0],), order=2, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(
        tj.jit(tj.vmap(tj.grad(lambda x: lax.reduce(x, -30.0, logsumexp, (0,)))))(X[0]),
        np.exp(X[0]) / np.exp(X[0]).sum(1, keepdims=True),
        rtol=1e-9,
    )


def test_value_and_place() -> None:
    f = lambda x: lax.reduce((x, P), (-np.inf, -1), larger, (2,))
    for way in (f, tj.jit(f)):
        value, place = way(X)
        np.testing.assert_array_equal(value, X.max(2))
        np.testing.assert_array_equal(place, X.argmax(2))
    got = tj.vmap(lambda x, p: lax.reduce((x, p), (-np.inf, -1), larger, (1,)))(X, P)
    np.testing.assert_array_equal(got[1], X.argmax(2))
    g = tj.jit(tj.grad(lambda x: (f(x)[0] ** 2).sum()))(X)
    np.testing.assert_allclose(g, np.where(X == X.max(2, keepdims=True), 2 * X, 0))


def test_order_matters_and_trees() -> None:
    x = {"p": X[0], "q": X[1]}
    out = tj.jit(lambda x: lax.reduce(x, {"p": 1.0, "q": 0.0}, affine, (0,)))(x)
    p, q = np.ones(5), np.zeros(5)
    for a, b in zip(X[0], X[1], strict=True):
        p, q = a * p, a * q + b
    np.testing.assert_allclose(out["p"], p, rtol=1e-13)
    np.testing.assert_allclose(out["q"], q, rtol=1e-13)
    check_grads(
        lambda p, q: lax.reduce({"p": p, "q": q}, {"p": 1.0, "q": 0.0}, affine, (0,)), (X[0], X[1]), order=2
    )


def test_closures_and_float32() -> None:
    scale = np.float32(0.5)

    def f(x: Any, s: Any) -> Any:
        return lax.reduce(x, np.float32(0), lambda a, b: a * s + b, (0,))

    x = X[:, :, 0].astype(np.float32)
    got = tj.jit(f)(x, scale)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, (x[0] / 2 + x[1]) / 2 + x[2], rtol=1e-6)
    assert np.isfinite(tj.grad(lambda s: f(x, s).sum())(scale))


def test_ends() -> None:
    assert lax.reduce(X, 0.0, lax.add, ()) is X
    np.testing.assert_array_equal(lax.reduce(np.zeros((0, 3)), -np.inf, lax.max, (0,)), [-np.inf] * 3)
    np.testing.assert_array_equal(lax.reduce(np.zeros((0, 3)), 2.0, logsumexp, (0,)), [2.0] * 3)
    assert lax.reduce(np.zeros((3, 0)), 2.0, logsumexp, (0,)).shape == (0,)


def test_refusals() -> None:
    with pytest.raises(CarryTypeError):
        lax.reduce(X, 0.0, lambda a, b: a * 1j, (0,))
    with pytest.raises(CarryStructureError):
        lax.reduce((X, X), (0.0, 0.0), lambda a, b: a[0], (0,))
    with pytest.raises(CarryStructureError):
        lax.reduce((X, X), 0.0, lax.add, (0,))
    for xs, init, axes in (
        ((X, X[0]), (0.0, 0.0), (0,)),
        ((X,), (np.zeros(2),), (0,)),
        ((X,), (0.0,), (0, -3)),
    ):
        with pytest.raises(ShapeError):
            lax.reduce(xs, init, lambda a, b: a, axes)
