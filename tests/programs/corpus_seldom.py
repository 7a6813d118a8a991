"""Programs with branches that seldom happen and end everything, and loops that fill as many lists as they are told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.programs.observe import program

X = np.array([1.5, 2.0, 0.7, 3.1])
CALLS = [(X, 12), (X * 2, 12), (X, 12)]


@program
def iterations_that_do_not_end() -> Any:
    def root(a, most):
        x, n = a, 0
        while abs(x * x - a) > 1e-10:
            x = 0.5 * (x + a / x)
            n += 1
            if n > most:
                raise StopIteration("Max iterations exceeded")
        return x, n

    def f(x, most):
        return root(x[0], most), root(x[1], most)

    return f, CALLS, None


@program
def an_interrupt_at_a_limit() -> Any:
    def f(x, n):
        total = 0.0
        try:
            for k in range(40):
                total += x[k % 4]
                if total > 1e6:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            return None
        return total

    return f, CALLS, None


@program
def a_logarithm_of_a_constant_that_has_none() -> Any:
    floor = -1.0

    def f(x, n):
        best = 0.0
        for k in range(30):
            v = x[k % 4] * math.sin(k)
            best += math.log(floor) if v > 100 else v
        return best

    return f, CALLS, None


@program
def an_error_of_its_own_in_a_deep_branch() -> Any:
    def checked(v):
        if v > 1e3:
            return {"small": v}["large"]
        return v * 0.5

    def f(x, n):
        for _ in range(30):
            x = np.array([checked(v) + 0.1 for v in x])
        return x

    return f, CALLS, None


@program
def a_search_that_gives_up() -> Any:
    def f(x, n):
        low, high = 0.0, x.max()
        for k in range(60):
            middle = (low + high) / 2
            if middle**3 > x[0]:
                high = middle
            else:
                low = middle
            if high - low < 1e-9:
                break
            if k > 55:
                raise StopIteration
        return middle, k

    return f, CALLS, None


@program
def a_path_of_as_many_steps_as_always() -> Any:
    def f(x, n):
        angles, speeds = [x[0]], [0.0]
        for _ in range(n):
            speeds.append(speeds[-1] - 0.1 * np.sin(angles[-1]))
            angles.append(angles[-1] + 0.1 * speeds[-1])
        return np.array(angles), np.array(speeds)

    return f, CALLS, None


@program
def a_path_of_more_steps_each_time() -> Any:
    def f(x, n):
        kept = []
        for k in range(n):
            x = x * 0.9 + 0.01 * k
            kept.append(x.sum())
        return kept, len(kept)

    return f, [(X, 30), (X, 30), (X, 45), (X, 0), (X, 30)], None


@program
def a_history_that_is_returned_early() -> Any:
    def f(x, n):
        if n < 0:
            return []
        rows = []
        for k in range(n):
            rows.append((k, float(x[k % 4])))
        return rows

    return f, [(X, 20), (X, 20), (X, 25), (X, 3)], None


@program
def averages_of_what_may_be_nothing() -> Any:
    def f(x, n):
        none = x[:0]
        return np.median(none), np.average(none), none.mean(), np.nanmedian(none)

    return f, CALLS, None


@program
def spreads_of_waves() -> Any:
    def f(x, n):
        waves = np.exp(1j * np.outer(x, np.arange(n)))
        return np.abs(waves.mean(axis=1)), waves.var(axis=1), np.std(waves)

    return f, CALLS, None


@program
def the_default_pair_and_the_best() -> Any:
    def f(x, n):
        best = none = (0.0, -1)
        tried = []
        for k in range(len(x)):
            pair = (x[k], k) if x[k] > 1 else none
            tried.append(pair)
            if pair[0] > best[0]:
                best = pair
        return best, tried, best is none, tried[0] is tried[-1]

    return f, [(X, 1), (X - 5, 1), (X[::-1].copy(), 1)], None


@program
def a_schedule_of_known_settings() -> Any:
    slow, fast = (0.1, 5), (0.4, 2)

    def f(x, n):
        used = []
        t = x[0] * n
        setting = slow
        while t > 0:
            setting = fast if t > 6 else slow
            used.append(setting)
            t -= setting[0] * 8
        return used, setting is slow, len(used)

    return f, CALLS, None
