"""Integers of NumPy beside Python's: small types, casts, indices, classes that are matched."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

P, N, Z = np.array([2.0, -1.0, 3.0]), np.array([-2.0, -1.0, -3.0]), np.zeros(3)


@program
def match_by_class() -> Any:
    def f(x):
        match x:
            case bool():
                return "bool", not x
            case int() if x > 10:
                return "large", x * 2
            case int(n):
                return "int", n
            case float():
                return "float", x * 2
            case (a, b):
                return "pair", a + b
            case {"v": v, **rest}:
                return "dict", v, len(rest)
            case _:
                return "other", None

    return f, [(3,), (30,), ((1, 2.5),), ({"v": 4, "w": 5},), (2.0,), (False,), (None,)], None


@program
def match_by_value() -> Any:
    def f(n, x):
        match n:
            case 0:
                return x
            case 1 | 2:
                return x * n
            case -1:
                return -x
            case _:
                return n

    return f, [(0, 2.0), (2, 2.0), (-1, 3), (5, 1)], None


@program
def mixed_sums() -> Any:
    def f(v):
        total, count, flag = 0, 0, True
        for x in v:
            total += x
            count += x > 1
            flag = flag and x < 5
        return total, count, flag, total / len(v)

    return f, [([1, 2.5, True],), ([1, 2, 3],), ([7, False, 0.5],)], None


@program
def numpy_scalars_and_ints() -> Any:
    def f(s, k):
        return s + k, s * 2, s // k, s**2, k - s, s > k, -s, abs(s), round(s), int(s)

    return f, [(np.float64(2.5), 2), (np.int32(7), 3), (np.float32(1.5), 2)], None


@program
def bytes_arithmetic() -> Any:
    def f(a):
        return a + 1, a - 1, a * 2, a + a, -a, a >> 1, ~a, a / 2, a.sum(), a.mean(), a + np.uint8(200)

    return (
        f,
        [
            (np.array([0, 250, 255], np.uint8),),
            (np.array([1, 2, 3], np.uint8),),
            (np.array([128] * 3, np.uint8),),
        ],
        None,
    )


@program
def overflow_of_arrays() -> Any:
    def f(a):
        return a * 3, a.sum(), np.cumsum(a), a.prod(), a + a, abs(a)

    big = 2**62
    return f, [(np.array([big, big]),), (np.array([-(2**63), 1]),), (np.array([3, 4]),)], None


@program
def floats_into_ints() -> Any:
    def f(x):
        a = np.zeros(3, dtype=int)
        a[0] = x
        a[1:] = x * 2
        a += 1
        b = np.array([1, 2, 3])
        b[1] = 3.9
        return a, b

    return f, [(2.7,), (-2.7,), (5,)], None


@program
def indices_and_keys() -> Any:
    table = {0: 1.5, 1: 2, 2: True}
    names = ["a", "b", "c"]

    def f(i, x):
        return table[i], names[i], names[-i], table.get(i + 5, 0), x[i], [10, 20, 30][i]

    return f, [(0, np.arange(3)), (2, np.arange(3)), (1, np.arange(3.0))], None


@program
def defaults_and_attributes() -> Any:
    class Counter:
        step = 1

        def __init__(self):
            self.n, self.total, self.on = 0, 0.0, False

        def add(self, x, scale=2):
            self.n += self.step
            self.total += x * scale
            self.on = not self.on
            return self.n, self.total, self.on, self.total / self.n

    c = Counter()
    return c.add, [(1.0,), (2,), (3, 5)], lambda: vars(c)


@program
def scalars_of_small_types() -> Any:
    def f(a, k):
        return a + k, a * k, a + a, a // 3, a**2, -a

    return f, [(np.uint8(250), 3), (np.int8(100), 1), (np.int16(7), 2)], None


@program
def too_large_for_the_type() -> Any:
    def f(a, k):
        try:
            return a + k
        except OverflowError as e:
            return len(str(e))

    return (
        f,
        [(np.arange(3, dtype=np.uint8), 5), (np.arange(3, dtype=np.uint8), 300), (np.uint8(3), -1)],
        None,
    )


@program
def divisions_of_integers() -> Any:
    def f(a, b):
        return a // b, a % b, np.divmod(a, b), np.floor_divide(a, 2), a / b

    a = np.array([7, -7, 5])
    return f, [(a, np.array([2, 2, -3])), (a, np.array([0, 1, 1])), (a, np.array([-1, 4, 7]))], None


@program
def integers_take_floats() -> Any:
    def f(x, y):
        out = np.zeros_like(x)
        out[:2] = y[:2]
        out[2] += y[2]
        return out, x.dtype == int, np.full(2, x[0]), np.full(2, y[0], dtype=int), x.astype(float) / 2

    return f, [(np.array([1, 2, 3]), P), (np.array([1, 2, 3]), N * 1.7), (np.array([1.0, 2, 3]), P)], None


@program
def inplace_casting_error() -> Any:
    def f(x, y):
        x = x.copy()
        x += y
        return x

    return f, [(np.array([1, 2]), 3), (np.array([1, 2]), 2.5), (np.array([1.0, 2]), 2.5)], None


@program
def numpy_answers() -> Any:
    def f(v):
        return (
            v.size,
            v.ndim,
            v.shape[0] / 2,
            v.argmax(),
            v.any(),
            v.max() > 2,
            int(v.argmin()),
            float(v.sum()),
            v.item(0),
        )

    return f, [(P,), (N,), (np.array([1, 2]),)], None


@program
def ranges_of_arguments() -> Any:
    def f(a, b, s):
        out = 0
        for i in range(a, b, s):
            out = out * 10 + i
        return out, len(range(a, b, s)), list(range(a, b, s)), np.arange(a, b, s)

    return f, [(1, 5, 1), (5, 0, -2), (3, 3, 1), (1, 2, 0)], None


@program
def match_is_all_there_is() -> Any:
    """The class of a number in a function that has nothing else to rewrite."""

    def f(x):
        match x:
            case bool():
                return "bool"
            case int():
                return "int"
            case float():
                return "float"
            case _:
                return "other"

    return f, [(3,), (2.5,), (True,), (np.float64(1),), (np.int64(2),), (P,), (None,), ("a",)], None


@program
def match_captures_a_number_by_class() -> Any:
    def f(x):
        match x:
            case int(n):
                return "int", n
            case float(n):
                return "float", n
        return "none", x

    return f, [(3,), (2.5,), (np.float64(1),), (np.int64(2),)], None


@program
def power_modulo_a_number_of_numpy() -> Any:
    """NumPy has none, whichever of the three is its number."""

    def f(x, n):
        total = []
        for parts in (
            (n, 3, 11),
            (abs(x), 3, 11),
            (3, x, 11),
            (3, 2, np.abs(x)),
            (np.argmin(np.ones(3)), 3, 11),
        ):
            try:
                total.append(pow(*parts))
            except TypeError as e:
                total.append(str(e))
        return total

    def raises(x, n):
        return pow(np.argmax(np.ones(3)) + n, 3, 11)

    return (
        lambda x, n: f(x, n) if n else raises(x, n),
        [(np.int64(7), 5), (np.int64(3), 4), (np.int64(3), 0), (9, 2)],
        None,
    )
