"""Executables: outputs, failures, callbacks, threads, recursion, the native shell and its fallback."""

from __future__ import annotations

import threading
import traceback

import numpy as np
import pytest
import scipy.special

from tracejit.errors import InternalTypeError
from tracejit.ir.avals import Aval, Dim
from tracejit.lowering.llvm import cpu
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64, Alloc, Copy, Free
from tracejit.lowering.lowered import Callback, Lowered
from tracejit.lowering.runtime import blas, shell
from tracejit.lowering.runtime import executable as runtime
from tracejit.lowering.runtime.arena import ARENA
from tracejit.lowering.runtime.compile import compile_llvm
from tracejit.lowering.runtime.executable import Executable

F8 = np.dtype(np.float64)
I4 = np.dtype(np.int32)


def executable(k: Builder, ins, outs, **fields) -> Executable:
    """`ins`, `outs`: (shape, dtype) pairs."""
    avals = [Aval(s, np.dtype(d)) for s, d in ins], [Aval(s, np.dtype(d)) for s, d in outs]
    fields = {"out_dims": [s for s, _ in outs], "aliases": {}, **fields}
    low = Lowered(k.program, avals[0], [()] * len(ins), avals[1], **fields)
    return Executable(low, compile_llvm(cpu.emit(k.program)))


def adder(n: int = 8, arena: int = 0, **fields) -> Executable:
    k = Builder()
    x, y, out = (k.buffer(name, F8, n, "arg", s) for s, name in enumerate(("x", "y", "out")))
    t = k.buffer("t", F8, n, "arena", 0) if arena else out
    k.program.arena_bytes = arena
    with k.loop(0, n, vector=True) as i:
        k.store(t, i, k.load(x, i) + k.load(y, i))
    if arena:
        with k.loop(0, n, vector=True) as i:
            k.store(out, i, k.load(t, i) * 2.0)
    return executable(k, [((n,), F8)] * 2, [((n,), F8)], **fields)


@pytest.fixture(params=["native", "ctypes"])
def shells(request, monkeypatch):
    """Every test with this fixture runs on the native shell and on the fallback."""
    monkeypatch.setattr(shell, "_KNOWN", request.param == "native")


def test_the_layout_is_known_here():
    assert shell.layout_is_known()


@pytest.mark.parametrize("small", [False, True])
def test_a_call_returns_new_arrays(shells, small):
    exe = adder(small=small)
    x, y = np.arange(8.0), np.ones(8)
    (a,), (b,) = exe(x, y), exe(x, y)
    np.testing.assert_array_equal(a, x + 1)
    assert a is not b and a.base is None
    np.testing.assert_array_equal(x, np.arange(8.0))


@pytest.mark.parametrize("arena", [64, 1 << 16])
def test_arenas_on_the_stack_and_in_blocks(shells, arena):
    exe = adder(8, arena)
    ARENA.clear()
    for _ in range(3):
        np.testing.assert_array_equal(exe(np.arange(8.0), np.ones(8))[0], 2 * np.arange(8.0) + 2)
    assert ARENA.kept == (arena + 64 if arena > 32768 else 0)


def test_arena_blocks_are_aligned(shells):
    """The address of the arena, as a callback sees it."""
    seen = []
    k = Builder()
    t = k.buffer("t", F8, 1 << 14, "arena", 64)
    k.program.arena_bytes = 8 << 14
    k.call(k.external("callback:0", "i32(ptr)"), (t,), I4, checked=True)
    callback = Callback(lambda ins, outs: seen.append(ins[0].ctypes.data), [(t, (4,), F8)], [])
    executable(k, [], [], callbacks=[callback])()
    assert seen[0] % 64 == 0


def test_zero_dimensional_and_empty_arrays(shells):
    k = Builder()
    x, out, none = (k.buffer(n, F8, 1, "arg", s) for s, n in enumerate(("x", "out", "none")))
    k.store(out, 0, k.load(x, 0) + 1.0)
    got, empty = executable(k, [((), F8)], [((), F8), ((0, 3), F8)])(np.array(2.0))
    assert got.shape == () and got == 3.0 and empty.shape == (0, 3) and none is not None


def test_a_wrong_number_of_arrays_is_an_error(shells):
    with pytest.raises(InternalTypeError, match="takes 2 arrays"):
        adder()(np.ones(8))


def test_failures_raise_their_exception(shells):
    k = Builder()
    x = k.buffer("x", I64, 1, "arg", 0)
    k.index(k.load(x, 0), 5, 2)
    exe = executable(k, [((), I64)], [], failures={2: lambda d: IndexError(f"{d[0]} of {d[1]}, {len(d)}")})
    assert exe(np.array(3)) == ()
    with pytest.raises(IndexError, match="9 of 5, 2"):
        exe(np.array(9))
    assert exe(np.array(3)) == ()


