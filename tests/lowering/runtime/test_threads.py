"""The pool of threads: every part of a range once, whatever else the process does."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.config import config
from tracejit.errors import ForkedCallError
from tracejit.lowering.loops import parallel
from tracejit.lowering.runtime import threads
from tracejit.lowering.runtime.compile import compile_llvm

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
RNG = np.random.default_rng(3)
LARGE = RNG.normal(size=200_001)


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    with config.override(num_threads=3):
        yield


@pytest.fixture
def everything_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_WORTH", 1)
    monkeypatch.setattr(parallel, "_SHARE", 1)


# ---------------------------------------------------------------- the pool by itself

# Adds 1 to every element of its part; fails with code 40 + k at element `frame[-1]` = k.
_CHUNK = """
define i32 @entry(ptr %frame, i64 %first, i64 %last, ptr %status, i64 %who) {
  %bad.at = getelementptr i64, ptr %frame, i64 -1
  %bad = load i64, ptr %bad.at
  br label %loop
loop:
  %i = phi i64 [ %first, %0 ], [ %next, %on ]
  %fails = icmp eq i64 %i, %bad
  br i1 %fails, label %fail, label %on
on:
  %p = getelementptr i64, ptr %frame, i64 %i
  %x = load i64, ptr %p
  %y = add i64 %x, 1
  store i64 %y, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %out
fail:
  store i64 %i, ptr %status
  ret i32 40
out:
  ret i32 0
}
"""


def runner() -> Callable[[np.ndarray, int, int, int], tuple[int, int]]:
    """run(frame, start, stop, grain) -> code and first detail."""
    integers = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    native = ctypes.CFUNCTYPE(ctypes.c_int32, *integers)(threads.address("run"))
    chunk = compile_llvm(_CHUNK)

    def run(frame: np.ndarray, start: int, stop: int, grain: int) -> tuple[int, int]:
        status = (ctypes.c_int64 * 8)()
        code = native(chunk.address, frame[1:].ctypes.data, start, stop, grain, ctypes.addressof(status))
        return code, status[0]

    return run


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_element_once(count: int) -> None:
    run = runner()
    with config.override(num_threads=count):
        for start, stop, grain in [
            (0, 0, 1),
            (5, 3, 1),
            (0, 1, 1),
            (3, 7, 4),
            (0, 1000, 1),
            (7, 100_003, 512),
        ]:
            frame = np.zeros(100_010, np.int64)
            frame[0] = -1
            for _ in range(20):
                assert run(frame, start, stop, grain) == (0, 0)
            want = np.zeros_like(frame)
            want[0], want[1 + start : max(1 + stop, 1 + start)] = -1, 20
            np.testing.assert_array_equal(frame, want)


def test_the_first_failure_is_reported() -> None:
    """Elements before it are done, as they are by one thread."""
    run = runner()
    for bad in (0, 17, 999, 4095):
        frame = np.zeros(4097, np.int64)
        frame[0] = bad
        assert run(frame, 0, 4096, 8) == (40, bad)
        assert (frame[1 : 1 + bad] == 1).all()
        frame[0] = -1
        assert run(frame, 0, 4096, 8) == (0, 0)


def test_threads_are_started_when_they_are_needed() -> None:
    code = """
import numpy as np, tracejit as tj
from tracejit.lowering.runtime import threads
x = np.linspace(0, 1, 2_000_000)
f = tj.jit(lambda x: np.exp(x) * np.sin(x))
tj.config.num_threads = 1
a = f(x)
assert threads.started() == 0
tj.config.num_threads = 4
tj.jit(lambda x: x + 1)(x[:10])
assert threads.started() == 0
b = f(x)
assert threads.started() == 3 and a.tobytes() == b.tobytes()
tj.config.num_threads = 2
assert f(x).tobytes() == b.tobytes() and threads.started() == 3
print("done")
"""
    assert _python(code) == "done"


def _python(code: str) -> str:
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env)
    assert got.returncode == 0, got.stderr
    assert not got.stderr
    return got.stdout.strip()


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "import os; os._exit(0)"])
def test_the_interpreter_ends(end: str) -> None:
    """With threads that wait, and with one in the middle of a job."""
    code = f"""
import threading, time, numpy as np, tracejit as tj
tj.config.num_threads = 3
x = np.linspace(0, 1, 2_000_000)
f = tj.jit(lambda x: np.exp(np.sin(np.cos(x))))
def work():
    while True:
        f(x)
