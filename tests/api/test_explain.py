"""explain: the report says what was read, written, and left to Python."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax

X = np.linspace(0.0, 1.0, 64)
STATE = types.SimpleNamespace(scale=2.0)
W = np.ones(64)


def f(x: Any) -> Any:
    x += W
    return np.exp(x) * STATE.scale


def test_a_report() -> None:
    x = X.copy()
    report = tj.explain(f)(x)
    np.testing.assert_array_equal(x, X)  # nothing was run
    assert report.written == ["`x`"] and len(report.captured) == 1 and "W" in report.captured[0]
    assert any("scale" in g for g in report.guards) and report.callbacks == []
    assert report.equations == report.equations_after_passes == 3 and report.loops == 1
    text = str(report)
    assert text.startswith("f: 3 equations, 3 after the passes, 1 native loops, compiled in ")
    assert "updates in place:\n    `x`" in text and "reads at every call" in text and "scale" in text


class Counter:
    def __init__(self) -> None:
        self.rate, self.seen = 2.0, {"a": 1}

    def step(self, x: Any) -> Any:
        return x if hasattr(self, "done") else abs(x) * self.rate * self.seen["a"]


def test_guards_are_called_as_the_user_calls_them() -> None:
    guards = tj.explain(Counter().step)(X).guards
    wanted = (
        "function `step`",
        "object `self.rate` of `step`",
        "object `self.done` of `step`, which is not defined",
    )
    assert set(wanted) <= set(guards) and "builtin `abs`, which no global name hides" in guards
    assert not [g for g in guards if "__" in g or "globals" in g]


def test_equations_inside_loops_count() -> None:
    report = tj.explain(lambda x: lax.fori_loop(0, 5, lambda i, c: np.sin(c) * 2, x))(X)
    assert report.equations >= 3 and report.loops >= 2


def test_of_a_jitted_function() -> None:
    jitted = tj.jit(lambda x: x + 1)
    report = tj.explain(jitted)(X)
    assert report.equations == 1 and jitted.trace_count == 1 and "explain" not in report.name


def test_prompts_show_the_text():
    report = tj.explain(lambda x: x + 1)(np.ones(3))
    assert repr(report) == str(report) and "native loop" in repr(report)


def scaled(x: float, factor: float = 2.0) -> float:
    return factor * x


@pytest.mark.parametrize("args, kwargs", [((), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"none": 2})])
def test_arguments_that_no_call_takes_are_an_error(args: tuple[float, ...], kwargs: dict[str, int]) -> None:
    wrong = r"scaled\(\): (missing|too many|got an unexpected)"
    with tj.config.override(fallback=True), pytest.raises(TypeError, match=wrong):
        tj.explain(scaled)(*args, **kwargs)
