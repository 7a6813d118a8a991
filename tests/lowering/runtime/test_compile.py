"""Text to machine code: caching, errors, threads, self-contained objects."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import tracejit as tj
from tests.lowering.native import call, pointwise
from tracejit.config import config
from tracejit.errors import InternalTypeError
from tracejit.lowering.llvm import cpu
from tracejit.lowering.llvm.text import has_loops
from tracejit.lowering.llvm.vecmath import FUNCTIONS
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64, Const, Copy
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime.compile import compile_llvm

F8 = np.dtype(np.float64)


def text_of(c: float) -> str:
    return cpu.emit(pointwise(lambda k, x: x + c, [F8], F8))


def test_identical_text_is_compiled_once():
    assert compile_llvm(text_of(1.25)) is compile_llvm(text_of(1.25))
    assert compile_llvm(text_of(1.25)) is not compile_llvm(text_of(1.5))


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(machine, "_CACHE_SIZE", 2)
    first = compile_llvm(text_of(10.0))
    for c in (11.0, 12.0):
        compile_llvm(text_of(c))
    assert len(machine._cache) <= 2
    assert compile_llvm(text_of(10.0)) is not first
    x, got = np.arange(3.0), np.empty(3)
    call(first, [x, got], (3,))  # evicted code stays valid while it is held
    np.testing.assert_array_equal(got, x + 10)


def test_code_shows_what_ran():
    code = compile_llvm(text_of(2.0))
    assert code.address and code.object_bytes[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    assert "define" in code.optimized_llvm() and "x double>" in code.optimized_llvm()
    assert "entry:" in code.asm()


def test_invalid_text_is_an_internal_error():
    with pytest.raises(InternalTypeError, match="does not verify"):
        compile_llvm("define i32 @entry() { ret i64 0 }")


_INVALID = """
define i32 @entry(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  ret i32 %x
}
"""


def test_invalid_ir_made_by_the_slp_vectoriser_is_thrown_away(monkeypatch):
    def run(text: str, slp: bool):
        return llvm.parse_assembly(_INVALID, llvm.create_context()) if slp else run_passes(text, slp)

    run_passes = machine._run_passes
    monkeypatch.setattr(machine, "_run_passes", run)
    x, got = np.arange(3.0), np.empty(3)
    call(compile_llvm(text_of(20.0)), [x, got], (3,))
    np.testing.assert_array_equal(got, x + 20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_waits_for_a_thread_that_holds_llvmlites_own_lock():
    """As finalizers do."""
    compile_llvm(text_of(999.0))
    held = threading.Event()

    def hold() -> None:
        with llvm.ffi.lib._lock:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    status = _status_of_child(lambda: compile_llvm(text_of(-999.0)))
    thread.join()
    assert status == 0


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_while_a_thread_compiles_can_compile():
    stop = threading.Event()

    def keep_compiling() -> None:
        for n in itertools.count():
            if stop.is_set():
                return
            compile_llvm(text_of(1000.0 + n))

    thread = threading.Thread(target=keep_compiling)
    thread.start()
    try:
        statuses = [_status_of_child(lambda n=n: compile_llvm(text_of(-1.0 - n))) for n in range(4)]
    finally:
        stop.set()
        thread.join()
    assert statuses == [0] * 4


def _status_of_child(fn: Callable[[], Any]) -> int | None:
    """How a forked child ends that runs `fn`; None if it hangs."""
    pid = os.fork()
    if pid == 0:
        fn()
        os._exit(0)
    for _ in range(1000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def test_threads_compile_at_once():
    got: dict[int, float] = {}

    def work(n: int) -> None:
        out = np.empty(4)
        call(compile_llvm(text_of(100.0 + n)), [np.zeros(4), out], (4,))
        got[n] = out[0]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == {n: 100.0 + n for n in range(8)}


def undefined_symbols(object_bytes: bytes) -> set[str]:
    """Names an ELF object needs from elsewhere, by way of its string table."""
    names = {s.decode() for s in object_bytes.split(b"\0") if s.isascii() and s}
    return {
        n for n in names if (n.startswith("__") and "ti3" in n) or n in ("fma", "sin", "exp", "pow", "log")
    }


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_objects_need_nothing_from_outside(dtype):
    d = np.dtype(dtype)

    def everything(k, x):
        total = x
        for name, (_, arity) in FUNCTIONS.items():
            total = total + k.math(name, *[x] * arity)
        for op in ("floor", "ceil", "trunc", "rint", "sqrt"):
            total = total + k.float_op(op, x)
        half = k.cast(k.cast(total, np.float16), d)
        return half + k.cast(k.cast(total, np.uint64), d)

    code = compile_llvm(cpu.emit(pointwise(everything, [d], d)))
    assert not undefined_symbols(code.object_bytes)


def test_memcpy_and_memset_resolve():
    k = Builder()
    x, out, zero = (k.buffer(n, F8, 5000, "arg", s) for s, n in enumerate(("x", "out", "zero")))
    k.emit(Copy(out, x, Const(5000, I64)))
    with k.loop(0, 5000) as i:  # becomes a memset
        k.store(zero, i, 0.0)
    code = compile_llvm(cpu.emit(k.program))
    assert "memset" in code.asm() and "memcpy" in code.asm()
    x_, out_, zero_ = np.arange(5000.0), np.empty(5000), np.ones(5000)
    call(code, [x_, out_, zero_])
    assert (x_ == out_).all() and not zero_.any()


def test_importing_the_package_loads_no_compiler():
    program = (
        "import sys, tracejit; "
        "print([m for m in ('llvmlite', 'numba', 'scipy', 'cupy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_settings_of_llvm_are_taken_back(monkeypatch):
    """They are the process's, and others may compile with LLVM too."""
    set_to: dict[str, str] = {}
    changes: list[str] = []

    def record(_: str, option: str) -> None:
        changes.append(option)
        set_to.update([option.split("=")])

    monkeypatch.setattr(machine.llvm, "set_option", record)
    monkeypatch.setattr(machine, "_cache", type(machine._cache)())
    compile_llvm(text_of(30.0))
    with pytest.raises(InternalTypeError):
        compile_llvm(_INVALID)
    assert set_to == {"-disable-lsr": "false", "-slp-vectorize-hor": "true"}
    assert changes.count("-disable-lsr=true") == 1 and changes.count("-slp-vectorize-hor=false") == 1


