"""Lists of arrays whose lengths only the program knows: paths, histories, differences of gradients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

#: Programs that run natively; in the others parts of arrays are items, or arrays of several shapes.
NATIVE: list[Maker] = []


def of_arrays(f: Callable[..., Any]) -> Maker:
    """Enter a program of an array and a number of steps."""

    def maker() -> Any:
        calls = [(np.arange(1.0, 4.0), 5.0), (np.array([3.0, -1.0, 2.0]), 8.0), (np.zeros(3), 0.0)]
        return f, calls, lambda: None

    maker.__name__, maker.__module__ = f.__name__, __name__
    return program(maker)


def native(f: Callable[..., Any]) -> Maker:
    """Enter one that runs natively."""
    NATIVE.append(of_arrays(f))
    return NATIVE[-1]


@native
def accepted_and_rejected(y, t):
    ys = []
    q = y * 2
    while t > 0:
        if t % 2 > 1:
            q = q + 1
        ys.append(q)
        t -= 1
    return np.array(ys), q


@native
def one_array_in_two_lists(y, t):
    a, b = [], []
    while t > 0:
        z = y * t
        a.append(z)
        b.append(z)
        t -= 1
    return np.array(a), np.array(b)


@native
def items_taken_back(y, t):
    a = [y + 1.0]
    s = 0.0
    while t > 0:
        a.append(a[-1] * 0.5)
        if t % 3 > 1.5:
            s += a.pop().sum()
        t -= 1
    return a, s


@native
def times_and_arrays(y, t):
    h = []
    while t > 0:
        y = y * 0.9
        h.append((t, y, y.sum()))
        t -= 1
    return h


@native
def times_and_copies(y, t):
    h = []
    while t > 0:
        y = y * 0.9
        h.append((t, y.copy(), y.sum()))
        t -= 1
    return h, y


@native
def a_list_that_may_stay_empty(y, t):
    ys = []
    while t > 100:
        ys.append(y * 2)
        t -= 1
    return np.array(ys), len(ys)


@native
def parts_of_the_list(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        t -= 1
    return np.array(ys[1:]), np.mean(ys[-3:], axis=0) if len(ys) > 2 else None


@native
def a_loop_over_arrays(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        t -= 1
    s = 0.0
    for v in ys:
        s += v.sum()
    return s


@native
def the_last_three(y, t):
    d = deque(maxlen=None)
    while t > 0:
        d.append(y * t)
        if len(d) > 3:
            d.popleft()
        t -= 1
    return np.array(d)


@native
def differences_of_lbfgs(y, t):
    s_list, y_list = [], []
    x = y.copy()
    g = 2 * x
    while t > 0:
        xn = x - 0.1 * g
        gn = 2 * xn
        s_list.append(xn - x)
        y_list.append(gn - g)
        x, g = xn, gn
        t -= 1
    q = g.copy()
    for i in range(len(s_list) - 1, -1, -1):
        q = q - (s_list[i] @ q) / (y_list[i] @ s_list[i]) * y_list[i]
    return q


@native
def the_best_and_all(y, t):
    hist = []
    best = y
    while t > 0:
        y = y * -0.9
        hist.append(y)
        if y.sum() > best.sum():
            best = y
        t -= 1
    return best, np.array(hist)


@native
def each_from_the_last(y, t):
    ys = [y]
    while t > 0:
        ys.append(-ys[-1])
        t -= 1
    return np.array(ys)


@native
def an_item_is_replaced(y, t):
    ys = [y * 0, y * 1]
    while t > 0:
        ys.append(y * t)
        ys[0] = y + t
        t -= 1
    return ys


@native
def in_front(y, t):
    ys = []
    while t > 0:
        ys.insert(0, y * t)
        t -= 1
    return ys


@native
def backwards(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        t -= 1
    ys.reverse()
    return ys


@native
def in_two_loops(y, t):
    out = []
    for i in range(3):
        u = t
        while u > 0:
            z = y + u
            out.append(z)
            u -= 1
    return out


@native
def sums_of_arrays(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        t -= 1
    return sum(ys), np.sum(ys, axis=0), np.linalg.norm(ys[-1] - ys[0])


@native
def a_path_of_an_object(y, t):
    class S:
        pass

    s = S()
    s.path = [y]
    s.x = y
    while t > 0:
        s.x = s.x * 0.5
        s.path.append(s.x)
        t -= 1
    return np.array(s.path), s.x


@native
def written_after_the_loop(y, t):  # item written through the name
    ys = []
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    y[0] = 100.0
    return np.array(ys)


@native
def written_in_each_step(y, t):
    ys = []
    y = y.copy()
    while t > 0:
        y *= 0.9
        ys.append(y)
        t -= 1
    return np.array(ys)


@native
def written_in_the_next_step(y, t):
    ys = []
    y = y.copy()
    while t > 0:
        y[0] += 1
        if t % 2 > 1:
            y = y + 1
        ys.append(y)
        t -= 1
    return np.array(ys)


@native
def an_item_is_written(y, t):
    ys = []
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    ys[0][0] = 5.0
    return np.array(ys), y


@native
def the_last_item_is_written(y, t):
    ys = [y.copy()]
    while t > 0:
        ys[-1][0] += 1
        ys.append(y * t)
        t -= 1
    return np.array(ys)


@native
def the_last_is_returned_too(y, t):
    ys = []
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    return y, ys


@native
def the_last_is_returned(y, t):
    ys = [y]
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    return ys[-1]


@native
def the_first_is_the_callers(y, t):
    ys = [y]
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    return ys


@native
def one_array_many_times(y, t):
    ys = []
    q = y * 2
    while t > 0:
        if t % 2 > 1:
            q = q + 1
        ys.append(q)
        t -= 1
    return ys


@native
def one_of_outside_is_written(y, t):
    ys = []
    z = y + 1
    while t > 0:
        ys.append(z)
        t -= 1
    z[0] = 7
    return np.stack(ys)


@native
def is_the_last_the_same(y, t):
    ys = []
    n = 0
    while t > 0:
        y = y * 0.9
        ys.append(y)
        if ys[-1] is y:
            n += 1
        t -= 1
    return n


@native
def twice_in_a_step(y, t):
    ys = []
    while t > 0:
        z = y * t
        ys.append(z)
        ys.append(z)
        t -= 1
    return ys


@native
def lists_that_share_arrays(y, t):
    a, b = [], []
    while t > 0:
        z = y * t
        a.append(z)
        b.append(z)
        t -= 1
    return a, b


@of_arrays
def a_view_whose_array_is_written(y, t):
    A = np.outer(y, y)
    ys = []
    while t > 0:
        A = A * 0.9
        ys.append(A[:, 0])
        t -= 1
    A[0, 0] = 5
    return np.array(ys)


@of_arrays
def views_of_one_array(y, t):
    A = np.outer(y, y)
    ys = []
    while t > 0:
        A *= 0.9
        ys.append(A[0])
        t -= 1
    return np.array(ys)


@native
def a_part_and_the_whole(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        t -= 1
    return ys[1:], ys


@native
def a_loop_writes_the_items(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        t -= 1
    for v in ys:
        v[0] = 0.0
    return np.array(ys)


@native
def the_best_is_one_of_them(y, t):
    hist = []
    best = y
    while t > 0:
        y = y * -0.9
        hist.append(y)
        if y.sum() > best.sum():
            best = y
        t -= 1
    return best, hist


@native
def the_best_is_written(y, t):
    hist = []
    best = y.copy()
    while t > 0:
        y = y * -0.9
        hist.append(y)
        if y.sum() > best.sum():
            best = y
        t -= 1
    best[0] = 99.0
    return np.array(hist)


@native
def in_branches(y, t):
    out = []
    z = y + 1
    if t > 2:
        out.append(z)
    if t > 4:
        out.append(z)
    return out, len(out)


@native
def in_a_branch_then_written(y, t):
    out = []
    z = y + 1
    if t > 2:
        out.append(z)
    z[0] = 50.0
    return np.array(out) if len(out) else None


@native
def the_argument_is_written(y, t):
    out = []
    if t > 2:
        out.append(y)
    y[0] += 1
    return np.array(out) if out else None


@native
def written_by_out(y, t):
    ys = []
    buf = np.zeros(3)
    while t > 0:
        np.multiply(y, t, out=buf)
        ys.append(buf)
        t -= 1
    return np.array(ys)


@native
def written_by_another_name(y, t):
    ys = []
    while t > 0:
        y = y * 0.9
        ys.append(y)
        z = y
        z += 1
        t -= 1
    return np.array(ys)


@native
def one_of_an_outer_loop(y, t):
    out = []
    for i in range(3):
        z = y + i
        u = t
        while u > 0:
            out.append(z)
            u -= 1
    return out


@native
def one_item_twice(y, t):
    ys = [y * 0, y * 1]
    while t > 0:
        ys.append(y * t)
        ys[0] = ys[-1]
        t -= 1
    return ys


@of_arrays
def arrays_of_two_shapes(y, t):
    ys = []
    while t > 0:
        ys.append(y * t)
        ys.append(np.concatenate([y, y]))
        t -= 1
    return len(ys)


@native
def ranges_and_deques_as_arrays(y, t):
    table = np.zeros((4, 5))
    table[:, 0] = range(4)
    table[0] = range(5)
    table[1, 1:4] = deque([y[0], t, 2])
    y += range(3)
    return (
        table,
        y + range(3),
        np.dot(y, range(3)),
        np.where(y > t, y, range(3)),
        np.concatenate([y, range(2)]),
    )


@native
def the_first_has_a_name(y, t):
    z = y + 1
    ys = [z]
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    return ys, z


@native
def the_first_twice(y, t):
    ys = [y, y]
    while t > 0:
        ys.append(ys[-1] + 1)
        t -= 1
    return ys


@native
def the_last_of_its_own(y, t):
    ys = [y.copy()]
    while t > 0:
        ys.append(ys[-1] * 0.9)
        t -= 1
    return ys[-1]


@native
def the_first_and_the_last(y, t):
    ys = [y]
    while t > 0:
        y = y * 0.9
        ys.append(y)
        t -= 1
    return ys, y


@native
def the_first_may_be_taken(y, t):
    ys = [y]
    while t > 0:
        if t % 2 > 1:
            ys.pop()
        ys.append(y * t)
        t -= 1
    return ys


@native
def the_last_may_be_the_first(y, t):
    z = y.copy()
    ys = [z]
    while t > 0:
        ys.append(ys[-1] * 0.9)
        t -= 1
    return ys[-1], z


@native
def the_first_is_written_where_it_may_be_taken(y, t):
    z = y + 1
    ys = [z]
    while t > 0:
        if t % 2 > 1:
            ys.pop()
        ys.append(y * t)
        t -= 1
    z[0] = 7.0
    return np.array(ys)


@native
def the_first_has_a_name_and_may_be_taken(y, t):
    z = y + 1
    ys = [z]
    while t > 0:
        if t % 2 > 1:
            ys.pop()
        ys.append(y * t)
        t -= 1
    return ys, z


@native
def parts_of_the_last(y, t):
    ys = [y]
    while t > 0:
        ys.append(ys[-1] * 0.5)
        t -= 1
    v = ys[-1][1:]
    v += 1
    return ys, v, v, ys[0][::-1], ys[-1][:], ys[-1].reshape(3, 1)
