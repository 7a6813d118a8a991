"""The memory plan: buffers share space exactly if their lifetimes allow it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from tests.lowering.running import check
from tracejit import ops
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.memory import _named, plan_memory
from tracejit.lowering.loops.nodes import (
    BOOL,
    I64,
    Buffer,
    Call,
    Const,
    Copy,
    External,
    Inst,
    Rotate,
    SetPointer,
    Store,
)
from tracejit.ops.elementwise.transcendental import exp
from tracejit.ops.reductions.reduce import reduce_sum
from tracejit.ops.shapes.shape import rev

F64 = np.dtype(np.float64)


def buffers(k: Builder, count: int, size: int = 100):
    return [k.buffer(f"b{n}", F64, size, "arena") for n in range(count)]


def move(k: Builder, target, source) -> None:
    k.emit(Copy(target, source, Const(100, I64)))


def test_a_pipeline_needs_two_buffers():
    k = Builder()
    b = buffers(k, 5)
    for target, source in zip(b[1:], b, strict=False):
        move(k, target, source)
    plan_memory(k.program, {})
    assert k.program.arena_bytes == 2 * 832
    assert len({x.slot for x in b}) == 2
    assert all(x.slot % 64 == 0 for x in b)


def test_overlapping_lifetimes_get_space_of_their_own():
    k = Builder()
    b = buffers(k, 3)
    move(k, b[1], b[0])
    move(k, b[2], b[0])
    move(k, b[2], b[1])
    plan_memory(k.program, {})
    assert len({x.slot for x in b}) == 3


def test_buffers_from_outside_a_loop_live_until_its_end():
    k = Builder()
    b = buffers(k, 3)
    k.store(b[0], 0, Const(1.0, F64))
    with k.loop(0, 3):
        move(k, b[1], b[0])
        move(k, b[2], b[1])
    plan_memory(k.program, {})
    assert b[0].slot not in (b[1].slot, b[2].slot)


def test_buffers_of_an_iteration_share_space():
    k = Builder()
    b = buffers(k, 4)
    with k.loop(0, 3):
        body = k.block
        for target, source in zip(b[1:], b, strict=False):
            move(k, target, source)
    plan_memory(k.program, dict.fromkeys(b, body))
    assert k.program.arena_bytes == 2 * 832


def test_buffers_behind_pointers_are_in_use_with_them():
    k = Builder()
    a, b, c = buffers(k, 3)
    p = k.buffer("p", F64, 100, "pointer")
    q = k.buffer("q", F64, 100, "pointer")
    k.store(a, 0, Const(1.0, F64))
    k.emit(SetPointer(p, a))
    k.emit(SetPointer(q, b))
    k.emit(Rotate((p, q)))
    k.store(c, 0, Const(2.0, F64))
    move(k, p, q)
    plan_memory(k.program, {})
    assert len({x.slot for x in (a, b, c)}) == 3


def test_branches():
    k = Builder()
    b = buffers(k, 3)
    k.store(b[0], 0, Const(1.0, F64))
    with k.when(Const(True, BOOL)) as node:
        move(k, b[1], b[0])
    with k.into(node.orelse):
        move(k, b[2], b[0])
    plan_memory(k.program, {})
    assert b[1].slot == b[2].slot != b[0].slot


def test_no_buffers_no_arena():
    k = Builder()
    k.store(k.buffer("out", I64, 1, "arg", 0), 0, Const(1, I64))
    plan_memory(k.program, {})
    assert k.program.arena_bytes == 0


def test_a_long_program_reuses_its_arena():
    def f(x):
        for _ in range(8):
            x = rev(ops.cumulative.cumsum(exp(x), axis=0), dimensions=(0,))
            x = ops.arithmetic.div(x, reduce_sum(x, axes=(0,)))
        return x

    low = check(f, np.linspace(0.0, 1.0, 1000), rtol=1e-9)
    assert low.program.arena_bytes <= 2 * 8064


def _buffers_in(x: Any) -> set[Buffer]:
    """What a statement names, by its fields: blocks have statements of their own."""
    if isinstance(x, Buffer):
        return {x}
    if isinstance(x, (tuple, list)):
        return set().union(*map(_buffers_in, x))
    return set().union(*(_buffers_in(getattr(x, f.name)) for f in fields(x))) if is_statement(x) else set()


def is_statement(x: Any) -> bool:
    return isinstance(x, (Call, Copy, Inst, Rotate, SetPointer, Store))


def test_what_a_statement_touches_is_all_that_it_names():
    """Else the buffer's place could be given to another one too early."""
    k = Builder()
    a, b, p = *buffers(k, 2), k.buffer("p", F64, 100, "pointer")
    x = k.load(a, 3)
    k.store(b, 2, x)
    for stmt in (
        Copy(a, b, Const(100, I64)),
        SetPointer(p, b),
        Rotate((p, a)),
        Call(External("f", "i32 (ptr, ptr)"), (a, (b, Const(3, I64)))),
    ):
        k.emit(stmt)
    seen = list(walk(k.program.body.stmts))
    assert {type(s) for s in seen} >= {Call, Copy, Inst, Rotate, SetPointer, Store}
    for stmt in seen:
        assert set(_named(stmt)) == _buffers_in(stmt), stmt
