"""Derivatives that solvers are given, against NumPy."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit import lax
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
