"""Sums of infinitely many terms, against SciPy's own with all of its reports, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj
from tests.scipy.integrating.vectorized.test_tanh_sinh import check

INF = np.inf
CASES = {
    "few": lambda k: si.nsum(lambda x: k / x**2, 1, 100),
    "kinds": lambda k: si.nsum(
        lambda x, k: k / x**2,
        [1, 1, 3, 2, 1],
        [100, INF, 2, np.nan, 1e8],
        args=(np.array([[1.0], [2.0]]) * k,),
    ),
    "leftwards": lambda k: si.nsum(lambda x: np.exp(k * x), -INF, 3.5),
    "both sides": lambda k: si.nsum(lambda x: np.exp(-k * x * x), [-INF, -INF, 0], [INF, 2, INF]),
    "divergent": lambda k: si.nsum(lambda x: k / x, 1, INF),
    "last term too large": lambda k: si.nsum(lambda x: x ** -(k + 0.4), 1, INF, maxterms=100),
    "steps": lambda k: si.nsum(lambda x: 1 / x - 1 / (x + k), 1, INF, step=[2, -1, 0]),  # type: ignore[arg-type]
    "not finite": lambda k: si.nsum(lambda x: k / x, -1, 1),
    "logarithms": lambda k: si.nsum(lambda x: -3 * k * np.log(x), [1, 1, 2], [INF, 50, 1e9], log=True),
    "logarithms of both sides": lambda k: si.nsum(lambda x: -k * x * x, -INF, [INF, 3], log=True),
    "tolerances": lambda k: si.nsum(lambda x: np.exp(-k * x), 0, INF, tolerances={"atol": 1e-3, "rtol": 0}),
    "no terms": lambda k: si.nsum(lambda x: np.exp(-k * x), 0, INF, maxterms=0),
    "increasing at first": lambda k: si.nsum(lambda x: np.exp(-k * (x - 5) ** 2), 0, INF),
    "nothing": lambda k: si.nsum(lambda x: k * x, np.zeros(0), INF),
}
OFTEN = ("kinds", "last term too large", "logarithms", "not finite")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in OFTEN else pytest.mark.exhaustive) for n in CASES]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reports_are_scipys(name: str) -> None:
    check(tj.jit(CASES[name])(0.7), CASES[name](0.7))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_traced_limits() -> None:
    f = lambda a, b: si.nsum(lambda x: np.exp(-0.3 * x * x), a, b, step=0.5)  # type: ignore[arg-type]
    limits = np.array([-INF, -INF, 0, 1, 2]), np.array([INF, 2, INF, 20, 1])
    check(tj.jit(f)(*limits), f(*limits))


DERIVATIVES = {
    "terms": lambda k: si.nsum(lambda x: x ** -(3 * k), 1, [INF, 50]).sum.sum(),
    "weights that overflow": lambda k: si.nsum(lambda x: x ** -(2 * k + 0.5), 1, INF).sum,
    "limits and steps": lambda k: si.nsum(lambda x: x**-2, k, INF, step=k / 2).sum,  # type: ignore[arg-type]
    "logarithms": lambda k: si.nsum(lambda x: -3 * k * np.log(x), [1, 2], [50, INF], log=True).sum.sum(),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives(name: str) -> None:
    f = DERIVATIVES[name]
    want = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.7), want, rtol=1e-6)


def test_what_scipy_refuses() -> None:
    for f in (
        lambda k: si.nsum(lambda x: k * x, 0, 1, maxterms=-1),
        lambda k: si.nsum(lambda x: k * x, 0, 1, tolerances={"rtol": -1}),
        lambda k: si.nsum(lambda x: np.ones(3) * k, 0, 1),
    ):
        with pytest.raises(ValueError):
            tj.jit(f)(0.7)
