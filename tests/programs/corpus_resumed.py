"""Iterators that branches resume, classes that are looked into, and what functions and classes are called."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from tests.programs.observe import program

X, Y, Z = np.array([1.5, -2.0, 3.0]), np.array([0.5, 4.0, -1.0]), np.array([-7.0, 2.0, 2.0])
FLOATS = [(1.0,), (2.0,), (0.5,)]


@program
def generator_resumed_in_both_branches() -> Any:
    def numbers():
        yield 1.0
        yield 2.0
        yield 3.0

    def f(x):
        it = numbers()
        a = 0.0
        if x > 1:
            a = next(it)
        else:
            a = next(it) * 10
        return a, list(it)

    return f, FLOATS, None


@program
def builtin_iterators_resumed_in_a_branch() -> Any:
    def f(x):
        numbers, pairs, doubled = iter([1.0, 2.0]), zip([1, 2], [3, 4], strict=True), map(abs, [-1.0, -2.0])
        lazy, counted = (v * 2 for v in [1.0, 2.0]), itertools.count()
        a: Any = 0.0
        if x > 1:
            a = next(numbers), next(pairs), next(doubled), next(lazy), next(counted)
        return a, list(numbers), list(pairs), list(doubled), list(lazy), next(counted)

    return f, FLOATS, None


@program
def counted_under_conditions() -> Any:
    def count():
        n = 0
        while True:
            n += 1
            yield n

    def f(x):
        own, counter, total = count(), itertools.count(), 0
        for v in x:
            if v > 0:
                total += next(own) * 10 + next(counter)
        return total, next(own), next(counter)

    return f, [(X,), (Y,), (Z,)], None


@program
def generator_used_up_in_a_branch() -> Any:
    seen: list[Any] = []

    def marked():
        try:
            seen.append(1)
            yield 1.0
            seen.append(2)
            yield 2.0
        finally:
            seen.append("end")

    def f(x):
        it = marked()
        total = next(it)
        if x > 1:
            total += sum(it)
        else:
            it.close()
        return total, len(seen), list(it)

    return f, FLOATS, lambda: seen


@program
def generator_sent_to_in_a_branch() -> Any:
    def echo():
        got = yield 1.0
        yield got * 2

    def f(x):
        it = echo()
        next(it)
        got = it.send(x) if x > 1 else it.send(-x)
        return got, list(it)

    return f, FLOATS, None


@program
def own_iterator_advanced_in_a_branch() -> Any:
    class Counter:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            return self.n

    def f(x):
        it = Counter()
        a = 0
        if x > 1:
            a = next(it)
        return a, next(it), it.n

    return f, FLOATS, None


@program
def own_iterator_that_ends_by_a_value() -> Any:
    class Halves:
        def __init__(self, x):
            self.x = x

        def __iter__(self):
            return self

        def __next__(self):
            self.x *= 0.5
            if self.x < 0.1:
                raise StopIteration
            return self.x

    halves = Halves(1.0)

    def f(x):
        halves.x = x
        return sum(halves), halves.x, next(halves, "none")

    return f, [(1.0,), (2.0,), (0.05,)], lambda: halves


@program
def own_iterator_that_counts_down() -> Any:
    class Down:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n == 0:
                raise StopIteration
            self.n -= 1
            return self.n

    return (lambda n, x: [v * x for v in Down(n)]), [(3, 1.0), (2, 2.0), (0, 3.0)], None


@program
def names_of_a_class() -> Any:
    class Descriptor:
        def __get__(self, obj: Any, cls: Any = None) -> Any:
            return self if obj is None else 5.0

    class A:
        x = 1.0
        d = Descriptor()

        def m(self):
            return 2

        @staticmethod
        def s():
            return 3

    def f(v):
        found = A.__dict__["x"] == 1.0, callable(vars(A)["m"]), A.__dict__["d"] is A.d
        return found, isinstance(A.__dict__["s"], staticmethod), A().d * v, repr(type(A)), type(A).__name__

    return f, FLOATS, None


@program
def slots_and_no_dict() -> Any:
    class Slotted:
        __slots__ = ("a",)

    o = Slotted()
    o.a = 1.0
    return (lambda x: (hasattr(o, "__dict__"), hasattr(o, "b"), o.a * x)), FLOATS, None


@program
def refused_branches_in_branches() -> Any:
    def chosen(x):
        if x > 1:
            return x, "large"
        if x < 1:
            return -x, "small"
        return None, "one"

    def f(x):
        v, name = chosen(x)
        return name, v if v is None else v * 2

    return f, FLOATS, None


@program
def members_of_a_cached_function() -> Any:
    @functools.lru_cache
    def doubled(n):
        return n * 2

    def f(x):
        return doubled(3) * x, hasattr(doubled, "cache_info"), hasattr(doubled, "other"), callable(doubled)

    return f, FLOATS, None


@program
def hits_of_a_cached_function() -> Any:
    @functools.cache
    def doubled(n):
        return n * 2

    return (lambda n: (doubled(n), doubled.cache_info().currsize)), [(2,), (3,), (2,)], None


@program
def names_of_classes_made_inside() -> Any:
    def f(x):
        @dataclasses.dataclass
        class Point:
            x: float

            def inner(self):
                return lambda: self.x

        def g():
            return 1

        if x > 1:

            def h():
                return 2

            name = h.__qualname__
        else:
            name = g.__qualname__
        return repr(Point(x)), Point.__qualname__, g.__qualname__, Point.inner.__qualname__, len(name) > 3

    return f, FLOATS, None
