"""Objects and lists that lie in containers, where loops and branches decide which they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.observe import PROGRAMS, program

LONG = [(1.5, 9), (0.5, 4), (2.0, 40)]
BOTH = [(4.0,), (2.0,), (5.0,)]


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, by):
        return Point(self.x + by, self.y * 0.5)


@dataclasses.dataclass
class Record:
    x: Any
    y: Any


def _loop(x, n):
    p, held = Point(x, 1.0), [Point(0.0, 0.0)]
    for _ in range(n):
        p = p.moved(0.5)
        held = [p] if p.x > 3.0 else [p.moved(1.0)]
    return p, held


@program
def one_in_a_list_is_changed_after_a_loop() -> Any:
    def f(x, n):
        p, held = _loop(x, n)
        held[0].x = 99.0
        return p.x, held[0].x

    return f, LONG, None


@program
def one_is_returned_in_a_list_too() -> Any:
    return _loop, LONG, None


@program
def a_loop_asks_for_one_in_a_list() -> Any:
    def f(x, n):
        p, c = Point(x, 1.0), 0
        held = [p]
        for _ in range(n):
            if held[0] is p:
                c += 1
            p = p.moved(0.5)
            held = [p]
        return c, held[0] is p, held[0].x

    return f, LONG, None


@program
def lists_that_have_one_list_twice_in_one_branch() -> Any:
    def f(x):
        if x > 3.0:
            a = [x]
            both = [a, a]
        else:
            a = [x]
            both = [a, [2.0]]
        both[0][0] = 7.0
        return both[0] is both[1], both[0] is a, both[1] is a, both[1][0]

    return f, BOTH, None


@program
def a_branch_puts_an_argument_into_a_list() -> Any:
    point = Record(1.0, 2.0)

    def f(p, x):
        if x > 3.0:
            held = [p]
        else:
            held = [Record(2.0, 1.0)]
        return held

    return f, [(point, 4.0), (point, 2.0), (point, 5.0)], lambda: point


@program
def branches_put_two_into_lists_in_either_order() -> Any:
    def f(x):
        p, q = Record(x, 1.0), Record(2.0, x)
        if x > 3.0:
            held = [p, q]
        else:
            held = [q, p]
        return held, p, q

    return f, BOTH, None


@program
def a_captured_list_of_objects_is_returned() -> Any:
    held = [Point(1.0, 2.0), Point(3.0, 4.0)]

    def f(x):
        held[0].x
        return held, held[1], x

    return f, BOTH, lambda: held


@program
def one_is_twice_in_what_a_branch_returns() -> Any:
    def f(x):
        p, q = [x, 1.0], [2.0, x]
        held = [p, q]
        if x > 1.0:
            if p[0] > 3.0:
                return (q, held)
        return None

    return f, BOTH, None


@program
def an_array_in_what_both_branches_choose_is_one() -> Any:
    def f(x):
        a = np.array([x, 1.0])
        p, r = {"a": a}, {"a": a + 1.0}
        held = [p, p] if x > 3.0 else [p, r]
        return held[0], p["a"], held[1]

    return f, BOTH, None


@program
def a_loop_asks_for_tuples_in_a_list() -> Any:
    def f(x, n):
        q = (x, 1.0)
        held, t = [q, (0.0, 0.0)], x + n
        while t > 0.0:
            held = [q, q]
            t -= 1.0
        return held[1] is q, held[0] is held[1], held

    return f, LONG, None


def _either(told: Callable[[Any, Any, Any], Any]) -> Callable[[], Any]:
    def maker() -> Any:
        def f(p, t):
            q, z = p + 1.0, p * 3.0
            held = [q]
            if t > 2:
                q = p * 0.5
            z = q
            if t % 2 > 1:
                z = p.copy()
            return told(held, q, z)

        return f, [(np.ones(3), t) for t in (5.0, 6.0, 2.0, 0.0, 5.5, 1.5)], None

    return maker


for _name, _told in {
    "in a list": lambda held, q, z: (held, q, z),
    "the last one first": lambda held, q, z: (z, held, q),
    "parts": lambda held, q, z: (z[1:], q, q[:2], held, z),
}.items():
    PROGRAMS[f"arrays that may be arrays that may be others: {_name}"] = _either(_told)


def _made_of(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def maker() -> Any:
        def f(x):
            p = make(x)
            if x > 3.0:
                held = p
            else:
                held = make(2.0)
            return p, held

        return f, BOTH, None

    return maker


for _name, _make in {
    "objects": lambda x: Point(x, 1.0),
    "records": lambda x: Record(x, 1.0),
    "dicts": lambda x: {"x": x},
    "lists": lambda x: [x],
    "lists of objects": lambda x: [Point(x, 1.0)],
}.items():
    PROGRAMS[f"a name and one that a branch chose are returned: {_name}"] = _made_of(_make)


@program
def a_list_with_an_argument_is_returned_twice() -> Any:
    class P:
        def __init__(self, x):
            self.x = x

    def f(a, x):
        held = [a]
        inner = {"a": a, "held": held}
        return held, (x, held), inner, [inner, inner["held"]]

    return f, [(P(1.0), 2.0), (P(3.0), 4.0)], None


_TUPLES, _LISTS = [(1.0, 2.0)], [[1.0, 2.0]]


@program
def an_argument_is_compared_with_a_tuple_that_a_branch_chose() -> Any:
    def f(a, x):
        p = (x, 1.0)
        if x > 1.0:
            p = _TUPLES[0]
        return p is a

    return f, [(_TUPLES[0], 2.0), (_TUPLES[0], 0.0), ((1.0, 2.0), 3.0)], None


@program
def an_argument_is_compared_with_a_list_that_a_branch_chose() -> Any:
    def f(a, x):
        p = [x, 1.0]
        if x > 1.0:
            p = _LISTS[0]
        return p is a

    return f, [(_LISTS[0], 2.0), (_LISTS[0], 0.0), ([1.0, 2.0], 3.0)], None


@program
def a_branch_puts_a_list_into_one_that_the_other_replaces() -> Any:
    def f(x):
        p, r = [x], [x + 1.0]
        h, d = [r, p], [p, [2.0 * x]]
        if x > 1.0:
            h[1] = r
        else:
            h = d
        return h, h[0] is h[1]

    return f, [(2.0,), (0.0,), (1.5,)], None


@program
def a_branch_gives_an_object_and_its_caller_a_reversed_view() -> Any:
    def f(a, x):
        v = np.array([1.0, x, x])
        if x > 1.0:
            a.x = v[::-1]
        return a, v

    return (
        f,
        [(Point(np.ones(3), 1.0), 2.0), (Point(np.ones(3), 1.0), 0.0), (Point(np.ones(3), 2.0), 3.0)],
        None,
    )


TAKEN = [(np.arange(1.0, 4.0), 9), (np.ones(3), 4), (np.ones(3), 30), (np.ones(3) * 2, 0)]


@program
def a_tuple_of_a_list_of_traced_length_beside_the_list():
    def f(u, n):
        points = [(u[0], 2.0)]
        for i in range(n):
            points.append((u[0] * i, 1.0))
        return points, points[0]

    return f, TAKEN, None


@program
def two_tuples_of_a_list_of_traced_length_may_be_one():
    def f(u, n):
        points = [(u[0], 2.0)]
        for i in range(n):
            points.append((u[0] * i, 1.0))
        return points[0], points[-1], points[0] is points[-1]

    return f, TAKEN, None
