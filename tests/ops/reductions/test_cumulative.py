"""Running reductions: NumPy's values, and derivatives with zeros and ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives, vjp, vmap
from tests.ops.samples import FLOATS, INTEGERS, same
from tracejit.errors import AxisError
from tracejit.ir.avals import Aval
from tracejit.ops.reductions import cumulative as cu

TABLE = [
    (cu.cumsum, np.add),
    (cu.cumprod, np.multiply),
    (cu.cummax, np.maximum),
    (cu.cummin, np.minimum),
]
IDS = [f.__name__ for f, _ in TABLE]
POINTS = (np.random.default_rng(3).permutation(20) * 0.13 - 1.15).reshape(4, 5)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_, np.complex128])
@pytest.mark.parametrize(("op", "ufunc"), TABLE, ids=IDS)
def test_values(op: Any, ufunc: Any, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(0, 4, (3, 4)).astype(dtype)
    for axis in (0, 1):
        same(op(x, axis=axis), ufunc.accumulate(x, axis=axis, dtype=dtype))
        backwards = np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=dtype), axis)
        same(op(x, axis=axis, reverse=True), backwards)


def test_types() -> None:
    x = Aval((2, 3), np.dtype("f8"))
    assert cu.cumsum.op.type(x, axis=1, reverse=False) == x
    with pytest.raises(AxisError):
        cu.cumsum.op.type(x, axis=2, reverse=False)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", [f for f, _ in TABLE], ids=IDS)
def test_derivatives(op: Any, axis: int, reverse: bool) -> None:
    check_derivatives(lambda x: op(x, axis=axis, reverse=reverse), [POINTS], np.random.default_rng(1), 1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_products_with_zeros(reverse: bool) -> None:
    x = np.array([2.0, 0.0, -1.5, 0.0, 3.0])
    check_derivatives(lambda v: cu.cumprod(v, axis=0, reverse=reverse), [x], np.random.default_rng(2), 1e-5)


def test_derivatives_of_extrema_go_to_one_of_the_ties() -> None:
    x = np.array([1.0, 3.0, 2.0, 3.0, 0.0, -np.inf])
    (grad,) = vjp(lambda v: cu.cummax(v, axis=0), [x], np.ones(6))
    np.testing.assert_array_equal(grad, [1, 2, 0, 3, 0, 0])
    assert vjp(lambda v: cu.cummax(v, axis=0), [np.full(1, -np.inf)], np.ones(1))[0] == [1.0]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9])
def test_lengths(n: int) -> None:
    x = np.linspace(0.5, 1.5, n)
    for op, _ in TABLE:
        check_derivatives(lambda v, op=op: op(v, axis=0), [x], np.random.default_rng(2), 1e-5)


@pytest.mark.parametrize("dim", [0, 1])
def test_batching(dim: int) -> None:
    out = vmap(lambda v: cu.cumsum(v, axis=0), [POINTS], (dim,), POINTS.shape[dim])
    np.testing.assert_array_equal(out, np.cumsum(np.moveaxis(POINTS, dim, 0), axis=1))
