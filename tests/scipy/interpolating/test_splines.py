"""Splines with conditions at their ends, and what is made of splines: SciPy's values, slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline, CubicSpline, PchipInterpolator, make_interp_spline, splev, splrep

import tracejit as tj
from tracejit import tree

RNG = np.random.default_rng(0)
X, Q = np.linspace(0, 3, 9) ** 1.1, np.array([0.31, 1.22, 2.9])
Y, C = RNG.normal(size=(9, 2)), RNG.normal(size=(6, 2))
T = np.r_[[0.0] * 4, 1, 2, [3.0] * 4]


def _closed(y: Any) -> Any:
    return np.concatenate([y[:-1], y[:1]])


def _ends(k: int, bc: Any) -> Any:
    return lambda y, c, q: make_interp_spline(X, y, k=k, bc_type=bc)(q)


def _period(k: int) -> Any:
    return lambda y, c, q: make_interp_spline(X, _closed(y[:, 0]), k=k, bc_type="periodic")(q + 9)


CASES: dict[str, Any] = {
    "natural": _ends(3, "natural"),
    "given": _ends(3, ([(2, [0.0, 1.0])], [(1, [0.5, 0.2])])),
    "quintic": _ends(5, ([(1, [0.0, 0]), (2, [0.0, 0])], [(1, [0.0, 0]), (2, [0.0, 0])])),
    **{f"period {k}": _period(k) for k in (1, 2, 3, 4)},
    "cubic period": lambda y, c, q: CubicSpline(X, _closed(y), bc_type="periodic")(q + 5, 1),
    "three": lambda y, c, q: CubicSpline(X[:3], _closed(y[:3]), bc_type="periodic").c,
    "integral": lambda y, c, q: BSpline(T, c, 3).antiderivative(2)(q),
    "element": lambda y, c, q: BSpline.basis_element([0, 1, 1, 3.0])(q * 2),
    "knot": lambda y, c, q: [(s := BSpline(T, c, 3).insert_knot(q[1], 2)).t, s.c, s(q)],
    "knot inside": lambda y, c, q: BSpline(T, c, 3).insert_knot(1.0).c,
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name: str) -> None:
    f = lambda *args: tree.leaves(CASES[name](*args))
    args, ways = (Y, C, Q), (np.cos(Y), np.sin(C), np.array([0.3, -0.5, 0.0]))
    got, slopes = tj.jit(lambda *args: tj.jvp(f, args, ways))(*args)
    up, down = (f(*(a + h * w for a, w in zip(args, ways, strict=True))) for h in (1e-6, -1e-6))
    for a, b, s, high, low in zip(got, f(*args), slopes, up, down, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(s, (high - low) / 2e-6, rtol=1e-5, atol=1e-6)


def test_errors() -> None:
    for bad in (
        lambda y: make_interp_spline(X, y, bc_type="other"),
        lambda y: make_interp_spline(X, y, bc_type=([(1, 0.0)], [])),
        lambda y: CubicSpline(X, y, bc_type=("periodic", "natural")),
    ):
        with pytest.raises(ValueError):
            bad(Y)
        with pytest.raises(ValueError):
            tj.jit(bad)(Y)


def test_values_that_scipy_refuses() -> None:
    holed = Y[:, 0].copy()
    holed[1] = np.nan
    for bad, y in (
        (lambda y: make_interp_spline(X, y)(Q), holed),
        (lambda y: splev(np.zeros(0), splrep(X, y)), Y[:, 0]),
        (lambda y: PchipInterpolator(X, y)(Q), Y[:, 0] + 1j),
    ):
        with tj.config.override(fallback=True), pytest.raises(ValueError):
            tj.jit(bad)(y)
