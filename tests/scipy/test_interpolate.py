"""Interpolators against SciPy's, their derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as si

import tracejit as tj
from tracejit.errors import SolverFailedError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(3)
X = np.cumsum(RNG.uniform(0.5, 1.5, 7))
Y = RNG.normal(size=7)
YY = RNG.normal(size=(2, 7, 3))
P = RNG.uniform(X[0] - 1, X[-1] + 1, (2, 4))
INSIDE = RNG.uniform(X[0], X[-1], 5)
T = np.concatenate([[0.0] * 4, [1.5, 2.5, 2.5], [4.0] * 4])

#: name -> (function of data and points, data, points)
CASES = {
    "CubicSpline": (lambda y, p: si.CubicSpline(X, y)(p), Y, P),
    "clamped": (lambda y, p: si.CubicSpline(X, y, axis=1, bc_type=("clamped", "natural"))(p, 1), YY, P),
    "values at ends": (lambda y, p: si.CubicSpline(X, y, bc_type=((2, 1.0), (1, -0.5)))(p), Y, P),
    "three points": (lambda y, p: si.CubicSpline(X[:3], y[:3])(p), Y, P),
    "two points": (lambda y, p: si.CubicSpline(X[:2], y[:2])(p), Y, P),
    "derivative": (lambda y, p: si.CubicSpline(X, y).derivative(2)(p), Y, P),
    "antiderivative": (lambda y, p: si.CubicSpline(X, y).antiderivative()(p), Y, P),
    "integrate": (lambda y, p: si.CubicSpline(X, y).integrate(p[0], p[1]), Y, INSIDE),
    "Pchip": (lambda y, p: si.PchipInterpolator(X, y)(p), Y, P),
    "Pchip rows": (lambda y, p: si.PchipInterpolator(X, y, axis=1, extrapolate=False)(p), YY, INSIDE),
    "Akima": (lambda y, p: si.Akima1DInterpolator(X, y)(p), Y, INSIDE),
    "makima": (lambda y, p: si.Akima1DInterpolator(X, y, method="makima", extrapolate=True)(p), Y, P),
    "Hermite": (lambda y, p: si.CubicHermiteSpline(X, y, np.sin(y))(p), Y, P),
    "PPoly": (lambda y, p: si.PPoly(y.reshape(3, 2), [0.0, 3.0, 6.0], extrapolate="periodic")(p), Y[:6], P),
    "BSpline": (lambda c, p: si.BSpline(T, c, 3)(p), Y, RNG.uniform(-0.5, 4.5, 6)),
    "BSpline derivative": (lambda c, p: si.BSpline(T, c, 3).derivative()(p), Y, RNG.uniform(0, 4, 6)),
    "BSpline nu": (lambda c, p: si.BSpline(T, c, 3, extrapolate=False)(p, 2), Y, RNG.uniform(-1, 4, 6)),
    "BSpline integrate": (lambda c, p: si.BSpline(T, c, 3).integrate(p[0], p[1]), Y, np.array([0.3, 3.1])),
    "make_interp_spline": (lambda y, p: si.make_interp_spline(X, y, axis=1)(p), YY, P),
    "of degree 2": (lambda y, p: si.make_interp_spline(X, y, k=2)(p), Y, P),
    "interp1d": (lambda y, p: si.interp1d(X, y)(p), Y, INSIDE),
    "interp1d fill": (lambda y, p: si.interp1d(X, y, axis=1, bounds_error=False, fill_value=2.0)(p), YY, P),
    "interp1d extrapolate": (lambda y, p: si.interp1d(X[::-1], y, fill_value="extrapolate")(p), Y, P),
    "interp1d cubic": (lambda y, p: si.interp1d(X, y, kind="cubic")(p), Y, INSIDE),
    "Barycentric": (lambda y, p: si.BarycentricInterpolator(X, y)(p), Y, np.append(INSIDE, X[2])),
    "RBF": (lambda y, p: si.RBFInterpolator(X[:, None], y)(p[:, None]), Y, INSIDE),
    "RBF gaussian": (
        lambda y, p: si.RBFInterpolator(YY[0], y, kernel="gaussian", epsilon=0.7, smoothing=0.1)(
            p.reshape(2, 3)
        ),
        Y,
        RNG.normal(size=6),
    ),
    "grid": (
        lambda v, p: si.RegularGridInterpolator((X, X[:3]), v)(p),
        YY[0],
        RNG.uniform(X[0], X[2], (4, 2)),
    ),
    "interpn": (
        lambda v, p: si.interpn((X, X[:3]), v, p, bounds_error=False, fill_value=1.0),
        YY[0],
        RNG.uniform(X[0] - 1, X[2] + 1, (2, 2, 2)),
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, y, p = CASES[name]
    got, want = tj.jit(f)(y, p), f(y, p)
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
    v, u = RNG.normal(size=y.shape), RNG.normal(size=p.shape)
    slope = tj.jit(lambda y, p: tj.jvp(f, (y, p), (v, u))[1])(y, p)
    h = 1e-6
    near = (f(y + h * v, p + h * u) - f(y - h * v, p - h * u)) / (2 * h)
    np.testing.assert_allclose(slope, near, rtol=1e-5, atol=1e-5)


def test_reverse_and_second_derivatives() -> None:
    f = lambda y, p: si.CubicSpline(X, y)(p).sum()
    check_grads(f, (Y, INSIDE), order=2, rtol=1e-5)
    np.testing.assert_allclose(tj.grad(f, argnums=1)(Y, INSIDE), si.CubicSpline(X, Y)(INSIDE, 1), rtol=1e-8)


def test_breakpoints_are_differentiable() -> None:
    check_grads(lambda x: si.PchipInterpolator(x, Y)(INSIDE), (X,), order=1, rtol=1e-5)


def test_vmap() -> None:
    ys = RNG.normal(size=(3, 7))
    want = [si.CubicSpline(X, y)(INSIDE) for y in ys]
    np.testing.assert_allclose(tj.jit(tj.vmap(lambda y: si.CubicSpline(X, y)(INSIDE)))(ys), want, rtol=1e-9)


@pytest.mark.parametrize(
    "kind", ["nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic"]
)
def test_kinds_of_interp1d(kind: str) -> None:
    f = lambda y, p: si.interp1d(X, y, kind=kind)(p)
    p = np.concatenate([INSIDE, X, (X[1:] + X[:-1]) / 2])
    np.testing.assert_allclose(tj.jit(f)(Y, p), f(Y, p), rtol=1e-9)


def test_results_are_arrays_and_classes_are_scipys() -> None:
    def f(y, p):
        spline = si.CubicSpline(X, y)
        return spline(p), isinstance(spline, si.CubicSpline), isinstance(spline, si.PPoly)

    got, want = tj.jit(f)(Y, 2.0), f(Y, 2.0)
    assert type(got[0]) is np.ndarray and got[0].shape == () and got[1:] == want[1:]
    assert type(tj.scipy.interpolate.CubicSpline(X, Y)) is si.CubicSpline


def test_shapes_that_scipy_refuses() -> None:
    """The error is SciPy's while the program is traced: nothing is cut to size, or broadcast."""
    rows = np.stack([X, Y], axis=1)
    for f, args in (
        (lambda x, y: si.interp1d(x, y), (X[:-1], Y)),
        (lambda x, y: si.interp1d(x, y), (X, Y[:-1])),
        (lambda d, p: si.RBFInterpolator(d, Y)(p), (rows, X)),
        (lambda d, p: si.RBFInterpolator(d, Y)(p), (rows, rows[:, :1])),
        (lambda d, y: si.RBFInterpolator(d, y)(d), (rows, Y[:-1])),
        (lambda v, p: si.interpn((X, X), v, p), (np.outer(Y, Y), rows[:, :1])),
        (lambda v, p: si.interpn((X, X[:-1]), v, p), (np.outer(Y, Y), rows)),
    ):
        with pytest.raises(ValueError) as theirs:
            f(*args)
        with pytest.raises(ValueError) as ours:
            tj.jit(f, fallback=False)(*args)
        assert str(ours.value).partition("[")[0].split()[:3] == str(theirs.value).split()[:3]


def test_what_scipy_raises() -> None:
    outside = lambda y, p: si.interp1d(X, y)(p)
    swapped = lambda x: si.CubicSpline(x, Y)(1.0)
    with tj.config.override(fallback=True):
        with pytest.raises(ValueError, match="interpolation range"):
            tj.jit(outside)(Y, P)
        with pytest.raises(ValueError, match="strictly increasing"):
            tj.jit(swapped)(X[::-1])
    with pytest.raises(SolverFailedError, match="strictly increasing"):
        tj.grad(swapped)(X[::-1])
    with pytest.raises(SolverFailedError, match="identical"):
        tj.grad(lambda y: si.CubicSpline(X, y, bc_type="periodic")(1.0))(Y)
