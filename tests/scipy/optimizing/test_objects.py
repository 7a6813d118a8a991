"""SciPy's `Bounds`, `LinearConstraint` and `NonlinearConstraint`: of outside, and of traced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tracejit as tj

so: Any = scipy.optimize  # its types say that bounds are numbers


def away(x: Any, c: Any) -> Any:
    return np.sum((x - c) ** 2) + np.sum(x**4)


START = np.array([0.2, 0.3])
BOX = so.Bounds(np.array([0.0, 0.0]), np.array([0.4, 0.45]))
PLANE = so.LinearConstraint([[1, 1]], -np.inf, 0.5)
PRODUCT = so.NonlinearConstraint(lambda x: x[0] * x[1], 0.0, 0.1)
#: Each with a traced number c, which is 0.9 in the tests.
SEARCHES: dict[str, Any] = {
    "an object of outside": lambda c: so.minimize(away, START, (c,), bounds=BOX).x,
    "a traced bound": lambda c: so.minimize(away, START, (1.0,), bounds=so.Bounds(0, [c / 3, 0.45])).x,
    "least squares": lambda c: (
        so.least_squares(lambda x: x - c, START, bounds=so.Bounds([0, 0], [c / 3, 2])).x
    ),
    "whole numbers": lambda c: so.curve_fit(
        lambda t, a: np.cos(a) + 0 * t, np.arange(3.0), c * np.ones(3), bounds=so.Bounds([1], [5.0])
    )[0],
    "a plane of outside": lambda c: so.minimize(away, START, (c,), constraints=PLANE).x,
    "a traced product": lambda c: (
        so.minimize(
            away, START, (1.0,), constraints=so.NonlinearConstraint(lambda x: x[0] * x[1], 0.0, [c / 9])
        ).x
    ),
    "integers": lambda c: (
        so.milp([c, 2.0], constraints=so.LinearConstraint([[1, 1]], c), bounds=so.Bounds(0, 3)).x
    ),
    "constants": lambda c: (
        c * so.milp([1, 2], constraints=[so.LinearConstraint([[1, 1]], 1)], bounds=so.Bounds(0, 3)).x
    ),
    "steps that stay inside": lambda c: (
        so.minimize(
            away, START, (c,), method="trust-constr", bounds=so.Bounds([0, 0], [0.4, 2], [True, False])
        ).x
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", SEARCHES)
def test_solvers_take_them(name: str) -> None:
    f = SEARCHES[name]
    np.testing.assert_allclose(tj.jit(f, fallback=False)(0.9), f(0.9), rtol=2e-5, atol=1e-6)


def test_derivatives_and_lanes() -> None:
    f = SEARCHES["least squares"]
    np.testing.assert_allclose(tj.jit(tj.jacobian(f))(0.9), [1 / 3, 1.0], rtol=1e-9)
    rule = lambda c: so.LinearConstraint([[1, c]], ub=c / 2)
    plane = lambda c: so.minimize(away, START, (1.0,), constraints=[rule(c)], tol=1e-14).x
    near = (plane(0.91) - plane(0.89)) / 0.02
    np.testing.assert_allclose(tj.jit(tj.jacobian(plane))(0.9), near, rtol=1e-3)
    at = np.array([0.75, 0.9])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(at), [f(c) for c in at], rtol=1e-7)


def test_what_they_are() -> None:
    def made(c: Any) -> Any:
        box, plane = so.Bounds([0, 0], [c, 2]), so.LinearConstraint([[1, c]], 0, 1)
        return box, plane, box.residual(START), plane.residual(START), isinstance(box, so.Bounds)

    got, want = tj.jit(made, fallback=False)(1.5), made(1.5)
    assert repr(got[0]) == repr(want[0]) and type(got[1]) is so.LinearConstraint and got[4] is True
    assert got[0].lb.dtype == want[0].lb.dtype and got[1].A.tolist() == want[1].A.tolist()
    np.testing.assert_allclose(np.ravel(got[2]), np.ravel(want[2]))
    np.testing.assert_allclose(np.ravel(got[3]), np.ravel(want[3]))


def test_what_holds_now() -> None:
    box = so.Bounds([0.0, 0.0], [0.4, 0.45])
    f = tj.jit(lambda c: so.least_squares(lambda x: x - c, START, bounds=box).x)
    f(1.0)
    box.ub = np.array([0.3, 0.45])
    np.testing.assert_allclose(f(1.0), [0.3, 0.45])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda c: so.Bounds([0, 0], [c, 2, 3]), ValueError),
        (lambda c: so.LinearConstraint([[c]], [1, 2]), ValueError),
        (lambda c: setattr(so.Bounds(0, c), "lb", 3), tj.errors.SolverOptionError),
    ],
)
def test_what_is_refused(make: Any, error: Any) -> None:
    with pytest.raises(error):
        tj.jit(make, fallback=False)(1.0)
