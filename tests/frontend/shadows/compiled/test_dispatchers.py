"""Functions that Numba compiled give Python's numbers, also where they are followed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import tracejit as tj
from tests.frontend.fake import traced

W = np.arange(3.0)
X = np.array([1.5, 2.0, -1.0])


class Pair(NamedTuple):
    a: float
    b: int


@numba.njit
def compiled(v):
    return v + W.sum()


@numba.njit
def total(x):
    return x.sum()


@numba.njit
def several(x):
    return x.sum(), 2 * x, x[0] > 1, x.astype(np.uint8)[0]


@numba.njit
def pair(x):
    return Pair(x[0], len(x))


@numba.njit
def positive_tails(x):
    t = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0:
            t += total(x[i:])
    return t


@numba.njit
def first(x):
    return x[0]


def test_what_it_reads_is_captured():
    out, _, capture = traced(lambda: compiled(1.0))
    assert out == 4.0 and capture.paths == ["W"]


@pytest.mark.parametrize("f", [total, several, pair, positive_tails], ids=lambda f: f.__name__)
def test_numbers_are_pythons(f):
    want, got = f(X), tj.jit(lambda x: f(x), fallback=False)(X)
    assert type(got) is type(want)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (want, got)), strict=True):
        assert type(a) is type(b) and np.array_equal(a, b)


def test_numbers_divide_as_pythons():
    inverse = tj.jit(lambda x: 1 / first(x))
    assert inverse(X) == 1 / 1.5
    with pytest.raises(ZeroDivisionError):
        inverse(0 * X)


def test_unsigned_integers_are_left_to_numba():
    n = np.array([2**63 + 1], np.uint64)
    with pytest.warns(tj.errors.FallbackWarning):
        assert tj.jit(lambda n: first(n), fallback=True)(n) == 2**63 + 1
    with pytest.raises(tj.TracejitError, match="int64"):
        tj.jit(lambda n: first(n), fallback=False)(n)


def test_a_dispatcher_stays_one_object():
    assert tj.jit(lambda x: (x, total is total, total is first), fallback=False)(1.0) == (1.0, True, False)


def test_derivatives_go_through():
    np.testing.assert_array_equal(tj.jit(tj.grad(positive_tails))(X), [1, 2, 2])
    np.testing.assert_array_equal(tj.vmap(total)(np.ones((2, 3))), [3, 3])


@numba.cfunc("float64(float64)")
def callback(x: Any) -> Any:
    return x * x + 1


def test_a_c_callback_is_its_python_function_to_python() -> None:
    square = tj.jit(lambda x: (callback(x), callback.address), fallback=False)
    assert square(3.0) == (10.0, callback.address) and tj.grad(callback)(3.0) == 6.0
