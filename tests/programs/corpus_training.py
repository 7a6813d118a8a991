"""What people train and fit: classes that keep moments, statistics, histories, buffers and logs while they compute.

Each is a function of numbers, so that it can be differentiated by what it is given."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np

from tests.programs.observe import program

X = np.array([0.3, -0.7, 1.1])
THREE = [(X + 0,), (X * 0.5,), (X - 0.2,)]


@program
def momentum_in_place() -> Any:
    class Momentum:
        def __init__(self):
            self.v, self.steps = np.zeros(3), 0

        def step(self, w):
            g = 2 * w + np.sin(w)
            self.v *= 0.9
            self.v += 0.1 * g
            self.steps += 1
            return w - 0.1 * self.v

    m = Momentum()
    return m.step, THREE, lambda: vars(m)


@program
def adam_with_bias_correction() -> Any:
    class Adam:
        def __init__(self, n):
            self.m, self.v, self.t = np.zeros(n), np.zeros(n), 0

        def __call__(self, w):
            g = np.cos(w) * w
            self.t += 1
            self.m[:] = 0.9 * self.m + 0.1 * g
            self.v[:] = 0.99 * self.v + 0.01 * g**2
            return w - 0.1 * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.99**self.t)) + 1e-3)

    a = Adam(3)
    return a, THREE, lambda: vars(a)


@program
def several_steps_of_one_call() -> Any:
    velocity = np.zeros(3)

    def fit(w):
        for _ in range(4):
            velocity[...] = 0.8 * velocity - 0.1 * (w - 1)
            w = w + velocity
        return w

    return fit, THREE, lambda: velocity


@program
def moments_in_a_dict() -> Any:
    state = {"m": np.zeros(3), "v": np.ones(3), "t": 0}

    def step(w):
        state["t"] += 1
        state["m"] *= 0.5
        state["m"] += 0.5 * w
        state["v"][1:] += w[1:] ** 2
        return w * state["m"] / np.sqrt(state["v"])

    return step, THREE, lambda: state


@program
def moments_in_a_list_of_layers() -> Any:
    layers = [np.zeros(3), np.full(3, 0.1)]

    def step(w):
        for n, h in enumerate(layers):
            h += (n + 1) * w
        return layers[0] @ layers[1], [np.tanh(h) for h in layers]

    return step, THREE, lambda: layers


@program
def running_statistics_of_batches() -> Any:
    class Norm:
        def __init__(self):
            self.mean, self.var = np.zeros(3), np.ones(3)

        def __call__(self, x):
            batch = np.stack([x, 2 * x, x - 1])
            self.mean += 0.1 * (batch.mean(0) - self.mean)
            self.var *= 0.9
            self.var += 0.1 * batch.var(0)
            return (batch - self.mean) / np.sqrt(self.var + 1e-5)

    n = Norm()
    return n, THREE, lambda: vars(n)


@program
def welford_by_element() -> Any:
    count, mean, spread = np.zeros(3, int), np.zeros(3), np.zeros(3)

    def push(x):
        count[:] += 1
        d = x - mean
        mean[:] += d / count
        spread[:] += d * (x - mean)
        return spread / np.maximum(count - 1, 1)

    return push, THREE, lambda: (count, mean, spread)


@program
def history_in_a_ring() -> Any:
    ring = np.zeros((2, 3))
    place = [0]

    def push(x):
        ring[place[0] % 2] = x * x
        place[0] += 1
        return ring.sum(0), ring[(place[0] - 1) % 2]

    return push, THREE, lambda: (ring, place)


@program
def replay_of_transitions() -> Any:
    @dataclasses.dataclass
    class Replay:
        states: np.ndarray
        rewards: np.ndarray
        n: int = 0

        def add(self, s, r):
            self.states[self.n] = s
            self.rewards[self.n] = r
            self.n += 1

        def value(self):
            return (self.states[: self.n] * self.rewards[: self.n, None]).mean()

    r = Replay(np.zeros((6, 3)), np.zeros(6))

    def act(s):
        r.add(s, np.tanh(s).sum())
        r.add(s * 0.5, s @ s)
        return r.value()

    return act, THREE, lambda: r


@program
def losses_by_epoch() -> Any:
    losses, log = np.full(4, np.nan), []

    def epoch(w):
        n = len(log)
        losses[n] = ((w - 1) ** 2).sum()
        log.append(f"epoch {n}")
        return losses[n], losses[: n + 1].min()

    return epoch, THREE, lambda: (losses, log)


@program
def line_search_with_a_history() -> Any:
    tried = []

    def search(x):
        step, value = 1.0, (x**2).sum()
        while ((x - step * 2 * x) ** 2).sum() > 0.5 * value:
            tried.append((step, ((x - step * 2 * x) ** 2).sum()))
            step *= 0.5
        return x - step * 2 * x

    return search, THREE, lambda: tried


@program
def averaged_weights() -> Any:
    class Average:
        def __init__(self, w):
            self.w, self.n = w, 0

        def add(self, w):
            self.n += 1
            self.w += (w - self.w) / self.n
            return self.w * 2

    a = Average(np.zeros(3))
    return a.add, THREE, lambda: vars(a)


@program
def a_view_is_the_bias() -> Any:
    class Layer:
        def __init__(self):
            self.all = np.ones((3, 4))
            self.w, self.b = self.all[:, :3], self.all[:, 3]

        def __call__(self, x):
            self.b += 0.1 * x
            self.w[0] = x
            return self.all @ np.append(x, 1.0)

    layer = Layer()
    return layer, THREE, lambda: (layer.all, layer.w, layer.b)


@program
def columns_of_a_transposed_array() -> Any:
    table = np.zeros((3, 2), order="F")

    def put(x):
        turned = table.T
        turned[1] += x
        turned[0, ::2] = x[:2] ** 2
        return table.sum(1) * x

    return put, THREE, lambda: table


@program
def by_positions_and_masks() -> Any:
    kept = np.zeros(3)

    def put(x):
        kept[[0, 2]] = x[1:] * 3
        kept[x > 0.2] *= 2
        kept[x < 0] = x.sum()
        return kept**2 + x

    return put, THREE, lambda: kept


@program
def by_functions_that_write() -> Any:
    a, b, c = np.zeros(3), np.zeros(3), np.arange(3.0)

    def put(x):
        np.add(a, x, out=a)
        np.multiply(x, 2.0, out=b)
        np.add.at(c, [0, 0, 2], x)
        b.fill(x.sum())
        return a * b + c

    return put, THREE, lambda: (a, b, c)


@program
def an_exception_in_the_middle() -> Any:
    total, seen = np.zeros(3), []

    def step(x):
        total[:] += x * x
        seen.append(x.sum())
        if x.sum() < 0.2:
            raise ValueError(f"bad sum {len(seen)}")
        total[0] = 0.0
        return total * x

    return step, THREE, lambda: (total, seen)


@program
def an_exception_that_is_caught() -> Any:
    total = np.zeros(3)

    def step(x):
        try:
            total[1] += x[1] ** 2
            if x[1] > -0.5:
                raise ArithmeticError
            total[2] = x[2]
        except ArithmeticError:
            total[0] = x.sum()
        return total + x

    return step, THREE, lambda: total


@program
def a_recurrent_state() -> Any:
    class Cell:
        def __init__(self):
            self.h = np.zeros(3)
            self.w = np.eye(3) * 0.5

        def run(self, xs):
            for x in xs:
                self.h[:] = np.tanh(self.w @ self.h + x)
            return self.h.copy()

    c = Cell()
    return c.run, [(np.stack([X, X + 1]),), (np.stack([X * 0.1, -X]),)], lambda: vars(c)


@program
def eligibility_traces() -> Any:
    trace, value = np.zeros(3), np.array([0.1, 0.2, 0.3])

    def step(x, rate):
        delta = x @ value - value.sum()
        trace[:] = 0.5 * trace + x
        value[:] = value + rate * delta * trace
        return value @ x

    return step, [(X, 0.1), (X * 2, 0.2), (X + 1, 0.05)], lambda: (trace, value)


@program
def a_filter_with_covariances() -> Any:
    class Kalman:
        def __init__(self):
            self.x, self.p = np.zeros(2), np.eye(2)
            self.f = np.array([[1.0, 0.1], [0.0, 1.0]])

        def update(self, z):
            self.x[:] = self.f @ self.x
            self.p[:] = self.f @ self.p @ self.f.T + 0.01 * np.eye(2)
            gain = self.p[:, 0] / (self.p[0, 0] + 0.1)
            self.x += gain * (z - self.x[0])
            self.p -= np.outer(gain, self.p[0])
            return self.x[0]

    k = Kalman()
    return k.update, [(0.3,), (0.5,), (1.2,)], lambda: vars(k)


@program
def a_window_of_the_last() -> Any:
    window = collections.deque([np.zeros(3)], maxlen=2)

    def push(x):
        window.append(x * x)
        window[0][1] = x.sum()
        return sum(window) * x

    return push, THREE, lambda: list(window)


@program
def integers_are_written_by_floats() -> Any:
    counts = np.zeros(3, int)

    def push(x):
        counts[0] = 7.9 * x[2]
        counts[1:] += 2
        return counts * x

    return push, THREE, lambda: counts


@program
def swapped_buffers() -> Any:
    class Field:
        def __init__(self):
            self.old, self.new = np.zeros(5), np.zeros(5)

        def step(self, x):
            self.old[1:4] += x
            self.new[1:-1] = 0.5 * (self.old[:-2] + self.old[2:])
            self.old, self.new = self.new, self.old
            return self.old[1:-1] * x

    f = Field()
    return f.step, THREE, lambda: vars(f)


@program
def one_array_by_two_names() -> Any:
    class Tied:
        def __init__(self):
            self.encoder = np.full((3, 3), 0.2)
            self.decoder = self.encoder

        def __call__(self, x):
            self.encoder[0] += x
            return self.decoder.T @ np.tanh(self.encoder @ x)

    t = Tied()
    return t, THREE, lambda: vars(t)
