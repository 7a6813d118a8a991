"""max and min of traced numbers; what type and isinstance say of them."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError, TracerBoolError


def upwind(u: Any, a: Any) -> Any:
    plus, minus = max(a, 0.0), min(a, 0.0)
    return plus * (u - np.roll(u, 1)) + minus * (np.roll(u, -1) - u)


@pytest.mark.parametrize("a", [-0.5, 0.0, 0.7])
def test_max_and_min_of_numbers(a: float) -> None:
    u = np.array([1.0, 3.0, -2.0])
    np.testing.assert_array_equal(tj.jit(upwind)(u, a), upwind(u, a))
    got = tj.jit(tj.vmap(tj.grad(lambda a: upwind(u, a)[0])))(np.array([a, -a]))
    np.testing.assert_array_equal(got, [tj.grad(lambda a: upwind(u, a)[0])(b) for b in (a, -a)])


def test_max_keeps_pythons_rules() -> None:
    nan, f = np.nan, lambda a, b: (max(a, b), max([a, b, 0.5]), min(b, a), max((a, b)))
    for a, b in [(1.0, nan), (nan, 1.0), (2.0, 3.0)]:
        np.testing.assert_array_equal(tj.jit(f)(a, b), f(a, b))
    x = np.array([1.0, 4.0, 2.0], np.float32)
    assert tj.jit(lambda x: max(x))(x) == 4.0
    assert tj.jit(lambda x: max(x[1], 2.0))(x).dtype == np.float32
    assert tj.jit(lambda x: max([3, 1], key=lambda n: -n) * x)(x).tolist() == [1, 4, 2]


@pytest.mark.parametrize("n", [3, 12])
def test_max_and_min_are_found_wherever_they_lie(n: int) -> None:
    f = tj.jit(lambda x: (max(x), min(x)))
    for at in range(n):
        x = np.zeros(n)
        x[at], x[at - 1] = 5.0, -3.0
        assert f(x) == (5.0, -3.0)


def test_max_whose_dtype_is_not_known_is_refused() -> None:
    with pytest.raises(TracerBoolError):
        tj.jit(lambda n: max(n, 0.5))(np.int64(3))
    with pytest.raises(ValueError, match="ambiguous"):
        tj.jit(lambda x: max(x, 0.0))(np.ones(3))


def test_kinds_of_traced_values() -> None:
    def f(x: Any) -> list[bool]:
        return [
            isinstance(x[0], np.ndarray),
            type(x[0]) is np.float64,
            isinstance(x, np.ndarray),
            type(x) is np.ndarray,
        ]

    assert tj.jit(f)(np.ones(2)) == f(np.ones(2)) == [False, True, True, True]


def test_extrema_of_generators():
    def f(x):
        return max(v * v for v in x), min(v for v in x if v is not None)

    x = np.array([3.0, -4.0, 1.0])
    assert tj.jit(f)(x) == f(x)


def test_methods_of_numbers() -> None:
    def ints(n: Any) -> Any:
        known = (n.bit_length(), n.numerator, int.from_bytes(n.to_bytes(2, "big"), "big"), len(hex(n)))
        return (*known, pow(n, 3, 5), pow(7, n, 5), pow(7, 3, n), pow(3, -1, 7) * n, float(n).is_integer())

    def floats(x: Any) -> Any:
        return x.is_integer(), (x * 2).is_integer(), (x / np.float64(0.0) if x else x).is_integer()

    assert tj.jit(ints)(13) == ints(13)
    with np.errstate(all="ignore"):
        for x in (2.0, 2.5, -0.5, np.float64(1e300)):
            want = x.is_integer(), (x * 2).is_integer(), False
            assert tj.jit(floats)(x) == want
    for f in (lambda x: x.hex(), lambda x: statistics.multimode([x, 2.0])):
        with pytest.raises(TracejitError):
            tj.jit(f)(2.0)
    with pytest.raises(TypeError, match=r"'numpy.int64', 'int', 'int'"):  # as NumPy
        tj.jit(lambda n: pow(n, 2, 5))(np.int64(3))


def test_messages_say_what_a_user_knows() -> None:
    for f in (
        lambda x: x + "a",
        lambda x: x(3),
        lambda x: "".join([x]),
        lambda x: x < "a",
        lambda x: [1][x:],
    ):
        with pytest.raises(TypeError) as e:
            tj.jit(f)(np.ones(3))
        assert "Box" not in str(e.value)


def test_extrema_beside_integers_beyond_64_bits() -> None:
    def f(n: int, m: int) -> Any:
        beyond = max(n, 2**70), min(n, 2**64, m), max([m, -(2**64), n]), max(2**63, n, 2**65)
        return n - min(2**62 * 1000003, n), beyond, max(n, 2**63 - 1)

    for args in ((-3, 4), (5, 5), (7, -8)):
        got = tj.jit(f, fallback=False)(*args)
        assert repr(got) == repr(f(*args))
