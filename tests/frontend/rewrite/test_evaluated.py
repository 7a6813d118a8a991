"""`eval` of texts that are known while tracing, beside Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning, UnfollowedError

OUTSIDE = 3.0


def test_a_text_is_native_and_sees_the_names_of_the_caller() -> None:
    def f(x: Any, text: str) -> Any:
        y = x + 1
        return eval(text)

    fast = tj.jit(f, fallback=False)
    for text in ("x * y", "np.sin(y) + OUTSIDE", "  [x, y][0]", "(lambda v: v if v > 0 else -v)(-2)"):
        for x in (1.0, 2.5):
            assert fast(x, text) == f(x, text)


def test_branches_of_a_text_are_native() -> None:
    f = tj.jit(lambda x: eval("x if x > 0 else -2 * x"), fallback=False)
    assert [f(x) for x in (2.0, -1.0)] == [2.0, 2.0] and f.trace_count == 1


def test_derivatives_go_through_a_text() -> None:
    assert tj.jit(tj.grad(lambda x: eval("x ** 3 + np.sin(x)")), fallback=False)(2.0) == pytest.approx(
        12 + np.cos(2.0)
    )


def test_functions_of_a_text_have_its_names() -> None:
    assert tj.jit(lambda x: eval("lambda v: v").__qualname__, fallback=False)(1.0) == "<lambda>"


def test_a_text_with_names_of_its_own_sees_no_others() -> None:
    names: dict[str, Any] = {"__builtins__": {}}
    f = tj.jit(lambda x: eval("sin(x) + a", names, {"sin": np.sin, "x": x, "a": 2}), fallback=False)
    assert f(0.5) == np.sin(0.5) + 2


@pytest.mark.parametrize(
    "text, kwargs",
    [
        ("[x for _ in range(2)]", {}),  # Python's comprehension does not see x before 3.12
        ("(z := 3)", {}),
        ("locals()", {}),
        ("x + 1", {"globals": {"x": 2.0}}),  # Python adds `__builtins__`
        ("x + q", {"globals": {"__builtins__": {}, "x": 2.0}}),
        ("abs(x)", {"globals": {"__builtins__": {"abs": len}, "x": 2.0}}),
    ],
)
def test_what_looks_at_names_is_left_to_python(text: str, kwargs: dict[str, Any]) -> None:
    def f(x: float) -> Any:
        return eval(text, *kwargs.values())

    with pytest.raises(UnfollowedError, match="eval"):
        tj.jit(f, fallback=False)(1.0)


def test_a_text_that_is_not_known_is_left_to_python() -> None:
    f = tj.jit(lambda x: eval(f"{x:.2f}") + x, fallback=True)
    with pytest.warns(FallbackWarning):
        assert f(1.5) == 3.0
