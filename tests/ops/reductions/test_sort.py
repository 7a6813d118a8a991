from __future__ import annotations

import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tests.ops.derivatives import check_derivatives, jvp, vjp
from tests.ops.records import check_batch, check_record, same
from tracejit import errors
from tracejit.ir.avals import Aval, Dim
from tracejit.ops.reductions import sort

RNG = np.random.default_rng(6)
F64 = np.dtype(np.float64)
X = RNG.permutation(24).reshape(2, 3, 4) * 0.5


def test_results_are_sorted_in_place() -> None:
    """Compiled code needs no memory but the result's."""
    x = RNG.standard_normal((300, 1000))
    f = tj.jit(lambda x: np.sort(x, axis=0))
    np.testing.assert_array_equal(f(x), np.sort(x, axis=0))
    tracemalloc.start()
    try:
        f(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.nbytes <= peak < 1.1 * x.nbytes


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("stable", [True, False])
def test_sort(axis: int, stable: bool) -> None:
    params = {"axis": axis, "num_keys": 1, "stable": stable}
    check_record(sort.sort_op, [X], params, [np.sort(X, axis)])
    check_batch(sort.sort_op, [X], params)
    check_derivatives(lambda x: sort.sort(x, axis=axis, stable=stable)[0], [X], RNG)
    check_record(sort.argsort_op, [X], {"axis": axis, "stable": stable}, np.argsort(X, axis))
    check_batch(sort.argsort_op, [X], {"axis": axis, "stable": stable})


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float32, np.complex128])
def test_dtypes(dtype: Any) -> None:
    x = RNG.integers(-3, 4, 20).astype(dtype)
    check_record(sort.sort_op, [x], {"axis": 0, "num_keys": 1, "stable": True}, [np.sort(x)])
    check_record(sort.argsort_op, [x], {"axis": 0, "stable": True}, np.argsort(x, stable=True))


def test_nan_last_and_zeros_equal() -> None:
    x = np.array([np.nan, 0.0, -0.0, -np.inf, np.nan, np.inf, -0.0])
    order = np.array([3, 1, 2, 6, 5, 0, 4])
    same(sort.argsort(x), order)
    for fn in (sort.sort(x, np.arange(7)), sort.sort(x, np.zeros(7), np.arange(7), num_keys=2)[::2]):
        same(fn[1], order)
        same(np.signbit(fn[0]), np.signbit(x[order]))


def test_several_keys() -> None:
    a, b = RNG.integers(0, 3, (5, 20)), RNG.integers(0, 3, (5, 20))
    c = np.arange(100).reshape(5, 20)
    for axis in (0, 1):
        params = {"axis": axis, "num_keys": 2, "stable": True}
        order = np.lexsort((b, a), axis)
        want = [np.take_along_axis(x, order, axis) for x in (a, b, c)]
        check_record(sort.sort_op, [a, b, c], params, want)
        check_batch(sort.sort_op, [a, b, c], params)


def test_passengers_are_differentiated() -> None:
    a, b = np.array([3.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0])
    check_derivatives(lambda a, b: sort.sort(a, b)[1], [a, b], RNG)
    check_derivatives(lambda a, b: sort.sort(a, b)[0], [a, b], RNG)
    keys = np.array([3, 1, 2])
    check_derivatives(lambda b: sort.sort(keys, b)[1], [b], RNG)


def test_ties_follow_the_stable_order() -> None:
    x = np.array([1.0, 0.0, 1.0, 0.0])
    same(
        jvp(lambda x: sort.sort(x)[0], [x], [np.array([1.0, 2.0, 3.0, 4.0])]), np.array([2.0, 4.0, 1.0, 3.0])
    )
    ct = vjp(lambda x: sort.sort(x, stable=False)[0], [x], np.array([1.0, 2.0, 3.0, 4.0]))[0]
    same(ct, np.array([3.0, 1.0, 4.0, 2.0]))


def test_bfloat16() -> None:
    x = np.array([3, -1, np.nan, 2], ml_dtypes.bfloat16)
    same(sort.sort(x)[0], x[[1, 3, 0, 2]])
    same(sort.argsort(x), np.array([1, 3, 0, 2]))
    same(sort.sort(x, np.arange(4))[1], np.array([1, 3, 0, 2]))
    same(sort.sort(x, x, np.arange(4), num_keys=2)[2], np.array([1, 3, 0, 2]))


def test_types() -> None:
    d = Dim(object(), 5)
    x = Aval((2, d), F64)
    assert sort.sort_op.type(x, x, axis=1, num_keys=1, stable=True) == [x, x]
    with pytest.raises(errors.AxisError):
        sort.sort_op.type(x, axis=2, num_keys=1, stable=True)
    with pytest.raises(errors.AxisError):
        sort.sort(np.zeros(3), axis=1)
    with pytest.raises(errors.ShapeError):
        sort.sort_op.type(x, Aval((2, 3), F64), axis=0, num_keys=1, stable=True)
    with pytest.raises(errors.TypeRuleError, match="2 keys"):
        sort.sort_op.type(x, axis=0, num_keys=2, stable=True)


@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (9,), (10,), (11,), (9, 40), (70, 5), (3, 0), (2, 7, 3)])
def test_few_elements(shape: tuple[int, ...], dtype: Any) -> None:
    """Sorted by exchanges up to ten, else by NumPy: the same, zeros in their order and NaN last."""
    rng = np.random.default_rng(len(shape))
    x = (3 * rng.normal(size=shape)).astype(dtype)
    if dtype in (np.float32, np.float64):
        flat = x.reshape(-1)
        flat[::4], flat[1::5], flat[2::5], flat[3::7] = np.nan, 0.0, -0.0, np.inf
    for axis in range(len(shape)):
        got = tj.jit(lambda x, axis=axis: np.sort(x, axis=axis, stable=True))(x)
        want = np.sort(x, axis=axis, stable=True)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[want == 0]))
        assert got.dtype == want.dtype


def test_few_elements_are_sorted_without_a_call() -> None:
    calls = [
        tj.jit(np.sort).lower(np.ones(n)).compile().as_text("loops").count("numpy:sort") for n in (9, 11)
    ]
    assert calls == [0, 1]
