"""Objects of SciPy's that were made outside of traced code: used in it, from names and as arguments."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import interpolate, stats

import tracejit as tj

X = np.arange(6.0)
Y = np.sin(X)
AT = np.array([0.3, 1.7, 4.2])
MADE: dict[str, Any] = {
    "CubicSpline": interpolate.CubicSpline(X, Y),
    "of columns": interpolate.CubicSpline(X, np.stack([Y, Y**2]), axis=1),
    "a derivative": interpolate.PchipInterpolator(X, Y).derivative(),
    "Akima1DInterpolator": interpolate.Akima1DInterpolator(X, Y),
    "BSpline": interpolate.make_interp_spline(X, Y),
    "UnivariateSpline": interpolate.UnivariateSpline(X, Y, s=0),
    "interp1d": interpolate.interp1d(X, Y),
    "interp1d cubic": interpolate.interp1d(X, Y, kind="cubic", fill_value="extrapolate"),
    "norm": stats.norm(0.5, 2.0).cdf,
    "gamma": stats.gamma(a=2.0, scale=1.5).ppf,
    "poisson": stats.poisson(3.0).sf,
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MADE)
def test_values_and_derivatives(name: str) -> None:
    made = MADE[name]
    at = AT / 5 if name == "gamma" else AT
    f = lambda x: made(x)
    got, want = tj.jit(f)(at), made(at)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_allclose(tj.jit(lambda made, x: made(x))(made, at), want, rtol=1e-12)
    slope = tj.jacfwd(lambda x: made(x))(0.7)
    np.testing.assert_allclose(slope, (made(0.7 + 1e-6) - made(0.7 - 1e-6)) / 2e-6, atol=1e-8)


def test_surfaces() -> None:
    grid = interpolate.RegularGridInterpolator((X, X), np.outer(Y, X))
    surface = interpolate.RectBivariateSpline(X, X, np.outer(Y, X))
    points = np.array([[0.3, 2.2], [4.1, 0.7]])
    np.testing.assert_allclose(tj.jit(lambda p: grid(p))(points), grid(points))
    np.testing.assert_allclose(
        tj.jit(lambda p: surface.ev(p[:, 0], p[:, 1]))(points), surface.ev(*points.T), rtol=1e-12
    )


def test_what_they_hold_is_guarded() -> None:
    @dataclasses.dataclass
    class Model:
        curve: Any
        noise: Any

    model = Model(interpolate.CubicSpline(X, Y), stats.norm(0.0, 1.0))
    f = tj.jit(lambda x: model.curve(x) + model.noise.cdf(x))
    want = lambda x: model.curve(x) + model.noise.cdf(x)
    np.testing.assert_allclose(f(0.3), want(0.3))
    model.curve.c[:] *= 2
    np.testing.assert_allclose(f(0.3), want(0.3))
    model.curve = interpolate.CubicSpline(X, Y + 1)
    np.testing.assert_allclose(f(0.3), want(0.3))
    model.noise = stats.norm(1.0, scale=2.0)
    np.testing.assert_allclose(f(0.3), want(0.3))
    model.noise = stats.logistic(1.0)
    np.testing.assert_allclose(f(0.3), want(0.3))


def test_frozen_inside() -> None:
    f = lambda a, x: stats.gamma(2.0).pdf(x) + stats.norm(a).mean() + stats.levy_stable(1.5, a).cdf(x)
    np.testing.assert_allclose(tj.jit(f)(0.2, 0.3), f(0.2, 0.3), rtol=1e-9)
