"""The CPU emitter: structure, memory, calls and failures; vectorisation and aliasing."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.native import call, pointwise
from tracejit.lowering.linking.processor import vector_bits
from tracejit.lowering.llvm import cpu, vecmath
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64, Alloc, Block, Const, Copy, Free, Rotate, SetPointer, While
from tracejit.lowering.runtime.compile import MANY_SCALARS, compile_llvm

F8 = np.dtype(np.float64)
rng = np.random.default_rng(0)


def build(k: Builder):
    return compile_llvm(cpu.emit(k.program))


def output(k: Builder, size: int, dtype=F8, slot: int = 0):
    return k.buffer("out", np.dtype(dtype), size, "arg", slot)


# ---------------------------------------------------------------- structure


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (2, 5), (5, 5), (7, 3), (-3, 2)])
@pytest.mark.parametrize("down", [False, True])
def test_loops_run_over_their_range(start, stop, down):
    k = Builder()
    out, count = output(k, 20), k.slot(k.const(0, I64))
    k.program.params.extend([start, stop])
    a, b = (k._inst("param", I64, (), n) for n in (0, 1))
    with k.loop(a, b, down=down) as i:
        k.store(out, k.get(count), k.cast(i, F8))
        k.set(count, k.get(count) + 1)
    k.store(out, 19, k.cast(k.get(count), F8))
    got = np.zeros(20)
    call(build(k), [got], (start, stop))
    seen = list(range(start, stop))[:: -1 if down else 1]
    assert got[: len(seen)].tolist() == seen and got[19] == len(seen)


def test_while_if_and_slots():
    """Collatz: number of steps from each start."""
    k = Builder()
    x, out = k.buffer("x", I64, 10, "arg", 0), output(k, 10, I64, 1)
    with k.loop(0, 10) as i:
        n, steps = k.slot(k.load(x, i)), k.slot(k.const(0, I64))
        node = While(Block(), None, Block())
        k.emit(node)
        with k.into(node.head):
            node.cond = k.gt(k.get(n), 1)
        with k.into(node.body):
            v = k.get(n)
            with k.when(k.eq(k.and_(v, 1), 0)) as branch:
                k.set(n, k.int_op("ashr", v, 1))
            with k.into(branch.orelse):
                k.set(n, v * 3 + 1)
            k.set(steps, k.get(steps) + 1)
        k.store(out, i, k.get(steps))
    starts, got = np.arange(1, 11), np.empty(10, np.int64)
    call(build(k), [starts, got])
    assert got.tolist() == [0, 1, 7, 2, 5, 8, 16, 3, 19, 6]


def test_boolean_slots_and_buffers():
    k = Builder()
    x, out = k.buffer("x", np.dtype(bool), 6, "arg", 0), output(k, 1, bool, 1)
    s = k.slot(k.const(False, bool))
    with k.loop(0, 6) as i:
        k.set(s, k.xor(k.get(s), k.load(x, i)))
    k.store(out, 0, k.get(s))
    x_, got = np.array([1, 0, 1, 1, 0, 0], bool), np.empty(1, bool)
    call(build(k), [x_, got])
    assert got[0]


def test_pointers_swap():
    """Double buffering: b[i] = a[i] * 2, five times."""
    k = Builder()
    out = output(k, 4)
    a, b = (k.buffer(n, F8, 4, "arena", 32 * s) for s, n in enumerate("ab"))
    p, q = (k.buffer(n, F8, 4, "pointer") for n in "pq")
    with k.loop(0, 4) as i:
        k.store(a, i, k.cast(i, F8) + 1.0)
    k.emit(SetPointer(p, a))
    k.emit(SetPointer(q, b))
    with k.loop(0, 5), k.loop(0, 4, vector=True) as i:
        k.store(q, i, k.load(p, i) * 2.0)
        with k.when(k.eq(i, 3)):
            k.emit(Rotate((p, q)))
    k.emit(Copy(out, p, Const(4, I64)))
    got = np.empty(4)
    call(build(k), [got])
    assert got.tolist() == [32.0, 64.0, 96.0, 128.0]


def test_failures_leave_details():
    k = Builder()
    x = k.buffer("x", I64, 8, "arg", 0)
    with k.loop(0, 8) as i:
        v = k.load(x, i)
        k.index(v, 100, 7)
    code = build(k)
    assert call(code, [np.arange(8)])[0] == 0
    status, details = call(code, [np.array([0, 0, 0, 123, 500, 0, 0, 0])])
    assert status == 7 and details == [123, 100]


def heap_program(fails: bool):
    k = Builder()
    out = output(k, 4)
    t = k.buffer("t", F8, None, "heap")
    with k.loop(1, 5) as n:
        k.emit(Alloc(t, n))
        k.index(n, 3 if fails else 10, 3)
        with k.loop(0, n) as i:
            k.store(t, i, k.cast(i, F8) * 10.0)
        k.store(out, n - 1, k.load(t, n - 1))
    k.emit(Free(t))
    return k


@pytest.mark.parametrize("fails", [False, True])
def test_heap_blocks_grow_and_are_freed_on_every_exit(fails):
    live: dict[int, object] = {}
    asked: list[int] = []

    def malloc(n: int) -> int:
        asked.append(n)
        block = ctypes.create_string_buffer(n)
        live[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def free(p: int | None) -> None:
        if p:
            del live[p]

    def blocks(p: int | None, n: int) -> int | None:
        return malloc(n) if n else free(p)

    pool = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(blocks)
    k, got = heap_program(fails), np.zeros(4)
    code = build(k)
    functions = {"pool:blocks": pool}
    table = [ctypes.cast(functions[e.name], ctypes.c_void_p).value for e in k.program.externals]
    status, _ = call(code, [got], table=table)
    assert status == (3 if fails else 0)
    assert not live
    assert asked == ([8, 16, 24] if fails else [8, 16, 24, 32])
    assert got.tolist() == ([0, 10, 0, 0] if fails else [0, 10, 20, 30])


def test_allocation_failure_ends_the_program():
    pool = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(lambda p, n: None)
    k = heap_program(False)
    code = build(k)
    functions = {"pool:blocks": pool}
    table = [ctypes.cast(functions[e.name], ctypes.c_void_p).value for e in k.program.externals]
    assert call(code, [np.zeros(4)], table=table)[0] == -2


def test_calls_pass_every_kind_of_argument():
    seen = []

    def target(buffer, element, slot, number, x) -> int:
        seen.append((buffer, element - buffer, ctypes.c_double.from_address(slot).value, number, x))
        ctypes.c_double.from_address(slot).value = 5.0
        return 0 if number < 2 else 42

    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_double)
    native = kind(target)
    k = Builder()
    out = output(k, 8)
    ext = k.external("c:test", "i32(ptr,ptr,ptr,i64,f64)")
    s = k.slot(k.const(1.5, F8))
    with k.loop(0, 3) as i:
        k.call(ext, (out, (out, i), s, i, k.const(0.25, F8)), np.dtype(np.int32), checked=True)
    got = np.zeros(8)
    status, _ = call(build(k), [got], table=[ctypes.cast(native, ctypes.c_void_p).value])
    assert status == 42
    assert seen == [(got.ctypes.data, 8 * n, 1.5 if n == 0 else 5.0, n, 0.25) for n in range(3)]


def test_comments_are_in_the_text():
    k = Builder()
    k.comment("c = add a b  # line 3\nof the user")
    assert "; c = add a b  # line 3 of the user" in cpu.emit(k.program)


# ---------------------------------------------------------------- vectorisation and aliasing


def reduction(attr):
    k = Builder()
    x, out = k.buffer("x", F8, 1000, "arg", 0), output(k, 1, F8, 1)
    s = k.slot(k.const(0.0, F8))
    with k.loop(0, 1000, vector=True) as i:
        k.set(s, k.add(k.get(s), k.load(x, i), attr))
    k.store(out, 0, k.get(s))
    return k


def test_only_reassociable_sums_vectorise():
    assert "zmm" in build(reduction("reassoc")).asm() or "ymm" in build(reduction("reassoc")).asm()
    strict = build(reduction(None))
    x, got = rng.normal(size=1000), np.empty(1)
    call(strict, [x, got])
    assert got[0] == np.cumsum(x)[-1]


def matrix_program(kind: str):
    """out[i, j] = a[i, j] * b[j] + c[i] over a 64 x 64 nest, through an arena temporary."""
    k = Builder()
    n = 64
    a, b, c, out = (k.buffer(x, F8, n * n, "arg", s) for s, x in enumerate(("a", "b", "c", "out")))
    t = k.buffer("t", F8, n, kind, 0)
    with k.loop(0, n) as i:
        with k.loop(0, n, vector=True) as j:
            k.store(t, j, k.load(a, i * n + j) * k.load(b, j))
        with k.loop(0, n, vector=True) as j:
            k.store(out, i * n + j, k.load(t, j) + k.load(c, i))
    k.program.arena_bytes = n * 8
    return k


@pytest.mark.parametrize("kind", ["arena", "stack"])
def test_nests_vectorise_without_runtime_checks(kind):
    code = build(matrix_program(kind))
    text = code.optimized_llvm()
    assert "x double>" in text and "vector.memcheck" not in text
    a, b, c = rng.normal(size=(64, 64)), rng.normal(size=64), rng.normal(size=64)
    got = np.empty((64, 64))
    call(code, [a, b, c, got], arena=512)
    np.testing.assert_array_equal(got, a * b + c[:, None])


def test_buffers_that_share_memory_are_not_declared_apart():
    k = Builder()
    one, two = (k.buffer(n, F8, 8, "arena", s) for n, s in (("one", 0), ("two", 32)))
    out = output(k, 8)
    k.program.may_alias.append((one, out))
    with k.loop(0, 8) as i:
        k.store(one, i, 1.0)
        k.store(two, i, 2.0)
        k.store(out, i, k.load(one, i))
    text = cpu.emit(k.program)
    tagged = [line for line in text.splitlines() if "store double 0x3FF0" in line]
    assert tagged and "noalias" not in tagged[0]  # `one` overlaps `two` and may be `out`
    assert any("!noalias" in line for line in text.splitlines() if "store double 0x4000" in line)


def test_elementwise_kernels_use_wide_vectors():
    code = compile_llvm(cpu.emit(pointwise(lambda k, x, y: x * y + 1.0, [F8, F8], F8)))
    assert "zmm" in code.asm() or "ymm" in code.asm()


def rows(n: int) -> Builder:
    """out[i, j] = a[i, j] * b[j] over 500 short rows."""
    k = Builder()
    a, b, out = (k.buffer(x, F8, 500 * n, "arg", s) for s, x in enumerate(("a", "b", "out")))
    with k.loop(0, 500) as i, k.loop(0, n, vector=True) as j:
        k.store(out, i * n + j, k.load(a, i * n + j) * k.load(b, j))
    return k


@pytest.mark.parametrize("n", [4, 8, 16, 20])
def test_short_rows_vectorise_and_are_not_written_out(n):
    code = build(rows(n))
    text = code.optimized_llvm()
    assert "x double>" in text and text.count("fmul") <= 24
    a, b, got = rng.normal(size=(500, n)), rng.normal(size=n), np.empty((500, n))
    call(code, [a, b, got])
    np.testing.assert_array_equal(got, a * b)


def test_long_rows_are_not_written_out_either():
    """LLVM knows their length, and would repeat what it makes of them some twenty times."""
    code = build(rows(510))
    assert 1 <= code.optimized_llvm().count("fmul <") <= 4
    a, b, got = rng.normal(size=(500, 510)), rng.normal(size=510), np.empty((500, 510))
    call(code, [a, b, got])
    np.testing.assert_array_equal(got, a * b)


def test_what_a_vectorised_loop_leaves_over_is_not_repeated():
    text = tj.jit(np.exp).lower(np.ones(5000)).as_text("llvm")
    once = vecmath._function_text("exp", 8, vector_bits(), "").count("llvm.fma.f64")
    assert text.count("call double @llvm.fma.f64(double %") == once


def test_accumulators_of_short_rows_stay_in_registers():
    """out[j] += a[i, j]: the inner loop is unrolled once it is vectorised, so `out` is stored once."""
    k = Builder()
    a, out = k.buffer("a", F8, 8000, "arg", 0), output(k, 16, slot=1)
    with k.loop(0, 16, vector=True) as j:
        k.store(out, j, 0.0)
    with k.loop(0, 500) as i, k.loop(0, 16, vector=True) as j:
        k.store(out, j, k.load(out, j) + k.load(a, i * 16 + j))
    code = build(k)
    loop = code.optimized_llvm().split("phi i64")[-1]
    assert "fadd <" in loop and "store" not in loop.split("br i1")[0]
    x, got = rng.normal(size=(500, 16)), np.empty(16)
    call(code, [x, got])
    np.testing.assert_array_equal(got, np.cumsum(x, 0)[-1])


@pytest.mark.parametrize("count", [2, 12])
def test_many_scalars_of_a_loop_are_not_packed(count: int) -> None:
    """LLVM may look for vectors among a few numbers that a loop carries, not among many."""
    k = Builder()
    out = k.buffer("out", F8, count, "arg", 0)
    slots = [k.slot(k.const(n / count, F8), "s") for n in range(count)]
    with k.loop(0, 1000):
        now = [k.get(s) for s in slots]
        for n, s in enumerate(slots):
            k.set(s, now[n] * now[n - 1] * 0.5 + 0.25)
    for n, s in enumerate(slots):
        k.store(out, n, k.get(s))
    text = cpu.emit(k.program)
    assert (MANY_SCALARS in text) == (count > 3)
    got, want = np.zeros(count), np.arange(count) / count
    assert call(compile_llvm(text), [got])[0] == 0
    for _ in range(1000):
        want = want * np.roll(want, 1) * 0.5 + 0.25
    np.testing.assert_array_equal(got, want)
