"""Python's numbers in jitted functions: values, types, exceptions and messages are those of the plain function."""

from __future__ import annotations

import cmath
import enum
import math
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import (
    NumberDivisionError,
    NumberDomainError,
    NumberError,
    NumberRangeError,
    TracejitError,
)

INF, NAN, BIG = math.inf, math.nan, 2**62
X = np.arange(6.0)


def outcome(f: Any, args: Any) -> tuple[Any, ...]:
    """What a call gives: (type, value) of each leaf, or (class, message) of the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple((type(x), x) for x in tj.tree.leaves(f(*args)))
    except TracejitError:
        raise
    except Exception as e:
        return type(e), str(e)


def same(a: Any, b: Any) -> bool:
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, complex):
        return a == b or cmath.isclose(a, b, rel_tol=1e-15)
    if isinstance(a, float):
        close = a == b or math.isclose(a, b, rel_tol=1e-15) or (math.isnan(a) and math.isnan(b))
        return close and math.copysign(1, a) == math.copysign(1, b)
    return a == b


def check(f: Any, calls: Any, native: bool) -> None:
    jitted = tj.jit(f)
    for args in calls:
        wanted = outcome(f, args)
        try:
            got = outcome(jitted, args)
        except TracejitError as e:  # what an outermost jit does over in Python
            assert e.redo and not native, f"{args}: {e}"
            got = wanted
        assert same(got, wanted), f"{args}: {got} instead of {wanted}"


def zero_or_sum(n, x):
    s = 0
    for i in range(n):
        s += x[i]
    return s


def chosen_sum(n, x):
    s = 0
    for i in range(n):
        if x[i] > 2:
            s += x[i]
    return s


def squares(n):
    s = 0
    for i in range(n):
        s += i * i
    return s


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def congruent(s):
    for _ in range(20):
        s = (s * 1103515245 + 12345) % 2**31
    return s


def newton(a):
    x = a
    for _ in range(20):
        x = (x + a / x) / 2
    return x


def memo(n):
    known = {0: 0, 1: 1}

    def at(k):
        if k not in known:
            known[k] = at(k - 1) + at(k - 2)
        return known[k]

    return at(n)


def single(c, x):
    if c:
        x = x.astype(np.float32)
    return x


def caught(a):
    try:
        return 1 / a
    except ZeroDivisionError:
        return -1.0


def several(a):
    return {"twice": a * 2, "tests": [a, a > 1], "none": None}


#: Programs and arguments whose results native code gives.
NATIVE = [
    (lambda a: a * 2, [(1.5,), (3,), (3j,), (True,), (-0.0,), (INF,), (NAN,), (2**40,)]),
    (lambda a: a > 2, [(1.5,), (3,), (True,)]),
    (lambda a: a == 1, [(1.5,), (1,), (1j,), (True,)]),
    (lambda a: 1 < a < 5, [(2,), (5.0,)]),
    (lambda a: (a > 1, a < 1, a != 1), [(1,), (0.5,)]),
    (lambda a: -a, [(1.5,), (3,), (3j,), (True,), (0.0,)]),
    (lambda a: +a, [(True,), (2,)]),
    (lambda a: ~a, [(True,), (2,)]),
    (lambda a: abs(a), [(-1.5,), (-3,), (3 + 4j,), (True,)]),
    (lambda a: not a, [(0.0,), (3,)]),
    (lambda a: a + a, [(True,), (2,), (2.5,)]),
    (lambda a, b: a + b, [(1, 2), (1, 2.5), (1.5, 2j), (True, 1)]),
    (lambda a, b: a - b, [(1, 2), (1, 2.5), (1.5, 2j), (True, True)]),
    (lambda a, b: a / b, [(1, 2), (7, 2.5), (1.5, 2j), (True, 3)]),
    (lambda a, b: a // b, [(7, 2), (-7, 2), (7.5, -2.0), (-1.0, INF), (-(2**40), 3)]),
    (lambda a, b: a % b, [(7, 2), (-7, 3), (7.5, -2.0), (-1.0, INF), (-0.0, 1.5)]),
    (lambda a, b: divmod(a, b), [(7, 2), (-7, 3), (7.5, -2.0), (-7.5, 2)]),
    (lambda a, b: a**b, [(2, 10), (2.0, 0.5), (-8.0, 3.0), (3, 0), (0, 0), (4, 0.5), (2.0, -3)]),
    (lambda a: a**2, [(3,), (1.5,), (True,), (-2j,)]),
    (lambda a: a**-2, [(3,), (1.5,)]),
    (lambda a: a**-1, [(True,), (4,)]),
    (lambda a: a**0, [(0,), (0.0,)]),
    (lambda a: a**0.5, [(4.0,), (4,)]),
    (lambda a: 2**a, [(10,), (0.5,), (0,)]),
    (lambda a: 2.0**a, [(10,), (-3,)]),
    (lambda a: a << 3, [(5,), (-5,), (True,)]),
    (lambda a: 1 << a, [(5,), (62,)]),
    (lambda a: -1 << a, [(3,)]),
    (lambda a: a >> 70, [(5,), (-5,)]),
    (lambda a: a & 3, [(6,), (True,)]),
    (lambda a: a ^ True, [(True,), (6,)]),
    (lambda a: a | 8, [(6,)]),
    (lambda a: a * a, [(2**31,), (-(2**31),)]),
    (lambda a: a * a * a, [(2**20,)]),
    (lambda a: int(a), [(3.7,), (-3.7,), (True,), (2.0**62,), (5,)]),
    (lambda a: float(a), [(3,), (2**53 + 1,), (True,)]),
    (lambda a: bool(a), [(3.0,), (0,)]),
    (lambda a: complex(a, 1), [(3.0,)]),
    (lambda a: round(a), [(2.5,), (3.5,), (-0.5,), (7,)]),
    (lambda a: round(a, 2), [(1.234,), (-7.891,), (1e6 + 0.123,), (7,)]),
    (lambda a: round(a, 0), [(2.5,), (3.5,)]),
    (lambda a: round(a, -1), [(123.0,), (17,)]),
    (lambda a: math.floor(a), [(3.5,), (-3.5,), (2**60 + 1,)]),
    (lambda a: math.ceil(a), [(3.5,), (7,)]),
    (lambda a: math.trunc(a), [(-3.5,)]),
    (lambda a: math.sqrt(a), [(4.0,), (4,), (INF,), (NAN,)]),
    (lambda a: math.exp(a), [(0.5,), (INF,), (-INF,)]),
    (lambda a: math.log(a), [(0.5,), (INF,)]),
    (lambda a: math.log(a, 2), [(8,)]),
    (lambda a: math.hypot(a, 3), [(4,), (INF,)]),
    (lambda a: math.gcd(a, 12), [(18,)]),
    (lambda a: math.modf(a), [(1.5,)]),
    (lambda a: math.frexp(a), [(1.5,)]),
    (lambda a: math.ldexp(a, 3), [(1.5,)]),
    (lambda a: math.isclose(a, 1.0), [(1.0,), (1.1,)]),
    (lambda a: math.copysign(1, a), [(-2,), (-0.0,)]),
    (lambda a: math.degrees(a), [(1.0,)]),
    (lambda a: math.atan2(a, 0.0), [(1.0,), (0.0,)]),
    (lambda a: math.fsum([a, 1.0]), [(4.0,)]),
    (lambda a: math.prod([a, 3]), [(4,), (0.5,)]),
    (lambda a: math.isqrt(a), [(18,)]),
    (lambda a: math.factorial(a), [(5,), (25,)]),
    (lambda a: math.comb(a, 3), [(25,)]),
    (lambda a, b: max(a, b), [(1, 2), (1.0, 2.0), (-0.0, 0.0)]),
    (lambda a, b: min(a, b, 3), [(1, 2)]),
    (lambda a, b: a and b, [(0.0, 1.0), (2, 1)]),
    (lambda a, b: a or b, [(0, 1), (0.0, 2.5)]),
    (lambda a: 1 if a > 0 else 2, [(1.0,), (-1,)]),
    (lambda a: a.real, [(4,), (4.5,), (1 + 4j,), (True,)]),
    (lambda a: a.imag, [(4,), (4.5,), (1 + 4j,)]),
    (lambda a: a.conjugate(), [(4,), (4.5,), (1 + 4j,), (True,)]),
    (lambda a: a.numerator / a.denominator, [(4,)]),
    (lambda a: a.is_integer(), [(4.0,), (4.5,), (INF,), (NAN,)]),
    (lambda a: a.bit_length(), [(300,), (0,)]),
    (lambda a: {1: 2.0, 2: 3.0}[a], [(1,), (2,)]),
    (lambda a: a in {1, 2}, [(1,), (3,)]),
    (lambda a: {True: 1, False: 2}[a], [(True,), (False,)]),
    (lambda a: pow(a, 3), [(2,)]),
    (lambda a: pow(a, 3, 5), [(2,)]),
    (lambda a: sum([a, a]), [(3,), (2.5,), (True,)]),
    (lambda a: sum(i * a for i in range(100)), [(2,), (2.0,)]),
    (lambda a: [i * a for i in range(3)], [(2,)]),
    (lambda a, b: a == b, [(2, 2.0), (2, 2.5), (True, 1.0)]),
    (lambda a, b: a < b, [(3, 3.5), (True, 2)]),
    (lambda a: np.float32(2) * a, [(1.5,), (2,)]),
    (lambda a: np.sqrt(a), [(4.0,), (4,), (-1.0,)]),
    (lambda a: np.maximum(a, 1), [(4,), (0.5,)]),
    (lambda a: np.add(a, 1), [(4,)]),
    (lambda a: a / 0, [(np.float64(1),)]),
    (lambda x: x[0] ** 2, [(np.array([1e200]),)]),
    (lambda x: float(x[1]), [(X,)]),
    (lambda x: int(x[1]) * 2, [(X,), (np.array([1, 2]),)]),
    (lambda x: float(x.sum()) / len(x), [(X,)]),
    (lambda x: (len(x) / 2, x.shape[0] * 2, x.size // 4), [(X,)]),
    (lambda x: x * len(x), [(X.astype(np.float32),)]),
    (several, [(1.5,), (3,)]),
    (zero_or_sum, [(6, X), (1, X)]),
    (chosen_sum, [(6, X)]),
    (squares, [(0,), (1000,)]),
    (gcd, [(48, 36), (17, 5)]),
    (collatz, [(27,), (1,)]),
    (fibonacci, [(0,), (50,), (90,)]),
    (congruent, [(12345,)]),
    (newton, [(2.0,), (9,)]),
    (memo, [(30,)]),
    (single, [(True, X), (False, X)]),
    (caught, [(2.0,)]),
]

#: Those whose results only Python has.
LEAVING = [
    (lambda a: 5 / a, [(0,), (0.0,), (False,), (0j,)]),
    (lambda a: 5 // a, [(0,), (0.0,)]),
    (lambda a: 5 % a, [(0,), (0.0,)]),
    (lambda a: divmod(3, a), [(0,), (0.0,)]),
    (lambda a: 5.0 / a, [(0,), (-0.0,)]),
    (lambda a: a**-1, [(0.0,), (0,), (False,)]),
    (lambda a: a**-0.5, [(0.0,), (-4.0,)]),
    (lambda a: a ** (1 / 3), [(-8.0,)]),
    (lambda a: a**0.5, [(-4.0,), (-4,)]),
    (lambda a, b: a**b, [(2, -1), (-8.0, 1 / 3), (0.0, -1.0), (10.0, 400.0), (10, 30), (0, -1), (0j, -1)]),
    (lambda a: a**2, [(1e200,), (2**40,)]),
    (lambda a: a**70, [(2,)]),
    (lambda a: 2**a, [(70,), (-2,)]),
    (lambda a: (-2.0) ** a, [(0.5,)]),
    (lambda a: a * 4, [(2**62,), (-(2**62),)]),
    (lambda a: a + 1, [(2**63 - 1,)]),
    (lambda a: a - 1, [(-(2**63),)]),
    (lambda a: 1 - a, [(-(2**63),)]),
    (lambda a: -a, [(-(2**63),)]),
    (lambda a: abs(a), [(-(2**63),)]),
    (lambda a: a // -1, [(-(2**63),)]),
    (lambda a: a * a * a, [(2**31,), (2**40,)]),
    (lambda a, b: a * b, [(2**40, 2**40), (-(2**40), 2**30)]),
    (lambda a, b: a + b, [(BIG, BIG), (-BIG, -BIG - 1)]),
    (lambda a: 1 << a, [(63,), (70,), (-1,)]),
    (lambda a: a >> -1, [(5,)]),
    (lambda a: a / 3, [(BIG + 1,)]),
    (lambda a, b: a == b, [(2**53 + 1, float(2**53)), (float(2**53), 2**53 + 1)]),
    (lambda a, b: a < b, [(float(2**53), 2**53 + 1)]),
    (lambda a: int(a), [(NAN,), (INF,), (1e30,), (2.0**63,)]),
    (lambda a: round(a), [(NAN,), (1e30,)]),
    (lambda a: round(a, 2), [(2.675,), (1.005,), (NAN,), (INF,), (1e300,)]),
    (lambda a: round(a, 1), [(0.25,), (0.35,)]),
    (lambda a: math.floor(a), [(NAN,), (-INF,), (1e30,)]),
    (lambda a: math.sqrt(a), [(-1.0,), (-INF,)]),
    (lambda a: math.log(a), [(0.0,), (-1.0,), (0,)]),
    (lambda a: math.log(a, 1), [(8,)]),
    (lambda a: math.log2(a), [(0,)]),
    (lambda a: math.log1p(a), [(-1.0,)]),
    (lambda a: math.exp(a), [(1000.0,)]),
    (lambda a: math.cosh(a), [(1000.0,)]),
    (lambda a: math.acos(a), [(2.0,)]),
    (lambda a: math.atanh(a), [(1.0,)]),
    (lambda a: math.sin(a), [(INF,)]),
    (lambda a: math.fmod(a, 0.0), [(1.0,)]),
    (lambda a: math.remainder(a, 0.0), [(1.0,)]),
    (lambda a: math.gamma(a), [(-1.0,), (200.0,)]),
    (lambda a: math.lgamma(a), [(0.0,)]),
    (lambda a: math.pow(a, -1), [(0.0,)]),
    (lambda a: math.pow(a, 0.5), [(-1.0,)]),
    (lambda a: math.pow(a, 2), [(1e200,)]),
    (lambda a: math.ldexp(a, 2000), [(1.0,)]),
    (lambda a: sum([a, a]), [(BIG,)]),
    (lambda x: int(x[0]), [(np.array([NAN]),)]),
    (lambda x: int(x[0]) * 2, [(np.array([BIG]),)]),
    (lambda x: float(x[0]) ** 2, [(np.array([1e200]),)]),
    (lambda x: 1.0 / float(x.sum()), [(np.zeros(2),)]),
    (zero_or_sum, [(0, X)]),
    (chosen_sum, [(2, X), (0, X)]),
    (fibonacci, [(93,), (300,)]),
    (collatz, [(2**61 + 1,)]),
    (caught, [(0.0,)]),
]

#: Those that Python refuses whatever the values.
WRONG = [
    (lambda a: a < 2.0, [(1j,)]),
    (lambda a: a // 2, [(1j,)]),
    (lambda a: a << 1, [(1.5,)]),
    (lambda a: ~a, [(1.5,), (1j,)]),
    (lambda a: a & 1, [(1.5,)]),
]


@pytest.mark.sample(12)
@pytest.mark.parametrize("n", range(len(NATIVE)))
def test_native_results(n):
    check(*NATIVE[n], native=True)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", range(len(LEAVING)))
def test_results_that_only_python_has(n):
    check(*LEAVING[n], native=False)


@pytest.mark.parametrize("n", range(len(WRONG)))
def test_operands_that_python_refuses(n):
    check(*WRONG[n], native=True)


def test_results_again_and_again():
    """The first call, the fast path, and the jitted function's own `__call__`."""
    f = tj.jit(lambda a, b, n, c: (a > b, n * n, a / b, c * a, a.real))
    for _ in range(4):
        got = f(1.5, 2.0, 7, 2j)
        assert got == (False, 49, 0.75, 3j, 1.5) and [*map(type, got)] == [bool, int, float, complex, float]


