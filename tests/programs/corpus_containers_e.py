"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import operator
import types
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def dict_merge_in_place() -> Any:
    d = {"a": 1.0}

    def f(k, x):
        nonlocal d
        old = d
        d |= {k: x}
        return len(d), d is old

    return f, [("a", 2.0), ("b", 2.0), ("c", 3.0)], lambda: d


@program
def set_held() -> Any:
    seen: set[Any] = set()

    def f(k):
        if k in seen:
            return "again", len(seen)
        seen.add(k)
        return "new", len(seen)

    return f, [(1,), (2,), (1,)], lambda: seen


@program
def set_in_place_operators() -> Any:
    s = {1, 2, 3}

    def f(other):
        nonlocal s
        s -= other
        s |= {len(s) + 10}
        return sorted(s)

    return f, [({1},), ({2, 11},), (set(),)], lambda: s


@program
def mapping_proxy_held() -> Any:
    d = {"k": 2.0}
    p = types.MappingProxyType(d)

    def before(n):
        d["k"] = float(n)
        d[str(n)] = 1.0

    return (lambda x: x * p["k"] + len(p)), _vectors(0, 1, 2), None, before


@program
def partial_changed() -> Any:
    held = {"k": 2.0}
    g = functools.partial(lambda x, d, k=1.0: x * d["k"] * k, d=held)

    def before(n):
        held["k"] += 1
        if n == 2:
            g.keywords["k"] = 10.0

    return (lambda x: g(x)), _vectors(0, 1, 2), None, before


@program
def partial_of_a_list() -> Any:
    held: list[Any] = []
    push = functools.partial(held.append)

    def f(x):
        push(x)
        return len(held)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def bound_method_of_a_list() -> Any:
    held: list[Any] = []
    push, pop = held.append, held.pop

    def f(x):
        push(x)
        push(x + 1)
        return pop()

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def unbound_methods() -> Any:
    held, table = [1.0], {"a": 1.0}

    def f(x):
        list.append(held, x)
        dict.update(table, b=x)
        dict.__setitem__(table, "c", x)
        return len(held), len(table)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, table)


@program
def operator_setitem() -> Any:
    held, table = [1.0, 2.0], {"a": 1.0}

    def f(x):
        operator.setitem(held, 0, x)
        operator.iadd(held, [x])
        operator.setitem(table, "a", x)
        operator.delitem(held, 1)
        return held[-1]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, table)


@program
def map_with_side_effects() -> Any:
    held: list[Any] = []

    def f(xs):
        collections.deque(map(held.append, xs), maxlen=0)
        [held.append(x) for x in xs if x > 1]
        return sum(1 for x in xs if not held.append(x))

    return f, [([1.0, 2.0],), ([3.0],), ([],)], lambda: held


@program
def grouping() -> Any:
    def f(items):
        groups = {}
        for k, v in items:
            groups.setdefault(k, []).append(v)
        by = {k: list(g) for k, g in itertools.groupby(items, key=lambda kv: kv[0])}
        return groups, by, list(itertools.accumulate(v for _, v in items))

    return f, [([("a", 1.0), ("b", 2.0), ("a", 3.0)],), ([("z", 1.0)],), ([],)], None


@program
def matrix_of_lists() -> Any:
    grid = [[0.0] * 3 for _ in range(2)]
    shared = [[0.0] * 2] * 2

    def f(i, j, v):
        grid[i][j] = v
        shared[i][j % 2] += v
        return [sum(row) for row in grid], shared[0] is shared[1], [list(c) for c in zip(*grid, strict=True)]

    return f, [(0, 1, 2.0), (1, 2, 3.0), (0, 0, 4.0)], lambda: (grid, shared)


@program
def copies_and_deep_copies() -> Any:
    held = {"a": [np.ones(2), 1.0], "b": np.zeros(2)}

    def f(x):
        shallow, deep = copy.copy(held), copy.deepcopy(held)
        shallow["a"][0] += x
        deep["b"] += x
        shallow["c"] = deep["b"]
        return shallow, deep["b"], len(held)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def results_share_parts() -> Any:
    def f(x):
        part = [x, x + 1]
        return part, part, {"p": part}, (part[0], part[0])

    return f, [(np.ones(2),), (np.zeros(2),), (1.0,)], None


@program
def argument_given_back() -> Any:
    def f(xs, d):
        xs[0] = xs[0] + 1
        return xs, d, [xs, d["k"]]

    return f, [([np.ones(2)], {"k": np.zeros(2)}) for _ in range(3)], None


@program
def captured_list_given_back() -> Any:
    held = [np.ones(2), np.zeros(2)]

    def f(x):
        held[0][:] = x
        return held

    def before(n):
        if n == 2:
            held.append(np.ones(1))

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held, before


@program
def tuple_of_a_list_changed() -> Any:
    held = ([1.0], [2.0, 3.0])

    def f(x):
        try:
            held[0] += [x]
        except TypeError as e:
            return str(e), len(held[0])
        return None

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def changed_while_iterated() -> Any:
    def f(xs, d):
        for x in xs:
            if x < 3:
                xs.append(x + 2)
        try:
            for k in d:
                d[k + "x"] = 1.0
        except RuntimeError as e:
            return xs, str(e), len(d)
        return xs

    return f, [([1.0, 2.0], {"a": 1.0}), ([5.0], {}), ([0.0], {"b": 2.0})], None


@program
def simulation_with_ledger() -> Any:
    ledger: list[tuple[str, float]] = []
    balance = collections.defaultdict(float)
    limits = {"a": 10.0}

    def pay(who, to, amount):
        if balance[who] - amount < -limits.get(who, 0.0):
            raise ValueError(f"{who} can't pay {amount}")
        balance[who] -= amount
        balance[to] += amount
        ledger.append((who, amount))

    def f(orders):
        done = failed = 0
        for who, to, amount in orders:
            try:
                pay(who, to, amount)
                done += 1
            except ValueError:
                failed += 1
        return done, failed, sum(balance.values())

    def before(n):
        limits["b"] = 3.0 * n

    return (
        f,
        [([("a", "b", 5.0), ("b", "c", 7.0)],), ([("b", "a", 7.0)],), ([("c", "a", 1.0), ("a", "c", 9.0)],)],
        lambda: (ledger, balance, limits),
        before,
    )
