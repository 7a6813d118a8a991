"""Clough and Tocher's interpolant: SciPy's values, and derivatives by differences of exact slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si

import tracejit as tj
from tests.scipy.beside import check_slope, check_values
from tracejit.errors import SolverOptionError

RNG = np.random.default_rng(6)
P = RNG.uniform(size=(14, 2))
Z = np.sin(3 * P[:, 0]) + P[:, 1] ** 2
AT = RNG.uniform(0.2, 0.8, (9, 2))
AT[0] = 3.0
EXACT = {"tol": 1e-13, "maxiter": 5000}


def of(p: Any, z: Any, at: Any) -> Any:
    return np.nan_to_num(si.CloughTocher2DInterpolator(p, z, **EXACT)(at))


def test_values() -> None:
    check_values(lambda p, z, at: si.CloughTocher2DInterpolator(p, z)(at), (P, Z, AT), 1e-10, 1e-12)
    columns = np.stack([Z, Z**2], 1)
    check_values(
        lambda z, at: si.CloughTocher2DInterpolator(P, z + 1j * z**2, 2.0)(at[:, 0], at[:, 1]),
        (columns, AT),
        1e-10,
        1e-12,
    )
    check_values(lambda z: si.griddata(P, z, AT, "cubic", fill_value=0.0), (Z,), 1e-10, 1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", range(3))
def test_slopes(n: int) -> None:
    def f(x: Any) -> Any:
        return of(*(x if i == n else v for i, v in enumerate((P, Z, AT))))

    check_slope(f, ((P, Z, AT)[n],), (0.01, 0.003), 1e-4, 1e-5, 1e-7)


def test_refusals() -> None:
    with pytest.raises(SolverOptionError):
        tj.grad(lambda z: si.CloughTocher2DInterpolator(P, z, rescale=True)(AT).sum())(Z)
    with pytest.raises(ValueError, match="2-D"):
        tj.grad(lambda z: si.CloughTocher2DInterpolator(np.ones((14, 3)), z)(AT).sum())(Z)
    with pytest.raises(ValueError, match="Unknown interpolation method"):
        tj.grad(lambda z: si.griddata(np.ones((14, 3)), z, AT, "cubic").sum())(Z)
