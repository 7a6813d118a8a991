"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def module_attribute_set() -> Any:
    module = types.ModuleType("settings")
    module.k = 1.0  # type: ignore[attr-defined]

    def f(x):
        module.k = module.k + 1
        module.made = 2
        return x * module.k

    return f, [(1.0,), (2.0,), (3.0,)], lambda: {k: v for k, v in vars(module).items() if k[0] != "_"}


@program
def module_attribute_read() -> Any:
    module = types.ModuleType("settings")
    module.k = 1.0  # type: ignore[attr-defined]

    def before(n):
        module.k = float(n)
        if n == 2:
            module.extra = 1.0

    return (lambda x: (x * module.k, hasattr(module, "extra"))), [(1.0,)] * 3, None, before


@program
def object_array_of_lists() -> Any:
    a = np.array([[1.0], [2.0, 3.0], None], dtype=object)

    def f(x):
        a[0].append(x)
        a[2] = x
        return len(a[0])

    return f, [(1.0,), (2.0,), (3.0,)], lambda: a


@program
def string_array_changed() -> Any:
    a = np.array(["a", "b"])

    def f(x):
        a[0] = a[1]
        return x * len(a[0])

    def before(n):
        a[1] = "xy"[n % 2]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: a, before


@program
def structured_array_changed() -> Any:
    a = np.zeros(2, dtype=[("x", float), ("n", int)])

    def f(x):
        a["x"] += x
        a[0]["n"] += 1
        return a["x"].sum(), a["n"][0]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: a


@program
def set_of_arrays_by_id() -> Any:
    a, b = np.ones(2), np.zeros(2)
    names = {id(a): "a", id(b): "b"}

    def f(x):
        return names.get(id(x), "?"), x * 2

    return f, [(a,), (b,), (np.ones(2),)], None


@program
def list_holds_itself() -> Any:
    held: list[Any] = [1.0]
    held.append(held)

    def f(x):
        held[1][0] = x
        return held[0] * 2, held[1] is held

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def nested_alias_seen_by_other_name() -> Any:
    inner = {"n": 0.0}
    one, two = {"p": inner}, [inner]

    def f(x):
        two[0]["n"] += x
        return one["p"]["n"], one["p"] is two[0]

    def before(n):
        if n == 2:
            two[0] = {"n": 9.0}

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (one, two), before


@program
def range_slice_and_text_keys() -> Any:
    table = {(1, "a"): 1.0, range(3): 2.0, 1.0: 3.0, None: 5.0, frozenset({1}): 6.0}

    def f(k, x):
        return table[k] * x

    def before(n):
        if n == 4:
            table[None] = 50.0

    return f, [((1, "a"), 1.0), (range(3), 1.0), (1, 1.0), (None, 1.0), (None, 1.0), ("?", 1.0)], None, before


@program
def contexts_with_effects() -> Any:
    depth = [0]

    @contextlib.contextmanager
    def deeper(k):
        depth[0] += k
        try:
            yield depth[0]
        finally:
            depth[0] -= k

    def f(x):
        with deeper(2) as a, deeper(3) as b:
            return x * a + b, depth[0]

    def before(n):
        depth[0] = n

    return f, _vectors(0, 1, 2), lambda: depth, before


@program
def dispatch_registered_within() -> Any:
    @functools.singledispatch
    def show(v):
        return 0.0

    def f(x):
        y = show(1)
        show.register(int, lambda v: 5.0)
        return x + y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: show(1)


@program
def wrapped_by_a_counting_decorator() -> Any:
    def counted(fn):
        @functools.wraps(fn)
        def inner(*args):
            inner.calls += 1
            return fn(*args)

        inner.calls = 0
        return inner

    @counted
    def helper(x):
        return x * 2

    def f(x):
        return helper(helper(x)), helper.calls

    def before(n):
        if n == 2:
            helper.calls = 100

    return f, _vectors(0, 1, 2), lambda: helper.calls, before


@program
def attribute_of_a_helper_added_outside() -> Any:
    def helper(x):
        return x * getattr(helper, "scale", 1.0)

    def before(n):
        if n == 1:
            helper.scale = 5.0
        if n == 2:
            del helper.scale

    return (lambda x: helper(x)), _vectors(1, 1, 1), None, before


@program
def attribute_of_a_helper_deleted() -> Any:
    def helper(x):
        return x

    helper.once = 3.0

    def f(x):
        if hasattr(helper, "once"):
            y = helper.once
            del helper.once
            return x * y
        return x

    return f, _vectors(1, 1, 1), lambda: vars(helper)


@program
def list_of_an_attribute_of_a_helper() -> Any:
    def helper(x):
        helper.seen.append(1)
        return x

    helper.seen = []
    return (lambda x: helper(x)), _vectors(1, 1, 1), lambda: helper.seen
