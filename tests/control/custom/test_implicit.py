"""custom_root: the derivative of a root, against its formula."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.test_util import check_grads


def newton(f: Any, guess: Any) -> Any:
    def step(s: Any) -> Any:
        x, _ = s
        y, slope = tj.jvp(f, (x,), (1.0,))
        return x - y / slope, y

    return lax.while_loop(lambda s: np.abs(s[1]) > 1e-13, step, (guess, 1.0 + 0 * guess))[0]


def cube_root(a: Any) -> Any:
    return lax.custom_root(lambda x: x**3 - a, 1.0 + 0 * a, newton, lambda g, y: y / g(1.0))


def test_a_number() -> None:
    assert np.isclose(cube_root(8.0), 2.0)
    assert np.isclose(tj.grad(cube_root)(8.0), 1 / 12)
    assert np.isclose(tj.jit(tj.grad(cube_root))(8.0), 1 / 12)
    assert np.isclose(tj.jit(tj.grad(tj.grad(cube_root)))(8.0), -2 / 9 * 8 ** (-5 / 3))
    a = np.array([1.0, 8.0, 27.0])
    np.testing.assert_allclose(tj.vmap(tj.grad(cube_root))(a), a ** (-2 / 3) / 3, rtol=1e-10)
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(cube_root)))(a), a ** (-2 / 3) / 3, rtol=1e-10)
    check_grads(cube_root, (5.0,), order=2, atol=1e-6, rtol=1e-6)


def test_a_vector_with_a_dense_solve() -> None:
    m = np.array([[3.0, 1.0], [0.5, 2.0]])

    def fixed_point(b: Any) -> Any:
        """x = tanh(m x) / 4 + b."""

        def f(x: Any) -> Any:
            return x - np.tanh(m @ x) / 4 - b

        def iterate(_: Any, x: Any) -> Any:
            return lax.fori_loop(0, 60, lambda i, x: np.tanh(m @ x) / 4 + b, x)

        return lax.custom_root(f, b, iterate, lambda g, y: np.linalg.solve(tj.jacobian(g)(y), y))

    b = np.array([0.3, -0.2])
    x = fixed_point(b)
    j = np.eye(2) - (1 - np.tanh(m @ x) ** 2)[:, None] * m / 4
    np.testing.assert_allclose(tj.jacrev(fixed_point)(b), np.linalg.inv(j), rtol=1e-9)
    np.testing.assert_allclose(tj.jit(tj.jacfwd(fixed_point))(b), np.linalg.inv(j), rtol=1e-9)
    check_grads(fixed_point, (b,), order=2, atol=1e-5, rtol=1e-5)


def test_auxiliary_results_and_trees() -> None:
    def f(a: Any) -> Any:
        x, steps = lax.custom_root(
            lambda x: {"r": x["r"] ** 2 - a},
            {"r": 1.0 + 0 * a},
            lambda f, x: ({"r": np.sqrt(a)}, np.int64(3)),
            lambda g, y: {"r": y["r"] / g({"r": 1.0})["r"]},
            has_aux=True,
        )
        return x["r"], steps

    assert f(9.0) == (3.0, 3)
    (value, slope) = tj.jvp(lambda a: f(a)[0], (9.0,), (1.0,))
    assert value == 3.0 and np.isclose(slope, 1 / 6)
    assert np.isclose(tj.grad(lambda a: f(a)[0])(9.0), 1 / 6)


def test_the_minimum_found_by_gradient_descent() -> None:
    """d argmin_x (x - a)^2 + x^4 / 4 / da, by the stationarity condition."""

    def minimum(a: Any) -> Any:
        slope = tj.grad(lambda x: (x - a) ** 2 + x**4 / 4)
        descend = lambda f, x: lax.fori_loop(0, 400, lambda i, x: x - 0.1 * f(x), x)
        return lax.custom_root(slope, 0 * a, descend, lambda g, y: y / g(1.0))

    x = minimum(1.5)
    assert np.isclose(2 * (x - 1.5) + x**3, 0, atol=1e-12)
    assert np.isclose(tj.jit(tj.grad(minimum))(1.5), 2 / (2 + 3 * x * x))
