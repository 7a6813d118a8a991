"""Rows that a warp takes: many short ones, with one round of shuffles for what their lanes have accumulated."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered, on_device
from tracejit.lowering.cuda import planner
from tracejit.lowering.cuda.kernels import module_text, ptx_of
from tracejit.lowering.cuda.planner import plan

RNG = np.random.default_rng(0)
MANY = 2051  # rows, so that the last block of a card's has warps without one


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(x: Any) -> Any:
    c = x - x.mean(1, keepdims=True)
    return c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5)


@pytest.fixture(autouse=True)
def in_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads keep nothing in registers, as it is where a check or a loop is in the rows."""
    monkeypatch.setattr(planner, "keep", lambda kernel, facts: False)


@pytest.mark.sample(4)
@pytest.mark.parametrize("columns", [301, 1000, 2048])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", [softmax, lambda x: x.max(1), lambda x: x.sum(1)])
def test_many_short_rows(f: Any, dtype: Any, columns: int) -> None:
    x = RNG.normal(size=(MANY, columns)).astype(dtype)
    program, (got,) = on_device(f, x)
    assert [k.kind for k in program.plan.kernels] == ["rows"] and program.plan.kernels[0].warps >= 2
    near = 1e-12 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(got, f(x.astype(np.float64)), rtol=near, atol=near)


def test_integers_and_booleans_have_their_bits() -> None:
    x = RNG.integers(-9, 9, size=(MANY, 400))
    for f in (lambda x: x.sum(1), lambda x: (x > 8).any(1), lambda x: x.argmax(1)):
        _, (got,) = on_device(f, x)
        np.testing.assert_array_equal(got, f(x))


def test_what_one_lane_does_in_order() -> None:
    x = RNG.integers(-99, 99, size=(MANY, 300))
    f = lambda x: np.cumsum(x, 1) * x.max(1, keepdims=True) - np.cumsum(x[:, ::-1], 1).min(1, keepdims=True)
    program, (got,) = on_device(f, x)
    assert any(k.warps for k in program.plan.kernels)
    np.testing.assert_array_equal(got, f(x))


def test_few_or_long_rows_are_a_blocks() -> None:
    for shape in ((100, 1000), (MANY, 5000)):
        made, _ = plan(lowered(softmax, np.zeros(shape)), ROOM)
        assert [k.warps for k in made.kernels] == [0], shape
    made, _ = plan(lowered(lambda x, y: x.T + y, *[np.zeros((2048, 2048))] * 2), ROOM)
    assert [k.warps for k in made.kernels] == [0], "nothing waits for sums"


def test_a_check_that_fails_in_one_row() -> None:
    x, i = RNG.normal(size=(MANY, 300)), np.full(MANY, 7)
    i[2000] = 300
    f = lambda x, i: tj.vmap(lambda r, k: (r - r.max()) * r[k])(x, i)
    with tj.config.override(cuda="emulate"), pytest.raises(IndexError, match="index 300 is out of bounds"):
        tj.jit(f, device="cuda", fallback=False)(x, i)


def test_warps_touch_nothing_of_each_other() -> None:
    with tj.config.override(cuda="sanitize"):
        x = RNG.normal(size=(MANY, 64))
        got = tj.device_get(tj.jit(softmax, device="cuda", fallback=False)(x))
    np.testing.assert_allclose(got, softmax(x), rtol=1e-13)


def test_a_warp_waits_for_itself_only() -> None:
    low = lowered(softmax, np.zeros((MANY, 1000)))
    made, facts = plan(low, ROOM)
    kernel = made.kernels[0]
    text = ptx_of(low)
    assert "bar.sync" not in text and text.count("bar.warp.sync") == 4
    assert text.count("shfl.sync.down.b32") == 2 * 5 * 2, (
        "a round for each reduction, two halves of a double each"
    )
    assert "ld.local" not in text and "st.local" not in text
    assert f".reqntid {32 * kernel.warps}" in text
    source, _ = module_text(low.program, facts, made, "card")
    near = re.search(r"@k0.near = internal addrspace\(3\) global \[(\d+) x i8\]", source)
    assert near and int(near[1]) == kernel.own * kernel.warps, "each warp has a row of its own"