def test_an_unknown_status_is_an_internal_error(shells):
    k = Builder()
    k.index(1, 0, 77)
    with pytest.raises(InternalTypeError, match="77"):
        executable(k, [], [])()


def heap_exe(n: int) -> Executable:
    k = Builder()
    out = k.buffer("out", F8, 1, "arg", 0)
    t = k.buffer("t", F8, None, "heap")
    k.emit(Alloc(t, k.param(n)))
    k.store(t, 0, 4.0)
    k.emit(Copy(out, t, k.const(1, I64)))
    k.emit(Free(t))
    return executable(k, [], [((1,), F8)])


def test_heap_buffers(shells):
    assert heap_exe(10)()[0].tolist() == [4.0]
    with pytest.raises(MemoryError):
        heap_exe(1 << 58)()


def test_aliased_outputs_are_the_input(shells):
    k = Builder()
    x = k.buffer("x", F8, 4, "arg", 0)
    with k.loop(0, 4) as i:
        k.store(x, i, k.load(x, i) * 2.0)
    a = np.arange(4.0)
    (got,) = executable(k, [((4,), F8)], [((4,), F8)], aliases={0: 0})(a)
    assert got is a and a.tolist() == [0, 2, 4, 6]


def test_dynamic_outputs_are_cut_to_size(shells):
    k = Builder()
    n, out = k.buffer("n", I64, 1, "arg", 0), k.buffer("out", F8, 12, "arg", 1)
    with k.loop(0, k.load(n, 0)) as i:
        k.store(out, i, k.cast(i, F8))
    dim = Dim("n", 12)
    exe = executable(k, [((), I64)], [((dim,), F8)], out_dims=[(("input", 0),)])
    assert exe(np.array(5))[0].tolist() == [0, 1, 2, 3, 4]
    unbounded = executable(k, [((), I64)], [((Dim("n", None), 1), F8)], out_dims=[(("input", 0), 1)])
    assert unbounded(np.array(7))[0].shape == (7, 1)


def test_extents_that_are_outputs(shells):
    k = Builder()
    n, out = k.buffer("n", I64, 1, "arg", 0), k.buffer("out", F8, 12, "arg", 1)
    k.store(n, 0, 3)
    with k.loop(0, 12) as i:
        k.store(out, i, 1.0)
    exe = executable(k, [], [((), I64), ((Dim("n", 12),), F8)], out_dims=[(), (("output", 0),)])
    assert exe()[1].tolist() == [1, 1, 1]


# ---------------------------------------------------------------- callbacks


def with_callback(fn) -> Executable:
    """out = fn(x) on arrays of 3."""
    k = Builder()
    x, out = k.buffer("x", F8, 3, "arg", 0), k.buffer("out", F8, 3, "arg", 1)
    k.call(k.external("callback:0", "i32(ptr,ptr)"), (x, out), I4, checked=True)

    def fill(ins, outs):
        outs[0][...] = fn(*ins)

    callback = Callback(fill, [(x, (3,), F8)], [(out, (3,), F8)])
    return executable(k, [((3,), F8)], [((3,), F8)], callbacks=[callback], small=True)


def test_callbacks_see_and_give_arrays(shells):
    np.testing.assert_array_equal(with_callback(lambda x: x[::-1] * 2)(np.arange(3.0))[0], [4, 2, 0])


def test_callbacks_cannot_write_their_operands(shells):
    def fn(x):
        x[0] = 1.0
        return x

    with pytest.raises(ValueError, match="read-only"):
        with_callback(fn)(np.zeros(3))


def test_exceptions_of_callbacks_keep_their_traceback(shells):
    def fails_here(x):
        raise KeyError("mine")

    exe = with_callback(fails_here)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine") as info:
            exe(np.zeros(3))
        assert "fails_here" in "".join(traceback.format_tb(info.value.__traceback__))


def test_executables_are_reentrant(shells):
    depth = []

    def fn(x):
        depth.append(len(depth))
        if len(depth) < 5:
            return exe(x + 1)[0]
        raise ZeroDivisionError

    exe = with_callback(fn)
    with pytest.raises(ZeroDivisionError):
        exe(np.zeros(3))
    assert len(depth) == 5


