"""Programs that were told apart once: functions made in comprehensions, and which array a name is."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors() -> list[tuple[Any, ...]]:
    return [(1.0,), (np.array([1.0, -2.0]),), (3,)]


@program
def functions_made_in_a_comprehension() -> Any:
    def f(x):
        i = 10
        made = [(lambda k: k * i + x) for i in range(3)]
        return i, [g(2) for g in made]

    return f, _vectors(), None


@program
def functions_made_in_a_comprehension_in_another() -> Any:
    def f(x):
        made = [[lambda: (i, j) for j in range(2)] for i in range(2)]
        return [g() for row in made for g in row], x

    return f, _vectors(), None


@program
def functions_made_in_a_comprehension_over_items() -> Any:
    def f(xs):
        made = [lambda: q for q in xs]
        ordered = [sorted([q, 0.0, 1.0], key=lambda v: -v) for q in (2.0, 3.0)]
        return [g() for g in made], ordered

    return f, [([1.0, 2.0],), (np.arange(3.0),), ((1, 2),)], None


@program
def iterators_made_in_a_comprehension() -> Any:
    def f(xs):
        made = [(q * k for k in (1, 2)) for q in xs]
        return [sum(g) for g in made], [sum(q * k for k in (1, 2)) for q in xs]

    return f, [([1.0, 2.0],), (np.arange(3.0),), ((1, 2),)], None


def _pair() -> tuple[Any, Any]:
    return np.arange(3.0), np.arange(3.0, 6.0)


@program
def asks_which_array_a_branch_chose() -> Any:
    def f(x, y, c):
        z = x if c > 0 else y
        z += 1
        return z is x, z is y, z

    return f, [(*_pair(), 1.0), (*_pair(), -1.0), (*_pair(), 0)], None


@program
def asks_which_array_a_loop_left() -> Any:
    def f(x, n):
        y = x
        for _ in range(n):
            y = y + 1
        return y is x, y

    return f, [(np.ones(2), 40), (np.ones(2), 0), (np.ones(2), 1)], None


@program
def asks_which_array_a_step_chose() -> Any:
    def f(x, y, n):
        for i in range(n):
            z = x if i % 2 else y
            z[i % 3] += i
        return x.sum() - y.sum(), z is x

    return f, [(*_pair(), 40), (*_pair(), 41), (*_pair(), 3)], None


@program
def a_context_that_another_takes() -> Any:
    held = {"k": 1.0}

    @contextlib.contextmanager
    def setting(q):
        old, held["k"] = held["k"], q
        try:
            yield q * 2
        finally:
            held["k"] = old

    def f(x):
        with setting(x) as y, setting(y) as z:
            r = held["k"]
        return r, z, held["k"]

    return f, [(1.0,), (2.5,), (3,)], lambda: held


@program
def guards_of_a_match_that_stays_pythons() -> Any:
    def f(p):
        match p:
            case []:
                return 0
            case [x, y] if x > y:
                return x - y
            case {"a": q, **rest}:
                return q, rest
            case _:
                return None

    return f, [([1.0, 2.0],), ([3.0, 2.0],), ([],), ({"a": 1.0, "b": 2},), (3,)], None


@program
def any_of_items_that_are_counted() -> Any:
    class Counts:
        n = 0

    c = Counts()

    def f(xs):
        def positive(q):
            c.n += 1
            return q > 0

        return all(positive(q) for q in xs), any(positive(q) for q in xs), c.n

    return f, [(np.array([1.0, -2.0, 3.0]),), ([1.0, 5.0, 2.0],), ([-1.0, -2.0],)], lambda: c.n


@program
def any_of_items_that_are_printed_and_written() -> Any:
    def f(xs):
        out = np.zeros(3)

        def put(i):
            print(i)
            out[i] = 1
            return xs[i] > 0

        return any(put(i) for i in range(3)), out

    return f, [(np.array([-1.0, 2.0, 3.0]),), ([1.0, 5.0, 2.0],), ([-1.0, -2.0, -3.0],)], None


@program
def any_that_binds_a_name() -> Any:
    def f(xs, t):
        if any((w := q) > t for q in xs):
            return w
        return None

    return f, [([1.0, 2.0, 3.0], 1.5), ([1.0, 2.0], 9.0), ([5.0], 1.0)], None


@program
def any_of_an_iterator_that_goes_on() -> Any:
    def f(xs):
        rest, given = iter(xs), iter([q > 0 for q in xs])
        return any(q > 0 for q in rest), list(rest), any(given), list(given)

    return f, [([-1.0, 2.0, 3.0],), ([1.0, 5.0, 2.0],), ([-2.0, -1.0],)], None


@program
def objects_sorted_by_their_own_comparison() -> Any:
    class Item:
        def __init__(self, key):
            self.key = key

        def __lt__(self, other):
            return bool(self.key < other.key)

    def f(xs):
        return [i.key for i in sorted(map(Item, xs))], max(xs, key=abs), sorted(xs, key=lambda q: -q)

    return f, [([1.0, -2.0, 3.0],), ([3.0, 2.0],), ([1.0, 2.0, 3.0],)], None


@program
def types_by_branch_with_state() -> Any:
    state = {"n": 0, "last": None}

    def f(x):
        state["n"] += 1
        state["last"] = [x] if x > 0 else None
        return "positive" if x > 0 else 0 if x == 0 else (x, state["n"])

    return f, [(1.0,), (-1.0,), (0.0,), (2.0,), (-3.0,)], lambda: state


@program
def asks_in_each_step_which_array_the_last_one_left() -> Any:
    def f(x, n):
        z = x * 2
        y, w, c = x * 3, z, 0
        for i in range(n):
            if y is x:
                c += 1
            c += 10 * (y is z) + 100 * (w is not y)
            y, w = x if i % 2 else z, y
        return c

    return f, [(np.ones(2), n) for n in (0, 1, 2, 3, 40)], None


@program
def asks_which_of_its_arguments_an_array_is() -> Any:
    both = np.ones(3)

    def f(x, y, z, c):
        chosen = x if c > 0 else y
        return chosen is z, chosen is x, x is z, chosen

    return f, [(*_pair(), both, 1.0), (*_pair(), both, -1.0), (both, both + 1, both, 1.0)], None


@program
def a_loop_without_steps_leaves_what_another_chose() -> Any:
    def f(x, y, n, m):
        a, b, c = x * 2, y, x
        for _ in range(n):
            c = a
        for _ in range(m):
            b = c
            c = a * 0.5
        return b, c

    return f, [(*_pair(), n, m) for n, m in ((0, 0), (0, 1), (2, 0), (1, 1), (2, 3))], None
