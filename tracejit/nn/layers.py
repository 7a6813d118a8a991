"""Layers as functions of their inputs and parameters: linear maps, convolutions, pooling, normalisation, recurrence.

Images are (batch, channels, height, width), sequences (batch, channels, length): the channels come second, as in
PyTorch and `lax.conv`. Features of what is no image are the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import ShapeError
from tracejit.nn.activations import sigmoid, silu, tanh
from tracejit.nn.functions import standardize

Sizes = int | Sequence[int]
Padding = str | int | Sequence[Any]


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """`x @ weight + bias`: `x` (..., n), `weight` (n, m), `bias` (m,). Gives (..., m)."""
    out = tnp.matmul(x, weight)
    return out if bias is None else out + bias


def embedding(indices: Any, table: Any) -> Any:
    """Rows of `table` (n, d) for integers of any shape (...). Gives (..., d). An index out of range raises."""
    return tnp.asarray(table)[indices]


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    """The cross-correlation of `x` (batch, c, n) with kernels `weight` (m, c / groups, k), plus `bias` (m,).

    `padding` is "SAME", "VALID", a number, or a pair (before, after) for each axis. Gives (batch, m, n').

    Raises:
        ShapeError: the shapes do not fit together.
    """
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    """`conv1d` for images: `x` (batch, c, h, w), `weight` (m, c / groups, kh, kw). Gives (batch, m, h', w')."""
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def _conv(
    name: str,
    rank: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    x, weight = tnp.asarray(x), tnp.asarray(weight)
    _check_rank(name, x, weight, rank)
    out = lax.conv_general_dilated(
        x, weight, _each(stride, rank), _pads(padding, rank), None, _each(dilation, rank), None, groups
    )
    return out if bias is None else out + _channels(bias, rank)


def conv_transpose1d(
    x: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Padding = 0, output_padding: Sizes = 0
) -> Any:
    """The transpose of `conv1d`: `x` (batch, c, n), `weight` (c, m, k). Gives (batch, m, (n - 1) * stride + k - 2 *
    padding + output_padding)."""
    return _conv_transpose("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding)


def conv_transpose2d(
    x: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Padding = 0, output_padding: Sizes = 0
) -> Any:
    """The transpose of `conv2d`: `x` (batch, c, h, w), `weight` (c, m, kh, kw)."""
    return _conv_transpose("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding)


def _conv_transpose(
    name: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, more: Any
) -> Any:
    x, weight = tnp.asarray(x), tnp.asarray(weight)
    _check_rank(name, x, weight, rank)
    pads = _pads(padding, rank)
    if isinstance(pads, str):
        raise ShapeError(op=name, problem=f"`padding` is a number or pairs, not {pads!r}")
    kernel = tnp.flip(tnp.swapaxes(weight, 0, 1), tuple(range(2, 2 + rank)))
    outer = [
        (k - 1 - low, k - 1 - high + extra)
        for k, (low, high), extra in zip(weight.shape[2:], pads, _each(more, rank), strict=True)
    ]
    out = lax.conv_general_dilated(x, kernel, (1,) * rank, outer, _each(stride, rank))
    return out if bias is None else out + _channels(bias, rank)


def max_pool(x: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0) -> Any:
    """The maximum of each window of the axes behind (batch, channels); windows follow each other unless `stride` is
    given. Padding counts for nothing."""
    x = tnp.asarray(x)
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return _pooled(x, x.dtype.type(least), lax.max, window, stride, padding)


def avg_pool(
    x: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0, count_padding: bool = True
) -> Any:
    """The mean of each window, as `max_pool`. With `count_padding` the padding counts as zeros."""
    x = tnp.asarray(x)
    rank = x.ndim - 2
    zero = x.dtype.type(0)
    sums = _pooled(x, zero, lax.add, window, stride, padding)
    if count_padding:
        return sums / math.prod(_each(window, rank))
    return sums / _pooled(tnp.ones((1, 1, *x.shape[2:]), x.dtype), zero, lax.add, window, stride, padding)


def _pooled(x: Any, init: Any, reduce: Any, window: Any, stride: Any, padding: Any) -> Any:
    rank = x.ndim - 2
    if rank < 1:
        raise ShapeError(op="pooling", problem=f"the shape is (batch, channels, axes...), not {x.shape}")
    sizes = _each(window, rank)
    steps = sizes if stride is None else _each(stride, rank)
    pads = _pads(padding, rank)
    full = pads if isinstance(pads, str) else [(0, 0), (0, 0), *pads]
    return lax.reduce_window(x, init, reduce, (1, 1, *sizes), (1, 1, *steps), full)


def batch_norm(
    x: Any, mean: Any, variance: Any, scale: Any = None, offset: Any = None, eps: float = 1e-5
) -> Any:
    """(x - mean) / sqrt(variance + eps) * scale + offset for each channel, the axis 1; all are of shape (channels,)."""
    x = tnp.asarray(x)
    rank = x.ndim - 2
    factor = 1 / tnp.sqrt(tnp.add(variance, eps))
    factor = factor if scale is None else factor * scale
    out = (x - _channels(mean, rank)) * _channels(factor, rank)
    return out if offset is None else out + _channels(offset, rank)


def batch_statistics(x: Any) -> tuple[Any, Any]:
    """The mean and the variance of each channel, over the batch and all places: two arrays of shape (channels,)."""
    x = tnp.asarray(x)
    axes = (0, *range(2, x.ndim))
    return tnp.mean(x, axis=axes), tnp.var(x, axis=axes)


def layer_norm(x: Any, scale: Any = None, offset: Any = None, axis: Any = -1, eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + eps) * scale + offset, with both moments along `axis` (Ba et al. 2016)."""
    return _scaled(standardize(x, axis, epsilon=eps), scale, offset)


def rms_norm(x: Any, scale: Any = None, axis: Any = -1, eps: float = 1e-6) -> Any:
    """x / sqrt(mean(x**2) + eps) * scale along `axis` (Zhang and Sennrich 2019)."""
    x = tnp.asarray(x)
    return _scaled(x / tnp.sqrt(tnp.mean(tnp.square(x), axis=axis, keepdims=True) + eps), scale, None)


def group_norm(x: Any, groups: int, scale: Any = None, offset: Any = None, eps: float = 1e-5) -> Any:
    """Channels (axis 1) in `groups`, each standardised over its channels and all places (Wu and He 2018); `scale` and
    `offset` are of shape (channels,).

    Raises:
        ShapeError: the number of channels is no multiple of `groups`.
    """
    x = tnp.asarray(x)
    if x.shape[1] % groups:
        raise ShapeError(op="group_norm", problem=f"{x.shape[1]} channels can't be in {groups} groups")
    parts = x.reshape(x.shape[0], groups, -1)
    out = standardize(parts, -1, epsilon=eps).reshape(x.shape)
    rank = x.ndim - 2
    return _scaled(
        out,
        None if scale is None else _channels(scale, rank),
        None if offset is None else _channels(offset, rank),
    )


def swiglu(x: Any, gate: Any, up: Any, down: Any) -> Any:
    """`(silu(x @ gate) * (x @ up)) @ down` (Shazeer 2020): `x` (..., n), `gate` and `up` (n, m), `down` (m, n')."""
    return tnp.matmul(silu(tnp.matmul(x, gate)) * tnp.matmul(x, up), down)


def rotary_embedding(x: Any, positions: Any = None, base: float = 10_000.0) -> Any:
    """Pairs of features turned by angles that grow with the position (Su et al. 2021).

    `x` is (..., T, heads, H) with H even; features i and i + H / 2 are a pair, turned by `position * base**(-2i/H)`.
    `positions` are 0 to T - 1 unless given, shape (T,).

    Raises:
        ShapeError: H is odd.
    """
    x = tnp.asarray(x)
    half = x.shape[-1] // 2
    if 2 * half != x.shape[-1]:
        raise ShapeError(op="rotary_embedding", problem=f"the number of features is even, not {x.shape[-1]}")
    places = np.arange(x.shape[-3]) if positions is None else tnp.asarray(positions)
    angles = tnp.multiply(places[:, None], base ** (-np.arange(half) / half))[:, None, :]
    cos, sin = (f(angles).astype(x.dtype) for f in (tnp.cos, tnp.sin))
    a, b = x[..., :half], x[..., half:]
    return tnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def lstm_cell(x: Any, state: tuple[Any, Any], w_x: Any, w_h: Any, bias: Any = None) -> tuple[Any, Any]:
    """One step of an LSTM (Hochreiter and Schmidhuber 1997, with forget gates): the new (h, c).

    `x` (..., n), `state` the pair (h, c) of shape (..., m), `w_x` (n, 4m), `w_h` (m, 4m), `bias` (4m,); the four
    blocks are the input, forget, cell and output gates, in PyTorch's order.
    """
    h, c = state
    i, f, g, o = _gates(x, h, w_x, w_h, bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def gru_cell(x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None) -> Any:
    """One step of a GRU (Cho et al. 2014), in the form of cuDNN and PyTorch: the new h of shape (..., m).

    `x` (..., n), `w_x` (n, 3m), `w_h` (m, 3m), both biases (3m,); the blocks are the reset, update and new gates.
    """
    xs = tnp.split(linear(x, w_x, b_x), 3, axis=-1)
    hs = tnp.split(linear(h, w_h, b_h), 3, axis=-1)
    reset, update = sigmoid(xs[0] + hs[0]), sigmoid(xs[1] + hs[1])
    new = tanh(xs[2] + reset * hs[2])
    return (1 - update) * new + update * h


def _gates(x: Any, h: Any, w_x: Any, w_h: Any, bias: Any, count: int) -> Any:
    return tnp.split(linear(x, w_x, bias) + tnp.matmul(h, w_h), count, axis=-1)


def _scaled(x: Any, scale: Any, offset: Any) -> Any:
    x = x if scale is None else x * scale
    return x if offset is None else x + offset


def _channels(values: Any, rank: int) -> Any:
    """One value for each channel, to broadcast over `rank` axes behind it."""
    values = tnp.asarray(values)
    return values.reshape(values.shape + (1,) * rank)


def _each(sizes: Any, rank: int) -> tuple[int, ...]:
    """A number for each axis."""
    if isinstance(sizes, (int, np.integer)):
        return (int(sizes),) * rank
    if len(sizes) != rank:
        raise ShapeError(op="a layer", problem=f"{len(sizes)} sizes for {rank} axes: {tuple(sizes)}")
    return tuple(map(int, sizes))


def _pads(padding: Any, rank: int) -> Any:
    """Padding before and after each axis, or the name of one."""
    if isinstance(padding, str):
        return padding.upper()
    if isinstance(padding, (int, np.integer)):
        return [(int(padding), int(padding))] * rank
    pairs = [(p, p) if isinstance(p, (int, np.integer)) else tuple(p) for p in padding]
    if len(pairs) != rank:
        raise ShapeError(op="a layer", problem=f"padding of {len(pairs)} axes where there are {rank}")
    return pairs


def _check_rank(name: str, x: Any, weight: Any, rank: int) -> None:
    if x.ndim != rank + 2 or weight.ndim != rank + 2:
        problem = f"inputs and kernels have {rank + 2} dimensions, not {x.shape} and {weight.shape}"
        raise ShapeError(op=name, problem=problem)
