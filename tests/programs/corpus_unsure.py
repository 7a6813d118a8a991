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
