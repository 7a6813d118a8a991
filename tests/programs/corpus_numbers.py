"""Python's numbers and NumPy's scalars: classes, sizes, overflow, comparisons, results of built-in functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def factorial() -> Any:
    def f(n):
        out = 1
        for i in range(2, n + 1):
            out *= i
        return out

    return f, [(5,), (20,), (30,)], None


@program
def fibonacci() -> Any:
    def f(n):
        a, b = 0, 1
        while n > 0:
            a, b = b, a + b
            n -= 1
        return a

    return f, [(10,), (90,), (150,)], None


@program
def generator_of_numbers() -> Any:
    state = {"seed": 42}

    def f(n):
        out = []
        for _ in range(n):
            state["seed"] = (1664525 * state["seed"] + 1013904223) % 2**32
            out.append(state["seed"] / 2**32)
        return out

    return f, [(3,), (3,), (5,)], lambda: state


@program
def hash_mixing() -> Any:
    def f(h, k):
        for _ in range(3):
            h ^= k
            h = (h * 0x01000193) & 0xFFFFFFFF
            h ^= h >> 15
        return h, type(h) is int

    return f, [(0x811C9DC5, 7), (1, 2), (0xFFFFFFFF, 0xABCDEF)], None


@program
def collatz() -> Any:
    def f(n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    return f, [(6,), (27,), (1,)], None


@program
def greatest_divisor() -> Any:
    def f(a, b):
        while b:
            a, b = b, a % b
        return a

    return f, [(48, 36), (17, 5), (-12, 8)], None


@program
def modular_power() -> Any:
    def f(base, e, m):
        out = 1
        base %= m
        while e > 0:
            if e & 1:
                out = out * base % m
            base = base * base % m
            e >>= 1
        return out

    return f, [(3, 200, 13), (2, 10, 10**9 + 7), (10**17, 5, 10**18 + 9)], None


@program
def digits() -> Any:
    def f(n):
        out = []
        while n:
            n, d = divmod(n, 10)
            out.append(d)
        return out[::-1], sum(out)

    return f, [(123,), (9,), (10**12 + 5,)], None


@program
def is_prime() -> Any:
    def f(n):
        if n < 2:
            return False
        for d in range(2, int(n**0.5) + 1):
            if n % d == 0:
                return False
        return True

    return f, [(7,), (91,), (97,)], None


@program
def binary() -> Any:
    def f(n):
        bits = []
        while n > 0:
            bits.insert(0, n & 1)
            n >>= 1
        return bits, len(bits), sum(b << i for i, b in enumerate(reversed(bits)))

    return f, [(5,), (255,), (1024,)], None


@program
def inner_loop_may_not_run() -> Any:
    def f(a, n):
        out = []
        for i in range(3):
            s = 0
            for j in range(i * n):
                s += a[j]
            out.append(s)
        return out

    return f, [(np.arange(6.0), 2), (np.arange(6.0), 0), (np.arange(6.0), 1)], None


@program
def while_sum_of_nothing() -> Any:
    def f(a, limit):
        s, i = 0, 0
        while i < len(a) and a[i] < limit:
            s += a[i]
            i += 1
        return s, i

    return f, [(np.arange(4.0), 2.5), (np.arange(4.0), -1.0), (np.arange(4.0), 9.0)], None


@program
def max_with_zero() -> Any:
    def f(x):
        return max(0, x[0]), min(x[1], 0), max(x[0], x[1]), max(0.0, x[0])

    return f, [(np.array([1.0, 2.0]),), (np.array([-1.0, 3.0]),), (np.array([0.0, -3.0]),)], None


@program
def merged_in_a_branch() -> Any:
    def f(x, t):
        if x[0] > t:
            y = x[0]
        else:
            y = 0.5
        return y, y * 2

    return f, [(np.array([1.0]), 0.0), (np.array([-1.0]), 0.0), (np.array([3.0]), 5.0)], None


@program
def branch_of_int_or_float() -> Any:
    def f(x):
        y = 1 if x > 0 else 0.5
        return y, y + 1

    return f, [(2.0,), (-1.0,), (0.0,)], None


@program
def and_or_values() -> Any:
    def f(a, b):
        return a and b, a or b, not a, (a > 1 and b), (a or 7.5)

    return f, [(0, 2.0), (3, 0), (0.0, True)], None


@program
def sizes_from_counters() -> Any:
    def f(n):
        z = np.zeros(n)
        r = np.arange(1, n, 2)
        e = np.eye(n)
        pad = [0.0] * n
        return z, r, e, pad, np.linspace(0, 1, n), [None] * (n - 1)

    return f, [(3,), (4,), (1,)], None


@program
def built_in_functions() -> Any:
    def f(a, b):
        v = [a, b, a + b]
        return (
            len(v),
            sum(v),
            min(v),
            max(v),
            abs(-a),
            round(b),
            divmod(a, 3),
            pow(a, 2),
            sorted(v),
            any(v),
            all(v),
        )

    return f, [(5, 2.5), (0, -1.5), (-7, 3.5)], None


@program
def conversions() -> Any:
    def f(x):
        return int(x), float(x), bool(x), complex(x), round(x, 1), x.is_integer(), x.as_integer_ratio()

    return f, [(2.5,), (-3.7,), (0.0,)], None


@program
def int_of_not_a_number() -> Any:
    def f(x):
        try:
            return int(x)
        except ValueError:
            return "nan"
        except OverflowError as e:
            return str(e)

    return f, [(2.5,), (float("nan"),), (float("inf"),)], None


@program
def int_of_nan_uncaught() -> Any:
    def f(x):
        return int(x * 2)

    return f, [(2.6,), (math.nan,), (math.inf,)], None


@program
def domain_errors() -> Any:
    def f(x):
        try:
            return math.sqrt(x) + math.log(x)
        except ValueError as e:
            return str(e)

    return f, [(4.0,), (-1.0,), (0.0,)], None


@program
def domain_errors_uncaught() -> Any:
    def f(x):
        return math.acos(x), math.exp(x * 400)

    return f, [(0.5,), (1.5,), (1.0,)], None


@program
def overflow_of_power() -> Any:
    def f(x, n):
        return x**n

    return f, [(2.0, 10), (10.0, 400), (-8.0, 3)], None


@program
def complex_power() -> Any:
    def f(x):
        return x**0.5, x**-1

    return f, [(4.0,), (-4.0,), (0.0,)], None


@program
def negative_floors() -> Any:
    def f(a, b):
        return a // b, a % b, divmod(a, b), math.fmod(a, b), -a // b, int(a / b)

    return f, [(7, 2), (-7, 2), (7.5, -2)], None


@program
def divides_by_zero() -> Any:
    def f(a, b):
        try:
            return a / b
        except ZeroDivisionError as e:
            return str(e), a // (b + 1)

    return f, [(1, 2), (1, 0), (2.0, 0.0)], None


@program
def bits() -> Any:
    def f(a, b):
        return a & b, a | b, a ^ b, ~a, a << 3, a >> 1, a.bit_length(), bin(a).count("1"), a & -a

    return f, [(12, 10), (-5, 3), (2**40, 2**40 - 1)], None


@program
def dispatch_by_class() -> Any:
    def f(x):
        if isinstance(x, bool):
            return "bool"
        if isinstance(x, int):
            return x + 1
        if isinstance(x, float):
            return x / 2
        return x is None, np.asarray(x) * 2

    return f, [(3,), (True,), (2.5,)], None


@program
def chained() -> Any:
    def f(a, b, c):
        return a < b < c, a <= b == c, 0 < a != b, a is True, (a == 1) is True

    return f, [(1, 2, 3), (2, 2, 2), (True, 0.5, 1)], None
