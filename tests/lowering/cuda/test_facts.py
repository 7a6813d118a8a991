"""What the planner knows of statements."""

from __future__ import annotations

import numpy as np

from tests.lowering.cuda.lowering import first
from tracejit.lowering.cuda.facts import Facts, is_set_first
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import BOOL, I64, Block, Const, For, If, Inst, Program, Reg, SetSlot, Slot
from tracejit.lowering.lowered import Lowered

SLOT = Slot("s", I64)
SET = SetSlot(SLOT, Const(1, I64))
GET = Inst("get", Reg(0, I64, None), (), SLOT)  # type: ignore[arg-type]
COND = Reg(1, BOOL, None)  # type: ignore[arg-type]


def loop(stop: object, *stmts: object) -> For:
    return For(Reg(2, I64, None), Const(0, I64), stop, Block(list(stmts)))  # type: ignore[arg-type]


def test_whether_a_slot_is_set_before_it_is_read() -> None:
    some, none = Const(3, I64), Reg(3, I64, None)  # type: ignore[arg-type]
    branch = If(COND, Block([SET]), Block())
    assert is_set_first(SLOT, Block([SET, GET]), True)
    assert not is_set_first(SLOT, Block([GET, SET]))
    assert is_set_first(SLOT, Block([branch])), "nothing reads it"
    assert not is_set_first(SLOT, Block([branch]), True), "what it was is read afterwards"
    assert not is_set_first(SLOT, Block([branch, GET]))
    assert is_set_first(SLOT, Block([If(COND, Block([SET]), Block([SET])), GET]), True)
    assert is_set_first(SLOT, Block([loop(some, SET), GET]), True)
    assert not is_set_first(SLOT, Block([loop(none, SET), GET])), "it may have no iterations"
    assert is_set_first(SLOT, Block([loop(none, SET, GET)]))
    assert not is_set_first(SLOT, Block([loop(some, GET, SET)]))


def test_iterations_of_a_block() -> None:
    """`range(b << 13, min((b + 1) << 13, n))` has 8,192 iterations; of loops that only look like it nobody knows."""

    def trips(first: tuple[str, int], second: tuple[str, int], least: str = "smin") -> int:
        start, end, stop, block, n, var = (Reg(k, I64, None) for k in range(10, 16))  # type: ignore[arg-type]
        made = [Inst(op, r, (block, Const(by, I64))) for r, (op, by) in ((start, first), (end, second))]
        over = For(var, start, stop, Block())
        return Facts(Program("blocks", Block([*made, Inst(least, stop, (end, n)), over]))).trips(over)

    shifted, other = ("shl", 13), ("imul", 13)
    assert trips(shifted, shifted) == 8192
    unknown = trips(shifted, ("shl", 12))
    assert unknown != 8192 and trips(shifted, shifted, "smax") == unknown
    assert trips(other, other) == trips(shifted, other) == trips(other, shifted) == unknown


def test_what_a_branch_leaves_alone_is_kept() -> None:
    """A slot that one of two branches sets, between loops that threads share."""
    k = Builder("kept")
    x, out = (k.buffer(n, np.dtype(float), 400, "arg", i) for i, n in enumerate(("x", "out")))
    s = k.slot(k.const(7.0, np.float64))
    with k.loop(0, 400, vector=True) as i:
        k.store(out, i, k.load(x, i))
    with k.when(k.gt(k.load(out, 0), 5.0)):
        k.set(s, k.const(8.0, np.float64))
    with k.loop(0, 400, vector=True) as i:
        k.store(out, i, k.load(x, i) * k.get(s))
    on = first()
    args = on.array(np.ones(400)), on.array(np.zeros(400))
    DeviceProgram(Lowered(k.program, [], [], [], [], {}), on)(*args)
    np.testing.assert_array_equal(args[1].get(), np.full(400, 7.0))
