"""A few programs of each kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def counts_calls() -> Any:
    seen: list[float] = []

    def f(x):
        seen.append(x)
        return len(seen)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: seen


@program
def kalman() -> Any:
    class Kalman:
        def __init__(self):
            self.x, self.p, self.history = np.zeros(2), np.eye(2), []

        def step(self, z):
            self.x = self.x * 0.9
            self.p = 0.9 * self.p @ self.p.T + 0.1 * np.eye(2)
            k = self.p[:, 0] / (self.p[0, 0] + 1.0)
            self.x = self.x + k * (z - self.x[0])
            self.history.append(self.x[0])
            return self.x

    k = Kalman()
    return k.step, [(1.0,), (2.0,), (0.5,)], lambda: vars(k)


@program
def raises_by_value() -> Any:
    def f(x):
        if x.sum() > 3:
            raise ValueError(f"too large: {x.sum():.1f}")
        return x * 2

    return f, [(np.ones(2),), (np.ones(4),), (np.ones(3),)], None


@program
def python_numbers() -> Any:
    def f(a, b):
        return a // b, a % b, a / b, a * b, a - b, type(a) is int, max(a, b)

    return f, [(7, 2), (7.5, 2), (2**62, 8), (1, 0)], None


@program
def singletons() -> Any:
    def f(flag, n, x):
        kinds = [flag is True, flag is not False, n is None, x is x, np.allclose(x, 1.0) is False]
        return kinds, 1 if flag is True else "no"

    return (
        f,
        [(True, 3, np.ones(2)), (False, 3, np.zeros(2)), (np.True_, 4, np.ones(2)), (1, 4, np.ones(2))],
        None,
    )


@program
def identity_of_integers() -> Any:
    def f(m, n):
        return m is n, [m is k for k in (3, 4)]

    return f, [(3, 3), (4, 3), (3, 3)], None
