"""Accumulated gradients, steps that are not finite, averages and scaled losses."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

X = np.array([1.0, -2.0])


def test_accumulated_gradients_are_one_step_with_the_mean() -> None:
    inner, gs = optim.adam(0.1), np.random.default_rng(0).normal(size=(6, 2))
    t = optim.accumulate_gradients(inner, 3)
    update = tj.jit(t.update)
    state, held, seen = t.init(X), inner.init(X), []
    for g in gs:
        u, state = update(g, state, X)
        seen.append(u)
    assert update.trace_count == 1 and state.step == 2 and state.mini_step == 0
    for n in (0, 1):
        want, held = inner.update(gs[3 * n : 3 * n + 3].mean(0), held, X)
        np.testing.assert_allclose(seen[3 * n + 2], want, rtol=1e-13)
        assert not seen[3 * n].any() and not seen[3 * n + 1].any()
    with pytest.raises(tj.errors.OptimizerArgumentError):
        optim.accumulate_gradients(inner, 0)


def test_steps_that_are_not_finite() -> None:
    t = optim.apply_if_finite(optim.momentum(1.0, 0.5), max_consecutive_errors=2)
    update, state = tj.jit(t.update), t.init(X)
    bad = np.array([np.nan, 1.0])
    u, state = update(X, state)
    assert u.tolist() == [-1, 2] and state.last_finite
    for n in (1, 2):
        u, state = update(bad, state)
        assert not u.any() and state.notfinite_count == n and not state.last_finite
    u, state = update(bad, state)  # one too many in a row: it is seen
    assert np.isnan(u[0]) and state.total_notfinite == 3


def test_moving_averages() -> None:
    t, xs = optim.ema(0.9), [X, 2 * X, -X]
    state = t.init(X)
    for n, x in enumerate(xs, 1):
        mean, state = t.update(x, state)
        weights = 0.1 * 0.9 ** np.arange(n)[::-1]
        np.testing.assert_allclose(mean, weights @ np.array(xs[:n]) / weights.sum(), rtol=1e-14)
    np.testing.assert_allclose(optim.incremental_update(X, 3 * X, 0.25), 2.5 * X)


def test_loss_scale() -> None:
    """float16 gradients of 1e-8 are zero, and scaled ones are not; overflows halve the factor."""
    scale = optim.dynamic_loss_scale(2.0**15, period=2)
    w = np.full(3, 1e-4, np.float16)

    def grads(w, scale):
        return tj.grad(lambda w: scale.scale((w * np.float16(1e-7)).sum()))(w)

    step = tj.jit(lambda w, scale: scale.unscale(grads(w, scale)))
    got = step(w, scale)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, float(np.float16(1e-7)), rtol=1e-3)
    finite = optim.all_finite(got)
    scale = scale.adjust(finite)
    assert scale.factor == 2**15 and scale.counter == 1
    scale = scale.adjust(finite)
    assert scale.factor == 2**16 and scale.counter == 0
    scale = scale.adjust(optim.all_finite({"a": np.array([np.inf])}))
    assert scale.factor == 2**15 and scale.counter == 0
    assert optim.dynamic_loss_scale(1.0).adjust(np.bool_(False)).factor == 1
    chosen = optim.select_tree(np.bool_(False), {"a": X}, {"a": -X})
    assert chosen["a"].tolist() == [-1, 2]
