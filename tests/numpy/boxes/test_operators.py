"""Operators and Python's builtins on boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning


def test_comparison_with_none_is_elementwise() -> None:
    x = np.arange(3.0)
    for f in (lambda x: x == None, lambda x: x != None):  # noqa: E711
        np.testing.assert_array_equal(tj.jit(f)(x), f(x), strict=True)
    assert tj.jit(lambda x: 1 if x[0] == None else 2)(x) == 2  # noqa: E711


def test_the_square_of_booleans_is_int8() -> None:
    b = np.array([True, False])
    for f in (lambda b: b**2, lambda b: b**3, lambda b: b[0] ** 2, lambda b: np.power(b, 2)):
        assert tj.jit(f)(b).dtype == f(b).dtype


class Added:
    """What NumPy takes for an element of an array of objects."""

    def __radd__(self, other: Any) -> Any:
        return "added to", other


def test_objects_that_are_no_numbers_are_added_to_each_element() -> None:
    f, x = lambda x: x + Added(), np.arange(2.0)
    with pytest.warns(FallbackWarning, match="an array of objects"):
        got = tj.jit(f, fallback=True)(x)
    assert got.dtype == object and got.tolist() == f(x).tolist()
    assert tj.jit(f, fallback=False)(1.5) == f(1.5)  # a number of Python's leaves it to the object


# ---------------------------------------------------------------- Python's builtins


@pytest.mark.parametrize("x", [np.float32(2.5), np.float64(-3.5), np.int64(-7), np.float16(0.5)])
def test_round_of_a_scalar_is_an_integer(x: Any) -> None:
    assert tj.jit(round)(x) == round(x) and type(tj.jit(round)(x)) is type(round(x))
    got = tj.jit(lambda v: round(v, 1))(x)
    assert got == round(x, 1) and got.dtype == x.dtype
    assert tj.jit(lambda v: round(v) * np.float32(1))(np.float32(2.5)).dtype == np.float32


def test_round_of_an_array_is_refused_as_numpy_does() -> None:
    with pytest.raises(TypeError, match="__round__"):
        tj.jit(round)(np.ones(2))
    assert tj.jit(lambda x: np.round(x, 1))(np.array([0.25, -1.36])).tolist() == [0.2, -1.4]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_builtins_are_numpys() -> None:
    arrays = [
        np.array([3.5, -2.5, -0.0]),
        np.array([7, -7, 3]),
        np.array([9, 3], np.uint8),
        np.array([1 + 2j, -3.5j]),
    ]
    functions = [abs, lambda x: divmod(x, 3), lambda x: divmod(7, x), lambda x: pow(x, 3), lambda x: x // 2,
                 lambda x: x % 3, lambda x: 7 % x, lambda x: x @ x, lambda x: -x, lambda x: +x,
                 lambda x: x.conjugate(), lambda x: x.conj() + x.real + x.imag]  # fmt: skip
    for x in arrays:
        for f in functions:
            try:
                want = f(x)
            except TypeError:
                with pytest.raises(TypeError):
                    tj.jit(f)(x)
                continue
            for g, w in zip(tj.tree.leaves(tj.jit(f)(x)), tj.tree.leaves(want), strict=True):
                assert np.asarray(g).dtype == np.asarray(w).dtype
                np.testing.assert_array_equal(g, w)


def test_conjugate_of_what_is_not_complex_is_itself() -> None:
    assert tj.jit(lambda x: x.conjugate())(np.array([True])).dtype == bool
    assert tj.jit(lambda x: x.conj())(np.array([1, 2], np.int8)).dtype == np.int8


def test_questions_about_complex_numbers() -> None:
    assert tj.jit(np.angle)(np.array([True, False])).dtype == np.float64
    assert tj.jit(np.angle)(np.array([1.0, -1.0], np.float16)).dtype == np.float16
    np.testing.assert_array_equal(tj.jit(lambda z: np.angle(z, deg=True))(np.array([1j, -1])), [90.0, 180.0])
    for f in (np.isposinf, np.isneginf):
        with pytest.raises(TypeError):
            tj.jit(f)(np.array([1j]))
        assert tj.jit(f)(np.array([np.inf, -np.inf, 0])).sum() == 1
