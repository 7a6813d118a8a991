"""Filters and windows that are chosen by values: SciPy's values, and derivatives by differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj
from tests.scipy.beside import check_slope, check_values

BANDS, GAINS = np.array([0.1, 0.3, 0.5, 0.9]), np.array([1.0, 0.8, 0.2, 0.1])
W = ss.windows

CASES: dict[str, tuple[Any, ...]] = {
    "firls": (lambda b, d: ss.firls(9, b, d), BANDS, GAINS),
    "firls, weights": (lambda d, w: ss.firls(7, BANDS * 10, d, weight=w, fs=20.0), GAINS, np.array([1, 3.0])),
    "tukey": (lambda a: W.tukey(9, a), 0.3),
    "tukey, periodic": (lambda a: ss.get_window(("tukey", a), 8), 0.77),
    "tukey, wide": (lambda a: W.tukey(9, a), 1.2),
    "tukey, none": (lambda a: W.tukey(9, a), -1.0),
    "kaiser": (lambda b: ss.get_window(("kaiser", b), 8), 3.0),
    "gaussian": (lambda s: W.gaussian(9, s), 2.0),
    "general_cosine": (lambda c: W.general_cosine(9, c), GAINS),
    "exponential": (lambda t: W.exponential(9, None, t), 1.5),
    "taylor": (lambda s: W.taylor(9, 4, s), 30.0),
    "dpss": (lambda n: W.dpss(9, n), 2.5),
    "chebwin": (lambda a: W.chebwin(9, a), 60.0),
    "kaiser_beta": (ss.kaiser_beta, 60.0),
    "iircomb": (lambda q: ss.iircomb(0.25, q), 30.0),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, *args = CASES[name]
    check_values(f, args, rtol=1e-9, atol=1e-12)
    check_slope(f, args, (0.03, 0.01), 1e-5, rtol=1e-5, atol=1e-7)


def test_many_at_once() -> None:
    many = np.stack([GAINS, GAINS[::-1]])
    got = tj.jit(tj.vmap(lambda d: ss.firls(5, BANDS, d)))(many)
    np.testing.assert_allclose(got, [ss.firls(5, BANDS, d) for d in many], rtol=1e-9)


def test_failures() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        for bands, gains, told in (
            ([0.1, 0.5, 0.3, 1.0], GAINS, "overlap"),
            ([0.3, 0.1, 0.5, 0.9], GAINS, "monotonically"),
            (BANDS, -GAINS, "non-negative"),
        ):
            with pytest.raises(ValueError, match=told):
                tj.jit(lambda d, b=bands: ss.firls(5, b, d), fallback=True)(gains)
    with pytest.raises(ValueError, match="odd"):
        tj.jit(lambda d: ss.firls(4, BANDS, d))(GAINS)
    with pytest.raises(ValueError, match="one entry per"):
        tj.jit(lambda d: ss.firls(5, BANDS[:2], d))(GAINS)
    with pytest.raises(ValueError, match="non-negative integer"):
        tj.jit(lambda a: W.tukey(-1, a))(0.3)
