"""Minima under constraints: SciPy's own, and their derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse

import tracejit as tj

A = np.array([0.5, 1.0, -0.3])


def cost(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 4) + np.sum((x - 2 * a) ** 2)


def by_dicts(a: Any, method: str) -> Any:
    """On a plane, above a parabola that is not active, and above one that is."""
    rules = [
        {"type": "eq", "fun": lambda x: x[0] + x[1] - a[2]},
        {"type": "ineq", "fun": lambda x, b: [x[2] - b[0] ** 2, x[2] + 10.0], "args": (a,)},
    ]
    return so.minimize(
        cost, np.array([0.1, 0.2, 0.5]), args=(a,), method=method, constraints=rules, tol=1e-12
    )


def by_objects(a: Any, method: str) -> Any:
    plane = so.LinearConstraint(np.array([[1.0, 1.0, 0.0]]), -np.inf, a[2])
    ball = so.NonlinearConstraint(lambda x: x @ x, 0.1, a[0] + 0.1)
    options = {"bounds": [(None, None), (None, None), (-0.2, 3)], "tol": 1e-12 if method == "SLSQP" else 1e-7}
    start = np.array([0.1, 0.2, 0.5])
    return so.minimize(cost, start, args=(a,), method=method, constraints=(plane, ball), **options)


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore:delta_grad")  # of trust-constr near its end
@pytest.mark.parametrize(
    ("solve", "method", "far"),
    [(by_dicts, "SLSQP", 1e-6), (by_objects, "SLSQP", 1e-6), (by_objects, "trust-constr", 1e-4)],
)
def test_minimum_and_derivatives(solve: Any, method: str, far: float) -> None:
    want = solve(A, method)
    x, value, text = tj.jit(lambda a: (lambda r: (r.x, r.fun, r.message))(solve(a, method)))(A)
    np.testing.assert_allclose(x, want.x, atol=far)
    np.testing.assert_allclose(value, want.fun, atol=far)
    assert text == want.message or method == "trust-constr"
    exact = lambda a: solve(a, "SLSQP").x
    columns = np.array([(exact(A + d) - exact(A - d)) / 2e-4 for d in 1e-4 * np.eye(3)]).T
    np.testing.assert_allclose(
        tj.jit(tj.jacobian(lambda a: solve(a, method).x))(A), columns, atol=1e-3 + 100 * far
    )


def test_a_sparse_matrix_of_conditions() -> None:
    def solve(a: Any) -> Any:
        plane = so.LinearConstraint(scipy.sparse.csr_array(np.array([[1.0, 1.0, 0.0]])), -np.inf, a[2])
        return so.minimize(
            cost, np.array([0.1, 0.2, 0.5]), args=(a,), method="SLSQP", constraints=plane, tol=1e-12
        ).x

    np.testing.assert_allclose(tj.jit(solve)(A), solve(A), atol=1e-6)


def test_the_default_and_derivatives_of_derivatives() -> None:
    """The nearest point on a line: a projection, which is linear, and its distance, which is a square."""
    normal = np.array([3.0, 4.0]) / 5

    def distance(a: Any) -> Any:
        r = so.minimize(
            lambda x: np.sum((x - a) ** 2),
            [0.0, 0.0],
            constraints={"type": "eq", "fun": lambda x: normal @ x - 1},
        )
        return r.fun

    a = np.array([2.0, -0.5])
    gap = normal @ a - 1
    np.testing.assert_allclose(tj.jit(distance)(a), gap**2, rtol=1e-10)
    np.testing.assert_allclose(tj.jit(tj.grad(distance))(a), 2 * gap * normal, rtol=1e-6)
    np.testing.assert_allclose(tj.jit(tj.hessian(distance))(a), 2 * np.outer(normal, normal), atol=1e-6)


def test_minima_that_are_not_quite_on_a_bound() -> None:
    """COBYLA takes bounds for constraints, and ends on one side of them or the other."""

    def found(a: Any) -> Any:
        ends = [(None, 0.5 + a[1] ** 2), (None, None), (-1.0, None)]
        return so.minimize(cost, [0.3, 0.2, 0.0], args=(a,), method="COBYLA", tol=1e-9, bounds=ends).x

    a = np.array([0.7, 0.4, -0.2])
    x = tj.jit(found, fallback=False)(a)
    assert 0 < abs(x[0] - 0.66) < 1e-6
    np.testing.assert_allclose(tj.jit(tj.jacobian(found))(a)[0], [0, 0.8, 0], atol=1e-12)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown constraint type"):
        tj.jit(lambda a: so.minimize(cost, A, args=(a,), constraints={"type": "le", "fun": lambda x: x}).x)(A)
    with pytest.raises(tj.errors.SolverOptionError, match="constraints for BFGS"):
        rule = {"type": "eq", "fun": lambda x: x[0]}
        tj.jit(lambda a: so.minimize(cost, A, args=(a,), method="BFGS", constraints=rule).x)(A)
    with pytest.raises(tj.errors.SolverOptionError, match="class int"):
        tj.jit(lambda a: so.minimize(cost, A, args=(a,), constraints=3).x)(A)
