"""What is measured: functions of a namespace `xp` (NumPy's, jax.numpy, cupy or `peers.Torch`), and their arguments."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import lax, vmap


@dataclass(frozen=True)
class Workload:
    """`body(xp, *arrays)`; `make(rng, n)` gives its arrays, of `large` elements on a card and of `small` ones on the
    emulated device. `moved`: bytes between memory and the card that it takes at least, for arrays of n elements.
    `gradient`: the gradient of its first argument is measured, by the libraries that have gradients; `steps`: the first
    arguments are parameters, so many, which one step of gradient descent replaces. `in_jax(*arrays)`: what JAX is
    measured with, by transformations of its own; no other library is measured then."""

    name: str
    body: Callable[..., Any]
    make: Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
    moved: Callable[[int], float]
    small: int = 4096
    large: int = 100_000_000
    gradient: bool = False
    steps: int = 0
    in_jax: Callable[..., Any] | None = None


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers that are normally distributed: a million of them, again and again, since drawing many takes seconds."""
    return np.resize(rng.normal(size=min(n, 1 << 20)), n)


def _vector(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return (_normal(rng, n),)


def _rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    rows = n // 1000 or 1
    return (_normal(rng, rows * 1000).reshape(rows, 1000),)


def _square(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    side = int(n**0.5)
    x, y = (_normal(rng, side * side).reshape(side, side) for _ in range(2))
    return x, y


def _few_places(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Elements that are read a hundred times each, and where."""
    return _normal(rng, n // 100), rng.integers(0, n // 100, n)


def _single(make: Callable[..., tuple[np.ndarray, ...]]) -> Callable[..., tuple[np.ndarray, ...]]:
    """The same arrays as numbers of 32 bits."""
    return lambda rng, n: tuple(x.astype(np.float32) for x in make(rng, n))


def _options(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return rng.uniform(80, 120, n), rng.uniform(90, 110, n), rng.uniform(0.5, 2, n)


def _network(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    inputs, hidden, classes = (784, 256, 10) if n >= 512 else (12, 8, 3)
    shapes = (inputs, hidden), (hidden, classes), (n, inputs), (n, classes)
    return tuple(rng.normal(size=s) / s[0] ** 0.5 for s in shapes)


def _layer(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """What the first product of the network multiplies."""
    v, _, x, _ = _network(rng, n)
    return x, v


def _places(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return _normal(rng, n), rng.integers(0, n, n)


def softmax(xp: Any, x: Any) -> Any:
    """Softmax of rows."""
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def layernorm(xp: Any, x: Any) -> Any:
    """Rows with mean 0 and variance 1."""
    m = xp.mean(x, axis=1, keepdims=True)
    d = x - m
    return d / xp.sqrt(xp.mean(d * d, axis=1, keepdims=True) + 1e-5)


def price(xp: Any, spot: Any, strike: Any, years: Any) -> Any:
    """The sum of prices of options by Black and Scholes, with the normal distribution's function by tanh."""

    def below(d: Any) -> Any:
        return 0.5 * (1 + xp.tanh(0.7978845608 * (d + 0.044715 * d * d * d)))

    root = 0.2 * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + 0.07 * years) / root
    return xp.sum(spot * below(d1) - strike * xp.exp(-0.05 * years) * below(d1 - root))


def loss(xp: Any, v: Any, w: Any, x: Any, y: Any) -> Any:
    """The squared error of a network with one hidden layer."""
    return xp.mean((xp.tanh(x @ v) @ w - y) ** 2)


def paths(xp: Any, x: Any) -> Any:
    """For each column a recurrence over the rows with a carry of one number."""
    c = x[0] * 0
    for row in x:
        c = 0.9 * c + xp.sin(row)
    return c


def _walk(c: tuple[Any, Any], x: Any, sin: Any) -> tuple[tuple[Any, Any], None]:
    """A step of a scan whose carry is two numbers."""
    a, b = c
    return (0.9 * a + sin(x) * b, 0.5 * b + 0.1 * a + x), None


def scans(xp: Any, x: Any) -> Any:
    """For each column a scan over the rows with a carry of two numbers."""

    def column(xs: Any) -> Any:
        return lax.scan(lambda c, x: _walk(c, x, xp.sin), (0.5, 1.0), xs)[0]

    return vmap(column, in_axes=1)(x)


def scans_in_jax(x: Any) -> Any:
    """The same by JAX's scan and vmap."""
    jax = importlib.import_module("jax")

    def column(xs: Any) -> Any:
        return jax.lax.scan(lambda c, x: _walk(c, x, jax.numpy.sin), (0.5, 1.0), xs)[0]

    return jax.vmap(column, in_axes=1)(x)


WORKLOADS = [
    Workload("copy", lambda xp, x: x + 0, _vector, lambda n: 16 * n),
    Workload("pointwise", lambda xp, x: xp.exp(x) * 2 + x, _vector, lambda n: 16 * n),
    Workload("sum", lambda xp, x: xp.sum(x), _vector, lambda n: 8 * n),
    Workload("max of rows", lambda xp, x: xp.max(x, axis=1), _rows, lambda n: 8 * n),
    Workload("softmax", softmax, _rows, lambda n: 16 * n),
    Workload("layernorm", layernorm, _rows, lambda n: 16 * n),
    Workload("Greeks", price, _options, lambda n: 32 * n, large=10_000_000, gradient=True),
    Workload("transpose", lambda xp, x, y: x.T + y, _square, lambda n: 24 * n),
    Workload("gather", lambda xp, x, i: x[i], _places, lambda n: 24 * n, large=10_000_000),
    Workload("gradient of a gather", lambda xp, x, i: (x[i] * x[i]).sum(), _few_places, lambda n: 16 * n, 20_000,
             1_000_000, gradient=True),
    Workload("product", lambda xp, x, y: x @ y, _square, lambda n: 24 * n, large=4096**2),
    Workload("product, 32 bits", lambda xp, x, y: x @ y, _single(_square), lambda n: 12 * n, large=4096**2),
    Workload("product of a layer", lambda xp, x, y: x @ y, _layer, lambda n: 8 * n * 784, 32, 512),
    Workload("product of a layer, 32 bits", lambda xp, x, y: x @ y, _single(_layer), lambda n: 4 * n * 784, 32, 512),
    Workload("gradient of a network", loss, _network, lambda n: 8 * n * 784, 32, 512, gradient=True),
    Workload("training step", loss, _network, lambda n: 8 * n * 784, 32, 512, steps=2),
    Workload("training step, 32 bits", loss, _single(_network), lambda n: 4 * n * 784, 32, 512, steps=2),
    Workload("recurrences", paths, lambda rng, n: (_normal(rng, n).reshape(64, n // 64),), lambda n: 8 * n,
             2048, 6_400_000),
    Workload("vmapped scans", scans, lambda rng, n: (_normal(rng, n).reshape(64, n // 64),), lambda n: 8 * n,
             2048, 6_400_000, in_jax=scans_in_jax),
    Workload("vmapped scans, long", scans, lambda rng, n: (_normal(rng, n).reshape(-1, max(n // 1000, 1)),),
             lambda n: 8 * n, 2000, 10_000_000, in_jax=scans_in_jax),
    Workload("small call", lambda xp, x: xp.exp(x) * 2 + x, _vector, lambda n: 16 * n, 256, 256),
]  # fmt: skip
