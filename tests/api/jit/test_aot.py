"""Ahead of time: lower, compile, look inside, call with the right types only."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.runtime.arena import ARENA

X = np.linspace(0.0, 1.0, 8)


def f(x: Any, s: Any) -> Any:
    return np.exp(-x) * s


def test_compiling_runs_nothing_and_calling_does() -> None:
    jitted = tj.jit(f)
    compiled = jitted.lower(X, 2.0).compile()
    assert jitted.trace_count == 1 and compiled.compile_seconds > 0
    np.testing.assert_allclose(compiled(X, 3.0), f(X, 3.0))
    assert jitted.trace_count == 1


@pytest.mark.parametrize("args", [(X.astype(np.float32), 2.0), (X[:4], 2.0), (X, np.float32(2)), (X, [2.0])])
def test_other_types_are_refused(args: tuple[Any, ...]) -> None:
    compiled = tj.jit(f).lower(X, 2.0).compile()
    with pytest.raises(TypeError, match="was compiled for"):
        compiled(*args)


def test_other_static_arguments_are_refused() -> None:
    compiled = tj.jit(lambda x, n: x * n, static_argnums=1).lower(X, 2).compile()
    np.testing.assert_array_equal(compiled(X, 2), X * 2)
    with pytest.raises(TypeError, match="static"):
        compiled(X, 3)


def test_types_are_enough() -> None:
    compiled = tj.jit(lambda x: x.sum(0)).lower(tj.ShapeDtypeStruct((4, 3), np.float32)).compile()
    out = compiled(np.ones((4, 3), np.float32))
    assert out.dtype == np.float32 and out.tolist() == [4, 4, 4]
    with pytest.raises(TypeError):
        compiled(np.ones((3, 4), np.float32))


@pytest.mark.parametrize(
    ("stage", "mark"),
    [
        ("jaxpr", "exp"),
        ("loops", "for "),
        ("source", "define"),
        ("llvm", "define"),
        ("asm", "entry"),
        ("ptx", ".visible .entry"),
    ],
)
def test_every_stage_can_be_read(stage: str, mark: str) -> None:
    lowering = tj.jit(f).lower(X, 2.0)
    assert mark in lowering.as_text(stage) and mark in lowering.compile().as_text(stage)


def test_unknown_stages() -> None:
    with pytest.raises(ValueError, match="no stage 'hlo'"):
        tj.jit(f).lower(X, 2.0).as_text("hlo")


def test_memory_analysis() -> None:
    analysis = tj.jit(f).lower(X, 2.0).compile().memory_analysis()
    assert analysis == {
        "argument_bytes": 72,
        "output_bytes": 64,
        "alias_bytes": 0,
        "temporary_bytes": 0,
        "arena_bytes": 0,
        "peak_bytes": 136,
    }


def test_outputs_in_the_memory_of_arguments_count_once() -> None:
    a = np.ones(1000)
    analysis = tj.jit(lambda a: a * 2.0, donate_argnums=0).lower(a).compile().memory_analysis()
    assert analysis["alias_bytes"] == analysis["peak_bytes"] == 8000


def chain(a: Any, b: Any) -> Any:
    return (a @ b) @ (b @ a) @ a


def rows(a: Any, b: Any) -> Any:
    return np.cumsum(a @ np.exp(b), axis=1).sum(axis=0)


@pytest.mark.parametrize("f", [chain, rows, tj.grad(lambda a, b: np.tanh(np.tanh(a @ b) @ a).sum())])
def test_the_analysis_agrees_with_the_measured_peak(f: Any) -> None:
    a = np.random.default_rng(0).standard_normal((300, 300))
    compiled = tj.jit(f).lower(a, a).compile()
    for _ in range(2):  # the second call writes the Python function that later ones run
        compiled(a, a)
    ARENA.clear()
    tracemalloc.start()
    try:
        out = compiled(a, a)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    said = compiled.memory_analysis()
    assert said["output_bytes"] == out.nbytes and said["argument_bytes"] == 2 * a.nbytes
    assert abs(peak - (said["output_bytes"] + said["arena_bytes"])) < 0.02 * peak + 10_000
    assert said["temporary_bytes"] - said["arena_bytes"] < 100_000


def test_the_jaxpr_before_and_after_passes() -> None:
    lowering = tj.jit(lambda x: (np.sin(x) + 0 * np.sin(x), np.cos(x))[0]).lower(X)
    names = [e.op.name for e in lowering.jaxpr.eqns]
    after = [e.op.name for e in lowering.compile().jaxpr.eqns]
    assert names.count("sin") == 2 and after.count("sin") == 1 and "cos" not in after


def test_lowering_is_tracing() -> None:
    jitted = tj.jit(f)
    assert jitted.trace(X, 2.0).jaxpr is jitted.lower(X, 2.0).jaxpr
    assert jitted.lower(X, 2.0).compile().callbacks() == []


def test_what_runs_in_python_is_named() -> None:
    x = np.linspace(0.0, 1.0, 20)
    f = lambda x: np.sort(x[:, None], axis=0) + 1
    assert tj.jit(f).lower(x).compile().callbacks() == ["sort"] and "sort" in tj.explain(f)(x).callbacks
    assert tj.jit(np.sort).lower(x).compile().callbacks() == []
