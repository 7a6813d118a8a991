"""SciPy's sparse arrays in traced programs: values, types and structures against SciPy's own, derivatives against
differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import tracejit as tj
from tracejit.errors import FallbackWarning
from tracejit.ops.sparse.rules import each_lane
from tracejit.test_util import check_grads

_RNG = np.random.default_rng(3)
A = sp.random_array((7, 5), density=0.4, rng=_RNG, format="csr")
SQUARE = sp.csr_array(sp.random_array((6, 6), density=0.3, rng=_RNG) + 4 * sp.eye_array(6))
X, Y, Z = _RNG.standard_normal(5), _RNG.standard_normal(7), _RNG.standard_normal(6)
DENSE = _RNG.standard_normal((5, 3))


def _assembled(k: Any) -> Any:
    """A stiffness matrix from its elements, several in one place."""
    n, i = len(k) + 1, np.arange(len(k))
    rows = np.concatenate([i, i, i + 1, i + 1])
    columns = np.concatenate([i, i + 1, i, i + 1])
    return sp.coo_array((np.concatenate([k, -k, -k, k]), (rows, columns)), shape=(n, n)).tocsr()


def _descended(x: Any) -> Any:
    for _ in range(20):
        x = x - 0.01 * (A.T @ (A @ x))
    return x


#: Programs that run natively, with their arguments.
PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "captured": (lambda x: A @ x, (X,)),
    "argument": (lambda a, x: a @ x, (A, X)),
    "left": (lambda a, y: y @ a, (A, Y)),
    "columns": (lambda a, x: a @ x, (A, DENSE)),
    "transposed": (lambda a, y: a.T @ y, (A, Y)),
    "dot": (lambda a, x: a.dot(x), (A, X)),
    "csc": (lambda a, x: a @ x, (A.tocsc(), X)),
    "csc columns": (lambda a, x: a @ x, (A.tocsc(), DENSE)),
    "coo": (lambda a, x: a @ x, (A.tocoo(), X)),
    "coo columns": (lambda a, x: a @ x, (A.tocoo(), DENSE)),
    "bsr": (lambda a, x: a @ x, (SQUARE.tobsr((2, 3)), Z)),
    "bsr columns": (lambda a, x: a @ x, (SQUARE.tobsr((2, 2)), _RNG.standard_normal((6, 2)))),
    "dia": (lambda a, x: a @ x, (sp.dia_array(SQUARE), Z)),
    "dia columns": (lambda a, x: a @ x, (sp.dia_array(SQUARE), _RNG.standard_normal((6, 2)))),
    "matrix": (lambda m: m * m.T, (sp.csr_matrix(A),)),
    "matrix times vector": (lambda m, x: m * x, (sp.csr_matrix(A), X)),
    "complex": (lambda a, x: a @ x, (A * (1 + 2j), X)),
    "integers": (lambda a, x: a @ x, ((A * 10).astype(int), np.arange(5))),
    "float32": (lambda a, x: a.astype(np.float32) @ x, (A, X)),
    "made": (lambda d: sp.csr_array((d, A.indices, A.indptr), shape=A.shape) @ X, (A.data,)),
    "made by the module": (
        lambda d: scipy.sparse.csr_array((d, A.indices, A.indptr), shape=A.shape).sum(),
        (A.data,),
    ),
    "made of coordinates": (_assembled, (np.arange(1.0, 6),)),
    "diagonals": (
        lambda b: sp.diags_array([b[1:], b, b[:-1]], offsets=[-1, 0, 1], format="csr") @ b,
        (np.arange(1.0, 6),),
    ),
    "eye": (lambda b: sp.eye_array(5, format="csr") @ b, (X,)),
    "kron": (lambda x: sp.kron(A, sp.eye_array(2)) @ np.concatenate([x, x]), (X,)),
    "vstack": (lambda a: sp.vstack([a, a * 2]), (A,)),
    "hstack": (lambda a: sp.hstack([a, a * 2]), (A,)),
    "block": (lambda a: sp.block_array([[a, None], [None, a]]), (A,)),
    "rows": (lambda a: a[2:5], (A,)),
    "rows by numbers": (lambda a: a[[1, 4, 0]], (A,)),
    "rows by truth": (lambda a: a[np.arange(7) % 2 == 0], (A,)),
    "a column": (lambda a: a[:, 3].toarray(), (A,)),
    "columns by numbers": (lambda a: a[:, [0, 3]], (A,)),
    "an element": (lambda a: a[2, 3] + a[0, 1], (A,)),
    "scaled": (lambda a: a * 2 - a / 3, (A,)),
    "sum of two": (lambda a: a + a.multiply(0.5), (A,)),
    "product of two": (lambda a: a @ a.T, (A,)),
    "elementwise": (lambda a: a * a, (A,)),
    "times a vector": (lambda a, x: a.multiply(x), (A, X)),
    "plus dense": (lambda a: a + np.ones((7, 5)), (A,)),
    "power": (lambda a: a.power(2), (A,)),
    "sine": (lambda a: a.sin(), (A,)),
    "absolute": (lambda a: abs(-a), (A,)),
    "sums": (lambda a: (a.sum(), a.sum(axis=0), a.mean(axis=1)), (A,)),
    "maximum": (lambda a: a.max(), (A,)),
    "diagonal and trace": (lambda a: (a.diagonal(), (a.T @ a).trace()), (A,)),
    "dense": (lambda a: (a.toarray(), a.T.toarray()), (A,)),
    "conversions": (lambda a: (a.tocsc(), a.tocoo(), a.T.tocsr()), (A,)),
    "itself": (lambda a: (a, a.copy(), a.T), (A,)),
    "parts": (lambda a: (a.data * 2, a.indices, a.nnz, a.shape), (A,)),
    "triangle": (sp.tril, (A,)),
    "norm": (sl.norm, (A,)),
    "asked": (lambda a: a.sum() if sp.issparse(a) and isinstance(a, sp.csr_array) else None, (A,)),
    "loop": (_descended, (X,)),
    "cg": (lambda b: sl.cg(SQUARE + SQUARE.T, b, rtol=1e-12)[0], (Z,)),
    "cg in steps": (lambda b: sl.cg(SQUARE + SQUARE.T, b, maxiter=2), (Z,)),
    "cg preconditioned": (
        lambda b: sl.cg(
            SQUARE + SQUARE.T, b, M=sl.LinearOperator((6, 6), matvec=lambda v: v / 8), rtol=1e-12
        ),
        (Z,),
    ),
    "cg of an operator": (
        lambda b: sl.cg(sl.LinearOperator((6, 6), matvec=lambda v: SQUARE @ v + SQUARE.T @ v), b)[0],
        (Z,),
    ),
    "cg of zeros": (lambda b: sl.cg(SQUARE + SQUARE.T, b), (np.zeros(6),)),
    "bicgstab": (lambda b: sl.bicgstab(SQUARE, b, rtol=1e-12)[0], (Z,)),
    "bicgstab in steps": (lambda b: sl.bicgstab(SQUARE, b, maxiter=2, rtol=1e-12), (Z,)),
    **{
        name: (lambda b, solver=getattr(sl, name): solver(SQUARE, b, rtol=1e-12), (Z,))
        for name in ("bicg", "cgs", "gmres", "lgmres", "qmr", "tfqmr")
    },
    "minres": (lambda b: sl.minres(SQUARE + SQUARE.T, b)[0], (Z,)),
    "spsolve": (lambda b: sl.spsolve(SQUARE.tocsc(), b), (Z,)),
    "spsolve of columns": (lambda b: sl.spsolve(SQUARE.tocsc(), b), (_RNG.standard_normal((6, 2)),)),
    "splu": (lambda b: sl.splu(SQUARE.tocsc()).solve(b, "T"), (Z,)),
    "factorized": (lambda b: sl.factorized(SQUARE.tocsc())(b), (Z,)),
}


def _same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, tuple):
        for x, y in zip(ours, theirs, strict=True):
            _same(x, y)
    elif sp.issparse(theirs):
        assert ours.shape == theirs.shape
        assert vars(ours).keys() == vars(theirs).keys()
        for name, value in vars(theirs).items():
            if isinstance(value, (np.ndarray, tuple)):
                _same(getattr(ours, name), value)
            else:
                assert getattr(ours, name) == value, name
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    else:
        assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_native(name):
    f, args = PROGRAMS[name]
    jitted = tj.jit(f, fallback=False)
    for _ in range(2):
        _same(jitted(*args), f(*args))


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("kind", ["lil", "dok"])
def test_formats_of_lists_are_python_s(kind):
    a = A.asformat(kind)
    _same(tj.jit(lambda a: a @ X, fallback=True)(a), a @ X)


def test_a_changed_array_is_noticed():
    a = A.copy()
    f = tj.jit(lambda x: a @ x, fallback=False)
    _same(f(X), a @ X)
    a.data *= 3  # an input
    _same(f(X), a @ X)
    a.indices[:2] = [4, 2]  # in place, past all of its methods
    _same(f(X), a @ X)
    a.indices = a.indices.astype(np.int64)
    _same(f(X), a @ X)
    a.resize(9, 5)
    _same(f(X), a @ X)


def test_a_structure_of_captured_integers_is_known():
    i = np.arange(5)
    rows, columns = np.concatenate([i, i, i + 1, i + 1]), np.concatenate([i, i + 1, i, i + 1])

    def energy(k, u):
        stiffness = sp.coo_array((np.concatenate([k, -k, -k, k]), (rows, columns)), shape=(6, 6)).tocsr()
        return u @ (stiffness @ u)

    k, u = np.arange(1.0, 6), np.arange(6.0) ** 2
    f, gradient = tj.jit(energy, fallback=False), tj.jit(tj.grad(energy), fallback=False)
    for _ in range(2):
        assert f(k, u) == pytest.approx(energy(k, u))
        assert f(2 * k, u) == pytest.approx(energy(2 * k, u))
        assert f.trace_count == 1 + _
        bump = np.array([energy(k + 1e-6 * e, u) - energy(k - 1e-6 * e, u) for e in np.eye(5)]) / 2e-6
        np.testing.assert_allclose(gradient(k, u), bump, rtol=1e-6)
        columns[:5] = i[::-1]


def test_large_arrays_are_compared_whole():
    n = 5000
    a = sp.csr_array((np.ones(n), (np.arange(n), np.arange(n))), shape=(n, n))
    f = tj.jit(lambda x: a @ x, fallback=False)
    x = np.arange(float(n))
    f(x)
    a.indices[-1] = 0
    _same(f(x), a @ x)


def test_arguments_of_one_structure_share_a_program():
    f = tj.jit(lambda a, x: a @ x, fallback=False)
    for k in range(4):
        b = A * (k + 1)
        _same(f(b, X), b @ X)
    assert f.trace_count == 1


def test_writes_of_elements_reach_the_array():
    a, b = A.copy(), A.copy()

    def f(a):
        a.data *= 2
        return a.sum()

    _same(tj.jit(f, fallback=False)(a), f(b))
    _same(a, b)


def test_writes_of_the_structure_are_python_s():
    def f(a):
        a.indices[0] = 4
        return a @ X

    a, b = A.copy(), A.copy()
    with pytest.warns(FallbackWarning):
        ours = tj.jit(f, fallback=True)(a)
    _same(ours, f(b))
    _same(a, b)


def test_results_that_are_zero_are_not_stored():
    """The program of other values gives way to SciPy's own, which stores less."""
    f = tj.jit(lambda a, b: a - b, fallback=True)
    _same(f(A, A * 2), A - A * 2)
    _same(f(A, A.copy()), A - A.copy())
    g = tj.jit(lambda d: sp.diags_array([d, d[1:]], offsets=[0, 1], format="csr"), fallback=True)
    for d in (np.ones(4), np.array([1.0, 0, 2, 3])):
        _same(g(d), sp.diags_array([d, d[1:]], offsets=[0, 1], format="csr"))


