"""Initial value problems: SciPy's own solutions and counts, and derivatives against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import tracejit as tj

TIMES = np.linspace(0, 2, 9)


def lorenz(t, y, s, r):
    return [s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def solved(r, **options):
    return scipy.integrate.solve_ivp(lorenz, (0, 2), [1.0, 1.0, 1.0], args=(10.0, r), **options)


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_steps_are_those_of_scipy(method: str) -> None:
    for more in ({"t_eval": TIMES}, {}):
        want = solved(28.0, method=method, rtol=1e-5, **more)
        got = tj.jit(lambda r, more=more: solved(r, method=method, rtol=1e-5, **more))(28.0)
        assert type(got) is type(want) and got.keys() == want.keys()
        assert (got.nfev, got.njev, got.status, got.message) == (want.nfev, 0, 0, want.message)
        assert type(got.nfev) is int and got.success is True and got.sol is None
        np.testing.assert_allclose(got.t, want.t, rtol=1e-9)
        np.testing.assert_allclose(got.y, want.y, rtol=1e-7)


def test_the_first_step_where_nothing_moves_at_first() -> None:
    def solved(k):
        return scipy.integrate.solve_ivp(lambda t, y: k * t**3 * (1 - y), (0, 3), [0.0, 0.5])

    for k in (1.0, 1e-7):
        np.testing.assert_allclose(tj.jit(solved)(k).t, solved(k).t, rtol=1e-9)


@pytest.mark.parametrize("span", [(0.2, 2.0), (2.0, 0.2)])
def test_the_first_step_of_equations_that_depend_on_time(span: tuple[float, float]) -> None:
    def solved(k):
        return scipy.integrate.solve_ivp(lambda t, y: k * np.exp(3 * t) * np.cos(y), span, [0.5, -1.0])

    got, want = tj.jit(solved)(0.7), solved(0.7)
    np.testing.assert_allclose(got.t, want.t, rtol=1e-9)
    assert got.nfev == want.nfev


def test_backward_in_time_complex_values_and_options() -> None:
    def f(t, y, k):
        return k * np.array([1j * y[1], 1j * y[0] + np.sin(t) * y[1]])

    def g(k, t0):
        options = {"first_step": 0.01, "max_step": 0.1, "rtol": 1e-7, "atol": np.array([1e-9, 1e-8])}
        return scipy.integrate.solve_ivp(
            f, (t0, -1.0), np.array([1.0 + 0j, 0.5]), t_eval=[0.5, -0.5], args=(k,), **options
        )

    want, got = g(1.5, 1.0), tj.jit(g)(1.5, 1.0)
    assert got.nfev == want.nfev
    np.testing.assert_allclose(got.y, want.y, rtol=1e-11)


def last(r):
    return solved(r, rtol=1e-9, atol=1e-9, t_eval=np.array([0.5, 1.0])).y[0].sum()


def end(r):
    return scipy.integrate.solve_ivp(
        lorenz, (0, r / 28), [1.0, 1.0, r / 28], args=(10.0, r), rtol=1e-9, atol=1e-9
    ).y[0, -1]


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", [last, end])
def test_derivatives(f: Any) -> None:
    """By parameters, initial values and the end of the interval, forward and back."""
    want = (f(28 + 1e-5) - f(28 - 1e-5)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(f))(28.0), want, rtol=1e-6)
    np.testing.assert_allclose(tj.jvp(f, (28.0,), (1.0,))[1], want, rtol=1e-6)


def test_analytic_derivatives_to_second_order() -> None:
    def f(k):
        return scipy.integrate.solve_ivp(
            lambda t, y: -k * y, (0, 1), [2.0], t_eval=[1.0], rtol=1e-9, atol=1e-12
        ).y[0, 0]

    value = 2 * np.exp(-0.7)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.7), -value, rtol=1e-7)
    np.testing.assert_allclose(tj.jit(tj.jvp)(tj.grad(f), (0.7,), (1.0,))[1], value, rtol=1e-6)
    many = tj.vmap(f)(np.array([0.5, 0.7, 3.0]))
    np.testing.assert_allclose(many, 2 * np.exp([-0.5, -0.7, -3.0]), rtol=1e-8)


def test_odeint_of_a_number() -> None:
    find = lambda c: scipy.integrate.odeint(lambda y, t: -y * t * c, c, TIMES)
    got = tj.jit(find, fallback=False)(2.0)
    assert got.shape == (len(TIMES), 1)
    np.testing.assert_allclose(got, find(2.0), rtol=1e-6, atol=1e-7)
    exact = lambda c: c * np.exp(-c * TIMES[-1] ** 2 / 2)
    slope = (1 / 2 - TIMES[-1] ** 2 / 2) * exact(2.0)
    np.testing.assert_allclose(tj.jit(tj.grad(lambda c: find(c)[-1, 0]))(2.0), slope, rtol=1e-5)


def test_odeint() -> None:
    def pendulum(y, t, c):
        return [y[1], -np.sin(y[0]) - c * y[1]]

    def f(c):
        return scipy.integrate.odeint(pendulum, [2.0, 0.0], TIMES, args=(c,))

    np.testing.assert_allclose(tj.jit(f)(0.1), f(0.1), rtol=1e-6, atol=1e-7)
    swapped = tj.jit(
        lambda c: scipy.integrate.odeint(lambda t, y: pendulum(y, t, c), [2.0, 0.0], TIMES, tfirst=True)
    )
    np.testing.assert_array_equal(swapped(0.1), tj.jit(f)(0.1))
    jacobian = lambda y, t, c: [[0, 1], [-np.cos(y[0]), -c]]
    given = tj.jit(
        lambda c: scipy.integrate.odeint(pendulum, [2.0, 0.0], TIMES, (c,), jacobian, 0, 0, None, None, 1e-8)
    )
    np.testing.assert_allclose(given(0.1), f(0.1), rtol=1e-6, atol=1e-7)  # its place was that of `rtol`
    slope = tj.jit(tj.grad(lambda c: f(c)[-1, 0]))(0.1)
    np.testing.assert_allclose(slope, (f(0.101)[-1, 0] - f(0.099)[-1, 0]) / 0.002, rtol=1e-4)


def test_failures() -> None:
    """Under jit SciPy itself reports them; elsewhere they are errors."""

    def explodes(k):
        return scipy.integrate.solve_ivp(lambda t, y: k * y * y, (0, 2), [1.0], t_eval=np.array([2.0]))

    with np.errstate(all="ignore"):
        want, got = explodes(1.0), tj.jit(explodes, fallback=True)(1.0)
    assert not got.success and got.status == want.status == -1 and got.message == want.message
    with pytest.raises(tj.errors.SolverFailedError):
        tj.grad(lambda k: explodes(k).y[0, 0])(1.0)
    outside = tj.jit(lambda k: solved(k, t_eval=np.array([3.0])), fallback=True)
    with pytest.raises(ValueError, match="not within `t_span`"):
        outside(28.0)


@pytest.mark.parametrize(
    "options",
    [
        {"jac": 1},
    ],
)
def test_what_has_no_traced_form(options: Any) -> None:
    with pytest.raises(tj.errors.SolverOptionError):
        tj.jit(lambda r: solved(r, **options).y)(28.0)


def test_left_to_scipy_by_fallback() -> None:
    last = lambda r: solved(r, method="LSODA", dense_output=True).y[:, -1]
    f = tj.jit(last, fallback=True)
    with pytest.warns(tj.errors.FallbackWarning, match="LSODA"):
        got = f(28.0)
    np.testing.assert_array_equal(got, last(28.0))


def test_outside_of_transformations_it_is_scipys() -> None:
    out = tj.scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], method="Radau")
    assert out.success and out.nlu > 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_step": 0.0}, "max_step"),
        ({"first_step": 5.0}, "first_step"),
        ({"atol": -1.0}, "atol"),
        ({"atol": [1.0, 1.0]}, "atol"),
    ],
)
def test_wrong_options_are_refused_as_scipy_does(options: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        tj.jit(lambda r: solved(r, **options).y, fallback=True)(28.0)


def test_one_state_that_is_read_as_a_number() -> None:
    def f(y0: Any) -> Any:
        found = scipy.integrate.solve_ivp(lambda t, y: np.array([-2 * y[0]]), (0, 1.0), y0, t_eval=[1.0])
        return found.y[:, -1], found.nfev

    got, want = tj.jit(f)(np.ones(1)), f(np.ones(1))
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    assert got[1] == want[1]
