"""Programs that write into arrays of the caller's and then fail: what was written before is there, and nothing else."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def write_then_index() -> Any:
    def f(x, i):
        x[0] = 5
        return x[i]

    return f, [(np.ones(3), 2), (np.ones(3), 7), (np.ones(3), -1)], None


@program
def write_then_index_of_what_was_written() -> Any:
    def f(x, i):
        x += 1
        i[1] = 2 * i[0]
        return x[i[1]]

    return f, [(np.ones(9), np.array([2, 0])), (np.ones(9), np.array([6, 0]))], None


@program
def several_writes_between_checks() -> Any:
    def f(x, y, i):
        x[0] = y[i[0]]
        y += 1
        x[1] = y[i[1]]
        x *= 2
        x[2] = y[i[2]]
        return x.sum()

    given = [(0, 1, 2), (0, 1, 9), (0, 9, 2), (9, 0, 1)]
    return f, [(np.zeros(3), np.arange(3.0), np.array(i)) for i in given], None


@program
def rows_in_a_loop() -> Any:
    def f(x, n):
        for i in range(n):
            x[i] = i
        return x

    return f, [(np.ones(8), 7), (np.ones(3), 7), (np.ones(8), 0)], None


@program
def counts_in_a_loop() -> Any:
    def f(counts, places):
        for i in range(len(places)):
            counts[places[i]] += 1
        return counts.sum()

    return (
        f,
        [(np.zeros(60), np.arange(50)), (np.zeros(6), np.arange(50)), (np.zeros(60), np.arange(50))],
        None,
    )


@program
def raises_in_a_loop() -> Any:
    def f(x, limits):
        for i in range(len(limits)):
            x[i] = 3
            if limits[i] > 40:
                raise ValueError(f"limit {i}")
        return x.sum()

    return (
        f,
        [(np.ones(50), np.arange(50) - 9), (np.ones(50), np.arange(50)), (np.ones(50), np.zeros(50))],
        None,
    )


@program
def raises_after_a_loop() -> Any:
    def f(u, steps):
        for _ in range(steps):
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
        if u.max() > 1:
            raise FloatingPointError("unstable")
        u[0] = -1
        return u.sum()

    start = np.sin(np.arange(20.0))
    return f, [(start.copy(), 30), (3 * start, 2), (start.copy(), 0)], None


@program
def division_before_a_write() -> Any:
    def f(u, dt, dx):
        u += dt / dx * np.roll(u, 1)
        return u.mean()

    return f, [(np.arange(5.0), 0.1, 0.2), (np.arange(5.0), 0.1, 0.0), (np.arange(5.0), 0.2, 0.1)], None


@program
def division_after_a_write() -> Any:
    def f(u, dt, dx):
        u += 1
        u[0] = u.sum()
        return u.mean() * (dt / dx)

    return f, [(np.arange(5.0), 0.1, 0.2), (np.arange(5.0), 0.1, 0.0), (np.arange(5.0), 0.2, 0.1)], None


@program
def root_of_what_was_written() -> Any:
    def f(u, d):
        u -= d
        return math.sqrt(u[0])

    return f, [(np.arange(1, 5.0), 0.5), (np.arange(1, 5.0), 2.0)], None


@program
def view_is_written() -> Any:
    def f(x, i):
        row = x[1]
        row[:] = 7
        x.T[0] += 1
        return row[i]

    return f, [(np.ones((3, 4)), 2), (np.ones((3, 4)), 4), (np.ones((4, 3)).T, 4)], None


@program
def captured_is_written() -> Any:
    held = np.zeros(4)

    def f(i, v):
        held[0] += v
        held[i] = v
        return held.sum()

    return f, [(1, 2.0), (4, 3.0), (-4, 4.0), (-5, 5.0)], lambda: held


@program
def singular_after_a_write() -> Any:
    def f(a, b):
        a -= 1
        b[0] = 9
        return np.linalg.solve(a, b)

    return f, [(np.diag([2.0, 3, 4]), np.ones(3)), (np.ones((3, 3)), np.ones(3))], None


@program
def not_positive_after_a_write() -> Any:
    def f(a):
        a[0, 0] -= 1
        return np.linalg.cholesky(a)

    return f, [(np.diag([2.0, 3, 4, 5, 6]),), (np.eye(5),), (-np.eye(5),)], None


@program
def assertion_between_writes() -> Any:
    def f(x, y):
        x[:] = y
        assert x.sum() > 0, "nothing there"
        y[:] = 0
        return x

    return f, [(np.zeros(3), np.ones(3)), (np.zeros(3), np.zeros(3)), (np.zeros(3), np.ones(3))], None


@program
def integer_outgrows_after_a_write() -> Any:
    def f(x, n):
        x += n
        return n * n * n

    return f, [(np.zeros(3), 5), (np.zeros(3), 2**30)], None


@program
def caught_by_the_caller() -> Any:
    def f(x, i):
        x[0] += 1
        try:
            x[1] = x[i]
        except IndexError:
            x[2] = -1
        return x

    return f, [(np.zeros(3), 1), (np.zeros(3), 9), (np.zeros(3), 2)], None


@program
def swapped_arrays() -> Any:
    def f(a, b, places):
        for i in range(len(places)):
            a, b = b, a
            a[i % 4] = b[places[i]] + i
        return a

    return f, [(np.zeros(4), np.ones(4), np.arange(12) % 4), (np.zeros(4), np.ones(4), np.arange(12))], None


@program
def out_of_range_at() -> Any:
    def f(a, i):
        a[0] = 1
        np.add.at(a, i, 1.0)
        return a

    return f, [(np.zeros(3), np.array([0, 2, 2])), (np.zeros(3), np.array([0, 5]))], None


@program
def updates_by_an_array() -> Any:
    def f(a, i, v):
        a *= 2
        a[i] = v
        return a[i].sum()

    n = np.arange(300)
    return f, [(np.ones(300), n, 3.0), (np.ones(300), n + 1, 3.0), (np.ones(300), n - 300, 2.0)], None


@program
def what_a_branch_binds_before_an_exception() -> Any:
    def f(x, t):
        y, h = 1.0, [x, x]
        try:
            if t > 2:
                y, h = 2.0, [x + 1, x]
            if t > 1:
                raise ValueError("no")
            y, h = 3.0, [x, x - 1]
        except ValueError:
            pass
        with contextlib.suppress(KeyError):
            z = 0
            if t > 3:
                z = 5
            {1: 2}[int(t > 0.7)] += 1
            z = 7
        return y, h, z

    return f, [(np.ones(2), t) for t in (4.0, 0.5, 1.5, 2.5, 0.8)], None
