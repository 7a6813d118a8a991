"""Loops whose number of steps only a run knows, with their states in files: the same derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.callbacks.test_spilling import files  # noqa: F401 - a fixture
from tracejit import lax
from tracejit.control.callbacks import spilling
from tracejit.errors import ArgumentTypeError

X = np.linspace(1.5, 3, 5)


def counted(x: Any, a: Any, n: Any) -> Any:
    for k in range(n):
        x = x + 0.01 * np.sin(a * x) * k
    return (x**2).sum()


def until(x: Any, a: Any, least: Any) -> Any:
    k = 0
    while (x**2).sum() > least:
        x = x * np.cos(3 * a)
        k += 1
    return x.sum() * k


def settled(x: Any, a: Any, least: Any) -> Any:
    for _ in range(1000):
        new = np.sin(a * x)
        if np.abs(new - x).max() < least:
            break
        x = new
    return x.sum()


def plain(x: Any, a: Any, n: Any) -> Any:
    """Without a derivative by the number of steps; what the loop begins with has one by `a`."""
    return counted(a * x, a, n) + counted(x, 2.0, 3)


CASES = {
    "no steps": (counted, 0, 0),
    "less than a block": (counted, 7, 1),
    "whole blocks": (counted, 32, 1),
    "blocks and some": (counted, 50, 1),
    "two loops": (plain, 20, 1),
    "never": (until, 1e9, 0),
    "until": (until, 0.5, 1),
    "settled": (settled, 1e-3, 1),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_the_same_gradients(name: str, files: list[Any]) -> None:  # noqa: F811
    f, last, opened = CASES[name]
    spilled = tj.value_and_grad(f, (0, 1), offload="disk")
    for _ in range(2):  # each run has its file
        value, got = spilled(X, 0.2, last)
        want_value, want = tj.jit(tj.value_and_grad(f, (0, 1)))(X, 0.2, last)
        assert value == want_value
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12)
    assert len(files) >= 2 * opened and (opened or not files)


def test_what_is_kept_does_not_grow() -> None:
    """Arrays whose length only a run knows are not counted: `explain` names those that are kept."""

    def rows(**how: Any) -> list[str]:
        report = tj.explain(tj.grad(counted, **how))(X, 0.2, 50)
        return [f.why for f in report.findings if f.rule == "rows"]

    assert any("for what runs after the loop" in why for why in rows())
    kept = [why for why in rows(offload="disk") if "50" in why]
    assert not kept
    found = [
        f.why
        for f in tj.explain(tj.grad(counted, offload="disk"))(X, 0.2, 50).findings
        if f.rule == "calls: file"
    ]
    assert len(found) == 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, 0)])
@pytest.mark.parametrize("f", [counted, until])
def test_lanes_that_end_together_and_apart(f: Any, axes: Any, files: list[Any]) -> None:  # noqa: F811
    last = np.array([3, 40, 20]) if f is counted else np.array([0.5, 1e9, 2.0])
    many = [np.stack([X, 2 * X, 3 * X]), np.array([0.2, 0.3, 0.4]), last]
    args = [v if a == 0 else v[0] for v, a in zip(many, axes, strict=True)]
    got = tj.jit(tj.vmap(tj.grad(f, (0, 1), offload="disk"), axes))(*args)
    for n in range(3):
        one = [v[n] if a == 0 else v for v, a in zip(args, axes, strict=True)]
        for g, w in zip(got, tj.jit(tj.grad(f, (0, 1)))(*one), strict=True):
            np.testing.assert_allclose(g[n], w, rtol=1e-11)


def test_lanes_in_one_file_have_one_number() -> None:
    with pytest.raises(ArgumentTypeError, match="same number of steps in all lanes"):
        spilling._first(np.array([1, 2]))


def test_loops_of_lax_that_go_backwards(files: list[Any]) -> None:  # noqa: F811
    def f(x: Any, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, x: np.sin(x) + 0.1 * i, x).sum()

    np.testing.assert_allclose(tj.grad(f, offload="disk")(X, 21), tj.jit(tj.grad(f))(X, 21), rtol=1e-12)
    assert len(files) == 1
