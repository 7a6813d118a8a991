"""Operands at which ops are compared with NumPy: edge values of every dtype, in all pairs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tracejit import dtypes

FLOATS = [np.float16, np.float32, np.float64]
COMPLEXES = [np.complex64, np.complex128]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTEGERS = SIGNED + UNSIGNED

_EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 1e-7, 88.0, np.inf, -np.inf, np.nan]


def edges(dtype: Any) -> np.ndarray:
    """Zeros, ones, extremes, infinities and NaN of `dtype`."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return np.array([False, True])
    if d.kind in "iu":
        info = np.iinfo(d)
        small = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(small + ([-1, -2, -3, -7] if d.kind == "i" else []), d)
    if d.kind == "c":
        parts = [0.0, -0.0, 1.0, -1.5, 2.5, -3.0]
        return np.array([complex(a, b) for a in parts for b in parts], d)
    return np.array(_EDGES, np.float64).astype(d)


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edge values."""
    xs, ys = zip(*itertools.product(edges(dtype), repeat=2), strict=True)
    return np.array(xs, dtype), np.array(ys, dtype)


def operands(arity: int, dtype: Any) -> tuple[np.ndarray, ...]:
    return (edges(dtype),) if arity == 1 else pairs(dtype)


def same(a: Any, b: Any, ulps: float = 0) -> None:
    """Equal dtypes and values; the same bits for ulps = 0 but for the sign of NaN."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    if a.dtype.kind not in "fc":
        np.testing.assert_array_equal(a, b)
        return
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
    for p, q in parts:
        np.testing.assert_array_equal(np.isnan(p), np.isnan(q))
        if ulps:
            tiny = np.finfo(p.dtype).smallest_subnormal
            np.testing.assert_allclose(p, q, rtol=ulps * np.finfo(p.dtype).eps, atol=4 * tiny)
        else:
            np.testing.assert_array_equal(p, q)
            np.testing.assert_array_equal(np.signbit(p)[~np.isnan(p)], np.signbit(q)[~np.isnan(q)])


BF16 = dtypes.bfloat16
