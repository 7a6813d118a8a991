"""Classes and simulations as people write them."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def named_tuple_method_with_effects() -> Any:
    log: list[Any] = []
    n = 0

    class P(NamedTuple):
        a: Any

        def go(self):
            nonlocal n
            n += 1
            return self.a * 2

        def tell(self):
            log.append(1)
            return self.a

    def f(p, x):
        return p.go() + x

    def g(p, x):
        return p.tell() + x if x > 1 else p.go()

    return g if n else f, [(P(np.ones(2)), 1.0), (P(np.ones(2)), 2.0)], lambda: (log, n)


@program
def exception_class_counts() -> Any:
    class Bad(ValueError):
        made = 0

        def __init__(self, text):
            super().__init__(text)
            Bad.made += 1

    def f(x):
        try:
            raise Bad("no")
        except Bad as e:
            return x, str(e)

    return f, _vectors(1, 1, 1), lambda: Bad.made


@program
def exception_held_and_noted() -> Any:
    error = ValueError("first")

    def f(x):
        error.count = getattr(error, "count", 0) + 1
        return x * error.count

    return f, _vectors(1, 1, 1), lambda: vars(error)


@program
def exception_object_raised_again() -> Any:
    error = ValueError("first")

    def f(x):
        try:
            raise error
        except ValueError as e:
            e.args = (*e.args, "again")
            return x, e is error

    return f, _vectors(1, 1, 1), lambda: error.args


@program
def enum_member_written() -> Any:
    class Kind(enum.Enum):
        A = 1

        def used(self):
            self.uses = getattr(self, "uses", 0) + 1
            return self.uses

    def f(x):
        return x * Kind.A.used()

    return f, _vectors(1, 1, 1), lambda: getattr(Kind.A, "uses", None)


@program
def enum_with_captured_table() -> Any:
    table = {"A": 1.0}

    class Kind(enum.Enum):
        A = "A"

        @property
        def weight(self):
            return table[self.name]

    def before(n):
        table["A"] = 1.0 + n

    return (lambda x, k: x * k.weight), [(np.ones(2), Kind.A)] * 3, None, before


@program
def enum_captured_with_table() -> Any:
    table = {"A": 1.0}
    log: list[Any] = []

    class Kind(enum.Enum):
        A = "A"

        def weight(self):
            log.append(self.name)
            return table[self.name]

    def before(n):
        table["A"] = 1.0 + n

    return (lambda x: x * Kind.A.weight()), [(np.ones(2),)] * 3, lambda: log, before


@program
def singleton_by_new() -> Any:
    class One:
        instance = None

        def __new__(cls):
            if cls.instance is None:
                cls.instance = super().__new__(cls)
                cls.instance.n = 0
            return cls.instance

    def f(x):
        o = One()
        o.n += 1
        return x * o.n, One() is o

    return f, _vectors(1, 1, 1), lambda: One.instance


@program
def deleted_objects_tell() -> Any:
    log: list[Any] = []

    class Res:
        def __del__(self):
            log.append("gone")

    def f(x):
        r = Res()
        r.x = x
        y = r.x * 2
        del r
        return y

    return f, _vectors(1, 1, 1), lambda: log


@program
def subclass_made_within_is_registered() -> Any:
    class Base:
        found: list[str] = []

        def __init_subclass__(cls):
            Base.found.append(cls.__name__)

    def f(x):
        class Made(Base):
            pass

        return x * len(Base.found)

    return f, _vectors(1, 1, 1), lambda: Base.found


@program
def set_name_and_class_getitem() -> Any:
    names: list[str] = []

    class D:
        def __set_name__(self, owner, name):
            names.append(name)

    def f(x):
        class Made:
            a = D()

        return x * len(names)

    return f, _vectors(1, 1, 1), lambda: names


@program
def getattribute_of_its_own() -> Any:
    class P:
        reads = 0

        def __init__(self):
            self.a = 1.0

        def __getattribute__(self, name):
            P.reads += 1
            return object.__getattribute__(self, name)

    p = P()
    return (lambda x: x * p.a), _vectors(1, 1, 1), lambda: P.reads


@program
def getattr_that_counts_everything() -> Any:
    class P:
        def __init__(self):
            vars(self)["asked"] = []

        def __getattr__(self, name):
            self.asked.append(name)
            raise AttributeError(name)

        def __call__(self, x):
            return x * 2

    p = P()
    return (lambda x, q: p(x)), [(np.ones(2), p)] * 3, lambda: p.asked


@program
def getattr_of_a_dict_class_counts() -> Any:
    asked: list[str] = []

    class P(dict):
        def __getattr__(self, name):
            asked.append(name)
            return 2.0

    p = P(a=1.0)
    return (lambda x: x * p.b), _vectors(1, 1, 1), lambda: asked


@program
def getattr_of_a_given_dict_class_counts() -> Any:
    asked: list[str] = []

    class P(dict):
        def __getattr__(self, name):
            asked.append(name)
            return 2.0

    p = P(a=1.0)
    return (lambda p, x: x * p.b), [(p, 1.0), (p, 2.0)], lambda: asked


@program
def equality_that_counts() -> Any:
    class K:
        compared = 0

        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            K.compared += 1
            return isinstance(other, K) and self.n == other.n

        def __hash__(self):
            return 1

    table = {K(1): 1.0, K(2): 2.0}

    def f(k, x):
        return table[k] * x

    return f, [(K(1), 1.0), (K(2), 1.0), (K(1), 2.0)], lambda: K.compared
