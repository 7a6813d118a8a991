"""Polynomials in Bernstein's basis, and products of functions of one variable: SciPy's values, and derivatives by
differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si

import tracejit as tj
from tests.scipy.beside import check_slope, check_values

RNG = np.random.default_rng(4)
X, Q = np.array([0, 1, 2.5]), np.array([-0.3, 0.3, 1.4, 2.9])
P = np.array([[0.5, 1.2], [1.3, 0.3], [2.4, -0.2]])
C, ROWS, GRID = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2, 2, 2))
KNOTS = np.array([0, 0, 0, 1, 2.5, 2.5, 2.5]), np.array([0, 0, 0, 1, 2, 2.5, 2.5, 2.5])
COEFFICIENTS = RNG.normal(size=(4, 5))
MADE = si.BPoly(C, X)


def of_lists(c: Any) -> Any:
    made = si.BPoly.from_derivatives(X, [[c[0], c[1], c[2]], [c[3]], [c[4], c[5]]])
    return made(Q), made.c


def forms(c: Any) -> Any:
    b = si.BPoly(c, X)
    return b.derivative(2)(Q), b.antiderivative(2)(Q), b.integrate(0.1, 2.0), b.derivative(5)(Q)


CASES: dict[str, tuple[Any, ...]] = {
    "BPoly": (lambda c, q: si.BPoly(c, X)(q), C, Q),
    "BPoly, slopes": (lambda c, q: (si.BPoly(c, X)(q, 2), si.BPoly(c, X)(Q, 4)), C, Q),
    "BPoly, forms": (forms, C),
    "BPoly, columns": (lambda c: si.BPoly(c, X, axis=1)(Q), RNG.normal(size=(3, 4, 2))),
    "BPoly, inside": (lambda c: si.BPoly(c, X, extrapolate=False)(Q[1:3]), C),
    "BPoly, given": (lambda q: MADE(q), Q),
    "derivatives": (lambda c: si.BPoly.from_derivatives(X, c)(Q), ROWS),
    "derivatives, some": (of_lists, RNG.normal(size=6)),
    "powers": (lambda y: si.BPoly.from_power_basis(si.CubicSpline(X, y))(Q), X**2),
    "NdPPoly": (lambda c, p: si.NdPPoly(c, (X, X))(p), GRID, P),
    "NdPPoly, slopes": (lambda c: si.NdPPoly(c, (X, X))(P, nu=(1, 0)), GRID),
    "NdPPoly, columns": (lambda c, q: si.NdPPoly(c[..., None] * Q, (X, X))((0.3, q)), GRID, Q),
    "NdBSpline": (lambda c, p: si.NdBSpline(KNOTS, c, 2)(p), COEFFICIENTS, P),
    "NdBSpline, slopes": (lambda c: si.NdBSpline(KNOTS, c, (2, 2))(P, nu=(1, 1)), COEFFICIENTS),
    "NdBSpline, columns": (lambda c: si.NdBSpline(KNOTS, c[..., None] * Q, 2)(P), COEFFICIENTS),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, *args = CASES[name]
    check_values(f, args, rtol=1e-11, atol=1e-12)
    check_slope(f, args, (0.03, 0.01), 1e-5, rtol=1e-6, atol=1e-7)


def test_out_of_ends() -> None:
    for f, x in (
        (lambda q: si.BPoly(C, X, extrapolate=False)(q), Q),
        (lambda p: si.NdPPoly(GRID, (X, X), extrapolate=False)(p), P),
        (lambda p: si.NdBSpline(KNOTS, COEFFICIENTS, 2)(p, extrapolate=False), P),
    ):
        assert np.isnan(f(x)).any()
        np.testing.assert_allclose(tj.jit(lambda x, f=f: f(x))(x), f(x))


def test_many_at_once() -> None:
    many = np.stack([COEFFICIENTS, COEFFICIENTS * 2])
    got = tj.jit(tj.vmap(lambda c: si.NdBSpline(KNOTS, c, 2)(P)))(many)
    np.testing.assert_allclose(got, [si.NdBSpline(KNOTS, c, 2)(P) for c in many])


def test_failures() -> None:
    for f, told in (
        (lambda c: si.BPoly(c, X[:2]), "coefficients"),
        (lambda c: si.BPoly.from_derivatives(X, c[:2]), "same length"),
        (lambda c: si.BPoly.from_derivatives(X[:2], [c[0, 0], c[1, 0]]), "1-D array"),
        (lambda c: si.NdPPoly(c, (X, X)), "2\\*len"),
        (lambda c: si.NdPPoly(c[:, :1], (X,)), "agree"),
        (lambda c: si.NdBSpline(KNOTS, c, 2), "inconsistent"),
        (lambda c: si.NdBSpline(KNOTS, c, (2, 2, 2)), "len"),
    ):
        with pytest.raises(ValueError, match=told):
            tj.jit(f)(C)
