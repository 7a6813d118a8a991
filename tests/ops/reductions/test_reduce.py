"""Reductions: NumPy's values, kernels element by element, derivatives with zeros and ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives, vjp, vmap
from tests.ops.running import Unsupported, run_reduce
from tests.ops.samples import COMPLEXES, FLOATS, INTEGERS, edges, same
from tracejit.errors import AxisError, ShapeError
from tracejit.ir.avals import Aval
from tracejit.ops.reductions import reduce as rd

ALL = [np.bool_, *INTEGERS, *FLOATS, *COMPLEXES]
SUMS = [
    (rd.reduce_sum, np.add),
    (rd.reduce_prod, np.multiply),
    (rd.reduce_max, np.maximum),
    (rd.reduce_min, np.minimum),
]
BITS = [(rd.reduce_and, np.bitwise_and), (rd.reduce_or, np.bitwise_or)]
AXES = [(0,), (1,), (0, 2), (0, 1, 2)]


def array(dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (2, 3, 4)) if np.dtype(dtype).kind in "if" else rng.integers(0, 3, (2, 3, 4))
    return (
        (x + 1j * rng.integers(-3, 4, x.shape)).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else x.astype(dtype)
    )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("op", "ufunc"), SUMS, ids=lambda f: getattr(f, "__name__", None))
def test_values(op: Any, ufunc: Any, axes: Any, dtype: Any) -> None:
    x = array(dtype)
    out = op(x, axes=axes)
    same(out, ufunc.reduce(x, axis=axes, dtype=dtype))
    assert op.op.type(Aval(x.shape, x.dtype), axes=axes) == Aval(out.shape, out.dtype)


@pytest.mark.parametrize("dtype", [np.bool_, *INTEGERS])
@pytest.mark.parametrize(("op", "ufunc"), BITS, ids=lambda f: getattr(f, "__name__", None))
def test_logic(op: Any, ufunc: Any, dtype: Any) -> None:
    x = array(dtype)
    same(op(x, axes=(0, 2)), ufunc.reduce(x, axis=(0, 2)))
    same(op(x[:0], axes=(0,)), ufunc.reduce(x[:0], axis=0))
    same(run_reduce(op.op, x.ravel(), dtype), ufunc.reduce(x.ravel()))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(("op", "fn"), [(rd.argmax, np.argmax), (rd.argmin, np.argmin)])
def test_arg(op: Any, fn: Any, dtype: Any) -> None:
    x = array(dtype)
    for axis in range(3):
        same(op(x, axes=(axis,)), fn(x, axis=axis))
    assert op(x, axes=(0, 1, 2)) == fn(x)
    assert isinstance(op(x, axes=(0, 1, 2)), np.int64)
    assert run_reduce(op.op, x.ravel(), np.int64) == fn(x)


@pytest.mark.parametrize(
    "bad", [[1.0, np.nan, 2.0, np.nan], [np.nan, 5.0], [-np.inf, -np.inf], [np.inf, np.nan]]
)
def test_arg_with_nan(bad: list[float]) -> None:
    x = np.array(bad)
    for op, fn in ((rd.argmax, np.argmax), (rd.argmin, np.argmin)):
        assert op(x, axes=(0,)) == run_reduce(op.op, x, np.int64) == fn(x)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(("op", "ufunc"), SUMS, ids=lambda f: getattr(f, "__name__", None))
@pytest.mark.filterwarnings("ignore")
def test_kernels(op: Any, ufunc: Any, dtype: Any) -> None:
    for x in (array(dtype).ravel(), edges(dtype)[:-1]):
        try:
            out = run_reduce(op.op, x, dtype)
        except Unsupported:
            pytest.skip("runs opaquely")
        np.testing.assert_allclose(
            np.asarray(out, complex), np.asarray(ufunc.reduce(x, dtype=dtype), complex), rtol=1e-2
        )
        assert out.dtype == dtype


def test_empty() -> None:
    x = np.ones((0, 3))
    np.testing.assert_array_equal(rd.reduce_sum(x, axes=(0,)), np.zeros(3))
    np.testing.assert_array_equal(rd.reduce_prod(x, axes=(0,)), np.ones(3))
    for op in (rd.reduce_max, rd.reduce_min, rd.argmax, rd.argmin):
        with pytest.raises(ValueError, match="no elements"):
            op.op.type(Aval((0, 3), x.dtype), axes=(0,))
        assert op.op.type(Aval((0, 3), x.dtype), axes=(1,)).shape == (0,)
        with pytest.raises(ValueError):
            op(x, axes=(0,))


def test_axes_are_checked() -> None:
    x = Aval((2, 3), np.dtype("f8"))
    with pytest.raises(AxisError):
        rd.reduce_sum.op.type(x, axes=(2,))
    with pytest.raises(ShapeError):
        rd.reduce_sum.op.type(x, axes=(1, 0))
    full = np.ones(3)
    assert rd.reduce_sum(full, axes=()) is full


# ---------------------------------------------------------------- derivatives

POINTS = (np.random.default_rng(3).permutation(24) * 0.13 - 1.4).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("op", [rd.reduce_sum, rd.reduce_prod, rd.reduce_max, rd.reduce_min])
def test_derivatives(op: Any, axes: Any) -> None:
    check_derivatives(lambda x: op(x, axes=axes), [POINTS], np.random.default_rng(1), 1e-5)


@pytest.mark.parametrize("zeros", [(1,), (0, 2), (0, 1, 2)])
def test_derivatives_of_products_with_zeros(zeros: tuple[int, ...]) -> None:
    x = np.array([2.0, -3.0, 0.5, 4.0])
    x[list(zeros)] = 0.0
    check_derivatives(lambda v: rd.reduce_prod(v, axes=(0,)), [x], np.random.default_rng(2), 1e-6)
    (grad,) = vjp(lambda v: rd.reduce_prod(v, axes=(0,)), [x], np.float64(1.0))
    np.testing.assert_array_equal(grad, [np.prod(np.delete(x, n)) for n in range(4)])


def test_derivatives_of_complex_sums_and_products() -> None:
    z = POINTS[0] + 1j * POINTS[1]
    for op in (rd.reduce_sum, rd.reduce_prod):
        check_derivatives(lambda v, op=op: op(v, axes=(1,)), [z], np.random.default_rng(2), 1e-5)


def test_ties_share() -> None:
    x = np.array([1.0, 3.0, 3.0, 0.0, 3.0, 3.0])
    (grad,) = vjp(lambda v: rd.reduce_max(v, axes=(0,)), [x], np.float64(1.0))
    np.testing.assert_array_equal(grad, [0, 0.25, 0.25, 0, 0.25, 0.25])


@pytest.mark.parametrize("op", [rd.reduce_sum, rd.reduce_max, rd.argmin])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batching(op: Any, dim: int) -> None:
    expected = np.stack([op(row, axes=(1,)) for row in np.moveaxis(POINTS, dim, 0)])
    out = vmap(lambda v: op(v, axes=(1,)), [POINTS], (dim,), POINTS.shape[dim])
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=1e-14)


def test_positions_in_no_rows() -> None:
    assert rd.argmax(np.zeros((0, 2)), axes=(1,)).shape == (0,)


def test_axes_in_any_order() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(rd.reduce_sum(x, axes=(2, 0)), x.sum((0, 2)))
