"""Tuples of one step of which a branch chooses one: it is the same as that, in lists, in dicts and to `is`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

U = np.array([0.5, 1.25, 3.0, -2.0, 1.25, 0.75, 4.0, -1.0])
CALLS = [(U, 4.0), (U[::-1].copy(), 2.5), (U[:1], 1.0)]


@program
def both_appended() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            if u[i] > -1.5:
                s = (u[i], i)
                path.append(s)
                r = s if u[i] > 1 else (u[i], -1)
                path.append(r)
        return path

    return f, CALLS, None


@program
def chosen_first() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            if u[i] > -1.5:
                path.append(s)
                path.append(r)
        return path

    return f, CALLS, None


@program
def two_lists() -> Any:
    def f(u, t):
        path, other = [], []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            if u[i] > -1.5:
                other.append(r)
                path.append(s)
        return path, other

    return f, CALLS, None


@program
def siblings() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            q = s if u[i] < 2 else (u[i], -2)
            if u[i] > -1.5:
                path.append(q)
                path.append(r)
        return path

    return f, CALLS, None


@program
def last_left() -> Any:
    def f(u, t):
        path = []
        last = (0.0, 0)
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            if u[i] > -1.5:
                path.append(s)
            last = r
        return path, last

    return f, CALLS, None


@program
def asked_is() -> Any:
    def f(u, t):
        path, n = [], 0
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            if u[i] > -1.5:
                path.append(s)
                n += path[-1] is r
        return path, n

    return f, CALLS, None


@program
def known_length() -> Any:
    def f(u, t):
        path, other = [], []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            path.append(s)
            other.append(r)
        return path, other

    return f, CALLS, None


@program
def only_chosen() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            path.append(r)
        return path

    return f, CALLS, None


@program
def only_chosen_cond() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            if r[1] > -1:
                path.append(r)
        return path, len(path)

    return f, CALLS, None


@program
def if_statement() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = (u[i], -1)
            if u[i] > 1:
                r = s
            elif u[i] < 0:
                r = (0.0, 0)
            if u[i] > -1.5:
                path.append(s)
                path.append(r)
        return path

    return f, CALLS, None


@program
def keyed() -> Any:
    def f(u, t):
        d = {}
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            if u[i] > -1.5:
                d[i] = s
                d[i + 100] = r
        return d

    return f, CALLS, None


@program
def inner_tuple() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = (s, 1) if u[i] > 1 else ((u[i], -1), 2)
            if u[i] > -1.5:
                path.append(r)
                path.append((s, 3))
        return path

    return f, CALLS, None


@program
def while_two() -> Any:
    def f(u, t):
        path = []
        i = 0
        while i < len(u) and t > 0:
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            path.append(s)
            path.append(r)
            i += 1
            t -= u[i - 1]
        return path

    return f, CALLS, None


@program
def known_length_last() -> Any:
    def f(u, t):
        path = []
        s = (0.0, 0)
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            path.append(r)
        return path, s

    return f, CALLS, None


@program
def known_length_one_list() -> Any:
    def f(u, t):
        path = []
        for i in range(len(u)):
            s = (u[i], i)
            r = s if u[i] > 1 else (u[i], -1)
            path.append(r)
            path.append(s)
        return path

    return f, CALLS, None


@program
def comprehension() -> Any:
    def f(u, t):
        path = [((u[i], i), u[i]) for i in range(len(u))]
        out = []
        for p in path:
            q = p if p[1] > 1 else ((p[1], -1), 2.0)
            out.append(q)
        return path, out

    return f, CALLS, None


@program
def no_loop() -> Any:
    def f(u, t):
        s = (u[0], t)
        r = s if u[0] > 1 else (u[0], 2.0)
        out = [v for v in u if v > 1]
        return s, r, [s, r], out, r is s

    return f, CALLS, None


@program
def nested_branches() -> Any:
    def f(u, t):
        path, acc = [], []
        for i in range(len(u)):
            s = (u[i], i)
            q = (u[i] * 2, i)
            r = s if u[i] > 1 else q
            w = r if u[i] < 2 else s
            if u[i] > -1.5:
                path.append(q)
                acc.append(w)
                path.append(r)
        return path, acc

    return f, CALLS, None
