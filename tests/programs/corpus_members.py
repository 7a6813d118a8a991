"""Methods of objects that keep their class while they are traced: dataclasses, named tuples, enumerations."""

from __future__ import annotations

import dataclasses
import enum
import functools
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program

A = np.array([0.5, 1.5, -2.0])


@dataclasses.dataclass
class Body:
    x: np.ndarray
    v: float

    def step(self, dt):
        if self.v > 1:
            return self.x * dt
        return self.x - dt

    def decayed(self, n):
        s = 0.0
        for i in range(n):
            s = 0.5 * s + self.v * i
        return s

    def push(self, dt):
        self.v += dt
        self.x += dt
        return self.x

    def __secret(self):
        return "fast" if self.v > 1 else "slow"

    def kind(self):
        return self.__secret()


class Point(NamedTuple):
    x: np.ndarray
    v: float

    def moved(self, dt):
        if self.v > 0:
            return self._replace(x=self.x + dt, v=self.v - dt)
        return self

    @property
    def speed(self):
        return self.v if self.v > 0 else -self.v

    @classmethod
    def at(cls, v):
        return cls(A * v, v) if v > 0 else cls(A, 0.0)


class Rule(enum.Enum):
    FIRST = 1
    SECOND = 2

    def of(self, v):
        return v * self.value if v > 0 else -v


def _bodies(*speeds: float) -> list[tuple[Any, ...]]:
    return [(Body(A + n, v), 0.5) for n, v in enumerate(speeds)]


@program
def branch_in_a_dataclass_method() -> Any:
    return lambda s, dt: s.step(dt), _bodies(2.0, 0.5, 3.0), None


@program
def loop_in_a_dataclass_method() -> Any:
    return lambda s, n: s.decayed(n), [(Body(A, 2.0), 400), (Body(A, 1.0), 0), (Body(A, 0.5), 300)], None


@program
def dataclass_method_that_writes() -> Any:
    def f(s, dt):
        for _ in range(50):
            s.push(dt)
        return s.push(dt) is s.x, s.v

    return f, _bodies(2.0, 0.5, 3.0), None


@program
def private_method_and_text() -> Any:
    return lambda s, dt: s.kind(), _bodies(2.0, 0.5, 3.0), None


@program
def dataclass_methods_in_a_comprehension() -> Any:
    return (
        lambda d, dt: [q.step(dt) for q in d["all"]],
        [({"all": [Body(A, 2.0), Body(A, 0.0)]}, 2.0)] * 3,
        None,
    )


@program
def named_tuple_carried_by_a_loop() -> Any:
    def f(p, dt):
        for _ in range(60):
            p = p.moved(dt)
        return p, p.speed

    return f, [(Point(A, 2.0), 0.25), (Point(A, 0.0), 0.25), (Point(A, 900.0), 0.25)], None


@program
def class_method_by_a_branch() -> Any:
    return lambda v: Point.at(v), [(2.0,), (-1.0,), (3.0,)], None


@program
def members_of_an_enumeration() -> Any:
    return lambda r, v: (r.of(v), Rule.FIRST.of(v)), [(Rule.SECOND, 2.0), (Rule.FIRST, -1.0)], None


@program
def callable_dataclasses() -> Any:
    @dataclasses.dataclass
    class Layer:
        w: np.ndarray

        def __call__(self, x):
            y = self.w * x
            return y if y.sum() > 0 else -y

    @dataclasses.dataclass
    class Net:
        layers: list

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    return lambda net, x: net(x), [(Net([Layer(A), Layer(-A)]), A * n) for n in (1, -1, 2)], None


@program
def method_that_is_replaced() -> Any:
    @dataclasses.dataclass
    class State:
        v: float

        def value(self):
            return 1.0 if self.v > 0 else 2.0

    def other(self):
        return 3.0 if self.v > 0 else 4.0

    def f(s, n):
        return s.value() * n

    def looks():
        State.value = other  # after the first call
        return State.value.__name__

    return f, [(State(1.0), 2.0), (State(1.0), 2.0), (State(-1.0), 2.0)], looks


