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
