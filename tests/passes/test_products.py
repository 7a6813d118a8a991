"""Products of a loop's rows leave it, and the results stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control import unrolled
from tracejit import lax

RNG = np.random.default_rng(0)
W = RNG.normal(size=(12, 9)) / 3
ROWS = RNG.normal(size=(5, 9))


def scans(f: Callable[..., Any], *args: Any) -> list[list[str]]:
    """The ops of the compiled program, and those of its loops' bodies."""
    jaxpr = tj.jit(f).lower(*args).compile().as_text("jaxpr")
    levels: dict[int, list[str]] = {}
    for line in jaxpr.splitlines():
        if " = " in line:
            depth = len(line) - len(line.lstrip())
            levels.setdefault(depth, []).append(line.split(" = ")[1].split()[0].split("[")[0])
    return [levels[d] for d in sorted(levels)]


def before(scan: Any, **options: Any) -> Callable[..., Any]:
    return lambda w, xs: scan(lambda c, x: (np.tanh(w @ x + c), c), np.zeros(12), xs, **options)


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_are_multiplied_before_the_loop(reverse: bool) -> None:
    f = before(lax.scan, reverse=reverse)
    for found, wanted in zip(
        tj.jit(f)(W, ROWS), before(unrolled.scan, reverse=reverse)(W, ROWS), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    outside, inside = scans(f, W, ROWS)
    assert "dot_general" in outside and "dot_general" not in inside


def after(scan: Any) -> Callable[..., Any]:
    return lambda w, xs: scan(lambda c, x: (np.sin(c) + x, w @ c), np.ones(9), xs)


def test_outputs_are_multiplied_after_the_loop() -> None:
    for found, wanted in zip(tj.jit(after(lax.scan))(W, ROWS), after(unrolled.scan)(W, ROWS), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    outside, inside = scans(after(lax.scan), W, ROWS)
    assert "dot_general" in outside and "dot_general" not in inside


def shared(scan: Any) -> Callable[..., Any]:
    def f(w: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = np.sin(c) + x
            return c, (c, w @ c, c @ w.T)

        return scan(step, np.ones(9), xs)[1]

    return f


def test_several_outputs_of_one_factor() -> None:
    """Both take the factor that is an output already, one of them by a transposed view."""
    for found, wanted in zip(tj.jit(shared(lax.scan))(W, ROWS), shared(unrolled.scan)(W, ROWS), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    _, inside = scans(shared(lax.scan), W, ROWS)
    assert "dot_general" not in inside


def stays(w: Any, xs: Any) -> Any:
    """Products of the carry that the next step needs, and one whose factor is larger than itself."""
    square, tall = w[:9, :9], w[:8].T

    def step(c: Any, x: Any) -> Any:
        c = np.tanh(square @ c) + x
        return c, (np.cos(c) @ tall)[:1] * 2.0

    return lax.scan(step, np.ones(9), xs)


def test_what_steps_wait_for_stays() -> None:
    _, inside = scans(stays, W, ROWS)
    assert inside.count("dot_general") == 2


def test_small_matrices_and_long_arrays_stay() -> None:
    f = lambda w, xs: lax.scan(lambda c, x: (c + w @ x, None), np.zeros(3), xs)[0]
    _, inside = scans(f, W[:3, :3], ROWS[:, :3])
    assert "dot_general" in inside
    g = lambda w, xs: lax.scan(lambda c, x: (c + (w @ x).sum(), None), 0.0, xs)[0]
    long = np.zeros((200_000, 2))
    _, inside = scans(g, np.ones((100, 2)), long)
    assert "dot_general" in inside


def test_products_of_matrices() -> None:
    """A row that is a matrix, on the left; on the right it would need its axes exchanged, and stays."""
    xs = RNG.normal(size=(4, 3, 9))
    left = lambda scan: lambda w, xs: scan(lambda c, x: (np.tanh(x @ w.T) + c, c), np.zeros((3, 12)), xs)
    right = lambda scan: lambda w, xs: scan(lambda c, x: (np.tanh(w @ x.T) + c, c), np.zeros((12, 3)), xs)
    for f, moved in ((left, True), (right, False)):
        for found, wanted in zip(tj.jit(f(lax.scan))(W, xs), f(unrolled.scan)(W, xs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert ("dot_general" not in scans(f(lax.scan), W, xs)[1]) is moved