@program
def attribute_in_place_of_a_method() -> Any:
    @dataclasses.dataclass
    class State:
        v: float
        rule: Any = dataclasses.field(default=None, metadata={"static": True})

        def value(self):
            return 1.0 if self.v > 0 else 2.0

        def rule(self):  # type: ignore[no-redef]  # noqa: F811
            return 9.0

    return lambda s: s.rule() if s.rule else s.value(), [(State(1.0, None),), (State(-1.0, None),)], None


@program
def method_that_reads_a_global_that_changes() -> Any:
    limit = [1.0]
    level = 1.0

    @dataclasses.dataclass
    class State:
        v: float

        def value(self):
            return self.v if self.v > level else -self.v

    def f(s):
        return s.value()

    def looks():
        nonlocal level
        level += 1
        limit[0] += 1
        return level

    return f, [(State(2.5),), (State(2.5),), (State(2.5),)], looks


@program
def tuple_that_a_branch_gives_back() -> Any:
    def moved(p, dt):
        if p[1] > 0:
            return p[0] + dt, p[1] - dt
        return p

    def f(p, dt):
        q = moved(p, dt)
        return q is p, q

    return f, [((A, 2.0), 0.25), ((A, 0.0), 0.25), ((A, 1.0), 0.25)], None


@program
def one_of_two_tuples() -> Any:
    return lambda p, q, c: (p if c > 0 else q, q), [((1.0, A), (2.0, A), c) for c in (1.0, -1.0, 2.0)], None


@program
def frozen_dataclass_carried_by_a_loop() -> Any:
    @dataclasses.dataclass(frozen=True)
    class State:
        x: Any
        v: float

    def f(s, dt):
        for _ in range(60):
            if s.v > 0:
                s = State(s.x + dt, s.v - dt)
        return s

    return f, [(State(A, 2.0), 0.25), (State(A, 0.0), 0.25), (State(A, 1.0), 0.25)], None


@program
def list_that_a_branch_gives_back() -> Any:
    def f(p, dt):
        if p[1] > 0:
            return [p[0] + dt, p[1] - dt]
        return p

    return f, [([A, 2.0], 0.25), ([A, 0.0], 0.25), ([A, 1.0], 0.25)], None


class Held:
    def __init__(self) -> None:
        self.items: list[float] = []
        self.asked = 0

    def __len__(self) -> int:
        self.asked += 1
        return len(self.items)

    def __contains__(self, v: float) -> bool:
        self.asked += 1
        return v in self.items


@program
def sizes_that_values_decide() -> Any:
    def f(x):
        held = Held()
        for v in x:
            if v > 0:
                held.items.append(v * 2)
        kind = "some" if held else "none"
        return len(held), kind, x[0] * 2 in held, 7.0 not in held, held.asked

    return f, [(A,), (-A,), (np.zeros(3),), (np.arange(9.0),)], None


class Size:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n


@program
def sizes_that_are_no_sizes() -> Any:
    def f(x, n):
        return len(Size(n)) * x, len(Size(np.int64(n)))

    return f, [(A, 3), (A, 5), (A, -1), (A, 0), (A, 2.0)], None


@program
def what_is_in_it_is_true_or_not() -> Any:
    class Near:
        def __init__(self, at):
            self.at = at

        def __contains__(self, v):
            return abs(v - self.at).round()  # type: ignore[return-value]

    def f(x):
        n = 0
        for v in x:
            if v in Near(0.5):
                n += 1
        return n, x[0] in Near(2.0), x[1] not in Near(1.4)

    return f, [(A,), (A * 2,), (np.full(3, 2.0),)], None


def added(a: float, b: float) -> float:
    return a + b


HALF_DONE = functools.partial(added, 2.0)


@program
def a_partial_of_a_partial_of_outside() -> Any:
    def f(x):
        rest = functools.partial(HALF_DONE, x)
        return rest(), rest.args, rest.func is HALF_DONE.func

    return f, [(1.5,), (2.5,)], None
