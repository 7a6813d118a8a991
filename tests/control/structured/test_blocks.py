"""Checkpointed scans and batched maps: the same results as plain ones, in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import LoopLengthError
from tracejit.test_util import check_grads


def run(w: Any, xs: Any, **options: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = {"a": np.sin(w * c["a"] + x), "n": c["n"] + 1}
        return c, c["a"] * x

    return lax.scan(step, {"a": np.array([0.1, 0.4]), "n": 0}, xs, **options)


@pytest.mark.sample(4)
@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 16, 17, 63, 64, 65, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_same_as_a_plain_scan(length: int, reverse: bool) -> None:
    xs = np.linspace(-1, 1, length)
    carry, ys = run(0.9, xs, reverse=reverse)
    for f in (run, tj.jit(run, static_argnames=("reverse", "checkpoint"))):
        got, got_ys = f(0.9, xs, reverse=reverse, checkpoint=4)
        np.testing.assert_allclose(got["a"], carry["a"], rtol=1e-14)
        assert got["n"] == length
        np.testing.assert_allclose(got_ys, ys, rtol=1e-14)


@pytest.mark.sample(2)
@pytest.mark.parametrize("checkpoint", [2, 3, "log"])
def test_the_same_derivatives(checkpoint: Any) -> None:
    xs = np.linspace(-1, 1, 7 if checkpoint == 2 else 19 if checkpoint == 3 else 37)

    def loss(w: Any, xs: Any, **options: Any) -> Any:
        carry, ys = run(w, xs, **options)
        return carry["a"].sum() + (ys * ys).sum()

    def saving(w: Any, xs: Any) -> Any:
        return loss(w, xs, checkpoint=checkpoint)

    want = tj.grad(loss, (0, 1))(0.9, xs)
    for g in (tj.grad(saving, (0, 1)), tj.jit(tj.grad(saving, (0, 1)))):
        for a, b in zip(g(0.9, xs), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    check_grads(saving, (0.9, xs), order=2, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(
        tj.jit(tj.vmap(tj.grad(saving), (0, None)))(np.array([0.5, 0.9]), xs)[1], want[0], rtol=1e-12
    )


def test_memory_grows_with_the_logarithm() -> None:
    def loss(x: Any, n: int, checkpoint: Any) -> Any:
        return lax.scan(lambda c, _: (np.sin(c), None), x, None, length=n, checkpoint=checkpoint)[0].sum()

    def needed(n: int, checkpoint: Any) -> int:
        compiled = tj.jit(tj.grad(lambda x: loss(x, n, checkpoint))).lower(np.ones(1000)).compile()
        return compiled.memory_analysis()["temporary_bytes"]

    state = 8000
    assert needed(4096, None) > 4000 * state
    assert needed(4096, "log") < 4 * 16 * state
    assert needed(65536, "log") < 5 * 16 * state


def test_checkpoint_is_a_number_or_log() -> None:
    with pytest.raises(LoopLengthError, match="checkpoint"):
        run(0.9, np.ones(5), checkpoint="sqrt")
    with pytest.raises(LoopLengthError, match="checkpoint"):
        run(0.9, np.ones(5), checkpoint=1)


@pytest.mark.sample(2)
@pytest.mark.parametrize("batch_size", [1, 3, 4, 10, 20])
def test_map_in_batches(batch_size: int) -> None:
    x = {"m": np.random.default_rng(0).normal(size=(10, 2, 2)), "v": np.ones((10, 2))}
    f = lambda t: (t["m"] @ t["v"], t["m"].sum())
    want = lax.map(f, x)
    for g in (
        lambda t: lax.map(f, t, batch_size=batch_size),
        tj.jit(lambda t: lax.map(f, t, batch_size=batch_size)),
    ):
        for a, b in zip(g(x), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    check_grads(lambda t: lax.map(f, t, batch_size=batch_size), (x,), order=1, atol=1e-5, rtol=1e-5)


def test_map_of_nothing_and_wrong_batches() -> None:
    assert lax.map(lambda x: x + 1, np.zeros((0, 3)), batch_size=4).shape == (0, 3)
    with pytest.raises(LoopLengthError, match="batch_size"):
        lax.map(lambda x: x, np.ones(3), batch_size=0)
