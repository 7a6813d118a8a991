"""Parts of structured arrays beside these in results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import Described

PARTICLE = [("x", "f8"), ("v", "f8", (2,)), ("id", "i4")]
BODY = np.dtype([("at", [("x", "f8"), ("y", "f8")]), ("mass", "f8")])


def _made(x: Any) -> Any:
    p = np.zeros(4, PARTICLE)
    p["x"], p["v"], p["id"] = x, x * 2, np.arange(4)
    return p


def parts_and_elements(x):
    p = _made(x)
    return p, p[1:], p[::-1], p[1], p[::2], p[-1:0:-2]


def the_part_comes_first(x):
    p = _made(x)
    return p[1:], {"whole": p}


def as_records(x):
    p = _made(x)
    return p.view(np.recarray), p, p.view(np.recarray)[1:]


def fields_of_fields(x):
    b = np.zeros(2, BODY)
    b["at"]["x"] = x
    return b["at"], b, b["mass"]


def some_fields(x):
    p = _made(x)
    return p, p[["x", "id"]], p["v"]


def written_through_a_part(x):
    p = _made(x)
    q = p[1:]
    q["x"] = 7
    p[3] = (x, (1, 2), 9)
    return q, p, q[0]


def parts_of_parts(x):
    p = _made(x)
    q = p[1:][1:]
    return q, p, q[0]


@pytest.mark.parametrize(
    "f",
    [
        parts_and_elements,
        the_part_comes_first,
        as_records,
        fields_of_fields,
        some_fields,
        written_through_a_part,
        parts_of_parts,
    ],
    ids=lambda f: f.__name__,
)
def test_they_share_memory(f: Any) -> None:
    jitted = tj.jit(f, fallback=False)
    for x in (1.5, 2.5):
        assert Described(jitted(x)).found == Described(f(x)).found


def test_fields_have_titles_and_elements_are_no_numbers() -> None:
    def f(a, x):
        a["how far"] += x
        try:
            a.sum()
        except TypeError:
            return a["x"].sum()
        return None

    a = np.zeros(3, [(("how far", "x"), "f8"), ("n", "i4")])
    b = a.copy()
    assert tj.jit(f, fallback=False)(a, 1.5) == f(b, 1.5) and (a == b).all()


def test_numbers_in_all_fields() -> None:
    def f(x):
        return np.array(x, [("a", "f8"), ("b", "i4")])

    for x in (np.linspace(-2, 2, 5), np.arange(6).reshape(2, 3), np.float64(2.5)):
        assert Described(tj.jit(f, fallback=False)(x)).found == Described(f(x)).found