def test_callbacks_with_dynamic_extents(shells):
    k = Builder()
    n = k.buffer("n", I64, 1, "arg", 0)
    x = k.buffer("x", F8, 6, "arg", 1)
    out = k.buffer("out", F8, 6, "arg", 2)
    size = k.load(n, 0)
    k.call(k.external("callback:0", "i32(ptr,ptr,i64,i64)"), (x, out, size, size), I4, checked=True)
    seen = []

    def fill(ins, outs):
        seen.append(ins[0].copy())
        np.add(ins[0], 1, out=outs[0])

    callback = Callback(
        fill,
        [(x, (None, 2), F8)],
        [(out, (None, 2), F8)],
        [(3, 2)],
        [(3, 2)],
    )
    exe = executable(k, [((), I64), ((3, 2), F8)], [((3, 2), F8)], callbacks=[callback])
    a = np.arange(6.0).reshape(3, 2)
    got = exe(np.array(2), a)[0]
    np.testing.assert_array_equal(seen[0], a[:2])
    np.testing.assert_array_equal(got[:2], a[:2] + 1)


# ---------------------------------------------------------------- threads, BLAS, speed


def test_many_threads_at_once(shells):
    exe, wrong = adder(512, 1 << 16), []

    def work(seed: int) -> None:
        x = np.full(512, float(seed))
        for _ in range(50):
            if not (exe(x, x)[0] == 4.0 * seed).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and ARENA.kept <= ARENA.limit


def test_the_gil_is_released_for_long_programs():
    """A callback of one thread waits for another thread's: impossible while the GIL is held."""
    barrier = threading.Barrier(2, timeout=10)
    exe = with_callback(lambda x: x + 0 * barrier.wait())
    got = []
    threads = [threading.Thread(target=lambda: got.append(exe(np.ones(3)))) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 2


@pytest.mark.parametrize("routine", ["dgemm", "sgemm"])
def test_blas_through_the_pointer_table(shells, routine):
    d = np.dtype(np.float64 if routine[0] == "d" else np.float32)
    k = Builder()
    a, b, out = (k.buffer(n, d, 6, "arg", s) for s, n in enumerate(("a", "b", "out")))
    gemm = k.external(f"blas:{routine}", f"void({','.join(['ptr'] * 13)})")
    flag = k.slot(k.const(ord("N"), np.uint8))
    n, m, one, zero = (
        k.slot(k.const(2, np.int64)),
        k.slot(k.const(3, np.int64)),
        k.slot(k.const(1, d)),
        k.slot(k.const(0, d)),
    )
    # C-ordered (2, 3) @ (3, 2) as Fortran's (2, 3)^T products: out^T = b^T a^T
    k.call(gemm, (flag, flag, n, n, m, one, b, n, a, m, zero, out, n))
    exe = executable(k, [((2, 3), d), ((3, 2), d)], [((2, 2), d)])
    x, y = np.arange(6, dtype=d).reshape(2, 3), np.ones((3, 2), d)
    np.testing.assert_allclose(exe(x, y)[0], x @ y)


def test_every_blas_routine_has_an_address():
    for name in [f"{t}{r}" for t in "sdcz" for r in ("gemm", "gemv")] + ["sdot", "ddot", "cdotu", "zdotu"]:
        assert blas.address(name)


def test_special_functions_through_the_pointer_table():
    k = Builder()
    x, out = (k.buffer(n, np.dtype(np.float64), 3, "arg", i) for i, n in enumerate(("x", "out")))
    target = k.external("special:psi", "f64(f64,i32)")
    with k.loop(0, 3) as i:
        k.store(out, i, k.call(target, (k.load(x, i), k.const(0, np.int32)), out=np.dtype(np.float64)))
    exe = executable(k, [((3,), np.float64)], [((3,), np.float64)])
    x = np.array([0.5, 1.0, -2.5])
    np.testing.assert_array_equal(exe(x)[0], scipy.special.psi(x))


def test_a_special_function_is_the_one_of_doubles():
    table = runtime.cython_special.__pyx_capi__
    for name in ("gammainc", "betainc", "psi", "expn", "hyp2f1", "jv", "gamma"):
        assert runtime.special_name(table, name) in table
    with pytest.raises(InternalTypeError, match="no function 'nonsense'"):
        runtime.special_name(table, "nonsense")


def test_unknown_externals_are_refused():
    k = Builder()
    k.call(k.external("nowhere:f", "void()"), ())
    with pytest.raises(InternalTypeError, match="nowhere:f"):
        executable(k, [], [])


def test_integers_that_a_program_takes() -> None:
    near, wide = shell.Input.of(3), shell.Input.of(2**40)
    assert near is not None and wide is not None
    for n, near_too, wide_too in (
        (2**31, True, True), (2**31 + 1, False, True), (-(2**31), True, True), (2**63 - 1, False, True),
        (2**63, False, False), (-(2**63), False, True), (-(2**63) - 1, False, False), (2.0, False, False),
    ):  # fmt: skip
        assert (near.accepts(n), wide.accepts(n)) == (near_too, wide_too)
