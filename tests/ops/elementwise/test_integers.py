"""Common divisors and counts of bits, at every integer dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.ops.samples import INTEGERS, edges, pairs
from tracejit import lax, tree
from tracejit.ops.elementwise import integers as it

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("f", [np.gcd, np.lcm], ids=lambda f: f.__name__)
def test_gcd_and_lcm(f: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    high = min(np.iinfo(dtype).max, 10**6)
    x, y = (np.concatenate([e, rng.integers(1, high, 200).astype(dtype)]) for e in pairs(dtype))
    np.testing.assert_array_equal(tj.jit(lambda a, b: f(a, b))(x, y), f(x, y))
    np.testing.assert_array_equal(tj.vmap(lambda a, b: f(a, b))(x, y), f(x, y))


def test_the_slowest_gcd() -> None:
    """Neighbours among the Fibonacci numbers take Euclid's algorithm longest."""
    a, b = 7540113804746346429, 4660046610375530309
    assert tj.jit(np.gcd)(np.int64(a), np.int64(b)) == math.gcd(a, b) == 1
    assert tj.jit(lambda x: np.gcd(x, 12))(np.array([8, 0, -18])).tolist() == [4, 12, 6]
    assert tj.jit(lambda x: np.gcd(x[:, None], x))(np.array([8, 12])).tolist() == [[8, 4], [4, 12]]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_of_bits(dtype: Any) -> None:
    width = 8 * np.dtype(dtype).itemsize
    x = np.concatenate([edges(dtype), (1 << np.arange(width - 1, dtype=object)).astype(dtype)])
    words = [int(v) & ((1 << width) - 1) for v in x]
    want = {
        "population_count": [w.bit_count() for w in words],
        "clz": [width - w.bit_length() for w in words],
        "ctz": [(w & -w).bit_length() - 1 if w else width for w in words],
        "bitwise_count": [abs(int(v)).bit_count() for v in x],
    }
    for name, numbers in want.items():
        op = getattr(it, name)
        for got in (op(x), tj.jit(lambda v, op=op: tj.tracing.wrap(op(tj.tracing.to_raw(v))))(x)):
            assert got.tolist() == numbers, name
            assert got.dtype == (np.uint8 if name == "bitwise_count" else dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shift_right_logical(dtype: Any) -> None:
    width = 8 * np.dtype(dtype).itemsize
    x, n = (v.ravel() for v in np.meshgrid(edges(dtype), np.arange(width + 2).astype(dtype)))
    want = [(int(a) & ((1 << width) - 1)) >> int(s) if s < width else 0 for a, s in zip(x, n, strict=True)]
    for got in (lax.shift_right_logical(x, n), tj.jit(lax.shift_right_logical)(x, n)):
        assert [int(g) & ((1 << width) - 1) for g in got] == want and got.dtype == dtype
    if np.dtype(dtype).kind == "i":
        assert tj.jit(lax.shift_right_logical)(x[:3], np.full(3, -1, dtype)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("code", "bBhHiIlL")
def test_division_by_powers_of_two_rounds_down(code):
    """They are shifts and masks."""
    dtype = np.dtype(code)
    info = np.iinfo(dtype)
    x = np.array([info.min, info.min + 1, info.max, info.max - 1, *range(9), 63, 64, 65], dtype)
    x = np.concatenate([x, -x[4:]]) if dtype.kind == "i" else x
    exponents = (0, 1, 3, 8 * dtype.itemsize - 2)

    def f(x):
        return [g(x, dtype.type(2**e)) for e in exponents for g in (np.floor_divide, np.remainder, np.divmod)]

    for got, wanted in zip(tree.leaves(tj.jit(f)(x)), tree.leaves(f(x)), strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
