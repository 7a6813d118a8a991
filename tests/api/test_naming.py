"""Scopes, and other names of JAX for looking at programs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import LeakedTracerError


def layered(x: Any) -> Any:
    with tj.named_scope("layer"):
        y = np.sin(x)
        with tj.named_scope("inner"):
            for _ in range(50):
                y = 0.5 * y
    return np.cos(y)


@tj.named_scope("wrapped")
def wrapped(x: Any) -> Any:
    return np.exp(x)


def test_scopes_are_shown() -> None:
    text = str(tj.jit(layered).lower(1.0).jaxpr)
    lines = [line.partition(" in layer") for line in text.splitlines() if "#" in line]
    assert [rest for head, _, rest in lines if " sin " in head] == [""]
    assert any(rest == "/inner" for _, _, rest in lines) and "cos" in lines[-1][0] and not lines[-1][1]
    assert tj.jit(layered)(1.0) == layered(1.0)
    assert str(tj.make_jaxpr(tj.grad(wrapped))(1.0)).count("in wrapped") >= 1
    assert tj.named_call(np.sin)(0.0) == 0 and tj.named_call(wrapped).__name__ == "wrapped"


def test_a_scope_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), tj.named_scope("lost"):
        1 / 0
    assert "lost" not in str(tj.make_jaxpr(np.sin)(1.0))


def test_places_with_scopes_are_pickled() -> None:
    with tj.named_scope("kept"):
        jaxpr = tj.make_jaxpr(lambda x: x + 1)(1.0).jaxpr
    source = jaxpr.eqns[0].source
    assert str(pickle.loads(pickle.dumps(source))) == str(source) and str(source).endswith(" in kept")


def test_typeof() -> None:
    seen = []
    tj.vmap(lambda x: seen.append(tj.typeof(x)) or x)(np.ones((4, 2, 3), np.float32))
    assert seen[0].shape == (2, 3) and seen[0].dtype == np.float32
    assert str(tj.typeof(1.0)) == "f64[]" and tj.typeof(tj.ShapeDtypeStruct((2,), int)).ndim == 1


def test_computing_while_tracing() -> None:
    @tj.jit(fallback=False)
    def f(x: Any) -> Any:
        with tj.ensure_compile_time_eval():
            n = int(lax.iota(int, 4).sum())
        return x * np.ones(n)

    assert f(2.0).tolist() == [2.0] * 6

    def wrong(x: Any) -> Any:
        with tj.ensure_compile_time_eval():
            return x * 2

    with pytest.raises(LeakedTracerError):
        tj.grad(wrong)(1.0)


@pytest.mark.parametrize("name", ["debug_nans", "debug_infs", "log_compiles", "check_tracer_leaks"])
def test_settings_in_blocks(name: str) -> None:
    before = getattr(tj.config, name)
    with getattr(tj, name)():
        assert getattr(tj.config, name) is True
    with getattr(tj, name)(False):
        assert getattr(tj.config, name) is False
    assert getattr(tj.config, name) == before


def test_one_process() -> None:
    assert (tj.default_backend(), tj.process_count(), tj.process_index()) == ("cpu", 1, 0)
    assert tj.effects_barrier() is None
    assert tj.Array is np.ndarray and tj.jit(lambda x: isinstance(x, tj.Array))(np.ones(2))
