"""Products with sparse arrays whose structure is an input of the program: another structure runs the same program, and
one that native code may not follow is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import tracejit as tj

_RNG = np.random.default_rng(11)
N = 40


def _matrix(seed: int, kind: str = "csr", index: Any = np.int32) -> Any:
    """(30, N), with 90 elements, some of which may be in one place."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, 30, 90))
    indptr = np.searchsorted(rows, np.arange(31)).astype(index)
    made = sp.csr_array((rng.standard_normal(90), rng.integers(0, N, 90).astype(index), indptr), (30, N))
    return made if kind == "csr" else sp.csc_array((made.data, made.indices, made.indptr), (N, 30))


def _traced(f: Any) -> Any:
    return tj.jit(f, fallback=False)


@pytest.mark.sample(3)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_another_structure_runs_the_same_program(kind: str, index: Any) -> None:
    f = _traced(lambda a, x: a @ x)
    for seed in range(4):
        a = _matrix(seed, kind, index)
        for shape in ((a.shape[1],), (a.shape[1], 3), (a.shape[1], 11)):
            x = np.random.default_rng(seed).standard_normal(shape)
            np.testing.assert_array_equal(f(a, x), a @ x)
    assert f.trace_count == 3


def test_elements_are_moved_in_place() -> None:
    a, x = _matrix(0), _RNG.standard_normal(N)
    f = _traced(lambda x: a @ x)
    f(x)
    a.indices[:] = np.roll(a.indices, 7)
    np.testing.assert_array_equal(f(x), a @ x)
    a.indptr[1:-1] = 45
    np.testing.assert_array_equal(f(x), a @ x)
    assert f.trace_count == 1


def test_what_reads_the_structure_is_traced_again() -> None:
    f = _traced(lambda a, x: (a @ x) * a.nnz + a.indices[0] + (a @ x).sum())
    x = _RNG.standard_normal(N)
    for seed in (0, 1, 1, 0):
        a = _matrix(seed)
        np.testing.assert_allclose(f(a, x), (a @ x) * a.nnz + a.indices[0] + (a @ x).sum(), rtol=1e-14)
    assert f.trace_count == 2


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("wrong", [N, 10**9, -1])
@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_what_is_out_of_range_is_an_error(part: str, wrong: int, kind: str) -> None:
    x = _RNG.standard_normal(N if kind == "csr" else 30)
    f = tj.jit(lambda a, x: a @ x)
    f(_matrix(0, kind), x)
    a = _matrix(1, kind)
    getattr(a, part)[17] = wrong if part == "indices" or wrong != N else 91
    for g in (f, tj.jit(lambda a, x: a @ x)):
        with pytest.raises(IndexError, match="of a sparse array out of range"):
            g(a, x)
    f(_matrix(0, kind), x)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_derivatives(kind: str) -> None:
    rows, columns = (30, N) if kind == "csr" else (N, 30)
    w, x = _RNG.standard_normal(rows), _RNG.standard_normal(columns)

    def loss(a: Any, x: Any) -> Any:
        return np.sum(w * np.sin(a @ x))

    f = _traced(tj.grad(loss, argnums=(0, 1)))
    h = _traced(lambda a, x: tj.hessian(lambda x: loss(a, x))(x))
    for seed in (0, 1):
        a = _matrix(seed, kind)
        by_data, by_x = f(a, x)
        dense, inner = a.toarray(), w * np.cos(a @ x)
        np.testing.assert_allclose(by_x, dense.T @ inner, rtol=1e-12)
        n, m = a.tocoo().coords
        np.testing.assert_allclose(by_data.data, inner[n] * x[m], rtol=1e-12)
        np.testing.assert_array_equal(by_data.indices, a.indices)
        curved = dense.T @ np.diag(-w * np.sin(a @ x)) @ dense
        np.testing.assert_allclose(h(a, x), curved, rtol=1e-11, atol=1e-12)
    assert (f.trace_count, h.trace_count) == (1, 1)


def test_batches_and_loops() -> None:
    def stepped(a: Any, x: Any) -> Any:
        for _ in range(20):
            x = x - 0.01 * (a @ x)
        return x

    def square(seed: int) -> Any:
        a = _matrix(seed)
        return sp.csr_array((a.data, a.indices % 30, a.indptr), (30, 30))

    f = _traced(lambda a, x: tj.vmap(lambda x: stepped(a, x))(x))
    slope = _traced(tj.grad(lambda x, a: np.sum(stepped(a, x) ** 2)))
    xs = _RNG.standard_normal((5, 30))
    for seed in (0, 1):
        a = square(seed)
        np.testing.assert_allclose(f(a, xs), [stepped(a, x) for x in xs], rtol=1e-12)
        step = np.linalg.matrix_power(np.eye(30) - 0.01 * a.toarray(), 20)
        np.testing.assert_allclose(slope(xs[0], a), 2 * step.T @ step @ xs[0], rtol=1e-10)
    assert f.trace_count == 1


def test_solvers() -> None:
    f = _traced(lambda a, b: sl.cg(a, b, rtol=1e-12)[0])
    b = _RNG.standard_normal(60)
    for shift in (3.0, 5.0):
        a = sp.csr_array(sp.diags_array([-np.ones(59), np.full(60, shift), -np.ones(59)], offsets=[-1, 0, 1]))
        np.testing.assert_allclose(a @ f(a, b), b, atol=1e-9)
    assert f.trace_count == 1


def test_a_product_in_many_threads() -> None:
    rng = np.random.default_rng(5)
    a = sp.random_array((20_000, 20_000), density=5e-4, rng=rng, format="csr")
    x = rng.standard_normal(20_000)
    f = tj.jit(lambda a, x: a @ x)
    np.testing.assert_array_equal(f(a, x), a @ x)
    a.indices[150_000] = 20_000
    with pytest.raises(IndexError, match="out of range"):
        f(a, x)
