"""Lists and tuples of known lengths at positions that only the program knows. Those in `NATIVE` have to be native."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

#: Programs that Python must not have to run.
NATIVE: list[Maker] = []


def of_positions(f: Callable[..., Any]) -> Maker:
    """Enter a program of numbers and positions below 4."""

    def maker() -> Any:
        rng = np.random.default_rng(3)
        calls = [(rng.normal(size=24), rng.integers(0, 4, 24)) for _ in range(3)]
        return f, calls, None

    maker.__name__, maker.__module__ = f.__name__, __name__
    return program(maker)


def native(f: Callable[..., Any]) -> Maker:
    """Enter one that has to be native."""
    NATIVE.append(of_positions(f))
    return NATIVE[-1]


@native
def a_table_of_counts(x, k):
    counts = [0] * 4
    for i in range(len(k)):
        counts[k[i]] += 1
    return counts, sum(counts), max(counts)


@native
def rows_that_are_written(x, k):
    rows = [np.zeros(4) for _ in range(4)]
    for i in range(len(k)):
        rows[k[i] - 4][k[i - 1]] += x[i]
    return rows


@native
def one_array_at_two_positions(x, k):
    a, b = np.zeros(3), np.ones(3)
    rows = [a, b, a, x[:3]]
    for i in range(len(k)):
        v = rows[k[i]]
        v[0] += x[i]
        rows[k[i - 1]] *= 0.5
    return a, b, v.sum(), x


@native
def lookup_in_tuples(x, k):
    table = ((1, 2.0), (3, 4.0), (5, 6.0), (7, 8.0))
    s, n = 0.0, 0
    for i in range(len(k)):
        a, b = table[k[i]]
        s, n = s + a * b * x[i], n + a
    return s, n


@native
def tuples_that_are_asked_for(x, k):
    table = [(1, 2.0), (3, 4.0), (5, 6.0), (7, 8.0)]
    pair = table[k[0]]
    return pair is table[2], pair, table


@native
def lookup_in_lists_of_lists(x, k):
    costs = [[0.5, 1.0, 2.0, 3.0], [1.0, 0.0, 4.0, 1.5], [2.0, 4.0, 0.0, 1.0], [3.0, 1.5, 1.0, 0.25]]
    total = 0.0
    for i in range(1, len(k)):
        total += costs[k[i - 1]][k[i]]
    row = costs[k[0]]
    return total, row is costs[1], row


@native
def swaps(x, k):
    order = list(range(4))
    for i in range(len(k)):
        a, b = k[i], k[i - 1]
        order[a], order[b] = order[b], order[a]
    return order


@native
def an_assignment_outside_of_loops(x, k):
    xs = [1.0, 2.0, 3.0, 4.0]
    xs[k[0]] = float(x[0])
    xs[k[1]] -= 1.0
    return xs, xs[k[2]]


@native
def the_item_is_replaced_while_it_is_computed_with(x, k):
    rows = [np.zeros(3), np.ones(3)]

    def replace():
        rows[0] = np.full(3, 9.0)
        return 1.0

    rows[k[0] % 1] += replace()
    return rows


@native
def replaced_rows(x, k):
    best = [np.zeros(3)] * 4
    for i in range(len(k)):
        best[k[i]] = best[k[i]] + x[i]
    return np.array(best)


@native
def a_table_of_an_object(x, k):
    class Model:
        def __init__(self):
            self.counts = [0.0] * 4

        def see(self, n, v):
            self.counts[n] += v

    m = Model()
    for i in range(len(k)):
        m.see(k[i], x[i].item())
    return m.counts


@native
def outside_of_the_table(x, k):
    table = [1.0, 2.0]
    s = 0.0
    for i in range(len(k)):
        s += table[k[i]]
    return s


@of_positions
def items_of_several_types(x, k):
    table = [1, 2.5, "a", None]
    s = 0
    for i in range(len(k)):
        if table[k[i]] is None:
            s += 1
    return s


@of_positions
def an_item_of_a_list_in_a_list_is_written(x, k):
    rows = [[0.0, 1.0], [2.0, 3.0]]
    for i in range(len(k)):
        rows[k[i] % 2][0] += 1.0
    return rows


@of_positions
def an_item_is_one_of_the_results(x, k):
    rows = [x[:4], x[4:8]]
    return rows[k[0] % 2], rows


@of_positions
def two_results_that_are_views(x, k):
    a, b = x[:4], x[4:8]
    chosen = a if k[0] > 1 else b
    return chosen, a, b


@native
def items_that_are_results(x, k):
    rows = [x[:12] + 1, x[12:] + 2]
    return rows[k[0] % 2], rows
