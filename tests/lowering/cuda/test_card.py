"""The code for a card, with a stand-in for CuPy: memory of the host, and kernels of the emulated device that are
launched by the addresses of their arguments, as the driver launches them."""

from __future__ import annotations

import ctypes
import functools
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.lowering.cuda.lowering import lowered
from tracejit.errors import DeviceMemoryError, LaunchError, NoDeviceError
from tracejit.lowering.cuda import card
from tracejit.lowering.cuda.emulated import Emulated
from tracejit.lowering.cuda.libs import emulated_blas, operations
from tracejit.lowering.cuda.running import DeviceProgram

X = np.linspace(-1, 1, 5000)
CAPTURING = 78  # the stream that is captured


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class CUDADriverError(RuntimeError):
    """As CuPy's."""


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


class Memory:
    """As CuPy's MemoryPointer."""

    def __init__(self, size: int) -> None:
        if size > 1 << 32:
            raise OutOfMemoryError("out of memory")
        self.block = np.full(size + 16, 0xFF, np.uint8)
        self.ptr = -(-self.block.ctypes.data // 16) * 16
        self.bytes = self.block[self.ptr - self.block.ctypes.data :]


class Array:
    """As cupy.ndarray, as far as it is used."""

    def __init__(self, shape: Any, dtype: Any, memory: Any = None) -> None:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.data = memory if memory is not None else Memory(size)
        self.view = np.ndarray(shape, dtype, self.data.bytes.data)

    def __setitem__(self, at: Any, value: Any) -> None:
        self.view[at] = value.view if isinstance(value, Array) else value

    def __getitem__(self, at: Any) -> Any:
        return self.view[at]


def copied(host: np.ndarray, order: str) -> Array:
    """As cupy.array."""
    out = Array(host.shape, host.dtype)
    out[...] = host
    return out


class Function:
    """As CuPy's Function: what the driver knows by a number."""

    known: dict[int, Any] = {}

    def __init__(self, kernel: Any) -> None:
        self.ptr, self.kernel, self.arguments = 1000 + len(self.known), kernel, 0
        self.known[self.ptr] = self


class Driver:
    """The functions of the driver and of the runtime that are called; `current` is a device for each thread."""

    CUDADriverError, CUDARuntimeError = CUDADriverError, CUDARuntimeError

    def __init__(self) -> None:
        self.local, self.calls, self.fails = threading.local(), [], False
        self.captured: list[Any] = []
        self.captures, self.registers = True, 40

    def getDevice(self) -> int:
        return getattr(self.local, "current", 0)

    def deviceGetAttribute(self, attribute: int, number: int) -> int:
        assert (attribute, number) == (16, 1)  # the number of multiprocessors
        return 132

    def funcGetAttribute(self, attribute: int, f: int) -> int:
        assert attribute == 4 and f in Function.known  # the registers of a thread
        return self.registers

    def memGetInfo(self) -> tuple[int, int]:
        self.calls.append("context")
        return 0, 0

    def launchKernel(self, f: int, *rest: int) -> None:
        grid, block, (shared, stream, params, extra) = rest[:3], rest[3:6], rest[6:]
        assert (
            grid[1:] == block[1:] == (1, 1)
            and (shared, extra) == (0, 0)
            and stream in (77, CAPTURING)
            and self.getDevice() == 1
        )
        if self.fails:
            raise CUDADriverError("CUDA_ERROR_LAUNCH_FAILED")
        kernel, count = Function.known[f].kernel, Function.known[f].arguments
        places = (ctypes.c_void_p * count).from_address(params)
        given = (ctypes.c_int64 * count)(*[ctypes.c_int64.from_address(p).value for p in places])

        def run() -> None:
            Emulated().run(kernel, given, grid[0], block[0], np.empty(1 << 16, np.int64))

        if stream == CAPTURING:
            self.captured.append(run)
            return
        run()
        self.calls.append("launch")

    def memsetAsync(self, address: int, value: int, size: int, stream: int) -> None:
        assert stream == 77
        ctypes.memset(address, value, size)
        self.calls.append("set")

    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        assert stream == 77 and kind in (1, 2)
        ctypes.memmove(target, source, size)
        self.calls.append(("to device", "to host")[kind - 1])

    def streamSynchronize(self, stream: int) -> None:
        self.calls.append("wait")


def stream_of(driver: Driver) -> Any:
    """As cupy.cuda.Stream, of the launches of which graphs are made."""

    class Stream:
        ptr = CAPTURING

        def __init__(self, non_blocking: bool) -> None:
            assert non_blocking, "nothing is captured on the default stream"

        def __enter__(self) -> None:
            driver.captured = []

        def __exit__(self, *error: Any) -> None:
            pass

        def begin_capture(self) -> None:
            if not driver.captures:
                raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported")

        def end_capture(self) -> Any:
            made = driver.captured

            def launch() -> None:
                driver.calls.append("graph")
                for run in made:
                    run()

            return SimpleNamespace(launch=launch)

    return Stream


class OnStandIn(card.Card):
    """Card number 1, whose kernels are those of the emulated device."""

    name = "emulated"

    def load(self, text: str, names: Any, sites: Any = ()) -> dict[str, Any]:
        return {n: Function(k) for n, k in Emulated().load(text, names).items()}

    def launcher(self, kernel: Any, blocks: int, threads: int, cells: Any, values: Any, words: int) -> Any:
        kernel.arguments = len(cells)
        return super().launcher(kernel, blocks, threads, cells, values, words)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()

    class Device:
        compute_capability, mem_info = "90", (123, 456)

        def __init__(self, number: int) -> None:
            self.number = number

        def __enter__(self) -> None:
            self.before, made.local.current = made.getDevice(), self.number

        def __exit__(self, *error: Any) -> None:
            made.local.current = self.before

    cuda = SimpleNamespace(
        Device=Device, runtime=SimpleNamespace(getDeviceCount=lambda: 2), alloc=Memory,
        alloc_pinned_memory=lambda size: np.zeros(size, np.uint8),
        memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        Stream=stream_of(made),
        get_current_stream=lambda: SimpleNamespace(ptr=77, synchronize=lambda: None),
    )  # fmt: skip
    monkeypatch.setattr(card, "cupy", SimpleNamespace(cuda=cuda, ndarray=Array, array=copied))
    monkeypatch.setattr(card, "_driver", made)
    monkeypatch.setattr(card, "_runtime", made)
    monkeypatch.setattr(operations, "CuBlas", lambda number, cc: emulated_blas)
    return made


def run(f: Any, *args: Any) -> tuple[DeviceProgram, list[np.ndarray]]:
    program = DeviceProgram(lowered(f, *args), on := OnStandIn(1))
    return program, [x.view for x in program(*[on.array(np.asarray(a)) for a in args])]


def test_a_small_call_is_one_launch_and_one_allocation(driver: Driver) -> None:
    program, (got,) = run(lambda x: np.exp(x) * 2 + x, X)
    np.testing.assert_allclose(got, np.exp(X) * 2 + X, rtol=1e-12)
    assert driver.calls == ["context", "launch"] and program.bytes == 0


def test_a_check_is_one_wait_at_the_end(driver: Driver) -> None:
    n = np.arange(3000)[::-1].copy()
    _, (got,) = run(lambda x, i: x[i], X, n)
    np.testing.assert_array_equal(got, X[n])
    assert driver.calls == ["context", "set", "launch", "to host", "wait"]
    with pytest.raises(IndexError, match="index 5999 is out of bounds"):
        run(lambda x, i: x[i], X, n + 3000)


def relax(x):
    for _ in range(7):
        x = np.tanh(np.roll(x, 1)) * 0.5 + x
    return x


def test_a_loop_of_launches_does_not_wait(driver: Driver) -> None:
    x = np.tile(X, 4)
    _, outs = run(relax, x)
    np.testing.assert_allclose(next(o for o in outs if o.shape == x.shape), relax(x), rtol=1e-13)
    assert "wait" not in driver.calls and driver.calls.count("launch") >= 7


def test_products_are_cublas_between_launches(driver: Driver) -> None:
    x = np.random.default_rng(0).normal(size=(80, 80))
    program, (got,) = run(lambda x: np.tanh(x @ x) @ x, x)
    np.testing.assert_allclose(got, np.tanh(x @ x) @ x, rtol=1e-12)
    lines = program.describe()
    assert [line.split()[0] for line in lines] == ["a", "library:", "kernel", "library:"], "all in a graph"


def test_threads_have_tables_of_their_own(driver: Driver) -> None:
    on = OnStandIn(1)
    program, wrong = DeviceProgram(lowered(lambda x: x * 2 + 1, X), on), []

    def work(k: int) -> None:
        given = on.array(X * k)
        wrong.extend(k for _ in range(50) if not np.array_equal(program(given)[0].view, X * k * 2 + 1))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and driver.calls.count("context") == 4


def test_errors_are_ours_and_the_program_works_afterwards(driver: Driver) -> None:
    on = OnStandIn(1)
    program = DeviceProgram(lowered(lambda x: x + 1, X), on)
    driver.fails = True
    with pytest.raises(LaunchError, match="CUDA_ERROR_LAUNCH_FAILED"):
        program(on.array(X))
    driver.fails = False
    np.testing.assert_array_equal(program(on.array(X))[0].view, X + 1)
    with pytest.raises(DeviceMemoryError, match="no room for 10000000000 bytes: 123 are free"):
        on.memory(10**10)


def _raised(error: Exception) -> Any:
    def count() -> int:
        raise error

    return count


@pytest.mark.parametrize(
    ("count", "cc", "said"),
    [
        (_raised(ImportError("libcuda.so.1: no such file")), "90", r"CuPy can't be imported \(libcuda.so.1"),
        (_raised(CUDARuntimeError("cudaErrorInsufficientDriver")), "90", "the driver says: cudaErrorInsuff"),
        (lambda: 1, "90", "no device 'cuda:1': there are 1 cards"),
        (lambda: 2, "70", r"compute capability is \(7, 0\), and \(7, 5\) is the oldest"),
    ],
)
def test_cards_that_are_not_there_say_why(driver: Driver, count: Any, cc: str, said: str) -> None:
    was, there = card.cupy.cuda.runtime.getDeviceCount, card.cupy.cuda
    there.runtime.getDeviceCount, there.Device.compute_capability = count, cc
    with pytest.raises(NoDeviceError, match=said):
        OnStandIn(1)
    there.runtime.getDeviceCount, there.Device.compute_capability = was, "90"
    _, (got,) = run(lambda x: x + 1, X)
    np.testing.assert_array_equal(got, X + 1)


def test_the_table_is_written_for_each_run(driver: Driver) -> None:
    on = OnStandIn(1)
    program = DeviceProgram(lowered(relax, np.tile(X, 4)), on)
    for k in range(3):
        x = np.tile(X, 4) + k
        np.testing.assert_allclose(program(on.array(x))[-1].view, relax(x), rtol=1e-13)
    assert len(program._tables) == 1


def test_launches_that_were_made_before_are_one_graph(driver: Driver) -> None:
    """With the same addresses: arrays lie where they lay, and so does memory that was given back."""
    on = OnStandIn(1)
    x = np.tile(X, 4)
    program, given = DeviceProgram(lowered(relax, x), on), on.array(x)
    (graph,) = program.steps
    kept = [program(given) for _ in range(6)]  # results that are kept lie elsewhere each time
    assert "graph" not in driver.calls and graph._misses == 6
    on.empty, on.memory = (_again(f) for f in (on.empty, on.memory))  # type: ignore[method-assign]
    driver.calls.clear()
    for n in range(4):
        given[...] = x + n
        launches = on.launches
        np.testing.assert_allclose(program(given)[-1].view, relax(x + n), rtol=1e-13)
        assert on.launches - launches >= 7
    assert driver.calls.count("graph") == 3 and "wait" not in driver.calls and kept
    graph._known.clear()
    driver.captures = False
    for _ in range(3):
        np.testing.assert_allclose(program(given)[-1].view, relax(x + 3), rtol=1e-13)
    assert driver.calls.count("graph") == 3 and not graph.wanted


def _again(make: Any) -> Any:
    """A function that gives for the same arguments what it gave the first time."""
    return functools.cache(lambda *args: make(*args))
