"""tracejit.scipy.stats against SciPy, in plain SciPy code that is traced."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as theirs
from scipy.stats import norm

import tracejit as tj
from tracejit.scipy import stats
from tracejit.scipy.distributions import NAMES
from tracejit.test_util import check_grads

SHAPES: dict[str, tuple[float, ...]] = {
    "t": (3.5,), "gamma": (2.5,), "chi2": (3.0,), "pareto": (2.5,), "beta": (1.5, 2.5), "bernoulli": (0.3,),
    "binom": (7.0, 0.4), "geom": (0.3,), "poisson": (2.5,),
    "lognorm": (0.8,), "weibull_min": (1.5,), "invgamma": (2.5,), "nbinom": (4.0, 0.3),
}  # fmt: skip
X = np.array([-3.0, -0.5, 0.0, 0.3, 0.7, 1.0, 2.0, 3.5, 8.0, np.inf, -np.inf, np.nan])
Q = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 1.0, -0.5, 1.5, np.nan])
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "pmf", "logpmf")
#: Those of `continuous` have tests of their own.
HERE = {n: d for n, d in NAMES.items() if n not in stats._MORE}
CASES = [(n, m) for n, d in HERE.items() for m in METHODS if d._formula(m) is not None]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "method"), CASES)
def test_values(name: str, method: str) -> None:
    f = lambda x, *shapes: getattr(getattr(theirs, name), method)(x, *shapes)
    x, shapes = (Q if method in ("ppf", "isf") else X), SHAPES.get(name, ())
    with np.errstate(all="ignore"):
        want = f(x, *shapes)
    got = tj.jit(f)(x, *shapes)
    finite = np.isfinite(x)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-12, atol=1e-15)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "method"), [c for c in CASES if c[1] in ("logpdf", "cdf", "ppf")])
def test_location_and_scale(name: str, method: str) -> None:
    f = lambda x, loc, scale: getattr(getattr(theirs, name), method)(
        x, *SHAPES.get(name, ()), loc=loc, scale=scale
    )
    if name == "poisson":
        return
    x = Q[1:5] if method == "ppf" else X[:9]
    loc, scale = np.array([[-1.0], [0.5]]), np.array([[2.0], [0.7]])
    with np.errstate(all="ignore"):
        want = f(x, loc, scale)
    np.testing.assert_allclose(tj.jit(f)(x, loc, scale), want, rtol=1e-12)
    assert np.isnan(tj.jit(f)(x, 0.0, -1.0)).all()


def test_distributions_have_as_many_shapes_as_scipys() -> None:
    """What comes after them by position is a location."""
    found = {name: d.shapes for name, d in NAMES.items()}
    assert len(found) > 100 and found == {name: getattr(theirs, name).numargs for name in found}


def test_likelihoods_differentiate() -> None:
    data = np.array([0.3, -1.2, 2.0])
    loss = lambda p: -norm.logpdf(data, p[0], scale=np.exp(p[1])).sum()
    check_grads(loss, (np.array([0.2, -0.3]),), order=2)
    got = tj.jit(tj.grad(loss))(np.array([0.2, 0.0]))
    np.testing.assert_allclose(got, [-(data - 0.2).sum(), (1 - (data - 0.2) ** 2).sum()], rtol=1e-13)
    gamma_loss = lambda a: theirs.gamma.logpdf(np.abs(data), a).sum() + theirs.beta.logpdf(0.3, a, b=2.0)
    check_grads(gamma_loss, (1.7,), order=2)
    outside = tj.grad(lambda x: theirs.expon.logpdf(x).sum())(np.array([-1.0, 2.0]))
    assert outside.tolist() == [0.0, -1.0]


def test_what_is_not_traced_is_scipys() -> None:
    assert stats.norm.cdf(0.3) == theirs.norm.cdf(0.3)
    assert stats.norm.fit is not None
    assert stats.norm(1.0, 2.0).mean() == 1.0
    assert stats.mode.__wrapped__ is theirs.mode
    assert "norm" in repr(stats.norm)
    with pytest.raises(AttributeError, match="nothing"):
        stats.nothing
    with pytest.raises(TypeError, match="unexpected keyword argument 'mean'"):
        tj.jit(lambda x: stats.norm.logpdf(x, mean=1.0))(0.0)


@pytest.mark.parametrize(
    "name", ["norm", "laplace", "logistic", "cauchy", "t", "expon", "gamma", "chi2", "beta"]
)
def test_probabilities_have_the_density_as_derivative(name: str) -> None:
    d, shapes = getattr(theirs, name), SHAPES.get(name, ())
    for x in (0.0, 0.25, 0.7, -1.0, 3.0):
        density = d.pdf(x, *shapes)
        assert tj.grad(lambda x: d.cdf(x, *shapes))(x) == pytest.approx(density, rel=1e-11)
        assert tj.grad(lambda x: d.sf(x, *shapes))(x) == pytest.approx(-density, rel=1e-11)
    second = tj.grad(tj.grad(lambda x: theirs.logistic.logpdf(x)))
    assert second(0.0) == pytest.approx(-0.5)


def test_tails_of_students_distribution_are_as_exact_as_its_middle() -> None:
    x = np.array([-12.0, -9.0, -5.0, 5.0, 9.0, 12.0])
    for df in (4.0, 50.0, 400.0, 1e5, 1e10):
        for f in (theirs.t.sf, theirs.t.cdf):
            np.testing.assert_allclose(tj.jit(f)(x, df), f(x, df), rtol=1e-10, atol=0)
        got = tj.jit(tj.grad(lambda x, df=df: theirs.t.cdf(x, df).sum()))(x)
        np.testing.assert_allclose(got, theirs.t.pdf(x, df), rtol=1e-9, atol=0)
        got = tj.jit(theirs.t.logpdf)(x, df)
        np.testing.assert_allclose(got, theirs.t.logpdf(x, df), rtol=1e-9, atol=0)


@pytest.mark.parametrize(("name", "x"), [("expon", 50.0), ("gamma", 60.0), ("chi2", 90.0), ("laplace", 50.0)])
def test_logarithms_of_probabilities_near_one(name: str, x: float) -> None:
    d, shapes = getattr(theirs, name), SHAPES.get(name, ())
    assert tj.jit(lambda x: d.logcdf(x, *shapes))(x) == pytest.approx(-d.sf(x, *shapes), rel=1e-12)
