"""curve_fit against SciPy's, and derivatives of its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.errors import FallbackWarning, SolverOptionError

X = np.linspace(0, 3, 12)
Y = 2 * np.exp(-0.7 * X) + 0.05 * np.sin(30 * X)
SIGMA = np.linspace(0.1, 0.3, 12)
COVARIANCE = np.diag(SIGMA**2) + 0.002
TIGHT = {"ftol": 1e-13, "xtol": 1e-13, "gtol": 1e-13}


def decay(x, a, b):
    return a * np.exp(-b * x)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "f",
    [
        lambda y: so.curve_fit(decay, X, y),
        lambda y: so.curve_fit(decay, X, y, p0=[1.5, 0.5], sigma=SIGMA, absolute_sigma=True),
        lambda y: so.curve_fit(decay, X, y, bounds=(0, [np.inf, 0.6]), **TIGHT),
        lambda y: so.curve_fit(decay, X, y, method="trf", sigma=COVARIANCE, loss="soft_l1", **TIGHT),
    ],
)
def test_fits(f) -> None:
    for got, want in zip(tj.jit(f)(Y), f(Y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    v = np.cos(X)
    slopes = tj.jit(lambda y: tj.jvp(f, (y,), (v,))[1])(Y)
    near = [(a - b) / 2e-4 for a, b in zip(f(Y + 1e-4 * v), f(Y - 1e-4 * v), strict=True)]
    for got, want in zip(slopes, near, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-6)


def test_what_is_scipys() -> None:
    f = lambda y: so.curve_fit(decay, X, y, nan_policy="raise")[0]
    with pytest.raises(SolverOptionError, match="nan_policy"):
        tj.vmap(f)(Y[None])
    with tj.config.override(fallback=True):
        with pytest.warns(FallbackWarning):
            np.testing.assert_array_equal(tj.jit(f)(Y), f(Y))
        with pytest.raises(ValueError, match="infs or NaNs"):
            tj.jit(lambda y: so.curve_fit(decay, X, y)[0])(Y * np.nan)
    with pytest.raises(ValueError, match="Method 'lm' only works"):
        tj.jit(lambda y: so.curve_fit(decay, X, y, bounds=(0, 5), method="lm"))(Y)
    with pytest.raises(ValueError, match="incorrect shape"):
        tj.jit(lambda y: so.curve_fit(decay, X, y, sigma=np.eye(3)))(Y)


def test_what_is_told_about_the_search() -> None:
    slopes = lambda x, a, b: np.stack([np.exp(-b * x), -a * x * np.exp(-b * x)], 1)
    for more in ({}, {"bounds": (0, 5)}):

        def f(y: Any, jac: Any = None, more: Any = more) -> Any:
            p, _, told, text, code = so.curve_fit(decay, X, y, jac=jac, full_output=True, **more)
            return p, told["nfev"], text, code, told["fvec"]

        got, want = tj.jit(lambda y, f=f: f(y), fallback=False)(Y), f(Y, slopes)
        assert got[1:4] == want[1:4]
        np.testing.assert_allclose(got[4], want[4], atol=1e-9)
