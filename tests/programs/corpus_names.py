"""Names that may be unbound, and names that may be one of several containers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.programs.observe import program


def a(n: float = 0.0) -> np.ndarray:
    """A fresh array."""
    return np.arange(3.0) + n


@program
def bound_by_a_loop_that_may_have_no_step() -> Any:
    def f(x, n):
        for i in range(n):
            y = x * i
        return y, i

    return f, [(2.0, 3), (2.0, 0), (2.0, 1)], None


@program
def bound_by_a_while_loop_that_may_have_no_step() -> Any:
    def f(x):
        while x > 1.0:
            x = x / 2
            y = x + 1
        return y

    return f, [(10.0,), (0.5,), (3.0,)], None


@program
def bound_by_an_inner_loop() -> Any:
    def f(x, n):
        z = 0.0
        for _ in range(n):
            for j in range(n - 2):
                last = x * j
            z = z + 1
        return last, z

    return f, [(2.0, 5), (2.0, 2), (2.0, 0), (2.0, 3)], None


@program
def bound_by_a_loop_with_else() -> Any:
    def f(x, n):
        for i in range(n):
            y = x + i
            if y > 4:
                break
        else:
            return -1.0
        return y

    return f, [(2.0, 5), (2.0, 0), (9.0, 1)], None


@program
def read_by_a_function_before_a_loop_binds_it() -> Any:
    def f(x, n):
        def g():
            return y

        for i in range(n):
            y = x * i
        return g()

    return f, [(2.0, 3), (2.0, 0)], None


@program
def read_by_a_function_before_a_branch_binds_it() -> Any:
    def f(x):
        g = lambda: y
        if x > 0:
            y = 2 * x
        return g()

    return f, [(2.0,), (-2.0,)], None


@program
def unbound_and_caught() -> Any:
    def f(x, n):
        for i in range(n):
            y = x * i
        try:
            return y
        except UnboundLocalError:
            return -1.0

    return f, [(2.0, 3), (2.0, 0)], None


@program
def a_chosen_argument_is_returned() -> Any:
    def f(p, q, c):
        if c > 0:
            p = q
        return p, q

    return f, [([a()], [a(1)], 1.0), ([a()], [a(1)], -1.0), ([a()], [a(1)], 1.0)], None


@program
def a_chosen_dict_is_returned_beside_another() -> Any:
    def f(x, c):
        p, new = {"w": x + 1}, {"w": x + 2}
        if c > 0:
            p = new
        return p, new, p is new

    return f, [(a(), 1.0), (a(), -1.0)], None


@program
def a_chosen_dict_is_changed() -> Any:
    def f(x, c):
        p, new = {"w": x + 1}, {"w": x + 2}
        if c > 0:
            p = new
        p["w"] = 5.0
        return new["w"], p["w"]

    return f, [(a(), 1.0), (a(), -1.0)], None


@program
def what_a_chosen_list_may_be_is_changed() -> Any:
    def f(x, c):
        p, new = [x + 1], [x + 2]
        r = new if c > 0 else p
        new.append(x)
        return len(r), r[0]

    return f, [(a(), 1.0), (a(), -1.0)], None


@program
def two_names_of_one_chosen_list() -> Any:
    def f(x, c):
        p, q = [x + 1], [x + 2]
        if c > 0:
            u = v = p
        else:
            u = v = q
        u[0] = x
        return v, u is v, p, q

    return f, [(a(), 1.0), (a(), -1.0)], None


@program
def a_list_made_by_a_branch_is_changed() -> Any:
    def f(x, c):
        s = {"w": x * 1} if c > 0 else {"w": x * 2}
        s["v"] = 2.0
        s["w"] += 1
        return s

    return f, [(a(), 1.0), (a(), -1.0)], None


@program
def the_best_of_a_loop_may_be_the_first() -> Any:
    def f(p, c):
        best = now = p
        for _ in range(50):
            now = {"w": now["w"] * 1.01}
            if now["w"].sum() < c:
                best = now
        return best, now

    return f, [({"w": a()}, 1.0), ({"w": a()}, 3.5), ({"w": a()}, 9.0)], None


@program
def a_loop_without_steps_leaves_the_argument() -> Any:
    def f(p, c):
        n = 0.0
        while n < c:
            p = [p[0] + n]
            n = n + 1.0
        p[0] = 7.0
        return n

    p, q = [a()], [a()]
    return f, [(p, 3.0), (q, -1.0), (p, 2.0)], lambda: (p, q)


@program
def whether_a_loop_has_replaced_a_list() -> Any:
    def f(x, c):
        first = p = [x]
        n = 0.0
        while n < c:
            p = [p[0] + n]
            n = n + 1.0
        return p is first, p[0]

    return f, [(a(), 3.0), (a(), -1.0)], None


@program
def a_captured_dict_may_be_chosen() -> Any:
    settings = {"w": a(5)}

    def f(x, c):
        p = {"w": x + 1}
        if c > 0:
            p = settings
        return p

    return f, [(a(), 1.0), (a(), -1.0)], lambda: settings


@program
def ranges_with_traced_ends() -> Any:
    def f(x, n):
        down, halves = np.arange(n, 0, -1), np.arange(n, 0, -0.5)
        return down.sum(), (x[:n] * down).sum(), halves.sum(), np.arange(0, 9, n).sum(), np.eye(n).sum()

    return f, [(a(), 2), (a(), 3), (a(), 1)], None


@program
def a_range_of_a_counter() -> Any:
    def f(x):
        n = np.sum(x > 0)
        return np.arange(n, -n, -2).sum(), np.arange(n, -1, -1).sum()

    return f, [(a(),), (a(1),), (a(-9),)], None


@program
def a_cache_counts_its_calls() -> Any:
    @functools.lru_cache(maxsize=2)
    def nodes(n, kind=("a", 1)):
        return float(n) + kind[1]

    def f(x, n):
        return x * nodes(n) + nodes(2, kind=("b", 2)) + nodes(n)

    return f, [(1.0, 3), (1.0, 3), (1.0, 5), (1.0, 3)], lambda: nodes.cache_info()


@program
def a_cached_recursion() -> Any:
    @functools.cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def f(x, n):
        return x * fib(n)

    return f, [(1.0, 9), (1.0, 9), (1.0, 12)], lambda: fib.cache_info()


@program
def a_cache_of_traced_numbers() -> Any:
    @functools.cache
    def square(x):
        return x * x

    def f(x):
        return square(x) + 1

    return f, [(1.0,), (1.0,), (2.0,)], lambda: square.cache_info()


@program
def a_cache_asked_in_a_loop() -> Any:
    @functools.cache
    def weight(n):
        return n * 2.0

    def f(x):
        for _ in range(100):
            x = x * 0.5 + weight(3)
        return x

    return f, [(1.0,), (1.0,), (2.0,)], lambda: weight.cache_info()


def _deleted(name: str, f: Any) -> Any:
    """Enter a program that deletes a name which may not be bound."""

    def maker() -> Any:
        calls = [
            (np.array([0.25, -2.25, -3.0, -0.5]), 1.5),
            (np.array([0.75, 2.25, 3.0, -0.5]), -1.5),
            (np.array([0.75, 0.25, 0.3, -0.5]), 0.5),
        ]
        return f, calls, lambda: None

    maker.__name__, maker.__module__ = name, __name__
    return program(maker)


def _deleted_in_a_branch_and_after(x, v):
    q = 1.0
    if v > 0.5:
        del q
    del q
    return v


def _deleted_in_steps_that_go_on(x, v):
    q = 1.0
    for z in x:
        if z > 0.5:
            continue
        del q
    return z


def _deleted_in_each_step(x, v):
    q = 1.0
    while v > 0:
        v -= 1
        del q
    return v


def _deleted_where_a_loop_ends_early_or_not(x, v):
    q = 1.0
    for _ in range(3):
        if v > 0.5:
            break
        del q
    else:
        del q  # noqa: F821
    return v


def _deleted_where_one_branch_binds_it(x, v):
    if v > 0:
        q = 1.0
    del q
    return v


for _f in (
    _deleted_in_a_branch_and_after,
    _deleted_in_steps_that_go_on,
    _deleted_in_each_step,
    _deleted_where_a_loop_ends_early_or_not,
    _deleted_where_one_branch_binds_it,
):
    _deleted(_f.__name__[1:], _f)
