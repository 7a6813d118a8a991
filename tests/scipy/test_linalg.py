"""`scipy.linalg` on traced values, under the user's own imports of SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.linalg
import scipy.linalg as sl
from scipy.linalg import cho_factor, cho_solve

import tracejit as tj
from tracejit import errors
from tracejit.scipy import linalg
from tracejit.test_util import check_grads

RNG = np.random.default_rng(8)


def normal(*shape: int, dtype: Any = np.float64) -> Any:
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def definite(n: int, dtype: Any = np.float64) -> Any:
    x = normal(n, n, dtype=dtype)
    return (x @ x.conj().T + np.diag(np.arange(1.0, n + 1))).astype(dtype)


A, S, C = normal(4, 4) + 2 * np.eye(4), definite(4), normal(4, 4, dtype=complex)
HC = definite(4, complex)
b, Bm = normal(4), normal(4, 2)
BAND = np.array([[0, 1.0, 2, 3], [6, 7, 8, 9], [1, 2, 3, 0]])
HALF = np.array([[0, 1.0, 2, 1], [6, 7, 8, 9]])

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (sl.cholesky, (S,)),
    "cholesky lower": (lambda a: sl.cholesky(a, lower=True), (HC,)),
    "cho_factor": (lambda a: np.triu(sl.cho_factor(a)[0]), (S + np.tril(A, -1) * 0,)),
    "cho_factor lower": (lambda a: np.tril(sl.cho_factor(a, lower=True)[0]), (HC,)),
    "cho_solve": (lambda a, b: sl.cho_solve(sl.cho_factor(a), b), (HC, b)),
    "cho_solve lower": (lambda a, b: sl.cho_solve(sl.cho_factor(a, True), b), (HC, Bm)),
    "lu": (sl.lu, (A,)),
    "lu tall": (sl.lu, (normal(5, 3),)),
    "lu wide": (sl.lu, (normal(3, 5),)),
    "lu permute_l": (lambda a: sl.lu(a, permute_l=True), (normal(4, 3),)),
    "lu p_indices": (lambda a: sl.lu(a, p_indices=True), (A,)),
    "lu_factor": (sl.lu_factor, (A,)),
    **{
        f"lu_solve {t}": (lambda a, b, t=t: sl.lu_solve(sl.lu_factor(a), b, trans=t), (C, b))
        for t in (0, 1, 2)
    },
    "lu_solve matrix": (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), (A, Bm)),
    "solve": (sl.solve, (A, b)),
    "solve matrix": (sl.solve, (A, Bm)),
    "solve transposed": (lambda a, b: sl.solve(a, b, transposed=True), (A, b)),
    "solve pos": (lambda a, b: sl.solve(a, b, assume_a="pos"), (HC, b)),
    "solve pos lower": (lambda a, b: sl.solve(a, b, assume_a="pos", lower=True), (S, Bm)),
    "solve sym": (lambda a, b: sl.solve(a, b, assume_a="sym"), (A + A.T, b)),
    **{
        f"solve sym of one half {low}": (
            lambda a, b, low=low: sl.solve(a, b, assume_a="sym", lower=low),
            (A, b),
        )
        for low in (False, True)
    },
    "solve her": (lambda a, b: sl.solve(a, b, assume_a="her", lower=True), (HC, b)),
    "solve upper": (lambda a, b: sl.solve(a, b, assume_a="upper triangular"), (np.triu(A), b)),
    **{
        f"solve tridiagonal {t}": (
            lambda a, b, t=t: sl.solve(a, b, assume_a="tridiagonal", transposed=t),
            (A, Bm),
        )
        for t in (False, True)
    },
    "lstsq all": (lambda a, b: sl.lstsq(a, b)[1::2], (normal(5, 3), normal(5))),
    "lstsq wide": (lambda a, b: sl.lstsq(a, b)[:2], (normal(3, 5, dtype=complex), normal(3))),
    "expm_frechet single": (sl.expm_frechet, (A.astype(np.float32), S.astype(np.float32))),
    "solve diagonal": (lambda a, b: sl.solve(a, b, assume_a="diagonal"), (np.diag(b), Bm)),
    **{
        f"solve_triangular {t} {low} {unit}": (
            lambda a, b, t=t, low=low, u=unit: sl.solve_triangular(a, b, t, low, u),
            (C, Bm),
        )
        for t in (0, 1, "C")
        for low in (False, True)
        for unit in (False, True)
    },
    "det": (sl.det, (A,)),
    "det single": (sl.det, (A.astype(np.float32),)),
    "inv": (sl.inv, (A,)),
    "pinv": (sl.pinv, (normal(4, 3),)),
    "lstsq": (lambda a, b: sl.lstsq(a, b)[0], (normal(5, 3), normal(5))),
    "eigh": (lambda a: sl.eigh(a)[0], (HC,)),
    "eigh upper": (lambda a: sl.eigh(a, lower=False, eigvals_only=True), (S,)),
    "eigh generalized": (lambda a, b: [abs(x) for x in sl.eigh(a, b)], (A + A.T, S)),
    "eigh subset": (lambda a: sl.eigh(a, eigvals_only=True, subset_by_index=[1, 2]), (S,)),
    "eigvalsh": (sl.eigvalsh, (S,)),
    "eig": (lambda a: abs(sl.eig(a)[1]), (C,)),
    "eigvals": (sl.eigvals, (C,)),
    "svd": (lambda a: sl.svd(a, full_matrices=False)[1], (normal(4, 3),)),
    "svdvals": (sl.svdvals, (normal(4, 3),)),
    "qr": (lambda a: sl.qr(a), (A,)),
    "qr economic": (lambda a: sl.qr(a, mode="economic"), (normal(5, 3),)),
    "qr r": (lambda a: sl.qr(a, mode="r")[0], (A,)),
    "polar": (sl.polar, (normal(4, 3),)),
    "polar left": (lambda a: sl.polar(a, "left"), (C,)),
    "expm": (sl.expm, (A,)),
    "expm complex": (sl.expm, (C,)),
    "expm_frechet": (sl.expm_frechet, (A, S)),
    "expm_frechet alone": (lambda a, e: sl.expm_frechet(a, e, compute_expm=False), (A, S)),
    "sqrtm": (lambda a: sl.sqrtm(a) * (1 + 0j), (S,)),
    "cosm": (sl.cosm, (A,)),
    "sinm": (sl.sinm, (C,)),
    "tanm": (sl.tanm, (0.3 * A,)),
    "coshm": (sl.coshm, (A,)),
    "sinhm": (sl.sinhm, (C,)),
    "tanhm": (sl.tanhm, (0.3 * A,)),
    "solve_sylvester": (sl.solve_sylvester, (S, definite(2), Bm)),
    "solve_banded": (lambda ab, b: sl.solve_banded((1, 1), ab, b), (BAND, b)),
    "solve_banded wide": (lambda ab, b: sl.solve_banded((0, 2), ab, b), (BAND[:, ::-1] + 1, Bm)),
    "solveh_banded": (sl.solveh_banded, (HALF, b)),
    "solveh_banded lower": (lambda ab, b: sl.solveh_banded(ab, b, lower=True), (HALF[::-1], b)),
    "block_diag": (sl.block_diag, (A, b, normal(2, 3))),
    "toeplitz": (sl.toeplitz, (b,)),
    "toeplitz complex": (sl.toeplitz, (C[0], C[1, :3])),
    "circulant": (sl.circulant, (b,)),
    "hankel": (sl.hankel, (b,)),
    "hankel two": (sl.hankel, (b, normal(3))),
    "khatri_rao": (sl.khatri_rao, (normal(2, 3), normal(4, 3))),
    "norm": (lambda a: sl.norm(a, 2), (A,)),
    "svd rows more": (lambda a: (lambda v: v.T @ v)(sl.svd(a)[2][3:]), (normal(3, 5),)),
    "svd columns more": (lambda a: (lambda u: u @ u.T)(sl.svd(a)[0][:, 3:]), (normal(5, 3),)),
}
CONSTANT = {
    "schur": (sl.schur, (C,)),
    "schur complex": (lambda a: abs(np.diag(sl.schur(a, "complex")[0])), (A,)),
    "hessenberg": (sl.hessenberg, (A,)),
    "hessenberg q": (lambda a: sl.hessenberg(a, calc_q=True), (C,)),
    "pinv rank": (lambda a: sl.pinv(a, return_rank=True), (normal(4, 3),)),
    "qr full": (sl.qr, (normal(5, 3),)),
}


def close(got: Any, want: Any, tol: float = 1e-8) -> None:
    got, want = tj.tree.leaves(got), tj.tree.leaves(want)
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape and g.dtype.kind == w.dtype.kind
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [*CALLS, *CONSTANT])
def test_as_scipy(name: str, thorough: bool) -> None:
    fn, args = {**CALLS, **CONSTANT}[name]
    want = fn(*args)
    tol = 1e-5 if "single" in name else 1e-8
    close(tj.jit(fn)(*args), want, tol)
    if not thorough:
        return
    stacked = [np.stack([a, a]) for a in args]
    twice = tj.tree.map(lambda x: np.stack([x, x]), want)
    close(tj.jit(tj.vmap(fn))(*stacked), twice, tol)
    close(tj.vmap(fn)(*stacked), twice, tol)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str) -> None:
    fn, args = CALLS[name]
    if all(np.asarray(a).dtype.itemsize >= 8 for a in args) and "subset" not in name:
        floats = lambda *xs: [o for o in tj.tree.leaves(fn(*xs)) if o.dtype.kind in "fc"]
        check_grads(floats, args, order=1, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (sl.expm, (0.5 * A,)),
        (lambda a, b: sl.cho_solve(sl.cho_factor(a, True), b), (S, b)),
        (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), (A, b)),
        (lambda a: sl.sqrtm(a).real, (S,)),
        (lambda ab, b: sl.solve_banded((1, 1), ab, b), (BAND, b)),
        (lambda a: (lambda n: n @ n.T)(sl.null_space(a)), (normal(2, 4),)),
        (lambda a: (lambda n: n @ n.T)(sl.null_space(a.T @ a)), (normal(2, 4),)),
    ],
)
def test_second_derivatives(fn: Any, args: Any) -> None:
    check_grads(fn, args, order=2, atol=1e-3, rtol=1e-3)


def test_every_way_of_naming_it() -> None:
    def by_module(a: Any) -> Any:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), b).sum()

    def by_name(a: Any) -> Any:
        return cho_solve(cho_factor(a), b).sum()

    def by_alias(a: Any) -> Any:
        return sl.cho_solve(sl.cho_factor(a), b).sum()

    def by_ours(a: Any) -> Any:
        return linalg.cho_solve(linalg.cho_factor(a), b).sum()

    want = by_name(S)
    for fn in (by_module, by_name, by_alias, by_ours):
        np.testing.assert_allclose(tj.jit(fn)(S), want, rtol=1e-12)
        np.testing.assert_allclose(tj.grad(fn)(S), tj.grad(by_ours)(S), rtol=1e-12)
        np.testing.assert_allclose(tj.jit(tj.grad(fn))(S), tj.grad(by_ours)(S), rtol=1e-12)


def test_without_traced_values_it_is_scipy() -> None:
    assert type(linalg.hankel([1, 2])) is np.ndarray
    np.testing.assert_array_equal(linalg.hilbert(2), scipy.linalg.hilbert(2))
    np.testing.assert_array_equal(tj.jit(lambda x: x + sl.hilbert(2))(0.0), sl.hilbert(2))
    with pytest.raises(AttributeError):
        _ = linalg.no_such_function
    for name in linalg.__all__:
        assert hasattr(scipy.linalg, name), name


def test_singular_systems_raise() -> None:
    zero = np.zeros((2, 2))
    for fn in (
        lambda a: sl.solve(a, a),
        sl.inv,
        sl.cholesky,
        lambda a: sl.solve(a, a, assume_a="pos"),
        lambda a: sl.solve_triangular(a, a),
        lambda a: sl.solve(a, a, assume_a="upper triangular"),
    ):
        with pytest.raises(np.linalg.LinAlgError):
            tj.jit(fn)(zero)


def test_a_unit_diagonal_is_not_read() -> None:
    a = np.array([[0.0, 2], [0, 0]])
    fn = lambda a: sl.solve_triangular(a, np.ones(2), unit_diagonal=True)
    np.testing.assert_array_equal(tj.jit(fn)(a), fn(a))


def test_what_scipy_raises_and_warns_about() -> None:
    """Operands that are not finite, singular matrices of a pattern, matrices that are nearly singular."""
    bad = A.copy()
    bad[1, 2] = np.nan
    for f in (sl.inv, sl.det, sl.lu, sl.qr, sl.tanm, lambda a: sl.solve(a, b), lambda a: sl.solve(b * S, a)):
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            tj.jit(lambda a, f=f: f(a), fallback=True)(bad)
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            tj.jit(tj.grad(lambda a, f=f: abs(np.sum(tj.tree.leaves(f(a))[-1]))), fallback=True)(bad)
    assert np.isnan(tj.jit(lambda a: sl.inv(a, check_finite=False), fallback=True)(bad)).any()
    rows = np.zeros((3, 4))
    for g in (lambda r: sl.solve_banded((1, 1), r, b), lambda r: sl.solve_circulant(r[0], b)):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            tj.jit(g)(rows)
    rank = tj.jit(lambda a: sl.lstsq(a, b)[2])(A)
    assert type(rank) is int and rank == 4
    tall = normal(5, 3)
    for matrix in (
        tall,
        tall[:, [0, 1, 1]],
    ):  # the other one has no residuals, which SciPy tells by an empty array
        got = tj.jit(lambda a: sl.lstsq(a, np.arange(5.0)), fallback=True)(matrix)
        for g, w in zip(got, sl.lstsq(matrix, np.arange(5.0)), strict=True):
            assert np.shape(g) == np.shape(w)
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
    hilbert = sl.hilbert(15)
    for h in (sl.inv, lambda a: sl.solve(a, np.ones(15)), lambda a: sl.solve(a, np.ones(15), assume_a="sym")):
        with pytest.warns(sl.LinAlgWarning, match="ill-conditioned"):
            want = h(hilbert)
        with pytest.warns(sl.LinAlgWarning, match="ill-conditioned"):
            np.testing.assert_array_equal(tj.jit(lambda a, h=h: h(a), fallback=True)(hilbert), want)


@pytest.mark.sample(2)
@pytest.mark.parametrize("ord", [None, 1, 2, np.inf, "fro"])
def test_kinds_of_norms(ord: Any) -> None:
    """Which of them are Python's numbers depends on the memory layout."""
    for x in (b, A[:3], np.asfortranarray(A[:3]), A[:1], A[::2, ::2], C[:3], A.astype(np.float32)):
        if x.ndim == 2 or ord != "fro":
            got, want = tj.jit(lambda x: sl.norm(x, ord))(x), sl.norm(x, ord)
            assert type(got) is type(want), (x.shape, x.strides)
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_options_that_do_not_exist_here() -> None:
    for fn in (
        lambda a: sl.qr(a, pivoting=True),
        lambda a: sl.eig(a, left=True),
        lambda a: sl.eigh(a, type=2),
        lambda a: sl.qr(a, mode="raw"),
        lambda a: sl.polar(a, side="up"),
        lambda a: sl.solve(a, a, assume_a="nothing"),
    ):
        with pytest.raises(errors.ArgumentError):
            tj.jit(fn)(S)
    with pytest.raises(errors.MatrixShapeError):
        tj.jit(lambda ab: sl.solve_banded((1, 2), ab, b))(BAND)


