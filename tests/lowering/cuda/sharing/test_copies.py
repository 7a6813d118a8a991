"""Threads that take several iterations of a loop at a time give what others give, whatever is left over at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered, on_device
from tests.lowering.cuda.test_sanitized import run
from tracejit.lowering.cuda import planner
from tracejit.lowering.cuda.planner import fragments
from tracejit.lowering.cuda.sharing import taking

RNG = np.random.default_rng(0)
DTYPES = [np.float64, np.float32, np.float16, np.int8, np.uint16, np.int32, np.bool_, np.complex64]


@pytest.fixture(autouse=True)
def even_of_short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops are kernels, whose threads take adjacent iterations and several groups of them."""
    monkeypatch.setattr(planner, "ALONE", 0)
    monkeypatch.setattr(taking, "ADJACENT", 0)
    monkeypatch.setattr(taking, "GROUPS", 0)
    monkeypatch.setattr(planner, "_MOST_THREADS", 32)


def some(dtype: Any, *shape: int) -> np.ndarray:
    """Numbers of a dtype, which all dtypes have."""
    return RNG.integers(0, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pointwise_kernels(dtype: Any) -> None:
    f = np.logical_or if dtype is np.bool_ else lambda x, y: x * y + x
    x, y = some(dtype, 5003), some(dtype, 5003)
    program, (got,) = on_device(f, x, y)
    (kernel,) = program.plan.kernels
    assert kernel.kind == "threads"
    assert kernel.each == (1 if dtype is np.complex64 else 2 * min(16 // np.dtype(dtype).itemsize, 8))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, f(x, y))


@pytest.mark.parametrize("n", [33, 64, 127, 128, 129, 255, 257, 1025, 4097])
def test_what_is_left_over(n: int) -> None:
    x = RNG.normal(size=n)
    (got,) = run(lowered(lambda x: x * 2 + 1, x), x)
    np.testing.assert_array_equal(got, x * 2 + 1)


@pytest.mark.parametrize("shape", [(40, 64), (40, 333), (7, 1000), (3, 257)])
def test_rows(shape: tuple[int, int]) -> None:
    x = RNG.normal(size=shape)
    f = lambda x: (x - x.mean(1, keepdims=True)) / x.max(1, keepdims=True)
    (got,) = run(lowered(f, x), x)
    np.testing.assert_allclose(got, f(x), rtol=1e-13, atol=1e-13)


def test_updates_in_place() -> None:
    x = RNG.normal(size=5001)

    def f(x: Any) -> Any:
        x = np.sqrt(x * x + 1)
        x[:4096] += x[4096 - 4096 : 4096]
        x[1:5000] *= 3
        return x

    np.testing.assert_array_equal(on_device(f, x)[1][0], np.asarray(tj.jit(f)(x)))


def test_checks_report_the_first_iteration() -> None:
    x, i = RNG.normal(size=300), np.arange(5000) % 300
    with tj.config.override(cuda="emulate"):
        f = tj.jit(lambda x, i: x[i] * 2, device="cuda")
        np.testing.assert_array_equal(tj.device_get(f(x, i)), x[i] * 2)
        i[4000], i[77], i[78] = 1000, 500, 600
        with pytest.raises(IndexError, match="index 500 is out of bounds"):
            f(x, i)


def takings(f: Any, *args: Any) -> list[tuple[int, int]]:
    """How the loops that threads share in the kernels of a function are taken."""
    kernels = planner.plan(lowered(f, *args), ROOM)[0].kernels
    return [(x.taking.adjacent, x.taking.groups) for k in kernels for x in fragments(k.items) if x.shared]


def test_only_where_addresses_are_multiples() -> None:
    x = RNG.normal(size=(40, 1000))
    assert takings(lambda x: x * 2, x) == [(2, 2)]
    assert takings(lambda x: x[:, 2:] * 2, x) == [(2, 2)]
    assert takings(lambda x: x[:, 1:] * 2, x)[0][0] == 1, "rows of 999 elements"
    assert takings(lambda x: x[::2, 1:-1] * 2, x)[0][0] == 1, "begins at an odd element"
    assert takings(lambda x: x.ravel()[::2] * 2, x)[0][0] == 1, "every second element"
    assert takings(lambda x: x.sum(1), x) == [(2, 4)]


def test_long_code_is_not_copied() -> None:
    def f(x: Any) -> Any:
        y = np.exp(-np.sin(x)) + np.tanh(x) * np.log1p(x * x)
        return np.exp(-np.sin(y)) + np.tanh(y) * np.log1p(y * y)

    assert takings(f, RNG.normal(size=40_000)) == [(1, 1)]
