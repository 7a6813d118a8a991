"""The door to native code: stages as text, operands in any memory layout, execution of jaxprs, the GIL."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.config import config
from tracejit.interpreters.jit import MAX_LAYOUTS, Compiled, c_strides, element_strides, execute, operand

X = np.arange(12.0).reshape(3, 4)


def compiled(f: Any, *args: Any) -> Compiled:
    return Compiled(tj.make_jaxpr(f)(*args).jaxpr, tuple(element_strides(np.asarray(a)) for a in args))


def test_every_stage_has_a_text() -> None:
    c = compiled(lambda x: np.exp(-x), X)
    marks = {
        "jaxpr": "exp",
        "loops": "for",
        "source": "define",
        "llvm": "define",
        "asm": "ret",
        "ptx": "sm_90",
    }
    for stage, mark in marks.items():
        assert mark in c.as_text(stage), stage
    with pytest.raises(ValueError, match="choose one of jaxpr, loops, source, llvm, asm, ptx"):
        c.as_text("hlo")


def test_what_the_host_runs_has_no_kernels() -> None:
    c = compiled(lambda x: lax.fori_loop(0, 5, lambda i, a: a * 2, x.sum()), X)
    assert ".visible .entry k0" in c.as_text("ptx")
    with pytest.raises(ValueError, match="no CUDA kernels: the host runs all"):
        compiled(lambda x: tj.pure_callback(np.sort, x, x), X).as_text("ptx")


def test_strides() -> None:
    assert c_strides((2, 3, 4)) == (12, 4, 1) and c_strides(()) == ()
    assert element_strides(X.T) == (1, 4) and element_strides(X) == (4, 1)
    assert element_strides(X[:, ::2]) == (4, 2) and element_strides(X[::-1]) == (-4, 1)


def unaligned(a: np.ndarray) -> np.ndarray:
    raw = np.empty(a.nbytes + 1, np.uint8)
    out = raw[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    assert not out.flags.aligned
    return out


def record_field(a: np.ndarray) -> np.ndarray:
    """A field of packed records: its stride is not a multiple of the item size."""
    table = np.zeros(a.shape, [("a", "i1"), ("b", a.dtype)])
    table["b"] = a
    return table["b"]


def frozen(a: np.ndarray) -> np.ndarray:
    out = a.copy()
    out.flags.writeable = False
    return out


LAYOUTS = {
    "c": lambda a: a,
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "negative": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": unaligned,
    "byteswapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "field": record_field,
    "read only": frozen,
    "memory map like": lambda a: a.view(type("Sub", (np.ndarray,), {})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_any_memory_layout(layout: str, dtype: Any) -> None:
    a = LAYOUTS[layout](X.astype(dtype))
    f = tj.jit(lambda x: (x * 3 - x.T.sum(), x[1:, ::2]))
    want = (np.asarray(a) * 3 - np.asarray(a).sum(), np.asarray(a)[1:, ::2])
    for _ in range(3):  # traced, the general way, the fast way
        got = f(a)
        assert (
            got[0].dtype == want[0].dtype.newbyteorder("=") and got[1].dtype == want[1].dtype
        )  # that is a view
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("layout", ["fortran", "strided", "negative", "unaligned", "byteswapped", "field"])
def test_writes_reach_any_layout(layout: str) -> None:
    def bump(x: Any) -> Any:
        x[1:] += 1
        return x.sum()

    a = LAYOUTS[layout](X.copy())
    want = X.copy()
    total = bump(want)
    assert tj.jit(bump)(a) == total
    np.testing.assert_array_equal(a, want)


def test_operand_copies_only_what_native_code_cannot_read() -> None:
    assert operand(X) is X and np.shares_memory(operand(X.T), X)
    swapped = operand(X.astype(">f8"))
    assert swapped.dtype.isnative and swapped.tolist() == X.tolist()
    assert operand(unaligned(X)).flags.aligned
    assert operand(np.float64(2.0)).shape == ()


def test_execute_compiles_once_a_layout_and_then_copies() -> None:
    jaxpr = tj.make_jaxpr(lambda x: x * 2)(np.ones(4)).jaxpr
    for step in range(1, MAX_LAYOUTS + 5):
        x = np.arange(4.0 * step)[::step]
        np.testing.assert_array_equal(execute(jaxpr, [x])[0], x * 2)
    with config.override(disable_jit=True):
        np.testing.assert_array_equal(execute(jaxpr, [np.ones(4)])[0], 2 * np.ones(4))


def test_0d_results_are_scalars() -> None:
    jaxpr = tj.make_jaxpr(lambda x: (x.sum(), x[:1]))(np.ones(4)).jaxpr
    total, part = execute(jaxpr, [np.ones(4)])
    assert type(total) is np.float64 and type(part) is np.ndarray


def test_the_gil_is_released_during_long_work() -> None:
    """A Python thread makes progress while native code runs: its steps stop where the GIL is held."""

    def long(x: Any) -> Any:
        return lax.fori_loop(0, 30_000_000, lambda i, c: c * 0.999999 + 1e-6, x)

    f = tj.jit(long)
    f.lower(1.0).compile()
    f(1.0)
    inside: list[float] = []
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            inside.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        start = time.perf_counter()
        f(1.0)
        end = time.perf_counter()
    finally:
        stop.set()
        thread.join()
    middle = [t for t in inside if start + 0.25 * (end - start) < t < end - 0.25 * (end - start)]
    assert len(middle) >= 3, f"{len(middle)} steps in {end - start:.3f} s of native work"


def test_results_of_concurrent_calls() -> None:
    f = tj.jit(lambda x: np.sin(x).sum() + lax.fori_loop(0, 1000, lambda i, c: c + x[0], 0.0))
    xs = [np.full(100, float(n)) for n in range(8)]
    out: dict[int, list[Any]] = {}

    def work(n: int) -> None:
        out[n] = [f(xs[n]) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n in range(8):
        np.testing.assert_allclose(out[n], np.sin(xs[n]).sum() + 1000.0 * n, rtol=1e-12)
    assert f.trace_count == 1
