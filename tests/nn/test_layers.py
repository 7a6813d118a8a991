"""Layers against loops and formulas in plain NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import tracejit as tj
from tracejit import nn
from tracejit.test_util import check_grads

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2, 4, 7, 6))


def convolved(x: Any, w: Any, b: Any, stride: Any, pad: Any, dilation: Any, groups: int) -> Any:
    """The definition, element by element."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for n, m, i, j in itertools.product(*map(range, out.shape)):
        part = x[n, m // per_out * per_in :][:per_in]
        for a, c in itertools.product(*map(range, w.shape[2:])):
            at = part[:, i * stride[0] + a * dilation[0], j * stride[1] + c * dilation[1]]
            out[n, m, i, j] += at @ w[m, :, a, c]
        out[n, m, i, j] += b[m]
    return out


def test_convolutions() -> None:
    w, b = RNG.normal(size=(6, 2, 3, 2)), RNG.normal(size=6)
    want = convolved(X, w, b, (2, 1), (1, 2), (1, 2), 2)
    got = nn.conv2d(X, w, b, (2, 1), (1, 2), (1, 2), 2)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    line = nn.conv1d(X[..., 0], w[..., 0], b, stride=2, padding=1, groups=2)
    want = convolved(X[..., :1], w[..., :1], b, (2, 1), (1, 0), (1, 1), 2)[..., 0]
    np.testing.assert_allclose(line, want, rtol=1e-12, atol=1e-13)
    assert nn.conv2d(X, w, groups=2, padding="same").shape == (2, 6, 7, 6)
    with pytest.raises(tj.errors.ShapeError, match="4 dimensions"):
        nn.conv2d(X[0], w)
    with pytest.raises(tj.errors.ShapeError, match="3 sizes for 2 axes"):
        nn.conv2d(X, w, stride=(1, 1, 1))


def test_transposed_convolutions_are_transposes() -> None:
    """<conv(x), y> = <x, conv_transpose(y)>."""
    w = RNG.normal(size=(6, 4, 3, 2))
    out = nn.conv2d(X, w, stride=(2, 1), padding=(1, 0))
    y = RNG.normal(size=out.shape)
    back = nn.conv_transpose2d(y, w, stride=(2, 1), padding=(1, 0))
    assert back.shape == X.shape
    np.testing.assert_allclose(np.sum(out * y), np.sum(X * back), rtol=1e-12)
    x, w = X[..., 0], RNG.normal(size=(6, 4, 3))
    out = nn.conv1d(x, w, stride=3)
    y = RNG.normal(size=out.shape)
    back = nn.conv_transpose1d(y, w, np.ones(4), stride=3, output_padding=1)
    assert back.shape == x.shape
    np.testing.assert_allclose(np.sum(out * y), np.sum(x * (back - 1)), rtol=1e-12)


def windows(x: Any, size: Any, stride: Any, pad: Any, fill: float) -> Any:
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]], constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, size, (2, 3))[:, :, :: stride[0], :: stride[1]]


def test_pooling() -> None:
    want = windows(X, (3, 2), (2, 1), (1, 1), -np.inf).max((-1, -2))
    np.testing.assert_array_equal(nn.max_pool(X, (3, 2), (2, 1), (1, 1)), want)
    want = windows(X, (3, 3), (2, 2), (1, 1), 0.0).mean((-1, -2))
    np.testing.assert_allclose(nn.avg_pool(X, 3, 2, 1), want, rtol=1e-13)
    want = np.nanmean(windows(X, (3, 3), (2, 2), (1, 1), np.nan), axis=(-1, -2))
    np.testing.assert_allclose(nn.avg_pool(X, 3, 2, 1, count_padding=False), want, rtol=1e-13)
    assert nn.max_pool(X, 2).shape == (2, 4, 3, 3)
    numbers = np.arange(12).reshape(1, 1, 12)
    assert nn.max_pool(numbers, 3).tolist() == [[[2, 5, 8, 11]]]
    with pytest.raises(tj.errors.ShapeError):
        nn.max_pool(np.ones((2, 3)), 2)


