"""Arrays of Python numbers are none to promotion; orders of memory decide what is a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ShapeError, TracerIntegerError


def test_arrays_of_python_numbers_promote_as_arrays() -> None:
    x = np.ones(3, np.float32)
    for f in (lambda x, a: x * np.array(a), lambda x, a: x * np.asarray(a), lambda x, a: x * np.copy(a)):
        assert tj.jit(f)(x, 2.0).dtype == f(x, 2.0).dtype == np.float64
    assert type(tj.jit(lambda n: np.asarray(n))(3)) is np.ndarray


ORDERED: dict[str, Callable[[Any], Any]] = {
    "asfortranarray": np.asfortranarray,
    "ascontiguousarray": np.ascontiguousarray,
    "F": lambda a: np.asarray(a, order="F"),
    "C": lambda a: np.asarray(a, order="C"),
    "A": lambda a: np.asarray(a, order="A"),
    "K": lambda a: np.asanyarray(a, order="K"),
    "asfortranarray of a transpose": lambda a: np.asfortranarray(a.T),
    "ascontiguousarray of a transpose": lambda a: np.ascontiguousarray(a.T),
    "ascontiguousarray of a column": lambda a: np.ascontiguousarray(a[:, 1]),
    "A of columns": lambda a: np.asarray(a[:, 1:], order="A"),
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("layout", ["C", "F", "backwards"])
def test_orders_decide_what_is_a_copy(name: str, layout: str) -> None:
    """A write into what was put in order is seen in the argument where NumPy made no copy."""

    def write(a: Any) -> Any:
        out = ORDERED[name](a)
        out[...] = 7.0
        return out * 1

    def argument() -> Any:
        a = np.arange(12.0).reshape(3, 4)
        return a[::-1] if layout == "backwards" else np.array(a, order=layout)  # type: ignore[call-overload]

    x, y = argument(), argument()
    np.testing.assert_array_equal(tj.jit(write)(x), write(y))
    np.testing.assert_array_equal(x, y)


def test_contiguous_arrays_have_a_dimension() -> None:
    for f in (np.ascontiguousarray, np.asfortranarray):
        assert tj.jit(f)(2.0).shape == tj.jvp(f, (2.0,), (1.0,))[0].shape == f(2.0).shape == (1,)
        assert tj.vmap(f)(np.ones(3)).shape == (3, 1)


def test_arrays_of_known_numbers_may_be_assigned_into():
    """NumPy gives views of what it made for some of them."""

    def f(a):
        line, grid = np.linspace(0, 1, 4), np.mgrid[0:2, 0:3]
        rows, columns = np.ogrid[0:2, 0:1:3j]
        tiles = np.tile([1.0, 2.0, 3.0], 1)
        line[1:] += a
        grid[0] *= a.astype(int)
        columns[0] = a
        tiles[a > 1] = 5
        return line, grid, rows, columns, tiles

    a = np.array([1.0, 2.0, 3.0])

    for got, wanted in zip(tj.jit(f)(a), f(a), strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype


def test_parts_of_given_arrays_are_still_theirs():
    """A view of an array that is known while tracing is no new array."""
    held = np.arange(6.0)

    def f(x):
        a = held.copy()
        b = np.reshape(a, (2, 3))
        b[0] += x
        return a, b

    for got, wanted in zip(tj.jit(f)(np.ones(3)), f(np.ones(3)), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_ndarray_takes_traced_values() -> None:
    def f(x):
        a, b = np.ndarray((2, 3)), np.ndarray(3, dtype=np.float32, order="F")
        a[:] = x
        b[:] = 2 * a[1]
        return a, b, np.ndarray(2, np.uint8, b"abcd", 1)

    x = np.arange(3.0)
    for got, want in zip(tj.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
    np.testing.assert_array_equal(tj.grad(lambda x: f(x)[0].sum())(x), [2, 2, 2])


def test_grids_of_traced_extents_are_refused() -> None:
    for f in (lambda n: np.mgrid[0:n, 0:3], lambda n: np.ogrid[:n]):
        with pytest.raises(TracerIntegerError):
            tj.jit(f)(np.int64(3))
        assert len(tj.jit(f)(3)) >= 2


def test_shape_errors_name_traced_extents() -> None:
    with pytest.raises(ShapeError, match=r"shapes \(n<=2,\) \(3,\)") as caught:
        tj.jit(lambda n, x: np.zeros(2)[:n] + x)(np.int64(3), np.ones(3))
    assert "n of these shapes depend on traced integers" in str(caught.value)
    assert "static_argnums" in str(caught.value)