def test_large_integers_have_a_program_of_their_own():
    f = tj.jit(lambda n: n + 1)
    for n in (3, 2**31, 2**31 + 1, -(2**31), 2**40, -(2**62), 5):
        for _ in range(3):
            assert f(n) == n + 1
    assert f.trace_count == 2
    assert "a large Python int" in f.retraces[0]


def test_arithmetic_of_small_integers_has_no_checks():
    def f(n, x):
        s = x[0]
        for i in range(n):
            for j in range(n):
                s += x[(i * n + j + n // 2) % len(x)]
        return s * (n * n + 1)

    text = tj.jit(f).lower(7, X).compile().as_text("loops")
    assert "fail" not in text


def test_what_loops_in_loops_add_has_no_checks():
    """All loops of a call together make fewer steps than what a step adds could take to leave 64 bits."""

    def triples(n):
        t = 0
        for i in range(n):
            for j in range(i):
                for _ in range(j):
                    t += 2
        return t

    def digits(n):
        s = 0
        for k in range(n):
            while k:
                s += k % 10
                k //= 10
        return s

    for f in (triples, digits):
        g = tj.jit(f, fallback=False)
        assert "fail" not in g.lower(7).compile().as_text("loops")
        assert [g(n) for n in (0, 7, 40)] == [f(n) for n in (0, 7, 40)]


def test_what_loops_in_loops_multiply_is_checked():
    def f(n):
        t = 1
        for _ in range(n):
            for _ in range(n):
                t += t
        return t

    g = tj.jit(f, fallback=True)
    for n in (2, 7, 8, 9):
        assert g(n) == f(n)


@pytest.mark.parametrize(
    ("f", "x", "error", "message"),
    [
        (lambda x: 1 / x, 0.0, NumberDivisionError, "float division by zero"),
        (lambda x: x % (x - 1.0), 1.0, NumberDivisionError, "float modulo"),
        (lambda x: math.log(x), -1.0, NumberDomainError, "math domain error"),
        (lambda x: math.exp(x), 1000.0, NumberRangeError, "math range error"),
        (lambda x: x**-1.5, 0.0, NumberDivisionError, "0.0 cannot be raised to a negative power"),
    ],
)
def test_eager_derivatives_raise_at_once(f, x, error, message):
    with pytest.raises(error, match=message):
        tj.grad(f)(x)
    with pytest.raises(error, match=message):
        tj.grad(tj.jit(f))(x)
    for _ in range(3):  # operations that are known have recipes
        assert np.isfinite(tj.grad(f)(0.5))
    with pytest.raises(error, match=message):
        tj.grad(f)(x)


def test_gradients_keep_their_types():
    def f(x):
        return x * x / 3

    eager, jitted = tj.grad(f)(2.0), tj.jit(tj.grad(f))(2.0)
    assert type(jitted) is type(eager) and jitted == eager
    value, slope = tj.jit(tj.value_and_grad(f))(2.0)
    assert [type(value), type(slope)] == [*map(type, tj.value_and_grad(f)(2.0))]


def test_inner_jits_give_numbers_of_python():
    inner = tj.jit(lambda a: a * 3)
    outer = tj.jit(lambda a, x: (inner(a), x * inner(a)))
    number, array = outer(2.0, np.ones(2, np.float32))
    assert type(number) is float and array.dtype == np.float32


@pytest.mark.parametrize("shift", [0, 1, 13, 62])
def test_shifts_by_a_known_number_are_exact_at_the_end_of_64_bits(shift):
    f = tj.jit(lambda n: (n ^ 1) << shift, fallback=False)
    least, most = -(2**63) >> shift, (2**63 - 1) >> shift
    for n in {least, least + 1, -1, 0, 1, most - 1, most}:
        if -(2**63) <= (n ^ 1) << shift < 2**63:
            assert f(n) == (n ^ 1) << shift
    for n in (least - 2, most + 2) if shift else ():
        with pytest.raises(NumberError):
            f(n)


def test_one_check_tells_why_a_float_is_no_integer():
    f = tj.jit(lambda x: int(x * 2), fallback=False)
    assert f(2.0**61) == 2**62 and f(-(2.0**61)) == -(2**62) and f(-0.7) == -1
    with pytest.raises(NumberDomainError, match="cannot convert float NaN to integer"):
        f(math.nan)
    for x in (math.inf, -math.inf, 2.0**63):
        with pytest.raises(NumberRangeError, match="cannot convert float infinity to integer"):
            f(x)


def longest(n, count):
    """The largest number of steps."""
    most = 0
    for k in range(count):
        c, steps = n + k, 0
        while c != 1 and steps < 1000:
            if c % 2 == 0:
                c = c // 2
            else:
                c = 3 * c + 1
            steps += 1
        most = max(most, steps)
    return most


def quotients(x, n):
    s = 0.0
    for k in range(n):
        if x != k:
            s += 1 / (x - k)
        else:
            s -= 1.0
    return s


def test_branches_of_numbers_are_computed_without_jumps():
    """Both are; a check that fails in the branch that is not taken means nothing."""
    text = tj.jit(longest).lower(27, 5).compile().as_text("loops")
    assert "failed" in text and text.count(" or fail(") == 1  # 3 * c + 1 has one check
    f = tj.jit(longest, fallback=True)
    far = 2**62  # even: 3 * far does not fit, and is not needed
    for n, count in ((27, 5), (27, 300), (far, 1), (far - 1, 2), (2**61 + 1, 3)):
        assert f(n, count) == longest(n, count)
    g = tj.jit(quotients)
    for x in (2.5, 3.0, -1.0):
        assert g(x, 10) == quotients(x, 10)


class _Count(int):
    """A number of a class of its own."""


class _Metres(float):
    def __radd__(self, other):
        return "asked first"

    def __lt__(self, other):
        return "less"


class _Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize("make", [lambda: _Count(3), lambda: _Level.HIGH, lambda: _Count(3).real])
@pytest.mark.parametrize("x", [1.5, 2, np.float32(2)])
def test_numbers_of_the_users_classes(x: Any, make: Any) -> None:
    """Beside Python's numbers they give Python's numbers: they gave NumPy's."""

    def f(x: Any) -> Any:
        y = make()
        return x * y, y - x, x > y, x == y, x**y, y / x, x // y, x % y, x <= y

    got, want = tj.jit(f, fallback=False)(x), f(x)
    assert got == pytest.approx(want)
    assert list(map(type, got)) == list(map(type, want))


def test_methods_of_the_users_numbers_are_asked_first() -> None:
    def f(x: Any) -> Any:
        y = _Metres(3.0)
        return x + y, x > y, y + x

    assert tj.jit(f, fallback=False)(1.5) == f(1.5) == ("asked first", "less", 4.5)
