"""Attributes of the user's objects, by themselves and as entries of `__dict__`."""

from __future__ import annotations

from typing import Any

import tracejit as tj


class Slotted:
    __slots__ = ("a",)
    a: Any


class Both(Slotted):
    b: Any


def test_slots_are_no_entries_of_the_dict() -> None:
    def f(o: Both, x: Any) -> Any:
        o.a = x
        o.b = 2 * x
        names = vars(o)
        names["b"] += o.a
        return o.a, o.b, list(names)

    ours, theirs = Both(), Both()
    for o in (ours, theirs):
        o.a, o.b = 0.5, 1.5
    assert tj.jit(f)(ours, 3.0) == f(theirs, 3.0) == (3.0, 9.0, ["b"])
    assert (ours.a, ours.b) == (theirs.a, theirs.b)
