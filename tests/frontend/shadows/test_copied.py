"""Copies of objects of outside whose classes say how: by a state, by what makes them, by `__new__`."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import tracejit as tj


class Base:
    def __init__(self, v: Any) -> None:
        self.v, self.w = v, [v, v]


class Given(Base):
    def __getstate__(self) -> Any:
        return {"v": self.v, "w": self.w, "more": 1}


class Taken(Base):
    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self.n = len(state)


class Both(Base):
    def __getstate__(self) -> Any:
        return self.v, self.w

    def __setstate__(self, state: Any) -> None:
        self.v, self.w = state
        self.t = "set"


class New(Base):
    def __new__(cls, first: Any = 7) -> New:
        made = object.__new__(cls)
        made.first = first
        return made

    def __getnewargs__(self) -> Any:
        return (self.v,)


class Reduced(Base):
    def __reduce__(self) -> Any:
        return Reduced, (self.v,), {"z": self.w}


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, v: Any) -> None:
        self.a = v


def _shown(o: Any) -> Any:
    names = ("v", "w", "more", "n", "t", "first", "z", "a", "b")
    return {k: getattr(o, k) for k in names if hasattr(o, k)}


@pytest.mark.parametrize("cls", [Given, Taken, Both, New, Reduced, Slots])
def test_copies_are_pythons(cls: Any) -> None:
    held = cls(5.0)

    def f(o, x):
        shallow, deep, pair = copy.copy(o), copy.deepcopy(o), copy.deepcopy([held, held])
        if hasattr(deep, "w"):
            deep.w.append(x)
            shallow.v = shallow.v + x
        return [_shown(y) for y in (shallow, deep, pair[0], o)], pair[0] is pair[1], type(deep) is cls

    fast = tj.jit(f, fallback=False)
    for n in range(3):
        assert repr(fast(cls(1.0 + n), 2.0 + n)) == repr(f(cls(1.0 + n), 2.0 + n))
        setattr(held, "a" if cls is Slots else "v", 1.5 * n)
        held.b = n
