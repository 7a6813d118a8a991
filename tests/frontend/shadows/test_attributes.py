"""Attributes of the user's objects, by themselves and as entries of `__dict__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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


class Place:
    def __init__(self) -> None:
        self.v = 2.0
        self.w = np.ones(2)

    @property
    def both(self) -> Any:
        return self.v

    @both.setter
    def both(self, value: Any) -> None:
        self.__dict__["v"], self.__dict__["u"] = value, 0.5


def entry_written(o: Any, x: Any) -> Any:
    names = o.__dict__
    names["v"] += 1
    vars(o)["n"] = 3.0
    return x * o.v * o.n


def updated(o: Any, x: Any) -> Any:
    o.__dict__.update(v=5.0, n=1.0)
    return x * o.v + len(vars(o))


def attribute_written(o: Any, x: Any) -> Any:
    names = vars(o)
    o.v, names["n"] = 9.0, 4.0
    return x * o.v + names["v"] + o.n


def by_a_property(o: Any, x: Any) -> Any:
    names = vars(o)
    o.both = 5.0
    return x * o.v + names["v"] + names["u"]


def deleted(o: Any, x: Any) -> Any:
    names = vars(o)
    names["n"] = 3.0
    del o.n, names["w"], o.v
    return x * (1 + len(names) + hasattr(o, "v") + hasattr(o, "n"))


def put_again(o: Any, x: Any) -> Any:
    del o.v
    vars(o)["v"] = 6.0
    return x * o.v


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tj.value_and_grad(f)(1.5)[0],
    "jvp": lambda f: tj.jvp(f, (1.5,), (1.0,))[0],
    "vmap": lambda f: tj.vmap(f)(np.array([1.5]))[0],
    "jit": lambda f: tj.jit(f, fallback=True)(1.5),
}


@pytest.mark.parametrize("f", [entry_written, updated, attribute_written, by_a_property, deleted, put_again])
@pytest.mark.parametrize("by", TRANSFORMED)
@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_entries_and_attributes_are_one(f: Any, by: str) -> None:
    """Also in eager transformations, where effects happen at once."""
    ours, theirs = Place(), Place()
    assert TRANSFORMED[by](lambda x: f(ours, x)) == f(theirs, 1.5)
    assert vars(ours).keys() == vars(theirs).keys()
    assert all(np.array_equal(vars(ours)[k], x) for k, x in vars(theirs).items())
