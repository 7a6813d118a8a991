"""Rows of arrays of several axes are rows, whatever the first axis has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import on_device
from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.tiles.joined import join
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import For

RNG = np.random.default_rng(0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("shape", [(3, 5, 70), (2, 3, 5, 600), (30, 80, 64), (12, 200, 257), (700, 1, 3, 32)])
def test_rows_of_several_axes(shape: tuple[int, ...]) -> None:
    x = RNG.integers(-99, 99, size=shape)
    for f in (lambda x: x.sum(-1), lambda x: x.max(-1) - x[..., 0], lambda x: x - x.min(-1, keepdims=True)):
        _, (got,) = on_device(f, x)
        np.testing.assert_array_equal(got, f(x))
    _, (got,) = on_device(softmax, x * 0.1)
    np.testing.assert_allclose(got, softmax(x * 0.1), rtol=1e-13)


@pytest.mark.parametrize(
    ("shape", "rows", "warps"),
    [((8, 32, 1000), 256, False), ((8, 512, 500), 4096, True), ((3, 1000, 64), 3000, True)],
)
def test_each_row_has_a_block_or_a_warp(shape: tuple[int, ...], rows: int, warps: bool) -> None:
    program, _ = on_device(softmax, np.zeros(shape))
    (k,) = program.plan.kernels
    assert (k.kind, k.size, k.warps > 0) == ("rows", rows, warps)


def test_short_rows_across_the_grain_are_threads() -> None:
    x = RNG.integers(-99, 99, size=(60, 64, 50))
    program, (got,) = on_device(lambda x: x.max(1), x)
    assert all(not k.warps for k in program.plan.kernels)
    np.testing.assert_array_equal(got, x.max(1))
    program, (got,) = on_device(lambda x: np.cumsum(x, 2).max(2), x)
    np.testing.assert_array_equal(got, np.cumsum(x, 2).max(2))


def test_small_products_of_integers() -> None:
    x, y = RNG.integers(-9, 9, size=(70, 40)), RNG.integers(-9, 9, size=(40, 50))
    for f in (lambda x, y: x @ y, lambda x, y: (x[:, None, :] * y.T).max(-1)):
        _, (got,) = on_device(f, x, y)
        np.testing.assert_array_equal(got, f(x, y))


def test_a_check_tells_of_the_first_row_that_failed() -> None:
    x, i = RNG.normal(size=(5, 20, 300)), np.full((5, 20), 7)
    i[3, 2] = i[4, 19] = 300
    f = tj.vmap(tj.vmap(lambda r, k: (r - r.max()) * r[k]))
    with tj.config.override(cuda="emulate"), pytest.raises(IndexError, match="index 300 is out of bounds"):
        tj.jit(f, device="cuda", fallback=False)(x, i)


def test_nothing_wrong_is_done() -> None:
    x = RNG.normal(size=(4, 600, 40))
    with tj.config.override(cuda="sanitize"):
        got = tj.device_get(tj.jit(softmax, device="cuda", fallback=False)(x))
    np.testing.assert_allclose(got, softmax(x), rtol=1e-13)


def test_few_iterations_that_share_memory_are_not_joined() -> None:
    """Every iteration of the outer loop fills the same row of `y` and reads it."""
    k = Builder("shared")
    x, y = (
        k.buffer(n, np.dtype(float), s, "arg", i) for i, (n, s) in enumerate((("x", 4 * 3000), ("y", 3000)))
    )
    out = k.buffer("out", np.dtype(float), 4 * 3000, "arg", 2)
    with k.loop(0, 4, independent=True) as i, k.loop(0, 3000, independent=True) as j:
        at = i * 3000 + j
        k.store(y, j, k.load(x, at))
        k.store(out, at, k.load(y, j) * 2)
    program = k.program
    (outer,) = (s for s in program.body.stmts if isinstance(s, For))
    (inner,) = (s for s in outer.body.stmts if isinstance(s, For))
    inner.grain = 1
    assert join(outer, Facts(program), Maker(program)) is outer and not outer.grain
