"""Probabilities that are areas below a density, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tracejit as tj

SHAPES = {
    "gausshyper": (1.3, 2.1, 0.7, 0.9),
    "genhyperbolic": (1.3, 2.1, -0.6),
    "geninvgauss": (1.3, 2.1),
    "norminvgauss": (2.1, -0.6),
    "vonmises": (1.3,),
    "vonmises_line": (1.3,),
}


def check(name: str, methods: tuple[str, ...]) -> None:
    d, shapes = getattr(stats, name), SHAPES[name]
    q = np.array([0.03, 0.4, 0.8])
    x = d.ppf(q, *shapes)
    for m in methods:
        f = lambda x, method=m: getattr(d, method)(x, *shapes)
        at = q if m in ("ppf", "isf") else x
        want = np.array([f(v) for v in at])  # one by one: SciPy's norminvgauss is wrong for arrays
        got, slope = tj.jit(lambda x, f=f: tj.jvp(f, (x,), (np.ones(3),)))(at)
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=m)
        exact = d.pdf(got if m in ("ppf", "isf") else at, *shapes)
        exact = 1 / exact if m in ("ppf", "isf") else exact
        np.testing.assert_allclose(np.abs(slope), exact, rtol=1e-5, err_msg=m)


@pytest.mark.parametrize("name", ["geninvgauss"])
def test_one(name: str) -> None:
    check(name, ("cdf", "ppf"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_all(name: str) -> None:
    check(name, ("cdf", "sf", "ppf", "isf"))


def test_turns() -> None:
    f = tj.jit(lambda x: stats.vonmises.cdf(x, 2.0))
    x = np.array([-9.0, -1.0, 4.0, 30.0])
    np.testing.assert_allclose(f(x), stats.vonmises.cdf(x, 2.0), rtol=1e-7)
