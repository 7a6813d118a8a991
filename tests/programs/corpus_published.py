"""Idioms of published packages: classes on classes that Python makes, values that are made when they are asked for,
numbers that are made of one type."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tests.programs.observe import Maker, program

NATIVE: list[Maker] = []
X = np.array([0.5, 1.5, -2.0])


def native(maker: Maker) -> Maker:
    NATIVE.append(maker)
    return program(maker)


@dataclass
class Shape:
    size: float
    name: str = "shape"

    def area(self):
        if not isinstance(self.size, (float, np.ndarray)):
            raise TypeError(f"size of {self.name}")
        return math.pi * self.size**2 if isinstance(self.size, float) else np.pi * self.size @ self.size

    @property
    def kind(self):
        return "number" if isinstance(self.size, float) else "array"

    @classmethod
    def unit(cls, size):
        return cls(size * 2) if type(size) is float else cls(size)

    @staticmethod
    def known(size):
        return isinstance(size, (float, np.ndarray))


@dataclass
class Ring(Shape):
    hole: float = 0.1

    def area(self):
        return super().area() - Shape.area(Shape(self.hole))

    @property
    def kind(self):
        return "ring of a " + super().kind

    def twice(self, size):
        return super().unit(size), super().known(size)


@native
def a_dataclass_asks_its_base():
    def f(x):
        ring = Ring(x, "ring")
        return ring.area(), ring.kind, ring.twice(x)[0].size, ring.twice(x)[1]

    return f, [(1.5,), (X,), (2.5,)], None


@dataclass
class Checked:
    low: float
    high: float = 2.0
    types: tuple = field(default=(float, int), repr=False)

    def __post_init__(self):
        for name in ("low", "high"):
            value = getattr(self, name)
            if not isinstance(value, self.types):
                raise TypeError(f"{name} must be a number")
        self.width = self.high - self.low


@dataclass
class Given(Checked):
    def __init__(self, low):
        super().__init__(low, high=low + 1.5)


@dataclass
class Wider(Checked):
    def __post_init__(self):
        super().__post_init__()
        self.width *= 2 if self.low < 1 else 3


@native
def inputs_are_checked_when_they_are_made():
    def f(a):
        return Given(a).width, Wider(a).width, Checked(a).high

    return f, [(0.5,), (1.25,), (-3.0,)], None


@dataclass
class Plain:
    x: float
    parts: list = field(default_factory=lambda: [1.0])


@dataclass
class Late(Plain):
    def __init__(self, x):
        super().__init__(x)  # which was made before there was a `__post_init__`

    def __post_init__(self):
        self.late = True


@native
def a_base_without_an_end_calls_none():
    def f(x):
        made = Late(x)
        return hasattr(made, "late"), made.parts, made.x * 2

    return f, [(0.5,), (1.5,), (2.0,)], None


class Series(list):
    def mean(self):
        return sum(self) / len(self) if isinstance(self[0], float) else None


class Named(Series):
    def mean(self):
        return super().mean(), "named"


class Failure(Exception):
    def worst(self):
        return max(v for v in self.args if isinstance(v, float))


class Loud(Failure):
    def worst(self):
        return super().worst() * 2


@native
def lists_and_exceptions_ask_their_bases():
    def f(x, y):
        return Named([x, y]).mean(), Loud(x, "of", y).worst()

    return f, [(1.0, 2.0), (4.0, 3.0), (-1.0, -2.0)], None


class Lazy:
    """Values that are computed when they are first asked for."""

    factor: float

    def __init__(self, data):
        self.data = data

    @property
    def total(self):
        try:
            return self._total
        except AttributeError:
            self._total = self.data.sum()
            return self._total

    def scaled(self):
        try:
            cache = self._cache
        except AttributeError:
            cache = self._cache = {}
        if "scaled" not in cache:
            cache["scaled"] = self.data / self.total
        return cache["scaled"]


@native
def what_is_missing_is_made():
    def f(x):
        lazy = Lazy(x)
        return lazy.scaled(), lazy.total, lazy.scaled() is lazy.scaled()

    return f, [(X,), (X + 1,), (X * 3,)], None


@native
def what_is_missing_is_made_once_outside():
    lazy = Lazy(X)

    def f(k):
        return lazy.total * k

    return f, [(1.0,), (2.0,), (3.0,)], lambda: vars(lazy)


@native
def the_missing_is_there_later():
    lazy = Lazy(X)

    def f(k):
        try:
            return lazy.factor * k
        except AttributeError:
            return k

    def before(n):
        if n == 1:
            lazy.factor = 10.0
        elif n == 2:
            del lazy.factor

    return f, [(1.0,), (2.0,), (3.0,)], None, before


def extent(values):
    try:
        return values.shape
    except AttributeError:
        return (len(values),)


def precision(values):
    try:
        return np.finfo(values.dtype).eps
    except (AttributeError, ValueError):
        return 1e-12


@native
def arrays_and_lists_are_told_by_what_they_have():
    def f(x, y):
        return extent(x), extent([y, y]), extent((y,)), precision(x), precision([y]), extent("text")

    return f, [(X, 1.0), (X[:2], 2.0), (np.ones((2, 2)), 3.0)], None


def as_float(a, dtype=None):
    dtype = np.float64 if dtype is None else dtype
    if isinstance(a, np.ndarray) and a.size == 1 and a.ndim != 0:
        return np.asarray(a, dtype)
    return dtype(a)


@native
def one_type_is_made_of_either():
    def f(x):
        raised = np.abs(x) ** 0.5
        return as_float(0 if np.isnan(raised) else raised), np.float32(1 if x > 1 else raised)

    return f, [(np.float64(2.0),), (np.float64(np.nan),), (np.float64(0.25),)], None


@native
def booleans_and_integers_are_made_of_either():
    def f(x):
        return np.int64(x if x > 1 else True), np.float64(x if x > 1 else 3)

    return f, [(np.float64(2.5),), (np.float64(0.5),), (np.float64(1.5),)], None
