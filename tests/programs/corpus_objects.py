"""Classes and simulations as people write them."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def kalman_with_covariances() -> Any:
    class Filter:
        def __init__(self, q, r):
            self.q, self.r = q, r
            self.x = np.zeros(2)
            self.P = np.eye(2)
            self.F = np.array([[1.0, 0.1], [0.0, 1.0]])
            self.H = np.array([[1.0, 0.0]])
            self.n = 0

        def predict(self):
            self.x = self.F @ self.x
            self.P = self.F @ self.P @ self.F.T + self.q * np.eye(2)

        def update(self, z):
            y = z - self.H @ self.x
            s = self.H @ self.P @ self.H.T + self.r
            k = self.P @ self.H.T / s
            self.x = self.x + (k * y).ravel()
            self.P = (np.eye(2) - k @ self.H) @ self.P
            self.n += 1
            return float(y[0])

        def run(self, zs):
            out = []
            for z in zs:
                self.predict()
                out.append(self.update(z))
            return np.array(out)

    k = Filter(0.01, 0.5)

    def before(n):
        k.r = 0.5 + n

    return k.run, _vectors(0, 1, 5), lambda: k, before


@program
def adam() -> Any:
    class Adam:
        def __init__(self, params, lr=0.1):
            self.params, self.lr = params, lr
            self.m = [np.zeros_like(p) for p in params]
            self.v = [np.zeros_like(p) for p in params]
            self.t = 0

        def step(self, grads):
            self.t += 1
            for i, (p, g) in enumerate(zip(self.params, grads, strict=True)):
                self.m[i] = 0.9 * self.m[i] + 0.1 * g
                self.v[i] = 0.999 * self.v[i] + 0.001 * g * g
                mh = self.m[i] / (1 - 0.9**self.t)
                vh = self.v[i] / (1 - 0.999**self.t)
                p -= self.lr * mh / (np.sqrt(vh) + 1e-8)
            return self.t

    o = Adam([np.ones(2), np.ones((2, 2))])

    def before(n):
        o.lr *= 0.5

    return o.step, [([np.ones(2) * k, np.eye(2)],) for k in (1, 2, 3)], lambda: vars(o), before


@program
def sgd_momentum_in_place() -> Any:
    class SGD:
        def __init__(self, w):
            self.w = w
            self.velocity = None
            self.t = 0

        def step(self, g):
            if self.velocity is None:
                self.velocity = np.zeros_like(g)
            self.t += 1
            self.velocity *= 0.9
            self.velocity += g
            self.w -= 0.1 * self.velocity

    w = np.ones(3)
    o = SGD(w)
    return o.step, _vectors(0, 1, 2), lambda: (w, vars(o))


@program
def layers_keep_activations() -> Any:
    class Dense:
        def __init__(self, w):
            self.w = w
            self.last_in = self.last_out = None

        def __call__(self, x):
            self.last_in = x
            self.last_out = np.tanh(x @ self.w)
            return self.last_out

    class Net:
        def __init__(self, *layers):
            self.layers = layers
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net(Dense(np.ones((3, 2))), Dense(np.eye(2) * 0.5))

    def before(n):
        net.layers[0].w = net.layers[0].w + n

    return net, _vectors(0, 1, 2), lambda: net, before


@program
def backward_by_hand() -> Any:
    class Linear:
        def __init__(self, n, m):
            self.w = np.linspace(-1, 1, n * m).reshape(n, m)
            self.g = np.zeros_like(self.w)

        def forward(self, x):
            self.x = x
            return x @ self.w

        def backward(self, d):
            self.g += np.outer(self.x, d)
            return self.w @ d

    class Relu:
        def forward(self, x):
            self.mask = x > 0
            return x * self.mask

        def backward(self, d):
            return d * self.mask

    layers = [Linear(3, 4), Relu(), Linear(4, 2)]

    def train(x, y):
        h = x
        for layer in layers:
            h = layer.forward(h)
        d = h - y
        loss = 0.5 * (d**2).sum()
        for layer in reversed(layers):
            d = layer.backward(d)
        for layer in layers:
            if isinstance(layer, Linear):
                layer.w -= 0.01 * layer.g
                layer.g[:] = 0
        return loss

    return train, [(np.arange(3.0) + k, np.ones(2)) for k in range(3)], lambda: layers


@program
def pid() -> Any:
    class PID:
        def __init__(self, kp, ki, kd):
            self.kp, self.ki, self.kd = kp, ki, kd
            self.integral, self.last = 0.0, None

        def __call__(self, error, dt=0.1):
            self.integral += error * dt
            d = 0.0 if self.last is None else (error - self.last) / dt
            self.last = error
            u = self.kp * error + self.ki * self.integral + self.kd * d
            return max(-1.0, min(1.0, u))

    c = PID(0.3, 0.1, 0.02)

    def before(n):
        if n == 2:
            c.integral = 100.0

    return c, [(0.5,), (-0.2,), (0.1, 0.5)], lambda: c, before


class InsufficientFunds(Exception):
    def __init__(self, needed, there):
        super().__init__(f"needs {needed}, has {there}")
        self.needed = needed


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
def particles() -> Any:
    class Particle:
        def __init__(self, x, v):
            self.x, self.v, self.bounces = x, v, 0

        def move(self, dt):
            self.x = self.x + self.v * dt
            if self.x > 1.0:
                self.x, self.v = 2.0 - self.x, -self.v
                self.bounces += 1
            elif self.x < 0.0:
                self.x, self.v = -self.x, -self.v
                self.bounces += 1

    class World:
        def __init__(self, n):
            self.particles = [Particle(i / n, (-1.0) ** i * (0.5 + i)) for i in range(n)]
            self.time = 0.0

        def step(self, dt):
            self.time += dt
            for p in self.particles:
                p.move(dt)
            return sum(p.v**2 for p in self.particles) / 2

    world = World(4)

    def before(n):
        if n == 1:
            world.particles.append(Particle(0.5, 3.0))
        if n == 2:
            world.particles[0], world.particles[1] = world.particles[1], world.particles[0]

    return world.step, [(0.1,), (0.3,), (0.2,)], lambda: world, before


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


class Light(enum.Enum):
    RED = 1
    GREEN = 2
    YELLOW = 3

    def next(self):
        return {Light.RED: Light.GREEN, Light.GREEN: Light.YELLOW, Light.YELLOW: Light.RED}[self]


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
def inheritance_and_super() -> Any:
    class Base:
        scale = 2.0

        def __init__(self):
            self.calls = []

        def apply(self, x):
            self.calls.append("base")
            return x * self.scale

    class Loud:
        def apply(self, x):
            self.calls.append("loud")
            return super().apply(x) + 1

    class Shifted(Loud, Base):
        scale = 3.0

        def apply(self, x):
            y = super().apply(x)
            self.calls.append(type(self).__name__)
            return y - x

    s = Shifted()

    def before(n):
        if n == 1:
            Shifted.scale = 5.0
        if n == 2:
            s.scale = 7.0

    return s.apply, _vectors(0, 1, 2), lambda: vars(s), before


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


@dataclasses.dataclass
class State:
    x: Any
    v: Any
    t: float = 0.0
    notes: list = dataclasses.field(default_factory=list)


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


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: float = 1.0

    def moved(self, d):
        return dataclasses.replace(self, a=self.a + d)


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


class Pair(NamedTuple):
    left: Any
    right: Any = 0

    @property
    def both(self):
        return self.left + self.right


@program
def named_tuple() -> Any:
    def f(p, k):
        q = p._replace(left=p.left * k)
        left, right = q
        return q, q.both, right is p.right, q._fields, left[::-1]

    return f, [(Pair(np.arange(2.0), np.ones(2)), k) for k in (1.0, 2.0, 3.0)], None


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


@program
def aliased_attributes() -> Any:
    class Two:
        def __init__(self):
            self.a = np.zeros(3)
            self.b = self.a
            self.part = self.a[1:]

        def step(self, x):
            self.a += x
            self.part *= 2
            return self.b.sum()

    t = Two()

    def before(n):
        if n == 1:
            t.b = t.a.copy()
        if n == 2:
            t.a = t.part

    return t.step, [(1.0,), (2.0,), (3.0,)], lambda: t, before


@program
def replaced_objects() -> Any:
    class Model:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return x * self.k

    class Other(Model):
        def __call__(self, x):
            return x - self.k

    holder = types.SimpleNamespace(model=Model(2.0))

    def f(x):
        y = holder.model(x)
        holder.previous = holder.model
        holder.model = type(holder.model)(holder.model.k + 1)
        return y

    def before(n):
        if n == 2:
            holder.model = Other(1.0)

    return f, _vectors(0, 1, 2), lambda: holder, before


@program
def vars_item_set() -> Any:
    class P:
        pass

    p = P()

    def f(x, k):
        vars(p)[k] = x * 2
        p.__dict__.update(n=len(vars(p)), last=k)
        return getattr(p, k) + 1

    return f, [(np.ones(2), "a"), (np.ones(2), "b"), (np.ones(2) * 3, "a")], lambda: vars(p)


@program
def setattr_by_name() -> Any:
    class P:
        def __init__(self):
            self.total = 0.0

    p = P()

    def f(x, name):
        setattr(p, name, x)
        p.total = p.total + getattr(p, name).sum()
        if hasattr(p, "b") and name == "a":
            delattr(p, "b")
        return sorted(vars(p))

    return f, [(np.ones(2), "a"), (np.ones(2), "b"), (np.ones(3), "a")], lambda: p


@program
def function_attributes() -> Any:
    def f(x):
        f.count += 1
        f.last = x
        return x * f.count

    f.count = 0
    f.last = None

    def before(n):
        if n == 2:
            f.count = 10

    return f, _vectors(0, 1, 2), lambda: (f.count, f.last), before


@program
def helper_attributes() -> Any:
    def helper(x):
        helper.calls = getattr(helper, "calls", 0) + 1
        return x + helper.calls

    def f(x):
        return helper(x) * helper(x)

    return f, _vectors(0, 1, 2), lambda: helper.calls


@program
def patched_helpers() -> Any:
    tools = types.SimpleNamespace(act=np.tanh)

    class Layer:
        def act(self, x):
            return x * 2

    layer = Layer()

    def f(x):
        return tools.act(x) + layer.act(x)

    def before(n):
        if n == 1:
            tools.act = lambda x: x - 1
        if n == 2:
            Layer.act = lambda self, x: x * 5
        if n == 3:
            layer.act = lambda x: x * 0

    return f, _vectors(0, 1, 2, 3), None, before


@program
def patched_code() -> Any:
    def helper(x, k=2.0):
        return x * k

    def f(x):
        return helper(x)

    def before(n):
        if n == 1:
            helper.__defaults__ = (5.0,)
        if n == 2:
            helper.__code__ = (lambda x, k=1: x + k).__code__

    return f, _vectors(0, 1, 2), None, before


@program
def patches_within_the_function() -> Any:
    class A:
        def go(self, x):
            return x + 1

    a = A()

    def f(x, flag):
        if flag:
            A.go = lambda self, x: x * 10
        return a.go(x)

    return f, [(np.ones(2), False), (np.ones(2), True), (np.ones(2), False)], lambda: A.go(a, 1)


@program
def class_of_an_object_changed() -> Any:
    class A:
        def go(self, x):
            return x + 1

    class B:
        def go(self, x):
            return x * 10

    o = A()

    def f(x):
        y = o.go(x)
        o.__class__ = B if type(o) is A else A
        return y

    return f, _vectors(1, 1, 1), lambda: type(o)


@program
def operators_of_a_class() -> Any:
    class Vec:
        adds = 0

        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            Vec.adds += 1
            return Vec(self.v + o.v)

        def __iadd__(self, o):
            self.v += o.v
            return self

        def __mul__(self, k):
            return Vec(self.v * k)

        __rmul__ = __mul__

        def __eq__(self, o):
            return bool(np.all(self.v == o.v))

        def __hash__(self):
            return 1

        def __len__(self):
            return len(self.v)

        def __getitem__(self, i):
            return self.v[i]

        def __bool__(self):
            return bool(self.v.any())

    base = Vec(np.ones(2))

    def f(a, k):
        nonlocal base
        old = base
        base += a
        c = 2 * a + base * k
        return c, c == a, len(c), c[0], bool(a), old is base

    return f, [(Vec(np.ones(2) * k), k) for k in (0.0, 1.0, 2.0)], lambda: (base, Vec.adds)


@program
def context_manager_object() -> Any:
    class Scale:
        def __init__(self):
            self.depth, self.factor = 0, 1.0

        def __enter__(self):
            self.depth += 1
            self.factor *= 2
            return self

        def __exit__(self, kind, e, tb):
            self.depth -= 1
            self.last = None if kind is None else kind.__name__
            return kind is ZeroDivisionError

    s = Scale()

    def f(x):
        with s as a, a:
            y = x * s.factor
            if x.sum() > 5:
                raise ZeroDivisionError("big")
            return y, s.depth
        return "swallowed"

    return f, _vectors(0, 1, 2), lambda: vars(s)


@program
def iterator_object() -> Any:
    class Countdown:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    c = Countdown(5)

    def f(x):
        for k in c:
            x = x + k
            if k == 3:
                break
        return x, c.n

    return f, _vectors(0, 1, 2), lambda: c.n


@program
def running_statistics() -> Any:
    class Running:
        n = 0
        mean = m2 = 0.0

        def push(self, x):
            self.n += 1
            d = x - self.mean
            self.mean += d / self.n
            self.m2 += d * (x - self.mean)

        @property
        def variance(self):
            return self.m2 / (self.n - 1) if self.n > 1 else float("nan")

    r = Running()

    def f(xs):
        for x in xs:
            r.push(x)
        return r.variance

    def before(n):
        if n == 2:
            del r.n

    return f, [(np.array([1.0]),), (np.array([4.0, 2.0]),), (np.array([3.0]),)], lambda: vars(r), before


@program
def running_statistics_of_a_list() -> Any:
    class Ema:
        def __init__(self, alpha):
            self.alpha, self.value, self.history = alpha, None, []

        def __call__(self, x):
            self.value = x if self.value is None else self.alpha * x + (1 - self.alpha) * self.value
            self.history.append(self.value)
            if len(self.history) > 4:
                self.history.pop(0)
            return self.value

    e = Ema(0.3)
    return (lambda xs: [e(x) for x in xs]), [([1.0, 2.0],), ([3.0, 4.0],), ([5.0, 6.0],)], lambda: e


@program
def game_with_rules() -> Any:
    class Board:
        def __init__(self):
            self.cells = np.zeros((3, 3), int)
            self.turn = 1
            self.moves = []

        def winner(self):
            lines = [*self.cells, *self.cells.T, self.cells.diagonal(), self.cells[:, ::-1].diagonal()]
            for line in lines:
                s = line.sum()
                if abs(s) == 3:
                    return int(np.sign(s))
            return 0

        def play(self, i, j):
            if self.cells[i, j]:
                raise ValueError(f"cell {i}, {j} is taken by {self.cells[i, j]}")
            self.cells[i, j] = self.turn
            self.moves.append((i, j))
            self.turn = -self.turn
            return self.winner()

    b = Board()
    return b.play, [(0, 0), (1, 1), (0, 0), (0, 1), (2, 2), (0, 2)], lambda: b


@program
def linked_list() -> Any:
    class Node:
        def __init__(self, v, rest=None):
            self.v, self.rest = v, rest

    class Stack:
        def __init__(self):
            self.head, self.size = None, 0

        def push(self, v):
            self.head = Node(v, self.head)
            self.size += 1

        def __iter__(self):
            n = self.head
            while n is not None:
                yield n.v
                n = n.rest

    s = Stack()

    def f(x):
        s.push(x * 2)
        total = 0
        for v in s:
            total = total + v
        return total

    return f, _vectors(0, 1, 2), lambda: s


@program
def tree_insert() -> Any:
    class Tree:
        def __init__(self, key):
            self.key, self.left, self.right = key, None, None

        def insert(self, key):
            side = "left" if key < self.key else "right"
            child = getattr(self, side)
            if child is None:
                setattr(self, side, Tree(key))
            else:
                child.insert(key)

        def keys(self):
            if self.left:
                yield from self.left.keys()
            yield self.key
            if self.right:
                yield from self.right.keys()

    root = Tree(5.0)

    def f(k):
        root.insert(k)
        return list(root.keys())

    return f, [(3.0,), (7.0,), (4.0,), (3.5,)], lambda: root


@program
def observer_pattern() -> Any:
    class Subject:
        def __init__(self):
            self.listeners = []
            self._value = 0.0

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, v):
            old, self._value = self._value, v
            for listener in self.listeners:
                listener(old, v)

    class Recorder:
        def __init__(self):
            self.seen = []

        def on_change(self, old, new):
            self.seen.append((old, new, new - old))

    s, r = Subject(), Recorder()
    s.listeners.append(r.on_change)

    def f(x):
        s.value = x.sum()
        s.value *= 2
        return len(r.seen)

    def before(n):
        if n == 1:
            s.listeners.append(lambda old, new: r.seen.append("also"))
        if n == 2:
            s.listeners.clear()

    return f, _vectors(0, 1, 2), lambda: (s.value, r.seen), before


@program
def failed_method_half_done() -> Any:
    class Account:
        def __init__(self):
            self.total, self.items = 0.0, []

        def add(self, xs):
            for x in xs:
                self.items.append(x)
                self.total += x
                if self.total > 10:
                    raise OverflowError("too much")
            return self.total

    a = Account()
    return a.add, [([1.0, 2.0],), ([4.0, 5.0, 6.0],), ([1.0],)], lambda: a


@program
def parts_swapped() -> Any:
    class Buffers:
        def __init__(self):
            self.front, self.back = np.zeros(4), np.ones(4)

        def step(self, k):
            self.back[1:-1] = self.front[:-2] + self.front[2:] + k
            self.front, self.back = self.back, self.front
            return self.front

    b = Buffers()
    first = b.front
    return b.step, [(1.0,), (2.0,), (3.0,)], lambda: (first, b, b.front is first)


@program
def object_returned_is_kept() -> Any:
    class Result:
        def __init__(self, x, parent):
            self.x, self.parent = x, parent

    last: list[Any] = [None]

    def f(x):
        r = Result(x * 2, last[0])
        last[0] = r
        return r

    return f, _vectors(0, 1, 2), lambda: last


@program
def equality_by_identity() -> Any:
    class Key:
        def __init__(self, name):
            self.name = name

    a, b = Key("a"), Key("b")
    table = {a: 1.0, b: 2.0}

    def f(k, x):
        table[k] = table.get(k, 0.0) + x
        return k in table, k == a, k != b, len(table)

    return f, [(a, 1.0), (b, 2.0), (Key("a"), 3.0), (a, 4.0)], lambda: list(table.values())


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
        setattr(f, "seen", getattr(f, "seen", 0) + 1)
        return f"{x.sum():.2f}"

    return f, _vectors(0, 1, 2), lambda: (P.n, vars(p), f.seen)


class _Plain:
    def __init__(self, **kw):
        vars(self).update(kw)


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


_calls: list[Any] = []
_count = 0


@dataclasses.dataclass
class Loud:
    x: Any

    def twice(self):
        global _count
        _count += 1
        return self.x * 2

    def thrice(self):
        _calls.append("thrice")
        return self.x * 3


@program
def dataclass_method_writes_global() -> Any:
    global _count
    _count = 0
    c = Loud(np.ones(2))
    return (lambda c: c.twice()), [(c,), (c,), (c,)], lambda: _count


@program
def dataclass_method_appends() -> Any:
    _calls.clear()
    c = Loud(np.ones(2))
    return (lambda c: c.thrice()), [(c,), (c,), (c,)], lambda: _calls


@program
def dataclass_made_and_appends() -> Any:
    _calls.clear()
    return (lambda x: Loud(x).thrice()), [(np.ones(2),)] * 3, lambda: _calls


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


@program
def repr_and_hash_that_count() -> Any:
    log: list[str] = []

    class K:
        def __repr__(self):
            log.append("repr")
            return "K"

        def __hash__(self):
            log.append("hash")
            return 1

        def __eq__(self, other):
            log.append("eq")
            return self is other

        def __bool__(self):
            log.append("bool")
            return True

        def __len__(self):
            log.append("len")
            return 3

    k = K()

    def f(x, other):
        return x * 2 if k else x, other is k

    return f, [(1.0, k), (2.0, K()), (3.0, k)], lambda: log


@program
def given_object_looked_at_by_nobody() -> Any:
    log: list[str] = []

    class K:
        def __getattr__(self, name):
            log.append(name)
            raise AttributeError(name)

        def __eq__(self, other):
            log.append("eq")
            return self is other

        def __hash__(self):
            log.append("hash")
            return 1

        def __iter__(self):
            log.append("iter")
            return iter([1.0])

    k = K()
    return (lambda x, other: x * 2), [(1.0, k), (2.0, K()), (3.0, k)], lambda: log


@program
def writes_by_type_of_self() -> Any:
    class A:
        n = 0

        def go(self, x):
            type(self).n += 1
            return x

    class B(A):
        def go(self, x):
            self.__class__.m = 5
            return super().go(x)

    b = B()
    return b.go, _vectors(1, 1, 1), lambda: (A.n, B.n, getattr(B, "m", None))


@program
def slots_kept_in_a_parent() -> Any:
    class A:
        __slots__ = ("x",)

    class B(A):
        def __init__(self):
            self.x, self.y = 1.0, 2.0

    b = B()

    def f(k):
        return b.x * k, b.y, sorted(vars(b))

    def before(n):
        b.x = float(n)
        if n == 2:
            b.z = 1

    return f, [(1.0,), (2.0,), (3.0,)], None, before


@program
def returned_object_is_the_argument() -> Any:
    class P:
        def __init__(self, x):
            self.x = x

    held = P(np.ones(2))

    def f(p, x):
        p.x += x
        return p, held, [p]

    return f, [(P(np.ones(2)), 1.0), (held, 2.0), (P(np.ones(2)), 3.0)], lambda: held


@program
def dataclass_given_back() -> Any:
    held = State(np.ones(2), np.zeros(2))

    def f(s, x):
        s.x += x
        return s, held, s.x

    return f, [(State(np.ones(2), 1.0), 1.0), (held, 2.0), (State(np.ones(2), 1.0), 3.0)], lambda: held


@program
def frozen_given_and_kept() -> Any:
    p, q = Frozen(1.0), Frozen(1.0)

    def f(a, b):
        return a is b, a == b, a.b

    return f, [(p, p), (p, q), (q, q)], None
