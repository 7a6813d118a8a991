"""custom_linear_solve: derivatives by the equations, against dense solves and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import CustomRuleError, NotDifferentiableError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
S = A @ A.T
B = RNG.normal(size=4)


def gradient_descent(matvec: Any, b: Any) -> Any:
    """Conjugate gradients, for symmetric matrices."""

    def step(s: Any) -> Any:
        x, r, p, n = s
        ap = matvec(p)
        alpha = (r @ r) / (p @ ap)
        new = r - alpha * ap
        return x + alpha * p, new, new + (new @ new) / (r @ r) * p, n + 1

    return lax.while_loop(lambda s: (s[1] @ s[1] > 1e-28) & (s[3] < 50), step, (0 * b, b, b, 0))[0]


def solve_symmetric(a: Any, b: Any) -> Any:
    return lax.custom_linear_solve(lambda x: a @ x, b, gradient_descent, symmetric=True)


def solve_general(a: Any, b: Any) -> Any:
    return lax.custom_linear_solve(
        lambda x: a @ x, b, lambda _, y: np.linalg.solve(a, y), lambda _, y: np.linalg.solve(a.T, y)
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(("solve", "a"), [(solve_symmetric, S), (solve_general, A)])
def test_against_dense_solves(solve: Any, a: Any) -> None:
    want = np.linalg.solve(a, B)
    for run in (solve, tj.jit(solve)):
        np.testing.assert_allclose(run(a, B), want, rtol=1e-10)
    np.testing.assert_allclose(
        tj.vmap(solve, (None, 0))(a, np.stack([B, 2 * B])), [want, 2 * want], rtol=1e-10
    )
    np.testing.assert_allclose(
        tj.jit(tj.vmap(solve))(np.stack([a, 2 * a]), np.stack([B, B])), [want, want / 2], rtol=1e-10
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(("solve", "a"), [(solve_symmetric, S), (solve_general, A)])
def test_derivatives_to_second_order(solve: Any, a: Any) -> None:
    def of_symmetric(m: Any, b: Any) -> Any:
        return solve((m + m.T) / 2 if solve is solve_symmetric else m, b)

    check_grads(of_symmetric, (a, B), order=2, atol=1e-5, rtol=1e-5)

    def loss(m: Any, b: Any) -> Any:
        return (of_symmetric(m, b) ** 2).sum()

    x = np.linalg.solve(a, B)
    # d|x|^2/db = 2 A^-T x
    np.testing.assert_allclose(tj.jit(tj.grad(loss, 1))(a, B), 2 * np.linalg.solve(a.T, x), rtol=1e-9)
    hessian = tj.jit(tj.hessian(loss, 1))(a, B)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(hessian, 2 * inverse.T @ inverse, rtol=1e-8)


def test_the_steps_of_the_solver_are_not_differentiated() -> None:
    def solver(matvec: Any, b: Any) -> Any:
        return (
            np.linalg.solve(A, b).round(30)
            if False
            else tj.pure_callback(
                lambda y: np.linalg.solve(A, y),
                tj.ShapeDtypeStruct((4,), np.float64),
                b,
                vmap_method="sequential",
            )
        )  # a callback has no derivative

    def f(b: Any) -> Any:
        return lax.custom_linear_solve(lambda x: A @ x, b, solver, lambda m, y: y).sum()

    assert np.isclose(tj.jvp(f, (B,), (np.ones(4),))[1], np.linalg.solve(A, np.ones(4)).sum())


def test_trees_and_auxiliary_results() -> None:
    def f(scale: Any, b: Any) -> Any:
        x, aux = lax.custom_linear_solve(
            lambda t: {"a": scale * t["a"], "c": 2 * t["c"]},
            b,
            lambda m, y: ({"a": y["a"] / scale, "c": y["c"] / 2}, np.sum(y["a"])),
            symmetric=True,
            has_aux=True,
        )
        return x["a"].sum() + x["c"].sum() + 0 * aux

    b = {"a": np.ones(2), "c": np.ones(3)}
    assert f(4.0, b) == 2.0
    assert np.isclose(tj.grad(f)(4.0, b), -2 / 16)
    got = tj.jit(tj.grad(f, 1))(4.0, b)
    assert np.allclose(got["a"], 0.25) and np.allclose(got["c"], 0.5)


def test_reverse_mode_needs_a_transpose() -> None:
    def f(b: Any) -> Any:
        return lax.custom_linear_solve(lambda x: A @ x, b, lambda _, y: np.linalg.solve(A, y)).sum()

    assert np.isclose(tj.jvp(f, (B,), (B,))[1], np.linalg.solve(A, B).sum())
    with pytest.raises(NotDifferentiableError, match="transpose_solve"):
        tj.grad(f)(B)


@pytest.mark.parametrize(
    ("matvec", "solve"),
    [
        (lambda x: x[:2], lambda m, y: y),
        (lambda x: x, lambda m, y: y[:2]),
        (lambda x: (x, x), lambda m, y: y),
    ],
)
def test_wrong_types_are_named(matvec: Any, solve: Any) -> None:
    with pytest.raises(CustomRuleError, match="where b is"):
        tj.jit(lambda b: lax.custom_linear_solve(matvec, b, solve))(B)
