"""Sparse Jacobians: detected and given patterns, forward, reverse and symmetric colourings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tracejit as tj
from tracejit import lax
from tracejit.errors import SparsityPatternError

X = np.linspace(0.1, 2.0, 12)


def heat(x: Any) -> Any:
    """A tridiagonal system."""
    out = np.zeros_like(x)
    out[1:-1] = x[:-2] - 2 * x[1:-1] + x[2:] + x[1:-1] ** 3
    out[0], out[-1] = x[0], x[-1]
    return out


def energy(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum(np.cos(x))


def arrow(x: Any) -> Any:
    """A dense last column: cheaper by rows? No: a dense column, rows never meet in forward mode."""
    return x[:-1] * x[-1]


def few(x: Any) -> Any:
    """A dense row: forward mode would need every column."""
    return np.concatenate([x[:3] * 2, np.sum(x * x)[None]])


PROGRAMS: dict[str, Any] = {
    "heat": heat,
    "arrow": arrow,
    "few": few,
    "grid": lambda x: (lambda g: g[1:, :] * g[:-1, :])(x.reshape(3, 4)),
    "rows": lambda x: np.sum(np.sin(x.reshape(3, 4)), axis=1),
    "matmul": lambda x: np.arange(6.0).reshape(2, 3) @ x.reshape(3, 4),
    "matmul right": lambda x: x.reshape(3, 4) @ np.arange(8.0).reshape(4, 2),
    "batched": lambda x: np.einsum("bij,bj->bi", np.ones((3, 2, 4)), x.reshape(3, 4)),
    "gather": lambda x: x[np.array([3, 3, 1])] * x[np.array([0, 1, 2])],
    "roll": lambda x: np.roll(x, 2) * x,
    "pad": lambda x: np.pad(x[2:5], 1) + np.ones(5),
    "stack": lambda x: np.stack([x, x[::-1] ** 2]),
    "where": lambda x: np.where(x > 1, x**2, x[::-1]),
    "cumsum": lambda x: np.cumsum(x) * x,
    "sort": lambda x: np.sort(x)[:2],
    "scan": lambda x: lax.scan(lambda c, v: (c, v * v + c), 1.0, x)[1],
    "scan carry": lambda x: lax.scan(lambda c, v: (v, v * c), 0.0, x)[1],
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c.at[i].add(c[i + 1] ** 2), x),
    "cond": lambda x: lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x[::-1], x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] ** 2), (0, x))[1],
    "jit": tj.jit(lambda x: np.sin(x) * x),
    "vmap": lambda x: tj.vmap(lambda r: r[0] * r[1:])(x.reshape(3, 4)),
    "constant": lambda x: np.ones(3) + 0 * x[:3].sum(),
    "integers": lambda x: np.floor(x) * x[0],
    "scalar": lambda x: np.sum(x[:2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_detected_patterns(name: str) -> None:
    f = PROGRAMS[name]
    want = tj.jacrev(f)(X)
    jac = tj.jacobian(f, pattern="detect")
    found = jac(X)
    assert sp.issparse(found) and found.format == "csr" and found.dtype == np.float64
    np.testing.assert_allclose(found.toarray(), want.reshape(-1, 12), atol=1e-14)
    np.testing.assert_allclose(tj.jacobian(f, pattern="detect", dense=True)(X), want, atol=1e-14)
    if name not in ("sort", "constant", "integers", "scan carry", "where", "cond", "cumsum", "batched"):
        exact = np.count_nonzero(tj.jacrev(f)(X + 0.01).reshape(-1, 12))
        assert jac.pattern_for(X).nnz <= exact + (4 if name in ("matmul", "matmul right") else 0)


def test_the_number_of_derivatives() -> None:
    n = 300
    x = np.linspace(0, 1, n)
    assert tj.jacobian(heat, pattern="detect").colors(x) == 3
    assert tj.jacobian(arrow, pattern="detect").colors(x) == 2
    assert tj.jacobian(few, pattern="detect").colors(x) == 2  # by rows
    hessian = tj.jacobian(tj.grad(energy), pattern="detect", symmetric=True)
    assert hessian.colors(x) <= tj.jacobian(tj.grad(energy), pattern="detect").colors(x) == 3
    h = hessian(x)
    np.testing.assert_allclose(h.toarray(), tj.hessian(energy)(x), atol=1e-12)
    star = np.eye(n, dtype=bool)  # an arrowhead: n colours by columns, two by symmetry
    star[0] = star[:, 0] = True
    f = lambda x: np.concatenate([np.sum(x * x[0])[None], x[1:] * 3 + x[0] ** 2 / 2])
    g = tj.grad(lambda x: x[0] ** 2 * np.sum(x[1:]) + np.sum(x**3))
    arrowhead = tj.jacobian(g, pattern=star, symmetric=True)
    assert arrowhead.colors(x) == 2
    np.testing.assert_allclose(arrowhead(x).toarray(), tj.jacfwd(g)(x), atol=1e-10)
    assert f(x).shape == (n,)


def test_given_patterns() -> None:
    band = sp.diags_array([np.ones(11), np.ones(12), np.ones(11)], offsets=[-1, 0, 1])
    want = tj.jacfwd(heat)(X)
    pairs = list(zip(*band.tocoo().coords, strict=True))
    for pattern in (band, sp.csr_matrix(band), band.toarray() != 0, pairs, np.array(pairs)):
        jac = tj.jacobian(heat, pattern=pattern)
        assert jac.colors(X) == 3
        np.testing.assert_allclose(jac(X).toarray(), want)
        np.testing.assert_allclose(jac(2 * X).toarray(), tj.jacfwd(heat)(2 * X))
    empty = tj.jacobian(lambda x: np.ones(3), pattern=np.zeros((3, 12), bool))
    assert empty(X).nnz == 0 and empty.colors(X) == 0


def test_values_under_other_transformations() -> None:
    jac = tj.jacobian(heat, pattern="detect")
    entries = jac(X).data
    np.testing.assert_allclose(tj.jit(jac.values)(X), entries)
    np.testing.assert_allclose(tj.vmap(jac.values)(np.stack([X, X]))[1], entries)
    dense = tj.jacobian(heat, pattern="detect", dense=True)
    dense(X)
    loss = lambda x: np.sum(np.sin(dense(x)))
    np.testing.assert_allclose(
        tj.jit(tj.grad(loss))(X), tj.grad(lambda x: np.sum(np.sin(tj.jacfwd(heat)(x))))(X)
    )


def test_other_arguments_and_dtypes() -> None:
    f = lambda w, x, *, s: w * x[1:] * s
    jac = tj.jacobian(f, 1, pattern="detect")
    x = X.astype(np.float32)
    out = jac(np.float32(2.0), x, s=np.float32(3.0))
    assert out.dtype == np.float32 and out.shape == (11, 12)
    np.testing.assert_allclose(out.toarray(), np.eye(11, 12, 1) * 6)
    z = X + 1j
    holomorphic = tj.jacobian(lambda z: z * z, pattern="detect", holomorphic=True)(z)
    np.testing.assert_allclose(holomorphic.diagonal(), 2 * z)
    two = tj.jacobian(lambda x: x[:, 1:] * x[:, :1], pattern="detect", dense=True)(X.reshape(3, 4))
    assert two.shape == (3, 3, 3, 4)


def test_without_a_pattern() -> None:
    tall, wide = np.ones((5, 2)), np.ones((2, 5))
    np.testing.assert_allclose(tj.jacobian(lambda x: tall @ x)(np.ones(2)), tall)
    np.testing.assert_allclose(tj.jacobian(lambda x: wide @ x)(np.ones(5)), wide)
    both = tj.jacobian(lambda a, b: {"y": a * b}, (0, 1))(2.0, 3.0)
    assert both["y"] == (3, 2)
    assert tj.jacobian(lambda x: (x * x, "note"), has_aux=True)(2.0) == (4, "note")


def test_errors() -> None:
    lacking = np.eye(12, dtype=bool)
    for bad, message in (
        (np.eye(4, dtype=bool), "the Jacobian"),
        (sp.eye_array(5), "the Jacobian"),
        ([(0, 12)], "outside"),
        ("find", "'detect'"),
        (np.ones(3), "a pattern is"),
        (lacking, "lacks entries: row"),
    ):
        with pytest.raises(SparsityPatternError, match=message):
            tj.jacobian(heat, pattern=bad)(X)
    with pytest.raises(SparsityPatternError, match="outside of the transformation"):
        tj.jit(tj.jacobian(heat, pattern="detect").values)(X)
    jac = tj.jacobian(heat, pattern="detect")
    jac(X)
    with pytest.raises(SparsityPatternError, match="traced values"):
        tj.jit(jac)(X)
    with pytest.raises(SparsityPatternError, match="not one array"):
        tj.jacobian(lambda x: (x, x), pattern="detect")(X)
    with pytest.raises(TypeError, match="argnums an int"):
        tj.jacobian(heat, (0, 1), pattern="detect")
