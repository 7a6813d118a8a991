"""Arrays of Python numbers are none to promotion; orders of memory decide what is a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def test_arrays_of_python_numbers_promote_as_arrays() -> None:
    x = np.ones(3, np.float32)
    for f in (lambda x, a: x * np.array(a), lambda x, a: x * np.asarray(a), lambda x, a: x * np.copy(a)):
        assert tj.jit(f)(x, 2.0).dtype == f(x, 2.0).dtype == np.float64
    assert type(tj.jit(lambda n: np.asarray(n))(3)) is np.int64


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
