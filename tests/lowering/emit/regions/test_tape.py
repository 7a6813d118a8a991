"""Loops that push rows: records on a growing block, read by what follows or handed over to the caller."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.lowering.running import check, run, strides_of, trace
from tracejit import ops
from tracejit.control.regions.rules import Typed, build
from tracejit.control.while_loop.op import while_op
from tracejit.ir.avals import Aval, aval_of
from tracejit.lowering.fuse import lower
from tracejit.lowering.llvm.memory import _FIRST_BLOCK
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.runtime import pool
from tracejit.ops.elementwise.arithmetic import add, mul
from tracejit.ops.elementwise.compare import lt
from tracejit.tracing import bind

ROW = np.array([1.5, -2.0, 0.25])
DTYPES = [np.bool_, np.float64, np.float32, np.int16, np.complex128, np.int64, np.complex64, np.int8]


def cast(x: Any, dtype: Any) -> Any:
    return ops.create.convert_element_type(x, dtype=np.dtype(dtype))


def pushed(n: Any, row: Any, dtypes: Any) -> list[Any]:
    """[steps, rows of the step number times `row` in each dtype], `n` of them."""
    count, bound, vector = Typed(Aval((), I64)), Typed(aval_of(n)), Typed(aval_of(row))

    def body(row: Any, k: Any) -> list[Any]:
        x = mul(row, cast(k, np.float64))
        return [add(k, np.int64(1)), *(cast(x, d) for d in dtypes)]

    return bind(
        while_op, n, row, np.int64(0), cond_consts=1, body_consts=1,
        cond=build(lambda n, k: [lt(k, n)], [bound, count]), body=build(body, [vector, count]),
    )  # fmt: skip


def totals(n: Any, row: Any) -> list[Any]:
    steps, *rows = pushed(n, row, DTYPES[1:])
    return [steps, *(ops.reduce.reduce_sum(x, axes=(0,)) for x in rows)]


@pytest.mark.parametrize("n", [0, 1, 2, 77])
def test_rows_of_every_dtype(n: int) -> None:
    """Natively, and by an interpreter that checks every access against the block."""
    check(totals, np.int64(n), ROW)
    check(totals, np.int64(n), ROW[0])


@pytest.mark.parametrize("n", [0, 1, 3, 100, 5000])
def test_blocks_that_are_handed_over(n: int) -> None:
    """They are the rows' own size, but for a factor of two; a second call allocates what the first one needed."""
    args = [np.array(n), ROW]
    lowered = lower(trace(lambda n, row: pushed(n, row, DTYPES), *args), [strides_of(a) for a in args], {})
    record = sum(3 * np.dtype(d).itemsize for d in DTYPES)
    record = -(-record // 16) * 16
    for _ in range(2):
        steps, *rows = run(lowered, *args)
        assert steps == n
        for x, d in zip(rows, DTYPES, strict=True):
            assert x.dtype == d and x.shape == (n, 3)
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(x, (np.arange(n)[:, None] * ROW).astype(d))
            assert n == 0 or x.strides == (record, np.dtype(d).itemsize)
        if n:
            start = min(x.ctypes.data for x in rows)
            (held,) = (ctypes.c_int64 * 1).from_address(start - 16)
            grown = max(2 * n * record, _FIRST_BLOCK)
            assert n * record <= held <= pool._WASTE * grown  # the pool may have had a larger one


def test_one_block_for_several_outputs_and_copies() -> None:
    """An output that is there twice, and one that is computed from the rows."""

    def f(n: Any, row: Any) -> list[Any]:
        steps, x = pushed(n, row, [np.float64])
        return [steps, x, ops.transcendental.sin(x), x]

    args = [np.array(9), ROW]
    lowered = lower(trace(f, *args), [strides_of(a) for a in args], {})
    _, x, y, again = run(lowered, *args)
    want = np.arange(9.0)[:, None] * ROW
    np.testing.assert_array_equal(x, want)
    np.testing.assert_array_equal(again, want)
    np.testing.assert_allclose(y, np.sin(want), rtol=1e-15)


def test_rows_that_nobody_reads_are_not_pushed() -> None:
    lowered = lower(trace(lambda n, row: pushed(n, row, DTYPES)[:1], np.array(4), ROW), [(), (1,)], {})
    assert not any(b.kind == "field" for b in lowered.program.buffers)
    assert run(lowered, np.array(4), ROW) == [4]
