"""Polynomials as objects: SciPy's coefficients, and derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si

import tracejit as tj
from tests.scipy.beside import check_slope, check_values

X, Y = np.array([0.3, 0.4, 0.7, 1.2, 2.2]), np.array([1.0, 0.2, -0.7, 2.0, 0.4])
SERIES = np.array([1.0, 1.0, 0.5, 1 / 6, 1 / 24])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "lagrange": (lambda x, y: si.lagrange(x, y).coef, (X, Y)),
    "one point": (lambda y: si.lagrange(X[:1], y).coef, (Y[:1],)),
    "whole numbers": (lambda y: si.lagrange(np.arange(5), y)(0.5), (Y,)),
    "pade": (lambda a: tuple(p.coef for p in si.pade(a, 2)), (SERIES,)),
    "pade, fewer": (lambda a: tuple(p.coef for p in si.pade(a, 1, 2)), (SERIES,)),
    "pade, below": (lambda a: si.pade(a, 4)[1](0.1), (SERIES,)),
    "Taylor": (
        lambda a: si.approximate_taylor_polynomial(lambda t: np.exp(a * t), 0.2 * a, 3, 0.5, order=6).coef,
        (np.float64(1.3),),
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name: str) -> None:
    f, args = CASES[name]
    check_values(f, args, 1e-9, 1e-10)
    check_slope(f, args, (0.3, 0.1), 1e-6, 1e-6, 1e-6)


def test_objects() -> None:
    got, want = tj.jit(lambda y: si.lagrange(X, y), fallback=False)(Y), si.lagrange(X, Y)
    assert type(got) is np.poly1d and np.allclose(got.coef, want.coef)
    compiled = tj.jit(lambda y: si.lagrange(np.arange(3.0), y), fallback=True)
    assert compiled(np.array([1.0, 2.0, 4.0])).order == 2
    assert (
        compiled(np.array([1.0, 2.0, 3.0])).order == si.lagrange(np.arange(3.0), [1.0, 2.0, 3.0]).order == 1
    )
    for wrong in (lambda a: si.pade(a, 5), lambda a: si.pade(a, 2, 4)):
        with pytest.raises(ValueError, match="Order"):
            tj.grad(lambda a, f=wrong: f(a)[0](0.1))(SERIES)


LAID = {
    "interp1d": lambda x, y, n: si.interp1d(np.arange(float(y.shape[n])), y, axis=n, kind="linear")(x),
    "CubicSpline": lambda x, y, n: si.CubicSpline(np.arange(y.shape[n]), y, axis=n)(x, 1),
    "make_interp_spline": lambda x, y, n: si.make_interp_spline(np.arange(y.shape[n]), y, axis=n)(x),
    "barycentric": lambda x, y, n: si.BarycentricInterpolator(np.arange(y.shape[n]), y, axis=n)(x),
    "Krogh": lambda x, y, n: si.KroghInterpolator(np.arange(y.shape[n]), y, axis=n).derivatives(x),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", LAID)
def test_results_lie_in_memory_as_scipys(name: str) -> None:
    x, y = np.array([0.5, 1.25, 2.0]), np.random.default_rng(5).normal(size=(4, 5, 6))
    for axis in range(3):
        for at in (x, x[:2, None] + np.zeros(2), 1.5):
            want = LAID[name](at, y, axis)
            got = tj.jit(lambda at, y, n=axis: LAID[name](at, y, n), fallback=False)(at, y)
            assert got.strides == want.strides and np.allclose(got, want)
