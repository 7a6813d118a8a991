"""Programs whose classes define what Python calls past their methods: how they are subscripted, copied, assigned to."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np

from tests.programs.observe import program

A, B, C = np.array([3.0, 4.0]), np.array([0.0, 1.0]), np.array([6.0, -8.0])
THREE = [(A,), (B,), (C,)]


@program
def class_that_is_subscripted():
    table, asked = {"a": 2.0}, []

    class Units:
        def __class_getitem__(cls, key):
            asked.append(key)
            return table[key]

    def f(x):
        return Units["a"] * x, len(asked)

    def before(n):
        table["a"] = float(n)

    return f, THREE, lambda: asked, before


@program
def class_that_finds_others():
    known = {}

    class Plugin:
        def __init_subclass__(cls, **options):
            known[cls.__name__] = cls

        def __class_getitem__(cls, key):
            return known[key]

    class Twice(Plugin):
        def of(self, x):
            return 2 * x

    def f(x):
        return Plugin["Twice"]().of(x), Plugin["Twice"] is Twice

    return f, THREE, lambda: sorted(known)


@program
def copies_by_the_class():
    table, done = {"k": 2}, []

    class Reduced:
        def __reduce__(self):
            done.append("reduce")
            return dict, ([("k", table["k"])],)

    class Stated:
        def __init__(self):
            self.a = 1

        def __getstate__(self):
            return {"a": table["k"]}

        def __setstate__(self, state):
            done.append("state")
            self.__dict__.update(state)

    class Remade:
        def __new__(cls, a):
            made = object.__new__(cls)
            made.a = a
            return made

        def __getnewargs__(self):
            return (table["k"],)

    def f(x):
        made = [
            copy.copy(Reduced()),
            copy.copy(Stated()).a,
            copy.deepcopy(Stated()).a,
            copy.copy(Remade(1)).a,
        ]
        return made, x * made[1]

    def before(n):
        table["k"] = n

    return f, THREE, lambda: done, before


@program
def objects_that_watch_what_is_assigned():
    class Watched:
        def __init__(self, a):
            self.names = []
            self.a = a

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            self.names.append(name)

    def f(x):
        made = Watched(x * 2)
        made.b = 1
        return made

    return f, THREE, None


@program
def objects_that_never_change():
    class Frozen:
        __slots__ = ("a",)

        def __init__(self, a):
            object.__setattr__(self, "a", a)

        def __setattr__(self, name, value):
            raise AttributeError(f"{name} can't be set")

    def f(x):
        return Frozen(x + 1), [Frozen(x.sum())]

    return f, THREE, None


@program
def fields_that_are_made_by_functions():
    rate, numbers = {"r": 1.0}, []

    def numbered():
        numbers.append(len(numbers))
        return numbers[-1]

    class Plain:
        def __init__(self):
            self.rate = rate["r"]

    @dataclass
    class Inner:
        rate: float = field(default_factory=lambda: rate["r"] * 3)

    @dataclass
    class Record:
        x: np.ndarray = field(default_factory=lambda: np.zeros(2))
        tags: list = field(default_factory=list)
        plain: Plain = field(default_factory=Plain)
        inner: Inner = field(default_factory=Inner)
        number: int = field(default_factory=numbered)

    class Kept(Record):
        def twice(self):
            return 2 * self.number

    class Own(Record):
        def __init__(self):
            super().__init__(tags=[1])
            self.more = self.number

    def f(x):
        first, second, kept, own = Record(x), Record(), Kept(), Own()
        second.x += x
        second.tags.append(1)
        return first.x is x, second, kept.twice(), own.more, first.plain.rate, kept.inner.rate, own.tags

    def before(n):
        rate["r"] = float(n)

    return f, THREE, lambda: numbers, before
