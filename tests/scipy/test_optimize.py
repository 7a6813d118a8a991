"""Solvers of scipy.optimize inside of compiled functions: SciPy's solutions, and derivatives of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse as sp

import tracejit as tj
from tracejit.errors import SolverOptionError
from tracejit.scipy.optimizing import natively

A = np.array([0.5, 1.0, -0.3])
START = np.zeros(3)


def energy(x, a):
    return np.sum((x - a) ** 4) + np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((x - a) ** 2)


def minimum(a, **options):
    return so.minimize(energy, START, args=(a,), **options)


def differences(f: Any, a: Any, step: float = 1e-4) -> Any:
    return np.array([(f(a + d) - f(a - d)) / (2 * step) for d in step * np.eye(len(a))]).T


GRADIENT, HESSIAN = tj.jit(tj.grad(energy)), tj.jit(tj.hessian(energy))
BEST = minimum(A, method="BFGS", options={"gtol": 1e-10}).x


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    "method",
    [
        None,
        "BFGS",
        "CG",
        "L-BFGS-B",
        "TNC",
        "SLSQP",
        "Nelder-Mead",
        "Powell",
        "Newton-CG",
        "trust-exact",
        "trust-ncg",
        "dogleg",
    ],
)
def test_minimum(method: Any) -> None:
    """What SciPy's solver gives if it is handed the derivatives."""
    tol = 1e-4 if method == "Newton-CG" else 1e-7  # below, rounding decides on its last search
    given = {"jac": GRADIENT} if method not in ("Nelder-Mead", "Powell") else {}
    given |= {"hess": HESSIAN} if method in ("Newton-CG", "trust-exact", "trust-ncg", "dogleg") else {}
    want = minimum(A, method=method, tol=tol, **given)
    run = tj.jit(lambda a: minimum(a, method=method, tol=tol))
    if str(method or "BFGS").lower() in natively.OPTIONS:
        got = run(A)  # all of it is known to the program
        assert type(got) is type(want) and list(got) == list(want)
        for name in set(want) - {"message", "final_simplex", "jac", "hess_inv"}:
            assert type(got[name]) is type(want[name])
            np.testing.assert_allclose(got[name], want[name], rtol=1e-6, err_msg=name)
        assert repr(got.message) == repr(want.message)
    else:
        with pytest.raises(tj.errors.SolverOptionError, match="all fields"):
            run(A)
    assert tj.jit(lambda a: minimum(a, method=method, tol=tol).message)(A) == want.message
    names = ("nit", "nfev", "status", "success")
    found = tj.jit(
        lambda a: (lambda r: (r.x, r.fun, [r[n] for n in names]))(minimum(a, method=method, tol=tol))
    )
    x, value, others = found(A)
    np.testing.assert_allclose(x, want.x, rtol=1e-6)
    np.testing.assert_allclose(x, BEST, atol=1e-3)
    np.testing.assert_allclose(value, energy(x, A), rtol=1e-14)
    assert list(map(type, others)) == [int, int, int, bool]
    assert others == [want.nit, want.nfev, want.status, want.success]


def test_minimum_without_derivatives_is_scipys_own_path() -> None:
    want = minimum(A, method="Nelder-Mead")
    got = tj.jit(lambda a: (lambda r: (r.x, r.nfev, r.nit))(minimum(a, method="Nelder-Mead")))(A)
    assert got[1:] == (want.nfev, want.nit)
    np.testing.assert_allclose(got[0], want.x, rtol=1e-12)


def test_gradient_of_the_function_that_gives_both() -> None:
    def both(x, a):
        return np.sum((x - a) ** 2), 2 * (x - a)

    np.testing.assert_allclose(
        tj.jit(lambda a: so.minimize(both, START, args=(a,), jac=True).x)(A), A, atol=1e-7
    )


def best(a):
    return minimum(a, tol=1e-11).x.sum()


def test_derivatives_of_minima(thorough: bool) -> None:
    want = differences(best, A)
    for f in (tj.jit(tj.grad(best)), tj.grad(best), tj.jacfwd(best))[: 3 if thorough else 1]:
        np.testing.assert_allclose(f(A), want, rtol=1e-4)
    hessian = tj.jit(tj.hessian(best))(A)
    np.testing.assert_allclose(hessian, differences(tj.jit(tj.grad(best)), A), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-7)
    many = np.stack([A, A + 0.1])
    np.testing.assert_allclose(tj.vmap(best)(many), [best(a) for a in many], rtol=1e-7)


@pytest.mark.exhaustive  # written/minima/test_limited.py has a smaller one
def test_bounds() -> None:
    def f(a):
        return so.minimize(
            energy, START, args=(a,), bounds=[(0, a[0] - 0.1), (None, None), (-0.1, None)], tol=1e-13
        ).x

    got = tj.jit(f)(A)
    np.testing.assert_allclose(got, f(A), atol=1e-6)
    assert got[0] == A[0] - 0.1
    np.testing.assert_allclose(tj.jit(tj.jacobian(f))(A), differences(f, A), atol=1e-4)


def test_roots_of_numbers() -> None:
    for name in ("brentq", "brenth", "bisect", "ridder"):
        find = getattr(so, name)

        def f(c, find=find):
            return find(lambda x: x**3 - c, 0.0, 5.0, xtol=1e-14)

        got = tj.jit(f)(2.0)
        assert type(got) is float
        np.testing.assert_allclose(got, f(2.0), rtol=1e-15)
        np.testing.assert_allclose(tj.jit(tj.grad(f))(2.0), 2 ** (-2 / 3) / 3, rtol=1e-13)
        np.testing.assert_allclose(tj.grad(tj.grad(f))(2.0), -2 / 9 * 2 ** (-5 / 3), rtol=1e-12)
    with pytest.raises(ValueError, match="different signs"):
        tj.jit(lambda c: so.brentq(lambda x: x * x + c, 0, 5))(2.0)