# ---------------------------------------------------------------- equations

_RNG = np.random.default_rng(5)
_M, _N = _RNG.normal(size=(2, 4, 4))
_S = _M @ _M.T + 4 * np.eye(4)
_W = np.array([[2.0, 0.3], [0.3, 1.0]])
_C, _D = np.array([4.0, 1, 0.5, 0.2]), _RNG.normal(size=4)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a, q: sl.solve_continuous_lyapunov(a, q), (_M, _S)),
        (lambda a, q: sl.solve_lyapunov(a, q), (_M, _S)),
        (lambda a, b, q, r: sl.solve_continuous_are(a, b, q, r), (_M, _N[:, :2], _S, _W)),
        (lambda a, b, q, r: sl.solve_discrete_are(a, b, q, r), (_M, _N[:, :2], _S, _W)),
        (lambda c, d: sl.solve_toeplitz((c, d + c[0] - d[0]), np.eye(4)), (_C, _D)),
        (lambda c, d: sl.solve_circulant(c, d), (_C, _D)),
        (lambda c, d: sl.eigvalsh_tridiagonal(c, d[:3]), (_C, _D)),
        (lambda b: sl.eigvals_banded(b, lower=True), (np.stack([_C, 0.3 * _D]),)),
    ],
)
def test_equations(f, args) -> None:
    got, want = tj.jit(f)(*args), f(*args)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
    ways = [_RNG.normal(size=a.shape) for a in args]
    ways = [w + w.T if a is _S or a is _W else w for w, a in zip(ways, args, strict=True)]
    along = lambda t: (f(*(a + t * w for a, w in zip(args, ways, strict=True))) ** 2).sum()
    near = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-5)


@pytest.mark.parametrize("name", ["eig", "eigvals"])
def test_eigenvalues_are_complex(name: str) -> None:
    """Eigenvalues of real matrices that are real are complex numbers to SciPy, and only the vectors real ones."""
    function = getattr(sl, name)
    compiled = tj.jit(lambda a: function(a), fallback=True)
    for a in (
        np.array([[2.0, 1], [1, 2]]),
        np.array([[2, 1], [0, 3]]),
        np.array([[0.0, 1], [-1, 0]]),
        _C[None, :1],
    ):
        for got, want in zip(*(tj.tree.leaves(f(a)) for f in (compiled, function)), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want)
