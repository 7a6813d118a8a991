"""Programs in which something happens that traced code does not see by itself: warnings of libraries, objects that NumPy
asks for their arrays, descriptors, and methods that are given to classes later."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

_VECTORS: list[Any] = [(np.arange(3.0),), (np.arange(3.0) + 1,), (-np.arange(3.0),)]


@program
def a_mean_of_nothing() -> Any:
    """NumPy warns, at each call."""
    return lambda x: (x * np.mean([]), np.nanmean([np.nan])), _VECTORS, None


@program
def a_fit_of_points_in_one_place() -> Any:
    return lambda x: x * (0 * np.polyfit([1, 1, 1], [1, 2, 3], 2)[0]), _VECTORS, None


@program
def a_warning_and_something_that_python_does() -> Any:
    """Both: what is warned while tracing is not warned twice."""

    def f(x):
        m = np.mean([])
        return x * len(open("/dev/null").read()), m

    return f, _VECTORS, None


@program
def warnings_that_are_shown_once() -> Any:
    def f(x):
        with np.errstate(all="ignore"):
            return x * np.nanmean([np.nan])

    return f, _VECTORS, lambda: len(warnings.filters)


class Holder:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.v, dtype)


@program
def objects_that_numpy_asks() -> Any:
    """The exception that NumPy raises for a traced array is no answer."""
    held = Holder(np.ones(3))

    def f(x):
        try:
            out = np.add(Holder(x), 1)
        except ValueError:
            out = None
        try:
            return out, np.dot(held, x), np.asarray(Holder(2 * x))
        except ValueError:
            return None

    return f, _VECTORS, None


class Twice:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, o: Any, owner: Any = None) -> Any:
        return self if o is None else 2 * getattr(o, self.name, 0)

    def __set__(self, o: Any, value: Any) -> None:
        setattr(o, self.name, value + 1)

    def __delete__(self, o: Any) -> None:
        delattr(o, self.name)


class WriteOnly:
    def __set__(self, o: Any, value: Any) -> None:
        o.log = (*o.log, value)


class Described:
    twice, only = Twice(), WriteOnly()
    log: tuple[Any, ...] = ()

    def __init__(self, v: Any) -> None:
        self.twice = v


@program
def descriptors_of_new_objects() -> Any:
    def f(x):
        o = Described(x)
        o.twice = o.twice + 1
        o.only = x
        before = o.twice, dict(vars(o)), type(o.only).__name__
        del o.twice
        try:
            del o.only
        except AttributeError as e:
            return before, o.twice, str(e)

    return f, [(1.0,), (2.0,), (-3.0,)], None


@program
def a_method_is_overridden_later() -> Any:
    class Base:
        @property
        def p(self) -> Any:
            return 1

        def m(self) -> Any:
            return 10

    class Derived(Base):
        pass

    o = Derived()

    def before(n):
        if n == 1:
            Derived.m = lambda self: 20
        if n == 2:
            Derived.p = property(lambda self: 3)

    return lambda x: x * (o.m() + o.p), [(1.0,), (1.0,), (1.0,)], None, before


class Index:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __index__(self) -> Any:
        return self.v


@program
def an_index_that_is_a_float() -> Any:
    i = Index(1.0)

    def f(x):
        try:
            return x[i]
        except IndexError as e:
            return str(e)

    return f, _VECTORS, None, lambda n: setattr(i, "v", 1.0 if n < 2 else 2)


@program
def outputs_without_dimensions() -> Any:
    def f(x):
        o, p = np.zeros(()), np.array(0.0)
        product = np.dot(x, x, out=o)
        first = np.add(x[0], x[1], out=p)
        second = np.multiply(first, 2, out=p)
        return product is o, product, o, first is p, second is p, p, np.sqrt(np.abs(first), out=p) is p

    return f, _VECTORS, None


@program
def error_states_are_objects() -> Any:
    def f(x):
        state = np.errstate(divide="ignore")
        with state:
            r = 1 / x

        @np.errstate(all="ignore")
        def logarithm(y):
            return np.log(y * y)

        return r, type(state).__name__, logarithm(x), logarithm.__name__

    return f, _VECTORS, None


class Counter:
    k = 1

    @classmethod
    def c(cls, x: Any) -> Any:
        return cls.__name__, cls.k * x

    @staticmethod
    def s(x: Any) -> Any:
        return x + 1


@program
def attributes_that_classes_get_later() -> Any:
    class Derived(Counter):
        pass

    def f(x):
        return Derived.k * x, Derived.c(x), Derived.s(x), getattr(Derived, "z", None), hasattr(Derived, "y")

    def before(n):
        if n == 1:
            Derived.k, Derived.z = 4, 1
        if n == 2:
            Derived.y = 1
            Derived.c, Derived.s = classmethod(lambda cls, x: "new"), staticmethod(lambda x: -x)

    return f, [(1.0,), (1.0,), (1.0,)], None, before


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any) -> None:
        self.a = a


@program
def slots_that_are_empty_at_times() -> Any:
    o = Slotted(1.0)

    def f(x):
        held = getattr(o, "b", o.a)
        o.b = held + x
        return held, hasattr(Slotted(x), "b"), Slotted.__slots__

    def before(n):
        if n in (1, 3):
            del o.b

    return f, [(1.0,), (2.0,), (-3.0,), (1.0,), (2.0,)], lambda: o, before
