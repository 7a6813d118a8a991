"""Texts that conditions choose: strings as numbers in loops, flags elsewhere."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.errors import FallbackWarning


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


def _signs(size: int) -> Any:
    """A function that says of so many numbers what they are."""

    def f(x: Any) -> str:
        out = io.StringIO()
        for k in range(size):
            if x[k] > 0:
                out.write(f"{x[k]:.1f} ")
            elif x[k] < -0.5:
                out.write("-")
        return out.getvalue()

    return f


def test_a_text_that_grows_in_branches_is_there_once() -> None:
    """Each branch had all of the text of before: it was twice as much after each."""
    counts = []
    for size in (4, 8, 12):
        x = np.cos(2.0 * np.arange(size))
        check(_signs(size), (x,), (-x,), (x - 0.2,))
        counts.append(len(tj.jit(_signs(size)).lower(x).jaxpr.eqns))
    assert counts[2] - counts[1] <= counts[1] - counts[0] + 8


def test_choices_among_texts_of_many_values_are_left() -> None:
    """A text that grows at both ends has nothing in common in its branches: after each choice among three it was three
    times as much, and tracing it did not end."""

    def f(x: Any) -> Any:
        text = "start"
        for k in range(14):
            if x > k:
                text = f"{text}{k}"
            elif x < 0:
                text = "n" + text
        return text

    compiled = tj.jit(f, fallback=True)
    for x in (2.2, -1.0, 20.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            assert compiled(x) == f(x)


def test_what_follows_the_same_text() -> None:
    def f(x: Any, y: Any) -> Any:
        text = f"x = {x:.1f}"
        before = text
        if y > 0:
            text += "!"
        other = text + ("?" if x > y else f" {y:.2f}")
        if x > 0:
            other, text = text, other
        return before, text, other

    check(f, (1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-3.0, -2.0))
