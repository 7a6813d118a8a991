"""Kernels as PTX: they assemble for every supported architecture, and have the instructions that make them fast."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered, on_device
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.cuda import planner
from tracejit.lowering.cuda.kernels import module_text, ptx_of
from tracejit.lowering.cuda.planner import plan
from tracejit.lowering.llvm.vecmath import FUNCTIONS
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.lowered import Lowered

X = np.linspace(-2, 2, 40_000)
ARCHITECTURES = [(7, 5), (8, 0), (9, 0), (10, 0)]


@pytest.mark.parametrize("cc", ARCHITECTURES)
def test_kernels_assemble_for_every_architecture(cc: tuple[int, int]) -> None:
    text = ptx_of(lowered(lambda x, i: (np.exp(x) * np.sin(x[i])).sum(), X, np.zeros(40_000, int)), cc)
    assert f".target sm_{cc[0]}{cc[1]}" in text
    assert text.count(".visible .entry") >= 2 and ".extern" not in text


def test_a_pointwise_kernel_is_a_loop_over_the_grid() -> None:
    text = ptx_of(lowered(lambda x: x * x + x, X))
    assert text.count(".visible .entry") == 1
    assert "%ctaid.x" in text and "%nctaid.x" in text
    assert "ld.global" in text and "st.global" in text and "ld.local" not in text
    assert "mul.rn.f64" in text and "add.rn.f64" in text, "sums and products are rounded one after another"
    assert "fma.rn.f64" not in text


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sin(x).sum(),
        lambda x: np.exp(x.reshape(100, 400)).sum(1) * 2,
        lambda x: np.where(x.sum() > 0, np.cumsum(x), x).max(),
        lambda x: x / np.sqrt((x * x).mean()),
    ],
)
def test_barriers_and_shuffles_are_not_copied(f: Any) -> None:
    """Threads that came from different branches would wait at different barriers, for ever."""
    low = lowered(f, X)
    text = ptx_of(low)
    made, facts = plan(low, ROOM)
    source = module_text(low.program, facts, made, "card")[0]
    kernels = source[source.index("ptx_kernel") :]
    assert text.count("bar.sync") == kernels.count("barrier.cta.sync") + sum(
        kernels.count(f"@{name}(") * body.count("barrier.cta.sync") for name, body in _trees(source)
    )
    assert text.count("shfl.sync") == sum(
        kernels.count(f"@{name}(") * body.count("@llvm.nvvm.shfl") for name, body in _trees(source)
    )


def _trees(source: str) -> list[tuple[str, str]]:
    """The functions that exchange the values of threads, and their text."""
    return re.findall(r"define internal \w+ @(tj\.tree\.[\w.]+)(\(.*?\n\})", source, re.DOTALL)


def test_reductions_exchange_by_shuffles() -> None:
    text = ptx_of(lowered(lambda x: x.reshape(100, 400).sum(1), X))
    assert text.count("shfl.sync.down.b32") == 10  # a round of five, two halves of a double each
    assert "ld.shared" in text and "st.shared" in text and "bar" in text
    assert "ld.local" not in text and "st.local" not in text, "what a thread accumulates is in registers"


def test_rows_are_in_shared_memory_and_wait_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "keep", lambda kernel, facts: False)

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    text = ptx_of(lowered(softmax, X.reshape(40, 1000)))
    assert text.count(".visible .entry") == 1
    assert text.count("bar.sync") == 6, "one before the rows; two for each reduction; one behind a row"
    assert text.count("ex2") == 0 and "st.shared.v2.b64" in text and "ld.shared.v2.b64" in text
    assert "8000" in text.split("_near[")[1][:6], "a row of exponentials"


def test_what_kernels_are_launched_with_lies_at_multiples_of_16_bytes() -> None:
    """As their parameters say, by which LLVM makes one store of two."""
    i = np.arange(20_000)[::-1].copy()
    odd = 0
    for n in range(4):
        program, _ = on_device(
            lambda x, i, n=n: [np.roll(x[i], 1) + x.max() for x in [x * k for k in range(n + 1)]], X[i], i
        )
        odd += len(program.plan.frame) % 2
        assert program.plan.fallible and all(start % 16 == 0 for start in program.offsets)
    assert odd


def test_indices_are_checked_by_the_threads_that_use_them() -> None:
    x, i = np.arange(40_000.0), np.arange(40_000)[::-1].copy()
    program, (got,) = on_device(lambda x, i: x[i] * 2, x, i)
    assert [k.kind for k in program.plan.kernels] == ["threads"]
    np.testing.assert_array_equal(got, x[i] * 2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_function_assembles_without_calls_to_the_outside(dtype: type) -> None:
    k = Builder("all")
    x, out = (k.buffer(n, np.dtype(dtype), 4000, "arg", i) for i, n in enumerate(("x", "out")))
    with k.loop(0, 4000, vector=True) as i:
        v = total = k.load(x, i)
        for name, (_, arity) in FUNCTIONS.items():
            total = total + k.math(name, *[v] * arity)
        k.store(out, i, total)
    assert ".extern" not in ptx_of(Lowered(k.program, [], [], [], [], {}))


def test_what_only_the_host_can_run_has_no_kernels() -> None:
    with pytest.raises(Unsupported, match="the host runs all of it"):
        ptx_of(lowered(lambda x: tj.pure_callback(np.sort, x, x), X))


def test_the_bits_of_a_sum_are_the_same_in_every_run() -> None:
    x = np.random.default_rng(0).normal(size=100_000)
    runs = {on_device(np.sum, x)[1][0].tobytes() for _ in range(3)}
    assert len(runs) == 1
