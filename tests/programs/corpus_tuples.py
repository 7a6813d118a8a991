"""Tuples that loops put into lists and dicts, or take from them, and that are in another place too."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from tests.programs.observe import program

#: The last one says how many steps there are, as the program finds out.
CALLS = [(np.arange(1.0, 4.0), 9.0), (np.ones(3), 4.0), (np.ones(3), 30.0), (np.ones(3) * 2, 60.0)]


def _put(name: str) -> Any:
    def f(u, t):
        path, p = [], (u[0], t)
        first = p
        while t > 0:
            if name == "kept":
                path.append(p)
            elif name == "before":
                path.append(p)
                p = (p[0] + u[1], t)
            elif name == "after" or p[0] < 6:
                p = (p[0] + u[1], t)
                path.append(p)
            else:
                path.append(p)
            t -= 1.0
        return path, p, first

    return f


@program
def a_tuple_of_before_a_loop_that_each_step_appends() -> Any:
    return _put("kept"), CALLS, None


@program
def a_tuple_that_is_appended_before_it_is_another() -> Any:
    return _put("before"), CALLS, None


@program
def a_tuple_that_is_appended_and_keeps_its_name() -> Any:
    return _put("after"), CALLS, None


@program
def a_tuple_that_only_some_steps_make_anew() -> Any:
    return _put("some"), CALLS, None


@program
def a_path_of_tuples() -> Any:
    def f(u, t):
        path, p = [], (u[0], t)
        while t > 0:
            path.append(p)
            p = (p[0] + u[1], t)
            t -= 1.0
        return path

    return f, CALLS, None


@program
def the_best_tuple_beside_all_of_them() -> Any:
    def f(u, t):
        path, best = [], (u[0], t)
        while t > 0:
            p = (u[1] * t - t * t, t)
            if p[0] > best[0]:
                best = p
            path.append(p)
            t -= 1.0
        return best, path

    return f, CALLS, None


@program
def a_tuple_in_one_of_two_lists() -> Any:
    def f(u, t):
        small, large = [], []
        while t > 0:
            p = (u[1] * t, t)
            if p[0] > 5:
                large.append(p)
            else:
                small.append(p)
            t -= 1.0
        return small, large

    return f, CALLS, None


@program
def a_tuple_in_both_of_two_lists() -> Any:
    def f(u, t):
        every, large = [], []
        while t > 0:
            p = (u[1] * t, t)
            every.append(p)
            if p[0] > 5:
                large.append(p)
            t -= 1.0
        return every, large

    return f, CALLS, None


@program
def a_tuple_in_a_tuple_that_is_appended() -> Any:
    def f(u, t):
        found, p = [], (u[0], t)
        while t > 0:
            found.append((p, t, (1, 2)))
            t -= 1.0
        return found

    return f, CALLS, None


@program
def an_item_is_put_where_another_one_is() -> Any:
    def f(u, t):
        a = []
        while t > 0:
            a.append((u[1] * t, t))
            t -= 1.0
        a[1] = a[0]
        return a

    return f, CALLS, None


@program
def tuples_in_a_dict_and_a_list() -> Any:
    def f(u, t):
        found, order = {}, []
        while t > 0:
            p = (u[0] * t, t)
            found[int(t)] = p
            order.append(p)
            t -= 1.0
        return found, order

    return f, CALLS, None


@program
def one_tuple_under_several_keys() -> Any:
    def f(u, t):
        found, p = {}, (u[0], t)
        while t > 0:
            found[int(t)] = p
            t -= 1.0
        return found, found[1]

    return f, CALLS, None


@program
def tuples_of_a_heap_and_of_what_it_gave() -> Any:
    def f(u, t):
        heap, seen = [(u[0], t)], []
        while t > 0:
            d = heapq.heappop(heap)
            seen.append(d)
            heapq.heappush(heap, (d[0] + u[1], t))
            heapq.heappush(heap, (d[0] + 2 * u[2], -t))
            t -= 1.0
        return seen, heap

    return f, CALLS, None


# ---------------------------------------------------------------- lists of a known length


def _filled(name: str) -> Any:
    def f(u, t):
        path, p, best = [(u[1], t)], (u[0], t), (u[0], t)
        first = p
        for i in range(64):
            if name == "last":
                last = path[-1]
                path.append((last[0] + u[1], t * i))
                best = path[-1]
            elif name == "named":
                p = (p[0] + u[1], t * i)
                path.append(p)
            elif name == "twice":
                path += [p, first]
                first, p = p, (p[0] + u[1], t * i)
            else:
                path.append(p)
                p = (p[0] + u[1], t * i)
        return path, p, first, best

    return f


@program
def the_last_tuple_of_a_list_and_a_name() -> Any:
    return _filled("last"), CALLS, None


@program
def a_tuple_of_a_list_of_known_length_and_a_name() -> Any:
    return _filled("named"), CALLS, None


@program
def a_tuple_that_two_steps_append() -> Any:
    return _filled("twice"), CALLS, None


@program
def the_first_tuple_of_a_list_of_known_length() -> Any:
    return _filled("first"), CALLS, None


@program
def a_tuple_of_a_list_and_one_that_branches_choose() -> Any:
    def f(a, x, t):
        u, v = np.array([x, 2.0]), np.array([1.0, t])
        p, r = (u, v), (v, v)
        held, count = [p, p], 0
        if t % 2 > 1:
            r = a
        elif x > 1:
            held = [r, r]
        for _ in range(100):
            if held[1] is r:
                count += 1
                r = p
            t -= 1
        return count, r is p

    def arg():
        return np.ones(3) * 5, np.ones(3)

    return f, [(arg(), 1.5, 9.0), (arg(), 0.5, 4.0), (arg(), 2.0, 12.0), (arg(), 2.0, 3.5)], None


@program
def tuples_of_outside_in_another_place_of_their_list():
    t = (float("1.0"), 2.0)
    group = [(float("3.0"), 2.0), t]

    def f(y, k):
        group[int(np.argmax(y)) % 2] = group[1] if k > 0 else t
        return group[0] is group[1]

    calls = [
        (np.array([0.5, 1.25, 3.0]), 1),
        (np.array([0.5, 1.25, 1.0]), 0),
        (np.array([3.0, 1.25, 1.0]), 0),
    ]
    return f, calls, lambda: (group, t)


@program
def tuples_of_a_list_of_outside_in_one_that_a_branch_appends_to():
    found: list[Any] = []

    def f(v):
        found.append((v, 1))
        h = found[:2]
        if v > 2:
            return len(h)
        h.append((v, 1))
        return h

    return f, [(1.5,), (2.5,), (1.0,), (4.5,)], lambda: found
