"""Programs that run over dicts while they change them, compare lists that they have filled, and count pairs of things."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tests.programs.observe import program

K = np.array([3, 1, 3, 2, 1, 3, 0, 2, 3, 5, 1, 4] * 3)
W = np.linspace(-1.0, 2.0, len(K))
CALLS = [(K, W), (K[::-1].copy(), W), (K % 3, -W)]


@program
def weights_that_are_normalized_in_place() -> Any:
    def f(k, w):
        mass = {}
        for i in range(len(k)):
            mass[int(k[i])] = mass.get(int(k[i]), 0.0) + float(w[i] ** 2)
        total = sum(mass.values())
        for key in mass:
            mass[key] /= total
        return mass

    return f, CALLS, None


@program
def counts_that_decay() -> Any:
    def f(k, w):
        seen = {}
        for i in range(len(k)):
            for key in seen:
                seen[key] = seen[key] * 0.9
            seen[int(k[i])] = seen.get(int(k[i]), 0.0) + 1.0
        return seen

    return f, CALLS, None


@program
def later_values_are_seen_by_the_loop() -> Any:
    def f(k, w):
        d = {}
        for i in range(len(k)):
            d[int(k[i])] = i
        found = []
        for key, value in d.items():
            d[key] = value + 1
            if key == 3 and 2 in d:
                d[2] = 100
            found.append(value)
        return found, d

    return f, CALLS, None


@program
def a_dict_that_grows_under_its_loop() -> Any:
    def f(k, w):
        d = {}
        for i in range(len(k)):
            d[int(k[i])] = i
        try:
            for key in d:
                d[key * 10] = 0
        except RuntimeError as e:
            return str(e)
        return d

    return f, [(K % 1, W), (K, W)], None


@program
def degrees_of_edges_and_their_cells() -> Any:
    def f(k, w):
        edges, degree = {}, {}
        for i in range(len(k) - 1):
            edge = (int(k[i]), int(k[i + 1]))
            edges[edge] = edges.get(edge, 0) + 1
            degree[edge[0]] = degree.get(edge[0], 0) + 1
        heavy = []
        for edge in edges:
            if edges[edge] > 1:
                heavy.append(edge)
        return edges, degree, heavy

    return f, CALLS, None


@program
def the_last_record_of_each_kind() -> Any:
    def f(k, w):
        last, records = {}, []
        for i in range(len(k)):
            record = (i, float(w[i]))
            records.append(record)
            last[int(k[i])] = record
        return last, records, last[int(k[0])] is records[-1]

    return f, CALLS, None


@program
def cells_that_were_visited() -> Any:
    def f(k, w):
        visited, path = set(), []
        at = (0, 0)
        for i in range(len(k)):
            at = (at[0] + int(k[i]) % 3 - 1, at[1] + int(k[i]) % 2)
            if at not in visited:
                path.append(at)
            visited.add(at)
        return len(visited), path

    return f, CALLS, None


@program
def pairs_that_were_sorted() -> Any:
    def f(k, w):
        count = {}
        for i in range(len(k)):
            pair = (int(k[i]) % 2, int(k[i]))
            count[pair] = count.get(pair, 0) + 1
        ranked = sorted(count, key=lambda p: -count[p])
        return count, ranked[0], sorted(count)

    return f, CALLS, None


@program
def steps_until_nothing_changes() -> Any:
    def f(k, w):
        kept, steps = [], 0
        for v in w:
            if v > -0.5:
                kept.append(float(v))
        before = []
        while kept != before and steps < 50:
            before = kept
            kept = []
            for v in before:
                kept.append(float(round(v / 2)) if v < 1.5 else v)
            steps += 1
        return kept, steps

    return f, CALLS, None


@program
def which_of_two_runs_is_less() -> Any:
    def f(k, w):
        a, b = [], []
        for i in range(len(k)):
            if k[i] > 1:
                a.append((int(k[i]), i))
            if k[-1 - i] > 1:
                b.append((int(k[-1 - i]), i))
        return a == b, a < b, a >= b, a[1:] == b[1:]

    return f, CALLS, None


@program
def repeated_patterns() -> Any:
    def f(k, w):
        pattern = []
        for i in range(len(k)):
            if w[i] > 0 and k[i] != 3:
                pattern.append(int(k[i]))
        return pattern * 2, 3 * pattern, (pattern * 2)[len(pattern) :] == pattern

    return f, CALLS, None


@program
def neighbours_of_a_default_dict() -> Any:
    def f(k, w):
        total = collections.defaultdict(float)
        for i in range(len(k)):
            total[int(k[i]), i % 2] += float(w[i])
        return {key: total[key] > 0 for key in [(3, 0), (1, 1)] if key in total}, len(total)

    return f, CALLS, None
