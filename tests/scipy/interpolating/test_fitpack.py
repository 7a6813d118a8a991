"""SciPy's older names for splines, and values at scattered points: SciPy's values, derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as si

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(5)
X = np.cumsum(RNG.uniform(0.5, 1.5, 9))
Y = RNG.normal(size=9)
P = RNG.uniform(X[0] - 1, X[-1] + 1, (2, 3))
INSIDE = RNG.uniform(X[0] + 0.1, X[-1] - 0.1, 5)
Z = RNG.normal(size=(9, 7))
POINTS = RNG.uniform(size=(20, 2))
AT = RNG.uniform(0.1, 0.9, (6, 2))
VALUES = RNG.normal(size=20)
INNER = X[[3, 5]] + 0.05


def tck(y, k=3):
    return si.splrep(X, y, k=k)


#: name -> (function of data and points, data, points)
CASES = {
    "splrep": (lambda y, p: (*si.splrep(X, y)[:2], p), Y, P),
    "splrep of degree 4": (lambda y, p: si.splrep(X, y, k=4, s=0)[1] + p[0, 0], Y, P),
    "splrep with knots": (lambda y, p: si.splrep(X, y, t=INNER, w=np.arange(1.0, 10))[1] + p[0, 0], Y, P),
    "splev": (lambda y, p: si.splev(p, tck(y)), Y, P),
    "splev derivative": (lambda y, p: si.splev(p, tck(y), 2), Y, INSIDE),
    "splev zeros": (lambda y, p: si.splev(p, tck(y), ext=1), Y, P),
    "splev const": (lambda y, p: si.splev(p, tck(y), 1, ext=3), Y, P),
    "splev of a curve": (lambda y, p: si.splev(p, (tck(Y)[0], [tck(y)[1], tck(Y)[1]], 3)), Y, INSIDE),
    "splint": (lambda y, p: si.splint(p[0], p[1], tck(y)), Y, np.array([1.5, 5.0])),
    "splint beyond": (lambda y, p: si.splint(p[0], 99.0, tck(y)), Y, np.array([3.0])),
    "splder": (lambda y, p: si.splev(p, si.splder(tck(y))), Y, INSIDE),
    "splantider": (lambda y, p: si.splev(p, si.splantider(tck(y), 2)), Y, INSIDE),
    "spalde": (lambda y, p: si.spalde(p, tck(y))[1], Y, INSIDE),
    "bisplev": (
        lambda z, p: si.bisplev(np.sort(p), X[:3], (tck(Y)[0], tck(Y)[0], z, 3, 3), dx=1),
        RNG.normal(size=81),
        INSIDE,
    ),
    "make_lsq_spline": (
        lambda y, p: si.make_lsq_spline(X, y, np.r_[[X[0]] * 4, INNER, [X[-1]] * 4], 3, w=np.arange(1.0, 10))(p),
        Y,
        INSIDE,
    ),
    "UnivariateSpline": (lambda y, p: si.UnivariateSpline(X, y, s=0)(p), Y, P),
    "its derivative": (lambda y, p: si.UnivariateSpline(X, y, s=0, k=4).derivative()(p), Y, P),
    "its antiderivative": (lambda y, p: si.UnivariateSpline(X, y, s=0).antiderivative()(p), Y, INSIDE),
    "its integral": (lambda y, p: si.UnivariateSpline(X, y, s=0).integral(p[0], p[1]), Y, INSIDE),
    "its derivatives": (lambda y, p: si.UnivariateSpline(X, y, s=0).derivatives(p[0]), Y, INSIDE),
    "Interpolated": (lambda y, p: si.InterpolatedUnivariateSpline(X, y, ext="const", k=2)(p), Y, P),
    "LSQ": (lambda y, p: si.LSQUnivariateSpline(X, y, INNER)(p), Y, INSIDE),
    "surface": (lambda z, p: si.RectBivariateSpline(X, X[:7], z)(np.sort(p), np.sort(p) / 2, dy=1), Z, INSIDE),
    "surface, pairs": (lambda z, p: si.RectBivariateSpline(X, X[:7], z, kx=2).ev(p, p / 2), Z, P),
    "surface, integral": (lambda z, p: si.RectBivariateSpline(X, X[:7], z).integral(p[0], 7, 1, p[1]), Z, INSIDE),
    "Krogh": (lambda y, p: si.KroghInterpolator(X[:6], y[:6])(p), Y, P),
    "Krogh derivatives": (lambda z, p: si.KroghInterpolator(X[:7], z, axis=1).derivatives(p, 3), Z, INSIDE),
    "krogh_interpolate": (lambda y, p: si.krogh_interpolate(X[:5], y[:5], p, der=1), Y, INSIDE),
    "barycentric_interpolate": (lambda y, p: si.barycentric_interpolate(X[:5], y[:5], p), Y, INSIDE),
    "pchip_interpolate": (lambda y, p: si.pchip_interpolate(X, y, p, der=[0, 1]), Y, INSIDE),
    "nearest": (lambda v, p: si.NearestNDInterpolator(POINTS, v)(p), VALUES, AT),
    "linear": (lambda v, p: si.LinearNDInterpolator(POINTS, v, 2.0)(p), VALUES, np.vstack([AT, [[5.0, 5.0]]])),
    "linear, points": (lambda q, p: si.LinearNDInterpolator(q, VALUES)(p[:, 0], p[:, 1]), POINTS, AT),
    "griddata": (lambda v, p: si.griddata(POINTS, v, p), VALUES, AT),
    "griddata nearest": (lambda v, p: si.griddata((POINTS[:, 0], POINTS[:, 1]), v, p, "nearest"), VALUES, AT),
    "griddata of numbers": (lambda v, p: si.griddata(POINTS[:, 0], v, p, "linear"), VALUES, AT[:, 0]),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, thorough: bool) -> None:
    f, data, points = CASES[name]
    got, want = tj.jit(f)(data, points), f(data, points)
    assert type(got) is type(want)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-10)
    total = lambda y, p: sum(np.sum(np.sin(np.asarray(v) * 1.0)) for v in tj.tree.leaves(f(y, p)))
    if thorough:
        check_grads(total, (data, points), order=1, rtol=1e-5, atol=1e-6)


def test_bad_arguments() -> None:
    outside = tj.jit(lambda y, p: si.splev(p, tck(y), ext=2), fallback=True)
    with pytest.raises(ValueError, match=r"."):
        outside(Y, P)
    for bad in (lambda y: si.splev(1.0, tck(y), 4), lambda y: si.splev(1.0, tck(y), ext=7)):
        with pytest.raises(ValueError, match=r"must hold|not in"):
            tj.jit(bad)(Y)


def test_places_of_a_surface_are_two_vectors() -> None:
    tx = np.array([0.0, 0, 1, 1])
    surface = (tx, tx, np.ones(4), 1, 1)
    for x, y in ((np.ones((2, 2)) / 2, 0.5), (0.5, np.ones((2, 2)) / 2)):
        with pytest.raises(ValueError, match="rank-1"):
            tj.jit(lambda c, x=x, y=y: si.bisplev(x, y, (*surface[:2], c, 1, 1)))(surface[2])
        with pytest.raises(ValueError, match="rank-1"):
            si.bisplev(x, y, surface)
