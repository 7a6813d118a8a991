"""Small matrices in native code, against NumPy, LAPACK, exact arithmetic and the error that elimination may have."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracejit as tj
from tracejit import lax
from tracejit.ops.decompositions import small

SIZES = [1, 2, 3, 4]
REAL = [np.float32, np.float64]
SINGULAR = [np.zeros((2, 2)), np.ones((3, 3)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.diag([1.0, 0, 2, 3])]

lu = tj.jit(lambda a: lax.linalg.lu(a))
solve = tj.jit(lambda a, b: np.linalg.solve(a, b))
inv = tj.jit(lambda a: np.linalg.inv(a))
det = tj.jit(lambda a: np.linalg.det(a))
slogdet = tj.jit(lambda a: tuple(np.linalg.slogdet(a)))
cholesky = tj.jit(lambda a: np.linalg.cholesky(a))


def hard_matrices(n: int, dtype: Any) -> list[np.ndarray]:
    """Random, exchanged, badly scaled, nearly singular and with many equal pivots; none singular."""
    rng = np.random.default_rng(n)
    scale = 10.0 ** rng.integers(-12, 12, (n, 1))
    grid = np.arange(n)
    found = [
        *rng.standard_normal((6, n, n)),
        rng.standard_normal((n, n)) * scale,
        rng.standard_normal((n, n)) * scale.T,
        rng.permutation(np.eye(n)),
        np.eye(n)[::-1] + np.tri(n)[::-1] * 1e-5,
        1 / (1 + grid[:, None] + grid),
        np.ones((n, n)) - 2 * np.eye(n) + (n == 2) * np.tri(n),
        *rng.choice([-1.0, 1.0], (6, n, n)),
    ]
    return [a.astype(dtype) for a in found if np.linalg.matrix_rank(a.astype(dtype)) == n]


def backward(a: Any, x: Any, b: Any) -> float:
    """The normwise backward error of a x = b, in ulps (Rigal and Gaches 1967)."""
    a64, x64, b64 = (np.asarray(v, np.float64) for v in (a, x, b))
    size = np.abs(a64).max() * np.abs(x64).max() + np.abs(b64).max()
    return float(np.abs(a64 @ x64 - b64).max() / size / np.finfo(a.dtype).eps)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_factors_have_the_pivots_of_lapack(n: int, dtype: Any) -> None:
    for a in hard_matrices(n, dtype):
        packed, pivots, order = lu(a)
        expected, expected_pivots = scipy.linalg.lu_factor(a)
        assert packed.dtype == dtype and pivots.dtype == order.dtype == np.int32
        np.testing.assert_array_equal(pivots, expected_pivots)
        low, up = np.tril(packed, -1) + np.eye(n, dtype=dtype), np.triu(packed)
        assert np.abs(low).max() == 1
        np.testing.assert_allclose(low @ up, a[order], atol=8 * np.finfo(dtype).eps * np.abs(a).max())
        eps = np.finfo(dtype).eps * np.linalg.cond(a.astype(float))
        np.testing.assert_allclose(packed, expected, rtol=8 * eps, atol=8 * eps * np.abs(expected).max())


@pytest.mark.sample(2)
@pytest.mark.parametrize("columns", [None, 1, 3])
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_solutions_are_as_good_as_elimination_gives(n: int, dtype: Any, columns: int | None) -> None:
    rng = np.random.default_rng(1)
    for a in hard_matrices(n, dtype):
        b = rng.standard_normal((n,) if columns is None else (n, columns)).astype(dtype)
        x = solve(a, b)
        assert x.dtype == dtype and x.shape == b.shape
        assert backward(a, x, b) < 8
        bound = 8 * np.finfo(dtype).eps * np.linalg.cond(a.astype(float))
        expected = np.linalg.solve(a.astype(float), b.astype(float))
        np.testing.assert_allclose(x, expected, rtol=0, atol=bound * np.abs(expected).max())


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_inverses(n: int, dtype: Any) -> None:
    for a in hard_matrices(n, dtype):
        x, expected = inv(a), np.linalg.inv(a.astype(float))
        bound = 8 * np.finfo(dtype).eps * np.linalg.cond(a.astype(float))
        np.testing.assert_allclose(x, expected, rtol=0, atol=bound * np.abs(expected).max())


def exact_det(a: np.ndarray) -> Fraction:
    n, total = len(a), Fraction(0)
    for p in itertools.permutations(range(n)):
        sign = round(np.linalg.det(np.eye(n)[list(p)]))
        term = Fraction(sign)
        for i, j in enumerate(p):
            term *= Fraction(float(a[i, j]))
        total += term
    return total


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_determinants(n: int, dtype: Any) -> None:
    for a in hard_matrices(n, dtype):
        exact = float(exact_det(a))
        sign, size = slogdet(a)
        bound = 16 * np.finfo(dtype).eps * np.linalg.cond(a.astype(float))
        if bound < 0.01:  # otherwise rounding decides the sign
            assert sign == np.sign(exact)
            assert det(a) == pytest.approx(exact, rel=bound)
            np.testing.assert_allclose(size, np.log(abs(exact)), rtol=bound, atol=bound)
        assert sign.dtype == size.dtype == det(a).dtype == dtype


def test_determinants_do_not_overflow_on_the_way() -> None:
    for d in [1e200, 1e200, 1e-200, 1e-200], [1e-200, -1e-200, 1e200, 1e200], [1e-300, 1e-20, 1e300, 7.0]:
        assert det(np.diag(d)) == pytest.approx(np.linalg.det(np.diag(d)), rel=1e-12)
        assert np.isfinite(det(np.diag(d))) and det(np.diag(d)) != 0


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky(n: int, dtype: Any) -> None:
    for a in np.random.default_rng(n).standard_normal((8, n, n)):
        definite = (a @ a.T + 0.1 * np.eye(n)).astype(dtype)
        junk = definite + np.triu(np.full((n, n), np.nan, dtype), 1)  # which is not read
        low = cholesky(junk)
        assert low.dtype == dtype and not np.triu(low, 1).any()
        np.testing.assert_allclose(
            low @ low.T, definite, atol=8 * np.finfo(dtype).eps * np.abs(definite).max()
        )


@pytest.mark.sample(3)
@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=4)), ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_triangles(n: int, flags: tuple[bool, ...]) -> None:
    left, lower, transposed, unit = flags
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, 3) if left else (3, n))
    run = tj.jit(
        lambda a, b: lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit
        )
    )
    trans = transposed if left else not transposed
    x = scipy.linalg.solve_triangular(
        a, b if left else b.T, trans=int(trans), lower=lower, unit_diagonal=unit
    )
    np.testing.assert_allclose(run(a, b), x if left else x.T, rtol=1e-11, atol=1e-11)
    assert not run.lower(a, b).compile().callbacks()


@pytest.mark.parametrize("function", [solve, inv])
@pytest.mark.parametrize("a", SINGULAR, ids=range(len(SINGULAR)))
def test_singular_matrices_raise_numpys_error(function: Any, a: np.ndarray) -> None:
    args = (a, np.ones(len(a))) if function is solve else (a,)
    with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix$"):
        function(*args)
    stack = np.stack([np.eye(len(a)), a])
    with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix$"):
        function(stack, *(np.ones((2, len(a), 1)) for _ in args[1:]))


@pytest.mark.parametrize("a", SINGULAR, ids=range(len(SINGULAR)))
def test_determinants_of_singular_matrices(a: np.ndarray) -> None:
    assert det(a) == 0
    assert slogdet(a) == (0, -np.inf)


@pytest.mark.parametrize("a", [np.diag([1.0, -1.0]), np.zeros((3, 3)), np.array([[1.0, 0.0], [2.0, 3.0]])])
def test_indefinite_matrices_raise_numpys_error(a: np.ndarray) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"^Matrix is not positive definite$"):
        cholesky(a)


def test_unchecked_failures_are_nan_in_their_matrix_only() -> None:
    stack = np.stack([np.eye(2), np.diag([1.0, -1.0]), np.zeros((2, 2))])
    low = tj.jit(lambda a: lax.linalg.cholesky(a))(stack)
    np.testing.assert_array_equal(low[0], np.eye(2))
    assert np.isnan(low[1:]).all()


@pytest.mark.parametrize("position", [(0, 0), (0, 1), (1, 0), (2, 2)])
def test_a_nan_is_not_lost(position: tuple[int, int]) -> None:
    a = np.random.default_rng(0).standard_normal((3, 3))
    a[position] = np.nan
    assert np.isnan(det(a)) and np.isnan(inv(a)).any() and np.isnan(solve(a, np.ones(3))).any()


@pytest.mark.sample(4)
@pytest.mark.parametrize("lead", [(1,), (5,), (2, 3), (300,)], ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_stacks_are_their_matrices_one_by_one(n: int, lead: tuple[int, ...]) -> None:
    a = np.random.default_rng(2).standard_normal((*lead, n, n))
    definite = a @ a.swapaxes(-1, -2) + np.eye(n)
    b = np.random.default_rng(3).standard_normal((*lead, n, 2))
    for function, args in ((solve, (a, b)), (inv, (a,)), (det, (a,)), (cholesky, (definite,))):
        whole = function(*args)
        for index in np.ndindex(*lead):
            np.testing.assert_allclose(
                whole[index], function(*(x[index] for x in args)), rtol=1e-13, atol=1e-13
            )


def test_vmap_and_derivatives() -> None:
    a, b = np.random.default_rng(4).standard_normal((7, 3, 3)), np.arange(3.0)
    alone = lambda x: np.linalg.solve(x, b).sum() + np.linalg.det(x)
    inverse, t = np.linalg.inv(a), np.ones(3)
    expected = -np.einsum("kji,j,kml,l->kim", inverse, t, inverse, b)
    expected += np.linalg.det(a)[:, None, None] * inverse.swapaxes(-1, -2)
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(alone)))(a), expected, rtol=1e-9, atol=1e-9)


def test_in_a_loop_over_steps() -> None:
    """A Kalman filter: two systems a step."""
    rng = np.random.default_rng(5)
    move, seen = np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(2) + 0.1 * rng.standard_normal((2, 2))

    def step(state: Any, y: Any) -> Any:
        x, p = state
        x, p = move @ x, move @ p @ move.T + 0.01 * np.eye(2)
        s = seen @ p @ seen.T + 0.1 * np.eye(2)
        gain = np.linalg.solve(s, seen @ p).T
        likely = (y - seen @ x) @ np.linalg.solve(s, y - seen @ x)
        return (x + gain @ (y - seen @ x), p - gain @ seen @ p), likely

    ys, state, out = rng.standard_normal((20, 2)), (np.zeros(2), np.eye(2)), []
    for y in ys:
        state, likely = step(state, y)
        out.append(likely)
    final, found = tj.jit(lambda ys: lax.scan(step, (np.zeros(2), np.eye(2)), ys))(ys)
    np.testing.assert_allclose(found, out, rtol=1e-12)
    np.testing.assert_allclose(final[1], state[1], rtol=1e-12)


@pytest.mark.parametrize("function", [solve, inv, det, slogdet, cholesky])
def test_nothing_is_called(function: Any) -> None:
    def calls(n: int, dtype: Any) -> bool:
        a = np.eye(n, dtype=dtype)
        return bool(function.lower(a, *([a] if function is solve else [])).compile().callbacks())

    assert not any(calls(n, d) for n in SIZES for d in REAL)
    assert calls(2, complex) and not calls(5, float)  # which calls LAPACK by its address


@pytest.mark.parametrize("shape", [(0, 2, 2), (0, 0), (2, 0, 0)])
def test_nothing_in_them(shape: tuple[int, ...]) -> None:
    a = np.ones(shape)
    assert not small.is_small(a)
    for function, numpy in ((inv, np.linalg.inv), (det, np.linalg.det), (cholesky, np.linalg.cholesky)):
        np.testing.assert_array_equal(function(a), numpy(a))
