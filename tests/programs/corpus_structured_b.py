"""Programs with structured arrays that are looked at in other ways: columns beside the array, records that are kept."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from tests.programs.corpus_structured import PARTICLE, _particles
from tests.programs.observe import program


@program
def a_column_of_outside_beside_the_array() -> Any:
    table = _particles()
    column = table["x"]

    def f(dt):
        table["x"] += dt
        first = column.sum()
        column[0] = 9
        return first, table["x"].max(), column is table["x"]

    return f, [(0.5,), (1.0,)], lambda: (table, column)


@program
def records_are_unpacked() -> Any:
    def f(a, dt):
        total = 0.0
        for x, v, i in a:
            total += x * dt + v * i
        return total, [r["x"] * dt for r in a], [tuple(r) for r in a][0]

    return f, [(_particles(), 0.5), (_particles(), 0.25)], None


@program
def the_element_of_a_minimum() -> Any:
    def f(a, x):
        best = a[np.abs(a["x"] - x).argmin()]
        return best["id"], best

    return f, [(_particles(), 0.6), (_particles(), 1.9)], None


@program
def sorted_by_a_key() -> Any:
    def f(a, s):
        a["x"] *= s
        rows = sorted(a, key=lambda r: r["x"])
        return [r["id"] for r in rows], max(a, key=lambda r: r["v"] * s)["id"]

    return f, [(_particles(), 1.0), (_particles(), -1.0)], None


@program
def a_record_that_is_kept_is_a_view() -> Any:
    kept = []

    def f(a, s):
        r = a[1]
        kept.append(r)
        a["x"] += s
        return r["x"]

    a = _particles()
    return f, [(a, 1.0), (a, 2.0)], lambda: (kept, a)


@program
def a_copy_is_another_array() -> Any:
    def f(a, s):
        b, c, d = a.copy(), copy.copy(a), copy.deepcopy(a)
        b["x"] += s
        c["x"] *= s
        d["v"] = s
        return a["x"], b["x"] + c["x"] + d["v"]

    return f, [(_particles(), 1.0), (_particles(), 2.0)], None


@program
def a_table_in_a_dataclass() -> Any:
    @dataclasses.dataclass
    class World:
        bodies: Any
        time: float = 0.0

    def f(w, dt):
        w.bodies["x"] += dt * w.bodies["v"]
        w.time += dt
        return w.bodies[w.bodies["x"] > 1]["id"], w

    w = World(_particles())
    return f, [(w, 0.1), (w, 0.5)], lambda: w


@program
def an_attribute_is_another_table() -> Any:
    class World:
        def __init__(self) -> None:
            self.bodies = _particles()

        def step(self, dt):
            old = self.bodies
            self.bodies = np.concatenate([old[old["x"] < 1.2], old[:1]])
            self.bodies["x"] += dt
            return len(self.bodies)

    w = World()
    return lambda dt: w.step(dt), [(0.1,), (0.2,), (0.3,)], lambda: w


@program
def shapes_that_are_broadcast() -> Any:
    def f(a, s):
        a["x"][:] = s
        a[1:]["v"] = a["x"][:-1] + np.arange(4)
        a["id"] = a["id"][::-1]
        return a.shape, a["x"].shape, len(a), a.size, a.nbytes, a.itemsize, a.ndim

    a = _particles()
    return f, [(a, 1.0), (a, 2.0)], lambda: a


@program
def numbers_are_cast_as_they_are_written() -> Any:
    def f(a, s):
        a["id"] = s * 1.7
        a[0] = (1, 2, 3)
        a[1] = (s, s, s * 2.9)
        a["x"] = np.arange(5)
        return a["id"].dtype, a["id"][1] + 1, a[1]["x"] / 3

    a = _particles()
    return f, [(a, 1.0), (a, 2.0)], lambda: a


@program
def integers_of_a_field_overflow() -> Any:
    def f(a, s):
        a["n"] += np.int8(s)
        return a["n"] * np.int8(2), a["n"].sum()

    a = np.zeros(3, [("n", "i1"), ("m", "u2")])
    a["n"] = [100, 120, -3]
    return f, [(a, 20), (a, 7)], lambda: a


@program
def a_field_of_truth_values() -> Any:
    def f(a, x):
        a["ok"] = a["y"] > x
        a["y"][~a["ok"]] = 0
        return a[a["ok"]], a["ok"].any(), np.flatnonzero(a["ok"]), np.where(a["ok"], a["y"], -1)

    a = np.zeros(4, [("ok", "?"), ("y", "f4")])
    a["y"] = [1, 2, 3, 4]
    return f, [(a, 2.0), (a, 3.0)], lambda: a


@program
def an_index_beyond_the_end() -> Any:
    def f(a, n):
        a["x"][0] = 5
        return a[n]["x"]

    a = _particles()
    return f, [(a, 2), (a, 7), (a, -1)], lambda: a


@program
def a_read_only_table() -> Any:
    def f(a, s):
        a["x"] += s
        return a["x"]

    a = _particles()
    a.flags.writeable = False
    return f, [(a, 2.0), (_particles(), 2.0)], lambda: a


@program
def slices_of_one_array_as_arguments() -> Any:
    def f(a, b, s):
        a["x"] += s
        b["v"] -= s
        return a, b, a[1:]

    a = _particles(8)
    return f, [(a[:4], a[4:], 1.0), (a[::2], a[1::2], 2.0), (a[:5], a[3:], 1.0), (a[::-1], a, 1.0)], lambda: a


@program
def no_elements() -> Any:
    def f(a, s):
        a["x"] += s
        return a[a["x"] > s], a["x"].sum(), [r["x"] for r in a], np.sort(a, order="x")

    return f, [(_particles(0), 1.0), (_particles(1), 1.0)], None


@program
def an_array_without_dimensions() -> Any:
    def f(a, s):
        a["x"] += s
        a[...] = (s, a["x"], 3)
        return a["v"], a[()], a

    return f, [(np.zeros((), PARTICLE), 1.0), (np.zeros((), PARTICLE), 2.0)], None


@program
def ties_are_broken_by_other_fields() -> Any:
    def f(a, s):
        a["v"] *= s
        return np.sort(a, order="v"), np.sort(a), np.sort(a[::-1], order=("v", "id"))

    a = _particles(7)
    a["v"] = [1, 1, 2, 2, 1, np.nan, 0]
    return f, [(a, 1.0), (a, -1.0)], None


@program
def a_loop_of_traced_length_over_records() -> Any:
    def f(a, x):
        near = a[a["x"] < x]
        total = 0.0
        for r in near:
            total += r["v"] * r["id"]
        near["v"] = total
        return near, total

    return f, [(_particles(), 1.2), (_particles(), 0.7), (_particles(), -1.0)], None


@program
def columns_are_swapped_in_a_loop() -> Any:
    def f(a, n):
        for _ in range(n):
            old = a["x"].copy()
            a["x"] = a["v"]
            a["v"] = old
        return a

    return f, [(_particles(), 3), (_particles(), 4)], None


@program
def a_bubble_sort_of_records() -> Any:
    def f(a):
        for end in range(len(a) - 1, 0, -1):
            for k in range(end):
                if a["id"][k] > a["id"][k + 1]:
                    t = a[k].copy()
                    a[k] = a[k + 1]
                    a[k + 1] = t
        return a

    return f, [(_particles(),), (_particles(7),)], None


@program
def one_of_two_tables() -> Any:
    first, second = _particles(), _particles()

    def f(x):
        t = first if x > 0 else second
        t["x"] += x
        return t["x"].sum(), t

    return f, [(1.0,), (-1.0,), (2.0,)], lambda: (first, second)


@program
def a_table_is_a_key_by_identity() -> Any:
    tables = {}

    def f(a, x):
        tables[id(a)] = x
        a["x"] += x
        return len(tables)

    a = _particles()
    return f, [(a, 1.0), (a, 2.0)], lambda: list(tables.values())


@program
def an_attribute_of_the_array_is_set() -> Any:
    def f(a, x):
        a.shape = (len(a), 1)
        a["x"] += x
        return a

    return f, [(_particles(), 1.0)], None


@program
def fields_are_renamed() -> Any:
    own = np.dtype([("x", "f8"), ("v", "f8"), ("id", "i4")])

    def f(a, x):
        a.dtype.names = ("p", "q", "r")
        return a["p"] + x

    a = np.zeros(3, own)
    return f, [(a, 1.0)], lambda: (a.dtype.names, own.names)


@program
def a_view_of_bytes() -> Any:
    def f(a, x):
        a["x"] = x
        return a.view(np.uint8).sum(), a.tobytes()

    return f, [(_particles(), 1.0), (_particles(), 2.0)], None


@program
def joined_by_ids() -> Any:
    def f(a, b, s):
        out = np.zeros(len(a), [("id", "i4"), ("sum", "f8")])
        order = np.argsort(b["id"])
        at = order[np.searchsorted(b["id"], a["id"], sorter=order)]
        out["id"], out["sum"] = a["id"], a["x"] * s + b["x"][at]
        return out

    return f, [(_particles(), _particles(), 2.0), (_particles(), _particles()[::-1], 3.0)], None


@program
def totals_of_groups() -> Any:
    def f(a, s):
        kinds = np.unique(a["id"] % 3)
        out = np.empty(len(kinds), [("kind", "i8"), ("mean", "f8"), ("count", "i8")])
        for n, k in enumerate(kinds):
            part = a[a["id"] % 3 == k]
            out[n] = (k, part["x"].mean() * s, len(part))
        return out

    return f, [(_particles(9), 2.0), (_particles(9), 3.0)], None


@program
def which_table_it_is_is_asked() -> Any:
    first, second = _particles(), _particles()

    def f(x):
        t = first
        if x > 0:
            t = second
        return t is first, t["x"].sum() + x

    return f, [(1.0,), (-1.0,), (2.0,)], None


@program
def the_same_table_in_both_branches() -> Any:
    first = _particles()

    def f(x):
        if x > 0:
            t = first
            t["x"] += x
        else:
            t = first
            t["v"] -= x
        return t, t is first

    return f, [(1.0,), (-1.0,), (2.0,)], lambda: first


@program
def the_larger_of_two_arguments() -> Any:
    def f(a, b):
        big = a if a["x"].sum() > b["x"].sum() else b
        big["id"] += 1
        return big["id"], a["id"]

    return f, [(_particles(), _particles(3)), (_particles(5), _particles(5))], None


@program
def a_list_of_tables() -> Any:
    def f(a, s):
        tables = [a, a.copy(), a[a["id"] > 2]]
        for t in tables:
            t["x"] *= s
        return [t["x"].sum() for t in tables], tables[0] is a, tables

    return f, [(_particles(), 2.0), (_particles(), 3.0)], None


@program
def a_table_or_nothing() -> Any:
    def f(a, s):
        found = None
        for k in range(5):
            if a["x"][k] > s:
                found = a[k : k + 1]
                break
        return None if found is None else found["id"]

    return f, [(_particles(), 0.7), (_particles(), 5.0)], None


@program
def a_table_in_a_closure_is_replaced() -> Any:
    table = _particles()

    def f(s):
        nonlocal table
        old = table
        table = table[table["x"] >= s]
        return len(old), len(table)

    return f, [(0.5,), (1.0,), (1.5,)], lambda: table


@program
def a_step_gives_the_table_that_it_was_given() -> Any:
    def step(t, s):
        t["x"] += s
        return t

    def f(a, n):
        b = a
        for k in range(n):
            b = step(b, k)
        return b, b is a

    return f, [(_particles(), 4), (_particles(), 6)], None


@program
def the_tables_of_two_names_are_swapped() -> Any:
    def f(a, b, n):
        for _ in range(n):
            a["x"] += b["v"]
            a, b = b, a
        return a["x"], b["x"], a

    return f, [(_particles(), _particles(), 3), (_particles(), _particles(), 4)], None
