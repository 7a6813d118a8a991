"""Linear programs and nonnegative least squares: SciPy's solutions, and their derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj

COST = np.array([-1.0, -2.0, 0.5])
ROWS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
RIGHT = np.array([4.0, 1.0])


def program(b: Any, **options: Any) -> Any:
    ends = [(0, 3), (0, None), (None, b[0])]
    return so.linprog(COST, ROWS, b, [[0.0, 1.0, 2.0]], [b[1] + 2.0], ends, **options)


def differences(f: Any, a: Any) -> Any:
    return np.array([(f(a + d) - f(a - d)) / 2e-5 for d in 1e-5 * np.eye(a.size)]).T


def test_a_linear_program() -> None:
    want = program(RIGHT)
    got = tj.jit(
        lambda b: [program(b)[k] for k in ("x", "fun", "slack", "con", "status", "success", "message")]
    )(RIGHT)
    for key, value in zip(("x", "fun", "slack", "con"), got, strict=False):
        np.testing.assert_allclose(value, want[key], atol=1e-12)
    assert got[4:] == [0, True, want.message] and type(got[1]) is float
    f = lambda b: program(b).x
    np.testing.assert_allclose(tj.jit(tj.jacobian(f))(RIGHT), differences(f, RIGHT), atol=1e-6)
    matrix = lambda a: so.linprog(COST, A_ub=a, b_ub=RIGHT, bounds=(0, 3)).fun
    slope = tj.jit(tj.grad(matrix))(ROWS)
    np.testing.assert_allclose(
        slope.reshape(-1), differences(lambda v: matrix(v.reshape(2, 3)), ROWS.reshape(-1)), atol=1e-5
    )
    np.testing.assert_allclose(
        tj.grad(lambda c: so.linprog(c, A_ub=ROWS, b_ub=RIGHT).fun)(COST), want_vertex()
    )
    many = tj.vmap(lambda b: program(b).fun)(np.stack([RIGHT, 1.1 * RIGHT]))
    np.testing.assert_allclose(many, [program(RIGHT).fun, program(1.1 * RIGHT).fun])


def want_vertex() -> Any:
    """The slope of the least cost by the costs is the solution."""
    return so.linprog(COST, A_ub=ROWS, b_ub=RIGHT).x


def test_integers() -> None:
    def plan(b: Any) -> Any:
        rules = [so.LinearConstraint(ROWS, -np.inf, b), ([[1.0, 0.0, 3.0]], 0.5, b[0])]
        return so.milp(COST, integrality=[1, 0, 0], bounds=so.Bounds(0, 2.5), constraints=rules)

    want = plan(RIGHT)
    x, value, text = tj.jit(lambda b: (lambda r: (r.x, r.fun, r.message))(plan(b)))(RIGHT)
    np.testing.assert_allclose(x, want.x, atol=1e-9)
    assert np.isclose(value, want.fun) and text == want.message
    b = np.array([3.3, 1.0])
    np.testing.assert_allclose(
        tj.jit(tj.jacobian(lambda b: plan(b).x))(b), differences(lambda b: plan(b).x, b), atol=1e-6
    )
    whole = tj.jit(lambda b: program(b, integrality=[1, 0, 0]).x)(RIGHT)
    np.testing.assert_allclose(whole, program(RIGHT, integrality=[1, 0, 0]).x, atol=1e-9)


def test_nonnegative_least_squares() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(8, 4)), rng.normal(size=8)
    (x, length), want = tj.jit(so.nnls)(a, b), so.nnls(a, b)
    np.testing.assert_allclose(x, want[0], atol=1e-12)
    assert np.isclose(length, want[1]) and type(length) is type(want[1]) and (x == 0).any()
    f = lambda b: so.nnls(a, b)[0]
    np.testing.assert_allclose(tj.jit(tj.jacobian(f))(b), differences(f, b), atol=1e-8)


def test_without_solution_and_refusals() -> None:
    """Python reports it under jit; elsewhere it is an error."""
    empty = lambda b: so.linprog([1.0], A_ub=[[1.0]], b_ub=[b], bounds=(2, None))
    assert tj.jit(lambda b: empty(b).status, fallback=True)(1.0) == 2
    with pytest.raises(tj.errors.SolverFailedError, match="linprog found no solution"):
        tj.grad(lambda b: empty(b).fun)(1.0)
    with pytest.raises(tj.errors.SolverOptionError, match="simplex"):
        tj.jit(lambda b: program(b, method="simplex").x)(RIGHT)
    with pytest.raises(tj.errors.SolverOptionError, match="eqlin"):
        tj.jit(lambda b: program(b).eqlin)(RIGHT)


def test_squares_that_are_not_negative() -> None:
    """SciPy's solutions, of matrices of any shape and rank, without a call of SciPy's."""
    rng = np.random.default_rng(3)
    for m, n in ((6, 4), (4, 6), (5, 5)):
        compiled = tj.jit(so.nnls, fallback=False)
        for k in range(5):
            a, b = rng.normal(size=(m, n)), rng.normal(size=m)
            a[:, 0] = (a[:, -1], 0 * b, a[:, 0])[k % 3]
            got, want = compiled(a, b), so.nnls(a, b)
            np.testing.assert_allclose(got[0], want[0], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(got[1], want[1], atol=1e-10)
    assert "library_call" not in compiled.lower(a, b).as_text("jaxpr")
    with pytest.raises(tj.errors.SolverFailedError, match="iterations"):
        tj.jit(lambda a: so.nnls(a, a[:, 1] + a[:, 2], maxiter=2), fallback=False)(np.abs(a))
