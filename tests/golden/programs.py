"""The functions of which tests/golden/*.txt shows the programs: name -> (function, arguments)."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax

X = np.linspace(-1.0, 1.0, 24).reshape(4, 6)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def mlp(params: Any, x: Any, y: Any) -> Any:
    (w1, b1), (w2, b2) = params
    h = np.tanh(x @ w1 + b1)
    return ((h @ w2 + b2 - y) ** 2).mean()


def batch_norm(x: Any, w: Any, b: Any, mean: Any, var: Any, gamma: Any, beta: Any) -> Any:
    return (x @ w + b - mean) / np.sqrt(var + 1e-5) * gamma + beta


def turned(x: Any, w: Any, b: Any) -> Any:
    return softmax((x @ w + b).T)


def price(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    """Black and Scholes' price of a European call, with a logistic form of the normal distribution."""

    def cdf(x: Any) -> Any:
        return 1 / (1 + np.exp(-(0.07056 * x**3 + 1.5976 * x)))

    root = v * np.sqrt(t)
    d1 = (np.log(s / k) + (r + v * v / 2) * t) / root
    return (s * cdf(d1) - k * np.exp(-r * t) * cdf(d1 - root)).sum()


def pendulum(angle: Any, length: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        a, v = state
        v = v - 0.01 * np.sin(a) / length
        return (a + 0.01 * v, v), a

    return lax.scan(step, (angle, 0.0), None, length=100)


def final_angle(angle: Any, length: Any) -> Any:
    return pendulum(angle, length)[0][0]


def cholesky(a: Any) -> Any:
    def row(i: Any, m: Any) -> Any:
        def entry(j: Any, m: Any) -> Any:
            m[i, j] = (m[i, j] - np.dot(m[i, :j], m[j, :j])) / m[j, j]
            return m

        m = lax.fori_loop(0, i, entry, m)
        m[i, i] = np.sqrt(m[i, i] - np.dot(m[i, :i], m[i, :i]))
        return m

    return lax.fori_loop(0, a.shape[0], row, a)


def stencil(u: Any) -> None:
    """One Jacobi step into the caller's array."""
    u[1:-1] = (u[:-2] + u[2:]) / 2


def heat_energy(u: Any) -> Any:
    """The squares of a step of the heat equation, summed."""
    near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return ((u[1:-1, 1:-1] + 0.1 * (near - 4 * u[1:-1, 1:-1])) ** 2).sum()


MARKET = tuple(np.linspace(a, b, 100) for a, b in ((80, 120), (120, 80), (0.1, 2), (0.01, 0.05), (0.5, 0.1)))
PARAMS = [(np.ones((6, 5)), np.zeros(5)), (np.ones((5, 2)), np.zeros(2))]

PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "softmax": (softmax, (X,)),
    "layer_norm": (layer_norm, (X, np.ones(6), np.zeros(6))),
    "mlp_gradient": (tj.grad(mlp), (PARAMS, X, np.zeros((4, 2)))),
    "batch_norm": (
        batch_norm,
        (np.linspace(-1, 1, 192).reshape(32, 6), np.ones((6, 2)), *(np.linspace(1, 2, 2) for _ in range(5))),
    ),
    "turned": (turned, (X, np.linspace(0, 1, 30).reshape(6, 5), np.ones(5))),
    "greeks": (tj.grad(price, (0, 1, 2, 3, 4)), MARKET),
    "scan": (pendulum, (1.0, 2.0)),
    "scan_gradient": (tj.grad(final_angle, (0, 1)), (1.0, 2.0)),
    "cholesky": (cholesky, (np.eye(5),)),
    "stencil_gradient": (tj.grad(heat_energy), (np.linspace(-1, 1, 400).reshape(20, 20),)),
    "stencil": (stencil, (np.ones(16),)),
}

#: What `jit` is told of them.
OPTIONS: dict[str, dict[str, Any]] = {"batch_norm": {"fastmath": True}}