f(x)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
print("done", flush=True)
{end}
"""
    assert _python(code) == "done"


# ---------------------------------------------------------------- concurrent and nested calls


def heavy(x: Any) -> Any:
    return np.exp(np.sin(x) * np.cos(x)) + np.tanh(x)


def test_many_threads_share_one_pool() -> None:
    f, g = tj.jit(heavy), tj.jit(tj.grad(lambda x: np.sum(heavy(x))))
    want = f(LARGE), g(LARGE)
    results: list[Any] = []

    def work() -> None:
        for _ in range(3):
            results.append((f(LARGE), g(LARGE)))

    workers = [threading.Thread(target=work) for _ in range(32)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(120)
    assert len(results) == 96
    assert all(a.tobytes() == want[0].tobytes() and b.tobytes() == want[1].tobytes() for a, b in results)


def test_calls_inside_of_callbacks() -> None:
    inner = tj.jit(heavy)

    def outer(x: Any) -> Any:
        return heavy(tj.pure_callback(lambda a: inner(np.asarray(a)), x, heavy(x)))

    np.testing.assert_array_equal(tj.jit(outer)(LARGE), inner(inner(inner(LARGE))))


def test_config_is_read_at_every_call() -> None:
    f = tj.jit(heavy)
    want = f(LARGE).tobytes()
    before = f.trace_count
    for count in (1, 5, 2, 1024, 1):
        with tj.config.override(num_threads=count):
            assert f(LARGE).tobytes() == want
    assert f.trace_count == before


# ---------------------------------------------------------------- failures and signals


def test_the_index_that_numpy_reports(everything_is_worth_it: None) -> None:
    f = tj.jit(lambda x, i: x[i] * 2)
    x, i = np.arange(100.0), np.arange(5000) % 100
    np.testing.assert_array_equal(f(x, i), x[i] * 2)
    for at, bad in [(4990, 123), (2500, -101), (17, 101)]:  # the next one is always before
        i[at] = bad
        for _ in range(10):
            with pytest.raises(IndexError, match=f"index {bad} "):
                f(x, i)
    assert f(x, i[:17])[3] == 6


def lanes_forever(x: Any) -> Any:
    """One lane never ends."""
    return tj.vmap(lambda a: lax.while_loop(lambda c: c < a, lambda c: c + 1e-300, 0.0))(x)


@pytest.mark.parametrize("where", [0, 999])
def test_control_c_in_a_parallel_loop(where: int, everything_is_worth_it: None) -> None:
    """Whichever thread has the lane that never ends."""
    x = np.zeros(1000)
    f = tj.jit(lanes_forever)
    assert "# parallel" in f.lower(x).as_text("loops")
    assert not f(x).any()
    x[where] = 1.0
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.4, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            f(x)
    finally:
        signal.signal(signal.SIGINT, before)
    timer.join()
    assert time.perf_counter() - start < 30
    assert not f(np.zeros(1000)).any()
    assert heavy_is_right()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs Linux")
def test_signals_go_to_the_users_threads() -> None:
    """All signals are blocked in the pool's threads but those that are about the thread that they stop."""
    before = set(os.listdir("/proc/self/task"))
    assert heavy_is_right()
    masks = set()
    for thread in set(os.listdir("/proc/self/task")) - before or before - {str(os.getpid())}:
        with open(f"/proc/self/task/{thread}/status") as status:
            masks.add(next(int(s.split()[1], 16) for s in status if s.startswith("SigBlk")))
    own = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
    never = (signal.SIGKILL, signal.SIGSTOP)  # which nothing can block, nor signals that the C library keeps
    wanted = {s for s in signal.valid_signals() if s not in own + never}
    blocked = [{s for s in signal.valid_signals() if mask >> s - 1 & 1} for mask in masks]
    assert wanted in blocked


def heavy_is_right() -> bool:
    return bool(np.allclose(tj.jit(heavy)(LARGE), heavy(LARGE), rtol=1e-12))


def test_a_signal_handler_may_run_compiled_code(everything_is_worth_it: None) -> None:
    seen: list[bool] = []
    f, x = tj.jit(heavy), LARGE
    f(x)

    def handler(*_: Any) -> None:
        seen.append(bool(np.array_equal(f(x), f(x))))
        if len(seen) == 3:
            raise TimeoutError

    stuck = np.zeros(1000)
    stuck[-1] = 1.0
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.1)
    try:
        with pytest.raises(TimeoutError):
            tj.jit(lanes_forever)(stuck)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) >= 3 and all(seen)


# ---------------------------------------------------------------- fork


def in_child(work: Callable[[], bool]) -> bool:
    """Whether `work` is right in a forked child."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_has_a_pool_of_its_own() -> None:
    f = tj.jit(heavy)
    want = f(LARGE)

    def work() -> bool:
        first = threads.started() == 0 and np.array_equal(f(LARGE), want)
        return first and threads.started() == 2 and heavy_is_right()

    assert threads.started() >= 2
    assert in_child(work)
    assert in_child(lambda: in_child(work) and work())
    assert np.array_equal(f(LARGE), want)


HEAVY = tj.jit(heavy)


def _work_of_a_process(n: int) -> tuple[bytes, int]:
    return HEAVY(LARGE + n).tobytes(), threads.started()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_processes_of_multiprocessing() -> None:
    want = [HEAVY(LARGE + n).tobytes() for n in range(8)]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        got = pool.map(_work_of_a_process, range(8), chunksize=1)
    assert [bits for bits, _ in got] == want
    assert {started for _, started in got} == {2}


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_in_the_middle_of_another_threads_job() -> None:
    f, stop = tj.jit(heavy), threading.Event()
    want = f(LARGE)

    def busy() -> None:
        while not stop.is_set():
            f(LARGE)

    others = [threading.Thread(target=busy) for _ in range(3)]
    for t in others:
        t.start()
    try:
        assert all(in_child(lambda: bool(np.array_equal(f(LARGE), want))) for _ in range(12))
    finally:
        stop.set()
        for t in others:
            t.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_signal_handler_that_forks(everything_is_worth_it: None) -> None:
    """The child finds out that the other threads of its job are gone; the parent's job goes on."""
    parent, codes = os.getpid(), list[int]()

    def handler(*_: Any) -> None:
        pid = os.fork()
        if pid:
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            raise TimeoutError

    stuck = np.zeros(1000)
    stuck[-1] = 1.0
    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.4, lambda: os.kill(parent, signal.SIGUSR1))
    timer.start()
    try:
        tj.jit(lanes_forever)(stuck)
    except TimeoutError:
        pass
    except ForkedCallError:
        os._exit(7)
    finally:
        if os.getpid() != parent:
            os._exit(9)
        signal.signal(signal.SIGUSR1, before)
    timer.join()
    assert codes == [7]
