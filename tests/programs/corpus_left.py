"""Loops over iterators that conditions on values leave: what the rest would do has not happened, and is still there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.programs.observe import program

CALLS = [
    (np.array([0.5, 1.25, 3.0]), 1.0),
    (np.array([3.0, 1.25, 3.0]), 1.0),
    (np.array([0.3, 0.25, 0.3]), 1.0),
]


def of(make: Any) -> Any:
    """Enter a program of these calls; `make` gives the function and what to look at."""

    def maker() -> Any:
        f, state = make()
        return f, CALLS, lambda: state

    maker.__name__, maker.__module__ = make.__name__, __name__
    return program(maker)


@of
def generator_that_appends():
    seen = []

    def walk(n):
        for i in range(n):
            seen.append(i)
            yield i * 0.5

    def f(y, q):
        for a in walk(5):
            if a > y[0]:
                return a
        return q

    return f, seen


@of
def generator_that_writes_into_an_array_and_an_object():
    t, s = np.zeros(3), SimpleNamespace(n=0)

    def walk(n):
        for i in range(n):
            t[0] += 1
            s.n += 1
            yield i * 0.5

    def f(y, q):
        g = walk(5)
        for a in g:
            if a > y[0]:
                break
        return q, s.n, next(g, None)

    return f, (t, s)


@of
def generator_that_prints():
    def walk(n):
        for i in range(n):
            print(i)
            yield i * 0.5

    def f(y, q):
        for a in walk(5):
            if a > y[0]:
                break
        return q

    return f, None


@of
def generator_that_raises_later():
    def walk(n):
        for i in range(n):
            if i == 3:
                raise ValueError(i)
            yield i * 0.5

    def f(y, q):
        for a in walk(5):
            if a > y[1]:
                break
        return q + a

    return f, None


@of
def generator_with_a_finally():
    seen = []

    def walk(q, n=6):
        try:
            while n > 0:
                if abs(q) < 0.05:
                    return
                yield q
                q, n = q * 0.5, n - 1
        finally:
            seen.append(n)

    def f(y, q):
        for a, _ in zip(walk(1.5), y, strict=False):
            if a < y[0]:
                break
        seen.append(10)
        for a in walk(1.5):
            if a < y[1]:
                return a
        return q

    return f, seen


@of
def generator_without_an_end():
    def halves(a):
        while True:
            a = a * 0.5
            yield a

    def f(y, q):
        for a in halves(q + y[0]):
            if a < 0.1:
                break
        return a

    return f, None


@of
def function_that_map_calls():
    t = np.zeros(3)

    def seen(v):
        t[0] += v
        return v

    def f(y, q):
        for a in map(seen, [0.1, 0.4, 1.0, 2.0]):
            if a > y[0]:
                break
        return q, a

    return f, t


@of
def iterator_of_a_class():
    s = SimpleNamespace(n=0)

    class Counter:
        def __iter__(self):
            return self

        def __next__(self):
            s.n += 1
            if s.n % 6 == 0:
                raise StopIteration
            return s.n * 0.5

    def f(y, q):
        for a in Counter():
            if a > y[0]:
                break
        return q, s.n

    return f, s


@of
def rest_of_a_list_iterator():
    def f(y, q):
        it = iter([0.1, 0.4, 1.0, 2.0])
        for a in it:
            if a > y[0]:
                break
        return q, next(it, None)

    return f, None


@of
def rest_of_a_zip():
    def f(y, q):
        z = zip([1, 2, 3], y, strict=True)
        for _, b in z:
            if b > 1:
                break
        return q, next(z, None)

    return f, None


@of
def rest_of_what_a_zip_took():
    def f(y, q):
        it = iter([0.1, 0.4, 1.0, 2.0])
        for a, b in zip(it, y, strict=False):
            if b > 1:
                break
        return a, next(it, None)

    return f, None


@of
def rest_of_an_enumeration_that_is_written_out():
    def f(y, q):
        z = enumerate(y)
        for i, b in z:
            q = q + str(i) if b > 99 else q  # not native
            if b > 1:
                break
        return q, next(z, None)

    return f, None


@of
def iterator_of_outside():
    it = iter([0.1, 0.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])

    def f(y, q):
        for a in it:
            if a > y[1]:
                break
        return a

    return f, None


@of
def generator_expressions_in_a_loop():
    def f(y, q):
        for v in range(3):
            for a in (v * 2 + b for b in (0.1, 0.5, 2.0)):
                if a > y[1]:
                    break
            q += a
        return q

    return f, None


@of
def lists_side_by_side_of_which_nobody_sees_more():
    def f(y, q):
        for (i, a), b in zip(enumerate([0.1, 0.5, 2.0]), y, strict=True):
            if a > b:
                break
        return a, i

    return f, None


@of
def function_that_is_asked_until_a_value():
    s = SimpleNamespace(n=0)

    def f(y, q):
        def ask():
            s.n += 1
            return s.n % 9

        for v in iter(ask, 8):
            if v * 0.5 > y[0]:
                break
        return v

    return f, s


@of
def class_that_gives_items_by_place():
    s = SimpleNamespace(n=0)

    class Items:
        def __getitem__(self, i):
            s.n += 1
            return (1.0, 0.25, 2.25)[i]

    def f(y, q):
        for v in Items():
            if v > y[0]:
                return v
        return -1.0

    return f, s


@of
def class_whose_iterator_is_a_generator():
    class Items:
        def __init__(self, of):
            self.of, self.k = of, 0

        def __iter__(self):
            for v in self.of:
                self.k += 1
                yield v

    def f(y, q):
        t = Items(y)
        for v in t:
            if v > 1:
                break
        return t.k, v

    return f, None


@of
def generators_in_loops_of_many_steps():
    s = SimpleNamespace(n=0)

    def walk():
        for v in (0.25, 0.5, 1.0, 2.25):
            s.n += 1
            yield v

    def f(y, q):
        t = 0.0
        for _ in range(50):
            for b in walk():
                if b > y[0]:
                    break
                t += b
        return t

    return f, s


@of
def comparisons_of_the_users_that_are_not_made():
    s = SimpleNamespace(n=0)

    class Item:
        def __init__(self, v):
            self.v = v

        def __eq__(self, other):
            s.n += 1
            return self.v == other

        __hash__ = None

    def f(y, q):
        return y[0] in [Item(3.0), Item(0.5), Item(0.25)], q in (y[0], y[1], 1.0)

    return f, s