def test_the_target_is_this_host():
    assert machine._machine().triple == llvm.get_process_triple() or "linux" in machine._machine().triple


def test_gathers_from_the_stack_see_what_was_stored_before():
    """LLVM's alias analysis overlooks vectors of pointers: it moved a store behind the gather that reads it."""

    def f(a):
        part = a[0, 1:]
        out = np.insert(part, 1, 0, axis=0)  # a small array on the stack, read at other places
        for j in range(3):
            part[j] *= j
        return out, a

    rows = np.stack([np.asfortranarray(np.arange(1.0, 13.0).reshape(3, 4) * (k + 1)) for k in range(3)])
    compiled = tj.jit(tj.vmap(f))
    want = [[r[0, 1], 0, r[0, 2], r[0, 3]] for r in rows]
    for _ in range(3):
        np.testing.assert_array_equal(compiled(rows)[0], want)
    (program,) = next(iter(compiled._programs.values()))
    (code,) = program.machine_code.values()
    assert "masked.gather" not in code.code.optimized_llvm()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_passes_leave_nothing_in_memory():
    """llvmlite's pass managers left 0.15 MB of every module."""
    f = tj.jit(tj.grad(lambda x: (np.tanh(x) * np.sin(x)).sum()))
    text = f.lower(np.ones(100)).compile().as_text("source")

    def resident(times: int) -> float:
        for _ in range(times):
            machine._optimized(text)
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    before = resident(5)
    assert resident(18) - before < 1.5


def test_programs_without_optimisation() -> None:
    """They give the same bits but for sums, whose order LLVM may choose."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(20):
            y = np.sin(y) * x + np.exp(-x * x) / (1 + y * y)
        return y, y.cumsum(), np.sort(y), y.sum()

    x = np.random.default_rng(0).normal(size=37)
    outs, texts = [], []
    for optimize in (True, False):
        with config.override(optimize=optimize):
            compiled = tj.jit(f).lower(x).compile()
            outs.append(compiled(x))
            texts.append(compiled.as_text("asm"))
    for a, b in zip(outs[0][:3], outs[1][:3], strict=True):
        assert a.tobytes() == b.tobytes()
    np.testing.assert_allclose(outs[0][3], outs[1][3], rtol=1e-14)
    assert texts[0] != texts[1]


def test_long_programs_without_loops_are_compiled_in_linear_time(monkeypatch: Any) -> None:
    """Where nothing is done twice, registers are allocated quickly: 900 operations took seconds."""

    def f(xs: Any) -> Any:
        return [[(a - b) ** 2 for a in xs] for b in xs]

    levels: list[Any] = []
    real = machine._machine

    def asked(*args: Any, **options: Any) -> Any:
        levels.append(options.get("level", 3))
        return real(*args, **options)

    monkeypatch.setattr(machine, "_machine", asked)
    xs = [float(n) for n in range(16)]
    with config.override(optimize=True):
        assert tj.jit(f)(xs) == f(xs)
        assert levels[-1] == 0
        tj.jit(lambda x: np.cos(x) / 3)(np.ones(5))
        assert levels[-1] == 3


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("define i32 @f() {\nentry:\n  br label %a\na:\n  br label %a\n}\n", True),
        (
            "define i32 @f() {\nentry:\n  br i1 1, label %a, label %b\na:\n  br label %b\nb:\n  ret i32 0\n}\n",
            False,
        ),
        (
            "define i32 @f() {\na:\n  ret i32 0\n}\ndefine i32 @g() {\ne:\n  br label %a\na:\n  ret i32 0\n}\n",
            False,
        ),
    ],
)
def test_loops_go_back_to_a_label(text: str, wanted: bool) -> None:
    assert has_loops(text) is wanted
