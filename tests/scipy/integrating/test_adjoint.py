"""Other ways to derivatives of `solve_ivp`: the adjoint equation, steps that are computed again, and LSODA's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import tracejit as tj
from tracejit.scipy.integrate import solve_ivp

TIMES = np.array([0.3, 0.9, 1.5, 2.0])
AT = (1.3, 0.4, np.array([1.0, 0.5]), TIMES)


def volterra(a: Any, b: Any, y0: Any, times: Any, **options: Any) -> Any:
    def slopes(t: Any, y: Any) -> Any:
        return [a * y[0] - y[0] * y[1], b * y[0] * y[1] - y[1] + 0.1 * np.sin(t)]

    return solve_ivp(slopes, (0, 2.1), y0, t_eval=times, **options)


def loss(*args: Any, **options: Any) -> Any:
    return (volterra(*args, rtol=1e-9, atol=1e-10, **options).y ** 2 * np.arange(1, 9).reshape(2, 4)).sum()


def near(f: Any, n: int) -> Any:
    """Central differences by argument `n`."""
    x = np.asarray(AT[n], float)
    out = np.zeros(x.size)
    for i in range(x.size):
        h = np.zeros(x.size)
        h[i] = 1e-5
        up, down = (f(*AT[:n], x + s * h.reshape(x.shape), *AT[n + 1 :]) for s in (1, -1))
        out[i] = (up - down) / 2e-5
    return out.reshape(x.shape)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "options",
    [
        {"adjoint": "continuous"},
        {"adjoint": "continuous", "method": "BDF", "atol": 1e-10 * np.ones(2)},
        {"checkpoint": 1},
        {"checkpoint": 3, "method": "DOP853"},
        {"method": "LSODA"},
    ],
)
def test_derivatives(options: Any) -> None:
    def f(*args: Any) -> Any:
        more = {"rtol": 1e-9, "atol": 1e-10} | options
        return (volterra(*args, **more).y ** 2 * np.arange(1, 9).reshape(2, 4)).sum()

    value, slopes = tj.jit(tj.value_and_grad(f, argnums=(0, 1, 2, 3)))(*AT)
    np.testing.assert_allclose(value, loss(*AT), rtol=1e-6)
    for n, slope in enumerate(slopes):
        np.testing.assert_allclose(slope, near(loss, n), rtol=2e-4, atol=1e-5)


def test_values_and_counts_are_those_of_the_steps() -> None:
    plain = tj.jit(volterra)(*AT)
    for options in ({"adjoint": "continuous"}, {"checkpoint": 2}):
        got = tj.jit(lambda *a, o=options: volterra(*a, **o))(*AT)
        np.testing.assert_allclose(got.y, plain.y, rtol=1e-14)
        assert got.nfev == plain.nfev
        assert volterra(*AT, **options).nfev == plain.nfev  # SciPy's own, where nothing is traced


@pytest.mark.sample(2)
@pytest.mark.parametrize("times", [TIMES, None])
def test_lsoda_is_scipys(times: Any) -> None:
    def run(mu: Any) -> Any:
        slopes = lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]
        return scipy.integrate.solve_ivp(slopes, (0, 2), [2.0, 0.0], "LSODA", times, rtol=1e-7, atol=1e-9)

    got, want = tj.jit(run)(30.0), run(30.0)
    np.testing.assert_allclose(got.t, want.t, rtol=1e-6)
    np.testing.assert_allclose(got.y, want.y, rtol=1e-5)
    assert got.message == want.message and got.status == 0 and abs(got.nfev - want.nfev) < 5
    f = lambda mu: run(mu).y[0, -1]
    slope = (f(30.1) - f(29.9)) / 0.2
    np.testing.assert_allclose(tj.jit(tj.grad(f))(30.0), slope, rtol=1e-3)
    np.testing.assert_allclose(tj.jvp(f, (30.0,), (1.0,))[1], slope, rtol=1e-3)


def test_what_is_refused() -> None:
    for options in (
        {"adjoint": "continuous", "dense_output": True},
        {"adjoint": "continuous", "checkpoint": 2},
        {"checkpoint": 2, "t_eval": None},
        {"method": "LSODA", "dense_output": True},
        {"adjoint": "continuous", "method": "BDF", "jac": np.eye(2)},
    ):
        with pytest.raises(tj.errors.SolverOptionError):
            times = options.pop("t_eval", TIMES)
            tj.jit(lambda a, o=options, t=times: volterra(a, 0.4, AT[2], t, **o).y)(1.3)
    with pytest.raises(ValueError, match="adjoint"):
        tj.jit(lambda a: volterra(a, 0.4, AT[2], TIMES, adjoint="discrete").y)(1.3)
