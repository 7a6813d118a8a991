"""Programs whose numbers are an int of Python's in some steps of a loop, and a float in others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

CALLS = [(np.full(3, k),) for k in (1.0, 2.0, 0.1)]


@program
def int_or_float_by_branch_in_the_last_step() -> Any:
    def f(x):
        t = 0
        for k in range(39):
            x = x * 0.9
            t = k
            if k % 2 and x.sum() < 0.5:
                t = k * 0.5
        return t

    return f, CALLS, None


@program
def int_or_float_in_lists_dicts_and_output() -> Any:
    def f(x):
        h, d, t = [], {}, 0
        for k in range(40):
            x = x * 0.9
            u = k
            if x.sum() < 0.5:
                u = k * 0.5
                t = t + 0.5
            h.append((u, k))
            d[k] = t * 2 + 1
            if k > 37:
                print(t, u)
        return h, d

    return f, CALLS, None


@program
def a_sum_that_begins_as_an_int_in_a_history() -> Any:
    def f(x):
        before, after, total = [], [], 0
        for _ in range(40):
            x = x * 0.9
            before.append(total)
            if x.sum() < 0.5:
                total += 0.5
            after.append(total + 1)
        return before, after, total

    return f, CALLS, None


@program
def the_type_of_what_begins_as_an_int() -> Any:
    def f(x):
        ints, t, text, flag = 0, 0, "", False
        for k in range(40):
            x = x * 0.9
            if x.sum() < 0.5:
                t, flag = t + 0.5, 1
            if isinstance(t, int):
                ints += 1
            text = f"{t} {flag}"
        return ints, text, type(flag).__name__

    return f, CALLS, None


@program
def a_running_sum_of_floats() -> Any:
    def f(x):
        sums, total = [], 0
        for v in range(50):
            total += 0.5 * v
            sums.append(total)
            if total > 300 * x[0]:
                print(total)
        return sums, total

    return f, CALLS, None


@program
def a_count_beside_a_name_of_two_types() -> Any:
    def f(x):
        n, q, r = 0, "s", 1.0
        if x[0] > 1:
            q = 2.5
            n += 1
        else:
            n += 1
            r = x[1]
        return n, q, r

    return f, CALLS, None


X = np.arange(40.0) + 1


def _lengths(*starts: Any) -> list[tuple[Any, ...]]:
    counts = (np.int64(30), np.int64(1), np.int64(0), np.int64(2), 40)
    return [(X, n, starts[k % len(starts)]) for k, n in enumerate(counts)]


@program
def numbers_of_the_first_step() -> Any:
    def f(x, n, s):
        seen, last, halves, number, powers = [], None, [], 0, []
        for v in x[:n]:
            seen.append(s)
            halves.append((s + 1.0) / 2)
            last = s * 2
            number += isinstance(s, np.floating)
            powers.append(s**2 - 0.5)
            s = 0.9 * s + v
        return s, seen, last, halves, number, powers

    return f, _lengths(0.0, 2.0), None


@program
def numbers_that_began_as_integers() -> Any:
    def f(x, n, s):
        double, total, rest, best = s, 0, 7, s
        for v in x[:n]:
            double = s * 2 - 1
            total = total**2 * 0.001 + v
            rest = (rest // 2) % 5 + v
            if v > 3:
                best = v
            s = s + v
        return s, double, total, rest, best

    return f, _lengths(0, 3), None


@program
def numbers_that_take_turns() -> Any:
    def f(x, n, s):
        a, b, k, was = s, 1.0, 0, None
        while k < n and abs(a) < 90:
            was = a
            a, b = b, a * 0.5 + b * 0.1 + x[k]
            k += 1
        return a, b, was, k

    return f, _lengths(0.0, 0.5), None


@program
def histories_of_objects_from_their_first_step_on() -> Any:
    class Filter:
        def __init__(self) -> None:
            self.mean, self.last, self.history = 0.0, None, []

        def update(self, v):
            self.last = self.mean
            self.mean = self.mean + 0.5 * (v - self.mean)
            self.history.append(self.last)

    made: list[Filter] = []

    def f(x, n, s):
        one = Filter()
        one.mean = s
        for v in x[:n]:
            one.update(v)
        made.append(one)
        return one.mean, one.last

    return f, _lengths(0.0, 1.5), lambda: made


@program
def roots_of_numbers_of_the_first_step() -> Any:
    def f(x, n, s):
        seen = []
        for v in x[:n]:
            seen.append((s + 1.0) ** 0.2 + (s + 1.0) ** 1.0 + (s + 0.5) ** 2.5)
            s = s * 0.5 + v
        return s, seen

    return f, _lengths(0.0, 2.0), None


def _counts() -> list[tuple[Any, ...]]:
    return [(3,), (0,), (1,), (2,), (1,), (2.5,), (0.5,)]


@program
def numbers_that_turn_at_the_second_step() -> Any:
    def f(n):
        x, y = 1, 0
        while n > 0:
            x, y = y, x * 0.5
            n -= 1
        return x, y

    return f, _counts(), None


@program
def numbers_that_turn_at_the_third_step() -> Any:
    def f(n):
        a, b, c = True, 1, 0
        for k in range(int(n)):
            a, b, c = b, c, k * 0.5
            if c > 5:
                break
        return a, b, c

    return f, _counts(), None


@program
def greatest_common_divisor_with_its_factors() -> Any:
    def f(a, b):
        x, u, y, v = 1, 0, 0, 1
        while b:
            q, a, b = a // b, b, a % b
            x, u = u, x - q * u
            y, v = v, y - q * v
        return a, x, y

    return f, [(240, 46), (17, 5), (-24, 36), (7.5, 2.5), (7.5, 5.0), (3.0, 0.0)], None


@program
def complex_numbers_of_pythons_beside_floats_of_numpys() -> Any:
    def f(z, v, xs):
        total = 0j
        for x in xs:
            total = total + x
        return (
            1j * v,
            1j + v,
            1j - v,
            1j / v,
            1j**v,
            v * 1j,
            z * v,
            z == v,
            z**v,
            sum([z, v]),
            total,
            (1j * v).real,
        )

    xs = np.array([1.0, -2.0])
    numbers = [np.float64(2.0), np.float32(2.0), np.complex128(2.0), 2.0, np.int64(2), np.float64(-0.5)]
    return f, [(complex(1, 2), v, xs) for v in numbers], None


@program
def chosen_arrays_without_axes() -> Any:
    def f(n):
        a, c = np.array(1.5), np.array(2.5)
        k = 0
        while k < n:
            k += 1
            c, a = c, c
        made = np.array(n * 1.5)
        return a, c, made, made if n > 1 else made.copy(), made if n > 2 else np.array(7.0)

    return f, _counts(), None


def _nested() -> list[tuple[Any, ...]]:
    return [(n, m, x) for x in (0.5, np.float64(0.5)) for n, m in ((3, 2), (2, 0), (0, 2), (1, 1), (2, 1))]


@program
def numbers_that_a_loop_in_a_loop_turns() -> Any:
    def f(n, m, x):
        p, first, second, total, twice = 1, 1, 2, 0, 0
        for _ in range(n):
            twice = twice + p
            for _ in range(m):
                p = p * x
                first, second = second, second * x
            total = total + p
        return p, first, second, total, twice

    return f, _nested(), None


@program
def sums_of_a_triangle() -> Any:
    def f(n, m, x):
        total, moved, rows = 0, m, 0
        for i in range(n):
            rows += 1
            for _ in range(i):
                total = total + x
            for _ in range(m):
                moved = moved - x
        return total, moved, rows

    return f, [*_nested(), (4, 3, 0.5)], None


@program
def numbers_that_loops_in_loops_in_loops_turn() -> Any:
    def f(n, m, x):
        s = 0
        for _ in range(n):
            s += 1
            for k in range(n):
                s += k
                j = 0
                while j < m:
                    s += x
                    j += 1
        return s

    return f, _nested(), None


@program
def numbers_that_are_chosen_before_they_turn() -> Any:
    def f(n, m, x):
        a, c, s, items = 0, 2, 0, []
        for _ in range(n):
            c, a = a, 1 + x
            t, largest = s, max(s, -x)
            for _ in range(m):
                if c > 1:
                    c = c + x
                if t > 1:
                    t = t + x
            items.append(t)
            s = s + x
        return a, c, s, items, largest if n else None

    return f, [(n, m, 1.5) for n, m in ((3, 2), (1, 2), (0, 1), (1, 1), (2, 0))], None


@program
def largest_of_numbers_before_they_turn() -> Any:
    def f(n, m, x):
        s, largest = 0, 0
        for _ in range(n):
            largest = max(s, x)
            s = s + x
        return s, largest

    return f, [(n, 0, x) for n in (3, 1, 0) for x in (-1.5, 1.5)], None
