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


def dot(x: Any, y: Any, numbers: Any) -> Any:
    return lax.dot_general(x, y, numbers)


MATRIX_ROWS = {
    "rows on the left": (lambda w, x: x @ w.T, 6, True),
    "few columns": (lambda w, x: w @ x.T, 3, True),
    "many columns": (lambda w, x: w @ x.T, 6, False),
    "batch axes": (lambda w, x: dot(x, w.reshape(3, 4, 9), (((1,), (2,)), ((0,), (0,)))), 3, True),
    "batch axes, matrix first": (
        lambda w, x: dot(w.reshape(3, 4, 9), x, (((2,), (1,)), ((0,), (0,)))),
        3,
        True,
    ),
    "axes on both sides": (lambda w, x: dot(w.reshape(3, 4, 9), x, (((2,), (1,)), ((), ()))), 3, True),
}


@pytest.mark.parametrize("name", MATRIX_ROWS)
@pytest.mark.parametrize("as_output", [False, True])
def test_products_of_matrices(name: str, as_output: bool) -> None:
    """Rows that are matrices: those with many columns that would need their axes exchanged stay."""
    product, columns, moves = MATRIX_ROWS[name]
    xs = RNG.normal(size=(4, columns, 9))
    start = np.zeros(product(W, xs[0]).shape)

    def f(scan: Any) -> Any:
        def before(c: Any, x: Any) -> Any:
            return np.tanh(product(W, x) + c), c

        def after(c: Any, x: Any) -> Any:
            c = np.sin(c) + x
            return c, product(W, c)

        return lambda xs: scan(after, xs[0], xs) if as_output else scan(before, start, xs)

    total = lambda g: lambda xs: sum(np.sum(np.sin(y)) for y in g(xs))
    for found, wanted in zip(tj.jit(f(lax.scan))(xs), f(unrolled.scan)(xs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    slope = tj.grad(total(f(unrolled.scan)))(xs)
    np.testing.assert_allclose(tj.jit(tj.grad(total(f(lax.scan))))(xs), slope, rtol=1e-11, atol=1e-12)
    moves = moves and (not as_output or start.size >= xs[0].size)  # else the factors would take more memory
    assert ("dot_general" not in scans(f(lax.scan), xs)[1]) is moves
