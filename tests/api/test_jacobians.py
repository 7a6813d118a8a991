"""Jacobians, Hessians and transposes: shapes of blocks, both modes alike, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import CotangentMismatchError, NotLinearError

X = np.array([0.3, -1.2, 2.0])
W = np.arange(6.0).reshape(2, 3)


def f(x: Any) -> Any:
    return np.stack([np.sin(x), x**2])


@pytest.mark.parametrize("jacobian", [tj.jacfwd, tj.jacrev])
@pytest.mark.parametrize("jitted", [False, True])
def test_shapes_are_out_then_in(jacobian: Any, jitted: bool) -> None:
    j = jacobian(f)
    got = (tj.jit(j) if jitted else j)(X)
    want = np.stack([np.diag(np.cos(X)), np.diag(2 * X)])
    assert got.shape == (2, 3, 3)
    np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("jacobian", [tj.jacfwd, tj.jacrev])
def test_blocks_of_trees(jacobian: Any) -> None:
    def g(p: Any, s: Any) -> Any:
        return {"y": p["w"] @ p["x"] * s, "z": p["x"].sum()}

    j = jacobian(g, (0, 1))({"w": W, "x": X}, 2.0)
    np.testing.assert_allclose(j["y"][0]["x"], 2 * W)
    np.testing.assert_allclose(j["y"][0]["w"], 2 * np.einsum("ij,k->ijk", np.eye(2), X))
    np.testing.assert_allclose(j["y"][1], W @ X)
    assert j["z"][0]["w"].shape == (2, 3) and not j["z"][0]["w"].any() and j["z"][1] == 0.0


@pytest.mark.parametrize("jacobian", [tj.jacfwd, tj.jacrev])
def test_aux(jacobian: Any) -> None:
    j, aux = jacobian(lambda x: (x * 2, {"n": x.sum()}), has_aux=True)(X)
    np.testing.assert_allclose(j, 2 * np.eye(3))
    np.testing.assert_allclose(aux["n"], X.sum())


def test_hessian_and_its_product() -> None:
    h = lambda x: (np.sin(x) * x[::-1]).sum()
    hess = tj.hessian(h)(X)
    np.testing.assert_allclose(hess, hess.T, atol=1e-14)
    np.testing.assert_allclose(hess, tj.jacrev(tj.jacfwd(h))(X), atol=1e-14)
    np.testing.assert_allclose(tj.hvp(h, (X,), (W[1],)), hess @ W[1])
    np.testing.assert_allclose(tj.jit(lambda x, v: tj.hvp(h, (x,), (v,)))(X, W[1]), hess @ W[1])


def test_products_for_several_arguments() -> None:
    k = lambda a, b: (a * b**2).sum()
    va, vb = tj.hvp(k, (X, X), (np.ones(3), np.zeros(3)))
    np.testing.assert_allclose(va, np.zeros(3))
    np.testing.assert_allclose(vb, 2 * X)


def test_complex_jacobians() -> None:
    z = X + 1j
    got = tj.jacfwd(lambda z: z * z, holomorphic=True)(z)
    np.testing.assert_allclose(got, np.diag(2 * z))
    np.testing.assert_allclose(tj.jacrev(lambda z: z * z, holomorphic=True)(z), np.diag(2 * z))


def test_linear_transpose() -> None:
    back = tj.linear_transpose(lambda x: W @ x, X)
    np.testing.assert_allclose(back(np.ones(2))[0], W.sum(0))
    np.testing.assert_allclose(back(np.ones(2))[0], W.sum(0))
    types_only = tj.linear_transpose(lambda x: (x[::-1], x.sum()), tj.ShapeDtypeStruct((3,), float))
    np.testing.assert_allclose(types_only((X, 1.0))[0], X[::-1] + 1)


def test_what_is_not_linear() -> None:
    with pytest.raises(NotLinearError):
        tj.linear_transpose(np.sin, X)(X)
    with pytest.raises(CotangentMismatchError):
        tj.linear_transpose(lambda x: W @ x, X)(np.ones(3))
    with pytest.raises(NotLinearError):
        tj.linear_transpose(lambda x: x * x, X)(X)
