"""Guesses of Python's time: of the right size where lengths are known, small where they are not."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from tracejit.frontend.rewrite.regions.work import seconds

SUM = "for i in range({}):\n    s += x[i] * 2"


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ("1000", 1000),
        ("n", 1000),
        ("1, n + 1", 1000),
        ("0, n, 2", 500),
        ("n // 2 - 1", 499),
        ("len(x)", 1000),
        ("x.shape[0]", 1000),
        ("x.size", 1000),
        ("-n", 0),
        ("g(n)", 5),
        ("n, k, 0", 0),
    ],
)
def test_steps_of_ranges(steps, count):
    names = {"n": 1000, "x": np.ones(1000), "k": 1000}
    none, hundred = (seconds(ast.parse(SUM.format(n)).body, {}) for n in (0, 100))
    step = (hundred - none) / 100
    got = seconds(ast.parse(SUM.format(steps)).body, names)
    assert got == pytest.approx(count * step, abs=12 * step)


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ("x", 1000),
        ("enumerate(x)", 1000),
        ("zip(x, k)", 1000),
        ("reversed(range(n))", 1000),
        ("sorted(x)", 5),
    ],
)
def test_steps_of_items(items, count):
    names = {"n": 1000, "x": np.ones(1000), "k": [1.0] * 10}
    body = "for i in {}:\n    s += i * 2"
    none, hundred = (seconds(ast.parse(body.format(f"range({n})")).body, {}) for n in (0, 100))
    got = seconds(ast.parse(body.format(items)).body, names)
    assert got == pytest.approx(count * (hundred - none) / 100, abs=0.12 * (hundred - none))


def test_loops_in_loops_multiply():
    nest = "for i in range(n):\n    for j in range(n):\n        a[i, j] = i * j"
    assert seconds(ast.parse(nest).body, {"n": 300}) > 100 * seconds(ast.parse(nest).body, {"n": 10})


def test_large_arrays_take_long():
    assert seconds(ast.parse("y = x * x + x").body, {"x": np.ones(10**7)}) > 0.005
    assert seconds(ast.parse("y = x * x + x").body, {"x": np.ones(10)}) < 1e-6
