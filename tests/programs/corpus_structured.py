"""Programs with structured arrays: tables of particles, records that are read and written, orders by fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

PARTICLE = np.dtype([("x", "f8"), ("v", "f8"), ("id", "i4")])
PADDED = np.dtype([("kind", "i1"), ("mass", "f8"), ("flag", "?")], align=True)
POINT = np.dtype([("at", "f8", (3,)), ("weight", "f4")])


def _particles(n: int = 5) -> Any:
    a = np.zeros(n, PARTICLE)
    a["x"], a["v"], a["id"] = np.arange(n) * 0.5, 1.0, np.arange(n)[::-1]
    return a


def _padded(n: int = 4) -> Any:
    a = np.zeros(n, PADDED)
    a["kind"], a["mass"], a["flag"] = np.arange(n) - 1, np.arange(n) * 1.5, np.arange(n) % 2
    return a


@program
def moves_particles() -> Any:
    def f(a, dt):
        a["x"] += dt * a["v"]
        return a["x"].mean()

    a = _particles()
    return f, [(a, 0.1), (a, 0.2), (_particles(), 0.3)], lambda: a


@program
def the_array_itself_comes_back() -> Any:
    def f(a, dt):
        a["v"] -= dt
        return a

    return f, [(_particles(), 0.1), (_particles(3), 0.2)], None


@program
def bounces_off_walls() -> Any:
    def f(a, dt):
        for _ in range(10):
            a["x"] += dt * a["v"]
            out = (a["x"] < 0) | (a["x"] > 1)
            a["v"][out] *= -1
        return a[out]

    return f, [(_particles(), 0.1), (_particles(), 0.05)], None


@program
def a_mask_takes_elements() -> Any:
    def f(a, low):
        return a[a["x"] > low], a[a["x"] > low]["v"].sum()

    return f, [(_particles(), 0.6), (_particles(), 5.0), (_particles(9), 0.6)], None


@program
def a_table_of_outside() -> Any:
    table = _particles()

    def f(dt):
        table["x"] += dt
        return table["x"] * table["id"]

    return f, [(0.5,), (1.0,)], lambda: table


@program
def a_table_that_is_made() -> Any:
    def f(x):
        out = np.zeros(len(x), dtype=[("value", "f8"), ("square", "f8"), ("small", "?")])
        out["value"] = x
        out["square"] = x**2
        out["small"] = np.abs(x) < 1
        return out

    return f, [(np.linspace(-2, 2, 5),), (np.linspace(0, 1, 5),)], None


@program
def results_of_a_parameter_study() -> Any:
    def f(rates):
        out = np.empty(len(rates), [("rate", "f8"), ("steps", "i8"), ("left", "f8")])
        for n, rate in enumerate(rates):
            left, steps = 1.0, 0
            while left > 0.1:
                left *= 1 - rate
                steps += 1
            out[n] = rate, steps, left
        return out

    return f, [(np.array([0.1, 0.2, 0.5]),), (np.array([0.3, 0.05, 0.9]),)], None


@program
def one_element_is_a_view() -> Any:
    def f(a, n):
        r = a[n]
        r["x"] = 7.0
        a["id"][n] = 9
        return r["x"] + r["id"], r["v"]

    a = _particles()
    return f, [(a, 1), (a, 2), (a, -1)], lambda: a


@program
def elements_change_places_as_views_do() -> Any:
    def f(a, i, j):
        a[i], a[j] = a[j], a[i]  # both are views: the second is written with what it was given
        return a["id"]

    return f, [(_particles(), 0, 3), (_particles(), 1, 2)], None


@program
def elements_change_places() -> Any:
    def f(a, i, j):
        a[[i, j]] = a[[j, i]]
        return a["id"]

    return f, [(_particles(), 0, 3), (_particles(), 1, 2)], None


@program
def a_loop_over_records() -> Any:
    def f(a, dt):
        total = 0.0
        for r in a:
            r["x"] += dt * r["v"]
            if r["id"] > 2:
                total += r["x"]
        return total

    a = _particles()
    return f, [(a, 0.5), (a, 0.25)], lambda: a


@program
def an_element_comes_out() -> Any:
    def f(a, n):
        return a[n], a[n].item()

    return f, [(_particles(), 1), (_particles(), 3)], None


@program
def sorted_by_a_field() -> Any:
    def f(a, s):
        a["x"] *= s
        return np.sort(a, order="id"), np.argsort(a, order=["x", "id"])

    return f, [(_particles(), 1.0), (_particles(), -1.0)], None


@program
def sorted_in_place() -> Any:
    def f(a, s):
        a["v"] = s * a["id"] % 3
        a.sort(order="v")
        return a

    return f, [(_particles(), 1), (_particles(), 2)], None


@program
def padding_stays() -> Any:
    def f(a, s):
        a["mass"] *= s
        heavy = a[a["mass"] > 2]
        return heavy, heavy.dtype.itemsize, a.nbytes

    a = _padded()
    return f, [(a, 2.0), (a, 1.5)], lambda: a.tobytes()


@program
def fields_of_vectors() -> Any:
    def f(p, dt):
        p["at"] += dt * np.array([1.0, 2.0, 3.0])
        p["at"][:, 0] = 0
        far = p[np.linalg.norm(p["at"], axis=1) > 1]
        return far, (p["weight"][:, None] * p["at"]).sum(0), p[0]["at"]

    p = np.zeros(4, POINT)
    p["weight"] = np.arange(4)
    return f, [(p, 0.2), (p, 0.1)], lambda: p


@program
def fields_in_fields() -> Any:
    body = np.dtype([("position", [("x", "f8"), ("y", "f8")]), ("mass", "f8")])

    def f(b, dt):
        b["position"]["x"] += dt
        b["position"]["y"][1:] = b["mass"][1:] * dt
        return b["position"], b[b["mass"] > 0.5]

    b = np.zeros(3, body)
    b["mass"] = [0.0, 1.0, 2.0]
    return f, [(b, 0.1), (b, 0.2)], lambda: b


@program
def records_by_attributes() -> Any:
    def f(r, dt):
        r.x += dt * r.v
        return r.x.sum(), r[1].id, r

    r = _particles().view(np.recarray)
    return f, [(r, 0.1), (r, 0.2)], lambda: r


@program
def seen_as_records_inside() -> Any:
    def f(a, dt):
        r = a.view(np.recarray)
        r.x = dt
        return r.x * r.id

    return f, [(_particles(), 0.1), (_particles(), 0.2)], None


@program
def some_fields() -> Any:
    def f(a, s):
        part = a[["id", "x"]]
        part["x"] *= s
        return part.dtype.names, len(part), a["x"]

    return f, [(_particles(), 2.0), (_particles(), 3.0)], None


@program
def fields_change_places() -> Any:
    def f(a, s):
        a["x"] *= s
        a[["x", "v"]] = a[["v", "x"]]
        return a["x"]

    return f, [(_particles(), 2.0), (_particles(), 3.0)], None


@program
def rows_are_appended() -> Any:
    def f(a, x):
        new = np.array([(x, 2 * x, 7)], dtype=a.dtype)
        return np.concatenate([a, new, a[:1]])

    return f, [(_particles(), 2.0), (_particles(), 3.0)], None


@program
def a_part_is_a_view() -> Any:
    def f(a, dt):
        a[1:3]["x"] = dt
        a[::2]["v"] += dt
        return a[1:], a["x"][1:]

    return f, [(_particles(), 2.0), (_particles(), 3.0)], None


@program
def a_column_lies_in_gaps() -> Any:
    def f(x):
        p = np.zeros(3, [("a", "f8"), ("b", "i1")])
        p["a"] = x
        flat = p["a"].ravel()  # a copy: the column is not contiguous
        flat[0] = 9.0
        return p["a"].flags.c_contiguous, p["a"], flat

    return f, [(1.0,), (2.0,)], None


@program
def a_column_of_an_argument_lies_in_gaps() -> Any:
    def f(a, x):
        flat = a["x"].ravel()
        flat[0] = x
        np.ascontiguousarray(a["v"])[0] = x
        return a["x"].flags.c_contiguous, a["x"].strides, flat

    return f, [(_particles(), 1.0), (_particles(), 2.0)], None


@program
def an_array_and_its_column_come_out() -> Any:
    def f(x):
        p = np.zeros(3, PARTICLE)
        p["x"] = x
        return p, p["x"], p

    return f, [(1.0,), (2.0,)], None


@program
def an_array_and_a_part_of_it_come_out() -> Any:
    def f(x):
        p = np.zeros(3, PARTICLE)
        p["x"] = x
        return p, p[1:], p[1]

    return f, [(1.0,), (2.0,)], None


@program
def kept_as_an_attribute() -> Any:
    class Swarm:
        def __init__(self) -> None:
            self.p = _particles()
            self.fast = None

        def step(self, dt):
            self.p["x"] += dt * self.p["v"]
            self.p["v"] *= 1 + dt
            self.fast = self.p[self.p["v"] > 1.2]
            return self.fast["x"].sum()

    swarm = Swarm()
    return lambda dt: swarm.step(dt), [(0.1,), (0.2,), (0.3,)], lambda: swarm


@program
def in_a_branch() -> Any:
    def f(a, x):
        if x > 0:
            a["x"] += x
            b = a[:2].copy()
        else:
            b = np.zeros(2, PARTICLE)
        b["id"] += 1
        return b

    return f, [(_particles(), 2.0), (_particles(), -3.0)], None


@program
def carried_by_a_loop() -> Any:
    def f(a, n):
        best = a[:2].copy()
        for k in range(n):
            now = best.copy()
            now["x"] += k * now["v"]
            if now["x"].sum() > best["x"].sum():
                best = now
        return best

    return f, [(_particles(), 5), (_particles(), 3)], None


@program
def survivors_of_a_loop() -> Any:
    def f(a, n):
        for k in range(n):
            a = a[a["id"] != k]
            a["x"] += 1
        return a

    return f, [(_particles(9), 3), (_particles(9), 5)], None


@program
def names_are_not_numbers() -> Any:
    people = np.array([("Ada", 36, 1.7), ("Bob", 41, 1.8)], [("name", "U8"), ("age", "i4"), ("size", "f8")])

    def f(s):
        people["size"] *= s
        return people["size"] / people["age"]

    return f, [(1.1,), (0.9,)], lambda: people


@program
def names_are_looked_at() -> Any:
    people = np.array([("Ada", 36), ("Bob", 41)], [("name", "U8"), ("age", "i4")])

    def f(name, s):
        return people[people["name"] == name]["age"] * s

    return f, [("Bob", 2), ("Ada", 3)], None


@program
def bytes_in_another_order() -> Any:
    def f(a, s):
        a["n"] += 1
        return a["big"] * s

    a = np.zeros(3, [("big", ">f8"), ("n", "i4")])
    a["big"] = [1, 2, 3]
    return f, [(a, 2.0), (a, 3.0)], lambda: a


@program
def no_such_field() -> Any:
    def f(a, s):
        a["x"] += s
        return a["y"]

    return f, [(_particles(), 1.0)], None


@program
def tuples_of_another_length() -> Any:
    def f(a, s):
        a[0] = (s, s)
        return a

    return f, [(_particles(), 1.0)], None


@program
def equality_of_elements() -> Any:
    def f(a, s):
        a["x"] += s
        return a[0] == a[1], a == a

    return f, [(_particles(), 1.0)], None


@program
def zeros_like_a_table() -> Any:
    def f(a, s):
        b = np.zeros_like(a)
        b["x"] = a["x"] * s
        b[0] = a[-1]
        b[1:3] = a[0]
        b[-1] = (s, s, 3)
        return b, np.ones(2, a.dtype), np.full(2, s, a.dtype)

    return f, [(_particles(), 2.0), (_particles(), 3.0)], None


@program
def a_table_of_rows() -> Any:
    def f(x, y):
        rows = [(x, 1), (y, 2), (x * y, 3)]
        t = np.array(rows, dtype=[("value", "f8"), ("rank", "i4")])
        return t[t["value"].argmax()]["rank"], t

    return f, [(1.0, 3.0), (4.0, 0.1)], None


@program
def a_dict_of_tables() -> Any:
    def f(tables, s):
        for t in tables.values():
            t["x"] *= s
        return {k: t["x"].sum() for k, t in tables.items()}

    tables = {"a": _particles(), "b": _particles(3)}
    return f, [(tables, 2.0), (tables, 3.0)], lambda: tables


@program
def two_arguments_that_are_one() -> Any:
    def f(a, b, s):
        a["x"] += s
        return b["x"] * 2

    a, b = _particles(), _particles()
    return f, [(a, b, 2.0), (a, a, 3.0), (a, a[1:], 3.0)], lambda: (a, b)


@program
def another_dtype_at_the_next_call() -> Any:
    def f(a):
        return a["x"] + 1, a.dtype.names

    b = np.zeros(5, [("x", "f4"), ("y", "f8")])
    return f, [(_particles(),), (b,), (_particles(3),)], None


@program
def a_type_of_an_array_is_asked() -> Any:
    def f(a, s):
        kinds = (
            isinstance(a, np.ndarray),
            type(a) is np.ndarray,
            type(a[0]) is np.void,
            isinstance(a[0], np.void),
        )
        return kinds, a["x"] * s, a.shape, a.ndim, a.size, a.dtype == PARTICLE, "x" in a.dtype.names

    return f, [(_particles(), 2.0)], None


@program
def a_matrix_of_records() -> Any:
    def f(g, s):
        g["x"][1] += s
        g[0, 1]["v"] = s
        return g[:, 1]["x"], g.T["v"], g.ravel()["x"], g.reshape(3, 2)[2]

    g = np.zeros((2, 3), PARTICLE)
    return f, [(g, 1.0), (g, 2.0)], lambda: g


@program
def what_a_text_says() -> Any:
    def f(a, s):
        a["x"] += s
        return str(a[0]), f"{a[1]}", a[0].tolist(), a.tolist()

    return f, [(_particles(2), 1.0), (_particles(2), 2.0)], None


@program
def fields_in_fields_that_are_made() -> Any:
    body = np.dtype([("position", [("x", "f8"), ("y", "f8")]), ("mass", "f8")])

    def f(x):
        b = np.zeros(2, body)
        b["position"]["x"] = x
        b[1] = ((x, 2 * x), 3)
        return b, b["position"]["y"].sum()

    return f, [(0.1,), (0.2,)], None


@program
def a_field_in_a_field_comes_out_as_well() -> Any:
    body = np.dtype([("position", [("x", "f8"), ("y", "f8")]), ("mass", "f8")])

    def f(x):
        b = np.zeros(2, body)
        b["position"]["x"] = x
        return b, b["position"]

    return f, [(0.1,), (0.2,)], None


@program
def two_views_of_what_is_made() -> Any:
    def f(x):
        def views():
            p = np.zeros(2, PARTICLE)
            p["x"] = x
            return p.view(np.recarray), p.view(np.recarray)

        return views()

    return f, [(0.1,), (0.2,)], None


@program
def a_result_in_the_history_of_an_object() -> Any:
    history = []

    def f(a, dt):
        a["x"] += dt
        history.append(a.copy())
        return history[-1]["x"].mean()

    return f, [(_particles(), 0.1), (_particles(), 0.2)], lambda: history


@program
def equal_elements() -> Any:
    def f(a, b):
        b["x"][1] += 1
        return a == b, a != b, (a == b).all(), a[0] == b[0]

    return f, [(_particles(), _particles()), (_particles(), _particles())], None
