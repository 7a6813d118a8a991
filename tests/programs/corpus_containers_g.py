"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import array
import collections
import functools
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def bytearray_only_read() -> Any:
    b, a = bytearray(b"abc"), array.array("d", [1.0, 2.0])

    def before(n):
        b[0] = n
        a[0] = float(n)

    return (lambda b, x: b[0] * x), [(b, 1), (b, 1), (a, 1.0), (a, 1.0)], None, before


@program
def user_containers_given() -> Any:
    class Rows(list):
        pass

    class Table(dict):
        pass

    rows, table, store = Rows([1.0]), Table(a=1.0), collections.UserDict(a=1.0)

    def f(c, k, x):
        if isinstance(c, list):
            c.append(x)
        else:
            c[k] = x
        return len(c), x * 2

    return (
        f,
        [
            (rows, 0, 1.0),
            (rows, 0, 2.0),
            (table, "b", 1.0),
            (table, "c", 1.0),
            (store, "b", 1.0),
            (store, "c", 1.0),
        ],
        lambda: (rows, table, store.data),
    )


@program
def user_containers_with_notes() -> Any:
    class Rows(list):
        pass

    rows = Rows([1.0, 2.0])

    def f(r, x):
        r.note = x
        return sum(r) * x

    return f, [(rows, 1.0), (rows, 2.0), (Rows([5.0]), 3.0)], lambda: rows


@program
def counters_given() -> Any:
    c, d = collections.Counter("aab"), collections.defaultdict(int)

    def f(c, k, x):
        c[k] += 1
        return c[k] * x, len(c)

    return f, [(c, "a", 1.0), (c, "a", 2.0), (d, "a", 3.0), (d, "a", 4.0)], lambda: (c, d)


@program
def defaultdict_given_and_read() -> Any:
    d = collections.defaultdict(float, a=1.0)

    def f(d, k, x):
        return d[k] + x

    return f, [(d, "a", 1.0), (d, "b", 2.0), (d, "b", 3.0)], lambda: d


@program
def cached_array_written() -> Any:
    @functools.lru_cache(maxsize=4)
    def base(n):
        return np.zeros(n)

    def f(x):
        g = base(3)
        g += x
        return g * 1

    return f, _vectors(1, 1, 1), lambda: base(3)


@program
def cached_list_changed() -> Any:
    @functools.cache
    def base(n):
        return [float(n)]

    def f(x):
        g = base(3)
        g.append(x)
        return len(g), g is base(3)

    return f, [(1.0,), (1.0,), (1.0,)], lambda: base(3)


@program
def cached_array_given_back() -> Any:
    kept: list[Any] = []

    @functools.cache
    def base(n):
        return np.zeros(n)

    def f(x):
        return base(3), base(2) + x, base(3) is base(3)

    def before(n):
        base(3)[:] += n

    return f, [(1.0,), (1.0,), (1.0,)], lambda: kept, before


@program
def cache_filled_for_others() -> Any:
    @functools.cache
    def square(n):
        return n * n

    def f(x):
        return x * square(3) + square(4)

    return f, _vectors(1, 1, 1), lambda: square.cache_info()


@program
def same_result_twice() -> Any:
    def f(x):
        y = x + 1
        return y, y, [y], {"a": y}

    return f, [(np.ones(2),), (np.zeros(2),), (np.ones(3),)], None


def views_among_results() -> Any:
    def f(x):
        y = x + 1
        return y, y[1:], y.reshape(-1, 1), y.T

    return f, [(np.ones(4),), (np.zeros(4),), (np.ones(3),)], None


def views_of_arguments_given_back() -> Any:
    w = np.arange(6.0)

    def f(x):
        return x[1:], x.T, w[2:4], w.reshape(2, 3), x

    return f, [(np.ones((2, 3)),), (np.zeros((2, 3)),), (np.ones((3, 2)),)], lambda: w


@program
def argument_containers_given_back_unchanged() -> Any:
    def f(xs, d, t):
        xs[0][:] = 7
        return xs, d, t, d["k"]

    return f, [([np.ones(2)], {"k": np.zeros(2)}, (np.ones(1), [np.ones(1)])) for _ in range(3)], None


@program
def parts_of_arguments_in_new_containers() -> Any:
    def f(xs, d):
        return [xs[0], xs[0]], {"list": xs[1], "k": d}, (xs[1],)

    return f, [([np.ones(2), [np.zeros(1)]], {"k": 1.0}) for _ in range(3)], None


@program
def captured_parts_given_back() -> Any:
    a, d = np.ones(2), {"k": [1.0, 2.0], "a": np.ones(1)}

    def f(x):
        return a, d["k"], d["a"], (d["k"], x)

    def before(n):
        if n == 2:
            d["k"] = [3.0]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (a, d), before


@program
def list_pushed_and_popped() -> Any:
    stack = [1.0, 2.0]

    def f(x):
        stack.append(x)
        total = sum(stack)
        stack.pop()
        return total

    def before(n):
        if n == 2:
            stack.append(50.0)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: stack, before


@program
def default_replaced_within() -> Any:
    def helper(x, k=1.0):
        return x * k

    def f(x):
        y = helper(x)
        helper.__defaults__ = (5.0,)
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: helper.__defaults__


@program
def keyword_default_replaced_within() -> Any:
    def helper(x, *, k=1.0):
        return x * k

    def f(x):
        y = helper(x)
        helper.__kwdefaults__["k"] = 5.0
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: helper.__kwdefaults__


@program
def code_replaced_within() -> Any:
    def helper(x):
        return x * 2

    def f(x):
        y = helper(x)
        helper.__code__ = (lambda x: x + 100).__code__
        return y

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def cell_written_within() -> Any:
    k = 1.0

    def helper(x):
        return x * k

    def f(x):
        y = helper(x)
        helper.__closure__[0].cell_contents = 5.0
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: k


@program
def partial_keywords_changed_within() -> Any:
    g = functools.partial(lambda x, k: x * k, k=2.0)

    def f(x):
        y = g(x)
        g.keywords["k"] = 10.0
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: g.keywords
