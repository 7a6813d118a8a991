"""Layers as modules: they make their parameters from a key, and call the functions of `layers`.

Weights are drawn uniformly with variance 1 / fan_in (LeCun et al. 1998), biases are zeros. `dtype` is that of all
parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import lax, random
from tracejit import numpy as tnp
from tracejit.errors import ShapeError
from tracejit.nn import layers
from tracejit.nn.activations import relu
from tracejit.nn.functions import dot_product_attention, dropout
from tracejit.nn.module import Module, static, statistic


def _weights(key: Any, shape: Sequence[int], fan_in: int, dtype: Any) -> Any:
    limit = math.sqrt(3 / max(fan_in, 1))
    return random.uniform(key, tuple(shape), dtype, -limit, limit)


class Linear(Module):
    """`x @ weight + bias` on the last axis: `weight` (in_features, out_features), `bias` (out_features,) or None."""

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, *, key: Any, bias: bool = True, dtype: Any = float
    ) -> None:
        self.weight = _weights(key, (in_features, out_features), in_features, dtype)
        self.bias = tnp.zeros(out_features, dtype) if bias else None

    def __call__(self, x: Any) -> Any:
        return layers.linear(x, self.weight, self.bias)


class _Conv(Module):
    """Parameters of a convolution: `weight` (out_channels, in_channels / groups, kernel...)."""

    weight: Any
    bias: Any
    stride: Any = static()
    padding: Any = static()
    dilation: Any = static()
    groups: int = static()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        key: Any,
        bias: bool = True,
        dtype: Any = float,
    ) -> None:
        kernel = layers._each(kernel_size, self._rank())
        shape = (out_channels, in_channels // groups, *kernel)
        self.weight = _weights(key, shape, math.prod(shape[1:]), dtype)
        self.bias = tnp.zeros(out_channels, dtype) if bias else None
        self.stride, self.dilation, self.groups = stride, dilation, groups
        self.padding = padding if isinstance(padding, (str, int)) else tuple(padding)

    def _rank(self) -> int:
        raise NotImplementedError

    def _convolve(self, f: Callable[..., Any], x: Any) -> Any:
        return f(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """`layers.conv1d` of inputs (batch, in_channels, n)."""

    def _rank(self) -> int:
        return 1

    def __call__(self, x: Any) -> Any:
        return self._convolve(layers.conv1d, x)


class Conv2d(_Conv):
    """`layers.conv2d` of images (batch, in_channels, h, w)."""

    def _rank(self) -> int:
        return 2

    def __call__(self, x: Any) -> Any:
        return self._convolve(layers.conv2d, x)


class ConvTranspose2d(Module):
    """`layers.conv_transpose2d` of images: `weight` (in_channels, out_channels, kh, kw)."""

    weight: Any
    bias: Any
    stride: Any = static()
    padding: Any = static()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        *,
        key: Any,
        bias: bool = True,
        dtype: Any = float,
    ) -> None:
        shape = (in_channels, out_channels, *layers._each(kernel_size, 2))
        self.weight = _weights(key, shape, math.prod(shape) // out_channels, dtype)
        self.bias = tnp.zeros(out_channels, dtype) if bias else None
        self.stride, self.padding = stride, padding

    def __call__(self, x: Any) -> Any:
        return layers.conv_transpose2d(x, self.weight, self.bias, self.stride, self.padding)


class BatchNorm(Module):
    """Channels (axis 1) standardised: by the batch while training, by running averages afterwards (Ioffe and Szegedy
    2015). `momentum` is the weight of what was; the running variance is the unbiased one, as in PyTorch."""

    scale: Any
    offset: Any
    mean: Any = statistic()
    variance: Any = statistic()
    momentum: float = static()
    eps: float = static()

    def __init__(
        self, channels: int, momentum: float = 0.9, eps: float = 1e-5, *, dtype: Any = float
    ) -> None:
        self.scale, self.offset = tnp.ones(channels, dtype), tnp.zeros(channels, dtype)
        self.mean, self.variance = tnp.zeros(channels, dtype), tnp.ones(channels, dtype)
        self.momentum, self.eps = momentum, eps

    def __call__(self, x: Any) -> Any:
        return layers.batch_norm(x, self.mean, self.variance, self.scale, self.offset, self.eps)

    def train(self, x: Any, *, key: Any = None) -> tuple[Any, Any]:
        x = tnp.asarray(x)
        mean, variance = layers.batch_statistics(x)
        out = layers.batch_norm(x, mean, variance, self.scale, self.offset, self.eps)
        count = x.size // x.shape[1]
        kept = lax.stop_gradient((mean, variance * (count / max(count - 1, 1))))
        m = self.momentum
        new = [m * old + (1 - m) * now for old, now in zip((self.mean, self.variance), kept, strict=True)]
        return out, self.replace(mean=new[0], variance=new[1])


class LayerNorm(Module):
    """`layers.layer_norm` over the last axis, of `features` elements."""

    scale: Any
    offset: Any
    eps: float = static()

    def __init__(self, features: int, eps: float = 1e-5, *, dtype: Any = float) -> None:
        self.scale, self.offset, self.eps = tnp.ones(features, dtype), tnp.zeros(features, dtype), eps

    def __call__(self, x: Any) -> Any:
        return layers.layer_norm(x, self.scale, self.offset, -1, self.eps)


class RMSNorm(Module):
    """`layers.rms_norm` over the last axis, of `features` elements."""

    scale: Any
    eps: float = static()

    def __init__(self, features: int, eps: float = 1e-6, *, dtype: Any = float) -> None:
        self.scale, self.eps = tnp.ones(features, dtype), eps

    def __call__(self, x: Any) -> Any:
        return layers.rms_norm(x, self.scale, -1, self.eps)


class GroupNorm(Module):
    """`layers.group_norm` of `channels` channels (axis 1) in `groups`."""

    scale: Any
    offset: Any
    groups: int = static()
    eps: float = static()

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, *, dtype: Any = float) -> None:
        self.scale, self.offset = tnp.ones(channels, dtype), tnp.zeros(channels, dtype)
        self.groups, self.eps = groups, eps

    def __call__(self, x: Any) -> Any:
        return layers.group_norm(x, self.groups, self.scale, self.offset, self.eps)


class Embedding(Module):
    """`layers.embedding`: a vector of `features` standard normal numbers for each of `count` indices."""

    table: Any

    def __init__(self, count: int, features: int, *, key: Any, dtype: Any = float) -> None:
        self.table = random.normal(key, (count, features), dtype)

    def __call__(self, x: Any) -> Any:
        return layers.embedding(x, self.table)


class Dropout(Module):
    """Elements are zero with probability `rate` while training (`functions.dropout`); the identity afterwards."""

    rate: float = static()

    def __call__(self, x: Any) -> Any:
        return x

    def train(self, x: Any, *, key: Any = None) -> tuple[Any, Any]:
        if key is None and self.rate:
            raise ShapeError(
                op="Dropout.train", problem="it needs `key=`, the key of a random number generator"
            )
        return (dropout(key, x, self.rate) if self.rate else x), self


class Function(Module):
    """A function without parameters, such as an activation, as a module."""

    function: Any = static()

    def __call__(self, x: Any) -> Any:
        return self.function(x)


class Sequential(Module):
    """Modules, or functions, one after another."""

    modules: list[Any]

    def __init__(self, modules: Sequence[Any]) -> None:
        self.modules = [m if isinstance(m, Module) else Function(m) for m in modules]  # type: ignore[call-arg]

    def __call__(self, x: Any) -> Any:
        for module in self.modules:
            x = module(x)
        return x

    def train(self, x: Any, *, key: Any = None) -> tuple[Any, Any]:
        keys = [None] * len(self.modules) if key is None else random.split(key, len(self.modules))
        news = []
        for n, module in enumerate(self.modules):
            x, new = module.train(x, key=None if key is None else keys[n])
            news.append(new)
        return x, self.replace(modules=news)


class MLP(Sequential):
    """Linear layers of the `sizes` (inputs first, outputs last) with an activation between them."""

    def __init__(
        self,
        sizes: Sequence[int],
        activation: Callable[[Any], Any] = relu,
        *,
        key: Any,
        final_activation: Callable[[Any], Any] | None = None,
        dtype: Any = float,
    ) -> None:
        parts: list[Any] = []
        keys = random.split(key, max(len(sizes) - 1, 1))
        for n, (a, b) in enumerate(itertools.pairwise(sizes)):
            parts += [Linear(a, b, key=keys[n], dtype=dtype), activation]
        parts = parts[:-1] + ([] if final_activation is None else [final_activation])
        super().__init__(parts)


class MultiHeadAttention(Module):
    """Attention of sequences (..., T, features) to themselves, or to `memory` (..., S, features).

    `heads` query heads share `kv_heads` heads of keys and values (Ainslie et al. 2023; as many, unless given). With
    `rotary`, queries and keys are turned by their positions; with `causal`, no position sees a later one.
    """

    query: Linear
    key: Linear
    value: Linear
    out: Linear
    heads: int = static()
    kv_heads: int = static()
    causal: bool = static()
    rotary: bool = static()

    def __init__(
        self,
        features: int,
        heads: int,
        kv_heads: int | None = None,
        causal: bool = False,
        rotary: bool = False,
        *,
        key: Any,
        bias: bool = False,
        dtype: Any = float,
    ) -> None:
        kv_heads = heads if kv_heads is None else kv_heads
        if features % heads or heads % kv_heads:
            problem = (
                f"{features} features, {heads} heads and {kv_heads} heads of keys don't divide each other"
            )
            raise ShapeError(op="MultiHeadAttention", problem=problem)
        width = features // heads * kv_heads
        keys = random.split(key, 4)
        self.query = Linear(features, features, key=keys[0], bias=bias, dtype=dtype)
        self.key = Linear(features, width, key=keys[1], bias=bias, dtype=dtype)
        self.value = Linear(features, width, key=keys[2], bias=bias, dtype=dtype)
        self.out = Linear(features, features, key=keys[3], bias=bias, dtype=dtype)
        self.heads, self.kv_heads, self.causal, self.rotary = heads, kv_heads, causal, rotary

    def __call__(self, x: Any, memory: Any = None, mask: Any = None) -> Any:
        source = x if memory is None else memory
        q = _in_heads(self.query(x), self.heads)
        k, v = (_in_heads(part(source), self.kv_heads) for part in (self.key, self.value))
        if self.rotary:
            q, k = layers.rotary_embedding(q), layers.rotary_embedding(k)
        seen = dot_product_attention(q, k, v, mask=mask, is_causal=self.causal)
        return self.out(seen.reshape(*seen.shape[:-2], -1))


def _in_heads(x: Any, heads: int) -> Any:
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


class LSTM(Module):
    """`layers.lstm_cell` along sequences (..., T, in_features): gives all h (..., T, features), and the last (h, c)."""

    w_x: Any
    w_h: Any
    bias: Any

    def __init__(self, in_features: int, features: int, *, key: Any, dtype: Any = float) -> None:
        first, second = random.split(key)
        self.w_x = _weights(first, (in_features, 4 * features), features, dtype)
        self.w_h = _weights(second, (features, 4 * features), features, dtype)
        self.bias = tnp.zeros(4 * features, dtype)

    def __call__(self, x: Any, state: tuple[Any, Any] | None = None) -> tuple[Any, Any]:  # type: ignore[override]
        x = tnp.asarray(x)
        if state is None:
            zeros = tnp.zeros((*x.shape[:-2], self.w_h.shape[0]), x.dtype)
            state = (zeros, zeros)

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            state = layers.lstm_cell(row, state, self.w_x, self.w_h, self.bias)
            return state, state[0]

        return _along_time(step, state, x)


class GRU(Module):
    """`layers.gru_cell` along sequences (..., T, in_features): gives all h (..., T, features), and the last one."""

    w_x: Any
    w_h: Any
    b_x: Any
    b_h: Any

    def __init__(self, in_features: int, features: int, *, key: Any, dtype: Any = float) -> None:
        first, second = random.split(key)
        self.w_x = _weights(first, (in_features, 3 * features), features, dtype)
        self.w_h = _weights(second, (features, 3 * features), features, dtype)
        self.b_x, self.b_h = tnp.zeros(3 * features, dtype), tnp.zeros(3 * features, dtype)

    def __call__(self, x: Any, state: Any = None) -> tuple[Any, Any]:  # type: ignore[override]
        x = tnp.asarray(x)
        if state is None:
            state = tnp.zeros((*x.shape[:-2], self.w_h.shape[0]), x.dtype)

        def step(h: Any, row: Any) -> tuple[Any, Any]:
            h = layers.gru_cell(row, h, self.w_x, self.w_h, self.b_x, self.b_h)
            return h, h

        return _along_time(step, state, x)


def _along_time(step: Callable[..., Any], state: Any, x: Any) -> tuple[Any, Any]:
    """All outputs with the time as the last axis but one, and the last state."""
    last, outs = lax.scan(step, state, tnp.moveaxis(x, -2, 0))
    return tnp.moveaxis(outs, 0, -2), last
