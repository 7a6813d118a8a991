"""JAX's elementwise names: all there, with JAX's conventions where they differ from NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import ArgumentError
from tracejit.test_util import check_grads

NAMES = (
    "abs acos acosh add asin asinh atan atan2 atanh bitcast_convert_type bitwise_and bitwise_not bitwise_or "
    "bitwise_xor population_count cbrt ceil clamp clz complex conj convert_element_type cos cosh div eq erf erfc exp "
    "exp2 expm1 floor ge gt imag integer_pow is_finite le log log1p logistic lt max min mul ne neg nextafter pow real "
    "reciprocal reduce_precision rem round rsqrt select select_n shift_left shift_right_arithmetic "
    "shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh RoundingMethod"
)
X = np.array([0.5, 1.5, 2.5])


def test_every_name_is_there() -> None:
    assert [n for n in NAMES.split() if n not in lax.__all__ or not hasattr(lax, n)] == []


@pytest.mark.parametrize("way", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_division_of_integers_is_towards_zero(way: Any) -> None:
    x, y = np.array([7, -7, 7, -7, 5, -128], np.int8), np.array([2, 2, -2, -2, 0, -1], np.int8)
    assert way(lax.div)(x, y).tolist() == [3, -3, -3, 3, -1, -128]
    assert way(lax.rem)(x, y).tolist() == [1, -1, 1, -1, 5, 0]
    assert way(lax.div)(x, y).dtype == np.int8
    assert way(lax.div)(np.uint8(7), np.uint8(0)) == 255
    assert way(lambda a: lax.div(a, 2))(x)[1] == -3
    assert way(lax.rem)(np.array([5.5, -5.5]), np.array([2.0, 2.0])).tolist() == [1.5, -1.5]


@pytest.mark.parametrize("way", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_round(way: Any) -> None:
    x = np.array([0.5, -0.5, 1.5, -2.5, 0.49999999999999994, -0.0, np.inf, -np.inf, 2.0**52 + 1])
    away = [1, -1, 2, -3, 0, -0.0, np.inf, -np.inf, 2.0**52 + 1]
    np.testing.assert_array_equal(way(lax.round)(x), away)
    even = way(lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN))(x)
    np.testing.assert_array_equal(even, np.rint(x))
    np.testing.assert_array_equal(way(lambda v: lax.round(v, rounding_method=1))(x), np.rint(x))
    assert np.isnan(way(lax.round)(np.float32(np.nan)))
    with pytest.raises(ArgumentError, match="rounding method"):
        way(lambda v: lax.round(v, 7))(x)


def test_powers_take_integers() -> None:
    np.testing.assert_allclose(tj.jit(lax.pow)(X, np.array([2, -1, 0])), X ** np.array([2.0, -1, 0]))
    np.testing.assert_allclose(lax.pow(X, 3), X**3)
    np.testing.assert_allclose(lax.pow(2.0, X), 2.0**X)
    check_grads(lambda x: lax.pow(x, np.array([2, -1, 3])), (X,), order=2)


def test_conj_of_real_numbers_is_complex() -> None:
    assert lax.conj(1.5) == 1.5 and np.iscomplexobj(lax.conj(X))
    assert lax.conj(np.array([1 + 2j])).tolist() == [1 - 2j]


def test_accuracy_is_accepted() -> None:
    for name in "exp exp2 expm1 log log1p sin cos tan tanh sqrt cbrt rsqrt logistic".split():  # noqa: SIM905
        f = getattr(lax, name)
        np.testing.assert_array_equal(f(X, accuracy=None), f(X))
        assert f.__name__ == name or f.__doc__


def test_bits() -> None:
    assert lax.population_count(np.array([255, 1], np.uint8)).tolist() == [8, 1]
    assert lax.clz(np.int16(3)) == 14
    assert lax.nextafter(np.float32(1), np.float32(2)) == np.nextafter(np.float32(1), np.float32(2))
    assert lax.shift_right_logical(np.int8(-1), np.int8(4)) == 15


def test_inverse_hyperbolic_functions() -> None:
    np.testing.assert_array_equal(lax.asinh(X), np.arcsinh(X))
    np.testing.assert_array_equal(lax.acosh(X + 1), np.arccosh(X + 1))
    np.testing.assert_array_equal(lax.atanh(X / 3), np.arctanh(X / 3))
    check_grads(lambda x: lax.asinh(x) * lax.acosh(x + 1) * lax.atanh(x / 3), (X,), order=2)


def test_select_takes_truth_values_and_select_n_picks() -> None:
    x, y = np.arange(3.0), np.arange(3.0) + 10
    for p in (np.array([1, 0, 2]), 1, np.array([0.5, 1, 0])):
        for f in (lax.select, tj.jit(lax.select)):
            with pytest.raises(TypeError, match="TJ002"):
                f(p, x, y)
    with pytest.raises(TypeError, match="TJ002"):
        lax.select_n(np.array([0.5, 1, 0]), x, y)
    assert lax.select_n(np.array([1, 0, 1]), x, y).tolist() == [10, 1, 12]
