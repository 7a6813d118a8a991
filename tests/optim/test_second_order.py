"""L-BFGS and Newton's method: directions against dense linear algebra, minima against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tracejit as tj
from tracejit import optim


def minimize(optimizer: Any, f: Any, params: Any, steps: int) -> tuple[Any, Any, int]:
    """Parameters, the norm of the gradient, and how many steps were taken."""
    both = optim.value_and_grad_from_state(f)

    @tj.jit
    def step(params, state):
        value, grad = both(params, state=state)
        updates, state = optimizer.update(grad, state, params, value=value, grad=grad, value_fn=f)
        return optim.apply_updates(params, updates), state, optim.global_norm(grad)

    state = optimizer.init(params)
    for n in range(steps):  # noqa: B007
        params, state, norm = step(params, state)
        if norm < 1e-8:
            break
    assert step.trace_count == 1
    return params, norm, n


def rosenbrock(p):
    x = np.concatenate([p["head"], p["tail"]])
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


START = {"head": np.full(2, -1.2), "tail": np.full((4,), 1.0)}


@pytest.mark.parametrize(("optimizer", "most"), [(optim.lbfgs(), 60), (optim.newton_cg(), 80)])
def test_minimum(optimizer: Any, most: int) -> None:
    params, norm, _ = minimize(optimizer, rosenbrock, START, most)
    assert norm < 1e-8
    for x in tj.tree.leaves(params):
        np.testing.assert_allclose(x, 1, rtol=1e-7)


def test_lbfgs_takes_about_as_many_steps_as_scipy() -> None:
    n = minimize(optim.lbfgs(), rosenbrock, START, 100)[2]
    x0 = np.concatenate([START["head"], START["tail"]])
    other = scipy.optimize.minimize(
        scipy.optimize.rosen,
        x0,
        jac=scipy.optimize.rosen_der,
        method="L-BFGS-B",
        options={"gtol": 1e-8, "ftol": 0},
    )
    assert n <= 1.5 * other.nit


def test_lbfgs_direction_is_that_of_bfgs() -> None:
    """With all pairs in memory the recursion is the product with the matrix of the BFGS formula."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=(5, 5))
    a = a @ a.T + np.eye(5)
    t = optim.scale_by_lbfgs(memory_size=8, scale_init_precond=False)
    update, x = tj.jit(t.update), rng.normal(size=5)
    state, h, last = t.init(x), np.eye(5), None
    for _ in range(6):
        g = a @ x
        if last is not None:
            s, y = x - last[0], g - last[1]
            v = np.eye(5) - np.outer(s, y) / (s @ y)
            h = v @ h @ v.T + np.outer(s, s) / (s @ y)
        out, state = update(g, state, x)
        want = h @ g if last is not None else g / max(1, np.linalg.norm(g))
        np.testing.assert_allclose(out, want, rtol=1e-10, atol=1e-12)
        last, x = (x, g), x - 0.1 * out


def test_pairs_without_curvature_are_not_used() -> None:
    t = optim.scale_by_lbfgs(memory_size=3)
    x = np.array([0.5, 0.25])
    _, state = t.update(-x, t.init(x), x)  # a concave function: s.y < 0
    out, state = t.update(-2 * x, state, 2 * x)
    assert not state.weights.any() and np.all(np.isfinite(out)) and out @ -x > 0


def test_newton_step_solves_with_the_hessian() -> None:
    a = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
    b = np.array([1.0, -1.0, 0.5])

    def f(x):
        return 0.5 * x @ a @ x - b @ x

    t = optim.scale_by_newton_cg()
    x = np.array([1e-4, 0.0, 0.0]) + np.linalg.solve(a, b)  # near the minimum the system is solved well
    g = a @ x - b
    out, state = tj.jit(lambda g, x: t.update(g, t.init(x), x, value_fn=f))(g, x)
    np.testing.assert_allclose(a @ out, g, atol=np.linalg.norm(g) ** 1.5)
    assert 1 <= state.inner_steps <= 3
    saddle = tj.jit(lambda x: t.update(np.array([1.0, 1.0]), t.init(x), x, value_fn=lambda x: x[0] * x[1])[0])
    assert saddle(np.zeros(2)) @ np.ones(2) > 0  # downhill once it is negated


def test_bad_arguments() -> None:
    with pytest.raises(tj.errors.OptimizerArgumentError):
        optim.scale_by_lbfgs(0)
    with pytest.raises(tj.errors.OptimizerArgumentError):
        t = optim.scale_by_lbfgs()
        t.update(np.ones(2), t.init(np.ones(2)))
