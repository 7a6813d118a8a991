"""Training: a step of AdamW, a classifier of digits, a small transformer; products with sparse matrices."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload

# ---------------------------------------------------------------- a step of AdamW


def moments(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    p, g, m = (rng.standard_normal(n).astype(dtype) for _ in range(3))
    return p, g, m, (rng.standard_normal(n) ** 2).astype(dtype)


def adamw_in_torch(torch: Any, p: Any, g: Any, m: Any, v: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * ((m / 0.1) / ((v / 0.001).sqrt() + 1e-8) + 0.01 * p), m, v


@workload(
    "AdamW step",
    "training",
    make=moments,
    sizes={"middle": {"n": 100_000}, "large": {"n": 10_000_000}},
    by_hand={"torch": by_torch(adamw_in_torch)},
)
def adamw(lib: Any, p: Any, g: Any, m: Any, v: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * ((m / 0.1) / (lib.np.sqrt(v / 0.001) + 1e-8) + 0.01 * p), m, v


# ---------------------------------------------------------------- a classifier of digits


def digits(rng: Any, dtype: Any, batch: int) -> tuple[Any, ...]:
    widths = (64, 128, 64, 10)
    layers = tuple(
        (rng.standard_normal((i, o)) / np.sqrt(i)).astype(dtype) for i, o in itertools.pairwise(widths)
    )
    wanted = np.eye(10)[rng.integers(0, 10, batch)]
    return layers, rng.uniform(0, 1, (batch, 64)).astype(dtype), wanted.astype(dtype)


def digits_in_torch(torch: Any, layers: Any, x: Any, wanted: Any) -> Any:
    for w in layers[:-1]:
        x = torch.relu(x @ w)
    return -(torch.log_softmax(x @ layers[-1], dim=1) * wanted).sum(1).mean()


@workload(
    "digits classifier",
    "training",
    make=digits,
    sizes={"middle": {"batch": 128}, "large": {"batch": 1797}},
    modes=("value_and_grad",),
    by_hand={"torch": by_torch(digits_in_torch)},
)
def classifier(lib: Any, layers: Any, x: Any, wanted: Any) -> Any:
    for w in layers[:-1]:
        x = lib.np.maximum(x @ w, 0)
    z = x @ layers[-1]
    z = z - z.max(axis=1, keepdims=True)
    return -((z - lib.np.log(lib.np.exp(z).sum(axis=1, keepdims=True))) * wanted).sum(axis=1).mean()


# ---------------------------------------------------------------- a small transformer

HEADS = 4


def text(rng: Any, dtype: Any, batch: int, length: int, width: int, blocks: int) -> tuple[Any, ...]:
    def matrix(i: int, o: int) -> Any:
        return (rng.standard_normal((i, o)) / np.sqrt(i)).astype(dtype)

    ones = np.ones(width, dtype)
    parameters = (matrix(65, width), matrix(length, width), matrix(width, 65)) + tuple(
        (ones, matrix(width, 3 * width), matrix(width, width), ones)
        + (matrix(width, 4 * width), matrix(4 * width, width))
        for _ in range(blocks)
    )
    letters = rng.integers(0, 65, (batch, length + 1))
    return parameters, np.eye(65, dtype=dtype)[letters]


def transformer_in_torch(torch: Any, parameters: Any, letters: Any) -> Any:
    into, places, out, *blocks = parameters
    x, wanted = letters[:, :-1] @ into + places, letters[:, 1:]
    batch, length, width = x.shape
    size = (batch, length, HEADS, width // HEADS)
    for scale1, qkv, mixed, scale2, up, down in blocks:
        y = torch.nn.functional.layer_norm(x, (width,), scale1) @ qkv
        q, k, v = (y[..., n * width : (n + 1) * width].reshape(size).transpose(1, 2) for n in range(3))
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + a.transpose(1, 2).reshape(x.shape) @ mixed
        y = torch.nn.functional.layer_norm(x, (width,), scale2)
        x = x + torch.nn.functional.gelu(y @ up, approximate="tanh") @ down
    return -(torch.log_softmax(x @ out, dim=-1) * wanted).sum(-1).mean()


@workload(
    "small transformer",
    "training",
    make=text,
    sizes={
        "middle": {"batch": 4, "length": 32, "width": 64, "blocks": 2},
        "large": {"batch": 16, "length": 128, "width": 128, "blocks": 4},
    },
    modes=("value_and_grad",),
    by_hand={"torch": by_torch(transformer_in_torch)},
)
def transformer(lib: Any, parameters: Any, letters: Any) -> Any:
    """A causal transformer of letters; its mean cross-entropy."""
    into, places, out, *blocks = parameters
    x, wanted = letters[:, :-1] @ into + places, letters[:, 1:]
    batch, length, width = x.shape
    size = (batch, length, HEADS, width // HEADS)
    later = np.triu(np.ones((length, length), bool), 1)

    def normalized(x: Any, scale: Any) -> Any:
        y = x - x.mean(axis=-1, keepdims=True)
        return y / lib.np.sqrt((y * y).mean(axis=-1, keepdims=True) + 1e-5) * scale

    def log_softmax(z: Any) -> Any:
        z = z - z.max(axis=-1, keepdims=True)
        return z - lib.np.log(lib.np.exp(z).sum(axis=-1, keepdims=True))

    for scale1, qkv, mixed, scale2, up, down in blocks:
        y = normalized(x, scale1) @ qkv
        q, k, v = (y[..., n * width : (n + 1) * width].reshape(size).swapaxes(1, 2) for n in range(3))
        s = lib.np.where(later, -1e30, q @ k.swapaxes(2, 3) / (width // HEADS) ** 0.5)
        e = lib.np.exp(s - s.max(axis=-1, keepdims=True))
        a = (e / e.sum(axis=-1, keepdims=True)) @ v
        x = x + a.swapaxes(1, 2).reshape(x.shape) @ mixed
        h = normalized(x, scale2) @ up
        x = x + 0.5 * h * (1 + lib.np.tanh((2 / np.pi) ** 0.5 * (h + 0.044715 * h * h * h))) @ down
    return -(log_softmax(x @ out) * wanted).sum(axis=-1).mean()


# ---------------------------------------------------------------- products with sparse matrices

#: SciPy's own product is the row's peer.
ONLY_SCIPY = dict.fromkeys(
    ("jax", "torch", "torch eager", "autograd", "drjit", "tracejit by numba"),
    "does not take SciPy's matrices",
)
SPARSE = {"middle": {"n": 20_000, "a_row": 20}, "large": {"n": 200_000, "a_row": 10}}


@functools.cache
def matrix(n: int, a_row: int) -> Any:
    rng = np.random.default_rng(1)
    places = rng.integers(0, n, (n, a_row))
    rows = np.repeat(np.arange(n), a_row)
    values = rng.standard_normal(n * a_row)
    return scipy.sparse.csr_array((values, (rows, places.ravel())), shape=(n, n))


def vector(rng: Any, dtype: Any, n: int, a_row: int) -> tuple[Any, ...]:
    return matrix(n, a_row), rng.standard_normal(n)


@workload("CSR product", "training", make=vector, sizes=SPARSE, dtypes=("f8",), avoid=ONLY_SCIPY)
def product(lib: Any, a: Any, x: Any) -> Any:
    return a @ x
