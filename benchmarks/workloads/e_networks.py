"""Neural networks: attention, perceptron, small convolutional net."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload


def attention_data(rng: Any, dtype: Any, t: int, d: int) -> tuple[Any, ...]:
    x = rng.standard_normal((t, d))
    weights = rng.standard_normal((4, d, d)) / np.sqrt(d)
    return x.astype(dtype), weights.astype(dtype)


ATTENTION = {"small": {"t": 16, "d": 32}, "middle": {"t": 128, "d": 64}, "large": {"t": 512, "d": 256}}


def torch_attention(torch: Any, x: Any, w: Any) -> Any:
    q, k, v = x @ w[0], x @ w[1], x @ w[2]
    y = x + torch.softmax(q @ k.T / x.shape[-1] ** 0.5, dim=-1) @ v @ w[3]
    return (y * y).sum()


@workload(
    "attention block",
    "networks",
    make=attention_data,
    sizes=ATTENTION,
    modes=("forward", "grad"),
    argnums=1,
    by_hand={"torch": by_torch(torch_attention, 1)},
)
def attention(lib: Any, x: Any, w: Any) -> Any:
    """One head with a residual; the sum of squares where it is differentiated."""
    q, k, v = x @ w[0], x @ w[1], x @ w[2]
    s = q @ k.T / np.sqrt(x.shape[-1])
    e = lib.np.exp(s - s.max(axis=-1, keepdims=True))
    y = x + (e / e.sum(axis=-1, keepdims=True)) @ v @ w[3]
    return (y * y).sum()


def mlp_data(rng: Any, dtype: Any, batch: int, width: int) -> tuple[Any, ...]:
    def scaled(*shape: int) -> Any:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(dtype)

    weights = tuple(scaled(width, width) for _ in range(4))
    return weights, scaled(batch, width), scaled(batch, width)


def torch_perceptron(torch: Any, weights: Any, x: Any, y: Any) -> Any:
    for w in weights:
        x = torch.tanh(x @ w)
    return ((x - y) ** 2).mean()


@workload(
    "4-layer perceptron",
    "networks",
    make=mlp_data,
    sizes={
        "small": {"batch": 8, "width": 16},
        "middle": {"batch": 128, "width": 64},
        "large": {"batch": 512, "width": 512},
    },
    modes=("value_and_grad",),
    by_hand={"torch": by_torch(torch_perceptron)},
)
def perceptron(lib: Any, weights: Any, x: Any, y: Any) -> Any:
    for w in weights:
        x = lib.np.tanh(x @ w)
    return ((x - y) ** 2).mean()


def images(rng: Any, dtype: Any, batch: int, size: int, channels: int) -> tuple[Any, ...]:
    x = rng.standard_normal((batch, 3, size, size))
    k1 = rng.standard_normal((channels, 3, 3, 3)) / 5
    k2 = rng.standard_normal((channels, channels, 3, 3)) / (3 * np.sqrt(channels))
    return (k1.astype(dtype), k2.astype(dtype)), x.astype(dtype)


def torch_convolutions(torch: Any, kernels: Any, x: Any) -> Any:
    for k in kernels:
        x = torch.relu(torch.nn.functional.conv2d(x, k, padding="same"))
    return (x * x).mean()


@workload(
    "two convolutions",
    "networks",
    make=images,
    sizes={
        "small": {"batch": 1, "size": 8, "channels": 4},
        "middle": {"batch": 8, "size": 16, "channels": 16},
        "large": {"batch": 32, "size": 32, "channels": 32},
    },
    modes=("value_and_grad",),
    avoid={"autograd": "has no fast convolution", "numpy": "has no convolution"},
    by_hand={"torch": by_torch(torch_convolutions)},
)
def convolutions(lib: Any, kernels: Any, x: Any) -> Any:
    for k in kernels:
        x = lib.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = lib.np.maximum(x, 0)
    return (x * x).mean()
