"""Transposes by tiles: what they give, at all sizes, and that both sides are read and written in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered
from tracejit.lowering.cuda import planner
from tracejit.lowering.cuda.kernels import ptx_of
from tracejit.lowering.cuda.nodes import Kernel

RNG = np.random.default_rng(0)


def some(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def kernels(f: Callable[..., Any], *args: Any) -> list[Kernel]:
    return planner.plan(lowered(f, *args), ROOM)[0].kernels


def has_tiles(f: Callable[..., Any], *args: Any) -> bool:
    low = lowered(f, *args)
    planner.plan(low, ROOM)
    return any(b.name == "tile" for b in low.program.buffers)


def check(f: Callable[..., Any], *args: Any) -> None:
    """Compare with NumPy's results, on the device that looks at each access."""
    with tj.config.override(cuda="sanitize"):
        got = tj.jit(f, device="cuda", fallback=False)(*args)
        np.testing.assert_array_equal(tj.device_get(got), f(*args))


@pytest.mark.parametrize("shape", [(64, 64), (96, 64), (64, 96), (65, 127), (257, 33), (33, 130)])
def test_transposes_of_all_sizes(shape: tuple[int, int]) -> None:
    x, y = some(*shape), some(*shape[::-1])
    assert has_tiles(lambda x, y: x.T + y, x, y)
    check(lambda x, y: x.T + y, x, y)


CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "copy": (lambda x: x.T.copy(), (100, 70)),
    "with itself": (lambda x: x.T + x, (80, 80)),
    "batched": (lambda x: np.swapaxes(x, 1, 2).copy(), (3, 70, 90)),
    "three axes": (lambda x: np.transpose(x, (2, 1, 0)).copy(), (40, 6, 50)),
    "part of it": (lambda x: x.T[3:] + x[:, 5], (99, 70)),
    "backwards": (lambda x: x.T[:, ::-1].copy(), (70, 99)),
    "of another dtype": (lambda x: (x.T > 0).copy(), (70, 99)),
    "complex": (lambda x: (x + 1j * x).T.copy(), (70, 99)),
    "two of them": (lambda x: x[:64].T * x[36:].T - x.ravel()[:4480].reshape(70, 64), (100, 70)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_what_is_transposed(name: str) -> None:
    f, shape = CASES[name]
    check(f, some(*shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.bool_, np.complex64])
def test_all_dtypes(dtype: Any) -> None:
    x, y = RNG.integers(0, 2, (70, 65)).astype(dtype), RNG.integers(0, 2, (65, 70)).astype(dtype)
    assert has_tiles(lambda x, y: np.where(y == x.T, x.T, y), x, y)
    check(lambda x, y: np.where(y == x.T, x.T, y), x, y)


def test_updates_in_place() -> None:
    def f(x: Any, y: Any) -> None:
        y += x.T

    x, y = some(70, 65), some(65, 70)
    want = y + x.T
    with tj.config.override(cuda="sanitize"):
        on = tj.device_put(y, "cuda")
        tj.jit(f, device="cuda", fallback=False)(tj.device_put(x, "cuda"), on)
        np.testing.assert_array_equal(tj.device_get(on), want)


def test_both_sides_are_read_and_written_in_order() -> None:
    """Neighbours read and write neighbours: what a thread does at a time is rows apart, by constants."""
    f, x = lambda x, y: x.T + y, np.zeros((1024, 1024))
    (kernel,) = kernels(f, x, x)
    assert (kernel.kind, kernel.size, kernel.threads) == ("rows", 1024, 256)
    assert kernel.is_near and kernel.own == 32 * 33 * 8
    text = ptx_of(lowered(f, x, x))
    rows = {f"+{n * 8 * 1024 * 8}]" for n in (1, 2, 3)}  # the eighth row further on
    for kind, times in (("ld", 2), ("st", 1)):
        lines = [line for line in text.splitlines() if f"{kind}.global.b64" in line and "+" in line]
        assert sum(any(row in line for row in rows) for line in lines) == 3 * times


def test_without_need_there_are_none() -> None:
    assert not has_tiles(lambda x: x.T.copy(), some(20, 200)), "narrow"
    assert not has_tiles(lambda x: x[:, ::-1].copy(), some(100, 100)), "in order"
    assert not has_tiles(lambda x: x[::2] + x[0], some(100, 100)), "in order"
