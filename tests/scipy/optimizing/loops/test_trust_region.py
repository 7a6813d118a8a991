"""Least squares as a native loop: SciPy's own results where it has the Jacobian, and singular values by rotations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.scipy.optimizing.loops.trust_region import LOSSES, decomposed

T = np.linspace(0, 3, 30)
SEEN = 2 * np.exp(-0.7 * T) + 0.02 * np.sin(30 * T) + 0.5


def gaps(p: Any, y: Any) -> Any:
    return p[0] * np.exp(-p[1] * T) + p[2] - y


def slopes(p: Any, y: Any) -> Any:
    e = np.exp(-p[1] * T)
    return np.stack([e, -p[0] * T * e, np.ones_like(T)], axis=1)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"x_scale": "jac", "xtol": 1e-12},
        {"loss": "huber", "x_scale": [2.0, 1.0, 0.5]},
        {"loss": "arctan", "ftol": None},
        {"loss": "soft_l1", "max_nfev": 3},
        {"loss": "cauchy", "gtol": 1e-3, "max_nfev": 1},
    ],
)
def test_results_are_those_of_scipy(options: Any) -> None:
    options = {"f_scale": 0.05} | options
    got = tj.jit(lambda y: so.least_squares(gaps, [1.0, 1.0, 0.0], args=(y,), **options))(SEEN)
    want = so.least_squares(gaps, [1.0, 1.0, 0.0], slopes, args=(SEEN,), **options)
    assert type(got) is type(want) and list(got) == list(want)
    for key, value in want.items():
        assert type(got[key]) is type(value), key
        if isinstance(value, (int, str)):
            assert got[key] == value, key
        else:
            np.testing.assert_allclose(got[key], value, rtol=1e-6, atol=1e-9, err_msg=key)


#: As SciPy's documentation of `least_squares` has them.
FORMULAS = {
    "soft_l1": lambda z: 2 * ((1 + z) ** 0.5 - 1),
    "huber": lambda z: z if z <= 1 else 2 * z**0.5 - 1,
    "cauchy": math.log1p,
    "arctan": math.atan,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_losses_and_their_two_derivatives(name: str) -> None:
    loss = LOSSES[name]
    z, h = np.array([0.2, 0.7, 0.95, 1.05, 1.6, 9.0]), 1e-5
    np.testing.assert_allclose(loss.value(z), [FORMULAS[name](v) for v in z], rtol=1e-14)
    for f, slope in ((loss.value, loss.first), (loss.first, loss.second)):
        np.testing.assert_allclose(slope(z), (f(z + h) - f(z - h)) / (2 * h), rtol=1e-7, atol=1e-9)
    assert set(LOSSES) == {"linear", *FORMULAS}


def test_steps_that_fail_and_matrices_without_full_rank() -> None:
    """Residuals that are no numbers far away; fewer residuals than unknowns; a column of zeros."""

    def far(p: Any, c: Any) -> Any:
        return np.stack([np.log(p[0]) - c, p[1] * p[0] - 1])

    def wide(p: Any, c: Any) -> Any:
        return np.stack([p[0] * p[1] - c, p[2] + p[3] ** 2])

    def flat(p: Any, c: Any) -> Any:
        return np.stack([p[0] - c, (p[0] + 1) ** 2])

    for f, start in ((far, [30.0, 1.0]), (wide, [1.0, 2.0, 3.0, 4.0]), (flat, [0.0, 1.0]), (flat, [0.0])):
        with np.errstate(all="ignore"):
            want = so.least_squares(f, start, tj.jit(tj.jacobian(f)), args=(-2.0,))
        got = tj.jit(lambda c, f=f, start=start: so.least_squares(f, start, args=(c,)))(-2.0)
        np.testing.assert_allclose(got.x, want.x, rtol=1e-5, atol=1e-6)
        assert (got.nfev, got.status) == (want.nfev, want.status)


def test_derivatives_and_lanes() -> None:
    def rate(y: Any) -> Any:
        return so.least_squares(gaps, [1.0, 1.0, 0.0], args=(y,), xtol=1e-13, ftol=1e-13, gtol=1e-13).x[1]

    slope = tj.jit(tj.grad(rate))(SEEN)
    step = 1e-4 * np.eye(30)[4]
    np.testing.assert_allclose(slope[4], (rate(SEEN + step) - rate(SEEN - step)) / 2e-4, rtol=1e-4)
    many = np.stack([SEEN, SEEN * 1.1])
    np.testing.assert_allclose(tj.jit(tj.vmap(rate))(many), [rate(y) for y in many], rtol=1e-6)


@pytest.mark.parametrize("shape", [(6, 1), (6, 4), (3, 5), (30, 17)])
def test_singular_values(shape: Any) -> None:
    a = np.random.default_rng(0).normal(size=shape) * 10.0 ** -np.arange(shape[1])
    s, v = tj.jit(decomposed)(a)
    order = np.argsort(-s)
    _, want, _ = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(s[order][: want.size], want, rtol=1e-6, atol=1e-14 * want[0])
    np.testing.assert_allclose(v @ v.T, np.eye(len(v)), atol=1e-12)


def test_residuals_that_are_no_numbers() -> None:
    with pytest.raises(tj.errors.SolverFailedError, match="not finite in the initial point"):
        tj.jit(lambda c: so.least_squares(lambda p: np.sqrt(p - c), [0.0]).x[0])(1.0)


def test_wrong_options_are_refused_as_scipy_does() -> None:
    for options in ({"max_nfev": 0}, {"x_scale": "jacobian"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            tj.jit(lambda y, o=options: so.least_squares(gaps, [1.0, 1.0, 0.0], args=(y,), **o).x)(SEEN)
    with pytest.raises(ValueError, match="c1"):
        tj.jit(lambda c: so.minimize(lambda x: (x - c) @ (x - c), [0.0], options={"c1": 0.95}).x)(1.0)
