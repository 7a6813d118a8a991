"""Small programs, each of which shows something that the compiler decides, with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import tracejit as tj

X = np.linspace(0.0, 1.0, 4096).reshape(64, 64)
V = np.linspace(0.0, 1.0, 400)
W = np.linspace(-1.0, 1.0, 64 * 16).reshape(64, 16)
LONG = np.linspace(0.0, 1.0, 300_000)


def one_loop(x: Any) -> Any:
    return np.exp(-x) * (x + 1)


def centred(x: Any) -> Any:
    return (x - x.mean()) ** 2


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def stencil(u: Any) -> Any:
    v = np.sin(u)
    return v[2:] - 2 * v[1:-1] + v[:-2]


def in_place(u: Any) -> Any:
    v = u.copy()
    v[1:-1] += u[2:]
    return v


def own_argument(u: Any) -> None:
    u[1:] = u[:-1] * 2


def two_shapes(x: Any) -> Any:
    y = np.exp(x)
    return y.sum(axis=0), y.sum(axis=1)


def network(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) @ w.T


def small_products(a: Any) -> Any:
    return a @ a


def integer_products(x: Any) -> Any:
    return x @ x


def matrix_times_vector(x: Any, v: Any) -> Any:
    return x @ v


def transposed(x: Any) -> Any:
    return np.exp(x.T) + np.log1p(x)


def gathered(x: Any, i: Any) -> Any:
    return np.sqrt(x[i])


def solved(x: Any, v: Any) -> Any:
    return np.linalg.eigvalsh(x @ x.T) + v


def hosted(x: Any) -> Any:
    return 2 * scipy.special.diric(x, 3)


def hosted_between(x: Any) -> Any:
    y = np.exp(x) * 2
    return np.sin(scipy.special.diric(y, 3)) + y


def looped_between(x: Any) -> Any:
    y = np.exp(x)
    s = y
    for _ in range(40):
        s = np.cumsum(s) / 2
    return s + y


def refused(x: Any) -> Any:
    y = np.exp(x)
    open("/dev/null").close()
    return np.sin(y)


def recurrence(x: Any) -> Any:
    s = np.zeros(64)
    for row in x:
        s = np.tanh(s) + row
    return s.sum()


def prefix(x: Any) -> Any:
    return np.cumsum(np.exp(x)) + 1


def long_loop(x: Any) -> Any:
    return np.exp(np.sin(x)) * x


def twice(x: Any) -> Any:
    y = x + 1
    return y, y


def tails(x: Any) -> Any:
    y = np.tanh(x)
    return np.where(x > 0.5, y, -y).sum(axis=0), y


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "one_loop": (one_loop, (V,)),
    "centred": (centred, (V,)),
    "softmax": (softmax, (X,)),
    "stencil": (stencil, (X,)),
    "in_place": (in_place, (X,)),
    "own_argument": (own_argument, (V,)),
    "two_shapes": (two_shapes, (X,)),
    "network": (network, (X, W)),
    "network_gradient": (tj.grad(lambda x, w: network(x, w).sum(), argnums=1), (X, W)),
    "small_products": (small_products, (np.ones((4, 4)),)),
    "integer_products": (integer_products, (np.ones((40, 40), int),)),
    "matrix_times_vector": (matrix_times_vector, (X, V[:64])),
    "transposed": (transposed, (X,)),
    "gathered": (gathered, (V, np.arange(300))),
    "solved": (solved, (X, V[:64])),
    "hosted": (hosted, (V,)),
    "hosted_between": (hosted_between, (V,)),
    "looped_between": (looped_between, (V,)),
    "refused": (refused, (V,)),
    "recurrence": (recurrence, (X,)),
    "recurrence_gradient": (tj.grad(recurrence), (X,)),
    "prefix": (prefix, (V,)),
    "long_loop": (long_loop, (LONG,)),
    "twice": (twice, (V,)),
    "tails": (tails, (X,)),
}
