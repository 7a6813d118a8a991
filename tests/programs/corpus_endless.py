"""Programs whose loops run over `itertools.count`."""

from __future__ import annotations

import itertools
from itertools import count
from typing import Any

import numpy as np

from tests.programs.corpus_queues import native
from tests.programs.observe import program


@native
def a_fixed_point_with_its_number() -> Any:
    def f(x, tolerance):
        for k in itertools.count():
            new = np.cos(x)
            if np.abs(new - x).max() < tolerance:
                break
            x = new
        return x, k

    return f, [(np.ones(3), 1e-8), (np.zeros(3), 1e-2), (np.array([0.7390851332151607]), 1e-6)], None


@native
def a_result_from_inside() -> Any:
    def f(x):
        for k in count(5, -2):
            x = x * 0.9
            if x < 1:
                return x, k
        return None

    return f, [(7.0,), (0.5,), (100.0,)], None


@native
def several_ways_out() -> Any:
    def f(x, y):
        s = 0.0
        for k in count(1):
            if k % 2:
                continue
            s += 1 / k**2
            if s > y:
                return "y", k
            if s > x:
                break
        else:
            s = -1.0
        return s, k

    return f, [(0.3, 0.9), (0.9, 0.2), (0.2, 0.2)], None


@native
def from_a_number_of_the_callers() -> Any:
    def f(n, x):
        found = []
        for k in count(n, 3):
            x = x / 2
            found.append(x)
            if k * k > 500 or x < 1e-3:
                break
        return k, np.array(found)

    return f, [(3, 2.0), (-7, 2.0), (100, 2.0), (3, 1e-9)], None


@native
def one_in_another() -> Any:
    def f(x):
        taken = 0
        for _ in range(9):
            for j in count():
                x = x * 0.7 + 0.001 * j
                if x < 1:
                    break
                taken += 1
            x = x + j
        return x, j, taken

    return f, [(20.0,), (0.5,), (1e6,)], None


@program
def a_counter_with_a_name() -> Any:
    def f(x):
        c = count()
        for k in c:
            x = x * 0.5
            if x < 0.1:
                break
        return k, next(c), x

    return f, [(0.3,), (0.4,)], None


@program
def a_counter_that_an_exception_ends() -> Any:
    def f(x):
        try:
            for k in count():
                if x[k] > 100:
                    break
        except IndexError:
            return -1, k
        return 0, k

    return f, [(np.arange(5.0),), (np.arange(5.0) * 60,)], None


@program
def steps_that_are_no_integers() -> Any:
    def f(x):
        for k in count(0.5, 0.25):
            if k > 3:
                break
            x = x * k
        return x, k

    return f, [(3.0,), (4.0,)], None


@program
def integers_that_outgrow_64_bits() -> Any:
    def f(n):
        for k in count(n):
            if k % 5 == 0:
                break
        return k

    return f, [(7,), (2**63 - 2,), (-(2**63),)], None
