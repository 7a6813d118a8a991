"""Classes and simulations as people write them."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


class InsufficientFunds(Exception):
    def __init__(self, needed, there):
        super().__init__(f"needs {needed}, has {there}")
        self.needed = needed


class Light(enum.Enum):
    RED = 1
    GREEN = 2
    YELLOW = 3

    def next(self):
        return {Light.RED: Light.GREEN, Light.GREEN: Light.YELLOW, Light.YELLOW: Light.RED}[self]


@dataclasses.dataclass
class State:
    x: Any
    v: Any
    t: float = 0.0
    notes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: float = 1.0

    def moved(self, d):
        return dataclasses.replace(self, a=self.a + d)


class Pair(NamedTuple):
    left: Any
    right: Any = 0

    @property
    def both(self):
        return self.left + self.right


class _Plain:
    def __init__(self, **kw):
        vars(self).update(kw)


@dataclasses.dataclass
class Counting:
    x: Any
    limit = 2.0
    made = 0

    def __post_init__(self):
        type(self).made += 1

    def scaled(self):
        return self.x * self.limit

    def count(self):
        Counting.made += 1
        return self.x + Counting.made


@program
def bank() -> Any:
    class Account:
        total = 0

        def __init__(self, owner, balance=0):
            self.owner, self._balance, self.log = owner, balance, []
            Account.total += balance

        @property
        def balance(self):
            return self._balance

        @balance.setter
        def balance(self, value):
            if value < 0:
                raise InsufficientFunds(-value, self._balance)
            Account.total += value - self._balance
            self._balance = value
            self.log.append(value)

        def transfer(self, other, amount):
            self.balance -= amount
            other.balance += amount
            return self.balance, other.balance

    a, b = Account("a", 10), Account("b", 5)
    return (
        lambda x: a.transfer(b, x),
        [(3,), (5,), (4,), (2,)],
        lambda: (a, b, Account.total),
    )


@program
def state_machine() -> Any:
    class Machine:
        def __init__(self):
            self.state, self.timer, self.history = Light.RED, 0.0, []

        def tick(self, dt):
            self.timer += dt
            if self.timer >= 1.0:
                self.timer -= 1.0
                self.history.append(self.state.name)
                self.state = self.state.next()
            return self.state.value

    m = Machine()
    return m.tick, [(0.6,), (0.6,), (0.1,), (0.9,)], lambda: (m.state.name, m.timer, m.history)


@program
def dataclass_changed() -> Any:
    s = State(np.zeros(3), np.ones(3))

    def step(dt):
        s.x = s.x + s.v * dt
        s.v -= s.x * dt
        s.t += dt
        s.notes.append(s.t)
        return s

    return step, [(0.1,), (0.2,), (0.3,)], lambda: s


@program
def dataclass_argument() -> Any:
    def step(s, k):
        s.x += k
        s.t += 1
        return dataclasses.replace(s, v=s.v * k, notes=s.notes + [k])

    return step, [(State(np.zeros(2), np.ones(2)), k) for k in (1.0, 2.0, 3.0)], None


@program
def dataclass_given_other_attributes() -> Any:
    c, d = State(np.ones(2), 1.0), State(np.ones(2), 1.0)
    d.other = 3.0  # type: ignore[attr-defined]

    def f(s, x):
        y = getattr(s, "other", 0.0) * x
        s.other = x
        return y

    return f, [(c, 1.0), (c, 2.0), (d, 3.0), (d, 4.0)], lambda: (vars(c), vars(d))


@program
def dataclass_given_other_attributes_read() -> Any:
    c, d = State(np.ones(2), 1.0), State(np.ones(2), 1.0)

    def f(s, x):
        return getattr(s, "other", 0.0) * x

    def before(n):
        d.other = float(n)  # type: ignore[attr-defined]

    return f, [(c, 1.0), (d, 2.0), (d, 3.0), (c, 4.0)], None, before


@program
def dataclass_given_back() -> Any:
    held = State(np.ones(2), np.zeros(2))

    def f(s, x):
        s.x += x
        return s, held, s.x

    return f, [(State(np.ones(2), 1.0), 1.0), (held, 2.0), (State(np.ones(2), 1.0), 3.0)], lambda: held


@program
def frozen_dataclass() -> Any:
    held = [Frozen(np.ones(2))]

    def f(d):
        held.append(held[-1].moved(d))
        try:
            held[-1].b = 2.0
        except dataclasses.FrozenInstanceError as e:
            return held[-1], str(e)
        return held[-1]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def frozen_by_object_setattr() -> Any:
    p = Frozen(1.0)

    def f(x):
        object.__setattr__(p, "a", p.a + x)
        return p.a * 2

    return f, [(1.0,), (2.0,), (3.0,)], lambda: p


@program
def frozen_given_and_kept() -> Any:
    p, q = Frozen(1.0), Frozen(1.0)

    def f(a, b):
        return a is b, a == b, a.b

    return f, [(p, p), (p, q), (q, q)], None


@program
def named_tuple() -> Any:
    def f(p, k):
        q = p._replace(left=p.left * k)
        left, right = q
        return q, q.both, right is p.right, q._fields, left[::-1]

    return f, [(Pair(np.arange(2.0), np.ones(2)), k) for k in (1.0, 2.0, 3.0)], None


@program
def vars_written_only() -> Any:
    p = _Plain(a=1.0)

    def f(x):
        vars(p)["n"] = 1
        return x

    return f, _vectors(1, 1, 1), lambda: p


@program
def dict_updated_only() -> Any:
    p = _Plain(a=1.0)

    def f(x):
        p.__dict__.update(a=2.0)
        return x

    return f, _vectors(1, 1, 1), lambda: p


@program
def dict_held_and_written() -> Any:
    p = _Plain(a=1.0)
    d = p.__dict__

    def f(x):
        d["a"] += 1
        return x * p.a

    return f, _vectors(1, 1, 1), lambda: p


@program
def dict_held_and_read() -> Any:
    p = _Plain(a=1.0)
    d = vars(p)

    def before(n):
        p.a = float(n)
        p.more = n

    return (lambda x: (x * d["a"], p.a, len(d))), _vectors(1, 1, 1), None, before


@program
def object_getattribute() -> Any:
    p = _Plain(a=1.0)

    def f(x):
        try:
            k = object.__getattribute__(p, "a")
        except AttributeError:
            k = -1.0
        return x * k, object.__getattribute__(p, "__dict__").get("a", 99.0)

    def before(n):
        p.a = float(n)

    return f, _vectors(1, 1, 1), None, before


@program
def dataclass_counts_its_making() -> Any:
    Counting.made = 0

    def f(x):
        return Counting(x).x * 2

    return f, _vectors(1, 1, 1), lambda: Counting.made


@program
def dataclass_method_writes_class() -> Any:
    Counting.made = 0
    c = Counting(np.ones(2))

    def f(c):
        return c.count()

    return f, [(c,), (c,), (c,)], lambda: Counting.made


@program
def dataclass_class_attribute_read() -> Any:
    Counting.made = 0
    c = Counting(np.ones(2))

    def before(n):
        Counting.limit = 2.0 + n

    return (lambda c: (c.scaled(), c.limit)), [(c,), (c,), (c,)], None, before


@program
def dataclass_captured_class_attribute_read() -> Any:
    Counting.made = 0
    c = Counting(np.ones(2))

    def before(n):
        Counting.limit = 2.0 + n

    return (lambda x: (c.scaled() * x, c.limit, Counting.limit)), [(1.0,)] * 3, None, before
