"""np.isin."""

from __future__ import annotations

import numpy as np

import tracejit as tj


def test_isin() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for f in (
        lambda x: np.isin(x, [1.0, 4.0]),
        lambda x: np.isin([1, 9], x, invert=True),
        lambda x: np.isin(x[0, 0], x),
    ):
        np.testing.assert_array_equal(tj.jit(f)(x), f(x))
