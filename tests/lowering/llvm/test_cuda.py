"""Kernels for NVPTX: they assemble for every supported architecture, and what cannot be one is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lowering.native import pointwise
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.llvm import cuda
from tracejit.lowering.llvm.vecmath import FUNCTIONS
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64

F8 = np.dtype(np.float64)


def fused():
    return pointwise(lambda k, x, y: k.math("exp", x) * k.math("sin", y) + 2.0, [F8, F8], F8)


@pytest.mark.parametrize("cc", [(7, 5), (8, 0), (9, 0), (10, 0)])
def test_a_fused_kernel_assembles(cc):
    ptx = cuda.assemble(cuda.emit_kernel(fused()), cc)
    assert ".visible .entry kernel_main(" in ptx
    assert f".target sm_{cc[0]}{cc[1]}" in ptx
    assert "%ctaid.x" in ptx and "%nctaid.x" in ptx  # a grid-stride loop
    assert "fma.rn.f64" in ptx


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_function_assembles_without_calls_to_the_outside(dtype):
    k = Builder("all")
    x, out = (k.buffer(n, np.dtype(dtype), 0, "arg", i) for i, n in enumerate(("x", "out")))
    with k.loop(0, 1000, vector=True) as i:
        v = total = k.load(x, i)
        for name, (_, arity) in FUNCTIONS.items():
            total = total + k.math(name, *[v] * arity)
        k.store(out, i, total)
    ptx = cuda.assemble(cuda.emit_kernel(k.program))
    assert ".extern" not in ptx


def test_kernel_names_are_made_of_what_ptx_allows():
    k = Builder("<lambda> of größe")
    assert cuda.kernel_name(k.program).replace("_", "").isalnum() and cuda.kernel_name(k.program).isascii()


def test_pointers_are_global():
    ptx = cuda.assemble(cuda.emit_kernel(pointwise(lambda k, x: x + 1.0, [F8], F8)))
    assert "ld.global" in ptx and "st.global" in ptx


def test_programs_that_are_not_one_parallel_loop_are_refused():
    two = Builder()
    out = two.buffer("out", F8, 8, "arg", 0)
    for _ in range(2):
        with two.loop(0, 8) as i:
            two.store(out, i, two.const(1.0, F8))
    with pytest.raises(Unsupported, match="before the parallel loop"):
        cuda.emit_kernel(two.program)
    carry = Builder()
    out = carry.buffer("out", F8, 8, "arg", 0)
    s = carry.slot(carry.const(0.0, F8))
    with carry.loop(0, 8) as i:
        carry.set(s, carry.get(s) + 1.0)
        carry.store(out, i, carry.get(s))
    with pytest.raises(Unsupported, match="carried from one iteration"):
        cuda.emit_kernel(carry.program)
    check = Builder()
    with check.loop(0, 8) as i:
        check.index(i, 3, 1)
    with pytest.raises(Unsupported, match="calls, checks"):
        cuda.emit_kernel(check.program)
    with pytest.raises(Unsupported, match="one loop"):
        cuda.emit_kernel(Builder().program)


def test_params_and_arena_are_kernel_parameters():
    k = Builder("scaled")
    scratch = k.buffer("t", F8, 64, "arena", 0)
    out = k.buffer("out", F8, 64, "arg", 0)
    k.program.arena_bytes = 512
    n = k.param(64)
    with k.loop(0, n) as i:
        k.store(scratch, i, k.cast(i, F8))
        k.store(out, i, k.load(scratch, i) * 2.0)
    text = cuda.emit_kernel(k.program)
    assert (
        "define ptx_kernel void @kernel_scaled(ptr noalias %arg0, i64 %param0, ptr noalias align 16 %arena)"
        in text
    )
    assert ".entry kernel_scaled" in cuda.assemble(text)
    assert n.dtype == I64
