"""Programs that keep tuples in several places: the best of a path, records in two lists, states that a loop replaces,
tuples that are there before it, and none or one of them."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tests.programs.observe import PROGRAMS, program

U = np.array([0.5, 1.25, 3.0, -2.0, 1.25, 0.75, 4.0, -1.0])
CALLS = [(U, 4.0), (U[::-1].copy(), 2.5), (U[:1], 1.0), (U * 0, 3.0)]
LONG = [(float(i % 5), i) for i in range(40)]
ORIGIN = (0.25, 7)


def _of(f: Any) -> Any:
    """Enter the program of a function that keeps no state."""
    name = f"corpus_tuples_kept.{f.__name__}"
    assert name not in PROGRAMS
    PROGRAMS[name] = lambda: (f, CALLS, None)
    return f


@_of
def points_of_a_long_table(u, t):
    found, more = [], []
    for p in LONG:
        if p[0] + u[0] > t:
            found.append(p)
        if p[0] + u[0] > 2:
            more.append(p)
    return found, more, LONG[3]


@_of
def points_of_a_long_list_of_its_own(u, t):
    table = [(float(i % 5), i) for i in range(40)]
    found, more = [], []
    for p in table:
        if p[0] + u[0] > t:
            found.append(p)
        if p[0] + u[0] > 2:
            more.append(p)
    return found, more, table[3], table


@_of
def a_point_of_outside_in_a_branch(u, t):
    found = []
    if u[0] > 0.6:
        found.append(ORIGIN)
    found.append(ORIGIN)
    if t > 2:
        found.append((t, 1))
    return found, ORIGIN


@_of
def a_point_of_outside_only_in_a_branch(u, t):
    found = [(t, 2)]
    if u[0] > 0.3:
        found.append(ORIGIN)
    if u[0] > 0.4:
        found.append(found[-1])
    return found


@_of
def one_of_an_outer_loop_in_an_inner_one(u, t):
    a, b = [], []
    while t > 0:
        p = (t, u[0])
        k = 0
        while k < t:
            a.append(p)
            if k > 1:
                b.append((k, p))
            k += 1
        t -= 1.0
    return a, b


@_of
def constants_in_loops(u, t):
    a = []
    while t > 0:
        p = (0.0, 1)
        k = 0
        while k < t:
            a.append(p)
            p = (t, 2)
            k += 1
        t -= 1.0
    return a, len(a)


@_of
def the_greatest_by_a_key_and_all_sorted(u, t):
    a = []
    for i in range(len(u)):
        if u[i] > -1.5:
            a.append((u[i], i))
    best = max(a, key=lambda p: p[0])
    return best, sorted(a, key=lambda p: -p[0]), a


@_of
def moved_about_and_summed(u, t):
    a = []
    while t > -4:
        a.append((t, u[0]))
        t -= 1.0
    x = a.pop()
    a.insert(1, x)
    b = a[1:3]
    a.reverse()
    c = a.copy()
    d = a + b
    return a, b, c, d, x, a[0] is c[0], b[0] is x


@_of
def served_from_both_ends_of_a_deque(u, t):
    q = collections.deque([(t, 0)])
    seen = []
    while q and len(seen) < 20:
        p = q.popleft()
        seen.append(p)
        if p[0] > 0:
            q.append((p[0] - 1.0, p[1] + 1))
            q.appendleft((p[0] - 1.5, p[1] + 2))
        if p[0] < -1:
            q.append(p)
    return seen, q


@_of
def made_and_kept_by_helpers(u, t):
    def made(x):
        return x, x * 2

    def kept(xs, p):
        if p[0] > 1:
            xs.append(p)
        return p

    a, b = [], []
    for i in range(len(u)):
        p = kept(a, made(u[i]))
        b.append(kept(b, p))
    return a, b


@_of
def what_gives_the_same_tuple_and_what_another(u, t):
    a, b = [], []
    while t > 0:
        p = (t, u[0])
        a.append(tuple(p))
        b.append(p[:])
        b.append((*p,))
        b.append(p + ())
        a.append(p * 1)
        t -= 1.0
    return a, b


class Tracker:
    """Keeps the best and all of them."""

    def __init__(self) -> None:
        self.best, self.seen = (0.0, 0), []

    def take(self, p):
        """Look at one more."""
        self.seen.append(p)
        if p[0] > self.best[0]:
            self.best = p


@_of
def an_object_that_keeps_the_best(u, t):
    tracker = Tracker()
    for i in range(len(u)):
        tracker.take((u[i], i))
    return tracker.best, tracker.seen, tracker


@_of
def comprehensions_over_a_path(u, t):
    a = []
    while t > -3:
        a.append((t, u[0]))
        t -= 1.0
    return a, [p for p in a if p[0] > 0], [p for p in a if p[1] < 9], [(p[0], p[1]) for p in a]


@_of
def the_last_one_before_a_break(u, t):
    a, last = [], (0.0, 0.0)
    for i in range(len(u)):
        p = (u[i], t)
        a.append(p)
        if u[i] < 0:
            break
        last = p
    else:
        last = a[0]
    return a, last, last is a[-1]


@_of
def more_than_there_is_room_for(u, t):
    a, b, k = [], [], 0
    while k < t * 500:
        p = (k, t)
        a.append(p)
        if k % 3 == 0:
            b.append(p)
        k += 1
    return a, b


@_of
def two_that_take_turns(u, t):
    p, q, a = (t, 1.0), (u[0], 2.0), []
    while t > 0:
        a.append(p)
        p, q = q, p
        t -= 1.0
    return a, p, q, p is a[0]


@_of
def taken_at_traced_positions_and_put_there(u, t):
    xs = [(u[0], 1.0), (t, 2.0), (u[0] + t, 3.0)]
    a = []
    for i in range(len(u)):
        k = int(abs(u[i])) % 3
        a.append(xs[k])
        xs[k] = (u[i], t)
    return a, xs


@_of
def a_tree_of_tuples(u, t):
    root = ((t, 1.0), (u[0], 2.0))
    a, b = [root], [root[0]]
    while t > 0:
        left, right = a[-1]
        new = (right, (left[0] + t, left[1]))
        if t > 1:
            a.append(new)
        b.append(new[1])
        b.append(left)
        t -= 1.0
    return a, b, root


@_of
def bisection_with_its_ends(u, t):
    low, high = (0.0, 0.0), (t, t)
    path = [low, high]
    while high[0] - low[0] > 0.1:
        middle = ((low[0] + high[0]) / 2, 0.0)
        path.append(middle)
        if middle[0] > u[0]:
            high = middle
        else:
            low = middle
    return low, high, path, low is path[0], high is path[1]


@_of
def the_best_two_of_all(u, t):
    best, second = (u[0], 0), (u[0], 0)
    for i in range(1, len(u)):
        p = (u[i], i)
        if p[0] > best[0]:
            second, best = best, p
        elif p[0] > second[0]:
            second = p
    return best, second, best is second


@_of
def none_until_there_is_one(u, t):
    best, last, path = None, None, []
    for i in range(len(u)):
        p = (u[i], i)
        if u[i] > 1:
            best = p
        if u[i] > 0:
            last = p
        path.append(p)
    return best, last, best is last, best is None, best is path[-1], path


@_of
def none_before_the_first_of_a_path(u, t):
    best, path = None, []
    while t > 0:
        if best is None or u[0] * t > best[0]:
            best = (u[0] * t, t)
        path.append(best)
        t -= 1
    return path, best


@_of
def of_two_lengths(u, t):
    r, path = (t,), [(t, 1)]
    for i in range(len(u)):
        if u[i] > 1:
            r = path[-1]
        elif u[i] > 0.6:
            r = (t, 1)
    return r, path, r is path[0]


@_of
def none_or_one_in_a_dict(u, t):
    d: dict[str, Any] = {"a": None, "b": None}
    for i in range(len(u)):
        p = (u[i], i)
        if u[i] > 0:
            d["a"] = p
        if u[i] > 2:
            d["b"] = p
    return d, d["a"] is d["b"]


@_of
def none_or_one_of_outside(u, t):
    r = q = None
    if t > 2:
        r = ORIGIN
    if u[0] > 0:
        q = ORIGIN
    return r, q, r is q, r is ORIGIN


@_of
def beside_texts(u, t):
    a, b = [], []
    for i in range(len(u)):
        p = ("up" if u[i] > 0 else "down", u[i])
        a.append(p)
        if u[i] > 1:
            b.append(p)
    return a, b


@_of
def printed_while_it_runs(u, t):
    a, best = [], (u[0], 0)
    for i in range(len(u)):
        p = (u[i], i)
        a.append(p)
        if p[0] >= best[0]:
            best = p
        print(best is a[-1], best[0])
    return best, a


@program
def a_journal_that_keeps_the_last() -> Any:
    s: dict[str, Any] = {"all": [], "last": (0.0, 1)}

    def f(u, t):
        for i in range(len(u)):
            p = (u[i], i)
            if u[i] > 0:
                s["all"].append(p)
            else:
                s["all"].append(s["last"])
            s["last"] = p
        return s["last"]

    return f, CALLS, lambda: s


@program
def a_journal_of_none_or_one() -> Any:
    s: dict[str, Any] = {"a": None, "b": (1.5, 2)}

    def f(u, t):
        for i in range(len(u)):
            p = (float(u[i]), i)
            if u[i] > 0:
                s["a"] = p
            if u[i] > 2:
                s["b"] = p
        return s["a"]

    return f, CALLS, lambda: s


def _of_arguments(p, xs, t):
    a = []
    while t > 0:
        a.append(p)
        if t > 2:
            a.append(xs[0])
        if t > 1:
            a.append((t, 3.0))
        t -= 1.0
    return a, p, xs


@program
def tuples_among_arguments() -> Any:
    return _of_arguments, [((1.0, 2.0), [(1.0, 2.5)], 4.0), ((1.0, 3.0), [(1.0, 2.0)], 1.5)], None


@program
def one_tuple_in_two_arguments() -> Any:
    p = (1.0, 2.0)
    return _of_arguments, [(p, [(3.0, 4.0)], 4.0), (p, [p], 3.0)], None
