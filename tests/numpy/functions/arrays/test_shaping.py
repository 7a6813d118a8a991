"""Shapes: what is a view and what is a copy, exactly as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

LAYOUTS = {
    "C": ((3, 4), (32, 8)),
    "Fortran": ((3, 4), (8, 24)),
    "backwards": ((3, 1), (-8, 8)),
    "a line backwards": ((6,), (-8,)),
    "every second": ((6,), (16,)),
    "a column": ((3, 1), (32, 8)),
    "permuted": ((2, 4, 3), (96, 8, 32)),
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ravel_is_a_view_exactly_where_numpys_is(layout: str, order: str) -> None:
    shape, strides = LAYOUTS[layout]

    def fresh() -> Any:
        return np.lib.stride_tricks.as_strided(np.arange(80.0)[40:], shape, strides)

    def write(a: Any) -> Any:
        flat = np.ravel(a, order)
        flat[1] -= flat[0]
        return flat

    for f in (write, lambda a: write(a[1:]), lambda a: write(a[::-1])):
        mine, numpys = fresh(), fresh()
        np.testing.assert_array_equal(tj.jit(f)(mine), f(numpys))
        np.testing.assert_array_equal(mine, numpys)
