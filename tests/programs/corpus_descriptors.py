"""Attributes that come and go between calls, beside descriptors and classes that change: looking whether a program
still holds must not run the user's code."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([1.0, 2.0, 2.5])


@program
def a_cached_property_that_counts_is_dropped_between_calls() -> Any:
    class Holder:
        def __init__(self, v):
            self.v, self.n = v, 0

        @functools.cached_property
        def slow(self):
            self.n += 1
            return self.v * 2

    o = Holder(A)

    def before(n):
        if n in (2, 4):
            del o.__dict__["slow"]

    return lambda x: (o.slow * x, o.n), [(A,)] * 6, lambda: o, before


@program
def a_descriptor_that_an_object_hides_and_shows_again() -> Any:
    class Lazy:
        def __init__(self, fn):
            self.fn = fn

        def __get__(self, obj, owner):
            obj.__dict__["slow"] = value = self.fn(obj)
            return value

    class Holder:
        def __init__(self, v):
            self.v, self.n = v, 0

        @Lazy
        def slow(self):
            self.n += 1
            return self.v * 2

    o = Holder(A)

    def before(n):
        if n in (2, 4):
            del o.__dict__["slow"]

    return lambda x: (o.slow * x, o.n), [(A,)] * 6, lambda: o, before


@program
def what_a_class_gives_for_missing_attributes_is_asked_by_the_function_alone() -> Any:
    asked: Any = []

    class Holder:
        def __init__(self):
            self.a, self.b = 1.0, A + 0

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            asked.append(name)
            return 5.0

    o = Holder()

    def before(n):
        if n == 2:
            del o.a
        elif n == 3:
            o.a = 2.0
        elif n == 4:
            del o.b

    return lambda x: (o.a * x, o.b * x), [(A,)] * 6, lambda: asked, before


@program
def members_that_a_class_gets_and_loses() -> Any:
    class Base:
        k = 1

        def m(self):
            return 1

    class Derived(Base):
        pass

    def before(n):
        if n == 1:
            Derived.k, Derived.m = 3, lambda self: super(Derived, self).m() + 7
        elif n == 2:
            del Derived.k
        elif n == 3:
            del Derived.m
            Base.k = 5

    return lambda x: (Derived.k * x, Derived().m(), Derived().k), [(A,)] * 5, None, before


def _said(act: Any, x: Any) -> Any:
    try:
        return act(x)
    except (AttributeError, TypeError, ValueError) as e:
        return type(e), str(e), x


def _set(x: Any) -> None:
    x.name = 1


def _deleted(x: Any) -> None:
    del x.name


def _item_deleted(x: Any) -> None:
    del x[0]


@program
def what_is_said_of_attributes_that_arrays_and_numbers_do_not_take() -> Any:
    return lambda x: (_said(_set, x), _said(_deleted, x)), [(A,), (1.5,), (3,), (A[0],)], None


@program
def what_is_said_of_items_that_are_deleted() -> Any:
    return lambda x: _said(_item_deleted, x), [(A,), (1.5,), (3,), (A[0],)], None


@program
def descriptors_that_keep_their_values_in_the_object() -> Any:
    class Field:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, obj, owner=None):
            return self if obj is None else obj.__dict__[self.name]

        def __set__(self, obj, value):
            obj.__dict__[self.name] = abs(value)

    class Filter:
        gain, level = Field(), Field()

        def __init__(self):
            self.gain, self.level, self.n = -2.0, 1.0, 0

        def step(self, x):
            self.level = self.level - x.sum()
            self.n += 1
            return x * self.gain * self.level, sorted(self.__dict__), vars(self)["level"]

    o = Filter()
    return o.step, [(A,), (-A,), (A + 1,)], lambda: vars(o)
