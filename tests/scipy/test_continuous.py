"""Continuous distributions against SciPy's, with their derivatives by argument and shapes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats as theirs

import tracejit as tj
from tracejit.scipy import stats
from tracejit.scipy.continuous import bounded, called, followed, normal, plain, powers
from tracejit.scipy.distributions import Distribution

OURS = {
    n: x
    for m in (bounded, called, followed, normal, plain, powers)
    for n, x in vars(m).items()
    if isinstance(x, Distribution)
}
#: Shapes, where 1.3, 2.1, ... are none.
SHAPES = {
    "genextreme": (-0.3,),
    "genpareto": (-0.2,),
    "gengamma": (2.1, -1.3),
    "truncnorm": (-0.4, 1.7),
    "skewnorm": (-1.5,),
    "foldcauchy": (0.6,),
    "genexpon": (1.3, 2.1, 0.9),
    "skewcauchy": (0.4,),
    "crystalball": (1.3, 2.6),
    "triang": (0.3,),
    "trapezoid": (0.2, 0.7),
    "truncweibull_min": (1.3, 0.4, 2.1),
    "tukeylambda": (0.3,),
    "pearson3": (-0.7,),
    "wrapcauchy": (0.4,),
    "geninvgauss": (1.3, 2.1),
    "genhyperbolic": (1.3, 2.1, -0.6),
    "norminvgauss": (2.1, -0.6),
    "gausshyper": (1.3, 2.1, 0.7, 0.9),
    "dpareto_lognorm": (0.3, 0.8, 1.3, 2.1),
    "ncf": (4.0, 5.0, 0.8),
    "erlang": (3.0,),
    "ksone": (7.0,),
    "truncpareto": (1.3, 4.0),
}
#: Their probabilities are areas, which take long without `jit`.
AREAS = {"gausshyper", "genhyperbolic", "geninvgauss", "norminvgauss", "vonmises", "vonmises_line"}
METHODS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
#: Of these the slope of the density is not known; the slopes by the first shape of others are not known.
WITHOUT_DENSITY = {"kstwobign", "ksone", "landau"}
UNKNOWN_SLOPES = {
    "erlang",
    "gausshyper",
    "geninvgauss",
    "genhyperbolic",
    "ncf",
    "nct",
    "ncx2",
    "tukeylambda",
    *WITHOUT_DENSITY,
}
Q = np.array([0.03, 0.2, 0.53, 0.71, 0.96])
OTHERS = (0.0, -1.0, -7.5, 0.5, 1.0, 1e3)


def shapes_of(name: str) -> tuple[float, ...]:
    return SHAPES.get(name, (1.3, 2.1)[: OURS[name].shapes])


def formulas(name: str) -> list[str]:
    return [m for m in METHODS if OURS[name]._formula(m) is not None and (name not in AREAS or "pdf" in m)]


@pytest.mark.parametrize("name", sorted(n for n in OURS if OURS[n].shapes))
def test_shapes_are_refused_where_scipy_refuses_them(name: str) -> None:
    """Each in turn is another number."""
    shapes = shapes_of(name)
    rows = [shapes, *([*shapes[:n], x, *shapes[n + 1 :]] for n in range(len(shapes)) for x in OTHERS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that should be whole
        want = [bool(np.all(getattr(theirs, name)._argcheck(*row))) for row in rows]
    got = OURS[name].valid(*np.array(rows, float).T)
    np.testing.assert_array_equal(np.broadcast_to(got, len(rows)), want)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(OURS))
def test_values_and_derivatives(name: str) -> None:
    """Eagerly, which runs the same operations."""
    shapes, d = shapes_of(name), getattr(theirs, name)
    low, high = d.support(*shapes, loc=0.3, scale=1.4)
    x = np.concatenate([d.ppf(Q, *shapes, loc=0.3, scale=1.4), [low - 0.1, high + 0.1]])
    assert {"pdf", "logpdf"} <= set(formulas(name))
    for m in formulas(name):
        at = Q if m in ("ppf", "isf") else x

        def f(x, method=m):
            return getattr(getattr(stats, name), method)(x, *shapes, loc=0.3, scale=1.4)

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want = getattr(d, m)(at, *shapes, loc=0.3, scale=1.4)
            got, slope = f(at), None
            if not (name in WITHOUT_DENSITY and m.endswith("pdf")):
                got, slope = tj.jvp(f, (at,), (np.ones(at.size),))
            near = (f(at[:5] + 1e-6) - f(at[:5] - 1e-6)) / 2e-6
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-12, err_msg=m)
        if slope is not None:
            np.testing.assert_allclose(slope[:5], near, rtol=2e-5, atol=1e-6, err_msg=m)


@pytest.mark.parametrize("name", sorted(n for n in OURS if OURS[n].shapes and n not in UNKNOWN_SLOPES))
def test_derivatives_by_shapes(name: str) -> None:
    shapes, d = shapes_of(name), getattr(stats, name)
    x = getattr(theirs, name).ppf(0.37, *shapes)

    def f(s):
        return d.logpdf(x, s, *shapes[1:])

    near = (f(shapes[0] + 1e-6) - f(shapes[0] - 1e-6)) / 2e-6
    np.testing.assert_allclose(tj.grad(f)(shapes[0]), near, rtol=1e-5, atol=1e-6)


def test_compiled() -> None:
    assert type(tj.jit(lambda k: theirs.lomax.pdf(k, 2.0))(1.3)) is np.float64
    f = lambda x, c: (
        theirs.lomax.cdf(x, c) + theirs.truncnorm.logpdf(x / 9, -c, 2.0) + theirs.genextreme.sf(x, -c)
    )
    np.testing.assert_allclose(tj.jit(f)(Q, 0.3), f(Q, 0.3), rtol=1e-10)
    slopes = tj.jit(tj.vmap(tj.grad(f, argnums=(0, 1)), in_axes=(0, None)))(Q, 0.3)
    np.testing.assert_allclose(slopes[0], (f(Q + 1e-6, 0.3) - f(Q - 1e-6, 0.3)) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(slopes[1], (f(Q, 0.3 + 1e-6) - f(Q, 0.3 - 1e-6)) / 2e-6, rtol=1e-6)


def test_invalid_shapes_give_nan() -> None:
    f = tj.jit(lambda a: (theirs.lomax.pdf(1.0, a), theirs.gamma.cdf(1.0, a), theirs.poisson.pmf(1, a)))
    assert np.isnan(f(-1.0)).all() and not np.isnan(f(1.0)).any()


def test_frozen_distributions_with_traced_parameters() -> None:
    f = lambda s: theirs.norm(0.5, s).logpdf(0.2) + theirs.lomax(s, scale=2.0).cdf(0.7)
    np.testing.assert_allclose(tj.jit(f)(1.3), f(1.3), rtol=1e-12)
    near = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(tj.grad(f)(1.3), near, rtol=1e-6)


@pytest.mark.parametrize(("name", "degrees"), [("nct", (3.0,)), ("nct", (0.6,)), ("ncf", (3.0, 5.0))])
def test_derivatives_of_what_is_not_central(name: str, degrees: tuple[float, ...]) -> None:
    """By the place and by how far it is from the middle; those by the degrees are not known."""
    at, h = np.array([0.4, 0.9, 2.5]), 1e-4
    for m in ("pdf", "cdf", "sf", "ppf"):
        x = at if m != "ppf" else np.array([0.2, 0.5, 0.9])
        f = lambda nc, x, m=m: getattr(getattr(stats, name), m)(x, *degrees, nc)
        for n in (0, 1):
            g = (lambda nc, f=f, x=x: f(nc, x)) if n == 0 else (lambda x, f=f: f(0.8, x))
            place = np.full(3, 0.8) if n == 0 else x
            near = (8 * (g(place + h) - g(place - h)) - g(place + 2 * h) + g(place - 2 * h)) / (12 * h)
            np.testing.assert_allclose(tj.jvp(g, (place,), (np.ones(3),))[1], near, rtol=1e-8, atol=1e-10)
    with pytest.raises(tj.errors.NotDifferentiableError, match="operand number 2"):
        tj.grad(lambda d: stats.nct.pdf(0.4, d, 0.8))(3.0)


def test_densities_at_infinity() -> None:
    at = np.array([-np.inf, np.inf, 0.5])
    for name in ("landau", "nct", "ncf"):
        f = lambda x, n=name: getattr(theirs, n).pdf(x, *shapes_of(n))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(tj.jit(f)(at), f(at), rtol=1e-12)
