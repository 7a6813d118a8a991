"""The users' own checks find wrong derivatives and pass right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.test_util import (
    assert_max_compiles,
    assert_max_traces,
    check_grads,
    check_jvp,
    check_vjp,
    count_compiles,
    numerical_jvp,
)

X = np.array([0.3, 1.2])


def wrong_rule(factor: float) -> Any:
    @tj.custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    f.defjvp(lambda primals, tangents: (f(primals[0]), factor * np.cos(primals[0]) * tangents[0]))
    return f


def test_right_derivatives_pass() -> None:
    check_grads(wrong_rule(1.0), (X,), order=2)
    check_grads(lambda t: t["a"] * np.sin(t["b"]), ({"a": X, "b": 2.0},), order=2)
    check_grads(lambda x, n: x**n, (X, 3), order=2)  # integers are constants


@pytest.mark.parametrize("check", [check_jvp, check_vjp])
def test_wrong_derivatives_are_found(check: Any) -> None:
    with pytest.raises(AssertionError, match=check.__name__.removeprefix("check_")):
        check(wrong_rule(1.01), (X,))
    with pytest.raises(AssertionError):
        check_grads(wrong_rule(0.5), (X,), order=1, modes=("fwd",) if check is check_jvp else ("rev",))


def test_a_wrong_second_derivative_is_found() -> None:
    @tj.custom_jvp
    def f(x: Any) -> Any:
        return x**3

    @tj.custom_jvp
    def slope(x: Any) -> Any:
        return 3 * x**2

    slope.defjvp(lambda p, t: (slope(p[0]), 5 * p[0] * t[0]))  # it is 6 x
    f.defjvp(lambda p, t: (f(p[0]), slope(p[0]) * t[0]))
    check_grads(f, (X,), order=1)
    with pytest.raises(AssertionError):
        check_grads(f, (X,), order=2)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype: Any) -> None:
    tolerance = 1e-2 if dtype is np.float32 else 1e-5
    check_grads(lambda x: x * x * x, (X.astype(dtype),), order=2, atol=tolerance, rtol=tolerance)


def test_difference_quotients() -> None:
    got = numerical_jvp(np.sin, (X,), (np.ones(2),), 1e-5)
    np.testing.assert_allclose(got, np.cos(X), rtol=1e-8)


def test_counting_traces() -> None:
    f = tj.jit(lambda x: x + 1)
    with assert_max_traces(f, 1):
        f(X)
        f(X)
    with pytest.raises(AssertionError, match="was traced 1 times, at most 0 were expected"):
        with assert_max_traces(f, 0):
            f(X[:1])


def test_functions_that_update_their_arguments() -> None:
    def f(x: Any) -> Any:
        x[1:] += 0.5 * x[:-1]
        return (x**2).sum()

    x = X.copy()
    check_grads(tj.jit(f), (x,), order=2)
    np.testing.assert_array_equal(x, X)


def test_compiles_are_counted() -> None:
    f = tj.jit(lambda x: np.sin(x) + 0.125)
    with count_compiles() as n:
        assert n.value == 0
        f(X)
        f(X)
        assert int(n) == 1
        f(np.ones((2, 2)))  # another type
        f(np.ones((4, 4))[::2, ::2])  # another layout
    assert n.value == 3 and repr(n) == "Count(3)"
    with assert_max_compiles(0):
        f(X)
    with pytest.raises(AssertionError, match="1 programs were compiled, at most 0"), assert_max_compiles(0):
        f(np.ones(7))