def test_matrices_of_numpy_are_python_s():
    m = sp.csr_matrix(A)
    for f in (lambda m: m.sum(axis=1), lambda m: m.todense(), lambda m: (m * X).view(type=np.matrix)):
        with pytest.warns(FallbackWarning):
            _same(tj.jit(f, fallback=True)(m), f(m))


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_several_elements_in_one_place():
    rows, columns = np.array([0, 2, 0, 0, 2, 4]), np.array([1, 1, 1, 0, 1, 3])
    d = np.arange(1.0, 7)

    def made(d):
        a = sp.coo_array((d, (rows, columns)), shape=(7, 5))
        indptr = np.searchsorted(np.sort(rows), np.arange(8)).astype(np.int32)
        b = sp.csr_array(
            (d[np.argsort(rows)], columns[np.argsort(rows)].astype(np.int32), indptr), shape=(7, 5)
        )
        return a, b

    for f in (
        lambda d: [x @ X for x in made(d)],
        lambda d: [x.toarray() for x in made(d)],
        lambda d: [x.sum(axis=0) for x in made(d)],
        lambda d: made(d)[1] + made(d)[1],
        lambda d: made(d)[1].diagonal(),
    ):
        ours, theirs = tj.jit(f, fallback=True)(d), f(d)
        for x, y in zip(*[(x if isinstance(x, list) else [x]) for x in (ours, theirs)], strict=True):
            _same(x, y)


