"""top_k and searchsorted against NumPy, for every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import dtypes, lax, ops
from tracejit.errors import AxisError, ShapeError, TypeRuleError

RNG = np.random.default_rng(3)
REALS = [
    np.bool_,
    np.int8,
    np.uint8,
    np.int32,
    np.uint64,
    np.float16,
    dtypes.bfloat16,
    np.float32,
    np.float64,
]
ALL = [*REALS, np.complex64, np.complex128]


def sample(dtype: Any, *shape: int) -> Any:
    """Few different values, so that there are ties; NaN, infinities and both zeros where there are such."""
    x = RNG.integers(0, 12, shape) / 2
    d = np.dtype(dtype)
    if d.kind in "iu" or d.kind == "b":
        return x.astype(d)
    x = np.where(RNG.random(shape) < 0.15, np.nan, np.where(RNG.random(shape) < 0.1, np.inf, x))
    x = np.where(RNG.random(shape) < 0.1, -0.0, np.where(RNG.random(shape) < 0.1, -np.inf, x))
    if d.kind != "c":
        return x.astype(d)
    z = np.empty(shape, d)
    z.real, z.imag = x, np.where(RNG.random(shape) < 0.2, np.nan, RNG.integers(0, 2, shape))
    return z  # 1j * nan would have two parts that are no numbers


def naive_top_k(row: Any, k: int) -> list[int]:
    """Largest first, NaN above all, the first of equal ones first."""
    key = [(1, 0.0) if v != v else (0, float(v)) for v in row]
    return sorted(range(len(row)), key=lambda i: (-key[i][0], -key[i][1], i))[:k]


@pytest.mark.parametrize("dtype", REALS)
def test_top_k(dtype: Any) -> None:
    x = sample(dtype, 5, 9)
    for f in (
        lambda x: lax.top_k(x, 4),
        tj.jit(lambda x: lax.top_k(x, 4)),
        tj.vmap(lambda x: lax.top_k(x, 4)),
    ):
        values, places = f(x)
        assert values.dtype == x.dtype and places.dtype == np.int64
        assert places.tolist() == [naive_top_k(row, 4) for row in x]
        want = np.take_along_axis(x, places, 1)
        np.testing.assert_array_equal(values.astype(float), want.astype(float))


def test_top_k_along_another_axis() -> None:
    x = (RNG.permutation(24) * 1.0).reshape(2, 3, 4)
    values, places = lax.top_k(x, 2, axis=1)
    np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :2])
    np.testing.assert_array_equal(places, np.argsort(-x, 1)[:, :2])


def test_top_k_ends() -> None:
    assert lax.top_k(np.ones((2, 0)), 0)[0].shape == (2, 0)
    least = np.array([-128, 127, -128], np.int8)
    assert lax.top_k(least, 3)[1].tolist() == [1, 0, 2]
    for k in (-1, 4):
        with pytest.raises(ShapeError):
            lax.top_k(np.ones(3), k)
    with pytest.raises(TypeRuleError):
        lax.top_k(np.ones(3, complex), 1)
    with pytest.raises(AxisError):
        lax.top_k(np.float64(1.0), 1)


def test_top_k_derivatives() -> None:
    x = (RNG.permutation(12) * 1.0).reshape(3, 4)
    g = tj.jit(tj.grad(lambda x: (lax.top_k(x, 2)[0] * np.array([1.0, 10.0])).sum()))(x)
    want = np.zeros((3, 4))
    for row, i in zip(want, np.argsort(-x, 1), strict=True):
        row[i[:2]] = 1.0, 10.0
    np.testing.assert_array_equal(g, want)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 15, 16, 100])
@pytest.mark.sample(8)
def test_searchsorted(dtype: Any, side: str, n: int) -> None:
    key = np.float32 if dtype == dtypes.bfloat16 else dtype
    a = np.sort(sample(dtype, n).astype(key)).astype(dtype)
    v = sample(dtype, 3, 7)
    want = np.searchsorted(a.astype(key), v.astype(key), side)
    rows, cells = np.stack([a, a]), np.stack([v, v])
    search = lambda a, v: np.searchsorted(a, v, side=side)
    batched, nested = tj.vmap(search), tj.vmap(tj.vmap(search, (None, 0)), (0, None))
    every = lambda a, v, rows, cells: (search(a, v), batched(rows, cells)[1], nested(rows, v)[1])
    eager = (tj.vmap(search, (None, 0))(a, v), batched(rows, cells)[1], nested(rows, v)[1])
    for got in (*tj.jit(every)(a, v, rows, cells), *eager):
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, want)


def test_searchsorted_in_what_is_computed_and_strided() -> None:
    a, v = np.sort(RNG.normal(size=31)), RNG.normal(size=(4, 5))
    f = lambda a, v: np.searchsorted(np.exp(a[::-1])[::-1], np.exp(v.T)[::2], "right")
    np.testing.assert_array_equal(tj.jit(f)(a, v), f(a, v))


def test_searchsorted_types() -> None:
    for args in ((np.ones((2, 2)), np.ones(2), 0), (np.ones((2, 2)), np.ones(3), 1)):
        with pytest.raises(ShapeError):
            ops.search.searchsorted(*args[:2], batch_dims=args[2])
    for side, v in (("left", np.ones(2, np.float32)), ("middle", np.ones(2))):
        with pytest.raises(TypeRuleError):
            ops.search.searchsorted(np.ones(2), v, side=side)
