"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import Any

import numpy as np

from tests.programs.observe import Keywords, program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def buffer_seen_as_an_array() -> Any:
    raw = bytearray(16)

    def f(x):
        a = np.frombuffer(raw, float)
        a[:] += x
        return a.sum()

    return f, [(1.0,), (2.0,), (3.0,)], lambda: bytes(raw)


@program
def generator_argument() -> Any:
    def f(g, x):
        total = x
        for v in g:
            total = total + v
            if v > 2:
                break
        return total, next(g, None)

    return f, [((k * n for k in range(5)), 1.0) for n in (1, 2, 3)], None


@program
def iterator_argument_consumed() -> Any:
    its = [iter([1.0, 2.0, 3.0]), iter((4.0, 5.0)), iter(range(3))]

    def f(it):
        return next(it) * 2

    return f, [(it,) for it in its], lambda: [list(i) for i in map(copy.copy, its)]


@program
def iterator_captured() -> Any:
    it = iter([1.0, 2.0, 3.0])

    def f(x):
        return x * next(it)

    return f, _vectors(0, 1, 2, 3), None


@program
def count_captured() -> Any:
    ids = itertools.count(1)

    def f(x):
        return x * next(ids), next(ids)

    return f, _vectors(0, 1, 2), lambda: repr(ids)


@program
def cycle_captured() -> Any:
    signs = itertools.cycle([1.0, -1.0, 2.0])

    def f(x):
        return x * next(signs)

    return f, _vectors(0, 1, 2, 3), None


@program
def zip_captured() -> Any:
    pairs = zip([1.0, 2.0, 3.0, 4.0], "abcd", strict=True)

    def f(x):
        for v, name in pairs:
            return x * v, name
        return None

    return f, _vectors(0, 1, 2), None


@program
def enumerate_and_map_captured() -> Any:
    e, m = enumerate([5.0, 6.0, 7.0]), map(abs, [-1.0, -2.0, -3.0])

    def f(x):
        k, v = next(e)
        return x * k + v, next(m)

    return f, _vectors(0, 1, 2), None


@program
def dict_iterator_captured() -> Any:
    d = {"a": 1.0, "b": 2.0, "c": 3.0}
    it = iter(d.items())

    def f(x):
        k, v = next(it)
        return k, x * v

    def before(n):
        if n == 2:
            d["z"] = 1.0

    return f, _vectors(0, 1, 2), lambda: d, before


@program
def dict_views_captured() -> Any:
    d = {"a": 1.0, "b": 2.0}
    keys, values = d.keys(), d.values()

    def f(x):
        return len(keys), x * sum(values), "c" in keys

    def before(n):
        if n == 1:
            d["c"] = 5.0
        if n == 2:
            d["a"] = 7.0

    return f, _vectors(0, 1, 2), None, before


@program
def generator_returned() -> Any:
    def f(x):
        def values():
            for k in range(3):
                yield x * k

        return values()

    g = f
    return (lambda x: list(g(x))), [(1.0,), (2.0,), (3.0,)], None


@program
def generator_itself_jitted() -> Any:
    log: list[Any] = []

    def f(n):
        log.append("start")
        while n > 0:
            got = yield n
            log.append(got)
            n -= 1

    return f, [(1,), (2,), (3,)], lambda: log


@program
def generator_sent_to() -> Any:
    def average():
        total, n, mean = 0.0, 0, None
        while True:
            x = yield mean
            total, n = total + x, n + 1
            mean = total / n

    gen = average()
    next(gen)
    return (lambda x: gen.send(x) * 2), [(1.0,), (3.0,), (8.0,)], None


@program
def memo_dict() -> Any:
    memo: dict[int, Any] = {}
    calls: list[int] = []

    def fib(n):
        if n in memo:
            return memo[n]
        calls.append(n)
        memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
        return memo[n]

    return fib, [(5,), (7,), (3,)], lambda: (memo, calls)


@program
def lru_cache_helper() -> Any:
    calls: list[int] = []

    @functools.cache
    def weight(n):
        calls.append(n)
        return 1.0 / (n + 1)

    def f(x, n):
        return x * weight(n), weight.cache_info().hits

    return f, [(np.ones(2), 1), (np.ones(2), 1), (np.ones(2), 2)], lambda: calls


@program
def lru_cache_cleared() -> Any:
    scale = [2.0]

    @functools.lru_cache(maxsize=4)
    def weight(n):
        return scale[0] * n

    def f(x, n):
        return x * weight(n)

    def before(n):
        scale[0] += 1
        if n == 2:
            weight.cache_clear()

    return f, [(np.ones(2), 1), (np.ones(2), 1), (np.ones(2), 1)], None, before


@program
def lru_cache_jitted() -> Any:
    calls: list[Any] = []

    @functools.lru_cache(maxsize=4)
    def f(x):
        calls.append(x)
        return x * 2

    return f, [(1.0,), (1.0,), (2.0,)], lambda: calls


@program
def mutable_default() -> Any:
    def f(x, seen=[]):  # noqa: B006
        seen.append(x)
        return len(seen), sum(seen)

    return f, [(1.0,), (2.0, [5.0]), (3.0,)], lambda: f.__defaults__


@program
def mutable_keyword_default() -> Any:
    def f(x, *, cache={}):  # noqa: B006
        cache[x] = cache.get(x, 0) + 1
        return cache[x]

    return f, [(1.0,), (1.0,), (3.0, Keywords(cache={3.0: 7}))], lambda: f.__kwdefaults__


@program
def default_of_a_helper() -> Any:
    def helper(x, acc=[0.0]):  # noqa: B006
        acc[0] += x
        return acc[0]

    return (lambda x: helper(x) * 2), [(1.0,), (2.0,), (3.0,)], lambda: helper.__defaults__


@program
def nonlocal_counter() -> Any:
    def make():
        n = 0

        def count(x):
            nonlocal n
            n += 1
            return x * n

        return count

    a, b = make(), make()
    return (
        (lambda x, which: (a if which else b)(x)),
        [(np.ones(2), 1), (np.ones(2), 1), (np.ones(2), 0)],
        lambda: (a.__closure__[0].cell_contents, b.__closure__[0].cell_contents),
    )
