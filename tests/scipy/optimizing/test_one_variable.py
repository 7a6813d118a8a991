"""Solvers for functions of one number: SciPy's solutions, and their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.errors import FallbackWarning, SolverFailedError, SolverOptionError

CASES = {
    "root_scalar": lambda k: so.root_scalar(lambda x: x**3 - k, bracket=(0, 3)).root,
    "secant": lambda k: so.root_scalar(lambda x: np.exp(x) - k, x0=0.2, x1=0.8).root,
    "halley": lambda k: (
        so.root_scalar(
            lambda x: x**3 - k, x0=1.0, fprime=lambda x: 3 * x**2, fprime2=lambda x: 6 * x, method="halley"
        ).root
    ),
    "newton that is given both slopes": lambda k: (
        so.root_scalar(
            lambda x: x**3 - k, x0=9.0, fprime=lambda x: 3 * x**2, fprime2=lambda x: 6 * x, method="newton"
        ).iterations
        * 1.0
    ),
    "secant of Python's": lambda k: so.root_scalar(lambda x: math.exp(x) - k, x0=0.2, x1=0.8).root,
    "counts": lambda k: (
        so.root_scalar(lambda x, k: math.exp(x) - k, args=(k,), bracket=[0, 3]).iterations * 1.0 + 0 * k
    ),
    "newton": lambda k: so.newton(lambda x: x**3 - k, 1.0, fprime=lambda x: 3 * x**2),
    "newton secant": lambda k: so.newton(lambda x: np.cos(x) - k * x, 0.7),
    "newton secant from zero": lambda k: so.newton(lambda x: np.cos(x) - k * x - 0.2, 0.0),
    "newton array": lambda k: so.newton(
        lambda x: x**2 - k * np.arange(1.0, 4), np.ones(3), lambda x: 2 * x
    ).sum(),
    "halley array": lambda k: so.newton(
        lambda x: x**2 - k * np.arange(1.0, 4), np.ones(3), lambda x: 2 * x, fprime2=lambda x: 2 + 0 * x
    ).sum(),
    "secant array": lambda k: so.newton(lambda x: x**2 - k * np.arange(1.0, 4), np.array([1.0, -2, 3])).sum(),
    "newton of one": lambda k: so.newton(lambda x: x**2 - k, np.ones(1), lambda x: 2 * x).sum(),
    "steps alone": lambda k: (
        so.fixed_point(lambda x: np.sqrt(k + x), 1.0, method="iteration", xtol=1e-12) * 1
    ),
    "toms748": lambda k: so.toms748(lambda x: x**3 - k, 0.0, 3.0),
    "fixed_point": lambda k: so.fixed_point(lambda x: np.sqrt(k + x), [1.0, 1.2])[1],
    "brent": lambda k: so.minimize_scalar(lambda x: (x - k) ** 4 + x**2, tol=1e-12).x,
    "golden": lambda k: (
        so.minimize_scalar(lambda x: np.cosh(x - k), bracket=(0, 1), method="golden", tol=1e-12).x
    ),
    "bounded": lambda k: so.minimize_scalar(lambda x: (x - k) ** 2 * (1 + x), bounds=(0, 5)).fun,
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f = CASES[name]
    got, want = tj.jit(f)(1.3), f(1.3)
    assert type(got) is type(want)
    np.testing.assert_allclose(got, want, rtol=1e-7)
    near = (f(1.3 + 1e-4) - f(1.3 - 1e-4)) / 2e-4
    np.testing.assert_allclose(tj.jit(tj.grad(f))(1.3), near, rtol=1e-5, atol=1e-5)


def test_vmap_and_second_derivatives() -> None:
    f = CASES["root_scalar"]
    ks = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(ks), ks ** (1 / 3), rtol=1e-9)
    np.testing.assert_allclose(tj.grad(tj.grad(f))(2.0), -2 / 9 * 2 ** (-5 / 3), rtol=1e-7)


def test_results() -> None:
    def f(k):
        r = so.root_scalar(lambda x: x**3 - k, bracket=(0, 3))
        m = so.minimize_scalar(lambda x: (x - k) ** 2)
        return r.root, r.iterations, r.function_calls, r.converged, r.flag, r.method, m.nfev, m.success

    assert tj.jit(f)(1.3) == f(1.3)


def test_differences() -> None:
    f = lambda x, a: a * x[0] * np.sin(x[1])
    x = np.array([0.4, 1.2])
    grad = lambda x, a: np.array([a * np.sin(x[1]), a * x[0] * np.cos(x[1])])
    listed = lambda k: so.check_grad(lambda x: x[0] ** 2, lambda x: 2 * x, [k])
    assert abs(tj.jit(listed)(1.3)) < 1e-6
    both = lambda x: (so.approx_fprime(x, f, 1e-6, 2.0), so.check_grad(f, grad, x, 2.0))
    got, want = tj.jit(both)(x), both(x)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-9)
    assert abs(got[1] - want[1]) < 1e-7
    rows = lambda x: so.approx_fprime(x, lambda x: np.array([x[0] * x[1], x[0], x[1] ** 2]), [1e-6, 1e-5])
    np.testing.assert_allclose(tj.jit(rows)(x), rows(x), rtol=1e-8, atol=1e-8)


def test_refusals() -> None:
    f = lambda k: so.newton(lambda x: x - k, np.zeros(1), full_output=True)[0]
    with pytest.raises(SolverOptionError):
        tj.jacfwd(f)(1.0)
    with tj.config.override(fallback=True), pytest.warns(FallbackWarning):
        assert tj.jit(f)(1.0) == f(1.0)


def cubic(x: Any, k: Any) -> Any:
    return x**3 - k, 3 * x**2, 6 * x


REPORTS: dict[str, Any] = {
    "no slope": lambda k: so.root_scalar(lambda x: x**3 - k, x0=1.0, method="newton"),
    "a slope with the value": lambda k: so.root_scalar(cubic, (k,), x0=1.0, fprime=True),
    "both slopes with the value": lambda k: so.root_scalar(cubic, (k,), x0=1.0, fprime=True, fprime2=True),
    "an interval": lambda k: so.root_scalar(cubic, (k,), bracket=(0, 3), fprime=True),
    "at once": lambda k: so.root_scalar(lambda x: (x - k, 1.0), x0=0.0, fprime=True),
    "newton": lambda k: so.newton(lambda x: x**3 - k, 1.0, lambda x: 3 * x * x, full_output=True)[1],
    "secant, few steps": lambda k: so.newton(
        lambda x: x**3 - k, 1.0, full_output=True, disp=False, maxiter=2
    )[1],
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str) -> None:
    """Derivatives that the function gives with its value, or none; `full_output`."""
    f = REPORTS[name]
    got, want = tj.jit(f, fallback=False)(1.3), f(1.3)
    assert list(got) == list(want)
    for key in want:
        assert type(got[key]) is type(want[key])
        assert np.isclose(got[key], want[key], rtol=1e-9) if key == "root" else got[key] == want[key]
    if want.converged and name != "at once":
        slope = tj.jit(tj.grad(lambda k: f(k).root))(1.3)
        np.testing.assert_allclose(slope, 1 / (3 * 1.3 ** (2 / 3)), rtol=1e-6)


def test_open_methods_are_scipys() -> None:
    """Steps, calls and ends, without a call of SciPy's."""

    def told(r):
        return r.root, r.iterations, r.function_calls, r.converged

    def f(k):
        of, slope = (lambda x: x**3 - k), (lambda x: 3 * x**2)
        bend = lambda x: 6 * x
        return (
            told(so.root_scalar(of, x0=5.0, fprime=slope)),
            told(so.root_scalar(of, x0=5.0, fprime=slope, maxiter=3)),
            told(so.root_scalar(of, x0=5.0, fprime=slope, fprime2=bend, xtol=1e-3)),
            told(so.root_scalar(of, x0=-0.3, x1=4.0)),
            told(so.root_scalar(lambda x: k * x, x0=0.0, fprime=lambda x: k)),
        )

    compiled = tj.jit(f, fallback=False)
    assert compiled(1.3) == f(1.3)
    assert "library_call" not in compiled.lower(1.3).as_text("jaxpr")