def system(x, c):
    return [x[0] + c * x[1] - 3, x[0] * x[1] - 0.5 * c]


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1"])
def test_roots_of_systems(method: str) -> None:
    def f(c):
        return so.root(system, [2.5, 0.3], args=(c,), method=method, tol=1e-11).x

    got = tj.jit(f)(1.2)
    np.testing.assert_allclose(got, f(1.2), atol=1e-8)
    np.testing.assert_allclose(tj.jit(tj.jacfwd(f))(1.2), (f(1.2001) - f(1.1999)) / 2e-4, rtol=1e-5)


@pytest.mark.exhaustive  # optimizing/test_systems.py and api/test_instead.py have smaller ones
def test_fsolve() -> None:
    def f(c):
        return so.fsolve(system, [2.5, 0.3], args=(c,))

    np.testing.assert_allclose(tj.jit(f)(1.2), f(1.2), rtol=1e-7)
    np.testing.assert_allclose(tj.jit(tj.jacrev(f))(1.2), (f(1.2001) - f(1.1999)) / 2e-4, rtol=1e-5)
    nothing = tj.jit(lambda c: so.fsolve(lambda x: x * x + c, [1.0]))
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning, match="progress"):
        warnings.simplefilter("error")
        nothing(1.0)


T = np.linspace(0, 1, 12)
Y = 2 * np.exp(-1.5 * T) + 0.02 * np.sin(40 * T)


@pytest.mark.sample(4)
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_least_squares(loss: str) -> None:
    def f(y):
        return so.least_squares(
            lambda p: p[0] * np.exp(-p[1] * T) - y,
            [1.0, 1.0],
            loss=loss,
            f_scale=0.01,
            ftol=1e-13,
            xtol=1e-13,
            gtol=1e-13,
        )

    want = f(Y)
    x, cost, slope, ok = tj.jit(lambda y: (lambda r: (r.x, r.cost, r.grad, r.success))(f(y)))(Y)
    np.testing.assert_allclose(x, want.x, rtol=1e-7)
    np.testing.assert_allclose(cost, want.cost, rtol=1e-9)
    np.testing.assert_allclose(slope, 0, atol=1e-8)
    assert ok is True
    column = (f(Y + 1e-5 * np.eye(12)[3]).x - f(Y - 1e-5 * np.eye(12)[3]).x) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.jacobian(lambda y: f(y).x))(Y)[:, 3], column, rtol=2e-3, atol=1e-4)


def test_least_squares_with_bounds() -> None:
    def f(y):
        return so.least_squares(
            lambda p: p[0] * np.exp(-p[1] * T) - y,
            [1.0, 1.0],
            bounds=([0, 0], [np.inf, 1.2]),
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        ).x

    got, slope = tj.jit(f)(Y), tj.jit(tj.jacobian(f))(Y)
    np.testing.assert_allclose(got, f(Y), rtol=1e-6)
    # With the rate on its bound the amplitude is a linear regression.
    e = np.exp(-1.2 * T)
    np.testing.assert_allclose(slope[0], e / (e @ e), rtol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: so.minimize(energy, START, args=(a,), method="SLSQP", callback=lambda x: None).x,
        lambda a: so.minimize(energy, START, args=(a,), method="SLSQP").multipliers,
        lambda a: so.root(system, [1.0, 1.0], args=(a[0],), jac=True).x,
        lambda a: so.fsolve(system, [1.0, 1.0], args=(a[0],), band=(1, 1)),
        lambda a: so.least_squares(lambda p: p - a, START, verbose=1).x,
        lambda a: so.least_squares(lambda p: p - a, START, loss=lambda z: z).x,
    ],
)
def test_what_has_no_traced_form(call: Any) -> None:
    with pytest.raises(tj.errors.SolverOptionError):
        tj.jit(call)(A)


def test_outside_of_transformations_it_is_scipys() -> None:
    found = tj.scipy.optimize.minimize(lambda x: np.sum((x - 1) ** 2), START, callback=lambda x: None)
    assert found.message == "Optimization terminated successfully."
    assert tj.scipy.optimize.linprog([1.0], bounds=[(2, 3)]).x.tolist() == [2]


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_squares_of_sparse_systems(method: str) -> None:
    """The matrix is sparse to SciPy, whose steps and reports are those of its own differences."""
    pattern = sp.eye_array(4).tocsr()

    def fit(c: float) -> Any:
        gap = lambda x: x**3 + x - c * np.arange(1.0, 5)
        r = so.least_squares(gap, np.ones(4), jac_sparsity=pattern, method=method, bounds=(0, 1.5))
        return r.x, r.cost, r.grad, r.nfev, r.status, r.message

    got, want = tj.jit(fit, fallback=False)(2.0), fit(2.0)
    assert got[3:] == want[3:]
    for a, b in zip(got[:3], want[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    near = (fit(2.0 + 1e-3)[1] - fit(2.0 - 1e-3)[1]) / 2e-3
    assert tj.jit(tj.grad(lambda c: fit(c)[1]))(2.0) == pytest.approx(near, rel=1e-4)
    with pytest.raises(SolverOptionError, match="jac_sparsity"):
        find = lambda c: so.least_squares(lambda x: x - c, np.ones(4), jac_sparsity=pattern, method="lm").x
        tj.jit(find, fallback=False)(2.0)
