"""Operations of a device's libraries beside NumPy: values, layouts, wrong input, and what the host decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING
from tracejit.lowering.cuda.libs import functions

RNG = np.random.default_rng(0)
LONG, GRID = RNG.normal(size=3000), RNG.normal(size=(6, 40, 5))
A = RNG.normal(size=(40, 40))
S = A @ A.T + np.eye(40)
STACK = np.stack([S, 2 * S + np.eye(40), S[::-1, ::-1]])
COMPLEX = A + 1j * RNG.normal(size=(40, 40))
HERMITIAN = COMPLEX @ COMPLEX.conj().T + np.eye(40)


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda=SETTING, fallback=True):
        yield


CASES: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "sort": (np.sort, (LONG,), "sort"),
    "sort along an axis": (lambda x: np.sort(x, axis=1), (GRID,), "sort"),
    "sort integers": (np.sort, (RNG.integers(-9, 9, 3000),), "sort"),
    "sort with NaN": (np.sort, (np.where(LONG > 1, np.nan, LONG),), "sort"),
    "sort of a sum": (lambda x: np.sort(x + 1)[::-1] * 2, (LONG,), "sort"),
    "argsort": (np.argsort, (LONG,), "argsort"),
    "median": (np.median, (LONG,), "sort"),
    "fft": (np.fft.fft, (LONG,), "fft"),
    "fft of an axis": (lambda x: np.fft.fft(x, axis=1, norm="ortho"), (GRID,), "fft"),
    "fft of a matrix": (np.fft.fft2, (A.astype(np.float32),), "fft"),
    "ifft": (lambda x: np.fft.ifftn(x, norm="forward"), (COMPLEX,), "ifft"),
    "rfft": (lambda x: np.fft.rfft(x, axis=1), (GRID,), "rfft"),
    "cholesky": (np.linalg.cholesky, (S,), "potrf"),
    "cholesky of a stack": (np.linalg.cholesky, (STACK,), "potrf"),
    "cholesky of complex numbers": (np.linalg.cholesky, (HERMITIAN,), "cholesky"),
    "solve": (np.linalg.solve, (A, A[:, :3] + 1), "lu"),
    "solve for a vector": (np.linalg.solve, (A, A[0]), "lu"),
    "solve stacks": (np.linalg.solve, (STACK, STACK[:, :, :2]), "lu"),
    "inv": (np.linalg.inv, (A,), "triangular solve"),
    "det": (np.linalg.det, (A,), "lu"),
    "lower": (lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True), (S, A), "triangular solve"),
    "transposed": (lambda a, b: scipy.linalg.solve_triangular(a, b, trans=2), (HERMITIAN, COMPLEX), "triangular solve"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    f, args, library = CASES[name]
    g = tj.jit(f, device="cuda")
    with np.errstate(all="ignore"):
        want = f(*args)
    for got in (g(*args), g(*map(tj.device_put, args))):
        got = tj.device_get(got)
        assert got.dtype == want.dtype and got.shape == want.shape
        tolerance = 1e-4 if want.dtype.itemsize == (8 if want.dtype.kind == "c" else 4) else 1e-9
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    steps = g.lower(*args).compile().as_text("plan")
    if name not in ("lower", "transposed"):  # which look for zeros on the diagonal
        assert f"library: {library} of" in steps and "callback" not in steps


B = RNG.normal(size=(130, 140))
H = B @ B.T
SPECTRA: dict[str, tuple[Any, np.ndarray, str, Any]] = {
    "eigvalsh": (np.linalg.eigvalsh, H, "eigvalsh", None),
    "eigvalsh of an upper triangle": (lambda x: np.linalg.eigvalsh(x, "U"), np.triu(H), "eigvalsh", None),
    "eigh": (np.linalg.eigh, H, "eigh", lambda w, v: (v * w) @ v.T),
    "eigh of a stack": (np.linalg.eigh, np.stack([H, 2 * H]), "eigh", lambda w, v: (v * w[:, None]) @ v.mT),
    "svd": (lambda x: np.linalg.svd(x, False), B, "svd", lambda u, s, vh: (u * s) @ vh),
    "full svd": (np.linalg.svd, B + 1j * B[::-1], "svd", lambda u, s, vh: (u * s) @ vh[:130]),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), B, "svdvals", None),
    "qr": (np.linalg.qr, B.T.copy(), "qr", lambda q, r: q @ r),
    "complete qr": (lambda x: np.linalg.qr(x, "complete"), B.T.copy(), "qr", lambda q, r: q @ r),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_spectra(name: str) -> None:
    """Vectors are free to turn: what they and the values make is compared, and the values."""
    f, x, library, whole = SPECTRA[name]
    g = tj.jit(f, device="cuda")
    got, want = tj.device_get(g(x)), f(x)
    assert f"library: {library} of" in g.lower(x).compile().as_text("plan")
    if whole is None:
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
        return
    assert [a.shape for a in got] == [a.shape for a in want] and got[0].dtype == want[0].dtype
    np.testing.assert_allclose(whole(*got), whole(*want), rtol=1e-9, atol=1e-9)
    values = {"eigh": 0, "svd": 1}.get(library)
    if values is not None:
        np.testing.assert_allclose(got[values], want[values], rtol=1e-9, atol=1e-9)


def test_gradients_of_spectra() -> None:
    def f(x):
        return np.linalg.eigvalsh(x @ x.T)[-1] + np.linalg.svd(x, compute_uv=False).sum()

    got = tj.jit(tj.grad(f), device="cuda", fallback=False)(B)
    np.testing.assert_allclose(tj.device_get(got), tj.jit(tj.grad(f))(B), rtol=1e-7, atol=1e-8)


def test_spectra_that_numpy_decides_about() -> None:
    x = np.full((130, 130), np.nan)
    for f in (np.linalg.eigvalsh, np.linalg.svd):
        with np.errstate(all="ignore"):
            try:
                said = str(f(x)[0])
            except np.linalg.LinAlgError as e:
                said = str(e)
        g = tj.jit(f, device="cuda", fallback=False)
        if "converge" in said:
            with pytest.raises(np.linalg.LinAlgError, match=said):
                g(x)
        else:
            assert str(tj.device_get(g(x))[0]) == said
    few = tj.jit(np.linalg.eigvalsh, device="cuda").lower(H[:100, :100]).compile().as_text("plan")
    assert "library" not in few, "small ones are the host's"


def test_wrong_matrices_raise_what_numpy_raises() -> None:
    for f, x, said in (
        (np.linalg.cholesky, -S, "Matrix is not positive definite"),
        (np.linalg.inv, np.ones((40, 40)), "Singular matrix"),
    ):
        g = tj.jit(f, device="cuda", fallback=False)
        with pytest.raises(np.linalg.LinAlgError, match=said):
            g(x)
        np.testing.assert_allclose(tj.device_get(g(S)), f(S), rtol=1e-8, atol=1e-12)


def test_a_failed_check_before_a_library_is_what_is_raised() -> None:
    f = tj.jit(lambda x, i: np.linalg.cholesky(x[i]), device="cuda", fallback=False)
    with pytest.raises(IndexError, match="index 40 is out of bounds"):
        f(S, np.arange(1, 41))
    with pytest.raises(np.linalg.LinAlgError):
        f(S, np.arange(40)[::-1] * 0)


def test_the_host_and_a_library_in_one_program() -> None:
    got = tj.jit(lambda x: np.linalg.eigvalsh(np.linalg.cholesky(x)), device="cuda")(S)
    np.testing.assert_allclose(tj.device_get(got), np.linalg.eigvalsh(np.linalg.cholesky(S)), rtol=1e-10)


def test_an_exception_is_caught_as_on_the_cpu() -> None:
    def f(x):
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return x * 0

    for x in (S, -S):
        np.testing.assert_allclose(tj.device_get(tj.jit(f, device="cuda")(x)), f(x), rtol=1e-10, atol=1e-12)


def test_matrices_that_are_not_finite_are_the_hosts() -> None:
    x = A.copy()
    x[3, 4] = np.nan

    def f(a):
        return tj.scipy.linalg.lu_factor(a, check_finite=False)

    got = tj.device_get(tj.jit(f, device="cuda")(x))
    for g, w in zip(got, tj.jit(f)(x), strict=True):
        np.testing.assert_array_equal(g, w)
    none = np.full((40, 40), np.nan)
    got = tj.device_get(tj.jit(np.linalg.cholesky, device="cuda")(none))
    np.testing.assert_array_equal(got, tj.jit(np.linalg.cholesky)(none))


def test_few_large_matrices_are_a_librarys() -> None:
    assert "library" not in tj.jit(np.linalg.cholesky, device="cuda").lower(S[:9, :9]).compile().as_text(
        "plan"
    )
    many = np.broadcast_to(S, (functions._LANES + 1, 40, 40))
    assert "library" not in tj.jit(np.linalg.cholesky, device="cuda").lower(many).compile().as_text("plan")
