"""Reductions of windows, and the choice of an element of each, against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.ops import conv_reference as reference
from tracejit import dtypes
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim
from tracejit.ops.convolution import pooling, selection
from tracejit.ops.convolution.pooling import Pool
from tracejit.ops.kernels import scalar_order
from tracejit.test_util import check_grads
from tracejit.tracing import to_raw, wrap

REDUCTIONS: dict[str, Any] = {
    "sum": (np.add, lambda d: 0, ["f8", "f4", "f2", "c16", "i4", "u1"]),
    "prod": (np.multiply, lambda d: 1, ["f8", "f4", "c8", "i8", "u1"]),
    "max": (np.maximum, scalar_order.lowest, ["f8", "f4", "f2", "i4", "u1", "?"]),
    "min": (np.minimum, scalar_order.highest, ["f8", "f4", "f2", "i4", "u1", "?"]),
    "and": (np.bitwise_and, lambda d: -1 if d.kind == "i" else scalar_order.highest(d), ["i4", "u1", "?"]),
    "or": (np.bitwise_or, lambda d: 0, ["i4", "u1", "?"]),
}
LARGE = Pool((6, 7), (2, 1), ((2, 1), (3, 3)), (1, 1), (1, 1))  # more elements than copies are combined


def of(name: str, pool: Pool) -> Any:
    return lambda x: wrap(getattr(pooling, f"reduce_window_{name}")(to_raw(x), pool))


def values(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.integers(0 if np.dtype(dtype).kind in "bu" else -3, 4, shape)
    return (x + 1j * rng.integers(-3, 4, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def distinct(shape: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape) * 0.3 - 2


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=15)
@given(data=st.data())
def test_values(name: str, data: Any) -> None:
    pool, shape = data.draw(reference.pools())
    ufunc, identity, kinds = REDUCTIONS[name]
    x = values(shape, data.draw(st.sampled_from(kinds)))
    want = reference.reduce_window(x, pool, ufunc, identity(x.dtype))
    for got in (getattr(pooling, f"reduce_window_{name}")(x, pool), tj.jit(of(name, pool))(x)):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_axes_whose_length_only_the_program_knows() -> None:
    """They stay as they are where each element is a window of its own, and are refused otherwise."""
    n = Dim(object(), 5)
    x = Aval((n, 4), np.dtype("f8"))
    pool = lambda **changed: Pool(
        *({"d": (1, 2), "s": (1, 1), "p": ((0, 0),) * 2, "b": (1, 1)} | changed).values(), (1, 1)
    )
    assert pool().result("sum", x) == (n, 3)
    for changed in (
        {"d": (2, 2)},
        {"s": (2, 1)},
        {"p": ((0, 1), (0, 0))},
        {"p": ((1, 0), (0, 0))},
        {"b": (2, 1)},
    ):
        with pytest.raises(DynamicExtentError):
            pool(**changed).result("sum", x)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_large_windows(name: str) -> None:
    ufunc, identity, kinds = REDUCTIONS[name]
    for dtype in kinds:
        x = values((9, 11), dtype)
        want = reference.reduce_window(x, LARGE, ufunc, identity(x.dtype))
        np.testing.assert_allclose(tj.jit(of(name, LARGE))(x), want, rtol=1e-4)


@settings(max_examples=12)
@given(reference.pools(filled=True), st.sampled_from(["sum", "prod", "max", "min"]))
def test_derivatives(parameters: Any, name: str) -> None:
    pool, shape = parameters
    x = distinct(shape) / 4
    check_grads(of(name, pool), (x,), order=2, atol=1e-4, rtol=1e-4)
    slope = tj.grad(lambda x: np.sum(np.sin(of(name, pool)(x))))
    np.testing.assert_allclose(tj.jit(slope)(x), slope(x), atol=1e-9)
    rows = np.stack([x, x[::-1], x * 2])
    want = np.stack([slope(r) for r in rows])
    np.testing.assert_allclose(tj.jit(tj.vmap(slope))(rows), want, atol=1e-9)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_derivatives_of_large_windows(name: str) -> None:
    x = distinct((9, 11)) / 9 + 0.3
    slope = tj.grad(lambda x: np.sum(np.sin(of(name, LARGE)(x))))
    np.testing.assert_allclose(tj.jit(slope)(x), slope(x), atol=1e-9)
    check_grads(of(name, LARGE), (x,), order=1, atol=1e-4, rtol=1e-4)


def test_a_product_with_zeros_has_a_derivative() -> None:
    pool = Pool((3,), (1,), ((0, 0),), (1,), (1,))
    x = np.array([2.0, 0.0, 3.0, 0.0, 0.0])
    check_grads(of("prod", pool), (x,), order=2)


@pytest.mark.parametrize(
    "pool", [Pool((3,), (2,), ((1, 1),), (1,), (1,)), Pool((40,), (3,), ((20, 20),), (1,), (1,))]
)
def test_in_a_tie_the_first_element_has_the_derivative(pool: Pool) -> None:
    x = np.array([1.0, 3.0, 3.0, 3.0, 1.0, 1.0])
    source = np.arange(1.0, 1 + pooling.reduce_window_max(x, pool).size)
    for name, search, fill in (("max", np.argmax, -np.inf), ("min", np.argmin, np.inf)):
        want = reference.scatter(source, x, pool, fill, search)
        slope = tj.grad(lambda x, name=name: np.sum(of(name, pool)(x) * source))
        np.testing.assert_array_equal(slope(x), want)
        np.testing.assert_array_equal(tj.jit(slope)(x), want)


@pytest.mark.parametrize("size", [3, 40])
def test_nan_is_the_maximum_and_chosen(size: int) -> None:
    pool = Pool((size,), (1,), ((size // 2, size // 2),), (1,), (1,))
    x = np.array([1.0, np.nan, 3.0, 2.0, np.nan, 5.0, 0.0, 7.0, 8.0])
    want = reference.reduce_window(x, pool, np.maximum, -np.inf)
    np.testing.assert_array_equal(tj.jit(of("max", pool))(x), want)
    t = np.arange(9.0)
    gather = lambda t, x: wrap(selection.select_and_gather_add(to_raw(t), to_raw(x), select="ge", pool=pool))
    places = reference.windows(t, pool, 0)
    at = np.argmax(reference.windows(x, pool, -np.inf), axis=1)
    want = np.take_along_axis(places, at[:, None], 1)[:, 0]
    np.testing.assert_array_equal(gather(t, x), want)
    np.testing.assert_array_equal(tj.jit(gather)(t, x), want)


@settings(max_examples=30)
@given(reference.pools(), st.sampled_from(["ge", "le"]), st.sampled_from(["f8", "f4", "i4"]))
def test_scatter(parameters: Any, choice: str, dtype: str) -> None:
    pool, shape = parameters
    x = values(shape, dtype)
    fill = (scalar_order.lowest if choice == "ge" else scalar_order.highest)(x.dtype)
    source = values(pooling.reduce_window_max(x, pool).shape, "f8", 1)
    want = reference.scatter(source, x, pool, fill, np.argmax if choice == "ge" else np.argmin)
    f = lambda s, x: wrap(selection.select_and_scatter_add(to_raw(s), to_raw(x), select=choice, pool=pool))
    np.testing.assert_array_equal(f(source, x), want)
    np.testing.assert_array_equal(tj.jit(f)(source, x), want)


def test_bfloat16() -> None:
    d = dtypes.bfloat16
    x = np.arange(12.0).astype(d)
    pool = Pool((3,), (2,), ((1, 1),), (1,), (1,))
    for name in ("sum", "max", "min"):
        np.testing.assert_array_equal(tj.jit(of(name, pool))(x), of(name, pool)(x))


def test_errors() -> None:
    with pytest.raises(ShapeError):
        Pool((2, 2), (1,), ((0, 0),), (1,), (1,))
    with pytest.raises(ShapeError):
        Pool((0,), (1,), ((0, 0),), (1,), (1,))
    pool = Pool((2,), (1,), ((0, 0),), (1,), (1,))
    with pytest.raises(ShapeError):
        tj.jit(of("sum", pool))(np.ones((3, 3)))
    with pytest.raises(TypeRuleError):
        tj.jit(of("max", pool))(np.ones(3, complex))
    with pytest.raises(TypeRuleError):
        selection_of = lambda x: wrap(
            selection.select_and_gather_add(to_raw(x), to_raw(x), select="gt", pool=pool)
        )
        tj.jit(selection_of)(np.ones(3))
