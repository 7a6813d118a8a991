"""Ufuncs of times against NumPy's, for all kinds of operands."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from tests.numpy.times.checking import check, times

BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "divmod", "minimum", "maximum",
    "fmin", "fmax", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
]  # fmt: skip
UNARY = ["negative", "positive", "absolute", "sign", "isnat", "isnan", "isfinite", "isinf"]
KINDS = ["m8[h]", "M8[D]", "m8[15m]", "M8[ms]", "i8", "f8", "i4", "?"]


def _operand(seed: int, dtype: str) -> np.ndarray:
    if dtype == "f8":
        rng = np.random.default_rng(seed)
        numbers = rng.normal(size=40) * 10.0 ** rng.integers(-3, 25, 40)
        return np.where(rng.random(40) < 0.1, np.nan, numbers)
    x = times(seed, dtype if dtype[0] in "mM" else "i8")
    return x if dtype[0] in "mM" else x.astype(dtype)


@pytest.mark.sample(29)
@pytest.mark.parametrize(
    ("name", "left", "right"),
    [(n, a, b) for n in BINARY for a, b in itertools.product(KINDS, KINDS) if a[0] in "mM" or b[0] in "mM"],
)
def test_binary_ufuncs_are_numpys(name: str, left: str, right: str) -> None:
    seed = zlib.crc32(f"{name} {left} {right}".encode())
    f, x, y = getattr(np, name), _operand(seed, left), _operand(seed + 1, right)
    check(lambda x, y: f(x, y), x, y)
    check(lambda x, y: f(x, y), x, y[3])
    constant = y[5]
    check(lambda x: f(x, constant), x)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["m8[s]", "M8[s]"])
def test_unary_ufuncs_are_numpys(name: str, dtype: str) -> None:
    check(lambda x: getattr(np, name)(x), times(3, dtype))


def test_numbers_of_python_count_units() -> None:
    check(
        lambda d, m: (d + 1, 2 * m, m * 2.5, m / 2, m // 2, d - 7, m > 1),
        times(4, "M8[D]"),
        times(5, "m8[h]"),
    )
    check(lambda d: d > 1, times(4, "M8[D]"))
