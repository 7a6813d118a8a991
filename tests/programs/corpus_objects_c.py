"""Classes and simulations as people write them."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def life() -> Any:
    class Life:
        def __init__(self, grid):
            self.grid, self.generation = grid, 0

        def neighbours(self):
            g = self.grid
            return sum(
                np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
            )

        def step(self, n):
            for _ in range(n):
                near = self.neighbours()
                self.grid = ((near == 3) | ((self.grid == 1) & (near == 2))).astype(int)
                self.generation += 1
            return int(self.grid.sum())

    g = np.zeros((6, 6), int)
    g[1, 2] = g[2, 3] = g[3, 1] = g[3, 2] = g[3, 3] = 1
    life = Life(g)

    def before(n):
        if n == 2:
            life.grid[0, 0] = 1

    return life.step, [(1,), (2,), (3,)], lambda: (life, g), before


@program
def class_attribute_counts() -> Any:
    class Node:
        made = 0
        registry: list[Any] = []

        def __init__(self, v):
            Node.made += 1
            self.number = Node.made
            self.v = v
            self.registry.append(self)

    def f(x):
        a = Node(x)
        b = Node(x + 1)
        return a.number, b.number, len(Node.registry)

    return f, _vectors(0, 1, 2), lambda: (Node.made, Node.registry)


@program
def class_method_changes_class() -> Any:
    class Config:
        gain = 1.0

        @classmethod
        def boost(cls, k):
            cls.gain = cls.gain * k
            return cls.gain

        @staticmethod
        def twice(x):
            return 2 * x

    def f(x, k):
        g = Config.boost(k)
        return Config.twice(x) * g

    return f, [(np.ones(2), 2.0), (np.ones(2), 3.0), (np.ones(2), 0.5)], lambda: Config.gain


@program
def descriptors() -> Any:
    class Clipped:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, owner=None):
            return self if obj is None else getattr(obj, self.name, 0.0)

        def __set__(self, obj, value):
            obj.sets += 1
            setattr(obj, self.name, min(value, 10.0))

    class Tank:
        level = Clipped()

        def __init__(self):
            self.sets = 0

    t = Tank()

    def fill(x):
        t.level += x
        t.level = t.level * 1.5
        return t.level

    return fill, [(1.0,), (4.0,), (2.0,)], lambda: vars(t)


@program
def slots() -> Any:
    class Point:
        __slots__ = ("n", "x", "y")

        def __init__(self, x, y):
            self.x, self.y, self.n = x, y, 0

        def move(self, d):
            self.x += d
            self.y = self.y - d
            self.n += 1
            return self

    p = Point(np.zeros(3), 1.0)
    return p.move, _vectors(0, 1, 2), lambda: p


@program
def getattr_fallback() -> Any:
    class Lazy:
        def __init__(self):
            self.asked = []

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.asked.append(name)
            return len(name)

    o = Lazy()

    def f(x):
        return x * o.abc + o.de, getattr(o, "_no", "default"), hasattr(o, "_hidden")

    def before(n):
        if n == 2:
            o.abc = 100

    return f, _vectors(0, 1, 2), lambda: vars(o), before


@program
def setattr_logs() -> Any:
    class Logged:
        def __init__(self):
            object.__setattr__(self, "log", [])

        def __setattr__(self, name, value):
            self.log.append(name)
            object.__setattr__(self, name, value)

        def __delattr__(self, name):
            self.log.append("-" + name)
            object.__delattr__(self, name)

    o = Logged()

    def f(x):
        o.x = x * 2
        o.y = o.x + 1
        del o.x
        return o.y

    return f, _vectors(0, 1, 2), lambda: vars(o)


@program
def cached_property_once() -> Any:
    class Data:
        def __init__(self, x):
            self.x, self.computed = x, 0

        @functools.cached_property
        def total(self):
            self.computed += 1
            return self.x.sum()

    d = Data(np.arange(3.0))

    def f(k):
        return d.total * k + d.total

    def before(n):
        if n == 2:
            d.x = d.x + 10
            vars(d).pop("total")

    return f, [(1.0,), (2.0,), (3.0,)], lambda: vars(d), before


@program
def simple_namespace() -> Any:
    s = types.SimpleNamespace(x=np.zeros(2), n=0, sub=types.SimpleNamespace(k=1.0))

    def f(d):
        s.x = s.x + d * s.sub.k
        s.n += 1
        s.sub = types.SimpleNamespace(k=s.sub.k * 2)
        s.last = d
        return s

    return f, [(1.0,), (2.0,), (3.0,)], lambda: s


@program
def metaclass_attributes() -> Any:
    class Meta(type):
        limit = 3

        def __call__(cls, *args):
            cls.count = getattr(cls, "count", 0) + 1
            return super().__call__(*args)

        @property
        def doubled(cls):
            return cls.limit * 2

    class Thing(metaclass=Meta):
        def __init__(self, x):
            self.x = x

    def f(x):
        t = Thing(x)
        return t.x * Thing.doubled, Thing.count

    def before(n):
        if n == 2:
            Meta.limit = 5

    return f, _vectors(0, 1, 2), lambda: Thing.count, before


@program
def object_as_argument_and_capture() -> Any:
    class Box:
        def __init__(self, v):
            self.v = v

    held = Box(np.zeros(2))

    def f(b, k):
        b.v = b.v + k
        held.v = held.v * 2 + b.v
        return b is held, b.v

    return f, [(Box(np.ones(2)), 1.0), (held, 2.0), (Box(np.ones(2)), 3.0)], lambda: held


@program
def same_object_twice() -> Any:
    class Box:
        def __init__(self, v):
            self.v = v

    def f(a, b):
        a.v += 1
        b.v *= 2
        return a.v - b.v, a is b

    one, two = Box(np.ones(2)), Box(np.ones(2))
    return f, [(one, two), (one, one), (two, one), (two, two)], lambda: (one, two)
