"""What programs do with lists whose length only the program knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.corpus_queues import native
from tests.programs.observe import program

X = np.random.default_rng(0).normal(size=40)
THREE = [(X,), (X[::-1].copy(),), (np.abs(X) + 1,)]
NONE = (-np.abs(X),)


def positive(x: Any) -> Any:
    found = []
    for i in range(len(x)):
        if x[i] > 0:
            found.append(x[i])
    return found


def places(x: Any) -> Any:
    return [i for i in range(len(x)) if x[i] > 0]


def pairs(x: Any) -> Any:
    return [(i % 3, x[i]) for i in range(len(x)) if x[i] > 0]


@native
def sums_and_extrema() -> Any:
    def f(x):
        found, at = positive(x), places(x)
        return sum(found), sum(at), min(found), max(found), max(at), any(found), all(at)

    return f, THREE, None


@native
def sorted_lists() -> Any:
    def f(x):
        found = pairs(x)
        found.sort()
        return sorted(positive(x)), sorted(places(x), reverse=True), found

    return f, THREE, None


@native
def arrays_of_lists() -> Any:
    def f(x):
        found = positive(x)
        return (
            np.array(found),
            np.asarray(places(x)),
            np.array(found, np.float32),
            np.mean(found),
            np.cumsum(found),
        )

    return f, THREE, None


@native
def slices_of_lists() -> Any:
    def f(x):
        at = places(x)
        return at[1:], at[:3], at[-3:], at[2:5], at[:-2], at[::-1], at[:100], at[at[0] % 4 :]

    return f, THREE, None


@native
def items_that_are_found() -> Any:
    def f(x):
        at = places(x)
        return 3 in at, at.index(at[1]), at.count(2), at[-1] not in at

    return f, THREE, None


@native
def items_in_the_middle() -> Any:
    def f(x):
        at = places(x)
        taken = at.pop(0), at.pop(3), at.pop(-2)
        at.insert(2, 100)
        at.insert(-1, 7)
        at.insert(1000, 8)
        at.remove(100)
        at.reverse()
        at.extend([1, 2])
        at += [3]
        return at, taken

    return f, THREE, None


@native
def loops_over_lists() -> Any:
    def f(x):
        found, s = positive(x), 0.0
        for v in found:
            s += v * v
        for i, v in enumerate(found):
            s += i * v
        for v in reversed(found):
            s = 0.5 * s + v
        for v, i in zip(found, places(x), strict=False):
            s += v * i
        return s

    return f, THREE, None


@native
def copies_of_lists() -> Any:
    def f(x):
        found = positive(x)
        other, third = list(found), found.copy()
        other.append(1.5 * x[0])
        return found, other, third, [2 * v for v in found], [v for v in found if v > 0.5]

    return f, THREE, None


@native
def pairs_are_joined_until_one_is_left() -> Any:
    def f(x):
        found = positive(x)
        while len(found) > 1:
            a, b = found.pop(), found.pop()
            found.append(a + b)
        return found

    return f, [*THREE, NONE], None


@native
def a_comprehension_of_a_traced_length() -> Any:
    def f(x, n):
        squares = [i * i for i in range(n % 50)]
        return squares, len(squares), [x[i] for i in range(n) if x[i] > 0]

    return f, [(X, np.int64(7)), (X, np.int64(33)), (X, np.int64(0))], None


@program
def lists_without_items() -> Any:
    def f(x):
        found, at = positive(x), places(x)
        return np.array(found), np.array(at), sum(found), at[:2], at[::-1], sorted(found)

    return f, [*THREE, NONE], None


@program
def the_least_of_nothing() -> Any:
    def f(x):
        return min(positive(x))

    return f, [*THREE, NONE], None


@program
def an_item_that_is_not_there() -> Any:
    def f(x):
        at = places(x)
        at.remove(at[0])
        return at.index(at[0]), at.index(1000)

    return f, THREE, None


@program
def an_iterator_of_a_list_that_changes_then() -> Any:
    def f(x):
        found = positive(x)
        both = zip(found, found, strict=False)
        found.append(x[0])
        s = 0.0
        for a, b in both:
            s += a * b
        return s

    return f, THREE, None


@program
def nan_among_items() -> Any:
    def f(x, nan):
        found = [nan]
        for i in range(len(x)):
            if x[i] > 0:
                found.append(x[i])
        return nan in found, min(found), max(found), sorted(found), found.count(nan)

    return f, [(X, np.float64("nan")), (X, np.float64(0.5))], None


@program
def lists_beside_each_other() -> Any:
    def f(x):
        a, b = positive(x), positive(-x)
        return a + b, a == b, a < b, a * 2, len(a) + len(b)

    return f, THREE, None
