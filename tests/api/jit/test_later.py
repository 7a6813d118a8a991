"""Compiling that goes on in the background after Python has answered the call."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.jit import later
from tracejit.config import config
from tracejit.errors import FallbackWarning
from tracejit.interpreters import budget
from tracejit.interpreters import jit as native
from tracejit.lowering.runtime import apart


def ended() -> None:
    """Waits until nothing goes on in the background."""
    deadline = time.monotonic() + 60
    while later._jobs:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def put_off(fast: Any, *args: Any) -> Any:
    """The result of a call whose compiling takes too long."""
    with (
        config.override(fallback=True, compile_budget=1e-9),
        pytest.warns(FallbackWarning, match="TJ223.*background"),
    ):
        return fast(*args)


def test_the_program_serves_later_calls() -> None:
    w = np.arange(3.0)

    def f(x):
        w[0] += 1
        return (x * w).sum()

    fast, x = tj.jit(f), np.ones(3)
    assert put_off(fast, x) == 4.0  # by Python
    ended()
    with config.override(fallback=True):
        assert fast(x) == 5.0 and fast(x) == 6.0
    assert fast.trace_count == 1 and not fast.python.refused and fast._near
    assert w[0] == 3


@pytest.mark.parametrize("stage", ["lower", "started"])
def test_what_is_left_can_be_lowering_or_only_llvm(stage, monkeypatch) -> None:
    """The budget ends before `stage`, which is done in the background."""
    room, name = {"lower": (native.pipeline, "run"), "started": (native.machine, "compile_llvm")}[stage]
    real, main = getattr(room, name), threading.get_ident()

    def last(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == main:
            budget._thread.deadline = 0.0
        return real(*args, **kwargs)

    tj.clear_caches()
    fast = tj.jit(lambda x: np.sin(x) + 1)
    with (
        config.override(fallback=True),
        pytest.warns(FallbackWarning, match="TJ223"),
        monkeypatch.context() as m,
    ):
        m.setattr(room, name, last)
        assert fast(2.0) == np.sin(2.0) + 1
    ended()
    with config.override(fallback=True):
        np.testing.assert_allclose(fast(2.0), np.sin(2.0) + 1, rtol=1e-15)
    assert fast.trace_count == 1 and fast._near


def test_others_are_traced_and_compiled_meanwhile(monkeypatch) -> None:
    go, real = threading.Event(), apart.Apart.wait
    monkeypatch.setattr(apart.Apart, "wait", lambda self, *left: go.wait(60) and real(self, *left))
    fast = tj.jit(lambda x: x * 2)
    assert put_off(fast, 1.5) == 3.0
    try:
        assert tj.jit(lambda x: x * 2 + 1)(1.5) == 4.0
        with config.override(fallback=True):
            assert fast(2.5) == 5.0 and fast.python.refused
    finally:
        go.set()
    ended()
    with config.override(fallback=True):
        assert fast(2.5) == 5.0 and not fast.python.refused


def test_what_fails_in_the_background_stays_pythons(monkeypatch) -> None:
    monkeypatch.setattr(apart, "_PROGRAM", "raise SystemExit(1)")
    fast = tj.jit(lambda x: x * 2)
    assert put_off(fast, 1.5) == 3.0
    ended()
    with config.override(fallback=True):
        assert fast(2.5) == 5.0 and fast.python.refused


def test_only_so_much_is_put_off(monkeypatch) -> None:
    monkeypatch.setattr(later, "_MOST", 0)
    fast = tj.jit(lambda x: x * 2)
    assert put_off(fast, 1.5) == 3.0
    assert [refusal.later for refusal in fast.python.refused.values()] == [None]
