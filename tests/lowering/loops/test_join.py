"""Loops that take turns row by row: which are joined, what shrinks to a row, and that the results stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.running import check, strides_of, trace_closed
from tracejit import ops
from tracejit.config import config
from tracejit.lowering.fuse import lower
from tracejit.lowering.loops.extents import LEAST
from tracejit.lowering.loops.nodes import For
from tracejit.lowering.lowered import Lowered
from tracejit.ops.building.dims import dims_of
from tracejit.ops.elementwise.arithmetic import add, mul
from tracejit.ops.elementwise.transcendental import exp, sin
from tracejit.ops.shapes.broadcast import broadcast_to

ROWS, COLUMNS = LEAST + 7, 40
X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))


def lowered(fn: Callable[..., Any], *args: np.ndarray) -> Lowered:
    jaxpr, consts = trace_closed(fn, *args)
    return lower(jaxpr, [strides_of(a) for a in (*consts, *args)], {})


def rows_of(program: Any) -> list[int]:
    """The sizes of the blocks between loops."""
    return sorted(b.size for b in program.buffers if b.kind in ("arena", "private"))


def outer(program: Any) -> int:
    return sum(isinstance(s, For) for s in program.body.stmts)


def turned(x: Any, axis: int) -> Any:
    return ops.shape.rev(x, dimensions=(axis,))


def weighted(x: Any) -> Any:
    """Every row times the same row, which makes it a nest of two loops."""
    rows, columns = dims_of(x)
    return mul(x, broadcast_to(np.linspace(0.5, 1.5, columns), (rows, columns)))


def chain(x: Any, axis: int = 1) -> Any:
    """Two values that are too expensive to be computed twice, each read forwards and backwards."""
    y = exp(sin(weighted(x)))
    z = sin(add(y, mul(x, turned(y, axis))))
    return add(z, turned(z, axis))


def test_reversed_rows_take_turns() -> None:
    program = lowered(chain, X).program
    assert outer(program) == 1 and rows_of(program) == [COLUMNS, COLUMNS]
    check(chain, X)


def test_what_crosses_rows_is_not_joined() -> None:
    """Columns that are reversed need all rows before."""
    program = lowered(lambda x: chain(x, 0), X).program
    assert outer(program) == 3 and rows_of(program) == [X.size, X.size]
    check(lambda x: chain(x, 0), X)


def test_a_result_between_loops_stays_whole() -> None:
    def f(x: Any) -> list[Any]:
        y = exp(sin(weighted(x)))
        return [y, chain(y)]

    program = lowered(f, X).program
    assert outer(program) == 1 and rows_of(program) == [COLUMNS, COLUMNS]
    check(f, X)


def test_what_a_later_loop_reads_stays_whole() -> None:
    """The loops before it are joined, and their value is read along columns afterwards."""

    def f(x: Any) -> Any:
        y = chain(exp(x))
        return ops.reduce.reduce_sum(mul(y, turned(y, 0)), axes=(0,))

    assert X.size in rows_of(lowered(f, X).program)
    check(f, X)


def test_neighbours_in_other_rows() -> None:
    """A stencil: a row and the next one."""

    def f(x: Any) -> Any:
        y = exp(sin(weighted(x)))
        top = ops.slices.slice(y, start_indices=(1, 0), limit_indices=(ROWS, COLUMNS))
        low = ops.slices.slice(y, start_indices=(0, 0), limit_indices=(ROWS - 1, COLUMNS))
        return mul(add(top, low), turned(low, 1))

    assert X.size in rows_of(lowered(f, X).program)
    check(f, X)


def test_few_rows_stay_apart() -> None:
    assert outer(lowered(chain, X[: LEAST - 1]).program) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_and_hessians(threads: int) -> None:
    """Against finite differences of the gradient; with threads each has rows of its own."""

    def f(x: np.ndarray) -> Any:
        y = np.sin(x) * np.exp(-(x**2)) + x * x[::-1]
        return (y * y).sum()

    x, h = np.linspace(-1, 1, 150), 1e-5
    with config.override(num_threads=threads):
        got = tj.jit(tj.hessian(f))(x)
    g = tj.jit(tj.grad(f))
    want = [(g(x + h * e) - g(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(got, want, atol=1e-8)


# ---------------------------------------------------------------- checked indices


def lookup(x: np.ndarray, i: np.ndarray) -> Any:
    return np.sin(x)[i] * 2


@pytest.mark.parametrize("n", [LEAST - 1, LEAST, 255, 256, 257, 5000])
@pytest.mark.parametrize("threads", [1, 3])
def test_indices_are_checked_and_used_in_turns(n: int, threads: int) -> None:
    rng = np.random.default_rng(n)
    x, i = rng.standard_normal(100), rng.integers(-100, 100, n)
    f = tj.jit(lookup)
    with config.override(num_threads=threads):
        for _ in range(2):
            np.testing.assert_array_equal(f(x, i), f(np.array(x), i.copy()))
            np.testing.assert_allclose(f(x, i), lookup(x, i), rtol=1e-14)
        for at in (0, n // 2, n - 1):
            wrong = i.copy()
            wrong[at:] = 100
            wrong[-1] = 7000 if at < n - 1 else -101
            with pytest.raises(IndexError, match=f"index {wrong[at]} "):
                f(x, wrong)
        np.testing.assert_allclose(f(x, i), lookup(x, i), rtol=1e-14)


def blocks_of_indices(fn: Callable[..., Any]) -> list[int]:
    x, i = np.ones(100), np.zeros(5000, np.int64)
    program = tj.jit(fn).lower(x, i).compile()._compiled.lowered.program
    return sorted(b.size for b in program.buffers if b.kind in ("arena", "private") and b.dtype == np.int64)


def test_checked_indices_need_room_for_a_block() -> None:
    assert blocks_of_indices(lambda x, i: x[i]) == [256]


def test_indices_that_several_nests_read_stay_whole() -> None:
    assert set(blocks_of_indices(lambda x, i: (x[i], np.cumsum((2 * x)[i])))) == {5000}
