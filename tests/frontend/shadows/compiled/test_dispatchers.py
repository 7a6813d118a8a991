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


@pytest.mark.sample(2)
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


@numba.njit
def powers(x: Any) -> Any:
    n = 1
    for _ in range(70):
        n = n * 3 - 1
    return x * n


@numba.njit
def added_up(x: Any) -> Any:
    n = 2**61
    for _ in range(3):
        n += n
    return x + (n < 0)


@numba.njit
def by_an_inner_function(x: Any) -> Any:
    def shifted(k):
        return k << 10

    n = 1
    for _ in range(10):
        n = shifted(n)
    return x + n


@numba.vectorize
def hashed(x: Any) -> Any:
    n = 5381
    for c in range(1, 20):
        n = n * 33 + c
    return x + n % 100


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", [powers, added_up, by_an_inner_function, hashed], ids=lambda f: f.__name__)
def test_integers_of_known_values_that_leave_64_bits_are_left_to_numba(f: Any) -> None:
    for given in (2.0, 3) if f is not hashed else (X,):
        with pytest.warns(tj.errors.FallbackWarning, match="leaves 64 bits"):
            got = tj.jit(lambda x: f(x), fallback=True)(given)
        np.testing.assert_array_equal(got, f(given))
        assert type(got) is type(f(given))
    for g in (tj.grad(lambda x: np.sum(f(x))), tj.jit(lambda x: f(x), fallback=False)):
        with pytest.raises(tj.errors.UnfollowedError, match="leaves 64 bits"):
            g(2.0 if f is not hashed else X)


def test_python_has_integers_of_any_size() -> None:
    """The function itself, which Numba has also compiled, is Python's."""
    of_python = powers.py_func
    assert tj.jit(lambda: of_python(2), fallback=False)() == of_python(2) > 2**64


@numba.njit
def fibonacci(n: Any) -> Any:
    a, b = 0, 1
    for _ in range(n):
        yield a
        a, b = b, a + b


def test_generators_that_leave_numbas_code_are_left_to_numba() -> None:
    for f in (lambda n: sum(fibonacci(n)), lambda n: list(fibonacci(n))[-1]):
        with pytest.warns(tj.errors.FallbackWarning, match="generator"):
            assert tj.jit(f, fallback=True)(100) == f(100) < 2**63
