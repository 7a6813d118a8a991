"""Stencils by tiles: what they give, at all sizes, and that each element is fetched once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import lowered
from tests.lowering.cuda.tiles.test_crossed import check, has_tiles, kernels, some
from tracejit.lowering.cuda.kernels import ptx_of


def five(x: Any) -> Any:
    return x[1:-1, 1:-1] * 0.5 + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


def nine(x: Any) -> Any:
    c = x[:-2] + 2 * x[1:-1] + x[2:]
    return c[:, :-2] + 2 * c[:, 1:-1] + c[:, 2:]


def seven(x: Any) -> Any:
    c = x[1:-1, 1:-1, 1:-1] * -6
    c = c + x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
    return c + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]


def steps(x: Any) -> Any:
    y = x.copy()
    for _ in range(3):
        y[1:-1, 1:-1] = 0.25 * (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:])
    return y


def heat(x: Any) -> Any:
    """The loop is native, and its arrays take turns."""

    def step(_: Any, u: Any) -> Any:
        v = u.copy()
        v[1:-1, 1:-1] = five(u)
        return v

    return tj.lax.fori_loop(0, 4, step, x)


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(131, 195), (258, 66), (1100, 18)])
def test_five_points_of_all_sizes(shape: tuple[int, int]) -> None:
    x = some(*shape)
    assert has_tiles(five, x)
    check(five, x)


CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "nine points": (nine, (150, 140)),
    "without the middle": (lambda x: x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:], (150, 140)),
    "farther": (lambda x: x[:-4, 2:-2] + x[1:-3, 2:-2] + x[3:-1, 2:-2] + x[4:, 2:-2] - x[2:-2, 3:-1], (150, 140)),
    "a row before": (lambda x: x[:-1, 1:] - x[1:, 1:] * x[1:, :-1], (150, 140)),
    "seven points": (seven, (30, 27, 41)),
    "planes of a stack": (lambda x: x[:, :-2, 1:] + x[:, 1:-1, 1:] * x[:, 2:, 1:] + x[:, 1:-1, :-1], (5, 70, 90)),
    "corners of a cube": (lambda x: sum(x[i : i + 30, j : j + 30, k : k + 30] for i in (0, 1) for j in (0, 1)
                                        for k in (0, 1)), (31, 31, 31)),
    "backwards": (lambda x: five(x[::-1, ::-1]), (150, 140)),
    "transposed": (lambda x: five(x.T).T.copy(), (150, 140)),
    "two arrays": (lambda x: five(x) * nine(x * 2)[:, ::-1], (150, 140)),
    "in place": (steps, (150, 140)),
    "complex": (lambda x: five(x + 1j * x[::-1]), (150, 140)),
}  # fmt: skip


#: Cases of which the others have all that is new.
ALIKE = ("without the middle", "backwards", "transposed", "corners of a cube", "two arrays")


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.exhaustive] * (n in ALIKE)) for n in CASES]
)
def test_what_is_read(name: str) -> None:
    f, shape = CASES[name]
    check(f, some(*shape))


@pytest.mark.parametrize("name", ["nine points", "farther", "seven points", "planes of a stack", "in place"])
def test_these_have_tiles(name: str) -> None:
    f, shape = CASES[name]
    assert has_tiles(f, some(*shape))


def test_loops_whose_arrays_take_turns() -> None:
    x = some(150, 140)
    assert has_tiles(heat, x)
    want = x
    for _ in range(4):
        want = want.copy()
        want[1:-1, 1:-1] = five(want.copy())
    with tj.config.override(cuda="sanitize"):
        np.testing.assert_array_equal(tj.device_get(tj.jit(heat, device="cuda", fallback=False)(x)), want)


@pytest.mark.parametrize("dtype", [np.float16, np.bool_])
def test_all_dtypes(dtype: Any) -> None:
    def f(x: Any) -> Any:
        return np.where(x[1:-1, 1:-1] != 0, x[:-2, 1:-1] | x[1:-1, 2:] if dtype is np.bool_ else
                        x[:-2, 1:-1] + x[1:-1, 2:], x[1:-1, :-2])  # fmt: skip

    x = np.random.default_rng(0).integers(0, 2, (150, 140)).astype(dtype)
    assert has_tiles(f, x)
    check(f, x)


def test_each_element_is_fetched_once() -> None:
    """The kernel reads the array at one place of its text, unrolled or not, and each of the five from shared memory."""
    x = np.zeros((1026, 1026))
    (kernel,) = kernels(five, x)
    assert (kernel.kind, kernel.size, kernel.threads) == ("rows", 64 * 16, 256)
    assert kernel.is_near and kernel.own == -(-18 * 66 * 8 // 64) * 64
    for cc in ((7, 5), (9, 0), (10, 0)):
        loads = [line for line in ptx_of(lowered(five, x), cc).splitlines() if "ld." in line]
        of_array = sum("ld.global.b64" in line or "ld.global.nc.b64" in line for line in loads)
        assert 5 * of_array <= sum("ld.shared.b64" in line for line in loads)


def test_without_need_there_are_none() -> None:
    assert not has_tiles(lambda x: x[:, :-2] + x[:, 1:-1] + x[:, 2:], some(150, 140)), "along rows"
    assert not has_tiles(five, some(60, 60)), "small"
    assert not has_tiles(lambda x: x[:-2, :-2] + x[1:-1, 1:-1] + x[2:, 2:], some(150, 140)), (
        "most is not read"
    )
    assert not has_tiles(lambda x: x[:-90] + x[40:-50] + x[90:], some(250, 140)), "far apart"
