"""Ufuncs that Numba compiled are followed, and give what Numba's code gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tracejit as tj

_LATER: dict[str, Any] = {}


def later(compiler: Any) -> Callable[[Any], Any]:
    """Numba compiles the function for its signatures when a test of this file runs: not when the file is read, which
    every process of the tests does, whichever tests it runs."""

    def decorated(f: Any) -> Any:
        _LATER[f.__name__] = compiler
        return f

    return decorated


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    names = globals()
    names |= {name: compiler(names[name]) for name, compiler in _LATER.items()}


@numba.vectorize
def clipped(a: Any, b: Any) -> Any:
    return a + b if a > b else a * b


@later(numba.vectorize([numba.float64(numba.float64)]))
def bell(a: Any) -> Any:
    return np.exp(-a * a)


@numba.vectorize
def steps(a: Any, b: Any) -> Any:
    n = 0
    while a * a + b * b < 4 and n < 20:
        a, b = a * a - b * b + 0.3, 2 * a * b + 0.1
        n += 1
    return n


@numba.vectorize
def narrow(a: Any, b: Any) -> Any:
    return a * 2.1 + b


@numba.vectorize
def truth(a: Any, b: Any) -> Any:
    return a + b


XS, KS = np.linspace(-2, 2, 7), np.arange(-3, 4)


@pytest.mark.parametrize("v", [clipped, steps])
@pytest.mark.parametrize("args", [(XS, XS[::-1]), (XS[:, None], KS), (KS, 2), (0.5, XS), (1.5, 2)])
def test_vectorized_functions_are_followed(v: Any, args: Any) -> None:
    v(XS, XS)  # Numba then takes integers as floats, too; alone, their loop begins with names of another type
    got, want = tj.jit(lambda a, b: v(a, b), fallback=False)(*args), v(*args)
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_vectorized_functions_are_differentiated() -> None:
    np.testing.assert_allclose(tj.grad(lambda x: bell(x).sum())(XS), -2 * XS * bell(XS))
    rows = tj.jit(tj.vmap(lambda x: clipped(x, 0.5)))(np.stack([XS, XS + 1]))
    np.testing.assert_allclose(rows, clipped(np.stack([XS, XS + 1]), 0.5))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: narrow(x.astype(np.float32), np.float32(2)),  # Numba computes some of it in 64 bits
        lambda x: truth(x > 0, x > 1),
        lambda x: clipped.reduce(x),
        lambda x: clipped(x, 2.0, out=np.empty(7)),
    ],
)
def test_other_calls_of_vectorized_functions_are_pythons(f: Any) -> None:
    clipped(XS, XS)  # without a loop for floats, Numba has none for its sums of floats
    with pytest.raises(tj.errors.UnfollowedError, match="Numba"):
        tj.jit(f, fallback=False)(XS)
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        np.testing.assert_array_equal(tj.jit(f)(XS), f(XS))


# ---------------------------------------------------------------- numba.guvectorize

F, N = numba.float64, numba.int64


@later(numba.guvectorize([(F[:], F, F[:])], "(n),()->(n)"))
def shifted(x: Any, y: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = x[i] + y


@later(numba.guvectorize([(F[:, :], F[:, :], F[:, :])], "(m,n),(n,p)->(m,p)"))
def product(a: Any, b: Any, out: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@later(numba.guvectorize([(N[:], N[:], N[:])], "(n)->(),()"))
def extremes(x: Any, low: Any, high: Any) -> None:
    low[0], high[0] = x.min(), x.max()


@later(numba.guvectorize("(n)->()"))
def untyped(x: Any, out: Any) -> None:
    out[0] = x[0] / x[1]


A = np.arange(1.0, 13).reshape(3, 4)


def into_its_own(x: Any) -> Any:
    out = np.empty_like(x)
    shifted(x, 1.0, out)
    return out


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda x, y: shifted(x, y), (A, 2.0)),
    (lambda x, y: shifted(x, y), (A, A[:, 0])),
    (lambda x, y: shifted(x, y), (A[0], A[:, 0])),
    (lambda x, y: shifted(x, y), (A.astype(int), 2)),
    (lambda x, y: product(x, y), (np.ones((2, 5, 3)), A)),
    (lambda x: product(x, x.T), (A,)),
    (lambda n: extremes(n), (np.arange(6).reshape(2, 3),)),
    (lambda x, o: untyped(x, o), (A, np.zeros(3))),
    (into_its_own, (A,)),
]


@pytest.mark.parametrize("n", range(len(CASES)))
def test_core_dimensions_are_loops(n: int) -> None:
    f, args = CASES[n]
    want, got = f(*args), tj.jit(f, fallback=False)(*args)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (want, got)), strict=True):
        assert type(a) is type(b) and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-14)


def scaled(x: Any, k: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        out[i] = x[i] * k + i


@pytest.mark.sample(2)
@pytest.mark.parametrize("loops", [(F, N), (N, F)])
def test_numbers_choose_loops_as_numpy_has_them_choose(loops: Any) -> None:
    """One of Python's fits the first loop that takes numbers of its kind, one of NumPy's that of its dtype."""
    f = numba.guvectorize([(t[:], t, t[:]) for t in loops], "(n),()->(n)")(scaled)
    for x in (np.arange(3), np.arange(3) * 1.5):
        for k in (3, np.int64(3), np.array(3), 2.0, True, np.array([1, 2])):
            for g, args in ((lambda x, k: f(x, k), (x, k)), (lambda x, k=k: f(x, k), (x,))):
                got, want = tj.jit(g, fallback=False)(*args), f(x, k)
                assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_core_dimensions_are_differentiated() -> None:
    np.testing.assert_allclose(tj.grad(lambda x: product(x, x.T).sum())(A), 2 * A.sum(0) * np.ones((3, 1)))
    tj.test_util.check_grads(lambda x: shifted(x, x[0, 0]).sum() ** 2, (A,), order=2)
    lanes = tj.vmap(lambda x: shifted(x, 1.0))(np.stack([A, 2 * A]))
    np.testing.assert_array_equal(lanes, np.stack([A, 2 * A]) + 1)


def test_a_division_by_zero_is_numpys() -> None:
    with np.errstate(all="ignore"):
        got = tj.jit(lambda x: untyped(x, np.empty(3)), fallback=False)(A * [1, 0, 1, 1])
        np.testing.assert_array_equal(got, untyped(A * [1, 0, 1, 1], np.empty(3)))


@pytest.mark.parametrize("f", [lambda x: shifted(x), lambda x: shifted(x, 1.0, axis=0)])
def test_other_calls_of_generalized_functions_are_refused(f: Any) -> None:
    with pytest.raises(tj.errors.UnfollowedError, match="Numba"):
        tj.jit(f, fallback=False)(A)


@numba.vectorize
def rectified(a: Any) -> Any:
    return a if a > 0 else 0


@numba.vectorize
def limited(a: Any) -> Any:
    if a < 0:
        return 0
    scale = 1
    if a < 1:
        scale = a
    return scale


@later(numba.vectorize(["int64(int64,int64)", "float64(float64,float64)"]))
def floors(a: Any, b: Any) -> Any:
    return a // b if b != 0 else 0


def test_names_have_one_type() -> None:
    """An integer in one branch and a float in another are floats, as Numba types them."""
    x, n = np.array([-1.5, 0.25, 2.0, 0.0]), np.array([7, -7, 3, 0])
    for f, args in (
        (rectified, (x,)),
        (rectified, (n,)),
        (limited, (x,)),
        (floors, (x, x[::-1])),
        (floors, (n, n - 3)),
    ):
        got, wanted = tj.jit(lambda *a, f=f: f(*a))(*args), f(*args)
        assert got.dtype == wanted.dtype and got.tolist() == wanted.tolist()
    for f, slopes in ((rectified, [0, 1, 1, 0]), (limited, [0, 1, 0, 1])):
        assert tj.jit(tj.grad(lambda x, f=f: f(x).sum()))(x).tolist() == slopes
