"""Kernels of extrema beside NumPy's, to the bit, with constants on either side."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj

VALUES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-7, 3.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("fn", [np.maximum, np.minimum])
def test_extrema(fn: Any, dtype: Any) -> None:
    x, y = (a.ravel() for a in np.meshgrid(VALUES, VALUES))
    x, y = x.astype(dtype), y.astype(dtype)
    kept = ~(np.isnan(x) | np.isnan(y))
    got, want = tj.jit(fn)(x, y), fn(x, y)
    np.testing.assert_array_equal(np.isnan(got), ~kept)
    np.testing.assert_array_equal(got[kept], want[kept])
    if dtype == np.float64:  # signs of zeros, too: NumPy's own loops differ in them by dtype and length
        np.testing.assert_array_equal(np.signbit(got[kept]), np.signbit(want[kept]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("c", [0.0, -0.0, 1.0, np.nan])
@pytest.mark.parametrize("fn", [np.maximum, np.minimum])
def test_extrema_beside_a_constant(fn: Any, c: float, dtype: Any) -> None:
    x, c = np.array(VALUES, dtype), dtype(c)
    for f in (lambda v: fn(v, c), lambda v: fn(c, v)):
        np.testing.assert_array_equal(tj.jit(f)(x), f(x))
    pairs = np.array([fn(v, c) for v in x])
    np.testing.assert_array_equal(tj.jit(lambda v: fn(v, np.full(x.shape, c)))(x), pairs)


@pytest.mark.parametrize(
    "fn", [lambda x: np.maximum(x, 1e-12), lambda x: np.minimum(2.5, x), lambda x: np.clip(x, -1, 3)]
)
def test_one_instruction_beside_a_constant(fn: Any) -> None:
    """No comparison for NaN: the instruction gives it, if it is the second operand."""
    assembly = tj.jit(fn).lower(np.ones(100)).as_text("asm")
    if "ymm" not in assembly and "zmm" not in assembly:
        pytest.skip("not an x86 processor with wide vectors")
    assert re.search(r"v(max|min)pd", assembly)
    assert "vcmp" not in assembly
