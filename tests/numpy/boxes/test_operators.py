"""Operators: comparison with None, powers of booleans."""

from __future__ import annotations

import numpy as np

import tracejit as tj


def test_comparison_with_none_is_elementwise() -> None:
    x = np.arange(3.0)
    for f in (lambda x: x == None, lambda x: x != None):  # noqa: E711
        np.testing.assert_array_equal(tj.jit(f)(x), f(x), strict=True)
    assert tj.jit(lambda x: 1 if x[0] == None else 2)(x) == 2  # noqa: E711


def test_the_square_of_booleans_is_int8() -> None:
    b = np.array([True, False])
    for f in (lambda b: b**2, lambda b: b**3, lambda b: b[0] ** 2, lambda b: np.power(b, 2)):
        assert tj.jit(f)(b).dtype == f(b).dtype