def test_bad_products_say_what_scipy_says():
    with pytest.raises(ValueError, match="dimension mismatch"):
        tj.jit(lambda x: A @ x)(Y)


def _of_data(program: Callable[..., Any], a: Any = A) -> Callable[..., Any]:
    """The program as a function of the stored elements, too."""
    return lambda d, *rest: program(type(a)((d, a.indices, a.indptr), shape=a.shape), *rest)


DERIVATIVES = {
    "vector": (_of_data(lambda a, x: a @ x), (A.data, X)),
    "columns": (_of_data(lambda a, x: a.T @ (a @ x)), (A.data, DENSE)),
    "elementwise": (_of_data(lambda a: (a * a).data), (A.data,)),
    "product": (_of_data(lambda a: (a @ a.T).toarray()), (A.data,)),
    "assembled": (lambda k: _assembled(k).toarray(), (np.arange(1.0, 5),)),
    "spsolve": (_of_data(lambda a, b: sl.spsolve(a.tocsc(), b), SQUARE), (SQUARE.data, Z)),
    "splu": (_of_data(lambda a, b: sl.splu(a.tocsc()).solve(b, "T"), SQUARE), (SQUARE.data, Z)),
    "cg": (_of_data(lambda a, b: sl.cg(a + a.T, b, rtol=1e-14)[0], SQUARE), (SQUARE.data, Z)),
    "bicgstab": (_of_data(lambda a, b: sl.bicgstab(a, b, rtol=1e-14)[0], SQUARE), (SQUARE.data, Z)),
    "gmres": (_of_data(lambda a, b: sl.gmres(a, b, rtol=1e-14)[0], SQUARE), (SQUARE.data, Z)),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    f, args = DERIVATIVES[name]
    check_grads(f, args, order=1)
    check_grads(tj.jit(f, fallback=False), args, order=1)


def test_gradient_of_a_captured_array():
    def loss(x):
        return ((A @ x) ** 2).sum()

    want = 2 * A.T @ (A @ X)
    for gradient in (tj.grad(loss), tj.jit(tj.grad(loss), fallback=False)):
        np.testing.assert_allclose(gradient(X), want, rtol=1e-12)
    np.testing.assert_allclose(tj.hessian(loss)(X), 2 * (A.T @ A).toarray(), rtol=1e-12, atol=1e-14)


def test_batches():
    xs = np.stack([X, 2 * X, X + 1])
    datas = np.stack([A.data, -A.data, A.data**2])
    products = _of_data(lambda a, x: a @ x)
    for f in (lambda v: v, tj.jit):
        np.testing.assert_allclose(f(tj.vmap(lambda x: A @ x))(xs), (A @ xs.T).T)
        want = [products(d, x) for d, x in zip(datas, xs, strict=True)]
        np.testing.assert_allclose(f(tj.vmap(products))(datas, xs), want)
    bs = np.stack([Z, 2 * Z])
    want = [sl.spsolve(SQUARE.tocsc(), b) for b in bs]
    np.testing.assert_allclose(tj.vmap(lambda b: sl.spsolve(SQUARE.tocsc(), b))(bs), want)
    got = tj.jit(tj.vmap(lambda b: sl.cg(SQUARE + SQUARE.T, b, rtol=1e-14)[0]))(bs)
    np.testing.assert_allclose(got, [sl.spsolve((SQUARE + SQUARE.T).tocsc(), b) for b in bs])


def test_empty_arrays():
    empty = sp.csr_array((3, 5))
    _same(tj.jit(lambda a, x: a @ x, fallback=False)(empty, X), empty @ X)
    none = sp.csr_array((0, 5))
    _same(tj.jit(lambda a, x: a @ x, fallback=False)(none, X), none @ X)


def test_factors_are_kept(monkeypatch):
    """Equations with the same elements are solved by the factors that are there."""
    found = []
    splu, c = sl.splu, SQUARE.tocsc()
    solve = tj.jit(lambda d, b: splu(sp.csc_array((d, c.indices, c.indptr), shape=c.shape)).solve(b))
    solve(c.data, Z)
    monkeypatch.setattr(sl, "splu", lambda *args, **kwargs: found.append(1) or splu(*args, **kwargs))
    for k in (1, 1, 2, 2, 2):
        np.testing.assert_allclose(solve(c.data * k, Z), splu(c * k).solve(Z))
    assert len(found) == 1


def test_matrices_of_the_older_functions() -> None:
    """Their code is followed, though `tracejit.scipy` has a part of this name."""
    assert "sparse" in tj.scipy.__all__ and tj.scipy.sparse.__name__ == "tracejit.scipy.sparse"
    d = np.arange(1.0, 5)

    def f(d: Any) -> Any:
        diagonals = sp.dia_array((d[None], [0]), shape=(4, 4))
        sums = diagonals.sum(), diagonals.sum(axis=1)
        return sp.diags([d, d[1:]], [0, 1]) @ d, *sums, sp.kronsum(sp.diags(d), sp.eye(2)).toarray()

    for got, want in zip(tj.jit(f)(d), f(d), strict=True):
        np.testing.assert_allclose(got, want)


def test_products_of_no_lanes() -> None:
    found = each_lane(lambda data, x: data @ x, np.zeros((0, 3)), np.zeros((0, 3, 2)))
    assert found.shape == (0, 2) and found.dtype == np.float64
