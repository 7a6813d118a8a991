"""Modules: trees of parameters that train, batch and compile."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import nn, optim

KEY = tj.random.PRNGKey(0)
RNG = np.random.default_rng(2)


class Autoencoder(nn.Module):
    encode: nn.Linear
    decode: nn.Linear
    name: str = nn.static("plain")

    def __init__(self, n: int, m: int, *, key: Any) -> None:
        first, second = tj.random.split(key)
        self.encode = nn.Linear(n, m, key=first)
        self.decode = nn.Linear(m, n, key=second)

    def __call__(self, x: Any) -> Any:
        return self.decode(nn.tanh(self.encode(x)))


class Scale(nn.Module):
    factor: Any

    def __call__(self, x: Any) -> Any:
        return x * self.factor


def test_a_module_is_the_tree_of_its_parameters() -> None:
    net = Autoencoder(4, 2, key=KEY)
    shapes = [np.shape(x) for x in tj.tree.leaves(net)]
    assert shapes == [(4, 2), (2,), (2, 4), (4,)]
    x = RNG.normal(size=(3, 4))

    def loss(net: Any, x: Any) -> Any:
        return np.mean((net(x) - x) ** 2)

    slope = tj.jit(tj.grad(loss))(net, x)
    assert type(slope) is Autoencoder and slope.name == "plain"
    moved = net.replace(encode=net.encode.replace(bias=net.encode.bias + 1e-6))
    moved_back = net.replace(encode=net.encode.replace(bias=net.encode.bias - 1e-6))
    want = (loss(moved, x) - loss(moved_back, x)) / 2e-6
    np.testing.assert_allclose(slope.encode.bias.sum(), want, rtol=1e-6)
    assert net.encode.bias.tolist() == [0, 0]  # as it was


def test_modules_of_the_user() -> None:
    scale = Scale(factor=np.array([2.0, 3.0]))
    assert dataclasses.is_dataclass(scale) and scale(1.0).tolist() == [2, 3]
    many = tj.vmap(lambda m, x: m(x), in_axes=(0, None))(Scale(factor=np.arange(3.0)), 2.0)
    assert many.tolist() == [0, 2, 4]
    with pytest.raises(NotImplementedError, match="Nothing does not define"):

        class Nothing(nn.Module):
            pass

        Nothing()(1.0)


def test_static_fields_are_part_of_the_program() -> None:
    run = tj.jit(lambda layer, x: layer(x))
    x = RNG.normal(size=(1, 2, 6, 6))
    one, two = (nn.Conv2d(2, 3, 3, stride=s, key=KEY) for s in (1, 2))
    assert run(one, x).shape == (1, 3, 4, 4) and run(two, x).shape == (1, 3, 2, 2)
    assert run.trace_count == 2
    np.testing.assert_allclose(run(two, x), run(one, x)[:, :, ::2, ::2], rtol=1e-12)


def test_initial_weights() -> None:
    layer = nn.Linear(300, 200, key=KEY, dtype=np.float32)
    assert layer.weight.dtype == np.float32 == layer.bias.dtype
    assert abs(layer.weight.var() * 300 - 1) < 0.05 and not layer.bias.any()
    assert nn.Linear(3, 2, bias=False, key=KEY).bias is None
    assert nn.Embedding(10, 4, key=KEY)(np.array([1, 1])).shape == (2, 4)
    assert nn.Conv1d(2, 4, 3, groups=2, padding="same", key=KEY)(np.ones((1, 2, 5))).shape == (1, 4, 5)
    assert nn.ConvTranspose2d(2, 3, 2, 2, key=KEY)(np.ones((1, 2, 4, 4))).shape == (1, 3, 8, 8)


def test_batch_norm() -> None:
    x = 3 + 2 * RNG.normal(size=(8, 3, 5))
    layer = nn.BatchNorm(3, momentum=0.5)
    out, new = tj.jit(lambda m, x: m.train(x))(layer, x)
    np.testing.assert_allclose(out.mean((0, 2)), 0, atol=1e-12)
    np.testing.assert_allclose(out.std((0, 2)), 1, rtol=1e-4)
    np.testing.assert_allclose(new.mean, 0.5 * x.mean((0, 2)))
    np.testing.assert_allclose(new.variance, 0.5 + 0.5 * x.var((0, 2), ddof=1))
    want = (x - new.mean[:, None]) / np.sqrt(new.variance + 1e-5)[:, None]
    np.testing.assert_allclose(new(x), want, rtol=1e-12)
    slope = tj.grad(lambda m: m.train(x)[1].mean.sum())(layer)
    assert not any(g.any() for g in (slope.scale, slope.offset))
    mask = nn.trainable([layer, {"scale": Scale(factor=1.0)}])
    assert tj.tree.leaves(mask) == [True, True, False, False, True]


def test_dropout() -> None:
    layer, x = nn.Dropout(rate=0.25), np.ones(10_000)
    assert layer(x) is x
    out, _ = layer.train(x, key=KEY)
    assert set(np.unique(out)) == {0, 1 / 0.75} and abs(out.mean() - 1) < 0.05
    with pytest.raises(tj.errors.ShapeError, match="key="):
        layer.train(x)


def test_sequential_and_training() -> None:
    """A small network with all kinds of state learns to tell two rings apart."""
    angle, radius = RNG.uniform(0, 2 * np.pi, 200), np.repeat([1.0, 2.0], 100)
    x = (radius * np.array([np.cos(angle), np.sin(angle)])).T + 0.1 * RNG.normal(size=(200, 2))
    y = np.repeat([0, 1], 100)
    net = nn.Sequential(
        [
            nn.Linear(2, 16, key=KEY),
            nn.BatchNorm(16),
            nn.relu,
            nn.Dropout(rate=0.1),
            nn.MLP([16, 8, 2], key=KEY),
        ]
    )
    optimizer = optim.adamw(0.02, weight_decay=1e-3, mask=nn.trainable)

    @tj.jit
    def step(net: Any, state: Any, key: Any) -> Any:
        def loss(net: Any) -> Any:
            out, new = net.train(x, key=key)
            return nn.cross_entropy(out, y), new

        (value, new), slope = tj.value_and_grad(loss, has_aux=True)(net)
        updates, state = optimizer.update(slope, state, net)
        return optim.apply_updates(new, updates), state, value

    state = optimizer.init(net)
    for n in range(60):
        net, state, _ = step(net, state, tj.random.fold_in(KEY, n))
    assert step.trace_count == 1
    assert (np.argmax(net(x), axis=1) == y).mean() > 0.97
    assert net.modules[1].mean.any()


def test_attention() -> None:
    x = RNG.normal(size=(2, 5, 8))
    layer = nn.MultiHeadAttention(8, 4, key=KEY)
    q, k, v = (m(x).reshape(2, 5, 4, 2).swapaxes(1, 2) for m in (layer.query, layer.key, layer.value))
    scores = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(2))
    want = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(2, 5, 8) @ layer.out.weight
    np.testing.assert_allclose(tj.jit(lambda m, x: m(x))(layer, x), want, rtol=1e-11)

    causal = nn.MultiHeadAttention(8, 4, kv_heads=2, causal=True, rotary=True, key=KEY)
    before = causal(x)
    later = x.copy()
    later[:, 3:] += 1
    np.testing.assert_array_equal(causal(later)[:, :3], before[:, :3])
    assert abs(causal(later)[:, 3:] - before[:, 3:]).min() > 0
    assert causal.key.weight.shape == (8, 4)
    # A head of keys that two query heads share is the same as two equal heads.
    whole = nn.MultiHeadAttention(8, 4, causal=True, rotary=True, key=KEY)
    spread = [
        np.repeat(m.weight.reshape(8, 2, 2), 2, axis=1).reshape(8, 8) for m in (causal.key, causal.value)
    ]
    whole = whole.replace(
        query=causal.query,
        out=causal.out,
        key=whole.key.replace(weight=spread[0]),
        value=whole.value.replace(weight=spread[1]),
    )
    np.testing.assert_allclose(whole(x), before, rtol=1e-12)
    assert layer(x, memory=RNG.normal(size=(2, 9, 8))).shape == (2, 5, 8)
    with pytest.raises(tj.errors.ShapeError):
        nn.MultiHeadAttention(8, 3, key=KEY)


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU])
def test_recurrence(make: Any) -> None:
    layer, x = make(3, 4, key=KEY), RNG.normal(size=(2, 6, 3))
    outs, last = tj.jit(lambda m, x: m(x))(layer, x)
    assert outs.shape == (2, 6, 4)
    h = last[0] if make is nn.LSTM else last
    np.testing.assert_array_equal(outs[:, -1], h)
    state = (np.zeros((2, 4)), np.zeros((2, 4)))
    for t in range(6):
        if make is nn.LSTM:
            state = nn.lstm_cell(x[:, t], state, layer.w_x, layer.w_h, layer.bias)
        else:
            state = (nn.gru_cell(x[:, t], state[0], layer.w_x, layer.w_h, layer.b_x, layer.b_h),)
        np.testing.assert_allclose(outs[:, t], state[0], rtol=1e-12)
    again, _ = layer(x[:, 3:], layer(x[:, :3])[1])
    np.testing.assert_allclose(again, outs[:, 3:], rtol=1e-12)
