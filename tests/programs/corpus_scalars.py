"""More of Python's numbers: classes that a value may have, chosen and merged in branches and loops, and sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.programs.observe import program

P, N, Z = np.array([2.0, -1.0, 3.0]), np.array([-2.0, -1.0, -3.0]), np.zeros(3)


@program
def classes_without_text() -> Any:
    def f(x):
        if isinstance(x, bool):
            return not x
        if isinstance(x, int):
            return x + 1
        if isinstance(x, float):
            return x / 2
        return np.asarray(x) * 2

    return f, [(3,), (True,), (2.5,), ([1, 2],), (np.float64(3.0),), (np.int64(3),)], None


@program
def identity_tests() -> Any:
    def f(a, b):
        return (
            a is True,
            a is None,
            (a == 1) is True,
            (a > b) is False,
            (a > b) is not True,
            b is not None,
            type(a) is type(b),
        )

    return f, [(1, 2), (True, None is None), (0.5, 0)], None


@program
def loop_of_floats_or_nothing() -> Any:
    def f(a, lo, hi):
        s, p, last = 0, 1, None
        for i in range(lo, hi):
            s = s + a[i]
            p = p * a[i]
            last = i
        return s, p, last

    return f, [(P, 0, 3), (P, 2, 2), (N, 1, 0)], None


@program
def nested_sums() -> Any:
    def f(m):
        n = len(m)
        out = [[0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                s = 0
                for k in range(j):
                    s += m[i][k] * m[k][j]
                out[i][j] = s
        return out

    return f, [(np.ones((2, 2)),), (np.arange(9).reshape(3, 3),), ([[1, 2.0], [3, 4]],)], None


@program
def cholesky_by_hand() -> Any:
    def f(a):
        n = a.shape[0]
        lo = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                s = sum(lo[i][k] * lo[j][k] for k in range(j))
                lo[i][j] = math.sqrt(a[i, i] - s) if i == j else (a[i, j] - s) / lo[j][j]
        return lo

    return (
        f,
        [(np.array([[4.0, 2], [2, 3]]),), (np.array([[4, 2], [2, 10]]),), (np.array([[1.0, 2], [2, 1]]),)],
        None,
    )


@program
def clamp_by_branches() -> Any:
    def f(x, lo, hi):
        if x < lo:
            return lo
        elif x > hi:
            return hi
        return x

    return f, [(0.5, 0, 1), (-3.0, 0, 1), (np.float64(7.0), 0, 1.5)], None


@program
def clamp_of_elements() -> Any:
    def f(v, lo, hi):
        return [min(max(x, lo), hi) for x in v], max(lo, v[0]), min(v[0], hi)

    return f, [(P, 0, 1), (N, 0, 1), (P, 0.0, 2.0)], None


@program
def assigned_in_one_branch() -> Any:
    def f(v):
        scale = 1
        if v[0] > 0:
            scale = v[0]
        if v.sum() < -100:
            scale = np.float64(3)
        return scale, scale * 2, v * scale

    return f, [(P,), (N,), (Z,)], None


@program
def zero_or_array() -> Any:
    def f(v, on):
        total = 0
        if on > 0:
            total = total + v
        return total

    return f, [(P, 1), (P, 0), (P, 2.0)], None


@program
def largest_so_far() -> Any:
    def f(v):
        best, where = 0, -1
        for i in range(len(v)):
            if v[i] > best:
                best, where = v[i], i
        return best, where

    return f, [(P,), (N,), (Z,)], None


@program
def largest_of_a_while_loop() -> Any:
    def f(v, stop):
        best, i = -1, 0
        while i < len(v) and best < stop:
            if v[i] > best:
                best = v[i]
            i += 1
        return best, i, best * 2

    return f, [(P, 2.5), (N, 5), (Z, -3)], None


@program
def integer_or_float_steps() -> Any:
    def f(n):
        x, steps = n, 0
        while x > 1:
            x = x / 2 if steps % 2 else x // 2
            steps += 1
        return x, steps

    return f, [(10,), (1,), (7.0,)], None


@program
def big_results() -> Any:
    def f(a, b):
        return a * b, a + b, a - b, -a, abs(a)

    return f, [(3, 4), (2**62, 4), (-(2**63), 1)], None


@program
def big_arguments() -> Any:
    def f(a):
        return a % 97, a + 1, a > 2**64

    return f, [(5,), (2**70,), (-(2**65),)], None


@program
def catalan() -> Any:
    def f(n):
        c = [1]
        for i in range(n):
            c.append(c[i] * 2 * (2 * i + 1) // (i + 2))
        return c, math.comb(2 * n, n) // (n + 1)

    return f, [(3,), (20,), (40,)], None


@program
def integer_root() -> Any:
    def f(n):
        x = n
        y = (x + 1) // 2
        while y < x:
            x = y
            y = (x + n // x) // 2
        return x, math.isqrt(n)

    return f, [(17,), (10**14,), (1,)], None


@program
def perfect_and_divisors() -> Any:
    def f(n):
        d = [k for k in range(1, n) if n % k == 0]
        return d, sum(d) == n, len(d)

    return f, [(6,), (12,), (1,)], None


@program
def continued_fraction() -> Any:
    def f(x, n):
        out = []
        for _ in range(n):
            k = math.floor(x)
            out.append(k)
            if x - k < 1e-9:
                break
            x = 1 / (x - k)
        return out

    return f, [(math.pi, 4), (2.0, 5), (-0.75, 4)], None


@program
def floats_of_math() -> Any:
    def f(x, y):
        return (
            math.hypot(x, y),
            math.floor(x),
            math.ceil(y),
            math.trunc(x),
            math.copysign(x, y),
            math.gcd(4, 6),
            x // 1,
        )

    return f, [(2.5, -1.5), (-2.5, 0.5), (3, 4)], None


@program
def frexp_and_modf() -> Any:
    def f(x):
        m, e = math.frexp(x)
        return m, e, math.modf(x), math.ldexp(m, e) == x, math.isclose(x, x + 1e-12)

    return f, [(5.5,), (-0.1,), (3,)], None


@program
def rounds_halves() -> Any:
    def f(x):
        return round(x), round(x, 2), np.round(x), int(x + 0.5), math.floor(x + 0.5)

    return f, [(2.5,), (-1.5,), (2.675,)], None


@program
def rounds_to_tens() -> Any:
    def f(n):
        return round(n, -1), n // 10 * 10, round(n)

    return f, [(15,), (25,), (-7,)], None


@program
def truth_of_numbers() -> Any:
    def f(a):
        return not a, bool(a), a or 1, a and 2, 5 if a else 6

    return f, [(0,), (3,), (-1,)], None


@program
def default_of_none() -> Any:
    def f(x, scale=None, offset=0):
        scale = scale or 1
        if offset:
            x = x + offset
        return x * scale

    return f, [(2.0,), (2, 0), (3, 2.5, True)], None


@program
def booleans_are_numbers() -> Any:
    def f(a, b):
        return a + b, a * 3, a & b, a ^ b, ~a, -a, a / 2, sum([a, b, a]), a == 1, [10, 20][b]

    return f, [(True, False), (False, True), (True, True)], None


@program
def complex_numbers() -> Any:
    def f(z):
        return z.real, z.imag, z.conjugate(), abs(z), z * z, z**2, 1 / z, z == z.real

    return f, [(1 + 2j,), (3.0,), (-2,)], None


@program
def quadratic_roots() -> Any:
    def f(a, b, c):
        if a == 0:
            return -c / b
        d = b * b - 4 * a * c
        if d < 0:
            return (-b + 1j * math.sqrt(-d)) / (2 * a)
        q = math.sqrt(d)
        return (-b + q) / (2 * a), (-b - q) / (2 * a)

    return f, [(1, -3, 2), (1.0, 2.0, 5.0), (0, 2, 4), (0, 0, 1)], None


@program
def counts_and_averages() -> Any:
    class Stats:
        def __init__(self):
            self.n, self.mean, self.m2, self.low = 0, 0, 0, None

        def push(self, x):
            self.n += 1
            d = x - self.mean
            self.mean += d / self.n
            self.m2 += d * (x - self.mean)
            if self.low is None or x < self.low:
                self.low = x
            return self.m2 / (self.n - 1) if self.n > 1 else 0

    s = Stats()
    return s.push, [(1,), (2.5,), (0.5,)], lambda: vars(s)


@program
def results_of_len_and_index() -> Any:
    def f(v, x):
        n = len(v)
        return n, n / 2, n // 2, n > 3, v.index(x) if x in v else -1, v.count(x), v[n - 1]

    return f, [([1, 2, 3], 2), ([1.5, 2.5], 4), ([1, 1, True, 1.0], 1)], None


@program
def arrays_without_axes_or_numbers() -> Any:
    def f(x, c):
        y = np.array(x[0]) if c > 0 else x[1]
        if c > 1:
            z = np.asarray(c)
        else:
            z = c
        last = 0.0
        for v in x:
            if v * c > 2:
                last = np.where(v > 2, v, -v)
        return y, z, last, y + 1, type(z).__name__, np.squeeze(x[:1]) if c < 0 else 0.5

    return f, [(P, 1.0), (P, -1.0), (N, 2.0), (Z, 0.0), (P, 2.0)], None


@program
def arrays_without_axes_after_steps() -> Any:
    def f(x, n):
        a, b, c = 0.0, np.float64(1), np.array(2.0)
        for i in range(n):
            a = np.where(x[i] > 0, a + 1, a)
            b = np.array(b + x[i])
            c = c + x[i]
        return a, b, c, type(a), type(c)

    return f, [(P, np.int64(2)), (P, np.int64(0)), (N, np.int64(3)), (N, 0), (P, 1)], None


@program
def signs_of_zeros_beside_one_limit() -> Any:
    def f(x, c):
        zero = -0.0 if c > 0 else 0.0
        return (
            np.clip(zero, 0.0, 2.0),
            np.clip(zero, -1.0, 0.0),
            np.clip(x * zero, 0.0, 1.0),
            np.copysign(1.0, zero),
        )

    return f, [(P, 1.0), (P, -1.0), (N, 1.0)], None


@program
def text_that_says_whether_to_copy() -> Any:
    def f(x, copy):
        try:
            made = np.array(x, copy=copy), np.asarray(x * 2, copy=copy), x.reshape(3, 1, copy=copy)
        except ValueError as e:
            made = str(e)
        return made

    return f, [(P, "no"), (P, True), (P, None), (P, "yes")], None


class Counted:
    def __init__(self) -> None:
        self.asked = 0

    def __float__(self):
        self.asked += 1
        return float(self.asked)


@program
def numbers_of_objects_are_asked_for_once() -> Any:
    one = Counted()
    return (
        lambda x: (np.array([one, x[0]], float), np.asarray([one, 2.0], float)),
        [(P,), (N,), (Z,)],
        lambda: one,
    )


@program
def text_that_a_condition_chooses_as_copy() -> Any:
    def f(x):
        copy = "yes" if x.sum() > 0 else "no"
        return np.array(x, copy=copy)

    return f, [(P,), (N,)], None
