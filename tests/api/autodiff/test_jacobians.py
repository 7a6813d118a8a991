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


@pytest.mark.sample(2)
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


# ---------------------------------------------------------------- many directions: the last axis all the way

N = 24


def neighbours(x: Any) -> Any:
    return np.sin(x[1:] * x[:-1]) + x[:-1] ** 2


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum()


def stacked(x: Any) -> Any:
    return np.stack([np.sin(x), np.cos(x), x * 2], 1)


def padded(x: Any) -> Any:
    y = np.pad(x, 2, mode="edge").reshape(-1, 2).T
    return np.concatenate([y, y[:, ::-1] ** 2]).sum(0)


def written(x: Any) -> Any:
    out = np.zeros((2, x.size))
    out[0, 3:] = x[3:] ** 2
    out[1] += x.sum() * x
    out[1, ::2] -= np.cumsum(x)[::2]
    return out


def filtered(x: Any) -> Any:
    return np.convolve(x, np.array([1.0, -2.0, 0.5]), "same") * np.sort(x)[::-1] + np.outer(x, x[:3]) @ x[3:6]


MANY = [neighbours, softmax, stacked, padded, written, filtered]


@pytest.mark.parametrize("f", MANY)
@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
def test_many_directions(f: Any, jit: Any) -> None:
    x = np.random.default_rng(0).uniform(0.2, 1, N)
    forward, reverse = jit(tj.jacfwd(f))(x), jit(tj.jacrev(f))(x)
    assert forward.shape == (*f(x).shape, N)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-13)
    step = 1e-6 * np.eye(N)
    columns = [(f(x + s) - f(x - s)) / 2e-6 for s in step]
    np.testing.assert_allclose(forward, np.stack(columns, -1), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("f", MANY)
def test_hessians_of_many_variables(f: Any) -> None:
    x = np.random.default_rng(0).uniform(0.2, 1, N)
    got = tj.jit(tj.hessian(lambda x: (f(x) ** 2).sum()))(x)
    np.testing.assert_allclose(got, got.T, rtol=1e-11, atol=1e-11)
    rows = tj.jacrev(tj.jacrev(lambda x: (f(x) ** 2).sum()))(x)
    np.testing.assert_allclose(got, rows, rtol=1e-11, atol=1e-11)


def test_several_inputs_of_different_shapes() -> None:
    rng = np.random.default_rng(0)
    x, y, n = rng.normal(size=(3, 5)), {"a": rng.normal(size=7), "b": rng.normal()}, 2

    def f(x: Any, y: Any, n: Any) -> Any:
        return x.sum(1) * y["b"] ** n, np.outer(x[0], y["a"])

    for k, (shape, blocks) in enumerate(
        zip([(3,), (5, 7)], tj.jit(tj.jacfwd(f, (0, 1)))(x, y, n), strict=True)
    ):
        want = tj.jacrev(f, (0, 1))(x, y, n)[k]
        assert blocks[0].shape == (*shape, 3, 5) and blocks[1]["b"].shape == shape
        for got, w in zip(tj.tree.leaves(blocks), tj.tree.leaves(want), strict=True):
            np.testing.assert_allclose(got, w, rtol=1e-12, atol=1e-13)


def test_no_transposition_is_left() -> None:
    x = np.linspace(0.1, 1, 100)

    def transposed(f: Any) -> list[Any]:
        """The shapes of matrices that are transposed; (100, 1) is none."""
        eqns = tj.jit(f).lower(x).compile().jaxpr.eqns
        return [
            e.outvars[0].aval.shape for e in eqns if e.op.name == "transpose" and e.outvars[0].aval.size > 100
        ]

    assert transposed(tj.jacfwd(neighbours)) == [] and transposed(tj.jacfwd(stacked)) == []
    assert transposed(tj.hessian(lambda x: (neighbours(x) ** 2).sum())) == []
    assert transposed(tj.hessian(lambda x: np.log(np.exp(x - x.max()).sum()))) == []


def test_few_directions_come_first() -> None:
    """Long outputs are the rows then."""
    t = np.linspace(0, 1, 1000)
    jaxpr = str(tj.jit(tj.jacfwd(lambda p: p[0] * np.exp(-p[1] * t))).lower(np.ones(2)).jaxpr)
    assert "f64[2,1000]" in jaxpr and "transpose" in jaxpr
