"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import collections
import operator
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


_total = 0.0


_history: list[Any] = []


_table: dict[Any, Any] = {}


def _reset() -> None:
    global _total, _scale
    _total, _scale = 0.0, 2.0
    _history.clear()
    _table.clear()
    globals().pop("_made_late", None)


@program
def global_number_added_to() -> Any:
    _reset()

    def f(x):
        global _total
        _total += x.sum()
        return x * _total

    def before(n):
        if n == 2:
            globals()["_total"] = 100

    return f, _vectors(0, 1, 2), lambda: _total, before


@program
def global_by_globals() -> Any:
    _reset()

    def f(x):
        globals()["_total"] = _total + 1
        return x * globals()["_total"]

    return f, _vectors(0, 1, 2), lambda: _total


@program
def global_update() -> Any:
    _reset()

    def f(x):
        globals().update(_total=_total + 2)
        return x + _total

    return f, _vectors(0, 1, 2), lambda: _total


@program
def global_made_and_deleted() -> Any:
    _reset()

    def f(x):
        global _made_late
        try:
            y = x + _made_late
            del _made_late
            return y
        except NameError as e:
            _made_late = 5.0
            return str(e)

    return f, _vectors(0, 1, 2), lambda: "_made_late" in globals()


@program
def global_set_by_helper() -> Any:
    _reset()

    def helper(v):
        global _scale
        _scale = v

    def f(x):
        old = _scale
        helper(old * 2)
        return x * old + _scale

    return f, _vectors(0, 1, 2), lambda: _scale


@program
def global_list_and_dict() -> Any:
    _reset()

    def f(x):
        _history.append(x)
        _table[len(_history)] = x.sum()
        return sum(_history), max(_table.values())

    def before(n):
        if n == 2:
            del _history[0]

    return f, _vectors(0, 1, 2), lambda: (_history, _table), before


@program
def refused_after_changes_of_everything() -> Any:
    _reset()
    held, d, s, q, n = [1.0], {"a": 1.0}, {1}, collections.deque([1.0]), 0
    gen = (k for k in range(10))

    def f(x):
        global _total
        nonlocal n
        n += 1
        _total += 1
        next(gen)
        held.append(2.0)
        d["b"] = 2.0
        s.add(2)
        q.append(2.0)
        _history.append(1)
        print("acts")
        return n

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, d, s, q, n, _total, _history, next(gen))


@program
def list_methods_each() -> Any:
    held = [3.0, 1.0, 2.0]
    moves = {
        "append": lambda v: held.append(v),
        "extend": lambda v: held.extend([v, v]),
        "insert": lambda v: held.insert(0, v),
        "pop": lambda v: held.pop(),
        "remove": lambda v: held.remove(1.0),
        "sort": lambda v: held.sort(),
        "reverse": lambda v: held.reverse(),
        "slice": lambda v: held.__setitem__(slice(0, 1), [v, v]),
        "imul": lambda v: operator.imul(held, 2),
        "clear": lambda v: held.clear(),
        "index": lambda v: held.index(v),
    }

    def f(name, v):
        return moves[name](v), len(held)

    return f, [(n, float(k)) for k, n in enumerate(moves)], lambda: held


@program
def slice_assignment() -> Any:
    held = [0.0, 1.0, 2.0, 3.0]

    def f(x):
        held[1:3] = [x]
        held[::2] = [v + 1 for v in held[::2]]
        del held[-1:]
        return sum(held)

    return f, [(5.0,), (6.0,), (7.0,)], lambda: held


@program
def list_in_place_add() -> Any:
    held: list[Any] = []
    alias = held

    def f(x):
        nonlocal held
        held += [x, x + 1]
        return len(held), held is alias

    def before(n):
        nonlocal held
        if n == 2:
            held = list(held)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, alias), before


@program
def same_list_twice() -> Any:
    def f(a, b):
        a.append(b[0])
        b[0] = len(a)
        return a is b, a, b

    one = [1.0, 2.0]
    two = [3.0]
    return f, [(one, one), (one, two), (two, two)], None


@program
def same_array_twice_in_a_list() -> Any:
    a, b = np.zeros(2), np.ones(2)
    held = [a, a, b]

    def f(x):
        held[0] += x
        held[2][0] = held[1].sum()
        return held[1] * held[2]

    def before(n):
        if n == 1:
            held[1] = a.copy()
        if n == 2:
            held[2] = a

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (a, b, held), before


@program
def list_of_arrays_changed() -> Any:
    def f(arrays, k):
        for n, a in enumerate(arrays):
            a *= k
            a[0] = n
        arrays[0], arrays[-1] = arrays[-1], arrays[0]
        return arrays[0]

    return f, [([np.ones(2), np.ones(3), np.ones(2)], k) for k in (2.0, 3.0, 4.0)], None


@program
def argument_list_grows() -> Any:
    def f(xs):
        while len(xs) < 5:
            xs.append(xs[-1] + xs[-2])
        return xs[-1]

    return f, [([1.0, 1.0],), ([2.0, 3.0],), ([np.ones(2), np.zeros(2)],)], None


@program
def argument_dict_changed() -> Any:
    def f(d):
        d["n"] = d.get("n", 0) + 1
        d.setdefault("seen", []).append(d["x"])
        d.pop("drop", None)
        return d

    return f, [({"x": 1.0},), ({"x": 2.0, "n": 3, "drop": 0},), ({"seen": [0.0], "x": np.ones(2)},)], None


@program
def argument_set_changed() -> Any:
    def f(s, k):
        s.add(k)
        s.discard(1)
        return len(s), k in s, sorted(s)

    return f, [({1, 2}, 3), ({1}, 1), (set(), 5)], None


@program
def argument_deque_changed() -> Any:
    def f(d, x):
        d.append(x)
        d.rotate(1)
        return d[0], d.maxlen

    return f, [(collections.deque([1.0, 2.0], 3), k) for k in (1.0, 2.0, 3.0)], None


@program
def nested_argument_changed() -> Any:
    def f(tree, k):
        for key, (a, rest) in tree.items():
            a += k
            rest["n"] = key
        tree["new"] = (a, rest)
        return len(tree)

    return f, [({"a": (np.ones(2), {}), "b": (np.zeros(2), {"n": 0})}, k) for k in (1.0, 2.0, 3.0)], None


@program
def window_in_a_deque() -> Any:
    window = collections.deque(maxlen=2)

    def f(x):
        window.append(x)
        return sum(window) / len(window)

    def before(n):
        if n == 3:
            window.clear()

    return f, [(float(k),) for k in range(4)], lambda: window, before
