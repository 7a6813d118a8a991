"""Comparisons of small integers with what is known before the loop, against NumPy."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import tracejit as tj

ORDERS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
NEAR = [
    -40_000,
    -32_769,
    -32_768,
    -129,
    -128,
    -1,
    0,
    1,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    65_536,
    2**63 - 1,
    -(2**63),
]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_small_integers_compare_as_large_ones(dtype: str) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, info.min + 1, 0, 1, 7, info.max // 2, info.max - 1, info.max] * 40, dtype)

    @tj.jit
    def both_ways(a: Any, n: Any) -> Any:
        return [(f(a.astype(np.int64), n), f(n, a.astype(np.int64))) for f in ORDERS]

    for n in NEAR:
        for f, (got, mirrored) in zip(ORDERS, both_ways(a, np.int64(n)), strict=True):
            np.testing.assert_array_equal(got, f(a.astype(np.int64), n))
            np.testing.assert_array_equal(mirrored, f(n, a.astype(np.int64)))


def test_they_are_compared_in_twice_their_bits() -> None:
    text = tj.jit(lambda a, n: a > n).lower(np.zeros(100, np.uint8), np.int64(3)).as_text("loops")
    assert "cast(i16" in text


def test_pixels_that_choose_from_a_table_need_no_check() -> None:
    image, table = np.arange(256, dtype=np.uint8).reshape(16, 16), np.arange(256.0)[::-1].copy()

    def chosen(table: Any, image: Any) -> Any:
        counts = np.zeros(256, np.int64)
        np.add.at(counts, image.ravel(), 1)
        return table[image], counts

    assert "fail" not in tj.jit(chosen).lower(table, image).as_text("loops")
    for got, want in zip(tj.jit(chosen)(table, image), chosen(table, image), strict=True):
        np.testing.assert_array_equal(got, want)
    for size in (255, 128):  # here a pixel may be outside
        with pytest.raises(IndexError, match="out of bounds"):
            tj.jit(lambda t, i: t[i])(table[:size], image)
    signed = image.astype(np.int8)
    np.testing.assert_array_equal(tj.jit(lambda t, i: t[i])(table, signed), table[signed])
