"""Programs whose loops append to lists of outside as often as values decide: what `fit` methods do."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tests.programs.observe import program


class Model:
    def __init__(self, start: tuple[float, ...] = ()) -> None:
        self.losses: list[Any] = list(start)
        self.w = np.ones(3)
        self.steps = 0


def _models(*start: float) -> list[tuple[Any, ...]]:
    model = Model(start)
    return [(model, np.arange(1.0, 4.0) * k) for k in (1, 2, 0.5)]


@program
def fit_until_the_loss_settles() -> Any:
    def fit(model, x):
        for step in range(200):
            e = model.w @ x - 1
            model.losses.append(float(e**2))
            if len(model.losses) > 1 and abs(model.losses[-1] - model.losses[-2]) < 1e-3:
                break
            model.w = model.w - 0.02 * e * x
            model.steps += 1
        return step

    return fit, _models(), None


@program
def fit_with_the_spread_of_the_last_losses() -> Any:
    def fit(model, x):
        while True:
            model.w = model.w * 0.7
            model.losses.append(float(model.w @ x))
            model.steps += 1
            if model.steps % 3 == 0 and np.std(model.losses[-3:]) < 0.1:
                break
        return model.losses[-1], len(model.losses)

    return fit, _models(5.0, 1.0, 2.0), None


@program
def fit_by_a_name_of_the_history() -> Any:
    def fit(model, x):
        history = model.losses
        while x.sum() > 0.3:
            x = x * 0.5
            if x[0] > 0.3:
                history.append(x.sum())
            else:
                history.append(x[0])
                history.append(x[1])
        history.append(x[2])
        history.extend([x[0], x[1]])
        model.w = x

    return fit, _models(), None


@program
def histories_of_arrays_and_of_pairs() -> Any:
    log: dict[str, Any] = {"x": [], "pairs": collections.deque()}

    def f(x):
        for i in range(300):
            x = x * 0.5
            log["x"].append(x.copy())
            log["pairs"].append((i, x.sum()))
            if x.sum() < 1e-3:
                return len(log["x"])
        return -1

    return f, [(np.arange(3.0) * k,) for k in (1, 2, 3)], lambda: log


@program
def history_that_is_an_argument() -> Any:
    def f(history, x):
        for i in range(60):
            history.append(x * i)
            if x < i:
                break
            x = x * 0.9
        return x

    history: list[float] = []
    return f, [(history, k) for k in (1.0, 7.5, 3.0)], None


@program
def history_made_anew_by_every_call() -> Any:
    def fit(model, x):
        model.losses = []
        for i in range(60):
            model.losses.append(x.sum() * i)
            if x[0] < i:
                break
        model.w = x

    return fit, _models(1.0), None


@program
def history_of_which_too_few_items_are_there() -> Any:
    def f(history, x):
        while x > 1:
            x = x / 2
            history.append(x)
        return history[-1] - history[-3]

    return f, [([], 3.0), ([5.0], 4.5), ([], 9.0), ([1.0, 2.0], 0.5)], None


@program
def history_of_which_more_is_read() -> Any:
    def fit(model, x):
        while x.sum() > 0.1:
            x = x * 0.5
            model.losses.append(float(x.sum()))
        return max(model.losses), sum(model.losses)

    return fit, _models(2.0), None


@program
def history_with_a_bound() -> Any:
    last: collections.deque[Any] = collections.deque([1.0], maxlen=4)

    def f(x):
        for i in range(50):
            last.append(x * i)
            if x < i:
                break
        return x

    return f, [(3.5,), (0.5,), (20.0,)], lambda: last


@program
def history_of_one_array() -> Any:
    def fit(model, x):
        for i in range(40):
            model.losses.append(x)
            if x.sum() < i:
                break
        return model.losses[0] is x

    return fit, _models(), None


@program
def history_that_an_exception_ends() -> Any:
    def fit(model, x):
        for i in range(30):
            model.losses.append(x[0] * i)
            if x[1] < i:
                raise ValueError("no end in sight")
            x = x * 1.01

    return fit, _models(), None


class Layer:
    def __init__(self, rows: int, columns: int) -> None:
        self.w = np.cos(np.arange(float(rows * columns))).reshape(rows, columns)
        self.b = np.zeros(columns)

    def forward(self, x: Any) -> Any:
        self.x = x
        self.out = np.tanh(x @ self.w + self.b)
        return self.out

    def backward(self, g: Any) -> Any:
        g = g * (1 - self.out**2)
        self.dw, self.db = self.x.T @ g, g.sum(0)
        return g @ self.w.T


@program
def network_of_layers_that_keep_what_they_saw() -> Any:
    layers = [Layer(3, 4), Layer(4, 1)]
    history: list[Any] = []

    def fit(x, y):
        for epoch in range(40):
            out = x
            for layer in layers:
                out = layer.forward(out)
            history.append(((out - y) ** 2).mean())
            g = 2 * (out - y) / len(y)
            for layer in reversed(layers):
                g = layer.backward(g)
            for layer in layers:
                layer.w -= 0.05 * layer.dw
                layer.b -= 0.05 * layer.db
            if history[-1] < 0.1:
                break
        return epoch, layers[0].out is layers[1].x, layers[0].x is x

    x = np.sin(np.arange(24.0)).reshape(8, 3)
    return fit, [(x, np.tanh(x[:, :1])), (x * 2, x[:, :1]), (x, x[:, :1] > 0)], lambda: (layers, history)


@program
def names_of_one_array_of_the_last_step() -> Any:
    class Pair:
        pass

    pair = Pair()

    def f(x):
        for i in range(200):
            a = x * i
            b = a
            pair.first = a[:2]
            pair.second = pair.first
            if a[0] > 5:
                break
        b[1] = -1.0
        return a, b, a is b, pair.first is pair.second

    return f, [(np.ones(3) * k,) for k in (1, 2, 0.01)], lambda: vars(pair)
