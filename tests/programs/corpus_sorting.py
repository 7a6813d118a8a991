"""Orders by keys that only the program knows. Those in `NATIVE` have to be native."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

#: Programs that Python must not have to run.
NATIVE: list[Maker] = []


def of_numbers(f: Callable[..., Any]) -> Maker:
    """Enter a program of numbers, some of which are equal."""

    def maker() -> Any:
        x = np.random.default_rng(6).normal(size=24)
        x[5], x[3] = x[9], -x[20]
        return f, [(x,), (-x,), (np.roll(x, 5),)], None

    maker.__name__, maker.__module__ = f.__name__, __name__
    return program(maker)


def native(f: Callable[..., Any]) -> Maker:
    """Enter one that has to be native."""
    NATIVE.append(of_numbers(f))
    return NATIVE[-1]


@native
def numbers_by_size(x):
    xs = x.tolist()
    xs.sort(key=lambda v: -v * v)
    return sorted(x.tolist(), key=abs), sorted(x.tolist(), key=abs, reverse=True), xs


@native
def positions_by_value(x):
    return sorted(range(len(x)), key=lambda i: x[i]), sorted(range(100), key=lambda i: x[i % 24] * i)[:5]


@native
def pairs_by_their_second(x):
    pairs = [(i, x[i]) for i in range(len(x))]
    few = pairs[:4]
    other = sorted(few, key=lambda p: (p[1] > 0, p[0] % 3, p[1]))
    del pairs[:4]
    pairs.sort(key=lambda p: p[1])
    return pairs, other[0] is few[2], other, few


@native
def the_least_and_the_greatest(x):
    best = min(range(len(x)), key=lambda i: x[i])
    return best, max(range(500), key=lambda i: (x[i % 24] > 0, x[i % 24])), max(x, key=lambda v: -v * v)


@native
def keys_that_count(x):
    n = 0

    def key(v):
        nonlocal n
        n += 1
        return v * v

    return sorted(x.tolist(), key=key), n


@native
def an_array_that_is_written(x):
    rows = [x[:3] + 1, x[3:6], x[6:9] * 1]
    least = min(rows, key=lambda row: row.sum())
    least[0] = 100.0
    return rows, least[1]


@native
def nothing_to_choose_from(x):
    nothing: list[float] = []
    return min(nothing, key=lambda v: v, default=x[0]), max(x.tolist(), key=lambda v: v * v, default=None)


@native
def a_list_of_traced_length(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append((v, -v * 2))
    kept.sort(key=lambda p: p[1], reverse=True)
    return kept, min(kept, key=lambda p: p[1])[0], sorted(kept, key=lambda p: (p[0] > 1, p[1]))[0][0]


@native
def in_a_loop(x):
    total = 0.0
    for i in range(100):
        near = [x[i % 24], x[(i + 1) % 24], x[(i + 2) % 24]]
        total += min(near, key=lambda v: abs(v - 0.1)) + sorted(near, key=lambda v: -v)[0]
    return total


@native
def points_by_their_angle(x):
    points = [(x[2 * i], x[2 * i + 1]) for i in range(12)]
    points.sort(key=lambda p: np.arctan2(p[1], p[0]))
    return points


@native
def a_nan_among_the_keys(x):
    y = x.copy()
    y[2] = np.nan
    return sorted(y.tolist(), key=lambda v: v), min(y.tolist(), key=lambda v: v)


@of_numbers
def names_by_numbers(x):
    return sorted(["a", "b", "c"], key=lambda name: x[ord(name) - 97])
