"""Native branches: how often they are staged, and what they may change."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.errors import UnfollowedError
from tracejit.frontend.rewrite.hooks import branches


class Sum:
    def __init__(self) -> None:
        self.total, self.parts = 0.0, {"last": 0.0}


def nested(depth: int) -> Any:
    """A function with branches in branches, each of which changes an object and a dict."""
    lines = ["def f(x, s):"]
    for k in range(depth):
        lines.append(f"{'    ' * (k + 1)}if x[{k}] > {k}.5:")
        lines.append(f"{'    ' * (k + 2)}s.total += x[{k}]")
        lines.append(f"{'    ' * (k + 2)}s.parts['last'] = x[{k}]")
    source = "\n".join([*lines, "    return s.total"])
    name = f"<nested {depth}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)
    run = names["f"]
    return lambda x: (s := Sum(), run(x, s), s.parts["last"])[1:]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One item for each time that a branch is staged."""
    found: list[None] = []

    class Frame(branches.Frame):
        def __enter__(self) -> branches.Frame:
            found.append(None)
            return super().__enter__()

    monkeypatch.setattr(branches, "Frame", Frame)
    return found


def test_branches_in_branches_are_not_staged_twice_as_often_for_each_level(counted: list[None]) -> None:
    counts = []
    for depth in (4, 8):
        counted.clear()
        f = nested(depth)
        x = np.arange(depth) + 1.0
        x[-2] = -1.0
        assert tj.jit(f)(x) == f(x)
        counts.append(len(counted))
    assert counts[1] < 6 * counts[0], counts  # as the square of the depth; it was its power of two


def test_a_branch_that_changes_another_place_than_before() -> None:
    """The same lines change one object first and then another one, or nothing."""

    class Pair:
        def __init__(self) -> None:
            self.left, self.right, self.touched = Sum(), Sum(), 0

    def add(s: Sum, v: Any, record: bool) -> None:
        if v > 1.0:
            s.total += v
            if record:
                s.parts["last"] = v

    def f(xs: Any) -> Any:
        p = Pair()
        add(p.right, xs[0], False)
        add(p.left, xs[1], False)
        add(p.right, xs[2], True)
        add(p.left, xs[3], True)
        add(p.right, xs[4], True)
        return p.left.total, p.right.total, p.left.parts, p.right.parts

    xs = np.array([2.0, 3.0, 0.5, 4.0, 5.0])
    assert tj.jit(f)(xs) == f(xs) == (7.0, 7.0, {"last": 4.0}, {"last": 5.0})


def test_what_a_branch_of_outside_leaves_alone_is_not_written() -> None:
    """That a branch has changed an attribute once does not make it change it at each call."""
    kept = Sum()

    def add(v: Any) -> None:
        if v > 1.0:
            kept.total = kept.total + v

    def f(a: float, b: float) -> float:
        add(a)
        add(b)
        return a + b

    g = tj.jit(f)
    for a, b, total in ((2.0, 0.0, 2.0), (0.0, 0.0, 2.0), (3.0, 4.0, 9.0)):
        assert g(a, b) == a + b and kept.total == total
        assert isinstance(kept.total, float)


def test_a_place_that_was_changed_before_and_is_taken_out_now() -> None:
    """The second call of `settle` deletes the entry that the first one has written."""

    def settle(entries: dict[str, Any], v: Any) -> None:
        if v > 1.0:
            if len(entries) > 1:
                del entries["a"]
            else:
                entries["a"] = v

    def f(v: float) -> Any:
        few, many = {"a": 0.0}, {"a": 0.0, "b": v}
        settle(few, v)
        settle(many, v)
        return few, many

    with tj.config.override(fallback=True):  # the branch that is taken is a part of the program
        g = tj.jit(f)
        assert [g(v) for v in (2.0, 0.5, 3.0)] == [f(v) for v in (2.0, 0.5, 3.0)]


def test_a_list_of_many_that_may_be_one_is_pythons() -> None:
    """Which of all lists before it each is was asked 36,000 times, and compiled for minutes."""

    def f(u: Any) -> Any:
        last, found = [0.0, 0], []
        for i in range(60):
            if u[i] > last[0]:
                last = [u[i], i]
            found.append(last)
        return found

    with pytest.raises(UnfollowedError, match="too many that may be one"):
        tj.jit(f, fallback=False)(np.arange(60.0))


class _Down:
    """Counts down, and ends when its number says so."""

    def __init__(self, n: Any) -> None:
        self.n = n

    def __iter__(self) -> _Down:
        return self

    def __next__(self) -> Any:
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


def test_tracing_an_iterator_that_a_value_ends_ends_by_itself() -> None:
    """Nothing limits the time that it may take."""

    def f(n: int, x: float) -> list[float]:
        return [v * x for v in _Down(n)]

    fast = tj.jit(f)
    with config.override(compile_budget=0.0), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (3, 0, 100):
            assert fast(n, 1.5) == f(n, 1.5)
