"""np.r_ and np.c_ of traced arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArgumentError


def test_r_and_c() -> None:
    a, m = np.arange(1.0, 4.0), np.ones((3, 2))
    for f in (
        lambda a, m: np.r_[a, 1.0, a[0], 0:3],
        lambda a, m: np.r_[m, m],
        lambda a, m: np.c_[a, m, a],
        lambda a, m: np.c_[a],
    ):
        np.testing.assert_array_equal(tj.jit(f)(a, m), f(a, m), strict=True)
    np.testing.assert_array_equal(tj.grad(lambda a: np.r_[a, a[0] ** 2].sum())(a), [3.0, 1.0, 1.0])
    with pytest.raises(ArgumentError):
        tj.jit(lambda a: np.r_["0,2", a, a])(a)
