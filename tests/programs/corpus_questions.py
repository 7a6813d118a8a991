"""Methods that Python calls as they are, of classes that keep their objects, and ask what values are: by `isinstance`,
`type`, `match`, `hasattr` and `is`."""

from __future__ import annotations

import collections
import enum
import functools
import numbers
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tests.programs.observe import program

X = np.arange(4.0) - 1.5
NUMBERS = [(2.0,), (-0.5,), (3.25,)]
BOTH = [(2.0,), (X,), (-1.0,)]


@functools.singledispatch
def kind(v):
    return "other"


@kind.register
def _(v: float):
    return "float"


@kind.register
def _(v: np.ndarray):
    return "array"


def is_float(v):
    return type(v) is float


@dataclass
class Length:
    value: Any

    def __add__(self, other):
        if isinstance(other, (int, float)):
            return Length(self.value + 10 * other)
        return Length(self.value + other.value)

    __radd__ = __add__

    def __neg__(self):
        return Length(-self.value if isinstance(self.value, numbers.Real) else 7 - self.value)

    def __getitem__(self, k):
        match self.value:
            case float():
                return self.value * k
            case np.ndarray():
                return self.value[k]
        return None

    def __len__(self):
        return len(self.value) if isinstance(self.value, np.ndarray) else 1

    def __contains__(self, v):
        return type(v) is float and type(self.value) is not float

    def __matmul__(self, other):
        return kind(self.value), kind(other), np.isscalar(self.value)

    def __mul__(self, k):
        return Length(self.value * (k if is_float(self.value) else 2 * k))

    def __iter__(self):
        yield self.value
        if hasattr(self.value, "__len__"):
            yield 0.0

    def __and__(self, other):
        return isinstance(self.value, Iterable), isinstance(self.value, Sized), isinstance(other, float | int)

    def __xor__(self, other):
        return (
            getattr(self.value, "ndim", "none"),
            hasattr(self.value, "shape"),
            self.value.__class__.__name__,
        )

    def __or__(self, flag):
        return "yes" if flag is True else "no" if flag is False else "neither"


@program
def operators_that_ask_by_isinstance() -> Any:
    def f(x):
        a = Length(x) + 1.5 + Length(x)
        b: Any = sum([Length(x), Length(2 * x)], 0)
        return a.value, b.value, (-a).value

    return f, BOTH, None


@program
def items_that_match() -> Any:
    return lambda x: (Length(x)[2], len(Length(x)), Length(x) @ x), BOTH, None


@program
def operators_that_ask_for_the_type() -> Any:
    return lambda x: ((Length(x) * 3.0).value, x in Length(x)), BOTH, None


@program
def operators_that_ask_for_methods() -> Any:
    return lambda x: (list(Length(x)), Length(x) & x, Length(x) ^ x), BOTH, None


@program
def operators_that_ask_for_true() -> Any:
    return lambda x: (Length(x) | (x > 0), Length(x) | x, Length(x) | (x == x)), NUMBERS, None


class Reading(NamedTuple):
    value: Any
    unit: str = "m"

    def __str__(self):
        return f"{self.unit}:{'number' if isinstance(self.value, float) else 'list'}"

    def __mul__(self, k):
        return Reading(self.value * (k if isinstance(k, float) else 100 * k), self.unit)

    def __bool__(self):
        return isinstance(self.value, np.ndarray)


@program
def named_tuples_that_ask() -> Any:
    def f(x):
        r = Reading(x)
        return str(r), (r * x).value, (r * 2).value, 1 if r else 2, not r

    return f, BOTH, None


class Series(list):
    def __add__(self, other):
        return Series([v + other if isinstance(v, float) else v for v in self])

    def __contains__(self, v):
        return isinstance(v, float)

    @functools.cached_property
    def first(self):
        return self[0] if type(self[0]) is float else None


