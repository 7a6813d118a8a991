"""Nests of pointwise functions as one loop over all elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import first
from tests.lowering.cuda.tiles.test_crossed import check, kernels, some
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.lowered import Lowered

RNG = np.random.default_rng(0)
X, ROW, COLUMN = some(500, 12), some(12), some(500, 1)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a row each": (lambda x, b: x * 2 + b, (X, ROW)),
    "a column each": (lambda x, c: x * 2 + c, (X, COLUMN)),
    "both": (lambda b, c: b - c, (ROW, COLUMN)),
    "parts": (lambda x: x[3:400, 1:11] * 2, (X,)),
    "backwards": (lambda x: x[::-1, ::-1] * 2, (X,)),
    "every second": (lambda x: x[::2, ::3] * 2, (X,)),
    "four axes": (lambda x: x[:, None, ::2, None] + x[None, :50, ::2, None][:, :, :1], (X[:60],)),
    "swapped": (lambda x: np.swapaxes(x, 0, 1).copy(), (some(50, 40, 7),)),
    "long rows": (lambda x, c: x * c, (some(9, 1001), some(9, 1))),
    "joined": (lambda x: np.concatenate([x, x * 2], 1), (X,)),
    "complex": (lambda x, b: x * 1j + b, (X, ROW)),
    "conditions": (lambda x, b: np.where(x > b, x, -1), (X, ROW)),
    "no elements": (lambda x, b: x + b, (X[:0], ROW)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_they_give(name: str) -> None:
    check(CASES[name][0], *CASES[name][1])


def test_updates_in_place() -> None:
    def f(x: Any, b: Any) -> None:
        x[1:, 2:10] += b[2:10] * x[1:, 3:11]

    x, want = X.copy(), X.copy()
    f(want, ROW)
    with tj.config.override(cuda="sanitize"):
        tj.jit(f, device="cuda", fallback=False)(x, ROW)
    np.testing.assert_array_equal(x, want)


def test_short_rows_are_one_loop_of_a_thread_each() -> None:
    x = some(5000, 12)
    (kernel,) = kernels(lambda x, b, c: x * b + c, x, ROW, some(5000, 1))
    assert (kernel.kind, kernel.size) == ("threads", 60_000)


def test_long_rows_with_gaps_stay_rows() -> None:
    assert [k.kind for k in kernels(lambda x: x[:, 1:] * 2, some(40, 600))] == ["rows"]
    assert [k.kind for k in kernels(lambda x, c: x * c, some(40, 600), some(40, 1))] == ["threads"]


def test_loops_that_do_not_begin_at_zero() -> None:
    """As one loop over all elements, each at its place; also where a loop has one step."""
    for (a, b), (c, d) in (((3, 203), (2, 9)), ((0, 200), (2, 9)), ((3, 203), (0, 7)), ((1, 2), (2, 602))):
        k = Builder("begun")
        x, out = (k.buffer(n, np.dtype(float), 4000, "arg", i) for i, n in enumerate(("x", "out")))
        with k.loop(a, b, vector=False, independent=True) as i, k.loop(c, d, vector=True) as j:
            at = k.add(k.mul(i, 12), j)
            k.store(out, at, k.load(x, at) * 2.0)
        on = first()
        values, want = RNG.normal(size=4000), np.zeros(4000)
        for n in range(a, b):
            want[12 * n + c : 12 * n + d] = 2 * values[12 * n + c : 12 * n + d]
        args = on.array(values), on.array(np.zeros(4000))
        DeviceProgram(Lowered(k.program, [], [], [], [], {}), on)(*args)
        np.testing.assert_array_equal(args[1].get(), want)
