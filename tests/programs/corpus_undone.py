"""What a branch that is not taken would have changed: attributes of functions, classes, exceptions, objects of libraries."""

from __future__ import annotations

import enum
import functools
import types
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([1.0, 2.0, 2.5])
CALLS = [(A, 1.0), (A, -1.0), (A, 2.0), (np.arange(40.0), 0.1), (A, -2.0)]


def helper(v=1.0):
    return v + 1


@program
def attributes_of_functions_of_outside() -> Any:
    vars(helper).clear()

    def f(x, c):
        for v in x:
            if v * c > 1.5:
                helper.calls = getattr(helper, "calls", 0) + 1
        return helper(c) * getattr(helper, "calls", 0)

    return f, CALLS, lambda: dict(vars(helper))


@program
def attributes_and_defaults_of_functions_made_within() -> Any:
    def f(x, c):
        def inner(v, k=1.0):
            inner.n += 1
            return v * inner.n * k

        inner.n = 0
        out = 0.0
        for v in x:
            if v * c > 1.5:
                out += inner(v)
        if c > 0:
            inner.__defaults__ = (3.0,)
        elif x[0] > 5:
            inner.more = 1
        return out, inner.n, inner(c), hasattr(inner, "more")

    return f, CALLS, None


@program
def classes_made_within() -> Any:
    def f(x, c):
        class Counter:
            n = 0

            def up(self):
                type(self).n += 1
                return self.n

            @classmethod
            def reset(cls):
                cls.n = 10

        class Empty:
            n = 0

        one, out = Counter(), 0
        for v in x:
            if v * c > 1.5:
                out = one.up()
        if c > 1:
            Counter.reset()
        if x[0] * c > 0:
            Empty.n, Empty.new = 5, c
            type(Empty()).tag = "tag"
        same = type(one) is Counter, type(Empty()) is Empty, one.up.__self__.__class__ is Counter
        return out, Counter.n, one.n, Empty.n, hasattr(Empty, "new"), hasattr(Empty, "tag"), same

    return f, CALLS, None


@program
def objects_of_libraries_made_within() -> Any:
    def f(x, c):
        double, p, e = functools.partial(lambda a, b: a * b, 2.0), np.poly1d([1.0, 2.0]), ValueError("a")
        m = types.ModuleType("made")
        m.a = 1

        class Kind(enum.Enum):
            A = 1

        if c > 0:
            double.tag, p[0], e.tag, m.a, Kind.A.tag = 1, 5.0, 1, 2, 3
        if x[0] * c > 0:
            e.args = ("b", 1)
        tags = hasattr(double, "tag"), hasattr(e, "tag"), hasattr(Kind.A, "tag")
        return double(c), tags, p.c.tolist(), e.args[0], m.a

    return f, CALLS, None
