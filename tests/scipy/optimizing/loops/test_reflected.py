"""Least squares between bounds as a native loop: SciPy's steps, results and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj

T = np.linspace(0, 3, 25)
DATA = 2.0 * np.exp(-0.7 * T) + 0.3 + 0.05 * np.sin(17 * T)


def decay(p: Any, data: Any) -> Any:
    return p[0] * np.exp(-p[1] * T) + p[2] - data


def valley(p: Any, c: Any) -> Any:
    return np.array([10 * (p[1] - p[0] ** 2), c - p[0]])


BOXES = [
    ([0, 0, 0], [10, 10, 10]),
    ([0, 0.9, -np.inf], [1.5, np.inf, np.inf]),
    ([-1, 0.1, 0.35], [3, 2, 0.36]),
]


def solved(data: Any, box: Any, **options: Any) -> Any:
    return so.least_squares(decay, [1.0, 1.0, 0.355], args=(data,), bounds=box, **options)


@pytest.mark.sample(12)
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize(
    "options",
    [{}, {"x_scale": "jac"}, {"loss": "soft_l1", "f_scale": 0.1}, {"x_scale": [1, 0.1, 3], "ftol": 1e-12}],
)
def test_steps_are_those_of_scipy(box: Any, options: Any) -> None:
    got = tj.jit(lambda d: solved(d, box, **options))(DATA)
    slopes = lambda p, d: np.stack([np.exp(-p[1] * T), -p[0] * T * np.exp(-p[1] * T), np.ones(25)], axis=1)
    want = solved(DATA, box, jac=slopes, **options)
    assert list(got) == list(want) and (got.nfev, got.njev, got.status) == (want.nfev, want.njev, want.status)
    np.testing.assert_allclose(got.x, want.x, rtol=1e-7)
    np.testing.assert_allclose(got.optimality, want.optimality, rtol=1e-3, atol=1e-9)
    assert got.active_mask.tolist() == want.active_mask.tolist() and got.message == want.message


def test_reflections() -> None:
    """From next to a bound, along a curved valley."""
    for start in ([-1.9, 1.0], [0.5, -0.9], [-1.0, 1.45]):
        run = lambda c, s=start: so.least_squares(valley, s, args=(c,), bounds=([-2, -1], [0.8, 1.5]))
        got, want = tj.jit(run)(1.0), run(1.0)
        np.testing.assert_allclose(got.x, want.x, rtol=1e-6)
        assert abs(got.nfev - want.nfev) <= 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("box", BOXES)
def test_derivatives(box: Any) -> None:
    f = lambda d: solved(d, box, ftol=1e-13, xtol=1e-13, gtol=1e-13).x
    direction = np.cos(T)
    near = (f(DATA + 1e-3 * direction) - f(DATA - 1e-3 * direction)) / 2e-3
    np.testing.assert_allclose(tj.jit(tj.jacobian(f))(DATA) @ direction, near, rtol=1e-3, atol=1e-5)
    loose = lambda d: solved(d, box).x  # where the end is less near to the bound
    np.testing.assert_allclose(tj.jvp(loose, (DATA,), (direction,))[1], near, rtol=2e-2, atol=1e-3)
    edge = tj.jit(tj.grad(lambda h: so.least_squares(lambda x: x - 3, [0.5], bounds=(0, h)).x[0]))(2.0)
    assert edge == 1.0


def test_fits_of_curves_and_failures() -> None:
    model = lambda t, a, b: a * np.exp(-b * t)
    run = lambda d: so.curve_fit(model, T, d, [1.0, 1.0], bounds=(0, [1.8, 3]))
    got, want = tj.jit(run)(DATA), run(DATA)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5)
    for bad in (([2, 0, 0], [10, 10, 10]), ([2, 3, 0], [1, 4, 1])):
        with pytest.raises(ValueError, match=r"Initial guess|lower bound"):
            tj.jit(lambda d, b=bad: solved(d, b).x, fallback=True)(DATA)
