"""Routines of NumPy, BLAS and LAPACK that compiled code calls by address."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracejit as tj
from tracejit.lowering.runtime import routines


def loops(f: Any, *args: Any) -> str:
    return tj.jit(f).lower(*args).compile().as_text("loops")


@pytest.mark.parametrize("what", ["sort", "argsort"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("which", [0, 2])
def test_numpy_has_them(what: str, dtype: str, which: int) -> None:
    name = f"numpy:{what}:{dtype}:{which}"
    assert routines.is_there(name) and routines.address(name)


def test_what_is_not_there() -> None:
    assert not routines.is_there("numpy:sort:longdouble:0")
    assert not routines.is_there("numpy:sort:object:0")
    assert not routines.is_there("fftw:plan")


def test_a_function_that_does_not_sort_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    routines._sorting.cache_clear()
    calls = []
    monkeypatch.setattr(routines, "_sorts", lambda *args: calls.append(args) or False)
    assert not routines.is_there("numpy:sort:float64:0") and calls
    x = np.random.default_rng(0).normal(size=100)
    assert "callback" in loops(np.sort, x)
    np.testing.assert_array_equal(tj.jit(lambda x: np.sort(x))(x), np.sort(x))
    routines._sorting.cache_clear()


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", [None, "stable"])
@pytest.mark.parametrize("code", "?bBhHiIlLefdFD")
def test_sorting_is_numpys(code: str, kind: Any) -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(4, 33)) * 50).astype(code) if code not in "FD" else (
        rng.integers(0, 4, (4, 33)) + 1j * rng.integers(0, 4, (4, 33))
    ).astype(code)  # fmt: skip
    if code in "efd":
        x[1, 3], x[2, 5], x[2, 7], x[0, 0] = np.nan, -0.0, 0.0, np.inf
    for f in (lambda x: np.sort(x, kind=kind), lambda x: np.argsort(x, kind=kind)):
        assert "numpy:" in loops(f, x) and "callback" not in loops(f, x)
        np.testing.assert_array_equal(tj.jit(f)(x), f(x))
        np.testing.assert_array_equal(tj.jit(tj.vmap(f))(np.stack([x, x[::-1]])), f(np.stack([x, x[::-1]])))


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (3, 1), (2, 1, 40)])
def test_sorting_of_little_or_nothing(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_array_equal(tj.jit(np.sort)(x), np.sort(x))
    np.testing.assert_array_equal(tj.jit(np.argsort)(x), np.argsort(x))


@pytest.mark.sample(16)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
@pytest.mark.parametrize("n", [5, 8, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_linear_algebra_without_python(dtype: Any, n: int, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a = (rng.normal(size=(*lead, n, n)) + 3 * np.eye(n)).astype(dtype)
    b = rng.normal(size=(*lead, n, 2)).astype(dtype)
    tolerance = 1e-10 if dtype is np.float64 else 1e-3
    cases = (np.linalg.solve, (a, b)), (np.linalg.inv, (a,)), (np.linalg.slogdet, (a,)), (np.linalg.det, (a,))
    for f, args in cases:
        assert "callback" not in loops(f, *args)
        for g, w in zip(tj.tree.leaves(tj.jit(f)(*args)), tj.tree.leaves(f(*args)), strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * np.abs(w).max())


@pytest.mark.sample(5)
@pytest.mark.parametrize("lead", [(), (3,), (2, 0), (2, 9)])
@pytest.mark.parametrize("n", [5, 8, 150])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cholesky_without_python(dtype: Any, n: int, lead: tuple[int, ...]) -> None:
    """As NumPy does it, NaN and infinities in the matrix included; one triangle is read."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(*lead, n, n))
    a = (x @ np.swapaxes(x, -1, -2) + n * np.eye(n)).astype(dtype)
    f, nans = tj.jit(np.linalg.cholesky), tj.jit(tj.lax.linalg.cholesky)
    text = loops(np.linalg.cholesky, a)
    assert ("callback" not in text and "potrf" in text) == bool(a.size)
    tolerance = 1e-11 if dtype is np.float64 else 1e-4
    upper = np.triu_indices(n, 1)
    for m in (a, np.swapaxes(a, -1, -2), np.asfortranarray(a)):
        got, want = f(m), np.linalg.cholesky(m)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=10 * tolerance * n)
        assert not got[..., *upper].any()
    noise = a + np.triu(rng.normal(size=(n, n)), 1).astype(dtype)
    np.testing.assert_array_equal(f(noise), f(a))
    if not a.size:
        return
    for k, value in enumerate((np.nan, np.inf, -np.inf, -1.0)):
        bad, i = a.copy(), int(rng.integers(n))
        bad[..., i, i if k == 3 else int(rng.integers(i + 1))] = value
        try:
            want = np.linalg.cholesky(bad)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
                f(bad)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.isnan(nans(bad)), np.isnan(tj.lax.linalg.cholesky(bad)))
        else:
            np.testing.assert_array_equal(np.isnan(f(bad)), np.isnan(want))


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangles_of_every_kind(trans: int, lower: bool, unit: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 7)) + 4 * np.eye(7), rng.normal(size=(7, 3))
    options: Any = {"lower": lower, "unit_diagonal": unit}
    wanted = scipy.linalg.solve_triangular(a, b, trans=trans, **options)
    got = tj.jit(
        lambda a, b: tj.lax.linalg.triangular_solve(a, b, left_side=True, transpose_a=bool(trans), **options)
    )
    np.testing.assert_allclose(got(a, b), wanted, rtol=1e-9)
    assert "trsm" in got.lower(a, b).compile().as_text("loops")
    right = tj.jit(lambda a, b: tj.lax.linalg.triangular_solve(a, b.T, transpose_a=not trans, **options).T)
    np.testing.assert_allclose(right(a, b), wanted, rtol=1e-9)


