"""Callbacks of `minimize`: they see what SciPy's do, and what they change is the function's own state."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj

START = np.array([-1.0, 1.5])
GRADIENTS = {"jac": so.rosen_der}
GIVEN: dict[str, dict[str, Any]] = {
    "Nelder-Mead": {},
    "Powell": {},
    "BFGS": GRADIENTS,
    "CG": GRADIENTS,
    "L-BFGS-B": GRADIENTS,
    "Newton-CG": GRADIENTS | {"hess": so.rosen_hess},
    "trust-ncg": GRADIENTS | {"hess": so.rosen_hess},
    "trust-exact": GRADIENTS | {"hess": so.rosen_hess},
}
SEEN: list[float] = []


def walk(method: str, scale: Any) -> Any:
    """All points that the callback gets, and how many there are."""
    points: list[Any] = []
    count = 0

    def see(xk: Any) -> None:
        nonlocal count
        count += 1
        points.append(xk)

    options = {"maxiter": 6}
    r = so.minimize(so.rosen, START * scale, method=method, callback=see, options=options, **GIVEN[method])
    return r.x, r.nit, np.array(points), count


@pytest.mark.sample(8)
@pytest.mark.parametrize("method", GIVEN)
def test_a_callback_gets_scipys_points(method: str) -> None:
    with tj.config.override(fallback=False):
        x, nit, points, count = tj.jit(walk)(method, 1.0)
    want = walk(method, 1.0)
    assert (nit, count) == (want[1], want[3]) and count > 2
    np.testing.assert_allclose(points, want[2], rtol=1e-8)
    np.testing.assert_allclose(x, want[0], rtol=1e-8)


def test_what_callbacks_print_and_store_outside(capsys: pytest.CaptureFixture[str]) -> None:
    def found(a: Any) -> Any:
        def see(xk: Any) -> None:
            SEEN.append(float(xk[0]))
            print(f"at {xk[0]:.3f}")

        def fun(x: Any) -> tuple[Any, Any]:
            return np.sum((x - a) ** 4), 4 * (x - a) ** 3

        return so.minimize(fun, np.zeros(2), jac=True, method="CG", callback=see).x

    a = np.array([1.2, 0.7])
    want = found(a)
    seen, printed = [*SEEN], capsys.readouterr().out
    with tj.config.override(fallback=False):
        compiled = tj.jit(found)
        for _ in range(2):
            SEEN.clear()
            np.testing.assert_allclose(compiled(a), want, rtol=1e-8)
            np.testing.assert_allclose(SEEN, seen, rtol=1e-8)
            assert capsys.readouterr().out == printed
    assert len(seen) > 3


class Log:
    """A callback with state."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self, intermediate_result: Any) -> None:
        self.values.append(intermediate_result.fun)


def test_derivatives_beside_a_callback() -> None:
    def found(a: Any) -> Any:
        log = Log()
        r = so.minimize(
            lambda x: np.sum((x - a) ** 4) + np.sum((x - 1) ** 2),
            np.zeros(2),
            method="BFGS",
            callback=log,
            options={"gtol": 1e-10},
        )
        return r.x, len(log.values)

    a = np.array([1.2, 0.7])
    with tj.config.override(fallback=False):
        x, count = tj.jit(found)(a)
        rows = tj.jit(tj.jacobian(lambda a: found(a)[0]))(a)
        np.testing.assert_allclose(tj.jacobian(lambda a: found(a)[0])(a), rows, rtol=1e-10)
    assert count > 3
    bend = 12 * (x - a) ** 2  # of the first sum; the second one's is 2
    np.testing.assert_allclose(rows, np.diag(bend / (bend + 2)), rtol=1e-6)


def test_bounds_beside_a_callback() -> None:
    def found(a: Any) -> Any:
        seen: list[Any] = []
        fun = lambda x: np.sum((x - a) ** 2)
        bounds = [(0, 0.9), (0, 2)]
        given = {"method": "Nelder-Mead", "bounds": bounds, "tol": 1e-9}
        r = so.minimize(fun, np.ones(2) / 2, callback=lambda xk: seen.append(xk), **given)
        return r.x, len(seen)

    a = np.array([1.2, 0.7])
    with tj.config.override(fallback=False):
        got = tj.jit(found)(a)
        slopes = tj.jit(tj.jacobian(lambda a: found(a)[0]))(a)
    np.testing.assert_allclose(got[0], found(a)[0], rtol=1e-8)
    assert got[1] == found(a)[1]
    np.testing.assert_allclose(slopes, [[0, 0], [0, 1]], atol=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", ["BFGS", "SLSQP", "L-BFGS-B"])
def test_what_python_does(method: str) -> None:
    """Callbacks that end the search, those of SciPy's solvers, and those that see a solver's own memory."""

    def found(a: Any) -> Any:
        seen: list[Any] = []

        def see(xk: Any) -> None:
            seen.append(xk)
            if xk[0] > -0.9:
                raise StopIteration

        def other(intermediate_result: Any) -> None:
            seen.append(intermediate_result.x)

        see = see if method != "L-BFGS-B" else other
        r = so.minimize(so.rosen, START * a, method=method, callback=see, jac=so.rosen_der)
        return r.x, r.status, np.array(seen)

    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        got = tj.jit(found)(1.0)
    for a, b in zip(got, found(1.0), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_callback_that_ends_the_search_is_refused_outside_of_jit() -> None:
    def found(a: Any) -> Any:
        def see(xk: Any) -> None:
            raise StopIteration

        return so.minimize(lambda x: a * so.rosen(x), START, callback=see).x[0]

    with pytest.raises(tj.errors.SolverOptionError, match="ends the search"):
        tj.grad(found)(2.0)