def standard(x: Any, axes: Any, eps: float) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_normalisation() -> None:
    scale, offset = RNG.normal(size=(2, 4))
    by_channel = scale[:, None, None], offset[:, None, None]
    mean, variance = nn.batch_statistics(X)
    got = nn.batch_norm(X, mean, variance, scale, offset)
    np.testing.assert_allclose(got, standard(X, (0, 2, 3), 1e-5) * by_channel[0] + by_channel[1], rtol=1e-12)
    parts = standard(X.reshape(2, 2, 2, 7, 6), (2, 3, 4), 1e-5).reshape(X.shape)
    got = nn.group_norm(X, 2, scale, offset)
    np.testing.assert_allclose(got, parts * by_channel[0] + by_channel[1], rtol=1e-12, atol=1e-14)
    rows = X[0, :, :, 0].T
    want = standard(rows, -1, 1e-5) * scale + offset
    np.testing.assert_allclose(nn.layer_norm(rows, scale, offset), want, rtol=1e-12)
    want = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6) * scale
    np.testing.assert_allclose(nn.rms_norm(rows, scale), want, rtol=1e-12)
    with pytest.raises(tj.errors.ShapeError, match="3 groups"):
        nn.group_norm(X, 3)


def test_linear_embedding_swiglu() -> None:
    w, b, x = RNG.normal(size=(3, 4)), RNG.normal(size=4), RNG.normal(size=(2, 5, 3))
    np.testing.assert_allclose(nn.linear(x, w, b), x @ w + b)
    table = RNG.normal(size=(6, 3))
    index = np.array([[5, 0], [2, 2]])
    np.testing.assert_array_equal(nn.embedding(index, table), table[index])
    slope = tj.jit(tj.grad(lambda t: nn.embedding(index, t).sum()))(table)
    assert slope[:, 0].tolist() == [1, 0, 2, 0, 0, 1]
    with pytest.raises(IndexError):
        tj.jit(nn.embedding)(np.array([6]), table)
    down, h = RNG.normal(size=(4, 2)), x @ w
    np.testing.assert_allclose(nn.swiglu(x, w, 2 * w, down), (h * expit(h) * 2 * h) @ down)


def test_rotary_embedding() -> None:
    """Pairs are complex numbers that are turned; products depend on the distance of positions only."""
    q, k = RNG.normal(size=(2, 5, 1, 6))
    turned = nn.rotary_embedding(q)
    z = q[:, 0, :3] + 1j * q[:, 0, 3:]
    angles = np.arange(5)[:, None] * 10_000.0 ** (-np.arange(3) / 3)
    want = z * np.exp(1j * angles)
    np.testing.assert_allclose(turned[:, 0, :3] + 1j * turned[:, 0, 3:], want, rtol=1e-12)

    def product(m: int, n: int) -> Any:
        a = nn.rotary_embedding(q[:1], np.array([m]))
        return np.sum(a * nn.rotary_embedding(k[:1], np.array([n])))

    np.testing.assert_allclose(product(3, 1), product(12, 10), rtol=1e-10)
    with pytest.raises(tj.errors.ShapeError, match="even"):
        nn.rotary_embedding(np.ones((2, 1, 3)))


def test_recurrent_cells() -> None:
    x, h, c = RNG.normal(size=(3, 2, 4))
    w_x, w_h, b = RNG.normal(size=(4, 16)), RNG.normal(size=(4, 16)), RNG.normal(size=16)
    i, f, g, o = np.split(x @ w_x + h @ w_h + b, 4, axis=-1)
    cell = expit(f) * c + expit(i) * np.tanh(g)
    got = nn.lstm_cell(x, (h, c), w_x, w_h, b)
    np.testing.assert_allclose(got[1], cell, rtol=1e-12)
    np.testing.assert_allclose(got[0], expit(o) * np.tanh(cell), rtol=1e-12)
    xs, hs = x @ w_x[:, :12] + b[:12], h @ w_h[:, :12] + b[4:]
    r, z = expit(xs[:, :4] + hs[:, :4]), expit(xs[:, 4:8] + hs[:, 4:8])
    n = np.tanh(xs[:, 8:] + r * hs[:, 8:])
    got = nn.gru_cell(x, h, w_x[:, :12], w_h[:, :12], b[:12], b[4:])
    np.testing.assert_allclose(got, (1 - z) * n + z * h, rtol=1e-12)
    check_grads(lambda x, h: nn.gru_cell(x, h, w_x[:, :12], w_h[:, :12]), (x, h), order=1)
