"""Classes and simulations as people write them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


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