@program
def lists_that_ask() -> Any:
    def f(x):
        s = Series([x, 2 * x])
        return (s + 1.0), x in s, s.first

    return f, BOTH, None


class Table(dict):
    def __setitem__(self, k, v):
        super().__setitem__(k, ("float" if isinstance(v, float) else "other", v))

    def __missing__(self, k):
        return k


@program
def dicts_that_ask() -> Any:
    def f(x):
        t = Table()
        t["a"], t["b"] = x, x > 0
        return t, t[3]

    return f, NUMBERS, None


class Failed(Exception):
    def __init__(self, v):
        super().__init__("number" if isinstance(v, float) else "array")
        self.v = v

    def __eq__(self, other):
        return isinstance(self.v, float) and isinstance(other, float)

    __hash__ = Exception.__hash__


@program
def exceptions_that_ask() -> Any:
    def f(x):
        e = Failed(x)
        return e.args, e == x, e.v

    return f, BOTH, None


class Mode(enum.Enum):
    A = 1
    B = 2

    def __mul__(self, v):
        return v * self.value if isinstance(v, float) else -v

    def __call__(self, v):
        return type(v).__name__


@program
def members_that_ask() -> Any:
    return lambda x: (Mode.B * x, Mode.A(x), [m * x for m in Mode]), BOTH, None


@dataclass
class Checked:
    value: Any
    parts: Any = None

    def __post_init__(self):
        if not isinstance(self.value, float):
            raise TypeError(f"no float but {type(self.value).__name__}")
        if self.parts is not None and not isinstance(self.parts, list):
            raise TypeError("no list")


@program
def checked_when_they_are_made() -> Any:
    def f(x):
        found = []
        for v in (x, 2 * x, x > 0, None):
            try:
                found.append(Checked(v).value)
            except TypeError as e:
                found.append(str(e))
        return found

    return f, NUMBERS, None


class Holder:
    def __init__(self, v):
        self.v = v

    def _is(self, cls):
        return type(self.v) is cls

    is_number = functools.partialmethod(_is, float)


@program
def partial_methods_that_ask() -> Any:
    return lambda x: (Holder(x).is_number(), x), BOTH, None


@dataclass
class Held:
    xs: Any

    def __neg__(self):
        return isinstance(self.xs, list), isinstance(self.xs, (float, type(None)))


@program
def lists_of_traced_length_in_methods() -> Any:
    def f(x):
        found, best = [], None
        for v in x:
            if v > 0:
                found.append(v)
                best = v
        return -Held(found), len(found), -Held(best)

    return f, [(np.linspace(-2, 2, 40),), (np.linspace(-3, 1, 40),), (-np.ones(40),)], None


class Valued(Protocol):
    v: Any


class Cell(Valued):
    def __init__(self, v):
        self.v = v

    def scaled(self, k=2.0):
        return self.v * (k if type(self.v) is float else 5 * k)


class Bins(collections.defaultdict):
    def shifted(self, k=2.0):
        return self["v"] + (k if isinstance(self["v"], Sized) else 5 * k)


class Strict:
    def __init__(self, v):
        self.v = v

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)

    def doubled(self):
        return 2 * self.v if type(self.v) is float else 0 * self.v


@program
def methods_that_are_found_in_other_ways() -> Any:
    def f(x):
        bins = Bins(float, v=x)
        shifted = bins.shifted
        return list(map(Cell.scaled, [Cell(x)])), shifted(), Strict(x).doubled()

    return f, BOTH, None


GATHERED: list[Any] = [0.0]


class Shape(enum.Enum):
    DISC = 1

    @functools.cached_property
    def area(self):
        return GATHERED[-1] * self.value


@program
def a_cached_property_that_reads_what_the_function_has_written() -> Any:
    vars(Shape.DISC).pop("area", None)
    GATHERED[:] = [0.0]

    def f(x):
        GATHERED.append(2 * x)
        return Shape.DISC.area

    return f, NUMBERS, lambda: GATHERED
