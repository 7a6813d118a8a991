"""BFGS as a native loop: SciPy's minima and reports, also where its first line search finds no step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj


def rosenbrock(x: Any, c: Any) -> Any:
    return np.sum(c * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


START = np.linspace(-1, 1.2, 8)


@pytest.mark.parametrize(
    "options",
    [{}, {"gtol": 1e-8}, {"maxiter": 5}, {"norm": 2, "xrtol": 1e-3}, {"c1": 0.1, "c2": 0.4}, {"gtol": 0.0}],
)
def test_results_are_those_of_scipy(options: Any) -> None:
    """With no tolerance the line search fails in the end, and the second one of SciPy's, too."""
    run = lambda c: so.minimize(rosenbrock, START, args=(c,), options=options)
    got = tj.jit(run)(100.0)
    want = so.minimize(rosenbrock, START, args=(100.0,), jac=tj.grad(rosenbrock), options=options)
    np.testing.assert_allclose(got.x, want.x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got.fun, want.fun, rtol=1e-5, atol=1e-9)
    assert (got.status, got.success, got.message) == (want.status, want.success, want.message)
    assert abs(got.nit - want.nit) <= 0.1 * want.nit and abs(got.nfev - want.nfev) <= 0.2 * want.nfev


def test_no_step_at_all_and_no_numbers() -> None:
    near = lambda c: so.minimize(lambda x: np.sum((x - c) ** 2), [c, c])
    got, want = tj.jit(near)(1.5), near(1.5)
    assert (got.nit, got.status, got.message) == (0, 0, want.message) and got.x.tolist() == [1.5, 1.5]
    nan = lambda c: so.minimize(lambda x: np.sum(np.sqrt(x - c)), [0.0, 0.0])
    with np.errstate(all="ignore"):
        got, want = tj.jit(nan, fallback=True)(1.0), nan(1.0)
    assert (got.status, got.message) == (want.status, want.message)


def test_derivatives_in_loops_and_lanes() -> None:
    def best(c: Any) -> Any:
        return so.minimize(
            lambda x: (x[0] - c) ** 2 + c * (x[1] - x[0] ** 2) ** 2 + x[1] ** 4, [0.5, 0.5], tol=1e-9
        ).x

    def path(cs: Any) -> Any:
        total = 0.0
        for c in cs:
            total = total + best(c)[1]
        return total

    want = lambda c: (best(c + 1e-5) - best(c - 1e-5)) / 2e-5
    cs = np.linspace(0.6, 2.0, 20)
    np.testing.assert_allclose(tj.jit(tj.grad(path))(cs)[3], want(cs[3])[1], rtol=1e-4)
    np.testing.assert_allclose(tj.jit(tj.vmap(best))(cs[:3]), [best(c) for c in cs[:3]], rtol=1e-6)
