"""What a guard compares, told in words: for each kind of check what holds, and what is said of what does not."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from tracejit.frontend.checks import Check, FunctionState, explain, same_content, same_value, subject
from tracejit.frontend.paths import Node, argument, root


class Thing:
    pass


def before(x: Any, k: int = 1) -> Any:
    return x + k


def after(x: Any, k: int = 1) -> Any:
    return x + k


THING, OTHER = Thing(), Thing()
STATE = FunctionState(before, before.__code__, before.__defaults__, before.__kwdefaults__)
WITH = Thing()
WITH.__dict__["rate"] = 1.0


@pytest.mark.parametrize(
    ("kind", "old", "same", "others", "said"),
    [
        ("is", THING, THING, [OTHER], "global `x` changed from <"),
        ("same", lambda: THING, THING, [OTHER], "global `x` is another object"),
        ("type", float, 2.0, [1, True, np.float64(1)], "global `x` changed from float to "),
        ("value", 0.0, 0.0, [-0.0, 0, 1.0, np.float64(0)], "global `x` changed from 0.0 to "),
        ("value", float("nan"), float("nan"), [0.0], "global `x` changed from nan to 0.0"),
        ("value", 1j, 1j, [complex(-0.0, 1), 1.0], "global `x` changed from 1j to "),
        ("value", np.float32(2), np.float32(2), [np.float64(2), np.float32(3)], "changed from np.float32(2.0) to "),
        ("value", (1, 2.0), (1, 2.0), [(1, 2), (1, 2.0, 3), (1,), [1, 2.0]], "changed from (1, 2.0) to "),
        ("value", frozenset({1}), frozenset({1}), [frozenset({True}), frozenset()], "from frozenset({1}) to "),
        ("scalars", (1, 2.0), [1, 2.0], [[1], [1, 2], [1.0, 2.0]], "changed from (1, 2.0) to ["),
        ("set", frozenset({1, 2}), {1, 2}, [{True, 2}, {1}, {1, 2, 3}], "global `x` changed from frozenset({1, 2})"),
        ("near", 7, -7, [8, -8], "global `x` is a large integer now"),
        ("len", 2, [0, 0], [[0], [0, 0, 0]], "global `x` changed its length from 2 to "),
        ("keys", ("a", "b"), {"a": 1, "b": 2}, [{"b": 1, "a": 2}, {"a": 1}], "changed from ('a', 'b') to ("),
        ("absent", "rate", {}, [{"rate": 1}], "was defined; it was not when the function was traced"),
        ("missing", "rate", THING, [WITH], "global `x` now has an attribute 'rate'"),
        ("empty", None, types.CellType(), [types.CellType(1)], "global `x` was assigned"),
        ("function", STATE, before, [after], "global `x` was redefined"),
        ("code", (before.__code__, before.__globals__), before, [after], "global `x` was redefined"),
        ("array", (np.ndarray, (2,), np.dtype("f8")), np.ones(2), [np.ones(3), np.ones(2, "f4")], "from float64[2]"),
        ("content", np.array([1, 2]), np.array([1, 2]), [np.array([1, 3]), np.array([1])], "has other elements"),
        ("alias", root(THING, "global", "y"), THING, [OTHER], "is no longer the same object as global `y`"),
    ],
)  # fmt: skip
def test_what_holds_and_what_is_said(kind: str, old: Any, same: Any, others: list[Any], said: str) -> None:
    node = argument(0, "x")
    node.word = "global"
    assert explain(Check(node, kind, old), [same]) is None
    for x in others:
        told = explain(Check(node, kind, old), [x])
        assert told is not None and said in told, told


def test_what_is_not_there_any_more() -> None:
    gone = root({}, "global", "settings").item("rate")
    assert explain(Check(gone, "value", 2.5)) == "global `settings['rate']` no longer exists (it was 2.5)"
    of_object = root(WITH, "global", "model").attr("__dict__")
    assert explain(Check(of_object, "bare", None)) == "global `model` was given the attribute 'rate'"
    assert explain(Check(root(THING, "global", "model").attr("__dict__"), "bare", None)) is None
    assert (
        explain(Check(of_object, "absent", "rate"))
        == "global `model.rate` was defined; it was not when the function was traced"
    )


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (Check(root({}, "global", "globals"), "absent", "len"), "builtin `len`, which no global name hides"),
        (Check(root({}, "global", "globals"), "absent", "speed"), "global `speed`, which is not defined"),
        (
            Check(root(THING, "global", "model"), "missing", "rate"),
            "global `model.rate`, which is not defined",
        ),
        (Check(root(THING, "global", "model").attr("__dict__"), "bare", None), "global `model`"),
        (Check(root(THING, "global", "model").attr("rate"), "value", 1), "global `model.rate`"),
    ],
)
def test_what_a_check_is_about(check: Check, said: str) -> None:
    assert str(subject(check)) == said


@pytest.mark.parametrize("size", [10, 5000])
@pytest.mark.parametrize("lay", [np.copy, lambda x: x.repeat(2)[::2]], ids=["whole", "strided"])
def test_elements_of_arrays(size: int, lay: Any) -> None:
    """Small ones are copied, large ones compared in memory where they lie one after another."""
    old = np.arange(size)
    assert same_content(lay(old), old)
    for k in (0, size // 2, size - 1):
        x = lay(old)
        x[k] += 1
        assert not same_content(x, old)
    assert not same_content(lay(old).astype(np.int32), old) and not same_content(lay(old)[:-1], old)
    assert not same_content(lay(old).tolist(), old)


def test_values_that_are_the_same() -> None:
    node: Node = root(THING, "global", "x")
    assert same_value(node, node) and not same_value(1, True) and not same_value("a", b"a")
    assert same_value((0.0, ("a", float("nan"))), (0.0, ("a", float("nan"))))
    assert not same_value((0.0,), (-0.0,))
