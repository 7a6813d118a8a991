"""Large sizes are parameters: another batch size is the same machine code, with the same results."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.programs import Maker
from tests.lowering.running import native, trace, trace_closed
from tracejit import lax, ops
from tracejit.lowering import fuse
from tracejit.lowering.emit import columns, parts
from tracejit.lowering.loops import extents, parallel
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64, For, Inst, SetSlot, Size
from tracejit.lowering.runtime import compile as machine

BATCHES = (1000, 1001, 2048, 5000)
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=s) / 4 for s in ((6, 24), (24, 24), (24, 3))]
KERNEL = RNG.normal(size=(5,))


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def network(x: Any, weights: Any) -> Any:
    for w in weights[:-1]:
        x = np.tanh(x @ w)
    return x @ weights[-1]


def loss(weights: Any, x: Any) -> Any:
    return (network(x, weights) ** 2).mean()


def loss_gradient(x: Any) -> Any:
    """By hand, in NumPy."""
    kept = [x]
    for w in WEIGHTS[:-1]:
        kept.append(np.tanh(kept[-1] @ w))
    out, grads = kept[-1] @ WEIGHTS[-1], []
    ct = 2 * out / out.size
    for w, a in zip(reversed(WEIGHTS), reversed(kept), strict=True):
        grads.append(a.T @ ct)
        ct = (ct @ w.T) * (1 - a * a)
    return grads[::-1]


def scanned(x: Any) -> Any:
    return lax.scan(lambda c, v: (0.5 * c + v, c * v), x[0], x)[1]


def scanned_by_hand(x: Any) -> Any:
    c, out = x[0], []
    for v in x:
        out.append(c * v)
        c = 0.5 * c + v
    return np.array(out)


def vector(n: int) -> np.ndarray:
    return RNG.normal(size=n)


def matrix(n: int) -> np.ndarray:
    return RNG.normal(size=(n, 6))


def same(f: Callable[..., Any], make: Callable[[int], np.ndarray]) -> tuple[Any, Any, Any]:
    return f, f, make


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[int], np.ndarray]]] = {
    "elementwise": same(lambda x: np.exp(-x * x) / (1 + x * x), vector),
    "rows": same(softmax, matrix),
    "statistics": same(lambda x: (x.mean(axis=0), x.var(axis=0), x.mean(), x.max(), x.argmax()), matrix),
    "running sum": same(np.cumsum, vector),
    "slices": same(lambda x: x[2:] - 2 * x[1:-1] + x[:-2], vector),
    "joined": same(lambda x: np.concatenate([x, np.zeros(3), 2 * x[::-1]]), vector),
    "padded": same(lambda x: np.pad(x, 2) * 3, vector),
    "callbacks": same(lambda x: np.sort(2 * x), vector),
    "checked indices": same(lambda x: x[(np.abs(x) * 100).astype(np.int64) % 10 - 5] + 1, vector),
    "network": (lambda x: network(x, WEIGHTS), lambda x: network(x, WEIGHTS), matrix),
    "network's gradient": (lambda x: tj.grad(loss)(WEIGHTS, x), loss_gradient, matrix),
    "scan": (scanned, scanned_by_hand, vector),
    "vmap": (tj.vmap(lambda r: np.sin(r) @ r), lambda x: (np.sin(x) * x).sum(axis=1), matrix),
    "convolution": same(lambda x: np.convolve(x, KERNEL, "valid"), vector),
}


def leaves(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (tuple, list)) else [x]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of programs that LLVM compiles during a test; the pool of memory compiles its own when it is needed."""
    texts: list[str] = []
    run_passes = machine._run_passes
    machine.forget()

    def noted(text: str, slp: bool) -> Any:
        texts.extend([] if "@slots" in text or "@resize" in text else [text])
        return run_passes(text, slp)

    monkeypatch.setattr(machine, "_run_passes", noted)
    return texts


