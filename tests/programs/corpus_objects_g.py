"""Classes and simulations as people write them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def simulation_of_a_queue() -> Any:
    @dataclasses.dataclass(order=True)
    class Event:
        time: float
        kind: str = dataclasses.field(compare=False)

    class Sim:
        def __init__(self):
            self.now, self.events, self.served, self.waiting = 0.0, [], 0, 0

        def schedule(self, dt, kind):
            self.events.append(Event(self.now + dt, kind))
            self.events.sort()

        def run(self, until):
            while self.events and self.events[0].time <= until:
                e = self.events.pop(0)
                self.now = e.time
                if e.kind == "arrive":
                    self.waiting += 1
                    self.schedule(0.7, "arrive")
                    if self.waiting == 1:
                        self.schedule(0.5, "leave")
                else:
                    self.waiting -= 1
                    self.served += 1
                    if self.waiting:
                        self.schedule(0.5, "leave")
            return self.served, self.waiting, self.now

    s = Sim()
    s.schedule(0.0, "arrive")
    return s.run, [(1.0,), (2.0,), (2.5,)], lambda: s


@program
def init_subclass_and_registry() -> Any:
    class Plugin:
        found: dict[str, Any] = {}

        def __init_subclass__(cls, **kw):
            Plugin.found[cls.__name__] = cls

        def run(self, x):
            return x

    class Double(Plugin):
        def run(self, x):
            return x * 2

    def f(name, x):
        return Plugin.found[name]().run(x), list(Plugin.found)

    def before(n):
        if n == 1:

            class Triple(Plugin):
                def run(self, x):
                    return x * 3

        if n == 2:
            Double.run = lambda self, x: x * 20

    return f, [("Double", 1.0), ("Triple", 2.0), ("Double", 3.0), ("None", 1.0)], None, before


@program
def class_made_within() -> Any:
    made = []

    def f(x):
        class Local:
            k = 2

            def go(self):
                return x * self.k

        made.append(Local)
        return Local().go(), made[0] is Local

    return f, _vectors(0, 1, 2), lambda: len(made)


@program
def private_names_and_slots_state() -> Any:
    class Safe:
        def __init__(self):
            self.__value = np.zeros(2)
            self.__n = 0

        def put(self, x):
            self.__value[self.__n % 2] = x
            self.__n += 1
            return self.__value

    s = Safe()
    return s.put, [(1.0,), (2.0,), (3.0,)], lambda: vars(s)


@program
def scaler_fit_then_transform() -> Any:
    class Scaler:
        def __init__(self):
            self.fitted = False

        def fit(self, x):
            self.mean_, self.std_ = x.mean(0), x.std(0)
            self.std_[self.std_ == 0] = 1.0
            self.fitted = True
            return self

        def transform(self, x):
            if not self.fitted:
                raise RuntimeError("fit it first")
            return (x - self.mean_) / self.std_

    s = Scaler()

    def f(x, fit):
        if fit:
            s.fit(x)
        return s.transform(x)

    x = np.arange(6.0).reshape(3, 2)
    x[:, 1] = 4.0
    return f, [(x, False), (x, True), (x + 1, False), (x * 2, True)], lambda: vars(s)


@program
def power_iteration_class() -> Any:
    class Solver:
        def __init__(self, a):
            self.a = a
            self.v = np.ones(len(a))
            self.iterations = 0
            self.converged = False

        def solve(self, tol):
            old = 0.0
            for _ in range(200):
                w = self.a @ self.v
                value = np.sqrt(w @ w)
                self.v = w / value
                self.iterations += 1
                if abs(value - old) < tol:
                    self.converged = True
                    break
                old = value
            return value

    s = Solver(np.array([[2.0, 1.0], [1.0, 3.0]]))

    def before(n):
        s.converged = False
        s.a[0, 0] += n

    return s.solve, [(1e-3,), (1e-9,), (1e-6,)], lambda: s, before


@program
def rng_in_an_object() -> Any:
    class Sampler:
        def __init__(self, seed):
            self.rng, self.draws = np.random.default_rng(seed), 0

        def sample(self, n):
            self.draws += n
            return self.rng.normal(size=n)

    s = Sampler(3)
    return s.sample, [(2,), (3,), (2,)], lambda: s


@program
def bound_method_stored() -> Any:
    class A:
        def __init__(self, k):
            self.k = k
            self.op = self.mul
            self.ops = {"mul": self.mul, "add": self.add}

        def mul(self, x):
            self.k += 1
            return x * self.k

        def add(self, x):
            return x + self.k

    a = A(1.0)

    def f(x, name):
        return a.ops[name](a.op(x))

    def before(n):
        if n == 2:
            a.op = a.add

    return f, [(np.ones(2), "mul"), (np.ones(2), "add"), (np.ones(2), "mul")], lambda: a.k, before


@program
def object_refused_half_way() -> Any:
    class Log:
        def __init__(self):
            self.lines, self.n, self.by = [], 0, {}

        def write(self, x):
            self.n += 1
            self.by[self.n] = x
            self.lines.append(x * 2)
            print("n", self.n, float(x.sum()))
            self.lines[-1] += 1
            return self.lines[0]

    log = Log()
    return log.write, _vectors(0, 1, 2), lambda: log


@program
def objects_refused_half_way_by_text() -> Any:
    class P:
        n = 0

        def __init__(self):
            self.names = set()

    p = P()

    def f(x):
        P.n += 1
        p.names.add(P.n)
        p.__dict__["extra"] = P.n
        f.seen = getattr(f, "seen", 0) + 1
        return f"{x.sum():.2f}"

    return f, _vectors(0, 1, 2), lambda: (P.n, vars(p), f.seen)


@program
def slots_by_object_setattr() -> Any:
    class P:
        __slots__ = ("a", "b")

    p = P()
    p.a = 1.0

    def f(x):
        object.__setattr__(p, "b", x)
        return p.a * 2

    return f, [(1.0,), (2.0,), (3.0,)], lambda: p


@program
def object_delattr_and_super() -> Any:
    class P:
        def __init__(self):
            self.a = 1.0

        def __setattr__(self, name, value):
            super().__setattr__(name, value * 2)

        def drop(self):
            object.__delattr__(self, "a")
            return hasattr(self, "a")

    p = P()

    def f(x):
        p.a = x
        return p.drop()

    return f, [(1.0,), (2.0,), (3.0,)], lambda: p
