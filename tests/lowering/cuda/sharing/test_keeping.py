"""Rows that threads keep in registers: what is kept, that it is right at the ends of rows, and what is not kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered, on_device
from tracejit.lowering.cuda.kernels import ptx_of
from tracejit.lowering.cuda.nodes import fragments
from tracejit.lowering.cuda.planner import plan

RNG = np.random.default_rng(0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(x: Any, w: Any, b: Any) -> Any:
    c = x - x.mean(1, keepdims=True)
    return c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5) * w + b


def spread(x: Any, w: Any) -> Any:
    """Reads rows and weights three times, and whether a number is large as a boolean."""
    low, high = (x * w).min(1, keepdims=True), (x * w).max(1, keepdims=True)
    is_high = x * w > 0.5 * (low + high)
    share = is_high.sum(1, keepdims=True) / x.shape[1]
    return np.where(is_high, share, (x * w - low) / (high - low + 1))


CASES = {"softmax": (softmax, 1), "layernorm": (layernorm, 3), "spread": (spread, 2)}


def given(rows: int, columns: int, count: int, dtype: Any) -> list[np.ndarray]:
    x = RNG.normal(size=(rows, columns)).astype(dtype)
    return [x, *(RNG.normal(size=columns).astype(dtype) for _ in range(count - 1))]


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "shape", [(2100, 33), (2100, 64), (2051, 301), (9, 1000), (3, 2048), (2100, 3001), (5, 4096)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_right_to_their_ends(name: str, dtype: Any, shape: tuple[int, int]) -> None:
    f, count = CASES[name]
    args = given(*shape, count, dtype)
    program, (got,) = on_device(f, *args)
    assert any(k.kept for k in program.plan.kernels if k.kind == "rows")
    near = 1e-12 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(got, f(*(a.astype(float) for a in args)), rtol=near, atol=near)


def test_integers_have_their_bits() -> None:
    x = RNG.integers(-99, 99, size=(2100, 500)).astype(np.int16)
    f = lambda x: (x - x.min(1, keepdims=True)) * (x == x.max(1, keepdims=True))
    program, (got,) = on_device(f, x)
    assert program.plan.kernels[0].kept
    np.testing.assert_array_equal(got, f(x))


@pytest.mark.parametrize(
    ("columns", "threads", "words"), [(100, 32, 8), (1000, 64, 32), (1001, 64, 32), (4000, 256, 32)]
)
def test_what_a_thread_keeps_is_in_registers(columns: int, threads: int, words: int) -> None:
    low = lowered(softmax, np.zeros((2100, columns)))
    (kernel,) = plan(low, ROOM)[0].kernels
    assert (kernel.threads, kernel.kept, kernel.own) == (threads, words, 0)
    text = ptx_of(low)
    wide = 1 if columns % 2 else 2
    each = -(-columns // (threads * wide))
    assert len(re.findall(r"ld\.global", text)) == each, "each element is read once"
    assert text.count("ld.global.v2.b64") == (each if wide == 2 else 0)
    assert ".local" not in text and "_near[" not in text


def test_the_last_loop_does_not_wait_for_memory() -> None:
    (kernel,) = plan(lowered(softmax, np.zeros((2100, 1000))), ROOM)[0].kernels
    loops = [f for f in fragments(kernel.items) if f.shared]
    assert [len(f.kept) for f in loops] == [1, 2, 1] and [len(f.fresh) for f in loops] == [1, 0, 0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.max(1),  # one loop
        lambda x: x / x[:, ::-1].max(1, keepdims=True),  # other elements of a thread's
        lambda x: x - x[:, 1:].max(1, keepdims=True),  # another range
    ],
)
def test_what_is_not_kept(f: Any) -> None:
    x = RNG.normal(size=(2100, 300))
    program, (got,) = on_device(f, x)
    assert not any(k.kept for k in program.plan.kernels)
    np.testing.assert_allclose(got, f(x), rtol=1e-13)


def test_an_array_that_is_written_is_read_again() -> None:
    def f(x: Any) -> None:
        x[:] = softmax(x)

    x = RNG.normal(size=(2100, 70))
    with tj.config.override(cuda="emulate"):
        there = tj.device_put(x, "cuda")
        tj.jit(f, device="cuda")(there)
        np.testing.assert_allclose(tj.device_get(there), softmax(x), rtol=1e-13)


def test_threads_touch_nothing_of_each_other() -> None:
    x, w = given(40, 130, 2, float)
    with tj.config.override(cuda="sanitize"):
        got = tj.device_get(tj.jit(spread, device="cuda", fallback=False)(x, w))
    np.testing.assert_allclose(got, spread(x, w), rtol=1e-13)
