"""Convolutions and reductions of windows, one element after another, as the definition says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tracejit.ops.convolution.conv import Config, ConvDimensionNumbers
from tracejit.ops.convolution.conv_shapes import arranged
from tracejit.ops.convolution.pooling import Pool


def padded(x: np.ndarray, axis: int, dilation: int, low: int, high: int, fill: Any) -> np.ndarray:
    """`x` dilated, then padded or cropped, along one axis."""
    rows = np.moveaxis(x, axis, 0)
    size = (len(rows) - 1) * dilation + 1 if len(rows) else 0
    wide = np.full((size, *rows.shape[1:]), fill, x.dtype)
    wide[::dilation] = rows
    ends = [np.full((max(n, 0), *rows.shape[1:]), fill, x.dtype) for n in (low, high)]
    wide = np.concatenate([ends[0], wide, ends[1]])
    return np.moveaxis(wide[max(-low, 0) : max(len(wide) - max(-high, 0), 0)], 0, axis)


def conv(x: np.ndarray, w: np.ndarray, c: Config) -> np.ndarray:
    numbers = c.numbers
    x, w = np.transpose(x, numbers.lhs_spec), np.transpose(w, numbers.rhs_spec)
    rank, outs = x.ndim - 2, []
    for n in range(rank):
        x = padded(x, 2 + n, c.lhs_dilation[n], *c.padding[n], fill=0)
        reach = (w.shape[2 + n] - 1) * c.rhs_dilation[n] + 1
        outs.append(max((x.shape[2 + n] - reach) // c.window_strides[n] + 1, 0))
    batch = x.shape[0] // c.batch_group_count
    out = np.zeros((batch, w.shape[0], *outs), x.dtype)
    for n, o, *place in np.ndindex(*out.shape):
        group = o // (w.shape[0] // c.groups)
        for i, *t in np.ndindex(*w.shape[1:]):
            rows = zip(place, c.window_strides, t, c.rhs_dilation, strict=True)
            at = tuple(y * s + k * d for y, s, k, d in rows)
            source = (n + group * batch, i) if c.batch_group_count > 1 else (n, group * w.shape[1] + i)
            out[(n, o, *place)] += x[source + at] * w[(o, i, *t)]
    return np.transpose(out, np.argsort(numbers.out_spec))


def windows(x: np.ndarray, pool: Pool, fill: Any) -> np.ndarray:
    """(places…, window…), from the definition."""
    for n, (_, _, (low, high), base, _) in enumerate(pool.rows()):
        x = padded(x, n, base, low, high, fill)
    outs = [
        max((n - (size - 1) * dilation - 1) // stride + 1, 0)
        for n, (size, stride, _, _, dilation) in zip(x.shape, pool.rows(), strict=True)
    ]
    out = np.empty((*outs, *pool.dimensions), x.dtype)
    for idx in np.ndindex(*out.shape):
        rows = zip(idx[: x.ndim], idx[x.ndim :], pool.strides, pool.window_dilation, strict=True)
        out[idx] = x[tuple(y * s + t * d for y, t, s, d in rows)]
    return out


def reduce_window(x: np.ndarray, pool: Pool, ufunc: Callable[..., Any], fill: Any) -> np.ndarray:
    w = windows(x, pool, fill)
    return ufunc.reduce(w, axis=tuple(range(x.ndim, 2 * x.ndim)), dtype=x.dtype)  # type: ignore[attr-defined]


def scatter(
    source: np.ndarray, x: np.ndarray, pool: Pool, fill: Any, search: Callable[..., Any]
) -> np.ndarray:
    """Each element of `source` added where its window has its first extreme one."""
    places = windows(np.arange(x.size).reshape(x.shape), pool, -1)
    w = windows(x, pool, fill)
    out = np.zeros(x.size, source.dtype)
    for idx in np.ndindex(*source.shape):
        at = places[idx].reshape(-1)[search(w[idx])]
        if at >= 0:
            out[at] += source[idx]
    return out.reshape(x.shape)


@st.composite
def convolutions(draw: Any) -> tuple[Config, tuple[int, ...], tuple[int, ...]]:
    """Random parameters with the shapes of operand and kernel."""
    rank = draw(st.integers(0, 2))
    by_feature, by_batch = draw(st.sampled_from([(1, 1), (2, 1), (1, 2), (3, 1), (1, 3)]))
    taken, given, batch = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    x = [batch * by_batch, taken * by_feature, *(draw(st.integers(0, 7)) for _ in range(rank))]
    w = [given * by_feature * by_batch, taken, *(draw(st.integers(1, 3)) for _ in range(rank))]
    specs = [tuple(draw(st.permutations(range(rank + 2)))) for _ in range(3)]
    strides, inner, outer = (tuple(draw(st.integers(1, 3)) for _ in range(rank)) for _ in range(3))
    padding = tuple((draw(st.integers(-2, 3)), draw(st.integers(-2, 3))) for _ in range(rank))
    numbers = ConvDimensionNumbers(*specs)
    config = Config(strides, padding, inner, outer, numbers, by_feature, by_batch)
    return config, arranged(x, specs[0]), arranged(w, specs[1])


@st.composite
def pools(draw: Any, filled: bool = False) -> tuple[Pool, tuple[int, ...]]:
    """Random windows and a shape; `filled`: each window has an element that is no padding."""
    rank = draw(st.integers(1, 3))
    rows = []
    for _ in range(rank):
        size, stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
        base = 1 if filled else draw(st.integers(1, 2))
        most = (size - 1) * dilation // 2 if filled else 3
        pads = draw(st.integers(-1, most)), draw(st.integers(-1, most))
        rows.append((size, stride, pads, base, 1 if filled else dilation))
    shape = tuple(draw(st.integers(4 if filled else 0, 7 if rank < 3 else 5)) for _ in range(rank))
    return Pool(*(tuple(r) for r in zip(*rows, strict=True))), shape


def count(pool: Pool) -> int:
    return math.prod(pool.dimensions)
