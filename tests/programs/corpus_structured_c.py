"""Programs with structured arrays whose parts are views, whose classes are records', and whose elements are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.corpus_structured import _particles
from tests.programs.observe import program

NESTED = np.dtype([("p", [("a", "f8"), ("b", "i8")]), ("w", "f8")])


def _nested() -> Any:
    a = np.zeros(4, NESTED)
    a["p"]["a"], a["p"]["b"], a["w"] = np.arange(4) * 0.5, np.arange(4), 1.0
    return a


@program
def parts_of_fields_in_fields_are_views() -> Any:
    a = _nested()

    def f(a, t):
        a["p"]["a"] += t
        return a[1:], a[::-1]["p"], a[["p", "w"]], a["p"], a[:0]

    return f, [(a, 1.0), (a, 2.0), (a[::2], 1.0)], lambda: a


@program
def parts_of_records_are_views() -> Any:
    a = _particles().view(np.recarray)

    def f(a, t):
        a.x += t
        return a[1:], a.T, a.view(), a.squeeze()

    return f, [(a, 1.0), (a, 2.0)], lambda: a


@program
def records_are_viewed_as_an_array() -> Any:
    a = _particles().view(np.recarray)

    def f(a):
        return a.view(np.ndarray), a.view(type=np.ndarray), np.asanyarray(a)

    return f, [(a,), (a,)], lambda: a


@program
def parts_of_memory_that_is_no_structure_are_views() -> Any:
    raw = np.zeros(48, np.uint8)
    a, b = raw.view([("x", "f8"), ("n", "i4")]), np.frombuffer(bytes(24), [("x", "f8"), ("n", "i4")])

    def f(a, b):
        a["n"] += 1
        return a[1:], b[1:], b["x"]

    return f, [(a, b), (a[::2], b)], lambda: (a, b, raw)


@program
def fields_that_share_memory() -> Any:
    dtype = np.dtype({"names": ["a", "b"], "formats": ["f8", "f4"], "offsets": [0, 0], "itemsize": 8})

    def f(a, t):
        a["a"] = t
        a["b"][1] = 7
        new = np.zeros(3, dtype)
        new["a"], new["b"][0] = t, 2
        return a["a"] + 0, new["a"], new["b"]

    a = np.zeros(3, dtype)
    return f, [(a, 1.1), (a, 2.1)], lambda: a


@program
def records_are_copied_and_compared() -> Any:
    a = _particles().view(np.recarray)

    def f(a):
        return np.copy(a), np.array(a, subok=True), np.copy(a, subok=True), a.copy(), a == a

    return f, [(a,), (a,)], None


@program
def fields_with_the_names_of_methods() -> Any:
    a = np.zeros(3, [("mean", "f8"), ("size", "f8"), ("q", "i4")]).view(np.recarray)

    def f(a, t):
        a.q = t
        a["mean"] = t
        try:
            mean = a.mean()
        except TypeError:
            mean = None
        return a.q.sum(), a.size, a["size"], mean

    return f, [(a, 1), (a, 2)], lambda: a


@program
def what_a_view_as_records_is() -> Any:
    a = _particles()

    def f(a):
        r = a.view(np.recarray)
        return repr(r.dtype), r[0], r.dtype.type is np.record, type(r[0])

    return f, [(a,), (a,)], None


@program
def equal_elements_are_ordered() -> Any:
    a = np.zeros(60, [("x", "f8"), ("n", "i4")])
    a["n"], a["x"] = np.arange(60) % 3, np.where(np.arange(60) % 2, 0.0, -0.0)
    b = a.copy()
    b["x"] = np.arange(60) % 7 + np.arange(60) * 0.5

    def f(a):
        return np.argsort(a, order="n"), np.signbit(np.sort(a)["x"]), np.argsort(a, kind="stable")

    return f, [(b,), (a,), (b[::-1],), (a[:12],)], None


@program
def orders_that_are_none() -> Any:
    def f(a, order, kind):
        return np.sort(a, order=order, kind=kind)

    a = _particles()
    return f, [(a, ["id", "x"], None), (a, ["id", "id"], None), (a, ["id", "x"], "none")], None


@program
def other_things_where_elements_belong() -> Any:
    a = _particles()

    def f(a, t, which):
        found = []
        for g in (
            lambda: np.append(a, (t, 1.0, 2)),
            lambda: np.where(a["x"] > t, a, 0),
            lambda: np.where(a, 1, t),
            lambda: np.take(np.arange(30.0), a),
        )[which : which + 1]:
            try:
                found.append(g())
            except TypeError:
                found.append("none")
        return found

    return f, [(a, 0.5, n) for n in range(4)], None


@program
def an_array_whose_numbers_fill_all_fields() -> Any:
    def f(x):
        return np.array(x, [("a", "f8"), ("b", "i4")])

    return f, [(np.ones(3),), (np.arange(3.0),), (2.5,)], None


@program
def orders_in_memory_of_copies() -> Any:
    a = np.zeros((2, 3), [("x", "f8"), ("n", "i4")])
    a["x"] = np.arange(6).reshape(2, 3)

    def f(a, t):
        a["x"] += t
        return a.T.copy(), np.copy(a), np.zeros_like(a), a.copy("F"), np.array(a, order="F")

    return f, [(a, 1.0), (a.T, 2.0), (a, 1.0)], lambda: a


@program
def names_of_fields_are_set() -> Any:
    held = np.zeros(3, [("x", "f8"), ("y", "f8")])
    given = held.copy()

    def f(a, t):
        a["x"] += t
        held["y"] -= t
        return a.dtype.names, held.dtype.names

    def before(n):
        if n == 1:
            given.dtype.names = ("y", "x")
        if n == 2:
            held.dtype.names = ("y", "z")

    return f, [(given, 1.0), (given, 2.0), (given, 3.0)], lambda: (given, held), before


@program
def fields_by_their_titles() -> Any:
    a = np.zeros(3, [(("how far", "x"), "f8"), ("n", "i4")])

    def f(a, t):
        try:
            a["how far"] += t
        except ValueError:
            return "none"
        return a["x"].sum()

    return f, [(a, 1.0), (a, 2.0)], lambda: a
