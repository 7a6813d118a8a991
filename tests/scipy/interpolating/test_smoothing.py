"""Smoothing splines: SciPy's values; derivatives by differences of a spline that is solved for densely here, with the
knots that SciPy has found, since FITPACK's own sum of squares is what is asked for to a thousandth only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si
import scipy.optimize

import tracejit as tj

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 5, 20))
Y = np.sin(2 * X) + 0.2 * RNG.normal(size=20)
W = RNG.uniform(0.5, 1.5, 20)
P = RNG.uniform(X[0], X[-1], 6)
WAYS = RNG.normal(size=(3, 20)) * 0.1


def parts(b: Any) -> tuple[Any, Any]:
    return b.t, b.c


def curve(made: Any) -> list[Any]:
    (t, c, _), u = made
    return [t, *c, u]


#: name -> function of points, values and weights
CASES = {
    "UnivariateSpline": lambda x, y, w: si.UnivariateSpline(x, y, w, s=1.0)(P),
    "its default": lambda x, y, w: si.UnivariateSpline(x, y)(P),
    "its slope": lambda x, y, w: si.UnivariateSpline(x, y, w, k=4, s=0.8).derivative()(P),
    "ends": lambda x, y, w: si.UnivariateSpline(x, y, w, bbox=(-1, 6), s=0.8, ext=3)(2 * P - 2),
    "ends, through": lambda x, y, w: si.UnivariateSpline(x, y, bbox=(-1, 6), s=0)(2 * P - 2),
    "its integral": lambda x, y, w: si.UnivariateSpline(x, y, w, s=0.8).integral(P[0], 9.0),
    "its derivatives": lambda x, y, w: si.UnivariateSpline(x, y, w, s=0.8).derivatives(P[0]),
    "its antiderivative": lambda x, y, w: si.UnivariateSpline(x, y, w, s=0.8).antiderivative(2)(P),
    "its parts": lambda x, y, w: [
        (s.get_knots(), s.get_coeffs(), s.get_residual()) for s in [si.UnivariateSpline(x, y, w, s=0.8)]
    ],
    "its roots": lambda x, y, w: si.UnivariateSpline(x, y, w, s=0.8).roots(),
    "splrep": lambda x, y, w: si.splrep(x, y, w, s=0.8)[:2],
    "splrep, weights alone": lambda x, y, w: si.splrep(x, y, w, k=5)[:2],
    "splev": lambda x, y, w: si.splev(P, si.splrep(x, y, w, s=0.8, k=2), der=1),
    "make_splrep": lambda x, y, w: parts(si.make_splrep(x, y, w=w, s=0.8, k=1)),
    "splprep": lambda x, y, w: curve(si.splprep([x, y], w=w, s=0.5)),
    "splprep through": lambda x, y, w: curve(si.splprep([x, y], s=0)),
    "make_splprep": lambda x, y, w: [(b(P / 9), b.c, u) for b, u in [si.make_splprep([x, y], s=0.5)]],
    "make_splprep through": lambda x, y, w: [(b(P / 9), u) for b, u in [si.make_splprep([x, y], s=0)]],
}  # fmt: skip
#: Those whose derivatives differences of SciPy's values show.
SMOOTH = {
    "make_smoothing_spline": lambda x, y, w: parts(si.make_smoothing_spline(x, y, w, lam=0.3)),
    "columns": lambda x, y, w: parts(si.make_smoothing_spline(x, np.stack([y, w]), lam=0.2, axis=1)),
    "insert": lambda x, y, w: si.insert(2.0, si.splrep(x, y, k=2, s=0), m=2)[1] / 50,
    "sproot": lambda x, y, w: si.sproot(si.splrep(x, y, s=0)),
    "roots": lambda x, y, w: si.PchipInterpolator(x, y).roots(),
    "solve": lambda x, y, w: si.Akima1DInterpolator(x, y).solve(0.3),
    "within": lambda x, y, w: si.CubicSpline(x, y).roots(extrapolate=False),
    "least error": lambda x, y, w: si.make_smoothing_spline(x, y, w)(P),
}


def check_values(f: Any) -> None:
    with_numpy, ours = tj.tree.leaves(f(X, Y, W)), tj.tree.leaves(tj.jit(f)(X, Y, W))
    for got, want in zip(ours, with_numpy, strict=True):
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    check_values(CASES[name])


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_derivatives(name: str) -> None:
    f = SMOOTH[name]
    check_values(f)

    def along(t: Any) -> Any:
        x, y, w = X + t * WAYS[0], Y + t * WAYS[1], W + t * WAYS[2]
        return sum(tj.numpy.sum(v * v) for v in tj.tree.leaves(f(x, y, w)))

    h = 1e-5
    near = (along(h) - along(-h)) / (2 * h)
    # SciPy's search for the least error ends early; inserted knots are sums of large numbers.
    loose = {"least error": 2e-3, "insert": 1e-4}.get(name, 1e-5)
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=loose, atol=1e-5)
    np.testing.assert_allclose(tj.grad(along)(0.0), near, rtol=loose, atol=1e-5)


def dense(places: Any, k: int, x: Any, y: Any, w: Any, s: float, at: Any) -> Any:
    """The spline with knots at the numbers `places` of x whose squares sum up to s, at the points."""
    t = x[places]
    a = si.BSpline.design_matrix(x, t, k).toarray() * w[:, None]
    b = []
    for i in range(k + 1, len(t) - k - 1):
        sides = [si.BSpline(t, np.eye(len(t) - k - 1), k)((t[i] + t[j]) / 2, nu=k) for j in (i, i + 1)]
        low = si.BSpline(t, np.eye(len(t) - k - 1), k)((t[i - 1] + t[i]) / 2, nu=k)
        b.append(sides[1] - low)
    b = np.array(b)

    def coefficients(q: float) -> Any:
        matrix = np.concatenate([a, np.sqrt(q) * b])
        return np.linalg.lstsq(matrix, np.concatenate([y * w, np.zeros(len(b))]), rcond=None)[0]

    def rest(logarithm: float) -> Any:
        return np.sum((y * w - a @ coefficients(np.exp(logarithm))) ** 2) - s

    q = np.exp(scipy.optimize.brentq(rest, -40, 10, xtol=1e-14, rtol=1e-14))
    return si.BSpline(t, coefficients(q), k)(at)


@pytest.mark.sample(2)
@pytest.mark.parametrize("k", [2, 3])
def test_derivatives(k: int) -> None:
    s = 0.8
    (t, _, _), fp, _, _ = si.splrep(X, Y, W, s=s, k=k, full_output=1)
    places = np.searchsorted(X, t)

    def near(x: Any, y: Any, w: Any) -> Any:
        return dense(places, k, x, y, w, fp, P)

    def ours(x: Any, y: Any, w: Any) -> Any:
        return si.UnivariateSpline(x, y, w, k=k, s=s)(P)

    np.testing.assert_allclose(near(X, Y, W), ours(X, Y, W), rtol=1e-7, atol=1e-8)
    h = 1e-5
    for n in range(3):
        way = np.zeros((3, 20))
        way[n] = WAYS[n]
        ends = [near(*(v + step * d for v, d in zip((X, Y, W), way, strict=True))) for step in (h, -h)]
        _, slope = tj.jit(lambda d: tj.jvp(ours, (X, Y, W), tuple(d)))(way)
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-7)


def test_many_at_once_and_second_derivatives() -> None:
    f = lambda y: np.sum(si.UnivariateSpline(X, y, s=0.8)(P) ** 2)
    many = np.stack([Y, Y[::-1], Y * 2])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(many), [f(y) for y in many], rtol=1e-9)
    g = lambda t: tj.grad(f)(Y + t * WAYS[0]) @ WAYS[0]
    assert np.isfinite(tj.jit(tj.grad(g))(0.0))


def test_what_scipy_warns_of_or_refuses() -> None:
    with pytest.raises(tj.errors.NumberError, match="could not find"):
        tj.jit(lambda x: si.UnivariateSpline(x, Y, s=1.0)(P))(X[::-1].copy())
    with pytest.raises(ValueError, match="k should be"):
        tj.jit(lambda y: si.UnivariateSpline(X, y, k=6, s=1.0)(P))(Y)
    with pytest.raises(ValueError, match="s should be"):
        tj.jit(lambda y: si.UnivariateSpline(X, y, s=-1.0)(P))(Y)
    with pytest.raises(ValueError, match="length must be at least 5"):
        tj.jit(lambda y: si.make_smoothing_spline(X[:4], y)(P))(Y[:4])
