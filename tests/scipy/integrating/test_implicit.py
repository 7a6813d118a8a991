"""Radau and BDF: SciPy's own steps where it is given the Jacobian, and derivatives of solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj

METHODS = ["Radau", "BDF"]


def oscillator(t, y, m):
    """Van der Pol's, which is stiff for a large m."""
    return [y[1], m * (1 - y[0] ** 2) * y[1] - y[0]]


def jacobian(t, y, m):
    return [[0, 1], [-2 * m * y[0] * y[1] - 1, m * (1 - y[0] ** 2)]]


def solved(m: Any, end: float, **options: Any) -> Any:
    return si.solve_ivp(oscillator, (0, end), [2.0, 0.0], args=(m,), rtol=1e-5, atol=1e-7, **options)


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", METHODS)
def test_steps_are_those_of_scipy(method: str) -> None:
    got = tj.jit(lambda m: solved(m, 15.0, method=method, dense_output=True))(10.0)
    want = solved(10.0, 15.0, method=method, jac=jacobian, dense_output=True)
    assert [got[k] for k in ("nfev", "njev", "nlu")] == [want[k] for k in ("nfev", "njev", "nlu")]
    np.testing.assert_allclose(got.t, want.t, rtol=1e-5)
    np.testing.assert_allclose(got.y, want.y, rtol=1e-4, atol=1e-6)
    ts = np.linspace(-0.1, 15.1, 50)
    np.testing.assert_allclose(got.sol(ts), want.sol(ts), rtol=1e-4, atol=1e-4)
    assert type(got.sol) is si.OdeSolution and got.sol.side == want.sol.side


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", METHODS)
def test_options_and_kinds_of_jacobians(method: str) -> None:
    matrix = np.array([[-1.0, 50.0], [0.0, -100.0]])

    def f(k: Any, jac: Any) -> Any:
        options = {"first_step": 0.001, "max_step": 0.2, "t_eval": [1.0, 0.3], "jac": jac}
        return si.solve_ivp(lambda t, y: k * matrix @ y, (1.0, 0.0), [1.0, 1e-40], method=method, **options)

    for jac in (matrix, lambda t, y: matrix, lambda t, y: [[-1.0, 50.0], [0.0, -100.0]]):
        got, want = tj.jit(lambda k, jac=jac: f(k, jac))(1.0), f(1.0, jac)
        np.testing.assert_allclose(got.y, want.y, rtol=1e-8)
        assert [got[k] for k in ("nfev", "njev", "nlu")] == [want[k] for k in ("nfev", "njev", "nlu")]
    with pytest.raises(ValueError, match=r"`jac` is expected to have shape \(2, 2\)"):
        tj.jit(lambda k: f(k, np.eye(3)).y)(1.0)


def test_complex_values() -> None:
    """BDF alone takes them, also in SciPy."""

    def f(k: Any, method: str) -> Any:
        slopes = lambda t, y: np.array([1j * k * y[1], 1j * k * y[0] - y[1]])
        return si.solve_ivp(
            slopes, (0, 2), np.array([1.0 + 0j, 0.5]), method=method, t_eval=[1.0, 2.0], rtol=1e-6
        ).y

    np.testing.assert_allclose(tj.jit(lambda k: f(k, "BDF"))(1.5), f(1.5, "BDF"), rtol=1e-4)
    with pytest.raises(ValueError, match="complex"):
        tj.jit(lambda k: f(k, "Radau"))(1.5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", METHODS)
def test_equations_that_depend_on_time(method: str) -> None:
    """Of y' = -k (y - cos 3t) - 3 sin 3t with y(0) = 2: y = cos 3t + exp(-k t)."""

    def end(k: Any) -> Any:
        f = lambda t, y: -k * (y - np.cos(3 * t)) - 3 * np.sin(3 * t)
        return si.solve_ivp(f, (0, 1.5), [2.0], method=method, rtol=1e-9, atol=1e-10).y[0, -1]

    value, slope = tj.jit(tj.value_and_grad(end))(2.0)
    assert value == pytest.approx(np.cos(4.5) + np.exp(-3.0), abs=1e-6)
    assert slope == pytest.approx(-1.5 * np.exp(-3.0), abs=1e-6)


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", METHODS)
def test_derivatives(method: str) -> None:
    """Of y' = -k y^2, y = y0 / (1 + k t y0): by the parameter, the initial value and the end, to second order."""

    def last(k: Any, y0: Any, end: Any) -> Any:
        options = {"method": method, "rtol": 1e-9, "atol": 1e-11}
        return si.solve_ivp(lambda t, y: -k * y**2, (0, end), [y0], t_eval=[end], **options).y[0, -1]

    k, y, t = 0.7, 2.0, 1.5
    bottom = (1 + k * t * y) ** 2
    want = [-t * y * y / bottom, 1 / bottom, -k * y * y / bottom]
    got = tj.jit(tj.grad(last, argnums=(0, 1, 2)))(k, y, t)
    np.testing.assert_allclose(got, want, rtol=3e-6)
    second = tj.jit(tj.jvp)(tj.grad(last), (k, y, t), (1.0, 0.0, 0.0))[1]
    np.testing.assert_allclose(second, 2 * t * t * y**3 / (1 + k * t * y) ** 3, rtol=1e-4)
    many = tj.vmap(last, in_axes=(0, None, None))(np.array([0.3, 0.7]), y, t)
    np.testing.assert_allclose(many, y / (1 + np.array([0.3, 0.7]) * t * y), rtol=1e-7)


def test_an_event_in_a_stiff_problem() -> None:
    def crossing(m: Any) -> Any:
        return solved(m, 15.0, method="Radau", events=lambda t, y, m: y[0]).t_events[0][0]

    np.testing.assert_allclose(tj.jit(crossing)(10.0), crossing(10.0), rtol=1e-5)
