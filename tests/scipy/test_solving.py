"""Derivatives that solvers are given, against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import tracejit as tj
from tracejit import lax
from tracejit.errors import FallbackWarning, SolverOptionError
from tracejit.scipy import solving

X = np.array([0.3, -1.2, 0.8])


def test_gradient_and_jacobian() -> None:
    def f(x):
        return x[0] * np.sin(x[1]) + x[2] ** 3

    def g(x):
        return np.stack([x[0] * x[1], np.exp(x[2])])

    want = [np.sin(X[1]), X[0] * np.cos(X[1]), 3 * X[2] ** 2]
    matrix = [[X[1], X[0], 0], [0, 0, np.exp(X[2])]]
    np.testing.assert_allclose(tj.jit(solving.gradient(f))(X), want)
    np.testing.assert_allclose(tj.jit(solving.jacobian(g))(X), matrix)
    np.testing.assert_allclose(tj.jit(solving.jacobian(solving.gradient(f)))(X), tj.hessian(f)(X))
    np.testing.assert_allclose(tj.jit(solving.directional(g))(X, X), np.array(matrix) @ X)


def test_linear_functions_are_solved_by_their_matrix() -> None:
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    solve = tj.jit(lambda y: solving.dense_solve(lambda x: a @ x, y))
    np.testing.assert_allclose(solve(np.array([1.0, 2.0])), np.linalg.solve(a, [1.0, 2.0]))


def test_a_host_call_gets_the_values_that_functions_close_over() -> None:
    def f(c):
        def step(total, x):
            compiled = [solving.Compiled(lambda y: y * c + x, np.float64(0))]
            out = solving.host_call(lambda fs, y: [fs[0](y)], compiled, [solving.NUMBER], x)
            return total + out[0], None

        return lax.scan(step, 0.0, np.arange(3.0))[0]

    assert tj.jit(f)(2.0) == 2 * 3 + 3


def test_functions_with_loops_and_branches() -> None:
    """Slopes of what is solved for are known at once, though the derivative is linear in others."""

    def f(x: Any, a: Any) -> Any:
        return tj.lax.fori_loop(0, 3, lambda i, y: y * x, 1.0) - tj.lax.cond(
            a > 0, lambda a: a, lambda a: -a, a
        )

    def root(a: Any) -> Any:
        return optimize.brentq(f, 0.0, 5.0, args=(a,))

    np.testing.assert_allclose(tj.grad(root)(2.0), 2 ** (-2 / 3) / 3, rtol=1e-10)
    np.testing.assert_allclose(tj.jit(tj.grad(root))(2.0), 2 ** (-2 / 3) / 3, rtol=1e-10)


def test_complex_values_are_not_cut_off() -> None:
    y = np.array([0.5 + 1j, 1.2 + 0.5j])
    f = lambda y: optimize.newton(lambda t: t**3 - y[1], 1.0)
    with pytest.raises(SolverOptionError, match="complex"):
        tj.jit(f)(y)
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tj.jit(f)(y) == f(y)


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead", "SLSQP"])
def test_functions_of_several_values_have_no_minimum(method: str) -> None:
    """SciPy says so; the first of the values was taken."""
    find = lambda c: optimize.minimize(lambda x: c * x**2, [1.0, 2.0], method=method).x
    with (
        pytest.raises(ValueError, match="must return a scalar value"),
        tj.config.override(fallback=True),
        pytest.warns(FallbackWarning),
    ):
        tj.jit(find)(1.0)
    with pytest.raises(SolverOptionError, match=r"shape \(2,\), where it takes a number"):
        tj.jit(tj.jacobian(find), fallback=False)(1.0)


def _shifting(x):
    x *= 2
    return x - np.array([1.0, 2.0])


def _squaring(x):
    x += 1
    return (x**2).sum()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.fsolve(_shifting, x),
        lambda x: optimize.root(_shifting, x, method="broyden1").x,
        lambda x: optimize.least_squares(_shifting, x).x,
        lambda x: optimize.minimize(_squaring, x, method="BFGS").x,
        lambda x: optimize.minimize(_squaring, x, method="Nelder-Mead").x,
        lambda x: optimize.approx_fprime(x, _squaring, 1e-6),
    ],
)
def test_functions_that_write_into_the_point_are_pythons(f: Any) -> None:
    """What they write is seen by SciPy's solvers, each in its own way."""
    for start in ([1.0, 0.5], [2.0, -0.5]):
        x, y = np.array(start), np.array(start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(tj.jit(f, fallback=True)(x), f(y), rtol=1e-6)
        np.testing.assert_array_equal(x, y)
    with pytest.raises(SolverOptionError, match="writes into"):
        tj.jit(f, fallback=False)(np.array([1.0, 0.5]))
    constant = np.array([1.0, 0.5])
    with pytest.raises(SolverOptionError, match="writes into"):
        tj.grad(lambda a: f(constant).sum() * a)(2.0)
    assert constant.tolist() == [1.0, 0.5]