def test_the_factors_are_scipys() -> None:
    a = np.random.default_rng(0).normal(size=(9, 9))
    packed, pivots = scipy.linalg.lu_factor(a)
    got, places = tj.jit(scipy.linalg.lu_factor)(a)
    np.testing.assert_allclose(got, packed, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(places, pivots)
    b = np.ones(9)
    np.testing.assert_allclose(tj.jit(lambda a, b: scipy.linalg.solve(a, b, transposed=True))(a, b),
                               scipy.linalg.solve(a, b, transposed=True), rtol=1e-9)  # fmt: skip


def test_singular_matrices() -> None:
    a = np.ones((6, 6))
    for f, args in ((np.linalg.solve, (a, np.ones(6))), (np.linalg.inv, (a,))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            tj.jit(f)(*args)
    assert tj.jit(np.linalg.det)(a) == 0
    assert tuple(tj.jit(np.linalg.slogdet)(a)) == (0, -np.inf)


def test_derivatives_against_differences() -> None:
    rng = np.random.default_rng(0)
    a, b, step = rng.normal(size=(6, 6)) + 3 * np.eye(6), rng.normal(size=6), np.zeros((6, 6))
    step[1, 2] = 1e-6

    def loss(a: Any) -> Any:
        solved = np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.inv(a).sum()
        return solved + np.linalg.slogdet(a)[1] + np.linalg.det(a) + np.sum(np.sort(a, axis=1)[:, 2] ** 2)

    slope = (loss(a + step) - loss(a - step)) / 2e-6
    assert np.isclose(tj.jit(tj.grad(loss))(a)[1, 2], slope, rtol=1e-5)
    lanes = tj.jit(tj.vmap(loss))(np.stack([a, 2 * a]))
    np.testing.assert_allclose(lanes, [loss(a), loss(2 * a)], rtol=1e-10)


def test_in_a_loop_and_from_many_threads() -> None:
    a, b = np.random.default_rng(0).normal(size=(8, 8)) + 4 * np.eye(8), np.arange(8.0)

    def iterated(a: Any, x: Any) -> Any:
        for _ in range(50):
            x = np.linalg.solve(a, x)
            x = np.sort(x) / np.abs(x).max()
        return x

    wanted, f, wrong = iterated(a, b), tj.jit(iterated), []

    def work() -> None:
        for _ in range(20):
            if not np.allclose(f(a, b), wanted, rtol=1e-8):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
