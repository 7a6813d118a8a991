"""Dicts and sets with keys that only the program knows. Those in `NATIVE` have to be native."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

#: Programs that Python must not have to run.
NATIVE: list[Maker] = []


def of_keys(f: Callable[..., Any]) -> Maker:
    """Enter a program of numbers and keys: few, many and large ones."""

    def maker() -> Any:
        rng = np.random.default_rng(4)
        few, many = rng.integers(-3, 4, 40), rng.integers(-40, 40, 40)
        return f, [(rng.normal(size=40), k) for k in (few, many, many * 2**50 + few)], None

    maker.__name__, maker.__module__ = f.__name__, __name__
    return program(maker)


def native(f: Callable[..., Any]) -> Maker:
    """Enter one that has to be native."""
    NATIVE.append(of_keys(f))
    return NATIVE[-1]


@native
def counts_of_keys(x, k):
    counts = {}
    for v in k:
        counts[v] = counts.get(v, 0) + 1
    return counts, len(counts), sum(counts.values())


@native
def counts_beside_those_of_before(x, k):
    counts = {5: 1, -3: 2}
    for v in k:
        v = int(v)
        if v in counts:
            counts[v] += 1
        else:
            counts[v] = 1
    return counts, 5 in counts, counts.get(10**6, -1), counts[5]


@native
def under_a_condition(x, k):
    last = {}
    for i in range(len(k)):
        if x[i] > 0:
            last[int(k[i])] = float(x[i])
    return last


@native
def seen_before(x, k):
    seen, again = set(), 0
    for v in k:
        if int(v) in seen:
            again += 1
        seen.add(int(v))
    return again, seen, sorted(seen), max(seen), len(seen)


@native
def where_they_are_first(x, k):
    first = {}
    for i in range(len(k)):
        first.setdefault(int(k[i]), i)
    return first


@native
def a_sum_of_two(x, k):
    places = {}
    for i in range(len(k)):
        if -int(k[i]) in places:
            return places[-int(k[i])], i
        places[int(k[i])] = i
    return None


@native
def defaults_and_counters(x, k):
    sums, counts = collections.defaultdict(float), collections.Counter()
    for i in range(len(k)):
        sums[int(k[i])] += x[i].item()
        counts[int(k[i])] += 1
    return sums, counts, counts[10**9]


@native
def pairs_of_keys(x, k):
    edges, steps = set(), {}
    for i in range(1, len(k)):
        e = (int(k[i - 1]) % 4, int(k[i]) % 4)
        edges.add(e)
        steps[e] = steps.get(e, 0) + 1
    return len(edges), (0, 1) in edges, steps


@native
def entries_of_several_numbers(x, k):
    entries = {}
    for i in range(len(k)):
        entries[int(k[i])] = i, x[i]
    total = 0.0
    for key, (i, v) in entries.items():
        total += key % 5 * i * v
    return entries, total, sorted(entries), len(list(entries.values()))


@native
def until_a_number_comes_again(x, k):
    seen, n, steps = set(), int(k[0]) % 1009, 0
    while n not in seen:
        seen.add(n)
        n = (n * n + 7) % 1009
        steps += 1
    return steps, n


@native
def attributes_that_are_tables(x, k):
    class Model:
        def __init__(self):
            self.seen, self.sums = set(), {}

        def see(self, key, v):
            self.seen.add(key)
            self.sums[key] = self.sums.get(key, 0.5) * v

    m = Model()
    for i in range(len(k)):
        m.see(int(k[i]), float(x[i]))
    return m.sums, m.seen


@native
def codes_that_are_known(x, k):
    weights = {0: 0.5, 1: 0.25, -1: 4.0, 2: 1.0}
    total = 0.0
    for v in k:
        total += weights.get(int(v), -1.0) + weights[int(v) % 3]
        if v in weights:
            total *= 0.5
    return total


@native
def a_key_that_is_missing(x, k):
    counts = {}
    for v in k:
        counts[int(v)] = 1
    return counts[10**9]


@native
def entries_that_are_taken_out(x, k):
    held = {}
    for v in k:
        held[int(v)] = 1
    del held[int(k[0])]
    return held


@of_keys
def keys_of_two_kinds(x, k):
    held = {}
    for i in range(len(k)):
        held[int(k[i]) if x[i] > 0 else k[i]] = i
    return held


@of_keys
def a_dict_by_two_names(x, k):
    held = {}
    other = held
    for v in k:
        held[int(v)] = 1
    return other is held, len(other)


@of_keys
def a_view_is_a_result(x, k):
    held = {}
    for v in k:
        held[int(v)] = 1
    return list(held.keys()), type(held.keys()).__name__


@of_keys
def tuples_that_are_values(x, k):
    held = {}
    for v in k:
        held[int(v)] = (int(v), 1)
    return held, list(held.values())


@of_keys
def changed_while_a_loop_runs_over_it(x, k):
    held = {}
    for v in k:
        held[int(v)] = 1
    for v in held:
        held[v] = held[v] + v
    return held


@of_keys
def the_order_of_a_set(x, k):
    held = set()
    for v in k:
        held.add(int(v))
    out = []
    for v in held:
        out.append(v)
    return out


def _built(k):
    held = {}
    for i in range(len(k)):
        held[int(k[i])] = i
    return held


@native
def views_show_what_comes_later(x, k):
    held = _built(k)
    keys, values = held.keys(), held.values()
    before = len(keys)
    for v in k:
        held[int(v) + 1] = -7
    return before, len(keys), sum(values), int(k[0]) + 1 in keys, held


@of_keys
def iterators_after_a_change(x, k):
    held, total = _built(k), 0
    pairs = zip(held.keys(), held.values(), strict=False)
    held[int(k[0])] = 77
    for key, v in pairs:
        total += key * v
    return total


@of_keys
def changed_while_a_loop_counts_it(x, k):
    held, total = _built(k), 0
    for n, key in enumerate(held):
        held[key + 1] = n
    return total


@of_keys
def views_are_no_lists(x, k):
    held, found = _built(k), []
    for f in (
        lambda v: v[0],
        lambda v: v[:2],
        lambda v: v.count(3),
        lambda v: v.index(3),
        lambda v: v.sort(),
    ):
        try:
            found.append(f(held.values()))
        except (TypeError, AttributeError) as e:
            found.append(type(e).__name__)
    return found


@of_keys
def patterns_of_dicts(x, k):
    held = _built(k)
    match held:
        case {1000000000: v}:
            return v
        case {}:
            return "a dict", len(held)
    return None


@of_keys
def patterns_of_dicts_in_tuples(x, k):
    match (_built(k), 1):
        case ({**rest}, 1):
            return len(rest)
        case _:
            return None


@native
def taken_out_and_put_again(x, k):
    held, hits = {}, 0
    for i in range(len(k)):
        v = int(k[i])
        if v in held:
            hits += 1
            del held[v]
        held[v] = i
    return hits, held


@native
def taken_out_in_turn(x, k):
    held = {}
    for i in range(len(k)):
        v = int(k[i])
        if v in held:
            del held[v]
        else:
            held[v] = float(x[i])
    return held, len(held)


@native
def popped_with_defaults(x, k):
    held, total = {}, 0
    for v in k:
        v = int(v)
        held[v] = held.get(v, 0) + 1
        held.pop(v - 2, None)
        total += 2 * held.pop(v + 1, -1)
        if v % 3 == 0:
            total += held.pop(v)
    return held, total


@native
def members_that_leave(x, k):
    held, total = set(), 0
    for v in k:
        v = int(v)
        held.add(v)
        held.update((v + 3, v), [v + 5])
        held.discard(v + 1)
        if v % 3 == 0:
            held.remove(v)
        total += len(held)
    return total, sorted(held), int(k[0]) in held


@native
def cleared_and_updated(x, k):
    held, total = {}, 0
    for i in range(len(k)):
        v = int(k[i])
        held[v] = i
        held.update([(v, i + 1), (v + 1, -i)])
        held.update({3: i})
        if v % 5 == 0:
            held.clear()
        total += len(held)
    return total, held


@of_keys
def a_set_of_which_some_were_taken_out(x, k):
    held = set()
    for v in k:
        held.add(int(v))
        held.discard(int(v) - 1)
    return held


@of_keys
def a_key_that_is_not_there_is_deleted(x, k):
    held = {}
    for i in range(len(k)):
        held[int(k[i])] = i
        if i > 30:
            del held[int(k[i]) + 10**9]
    return held


@of_keys
def an_iterator_after_an_entry_was_taken_out(x, k):
    held, total = _built(k), 0
    pairs = zip(held.keys(), held.values(), strict=False)
    del held[int(k[0])]
    for key, v in pairs:
        total += key * v
    return total


@of_keys
def taken_out_while_a_loop_runs_over_it(x, k):
    held = _built(k)
    for v in held:
        if v > 0:
            del held[v]
    return held


@native
def taken_out_by_a_copy_of_the_keys(x, k):
    held = _built(k)
    before = held.copy()
    for v in list(held):
        if v > 0:
            del held[v]
    total = 0
    for key, v in held.items():
        total += key * v
    return held, before, total, sum(held.values())
