"""Comparisons, bits and choice: NumPy's values, kernels, and select's and clamp's derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives, jvp, vjp, vmap
from tests.ops.running import run_pointwise
from tests.ops.samples import COMPLEXES, FLOATS, INTEGERS, edges, operands, same
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ops.elementwise import compare as co

ALL = [np.bool_, *INTEGERS, *FLOATS, *COMPLEXES]
BITS = [np.bool_, *INTEGERS]
RECORDS = [
    (co.eq, np.equal, 2, ALL),
    (co.ne, np.not_equal, 2, ALL),
    (co.lt, np.less, 2, ALL),
    (co.le, np.less_equal, 2, ALL),
    (co.gt, np.greater, 2, ALL),
    (co.ge, np.greater_equal, 2, ALL),
    (co.and_, np.bitwise_and, 2, BITS),
    (co.or_, np.bitwise_or, 2, BITS),
    (co.xor, np.bitwise_xor, 2, BITS),
    (co.not_, np.invert, 1, BITS),
    (co.isnan, np.isnan, 1, [*FLOATS, *COMPLEXES]),
    (co.isinf, np.isinf, 1, [*FLOATS, *COMPLEXES]),
    (co.isfinite, np.isfinite, 1, [*FLOATS, *COMPLEXES]),
    (co.signbit, np.signbit, 1, FLOATS),
]
CASES = [pytest.param(f, n, a, d, id=f"{f.__name__}-{np.dtype(d)}") for f, n, a, ds in RECORDS for d in ds]


@pytest.mark.parametrize(("op", "numpy", "arity", "dtype"), CASES)
def test_eval_and_kernel_are_numpy(op: Any, numpy: Any, arity: int, dtype: Any) -> None:
    xs = operands(arity, dtype)
    expected = numpy(*xs)
    same(op(*xs), expected)
    same(run_pointwise(op.op, *xs), expected)
    assert op.op.type(*(Aval(x.shape, x.dtype) for x in xs)) == Aval(expected.shape, expected.dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_order_of_complex_numbers_with_nan() -> None:
    values = [complex(a, b) for a, b in itertools.product([0.0, 1.0, np.nan], repeat=2)]
    x, y = (np.array(v) for v in zip(*itertools.product(values, repeat=2), strict=True))
    for op, numpy in (
        (co.lt, np.less),
        (co.le, np.less_equal),
        (co.gt, np.greater),
        (co.ge, np.greater_equal),
    ):
        same(run_pointwise(op.op, x, y), numpy(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("op", "numpy"), [(co.shift_left, np.left_shift), (co.shift_right, np.right_shift)])
def test_shifts(op: Any, numpy: Any, dtype: Any) -> None:
    width = 8 * np.dtype(dtype).itemsize
    counts = np.array([c for c in (0, 1, 3, width - 1, width, width + 5) if c <= np.iinfo(dtype).max], dtype)
    x, n = (np.array(v, dtype) for v in zip(*itertools.product(edges(dtype), counts), strict=True))
    same(op(x, n), numpy(x, n))
    same(run_pointwise(op.op, x, n), numpy(x, n))


# ---------------------------------------------------------------- select

X = np.array([0.3, -1.2, 2.5])
Y = np.array([1.1, 0.4, -0.7])
PRED = np.array([True, False, True])


def test_select_broadcasts_scalars() -> None:
    np.testing.assert_array_equal(co.select(PRED, X, 0.0), np.where(PRED, X, 0.0))
    np.testing.assert_array_equal(co.select(np.True_, X, Y), X)
    np.testing.assert_array_equal(co.select(False, X, Y), Y)
    np.testing.assert_array_equal(run_pointwise(co.select.op, PRED, X, Y), np.where(PRED, X, Y))
    assert isinstance(co.select(np.True_, np.float64(1), np.float64(2)), np.float64)


def test_select_types() -> None:
    f = Aval((3,), np.dtype("f8"))
    with pytest.raises(TypeRuleError, match="predicate is i64"):
        co.select.op.type(Aval((3,), np.dtype("i8")), f, f)
    with pytest.raises(ShapeError):
        co.select.op.type(Aval((2,), np.dtype("?")), f, f)


@pytest.mark.parametrize("pred", [PRED, np.True_, np.False_])
@pytest.mark.parametrize(("x", "y"), [(X, Y), (X[0], Y), (X, Y[0])])
def test_derivatives_of_select(pred: Any, x: Any, y: Any) -> None:
    rng = np.random.default_rng(0)
    check_derivatives(lambda a, b: co.select(pred, a, b), [x, y], rng)
    check_derivatives(lambda a: co.select(pred, a, y), [x], rng)
    check_derivatives(lambda b: co.select(pred, x, b), [y], rng)


def test_nan_in_the_other_branch() -> None:
    bad = np.full(3, np.nan)
    tangent = jvp(lambda a, b: co.select(PRED, a, b), [X, bad], [np.ones(3), bad])
    np.testing.assert_array_equal(tangent, [1.0, np.nan, 1.0])
    cts = vjp(lambda a, b: co.select(PRED, a, b), [X, bad], np.array([1.0, np.nan, 2.0]))
    np.testing.assert_array_equal(cts[0], [1.0, 0.0, 2.0])


def test_batching_of_select() -> None:
    preds = np.array([[True, False, True], [False, False, True]])
    np.testing.assert_array_equal(vmap(co.select, [preds, X, Y], (0, None, None), 2), np.where(preds, X, Y))
    lanes = np.array([True, False])
    np.testing.assert_array_equal(vmap(co.select, [lanes, X, Y], (0, None, None), 2), [X, Y])
    np.testing.assert_array_equal(vmap(co.select, [lanes, X[0], Y[0]], (0, None, None), 2), [X[0], Y[0]])


# ---------------------------------------------------------------- clamp


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_clamp_is_clip(dtype: Any) -> None:
    x = edges(dtype)
    lo, hi = np.asarray(1, dtype)[()], np.asarray(3, dtype)[()]
    np.testing.assert_array_equal(co.clamp(x, lo, hi), np.clip(x, lo, hi))
    np.testing.assert_array_equal(run_pointwise(co.clamp.op, x, lo, hi), np.clip(x, lo, hi))


def test_derivatives_of_clamp() -> None:
    x = np.array([-2.0, 0.3, 5.0])
    check_derivatives(co.clamp, [x, np.float64(-1.0), np.float64(1.5)], np.random.default_rng(1))
    cts = vjp(co.clamp, [np.float64(1.0), np.float64(1.0), np.float64(2.0)], np.float64(1.0))
    assert [float(c) for c in cts] == [0.0, 0.0, 0.0]  # at the edge, as in JAX
