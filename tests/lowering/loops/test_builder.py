"""The builder's control flow on scalars and its operations on bits, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.native import apply
from tracejit.lowering.loops.nodes import Const


def test_iterate() -> None:
    def collatz(k: Any, x: Any) -> Any:
        def step(v: Any, n: Any) -> Any:
            even = k.eq(k.and_(v, 1), 0)
            return k.select(even, k.int_op("ashr", v, 1), v * 3 + 1), n + 1

        return k.iterate((x, k.const(0, np.int64)), lambda v, n: k.gt(v, 1), step)[1]

    assert apply(collatz, np.array([1, 2, 6, 27])).tolist() == [0, 1, 8, 111]


def test_iterate_on_complex_numbers() -> None:
    def square_until_large(k: Any, x: Any) -> Any:
        z = k.pair(x, k.const(1.0, x.dtype))
        return k.iterate((z,), lambda z: k.lt(z.re * z.re + z.im * z.im, 100.0), lambda z: (z * z,))[0].re

    got = apply(square_until_large, np.array([1.5, 0.5]))
    want = []
    for x in (1.5, 0.5):
        z = complex(x, 1)
        while abs(z) ** 2 < 100:
            z *= z
        want.append(z.real)
    np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint64])
def test_bit_operations(dtype: Any) -> None:
    width = 8 * np.dtype(dtype).itemsize
    x = np.array([0, 1, 2, 12, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    words = [int(v) & ((1 << width) - 1) for v in x]
    assert apply(lambda k, v: k.bit_op("popcount", v), x).tolist() == [w.bit_count() for w in words]
    assert apply(lambda k, v: k.bit_op("clz", v), x).tolist() == [width - w.bit_length() for w in words]
    lowest = [(w & -w).bit_length() - 1 if w else width for w in words]
    assert apply(lambda k, v: k.bit_op("ctz", v), x).tolist() == lowest


@pytest.mark.parametrize("value", [0.0, 2.0, np.nan])
def test_comparisons_of_constants_are_known(value: float) -> None:
    """Derivatives ask which factors are zero: for constants nothing is left to do in the loop."""

    def kernel(k: Any, x: Any) -> Any:
        c = k.const(value, x.dtype)
        known = [k.compare(p, c, 2.0) for p in ("eq", "ne", "lt", "le", "gt", "ge")]
        assert all(isinstance(b, Const) for b in known)
        assert k.or_(known[0], k.lt(x, 0)) is not known[0] or value == 2.0
        return sum((k.cast(b, x.dtype) for b in known[1:]), k.cast(known[0], x.dtype)) + k.select(
            known[0], x, 0.0
        )

    v = np.float64(value)
    want = sum((v == 2, v != 2, v < 2, v <= 2, v > 2, v >= 2)) + (0.5 if v == 2 else 0)
    assert apply(kernel, np.array([0.5])).tolist() == [want]
