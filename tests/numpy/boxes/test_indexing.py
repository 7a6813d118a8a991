"""What is assigned into a traced array is converted by NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        (np.uint8, 300, OverflowError),
        (int, np.nan, ValueError),
        (float, 1j, TypeError),
        (int, None, TypeError),
    ],
)
@pytest.mark.parametrize("index", [0, slice(0, 2), np.array([True, False, True])])
def test_python_values_that_do_not_fit_are_refused(dtype: Any, value: Any, error: Any, index: Any) -> None:
    def f(a: Any) -> None:
        a[index] = value

    for run in (f, tj.jit(f)):
        with pytest.raises(error):
            run(np.zeros(3, dtype))


def test_python_values_that_fit() -> None:
    def f(a: Any) -> Any:
        a[0], a[1], a[2] = 1.7, True, "3.5"
        return a

    for dtype in (float, np.float32):
        np.testing.assert_array_equal(tj.jit(f)(np.zeros(3, dtype)), f(np.zeros(3, dtype)))


def test_values_for_what_a_mask_of_inner_axes_selects() -> None:
    def f(x: Any, mask: Any, new: Any) -> Any:
        x[:, mask] = new
        return x

    rng = np.random.default_rng(0)
    for shape, masked in (((3, 5), (5,)), ((3, 5, 2), (5,)), ((3, 4, 2), (4, 2)), ((2, 3, 4, 2), (3, 4))):
        x, mask = rng.normal(size=shape), rng.random(masked) < 0.6
        selected = x[:, mask].shape
        for new in (rng.normal(size=selected), rng.normal(size=selected[1:]), 1.5):
            np.testing.assert_array_equal(tj.jit(f)(x.copy(), mask, new), f(x.copy(), mask, new))
