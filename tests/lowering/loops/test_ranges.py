"""Ranges of integers: sound for every rule; what they leave out of a program changes no result and no error."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from tests.lowering.native import call
from tracejit.lowering.llvm import cpu
from tracejit.lowering.loops.hoist import Recorder
from tracejit.lowering.loops.nodes import I64, Const, Reg, Size
from tracejit.lowering.loops.ranges import ANY, hull, range_of_inst, range_of_number
from tracejit.lowering.runtime.compile import compile_llvm

RNG = np.random.default_rng(5)
EDGES = [-(2**63), -(2**62), -7, -1, 0, 1, 5, 2**31, 2**62, 2**63 - 1]
OPS = {"iadd": operator.add, "isub": operator.sub, "imul": operator.mul, "smin": min, "smax": max}


@pytest.mark.parametrize("op", OPS)
def test_results_are_in_range(op: str) -> None:
    """By all pairs of ends and random numbers between them, in integers that do not overflow."""
    regs = Reg(0, I64, None), Reg(1, I64, None)  # type: ignore[arg-type]
    for _ in range(300):
        x, y = (tuple(sorted(map(int, RNG.choice(EDGES, 2)))) for _ in range(2))
        low, high = range_of_inst(op, regs, (x, y))
        for a in (*x, (x[0] + x[1]) // 2):
            for b in (*y, (y[0] + y[1]) // 2):
                got = OPS[op](a, b)
                assert low <= got <= high or (low, high) == ANY


@pytest.mark.parametrize("counts", [(0, 0), (0, 63), (1, 5), (63, 63), (-1, 3), (0, 64)])
def test_shifts_to_the_right_are_in_range(counts: tuple[int, int]) -> None:
    """Counts outside 0 … 63 say nothing: the instruction has no result for them."""
    regs = Reg(0, I64, None), Reg(1, I64, None)  # type: ignore[arg-type]
    for ends in ((-9, 7), (5, 9), (-9, -3), ANY):
        low, high = range_of_inst("ashr", regs, (ends, counts))
        assert (low, high) == ANY or (counts[0] >= 0 and counts[1] <= 63)
        assert all(low <= x >> n <= high for x in ends for n in counts if n >= 0)


def test_numbers() -> None:
    reg = Reg(0, np.dtype(np.uint8), None)  # type: ignore[arg-type]
    assert range_of_number(3) == range_of_number(Const(3, I64)) == (3, 3)
    assert range_of_number(reg) == range_of_inst("cast", (reg,), (range_of_number(reg),)) == (0, 255)
    assert range_of_number(Const(2.5, np.dtype(float))) == range_of_number(Size(-3, I64)) == ANY
    assert range_of_number(Size(100, I64)) == range_of_number(Size(300, I64)), "the text is that of all sizes"
    assert hull([(0, 3), (-2, 1)]) == (-2, 3) and hull([(0, 3), None]) is None


def test_what_is_left_out() -> None:
    k = Recorder()
    with k.loop(0, 10) as i:
        assert k.int_op("smin", i, 9) is i and k.int_op("smax", i, 0) is i
        assert k.int_op("smin", i, 8) is not i
        assert k.index(i, 10, 1) is i, "known to be inside"
        at = k.index(i - 3, 10, 2)
        assert at is not i and k.index(i - 3, 10, 3) is at, "checked once"
        assert k.int_op("smin", at, 9) is at
        unknown = k.index(k.load(k.buffer("x", I64, 8, "arg", 0), 0), 5, 4)
        assert k.depth_of(unknown) == k.depth, "what is read at it must not leave the block of the check"
    checks = [s.attr for s in k.block.stmts[0].body.stmts if s.op == "index"]
    assert [(c.wraps, c.below) for c in checks] == [(True, True), (True, False)]


@pytest.mark.parametrize("wraps", [True, False])
@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("size", [1, 5, 2**40])
def test_native_checks(wraps: bool, below: bool, size: int) -> None:
    k = Recorder()
    x, out = k.buffer("x", I64, 1, "arg", 0), k.buffer("out", I64, 1, "arg", 1)
    k.store(out, 0, k.index(k.load(x, 0), size, 3, wraps, below))
    code = compile_llvm(cpu.emit(k.program))
    for i in {0, size - 1, size, size + 1, -1, -size, -size - 1, 2**63 - 1, -(2**63)}:
        if below and i >= size:
            continue
        got = np.array([77])
        status, details = call(code, [np.array([i]), got])
        inside = (-size if wraps else 0) <= i < size
        assert status == (0 if inside else 3)
        assert got[0] == (i % size if inside else 77)
        assert inside or details == [i, size]
