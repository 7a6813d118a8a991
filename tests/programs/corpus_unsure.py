"""Numbers that are Python's or NumPy's, depending on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

P, N = np.array([2.0, -1.0, 3.0]), np.array([-2.0, -1.0, -3.0])


@program
def float_of_no_steps() -> Any:
    def f(a, n):
        s = 0.0
        for i in range(n):
            s += a[i]
        return s, type(s) is float

    return f, [(P, 2), (P, 0), (P, 3)], None


@program
def sums_of_inner_loops() -> Any:
    def f(a, n):
        out, last = [], None
        for i in range(n):
            s = 0
            for j in range(i):
                s += a[j]
            out.append(s)
            last = s
        return out, last

    return f, [(P, 3), (P, 1), (P, 2)], None


@program
def sums_put_into_an_array() -> Any:
    def f(a):
        out = np.zeros(len(a))
        for i in range(len(a)):
            s = 0
            for j in range(i):
                s += a[j]
            out[i] = a[i] - s
        return out

    return f, [(P,), (N,), (np.arange(5.0),)], None


@program
def rectified() -> Any:
    def f(x, out):
        for i in range(len(x)):
            out[i] = max(0, x[i])
        best = max(0.0, x[0])
        return out, best * x[1], max(x[0], 0)

    return f, [(P, np.zeros(3)), (N, np.zeros(3)), (-P, np.ones(3))], None


@program
def chosen_in_a_loop() -> Any:
    def f(x):
        found = []
        for i in range(len(x)):
            y = x[i] if x[i] > 0 else 0.0
            found.append(y)
        return found

    return f, [(P,), (N,), (np.ones(2),)], None


@program
def best_float_so_far() -> Any:
    def f(x):
        best = 0.0
        for i in range(len(x)):
            if x[i] > best:
                best = x[i]
        return best

    return f, [(P,), (N,), (np.zeros(2),)], None


@program
def halves_of_chosen() -> Any:
    def f(x):
        y = max(x[0], 0)
        z = y / 2
        return np.array([y + 1, z]), y + x[1], y * 2

    return f, [(P,), (N,), (np.ones(2),)], None


@program
def clamped() -> Any:
    def f(v, lo, hi):
        return [min(max(x, lo), hi) for x in v], min(v[0], hi)

    return f, [(P, 0.0, 1.0), (N, 0.0, 1.0), (P, -5.0, 9.0)], None


def _carried(f: Any) -> Any:
    xs = np.linspace(0.0, 3.0, 20)
    return f, [(x, r) for x in (xs / 4, xs, xs[::-1].copy(), xs + 2) for r in (1.0, np.float64(1.0), 1)], None


@program
def running_maximum_that_stays_pythons() -> Any:
    def f(x, r):
        for i in range(len(x)):
            r = max(r, x[i])
        return r, r * 2

    return _carried(f)


@program
def number_of_a_loop_that_is_pythons_by_its_values() -> Any:
    def f(x, r):
        for i in range(len(x)):
            r = 0.5 * r + max(1.5, x[i])
        return r, str(r)

    return _carried(f)


@program
def the_same_in_loops_in_loops() -> Any:
    def f(x, r):
        s = 1.0
        for i in range(len(x)):
            for _ in range(30):
                r, s = s, 0.5 * r + max(1.5, x[i])
        return r, s

    return _carried(f)


@program
def the_same_that_is_asked_in_the_loop() -> Any:
    def f(x, r):
        n, told = 0, []
        for i in range(len(x)):
            r = 0.5 * r + max(1.5, x[i])
            if isinstance(r, np.floating):
                n += 1
            told.append(r)
        return r, n, told

    return _carried(f)


@program
def the_same_in_a_while() -> Any:
    def f(x, r):
        n = 0
        while r < 2.5:
            r = r + max(0.25, x[n % 20])
            n += 1
        return r, n

    return _carried(f)


@program
def attribute_of_a_loop_that_is_pythons_by_its_values() -> Any:
    class Thing:
        v = 1.0

        def bump(self, q):
            self.v = self.v * 0.5 + q

    def f(t, v):
        for _ in range(12):
            t.bump(max(1.5, np.tanh(v)))
        return t.v

    return f, [(Thing(), 0.5), (Thing(), 2.0), (Thing(), -1.0)], None


@program
def power_of_an_integer_that_is_pythons_by_a_branch() -> Any:
    def f(x, n):
        if x[n % 4] > 2.0:
            n = np.argmin(x)
        return pow(abs(n), 3, 11)

    return f, [(np.array([1.0, 0.5, -2.0, 0.5]), n) for n in (-2, 6, 3)], None


@program
def quotients_of_numbers_of_either_kind() -> Any:
    def f(x, limit):
        h = min(limit, x[0])  # Python's or NumPy's
        y = np.zeros(3)
        y[:] = x + h / 2 * x
        return y, h / 2, abs(-h) / 4, +h, 1 / h

    return f, [(np.array([1.0, 2.0, 3.0]), 2.0), (np.array([1.0, 2.0, 3.0]), 0.5)], None


@program
def a_quotient_by_zero_of_either_kind() -> Any:
    def f(x, limit):
        return 1 / min(limit, x[0])

    return f, [(np.array([1.0, 2.0]), 2.0), (np.array([3.0, 2.0]), 0.0), (np.array([0.0, 2.0]), 1.0)], None


@program
def steps_of_either_kind() -> Any:
    def f(x, end):
        t, h, times, n = 0.0, 0.5, [0.0], 0
        while t < end:
            h = min(h, end - t)
            x = x + h / 2 * np.cos(x)
            t += h
            times.append(t)
            h *= min(1.5, max(1.0, 1 / np.abs(x).max()))
            n += 1
        return np.array(times), x, n

    return f, [(np.array([1.0, 2.0]), 2.0), (np.array([3.0, 2.0]), 5.0), (np.array([3.0, 2.0]), 0.0)], None


@program
def positions_of_either_kind() -> Any:
    def f(text, pattern, failure):
        k, found = 0, []
        for i, c in enumerate(text):
            while k > 0 and pattern[k] != c:
                k = failure[k - 1]  # NumPy's; Python's where the loop has no step
            if pattern[k] == c:
                k += 1
            if k == len(pattern):
                found.append(i)
                k = failure[k - 1]
        return np.array(found), len(found), 2 * k - 1, -k

    rng = np.random.default_rng(3)
    pattern, failure = np.array([1, 0, 1]), np.array([0, 0, 1])
    return f, [(rng.integers(0, 2, 60), pattern, failure), (np.zeros(5, int), pattern, failure)], None


@program
def whole_numbers_of_either_kind_outgrow_64_bits() -> Any:
    def f(x, n):
        k = 3
        for i in range(n):
            k = max(k, x[i % 4])
        return k * 2**40, k + 10**30 > 0

    return (
        f,
        [(np.array([1, 2, 3, 1 << 30]), 4), (np.array([1, 2, 3, 4]), 2), (np.array([1, 2, 3, 4]), 0)],
        None,
    )


@program
def functions_of_numbers_of_either_kind() -> Any:
    def f(x, low):
        v = max(low, x[0])
        return (
            np.sin(v),
            np.add(v, 1),
            np.hypot(v, x[1]),
            np.maximum(v, np.float32(2)),
            np.power(v, 2),
            np.add(v, x),
        )

    return f, [(np.array([1.0, 2.0]), 0.5), (np.array([1.0, 2.0]), 1.5), (np.array([-3.0, 2.0]), -4)], None


@program
def whole_numbers_of_either_kind_beside_numpys() -> Any:
    def f(counts, x):
        total, best = 0, 7
        for t in range(4):
            if counts[t] == 0:
                continue
            total += t * counts[t]  # NumPy's as soon as a step gets here
        for t in range(3):
            best = min(best, counts[t])  # stays Python's where nothing is less
        return total, total * x[0], best + counts[0], best * x, best // counts[1], best ** x[1], counts - best

    return (
        f,
        [
            (np.array([0, 0, 0, 0]) + 1, np.array([1.5, 2.0])),
            (np.array([9, 8, 9, 9]), np.array([1.5, 2.0])),
            (np.array([0, 3, 0, 0]), np.array([1.5, 2.0])),
        ],
        None,
    )


@program
def integers_beside_floats_in_lists() -> Any:
    def f(x):
        found = []
        for i in range(len(x)):
            found.append(x[i] if x[i] > 0 else 0)
        return found, [v if v > 1 else 1 for v in x], {k: x[k] if x[k] > 2 else 2 for k in range(len(x))}

    return f, [(np.arange(-3.0, 3.0),), (np.ones(6),), (-np.ones(6),)], None


@program
def integers_beside_floats_in_text() -> Any:
    def f(x):
        lines = []
        for v in x:
            lines.append(f"{v if v > 0 else 0}")
            print(v if v < 0 else 0)
        return lines

    return f, [(np.arange(-3.0, 3.0),), (np.ones(6),)], None


@program
def integers_beside_floats_are_added() -> Any:
    def f(x):
        total, count, last = 0, 0, None
        for i in range(len(x)):
            total += x[i] if x[i] > 0 else 0
            count += 1 if x[i] > 0 else 0.5
            last = (x[i] if x[i] > 0 else 0) * 2
        return total, count, last, type(total) is int

    return f, [(np.arange(-3.0, 3.0),), (np.ones(6),), (-np.ones(6),)], None


@program
def integers_beside_floats_decide_nothing() -> Any:
    def f(x, y):
        out = np.zeros(len(x))
        for i in range(len(x)):
            v = x[i] if x[i] > 0 else 0
            out[i] = v + y[i]
            if v > 1:
                out[i] -= 1
        return out

    return f, [(np.arange(-3.0, 3.0), np.ones(6)), (np.ones(6), np.arange(6.0))], None


@program
def sums_of_what_may_be_empty() -> Any:
    def f(x, n):
        return [sum(x[:i]) for i in range(n)], sum(x[:n]), sum(x[x > 1], 2)

    return f, [(np.arange(1.0, 6.0), 4), (np.arange(1.0, 6.0), 0), (-np.ones(3), 2)], None
