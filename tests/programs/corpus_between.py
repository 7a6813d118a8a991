"""Programs in which something gets an attribute, or another name, between two readings: transformed functions, the
classes after one in the order in which `super()` looks, functions and classes themselves."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

import numpy as np

import tracejit as tj
from tests.programs.observe import program

_NUMBERS: list[Any] = [(1.0,), (2.0,), (3.0,)]
_VECTORS: list[Any] = [(np.arange(3.0),), (np.arange(3.0) + 1,), (-np.arange(3.0),)]


@program
def a_derivative_gets_an_attribute() -> Any:
    slope = tj.grad(lambda x: x**2)

    def f(x):
        return slope(x) * (2.0 if hasattr(slope, "twice") else 1.0), getattr(slope, "scale", None)

    def before(n: int) -> None:
        if n == 1:
            slope.twice = slope.scale = 3
        elif n == 2:
            del slope.twice

    return f, _NUMBERS, None, before


@program
def a_jitted_function_gets_attributes() -> Any:
    double = tj.jit(lambda x: x * 2)
    double._hidden = 1.0
    double.other = tj.jit(lambda x: x + 1)

    def f(x):
        return double(x) * double._hidden + double.other(x) + getattr(double, "more", 0.0)

    def before(n: int) -> None:
        if n == 1:
            double._hidden = 5.0
            double.other = tj.jit(lambda x: -x)
        elif n == 2:
            double.more = 7.0

    return f, _NUMBERS, None, before


@program
def functions_and_classes_are_called_otherwise() -> Any:
    class Model:
        """One."""

        def __call__(self, x):
            return x * len(type(self).__name__) + len(self.__doc__)

    def helper(x):
        """Two."""
        return x

    slope, held = tj.grad(lambda x: x * 2), Model()

    def f(x):
        names = helper.__name__, helper.__qualname__[-4:], Model.__name__, slope.__name__, helper.__doc__
        return held(x) * len(helper.__name__), names

    def before(n: int) -> None:
        if n == 1:
            helper.__name__ = slope.__name__ = "another"
            Model.__doc__ = "A longer one."
        elif n == 2:
            Model.__name__ = "Other"
            helper.__qualname__, helper.__doc__ = "where.what", None

    return f, _NUMBERS, None, before


def _tower() -> Any:
    class Base:
        scale = 1.0

    class Middle(Base):
        pass

    class Top(Middle):
        def get(self):
            return super().scale

        def has(self):
            return hasattr(super(), "late")

    return Base, Middle, Top


@program
def assigned_between_and_found_by_super() -> Any:
    _, Middle, Top = _tower()
    held = Top()

    def f(x):
        first = super(Top, held).scale
        Middle.scale = first + x
        return held.get(), Top().get() * x, super(Top, Top).scale, first

    return f, _NUMBERS, lambda: vars(Middle).get("scale")


@program
def super_finds_what_came_between_the_calls() -> Any:
    Base, Middle, Top = _tower()

    @dataclasses.dataclass
    class Data(Middle):
        v: Any

        def get(self):
            return super().scale * self.v

    held, kept = Top(), Data(2.0)

    def f(x):
        return held.get() * x, Top().get(), kept.get(), Data(x).get(), held.has(), Top().has()

    def before(n: int) -> None:
        if n == 1:
            Middle.scale = 5.0
        elif n == 2:
            Base.late = 1

    return f, _NUMBERS, None, before


@program
def a_class_gets_what_its_objects_were_asked_for() -> Any:
    """By its `__getattr__`, in vain before."""

    class Loose:
        def __getattr__(self, name):
            if name == "rate":
                return 7.0
            raise AttributeError(name)

    held = Loose()

    def f(x):
        return held.rate * x, hasattr(held, "late")

    def before(n: int) -> None:
        if n == 1:
            Loose.rate = 2.0
        elif n == 2:
            Loose.late = 1

    return f, _VECTORS, None, before


@program
def objects_that_are_made_were_asked_in_vain() -> Any:
    class Base:
        pass

    class Model(Base):
        def __init__(self, x):
            self.x = x

        @property
        def inner(self):
            return self.missing

        def run(self):
            return self.hook(2) if hasattr(self, "hook") else self.x

    class Loose(Model):
        def __getattr__(self, name):
            return name

    def f(x):
        made = Model(x)
        return made.run(), getattr(made, "late", None), Loose(x).late, hasattr(made, "inner")

    def before(n: int) -> None:
        if n == 1:
            Base.hook = lambda self, by: self.x * by
        elif n == 2:
            Model.late = 5.0

    return f, _NUMBERS, None, before


@program
def wrapped_functions_count_their_calls() -> Any:
    def repeated(times):
        def decorate(fn):
            @functools.wraps(fn)
            def call(*args):
                call.calls += 1
                return times * fn(*args)

            call.calls = 0
            return call

        return decorate

    @repeated(3)
    @repeated(5)
    def g(x):
        return x + 1

    return (lambda x: (g(x) + g(2 * x), g.calls, g.__wrapped__.calls)), _NUMBERS, lambda: g.__wrapped__.calls


@program
def a_cache_of_outside_reads_what_changes() -> Any:
    settings = {"rate": 2.0}

    @functools.lru_cache
    def weight(n):
        return settings["rate"] ** n

    def f(x, n):
        settings["rate"] += 1.0
        return x * weight(n), weight.cache_info().hits

    return f, [(1.0, 1), (2.0, 1), (3.0, 2)], lambda: (settings, weight.cache_info())


@program
def texts_and_numbers_for_a_log() -> Any:
    """In derivatives they are numbers of Python's that have derivatives."""
    log: list[Any] = []
    form = "%.1f"
    best = types.SimpleNamespace(value=np.inf)

    def f(x):
        loss = (x**2).sum()
        log.append((float(loss), loss.item(), x.tolist(), f"{float(loss):.3f}", round(float(loss), 1)))
        log.append(form % loss)
        if float(loss) < best.value:
            best.value = float(loss)
        return loss + float(x[0]) * 2, type(float(loss)) is float

    return f, _VECTORS, lambda: (log, best)