@pytest.mark.parametrize(
    "f",
    [
        lambda k: so.newton(lambda x: x**9 - k, 9.0, lambda x: 9 * x**8, maxiter=4),
        lambda k: so.newton(lambda x: x**2 + k, 0.0, lambda x: 2 * x),
        lambda k: so.newton(lambda x: k + 0 * x, 0.3),
        lambda k: so.newton(lambda x: k - x, 0.3, x1=0.3),
        lambda k: so.newton(lambda x: x**2 + k, np.array([1.0, 2.0]), lambda x: 2 * x),
        lambda k: so.fixed_point(lambda x: 1 - k * x, 0.3, method="iteration"),
    ],
)
def test_what_does_not_converge(f) -> None:
    with pytest.raises(SolverFailedError):
        tj.jit(f, fallback=False)(1.3)
    with pytest.raises((RuntimeError, ValueError)) as want:
        f(1.3)
    with pytest.raises(type(want.value)) as got:
        tj.jit(f, fallback=True)(1.3)
    assert str(got.value) == str(want.value)


def test_complex_guesses() -> None:
    with pytest.raises(SolverOptionError, match="complex"):
        tj.grad(lambda k: so.newton(lambda x: x**2 + k, 1j, lambda x: 2 * x).imag)(1.3)


def test_algorithm_748_is_scipys() -> None:
    """Steps, calls and ends, without a call of SciPy's."""
    slow = lambda x, k: np.sign(x - k) * np.abs(x - k) ** 0.2

    def f(c):
        told = lambda r: (r.root, r.iterations, r.function_calls, r.converged, r.flag)
        return (
            told(so.root_scalar(lambda x: x**3 - c, bracket=(0, 3), method="toms748")),
            told(so.root_scalar(lambda x: (x - c) ** 9, bracket=(0, 3), method="toms748", options={"k": 3})),
            told(so.root_scalar(slow, (c,), bracket=(-1, 3), method="toms748", maxiter=4)),
            told(so.toms748(lambda x: np.tanh(50 * (x - c)), 0, 9, full_output=True)[1]),
        )

    compiled = tj.jit(f, fallback=False)
    got, want = compiled(1.3), f(1.3)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g[0], w[0], rtol=1e-11)
        assert g[1:] == w[1:]
    assert "library_call" not in compiled.lower(1.3).as_text("jaxpr")
    for bad in (lambda c: so.toms748(lambda x: x * x + c, 0, 1), lambda c: so.toms748(lambda x: x - c, 3, 1)):
        with pytest.raises((RuntimeError, ValueError)):
            tj.jit(bad, fallback=False)(1.3)


@pytest.mark.sample(2)
@pytest.mark.parametrize("args", [lambda k: [k, 2.0], lambda k: np.array([k, 2.0]), lambda k: (k, 2.0)])
def test_arguments_are_taken_apart(args):
    """SciPy makes no tuple of other sequences there."""

    def rooted(k):
        return so.newton(lambda x, p, q: x**3 - p * q, 1.5, args=args(k))

    def steered(k):
        return so.newton(lambda x, p, q: x**3 - p * q, 1.5, lambda x, p, q: 3 * x**2, args=args(k))

    def fixed(k):
        return so.fixed_point(lambda x, p, q: np.sqrt(p / (x + q)), [1.2, 1.3], args=args(k)).sum()

    def squared(k):
        return so.least_squares(lambda x, p, q: x**3 - p * q, [1.5], args=args(k)).x[0]

    for f in (rooted, steered, fixed, squared):
        assert np.isclose(tj.jit(f, fallback=False)(3.0), f(3.0), rtol=1e-7), f
    slope = (rooted(3.0 + 1e-6) - rooted(3.0 - 1e-6)) / 2e-6
    assert np.isclose(tj.jit(tj.grad(rooted))(3.0), slope, rtol=1e-6)
