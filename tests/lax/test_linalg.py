"""`tracejit.lax.linalg`: JAX's names, results in JAX's order, NaN for what cannot be computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import errors, lax
from tracejit.test_util import check_grads

RNG = np.random.default_rng(2)
A = RNG.standard_normal((3, 3))
S = A @ A.T + np.eye(3)
B = RNG.standard_normal((3, 2))


def same(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def test_factorizations() -> None:
    low = lax.linalg.cholesky(S)
    same(low @ low.T, S)
    v, w = lax.linalg.eigh(S)
    same(v * w @ v.T, S)
    w, left, right = lax.linalg.eig(A)
    same(A @ right, right * w)
    same(left.conj().T @ A, w[:, None] * left.conj().T)
    same(np.linalg.norm(left, axis=0), 1)
    assert len(lax.linalg.eig(A, compute_left_eigenvectors=False)) == 2
    same(np.sort(lax.linalg.eig(A, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0].real),
         np.sort(w.real))  # fmt: skip
    packed, pivots, order = lax.linalg.lu(A)
    same((np.tril(packed, -1) + np.eye(3)) @ np.triu(packed), A[order])
    np.testing.assert_array_equal(lax.linalg.lu_pivots_to_permutation(pivots, 3), order)
    q, r = lax.linalg.qr(B)
    assert q.shape == (3, 3)
    same(q @ r, B)
    u, s, vh = lax.linalg.svd(B, full_matrices=False)
    same(u * s @ vh, B)
    same(lax.linalg.svd(B, compute_uv=False), s)
    t, z = lax.linalg.schur(A)
    same(z @ t @ z.T, A)
    assert len(lax.linalg.schur(A, compute_schur_vectors=False)) == 1
    h, taus = lax.linalg.hessenberg(A)
    q = np.eye(3)
    q[1:, 1:] = lax.linalg.householder_product(h[1:, :-1], taus)
    same(q @ np.triu(h, -1) @ q.T, A)


def test_systems() -> None:
    for left, b in ((True, B), (False, B.T), (True, B[:, 0]), (False, B[:, 0])):
        x = lax.linalg.triangular_solve(S, b, left_side=left, lower=True)
        same(np.tril(S) @ x if left else x @ np.tril(S), b)
    d, e = np.array([3.0, 4, 5]), np.array([1.0, 2, 0.5])
    x = lax.linalg.tridiagonal_solve(e, d, e[::-1].copy(), B)
    same((np.diag(d) + np.diag(e[1:], -1) + np.diag(e[::-1][:-1], 1)) @ x, B)
    same(lax.linalg.symmetric_product(B, S, alpha=2.0, beta=3.0), 2 * B @ B.T + 3 * S)
    r = lax.linalg.cholesky(S).T
    new = lax.linalg.cholesky_update(r, B[:, 0])
    same(new.T @ new, S + np.outer(B[:, 0], B[:, 0]))


def test_inputs_are_symmetrized() -> None:
    for fn in (lax.linalg.cholesky, lambda a: lax.linalg.eigh(a)[1]):
        same(fn(S + A - A.T), fn(S))
        grad = tj.grad(lambda a, fn=fn: fn(a).sum())(S)
        same(grad, grad.T)
        check_grads(fn, (S,), order=2, atol=1e-4, rtol=1e-4)
    low = lax.linalg.cholesky(np.tril(S), symmetrize_input=False)
    same(low @ low.T, S)


def test_failures_are_nan() -> None:
    for call in (lambda f: f, tj.jit):
        assert np.isnan(call(lax.linalg.cholesky)(-np.eye(2))).all()
        assert np.isnan(call(lambda x: lax.linalg.eigh(x)[1])(np.full((2, 2), np.nan))).all()


def test_under_transformations() -> None:
    stack = np.stack([S, S + np.eye(3)])
    fn = lambda a, b: lax.linalg.triangular_solve(lax.linalg.cholesky(a), b, left_side=True, lower=True).sum()
    want = np.stack([tj.grad(fn)(a, B) for a in stack])
    same(tj.jit(tj.vmap(tj.grad(fn), (0, None)))(stack, B), want)
    check_grads(fn, (S, B), order=2, atol=1e-4, rtol=1e-4)
    check_grads(lambda a: abs(lax.linalg.eig(a)[1]), (A,), order=1, atol=1e-4, rtol=1e-4)


def test_options_that_do_not_exist() -> None:
    for fn in (
        lambda: lax.linalg.qr(A, pivoting=True),
        lambda: lax.linalg.svd(A, subset_by_index=(0, 1)),
        lambda: lax.linalg.eigh(A, subset_by_index=(0, 1)),
        lambda: lax.linalg.schur(A, sort_eig_vals=True),
    ):
        with pytest.raises(errors.ArgumentError):
            fn()
    with pytest.raises(errors.MatrixShapeError):
        lax.linalg.cholesky(B)
    with pytest.raises(errors.MatrixDtypeError):
        lax.linalg.cholesky(S.astype(np.float16))
