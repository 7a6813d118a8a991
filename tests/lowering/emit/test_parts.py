"""Long reductions on a device: each block of a grid takes a part, then one block what the parts came to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.lowering.cuda.lowering import first, on_device
from tests.lowering.cuda.test_planner import kinds

RNG = np.random.default_rng(0)
#: One part, a part of one element, exactly 17 parts, more parts than lanes (257 of 8192 elements).
SIZES = [65_536, 8 * 8192 + 1, 17 * 8192, 257 * 8192 - 5]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("n", "dtype"), [(SIZES[3], np.float64), (SIZES[1], np.float32), (SIZES[2], np.complex128)]
)
def test_long_sums_are_as_exact_as_their_dtype(n: int, dtype: Any) -> None:
    x = (RNG.normal(size=n) * 10.0 ** RNG.uniform(-4, 4, n)).astype(dtype)
    program, (got,) = on_device(np.sum, x)
    assert kinds(program.plan.steps) == ["rows", "block"]
    exact, scale = (math.fsum(a.astype(float)) for a in (np.real(x), np.abs(np.real(x))))
    assert abs(got.item().real - exact) <= np.finfo(dtype).eps * (abs(exact) + scale / 16)
    if dtype is not np.complex128:
        exact = math.fsum(np.abs(x).astype(float))
        assert abs(on_device(np.sum, np.abs(x))[1][0].item() - exact) <= np.finfo(dtype).eps * exact


def test_parts_lose_no_small_ones() -> None:
    x = np.full(40 * 8192, 2.0**-60)
    x[0] = 1.0
    got = on_device(np.sum, x)[1][0].item()
    assert abs(got - math.fsum(x)) <= 8192 * 2.0**-60 + 2.0**-53 and got > 1 + 2.0**-42


@pytest.mark.parametrize(
    ("n", "functions"), [(SIZES[0], (np.argmin, np.max)), (SIZES[1], (np.argmax,)), (SIZES[3], (np.min,))]
)
def test_extremes_are_found_where_they_are_first(n: int, functions: Any) -> None:
    x = RNG.integers(-50, 50, n).astype(float)
    for f in functions:
        program, (got,) = on_device(f, x)
        assert got.item() == f(x) and kinds(program.plan.steps) == ["rows", "block"]
        x[n // 2] = x[n // 2 + 9] = np.nan
        again = program(first().array(x))[0].get().item()
        assert again == f(x) or (np.isnan(again) and np.isnan(f(x)))
        x[n // 2] = x[n // 2 + 9] = 0


def test_infinities_and_signed_zeros() -> None:
    x = np.full(70_000, -0.0)
    program, (got,) = on_device(np.sum, x)
    assert math.copysign(1, got.item()) == math.copysign(1, np.sum(x))
    for n, y in ((3, np.inf), (60_000, -np.inf)):
        x[n] = y
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(program(first().array(x))[0].get(), np.sum(x))


@pytest.mark.parametrize(
    ("name", "dtype"), [("sum", np.int8), ("prod", np.int64), ("min", np.uint16), ("any", np.bool_)]
)
def test_reductions_of_integers(name: str, dtype: Any) -> None:
    f, x = getattr(np, name), RNG.integers(1 if name == "prod" else 0, 2, SIZES[1]).astype(dtype)
    got = on_device(f, x)[1][0]
    assert got.dtype == f(x).dtype and got.item() == f(x)


def test_parts_of_arrays_in_another_order() -> None:
    x, y = RNG.normal(size=(300, 900)), RNG.normal(size=(900, 300))
    f = lambda x, y: (x.T * y).sum()
    (got,) = on_device(f, x, y)[1]
    np.testing.assert_allclose(got, f(x, y), rtol=1e-13)
    g = lambda x, y: (x.T * y).argmax()
    assert on_device(g, x, y)[1][0].item() == g(x, y)
