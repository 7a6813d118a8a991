"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tests.programs.observe import Keywords, program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def nonlocal_array_and_flag() -> Any:
    best, best_x, found = np.inf, None, False

    def f(x):
        nonlocal best, best_x, found
        v = float((x**2).sum())
        if v < best:
            best, best_x, found = v, x, True
        return best, found

    return f, _vectors(1, 0, 2), lambda: (best, best_x, found)


@program
def nonlocal_deleted() -> Any:
    late = 1.0

    def f(x):
        nonlocal late
        y = x * late
        del late
        late = 2.0  # noqa: F841
        return y

    return f, _vectors(1, 0, 2), lambda: late


@program
def loop_variable_captured_late() -> Any:
    fs = [lambda x: x * k for k in range(3)]
    gs = [lambda x, k=k: x * k for k in range(3)]

    def f(x):
        return [g(x) for g in fs + gs]

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def closures_returned_and_called() -> Any:
    def f(x):
        hs = []
        for k in range(3):
            hs.append(lambda y, k=k: x * y + k)
        total = 0.0

        def add(v):
            nonlocal total
            total = total + v

        for h in hs:
            add(h(2.0))
        return total

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def star_arguments() -> Any:
    def f(a, *rest, scale=1.0, **more):
        head, *middle, last = rest
        return a + head * scale, middle, last, sorted(more), sum(more.values())

    return (
        f,
        [
            (1.0, 2.0, 3.0),
            (1.0, 2.0, 3.0, 4.0, Keywords(scale=2.0, z=1.0, b=2.0)),
            (1.0, 2.0, Keywords(b=1)),
            (1.0, Keywords(scale=3.0)),
        ],
        None,
    )


@program
def keywords_changed_within() -> Any:
    def f(**kw):
        kw["a"] = kw["a"] * 2
        kw.pop("b", None)
        return kw

    return f, [(Keywords(a=1.0, b=2.0),), (Keywords(a=np.ones(2)),), (Keywords(b=1.0, a=2.0, c=3.0),)], None


@program
def walrus_and_scopes() -> Any:
    def f(xs):
        k = 10.0
        ys = [(y := x * k) for x in xs if (k2 := x + 1) > 1.5]
        zs = dict(enumerate(ys))
        if (n := len(ys)) > 1:
            return y, k2, k, zs, n
        return k, zs, n

    return f, [([1.0, 2.0],), ([0.1, 0.2],), ([3.0, 0.0, 1.0],)], None


@program
def recursion_in_a_list() -> Any:
    def flat(t):
        if isinstance(t, list):
            return [v for part in t for v in flat(part)]
        return [t]

    def f(t):
        return flat(t), sum(flat(t))

    return f, [([1.0, [2.0, [3.0]]],), ([[], [1.0]],), ([[[[5.0]]]],)], None


@program
def mutual_recursion_with_state() -> Any:
    depth = [0]

    def even(n):
        depth[0] += 1
        return True if n == 0 else odd(n - 1)

    def odd(n):
        depth[0] += 1
        return False if n == 0 else even(n - 1)

    return even, [(4,), (3,), (0,)], lambda: depth


@program
def higher_order() -> Any:
    def compose(*fs):
        return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)

    steps = [np.sin, lambda x: x + 1, functools.partial(operator.mul, 2.0)]

    def f(x):
        return compose(*steps)(x), list(map(operator.neg, [x, x])), list(filter(lambda v: v > 0, [1, -1]))

    def before(n):
        if n == 1:
            steps.append(np.abs)
        if n == 2:
            steps.reverse()

    return f, _vectors(0, 1, 2), None, before


@program
def registry_by_function() -> Any:
    def double(x):
        return x * 2

    def square(x):
        return x * x

    costs = {double: 1.0, square: 3.0}
    used: list[Any] = []

    def f(op, x):
        costs[op] = costs.get(op, 0.0) + 1
        used.append(op)
        return op(x), costs[op], op is double

    return f, [(double, 1.0), (square, 2.0), (double, 3.0)], lambda: (list(costs.values()), used)


@program
def registry_read_by_function() -> Any:
    def double(x):
        return x * 2

    def square(x):
        return x * x

    costs = {double: 1.0, square: 3.0}

    def f(x):
        return {op.__name__: op(x) * cost for op, cost in costs.items()}, double in costs

    def before(n):
        if n == 1:
            costs[square] = 5.0
        if n == 2:
            del costs[double]

    return f, _vectors(0, 1, 2), None, before


@program
def is_comparisons() -> Any:
    sentinel = object()
    a = np.ones(2)
    held = [a, None, sentinel]

    def f(x, k):
        v = held[k]
        return v is None, v is sentinel, v is a, x is a, held[0] is a, x is x

    def before(n):
        if n == 2:
            held[0] = sentinel

    return f, [(a, 0), (np.ones(2), 1), (a, 2), (np.zeros(2), 0)], None, before


@program
def sorting_with_keys() -> Any:
    order = {"b": 0, "a": 1, "c": 2}
    asked: list[str] = []

    def key(item):
        asked.append(item[0])
        return order[item[0]]

    def f(d):
        return sorted(d.items(), key=key), max(d, key=d.get), min(d.items(), key=lambda kv: -kv[1])

    return f, [({"a": 1.0, "b": 2.0},), ({"c": 0.0, "a": 5.0},), ({"b": 1.0},)], lambda: asked


@program
def sort_held_objects() -> Any:
    rows = [(3.0, "c"), (1.0, "a"), (2.0, "b")]

    def f(reverse):
        rows.sort(key=operator.itemgetter(0), reverse=reverse)
        return rows[0]

    return f, [(False,), (True,), (False,)], lambda: rows


@program
def sort_argument_by_value() -> Any:
    def f(xs):
        xs.sort(reverse=True)
        return xs, sorted(xs)[0]

    return f, [([1.0, 3.0, 2.0],), ([1.0, 2.0],), ([5.0, 4.0, 6.0],)], None


@program
def dict_order_and_update() -> Any:
    d = {"a": 1.0, "b": 2.0}

    def f(k, x):
        old = d.pop(k, None)
        d[k] = x
        return list(d), old

    return f, [("a", 1.0), ("b", 2.0), ("c", 3.0)], lambda: d


@program
def dict_order_changed_outside() -> Any:
    d = {"a": 1.0, "b": 2.0}

    def f(x):
        for k, v in d.items():
            x = x * v + (k == "a")
        return x

    def before(n):
        if n > 0:
            d["a"] = d.pop("a")
        if n == 2:
            d["b"] = d.pop("b")

    return f, [(1.0,), (1.0,), (1.0,)], None, before
