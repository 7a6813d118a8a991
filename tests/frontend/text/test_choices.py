"""Texts that conditions choose: strings as numbers in loops, flags elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj


def check(f: Any, *calls: Any) -> None:
    """One program gives what Python gives for all calls."""
    compiled = tj.jit(f)
    for args in calls:
        got, want = compiled(*args), f(*args)
        assert got == want and type(got) is type(want)
    assert compiled.trace_count == 1


def test_two_strings() -> None:
    check(lambda x: "low" if x < 0 else "high", (1.0,), (-1.0,))
    check(lambda x: f"it is {'low' if x < 0 else 'high'}!", (1.0,), (-1.0,))
    check(lambda x: ("a" if x < 0 else "b" if x < 1 else "c").upper() + "!", (-1.0,), (0.5,), (2.0,))


def test_texts_of_different_values() -> None:
    def f(x: Any, y: Any) -> Any:
        if x > y:
            text = f"x is {x:.2f}"
        elif x == y:
            text = "same"
        else:
            text = f"{y} of y, {x}"
        return text

    check(f, (1.0, 2.0), (2.0, 1.0), (3.0, 3.0))


def test_names_in_loops() -> None:
    def f(x: Any, tolerance: Any) -> Any:
        status, reason = "running", "none"
        for step in range(100):
            x = x * 0.5
            if x < tolerance:
                status, reason = "done", "small"
                break
            if step > 50:
                status = "late"
        return status, reason, f"{status} after {step}"

    check(f, (1.0, 0.1), (1.0, 1e-20), (0.0, 1.0), (1.0, -1.0))


def test_questions_about_chosen_strings() -> None:
    def f(x: Any) -> Any:
        word = "" if x < 0 else "small" if x < 1 else "large one"
        count = len(word)
        flags = (word == "small", word.startswith("l"), bool(word != ""), word < "m")
        return (1 if word else 0), count, flags

    check(f, (-1.0,), (0.5,), (2.0,))


def test_a_default_text_is_replaced() -> None:
    def f(x: Any) -> Any:
        message = "fine"
        if x.min() < 0:
            message = f"negative: {x.min()}"
        return message

    check(f, (np.ones(2),), (-np.ones(2),))
