"""The fast Hankel transform on traced values, against SciPy's, and derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

import tracejit as tj
from tracejit.errors import ArgumentError
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_values(name: str) -> None:
    f = getattr(scipy.fft, name)
    for shape, options in (
        ((2, 8), {}),
        ((9,), {"offset": 0.3}),
        ((8,), {"bias": 0.2}),
        ((2, 9), {"offset": 0.1, "bias": -0.3}),
    ):
        for kind in (np.float64, np.float32):
            x = RNG.normal(size=shape).astype(kind)
            got = tj.jit(lambda x, o=options: f(x, 0.1, 0.7, **o))(x)
            want = f(x, 0.1, 0.7, **options)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-10 if kind is np.float64 else 1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_derivatives(name: str) -> None:
    f = getattr(scipy.fft, name)

    def total(a: Any, step: Any) -> Any:
        return np.sum(f(a, step, 0.7, bias=0.1) ** 2)

    check_grads(total, (RNG.normal(size=6), np.float64(0.9)), order=1, eps=1e-6)


def test_a_singular_transform_is_pythons() -> None:
    x = RNG.normal(size=8)
    with pytest.raises(ArgumentError, match="singular"):
        tj.jit(lambda x: scipy.fft.fht(x, 0.1, -1.0))(x)
