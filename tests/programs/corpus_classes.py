"""Attributes of classes that a program writes, and those that each thread has for itself."""

from __future__ import annotations

import abc
import threading
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([1.0, 2.0, 2.5])
THREE = [(A + 0,), (A + 1,), (A * 2,)]


@program
def an_object_counts_its_calls_in_its_class() -> Any:
    class Model:
        calls = 0

        def step(self, x):
            Model.calls += 1
            return x * Model.calls + self.calls

    m = Model()
    return m.step, THREE, lambda: (Model.calls, vars(m))


@program
def the_class_of_self_counts() -> Any:
    class Base:
        calls = 10

        def step(self, x):
            type(self).calls += 1
            self.__class__.total += x.sum()
            return x * self.calls

    class Derived(Base):
        calls, total = 0, 0.0

    m = Derived()
    return m.step, THREE, lambda: (Base.calls, Derived.calls, Derived.total)


@program
def an_attribute_of_a_base_becomes_one_of_the_class() -> Any:
    class Base:
        calls = 10

        def step(self, x):
            type(self).calls += 1
            return x * self.calls + Base.calls

    class Derived(Base):
        pass

    m = Derived()
    return m.step, THREE * 2, lambda: (Base.calls, vars(Derived).get("calls"))


@program
def new_objects_are_numbered() -> Any:
    class Particle:
        made, last = 0, None

        def __init__(self, x):
            self.number = Particle.made
            Particle.made += 1
            Particle.last = x
            self.x = x

    def f(x):
        p, q = Particle(x[0]), Particle(x[1])
        return p.x + q.x, p.number, q.number, Particle.last, q.last

    return f, THREE, lambda: (Particle.made, Particle.last)


@program
def a_class_method_keeps_a_running_mean() -> Any:
    class Mean:
        n, mean = 0, 0.0

        @classmethod
        def add(cls, v):
            cls.n += 1
            cls.mean += (v - cls.mean) / cls.n
            return cls.mean

    return Mean.add, [(1.0,), (4.0,), (2.5,), (7.0,)], lambda: (Mean.n, Mean.mean)


@program
def classes_written_in_loops_and_branches() -> Any:
    class Stats:
        hits, best = 0, 0.0

    def f(x):
        for i in range(len(x)):
            if x[i] > 1.5:
                Stats.hits += 1
            Stats.best = max(Stats.best, x[i])
        return Stats.hits * x

    return f, THREE, lambda: (Stats.hits, Stats.best)


@program
def an_array_of_a_class_is_replaced() -> Any:
    class Layer:
        weights = np.ones(3)

        def step(self, x):
            Layer.weights = Layer.weights * 0.5 + x
            return self.weights @ x

    return Layer().step, THREE, lambda: Layer.weights


@program
def an_array_of_a_class_is_written() -> Any:
    class Layer:
        weights = np.ones(3)

        def step(self, x):
            Layer.weights += x
            self.weights[0] = 7.0
            return self.weights @ x

    return Layer().step, THREE, lambda: (Layer.weights, vars(Layer)["weights"])


@program
def a_class_attribute_is_hidden_by_one_of_the_object() -> Any:
    class Model:
        scale = 2.0

        def step(self, x):
            y = x * self.scale
            self.scale += 1
            Model.scale *= 3
            return y, self.scale

    m = Model()
    return m.step, THREE, lambda: (Model.scale, vars(m))


@program
def an_abstract_class_counts() -> Any:
    class Base(abc.ABC):
        made = 0

        @abc.abstractmethod
        def go(self, x): ...

    class Real(Base):
        def go(self, x):
            Base.made += 1
            return x * self.made

    r = Real()
    return r.go, THREE, lambda: Base.made


@program
def a_method_is_replaced_in_the_class() -> Any:
    class Model:
        def go(self, x):
            return x

    def f(x):
        Model.go = lambda self, x: x + 1
        return Model().go(x)

    return f, THREE, lambda: Model().go(1)


@program
def the_class_is_set_from_outside_between_calls() -> Any:
    class Model:
        t, gain = 0, 1.0

        def step(self, x):
            Model.t += 1
            return x * Model.gain * Model.t

    def before(n):
        if n == 2:
            Model.t, Model.gain = 10, 3.0

    return Model().step, THREE * 2, lambda: (Model.t, Model.gain), before


@program
def an_error_after_a_class_is_written() -> Any:
    class Model:
        t = 0

        def step(self, x):
            Model.t += 1
            if x[0] > 1.5:
                raise ValueError(f"step {Model.t}")
            return x * Model.t

    return Model().step, THREE, lambda: Model.t


@program
def state_of_the_thread() -> Any:
    local = threading.local()
    local.n, local.last = 0, None

    def f(x):
        local.n += 1
        local.last = x.sum()
        if not hasattr(local, "first"):
            local.first = x
        return x * local.n

    return f, THREE, lambda: vars(local)


@program
def comparisons_of_keys_count() -> Any:
    class Key:
        def __init__(self, n):
            self.n, self.compared = n, 0

        def __eq__(self, other):
            self.compared += 1
            return self.n == other.n

        def __hash__(self):
            return 1

    keys = [Key(1), Key(2)]
    table = {k: float(k.n) for k in keys}

    def f(x):
        return table[keys[1]] * x

    return f, THREE, lambda: [k.compared for k in keys]


class Vector:
    made = 0

    def __init__(self, x, y):
        Vector.made += 1
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, s):
        return Vector(self.x * s, self.y * s)

    def clipped(self, most):
        length = self.x * self.x + self.y * self.y
        n = 0
        while length > most:
            length, n = length / 4, n + 1
        if length < 0.5:
            n = n + 0.5
        return Vector(self.x, n) if isinstance(self, Vector) else None


@program
def methods_that_name_their_class_have_loops() -> Any:
    Vector.made = 0

    def f(x, y):
        v = (Vector(x, y) + Vector(y, x) * 2.0).clipped(3.0)
        return v.x, v.y

    return f, [(1.0, 2.0), (0.1, 0.2), (30.0, -4.0)], lambda: Vector.made


@program
def one_object_for_all_calls() -> Any:
    class Settings:
        only: Any = None

        def __new__(cls, *_):
            if cls.only is None:
                cls.only = super().__new__(cls)
            return cls.only

        def __init__(self, v):
            self.v = v
            self.made = getattr(self, "made", 0) + 1

    def f(x):
        a = Settings(x)
        b = Settings(x * 2)
        return a is b, a.v, b.made

    return f, [(1.0,), (2.0,), (3.0,)], lambda: Settings.only


@program
def another_classs_object_is_not_initialised() -> Any:
    class Other:
        v = 0.0

    class Maker:
        def __new__(cls, x):
            out = Other()
            out.w = x
            return out

        def __init__(self, x):
            self.v = x

    def f(x):
        made = Maker(x)
        return made.v, made.w, isinstance(made, Maker)

    return f, [(1.0,), (2.0,)], None


@program
def names_that_python_reads_itself() -> Any:
    class Thing:
        def __len__(self):
            return 1

    def f(x):
        Thing.__doc__ = "changed"
        Thing.__len__ = lambda self: 3
        return x + len(Thing())

    return f, [(1.0,), (2.0,)], lambda: (Thing.__doc__, len(Thing()))
