"""How SciPy's functions of linear algebra are taken: stacks of matrices, over which SciPy itself loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tracejit as tj
from tests.programs.observe import Described
from tracejit.errors import ArgumentError, FallbackWarning

RNG = np.random.default_rng(7)
HALF = RNG.normal(size=(2, 3, 3))
STACK = HALF @ np.swapaxes(HALF, -1, -2) + 3 * np.eye(3)

SEVERAL: dict[str, Callable[[Any], Any]] = {
    "lu_factor": sl.lu_factor,
    "qr": sl.qr,
    "rq of one": lambda a: sl.qr(a[0]),
    "schur": sl.schur,
    "eigh": sl.eigh,
    "eigh of one": lambda a: sl.eigh(a[0]),
    "eigh of some": lambda a: sl.eigh(a[0], subset_by_index=(0, 1)),
    "eigh of some of a stack": lambda a: sl.eigh(a, subset_by_index=(1, 1)),
    "eigh of two": lambda a: sl.eigh(a, a + np.eye(3), subset_by_index=(0, 1)),
    "tridiagonal": lambda a: sl.eigh_tridiagonal(a[0, 0].real, a[0, 0, 1:].real),
    "tridiagonal of some": lambda a: sl.eigh_tridiagonal(
        a[0, 0].real, a[0, 0, 1:].real, select="i", select_range=(0, 1)
    ),
    "svd": sl.svd,
    "cho_factor": sl.cho_factor,
    "polar": sl.polar,
    "hessenberg": lambda a: sl.hessenberg(a, calc_q=True),
    "small hessenberg": lambda a: sl.hessenberg(a[:, :2, :2], calc_q=True),
    "small hessenberg of one": lambda a: sl.hessenberg(a[0, :2, :2], calc_q=True),
    "rank": lambda a: sl.pinv(a, return_rank=True),
    "lu": sl.lu,
}


def _like(x: Any) -> tuple[Any, ...]:
    return x.dtype, x.shape, x.flags.c_contiguous, x.flags.f_contiguous, x.flags.writeable


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_several_results_come_as_scipys(name: str, dtype: Any) -> None:
    a = STACK.astype(dtype)
    want, got = SEVERAL[name](a), tj.jit(SEVERAL[name], fallback=False)(a)
    assert type(got) is type(want) and len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        assert _like(x) == _like(y) and np.allclose(abs(x), abs(y), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float32, np.complex128])
def test_small_matrices_are_their_own_form(dtype: Any) -> None:
    a = np.array([[1, 2], [3, 4]]).astype(dtype)
    form = tj.jit(sl.hessenberg, fallback=False)
    assert sl.hessenberg(a) is a and form(a) is a and form(a[:1, :1]).dtype == dtype
    h, q = tj.jit(lambda a: sl.hessenberg(a, calc_q=True), fallback=False)(a)
    assert h is a and q.dtype == float and q.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("trans", [0, 1])
def test_factors_of_stacks_solve(trans: int) -> None:
    """SciPy does not look whether row interchanges are in range: who asks it with others writes into foreign memory."""
    solve = tj.jit(lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=trans), fallback=False)
    chol = tj.jit(lambda a, b: sl.cho_solve(sl.cho_factor(a), b), fallback=False)
    for k in range(50):
        assert np.allclose(solve(STACK + k, STACK), sl.lu_solve(sl.lu_factor(STACK + k), STACK, trans=trans))
        assert np.allclose(chol(STACK + k, STACK), np.linalg.solve(STACK + k, STACK))


STACKS: dict[str, Callable[[Any], Any]] = {
    "eigh_tridiagonal": lambda a: sl.eigh_tridiagonal(a[:, 0], a[:, 0, 1:]),
    "solve_continuous_lyapunov": lambda a: sl.solve_continuous_lyapunov(a, a),
    "orthogonal_procrustes": lambda a: sl.orthogonal_procrustes(a, a),
}


@pytest.mark.parametrize("name", STACKS)
def test_stacks_that_are_not_there_are_scipys(name: str) -> None:
    with pytest.raises(ArgumentError, match="stack"):
        tj.jit(STACKS[name], fallback=False)(STACK)
    with pytest.warns(FallbackWarning, match="stack"):
        got = tj.jit(STACKS[name], fallback=True)(STACK)
    for x, y in zip(got, STACKS[name](STACK), strict=True):
        assert np.allclose(abs(x), abs(y))


# ---------------------------------------------------------------- types and orders in memory

T = np.array([[2, 1, 0], [0, 1, 1], [1, 0, 1]])
D = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]])
BAND = np.array([[0, 1, 1, 1, 1], [2, 2, 2, 2, 2]])
ALONE = (
    *("inv", "lu", "lu_factor", "qr", "svdvals", "eigvals", "pinv", "schur", "hessenberg", "polar"),
    *("coshm", "sinhm", "tanhm", "hankel", "det", "norm", "expm"),
)
NARROW: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda a, _, name=name: getattr(sl, name)(a) for name in ALONE},
    **{name: lambda _, d, name=name: getattr(sl, name)(d) for name in ("cholesky", "cho_factor", "eigvalsh")},
    "solve_triangular": lambda a, d: sl.solve_triangular(np.triu(a), d[0]),
    "lstsq": lambda a, d: sl.lstsq(a, d[0]),
    "solve_sylvester": lambda a, d: sl.solve_sylvester(a, d, a),
    "lyapunov": lambda a, d: sl.solve_continuous_lyapunov(d, a),
    "riccati": lambda a, d: sl.solve_continuous_are(a, a, d, d),
    "lu_solve": lambda a, d: sl.lu_solve((a, np.arange(3, dtype=np.int32)), d[0]),
}


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.uint64, np.float32, np.int64])
@pytest.mark.parametrize("name", NARROW)
def test_numbers_of_few_bits_are_what_scipy_takes_them_for(name: str, dtype: Any) -> None:
    """Some functions compute in single precision with them, and negate unsigned ones as they are."""
    f, args = NARROW[name], (T.astype(dtype), D.astype(dtype))
    with np.errstate(all="ignore"):
        try:
            want = Described(f(*args)).found
        except Exception as e:
            with pytest.raises(type(e)):
                tj.jit(f, fallback=True)(*args)
        else:
            assert Described(tj.jit(f, fallback=True)(*args)).found == want


ORDERS: dict[str, Callable[[Any], Any]] = {
    "band": lambda a: sl.cholesky_banded(10.0 * BAND * a[0, 0].real),
    "lower band": lambda a: sl.cholesky_banded(10.0 * BAND[::-1] * a[0, 0].real, lower=True),
    "change of expm": lambda a: sl.expm_frechet(a, a.T),
    "change of expm by blocks": lambda a: sl.expm_frechet(a, a.T, method="blockEnlarge"),
    "change of expm of small ones": lambda a: sl.expm_frechet(0.01 * a, a),
    "function": lambda a: sl.funm(a, np.square),
    "sign": sl.signm,
    "logarithm": sl.logm,
    "power": lambda a: sl.fractional_matrix_power(a, 0.3),
}


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("kind", ["real", "complex", "turned"])
@pytest.mark.parametrize("name", ORDERS)
def test_results_lie_in_memory_as_scipys(name: str, kind: str) -> None:
    a = HALF[0] + 4 * np.eye(3)
    a = {"real": a, "complex": a + 1j * HALF[1], "turned": a.T}[kind]
    f = ORDERS[name]
    assert Described(tj.jit(f, fallback=True)(a)).found == Described(f(a)).found
