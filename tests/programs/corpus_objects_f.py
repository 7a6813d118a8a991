"""Classes and simulations as people write them."""

from __future__ import annotations

import dataclasses
import enum
import functools
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def strategy_by_type() -> Any:
    @functools.singledispatch
    def area(s):
        raise TypeError(f"no area of {type(s).__name__}")

    class Square:
        def __init__(self, a):
            self.a = a

    class Disc:
        def __init__(self, r):
            self.r = r

    area.register(Square, lambda s: s.a**2)
    area.register(Disc, lambda s: 3.0 * s.r**2)

    def f(*shapes):
        return sum(area(s) for s in shapes)

    return f, [(Square(2.0), Disc(1.0)), (Disc(2.0), Disc(3.0)), (Square(1.0), 5)], None


@program
def match_on_classes() -> Any:
    @dataclasses.dataclass
    class Num:
        v: Any

    @dataclasses.dataclass
    class Bin:
        op: str
        a: Any
        b: Any

    def run(e):
        match e:
            case Num(v):
                return v
            case Bin("+", a, b):
                return run(a) + run(b)
            case Bin("*", Num(v), b) if v == 0:
                return 0 * v
            case Bin("*", a, b):
                return run(a) * run(b)
            case _:
                raise ValueError(e)

    return (
        run,
        [
            (Bin("+", Num(1.0), Bin("*", Num(2.0), Num(3.0))),),
            (Bin("*", Num(0.0), Num(3.0)),),
            (Bin("*", Num(4.0), Num(3.0)),),
        ],
        None,
    )


@program
def generator_method_kept() -> Any:
    class Source:
        def __init__(self):
            self.k = 0.0
            self.gen = self.values()

        def values(self):
            while True:
                self.k += 1.0
                yield self.k

        def take(self, x):
            return x * next(self.gen) + next(self.gen)

    s = Source()
    return s.take, _vectors(0, 1, 2), lambda: s.k


@program
def weights_shared_by_two_layers() -> Any:
    w = np.eye(2)

    class Layer:
        def __init__(self, w):
            self.w = w

        def up(self, x):
            self.w += np.outer(x, x) * 0.1
            return self.w @ x

    a, b = Layer(w), Layer(w)

    def f(x):
        return a.up(x) + b.up(x)

    def before(n):
        if n == 2:
            b.w = w.copy()

    return f, [(np.array([1.0, k]),) for k in (1, 2, 3)], lambda: (w, a, b), before


@program
def int_enum_and_flags() -> Any:
    class Mode(enum.IntEnum):
        UP = 1
        DOWN = -1

    class Opt(enum.Flag):
        A = enum.auto()
        B = enum.auto()

    def f(x, m, o):
        y = x * m
        if Opt.B in o:
            y = y + 100
        return y, m == 1, m is Mode.UP, m.name, Mode(1).name

    return (
        f,
        [(np.ones(2), Mode.UP, Opt.A), (np.ones(2), Mode.DOWN, Opt.B), (np.ones(2), Mode.UP, Opt.A | Opt.B)],
        None,
    )


@program
def subclass_of_float_and_str() -> Any:
    class Meters(float):
        unit = "m"

        def __add__(self, o):
            return Meters(float(self) + float(o))

    def f(a, b):
        c = a + b
        return type(c).__name__, c * 2.0, getattr(c, "unit", None), isinstance(c, float)

    return f, [(Meters(1.0), 2.0), (Meters(2.0), Meters(3.0)), (1.0, Meters(2.0))], None


@program
def attribute_number_types() -> Any:
    class Counter:
        def __init__(self):
            self.i, self.f, self.b, self.c = 0, 0.5, False, 1j

        def go(self, x):
            self.i += 1
            self.f *= 2
            self.b = not self.b
            self.c *= 1j
            return x + self.i, self.f, self.b, self.c

    c = Counter()

    def before(n):
        if n == 2:
            c.i = 2**70
            c.f = 3

    return c.go, [(1,), (2,), (3,)], lambda: c, before


@program
def lazy_attributes_deleted() -> Any:
    class Cache:
        pass

    c = Cache()

    def f(x):
        try:
            return c.value * x
        except AttributeError:
            c.value = x.sum()
            return "made"

    def before(n):
        if n == 2:
            del c.value

    return f, _vectors(0, 1, 2, 3), lambda: vars(c), before


@program
def env_rollout() -> Any:
    class Env:
        def __init__(self):
            self.reset()

        def reset(self):
            self.pos, self.t = np.array([0.0, 0.0]), 0
            return self.pos

        def step(self, action):
            self.pos = np.clip(self.pos + action, -1, 1)
            self.t += 1
            done = self.t >= 5 or bool(np.all(self.pos >= 1))
            return self.pos, -np.abs(self.pos - 1).sum(), done

    class Agent:
        def __init__(self, env):
            self.env, self.w, self.returns = env, np.array([0.3, 0.4]), []

        def episode(self, noise):
            self.env.reset()
            total, done, n = 0.0, False, 0
            while not done:
                _, r, done = self.env.step(self.w + noise)
                total += r
                n += 1
            self.returns.append(total)
            return total, n

    a = Agent(Env())

    def before(n):
        a.w[0] += 0.2

    return a.episode, [(0.0,), (0.1,), (0.9,)], lambda: a, before


@program
def simple_autograd() -> Any:
    class Var:
        def __init__(self, v, parents=()):
            self.v, self.parents, self.grad = v, parents, 0.0

        def __add__(self, o):
            return Var(self.v + o.v, ((self, 1.0), (o, 1.0)))

        def __mul__(self, o):
            return Var(self.v * o.v, ((self, o.v), (o, self.v)))

        def backward(self, g=1.0):
            self.grad = self.grad + g
            for p, d in self.parents:
                p.backward(g * d)

    w = Var(2.0)

    def f(x):
        a = Var(x)
        y = a * w + w * w
        y.backward()
        return y.v, a.grad, w.grad

    def before(n):
        if n == 2:
            w.v, w.grad = 5.0, 0.0

    return f, [(1.0,), (2.0,), (3.0,)], lambda: w, before
