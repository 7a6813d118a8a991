"""Lists and dicts of classes of the user's: stacks with more methods, tables with dots."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

NATIVE: list[Maker] = []
X = np.arange(3.0)


def native(maker: Maker) -> Maker:
    NATIVE.append(maker)
    return program(maker)


class Stack(list):
    """Has methods of its own, one of them in the place of list's, and attributes."""

    limit = 3

    def push(self, v):
        self.append(v)
        self.last = v
        return len(self)

    def total(self):
        return sum(self)

    def append(self, v):
        self.pushed = getattr(self, "pushed", 0) + 1
        super().append(v)


class Attrs(dict):
    """A table with dots."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as e:
            raise AttributeError(name) from e

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        del self[name]

    def scaled(self, k):
        return Attrs({n: v * k for n, v in self.items() if not isinstance(v, dict)})


class Filled(dict):
    """Makes what is missing."""

    def __missing__(self, key):
        made = self[key] = [key]
        return made


class Sorted(list):
    """Goes its own way to what is in it."""

    def __iter__(self):
        return iter(sorted(list.__iter__(self)))


@native
def a_stack_of_outside() -> Any:
    s = Stack([1.0])

    def f(x):
        n = s.push(x)
        return n, s.total(), s[-1], s.last, isinstance(s, list), type(s).__name__, s[:2], s.limit

    return f, [(1.0,), (2.0,), (3.0,)], lambda: s


@native
def stacks_as_arguments() -> Any:
    stacks = [Stack([1.0, 2.0]), Stack([5.0])]
    calls = [(copy.deepcopy(s), 2.0) for s in (*stacks, *stacks)]
    return lambda s, x: (s.push(x), s.total(), s), calls, lambda: stacks


@native
def a_table_that_changes() -> Any:
    table = Attrs(w=np.ones(3), inner=Attrs(k=2.0))

    def f(x):
        y = x * table.w * table.inner.k
        table.inner.k = x.sum()
        table.new = x
        table["w"] = table.w + 1
        for _ in range(20):
            table.w = table.w * 1.1
        if x.sum() > 2:
            table.inner.k += 1
        return y, table.scaled(2.0), Attrs(a=y, b=Attrs(c=x))

    return f, [(X * k,) for k in (0.1, 1.0, 2.0, 3.0)], lambda: table


@native
def a_table_that_loses_names() -> Any:
    table = Attrs(a=1.0)

    def f(x):
        del table.a
        table.b = x
        others = dict(table), Attrs(table), table.copy(), {**table}
        table.a = 3.0
        return others, list(table), len(table), "a" in table, table == {"b": x, "a": 3.0}

    return f, [(1.0,), (2.0,)], lambda: table


@native
def makes_what_is_missing() -> Any:
    found = Filled()

    def f(x, key):
        found[key].append(x)
        return len(found), found[key]

    return f, [(1.0, "a"), (2.0, "b"), (2.0, "a"), (2.0, "a")], lambda: found


@native
def stacks_that_are_made() -> Any:
    def f(xs):
        r = Stack()
        for x in xs:
            r.push(x)
        n = 0
        while n < 3 and r.total() > 0:
            r.push(-r[0])
            n += 1
        return r, r.total(), [r, r], {"r": r}

    return f, [([1.0, 2.0],), ([3.0, 4.0],), ([-1.0],)], None


@native
def a_stack_that_grows_in_a_branch() -> Any:
    s = Stack([1.0])

    def f(x):
        if x > 1:
            s.push(x)
        return s, s.total()

    return f, [(0.5,), (2.0,), (3.0,)], lambda: s


@program
def goes_its_own_way() -> Any:
    s = Sorted([3.0, 1.0])

    def f(x):
        s.append(x)
        return list(s), s[0], Sorted([x, 0.0]), [v * x for v in s]

    return f, [(2.0,), (-1.0,)], lambda: list.copy(s)