@pytest.mark.sample(4)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_new_batch_size_compiles_nothing(
    name: str, shared: bool, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that are large enough to be shared among threads are other ones, once for all sizes too."""
    worth = 1 if shared else 1 << 60
    for module, constant in ((parallel, "_WORTH"), (parts, "MANY"), (columns, "MANY")):
        monkeypatch.setattr(module, constant, worth)
    fn, reference, make = CASES[name]
    f = tj.jit(fn)
    for n in BATCHES:
        x = make(n)
        for got, want in zip(leaves(f(x)), leaves(reference(x)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
        if n == BATCHES[0]:
            compiled.clear()
    assert f.trace_count == len(BATCHES)
    assert not compiled


def test_a_shorter_batch_and_a_longer_one_are_the_same_code(compiled: list[str]) -> None:
    f = tj.jit(lambda x: (np.tanh(x) * x.sum(axis=1, keepdims=True)).sum())
    for n in (64, 100, 128, 500, 512, 1000):
        x = RNG.normal(size=(n, 7))
        np.testing.assert_allclose(f(x), (np.tanh(x) * x.sum(axis=1, keepdims=True)).sum(), rtol=1e-9)
        compiled[1:] = []
    assert len([t for t in compiled if "params" in t]) == 1


def test_loops_that_become_worth_sharing_are_the_same_code(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One program is for one thread or for several; which of its loops are cut is found out when it runs."""
    monkeypatch.setattr(parallel, "_WORTH", 5000)

    def fn(x: Any) -> Any:  # the loop after the sums is worth it much later than the one before them
        return 2 * np.cumsum(np.exp(np.sin(x)))

    f = tj.jit(fn)
    for n in (2000, 3000, 9000, 40_000):
        x = vector(n)
        np.testing.assert_allclose(f(x), fn(x), rtol=1e-12)
        assert f.lower(x).compile().as_text("loops").count("parallel") == 2
        if n == 2000:
            compiled.clear()
    assert not compiled


def test_small_sizes_are_constants() -> None:
    for f, x in ((np.sin, np.ones(63)), (softmax, np.ones((50, 60)))):
        text = tj.jit(f).lower(x).compile().as_text("source")
        assert "%params, " not in text.replace("%params, ptr noalias", "")


def test_the_rows_of_a_matrix_keep_their_length(compiled: list[str]) -> None:
    """A loop in a loop is compiled for its length, unless it is long."""
    for length, shared in ((100, False), (3000, True)):
        compiled.clear()
        f = tj.jit(lambda x: x.max(axis=1))
        for c in (length, length + 1):
            x = RNG.normal(size=(70, c))
            np.testing.assert_array_equal(f(x), x.max(axis=1))
        assert len([t for t in compiled if "params" in t]) == (1 if shared else 2)


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(16))
def test_random_programs_with_all_sizes_as_parameters(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit what they give with all sizes as constants, but for sums, which LLVM may add in another order."""
    maker = Maker(seed, 12)
    args = [RNG.normal(size=s) for s in ((3, 4), (4,), (12,))]
    jaxpr, consts = trace_closed(maker, *args, passes=True)
    args = [*consts, *args]
    monkeypatch.setattr(fuse, "pass_sizes", lambda program: None)
    constant = native(jaxpr, *args)
    monkeypatch.setattr(fuse, "pass_sizes", extents.pass_sizes)
    monkeypatch.setattr(extents, "LEAST", 2)
    monkeypatch.setattr(extents, "LARGE", 1)
    for a, b in zip(constant, native(jaxpr, *args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("f", [
    lambda x: np.exp(x) / 3, lambda x: x.T * 2 + 1, lambda x: np.cumsum(x, axis=0), lambda x: x[1:, ::2] - x[:-1, ::2],
    lambda x: x[np.arange(90) % 7], lambda x: softmax(x)[::3],
])  # fmt: skip
def test_the_bits_are_those_of_constants(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=(130, 94))
    got = tj.jit(f)(x)
    monkeypatch.setattr(fuse, "pass_sizes", lambda program: None)
    np.testing.assert_array_equal(got, tj.jit(lambda x: f(x))(x))


# ---------------------------------------------------------------- the marks


def marked(write: Callable[[Builder], None]) -> Builder:
    k = Builder()
    write(k)
    extents.pass_sizes(k.program)
    return k


def test_equal_sizes_are_one_parameter_in_a_nest_and_two_in_two() -> None:
    def write(k: Builder) -> None:
        x = k.buffer("x", np.dtype(np.float64), 0, "arg", 0)
        for _ in range(2):
            with k.loop(0, 2000) as i, k.loop(0, 2000) as j:
                k.store(x, k.add(k.mul(i, 2000), j), k.const(0, x.dtype))

    assert marked(write).program.params == [2000, 2000]


def test_numbers_that_are_no_sizes_stay() -> None:
    """Divisors, masks, factors of data, the limits of integers."""

    def write(k: Builder) -> None:
        x = k.buffer("x", I64, 0, "arg", 0)
        with k.loop(0, 5000) as i:
            v = k.load(x, i)
            v = k.int_op("sdiv", v, 1000)
            v = k.add(k.and_(k.mul(v, 1000), 4095), 1 << 60)
            k.store(x, i, k.int_op("srem", v, 77))

    assert marked(write).program.params == [5000]


@pytest.mark.parametrize(
    ("number", "passed"),
    [(1000.0, True), (1e-3, True), (2 / 1001, True), (3 / 70, True), (0.5, False), (63.0, False), (100.5, False),
     (0.0, False), (-1 / 128, True), (np.inf, False), (np.nan, False), (1e-30, False), (1e30, False)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factors_of_means(number: float, passed: bool, dtype: Any) -> None:
    def write(k: Builder) -> None:
        x = k.buffer("x", np.dtype(dtype), 0, "arg", 0)
        k.store(x, 0, k.mul(k.load(x, 0), k.const(float(dtype(number)), np.dtype(dtype))))

    assert len(marked(write).program.params) == passed


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_arrive_exactly(dtype: Any, compiled: list[str]) -> None:
    f = tj.jit(lambda x, n: x.sum(axis=0) / x.shape[0], static_argnums=1)
    for n in (70, 700, 4096):
        x = RNG.normal(size=(n, 3)).astype(dtype)
        np.testing.assert_array_equal(f(x, n), tj.jit(lambda x: x.sum(axis=0))(x) / dtype(n))


def test_loops_with_checks_are_written_out() -> None:
    """LLVM does it for lengths it knows only; all the rests are covered, and the first bad index is reported.
    (Indices that lie side by side are checked in blocks.)"""
    f = tj.jit(lambda x, i: x[i[:, 1]])
    x = RNG.normal(size=9)
    for n in itertools.chain(range(64, 72), (1001,)):
        i = RNG.integers(-9, 9, (n, 2))
        np.testing.assert_array_equal(f(x, i), x[i[:, 1]])
        for bad in (n - 1, n - 2, n // 2, 0):
            wrong = i.copy()
            wrong[bad:] = 9 + bad
            with pytest.raises(IndexError, match=rf"\b{9 + bad}\b"):
                f(x, wrong)
    text = f.lower(x, np.zeros((100, 2), int)).compile().as_text("source")
    assert len(re.findall("^four", text, re.MULTILINE)) >= 1


def test_sizes_reach_library_calls() -> None:
    program = tj.jit(lambda x: x @ WEIGHTS[0]).lower(matrix(777)).compile()
    assert "= 777" in program.as_text("loops")  # for the reader they are the numbers they are
    assert "777" not in re.sub(r"(?m)^ *;.*\n", "", program.as_text("source"))


def test_negative_strides_are_sizes_too(compiled: list[str]) -> None:
    f = tj.jit(lambda x: x + 1)
    for n in (2000, 3000):
        x = RNG.normal(size=(n, 1100))[::-1, ::-1]
        np.testing.assert_array_equal(f(x), x + 1)
    assert len([t for t in compiled if "params" in t]) == 1


def kinds(program: Any) -> list[type]:
    return [type(s) for s in program.body.stmts]


def test_constants_of_calls_only_are_slots() -> None:
    """A slot that no call reads is data."""

    def write(k: Builder) -> None:
        k.slot(k.const(5000, I64))

    k = marked(write)
    assert k.program.params == [] and kinds(k.program) == [SetSlot]


def test_blocks_of_sums_are_counted_by_parameter() -> None:
    jaxpr = trace(lambda x: ops.reduce.reduce_sum(x, axes=(0,)), np.ones(100_000))
    program = fuse.lower(jaxpr, [(1,)], {}).program
    loop, *_ = (s for s in program.body.stmts if isinstance(s, For))
    assert type(loop.stop) is Size and program.params[loop.stop.index] == loop.stop.value == 98
    assert not any(isinstance(s, Inst) and s.op == "sdiv" for s in loop.body.stmts)
