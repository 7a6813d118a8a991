"""Shapes: what is a view and what is a copy, exactly as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

LAYOUTS = {
    "C": ((3, 4), (32, 8)),
    "Fortran": ((3, 4), (8, 24)),
    "backwards": ((3, 1), (-8, 8)),
    "a line backwards": ((6,), (-8,)),
    "every second": ((6,), (16,)),
    "a column": ((3, 1), (32, 8)),
    "permuted": ((2, 4, 3), (96, 8, 32)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ravel_is_a_view_exactly_where_numpys_is(layout: str, order: str) -> None:
    shape, strides = LAYOUTS[layout]

    def fresh() -> Any:
        return np.lib.stride_tricks.as_strided(np.arange(80.0)[40:], shape, strides)

    def write(a: Any) -> Any:
        flat = np.ravel(a, order)
        flat[1] -= flat[0]
        return flat

    for f in (write, lambda a: write(a[1:]), lambda a: write(a[::-1])):
        mine, numpys = fresh(), fresh()
        np.testing.assert_array_equal(tj.jit(f)(mine), f(numpys))
        np.testing.assert_array_equal(mine, numpys)


@pytest.mark.parametrize("f", [np.squeeze, np.transpose, lambda x: np.reshape(x, ())])
def test_python_numbers_become_arrays(f: Any) -> None:
    for x in (2.5, np.float64(2.5), np.array(2.5), 3):
        got, expected = tj.jit(f)(x), f(x)
        assert type(got) is type(expected) and got.dtype == expected.dtype and got == expected
    assert type(tj.jit(np.iscomplex)(3.0)) is np.bool and type(tj.jit(np.isreal)(3.0)) is bool


def test_nothing_to_squeeze_is_the_array_itself() -> None:
    x = np.ones((2, 3))
    assert tj.jit(np.squeeze)(x) is x and tj.jit(lambda x: x.squeeze(()))(x) is x


def test_sparse_grids_that_are_no_copies_are_a_list() -> None:
    for copy in (True, False):

        def f(x: Any, copy: bool = copy) -> Any:
            return np.meshgrid(x, x, sparse=True, copy=copy)

        got, expected = tj.jit(f)(np.arange(3.0)), f(np.arange(3.0))
        assert type(got) is type(expected)
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)
