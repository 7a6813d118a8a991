"""Updates of parts of arrays in place: in order where they read ahead, and read back where they are used again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

STEPS = 5


def ahead(x: Any) -> Any:
    for _ in range(STEPS):
        x[:-1] = 0.5 * x[:-1] + 0.25 * x[1:]
    return x


def far_ahead(x: Any) -> Any:
    for _ in range(STEPS):
        x[:-3] = x[3:] - x[1:-2]
    return x


def behind(x: Any) -> Any:
    for _ in range(STEPS):
        x[1:] = 0.5 * x[1:] + 0.25 * x[:-1]
    return x


def on_both_sides(x: Any) -> Any:
    for _ in range(STEPS):
        x[1:-1] = 0.5 * x[2:] + 0.25 * x[:-2]
    return x


def rows_ahead(x: Any) -> Any:
    a = x[:96].reshape(8, 12)
    for _ in range(STEPS):
        a[:-1, :-1] = 0.5 * a[1:, 1:] + 0.25 * a[:-1, 1:]
    return a


def next_row_but_behind(x: Any) -> Any:
    a = x[:96].reshape(8, 12)
    for _ in range(STEPS):
        a[:-1, 1:] = 0.5 * a[1:, :-1] + 0.25 * a[:-1, 1:]
    return a


def same_row_behind(x: Any) -> Any:
    a = x[:96].reshape(8, 12)
    for _ in range(STEPS):
        a[:-1, 1:] = 0.5 * a[:-1, :-1]
    return a


def reversed_(x: Any) -> Any:
    for _ in range(STEPS):
        x[:-1] = x[:0:-1] + 0.5 * x[:-1]
    return x


def growing_smaller(x: Any) -> Any:
    """A tree that is folded from its leaves."""
    for k in range(len(x) - 1, 90, -1):
        x[:k] = 0.5 * (x[1 : k + 1] + x[:k])
    return x


def two_arrays(x: Any) -> Any:
    y = x[::-1].copy()
    for k in range(len(x) - 1, 90, -1):
        x[:k] *= 1.01
        np.maximum(0.5 * (y[1 : k + 1] + y[:k]), 1 - x[:k], out=y[:k])
    return x, y


def read_shifted(x: Any) -> Any:
    y = np.zeros(len(x))
    for _ in range(STEPS):
        x[2:] *= 0.9
        y[1:-3] += x[2:-2] * x[4:]
    return x, y


def read_before_and_after(x: Any) -> Any:
    y = np.zeros(len(x))
    for _ in range(STEPS):
        t = 0.9 * x[1:]
        y[1:] += t + x[:-1]
        x[1:] = t
        y[:-1] += t
    return x, y


def written_twice(x: Any) -> Any:
    y = np.zeros(len(x))
    for _ in range(STEPS):
        t = 0.9 * x[1:] + 1
        x[1:] = t
        x[:-1] = 0.5 * x[:-1]
        y[1:] += t
    return x, y


PROGRAMS = [
    ahead, far_ahead, behind, on_both_sides, rows_ahead, next_row_but_behind, same_row_behind, reversed_,
    growing_smaller, two_arrays, read_shifted, read_before_and_after, written_twice,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [97, 130])
def test_in_place_as_numpy(f: Callable[..., Any], n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    got, want = tj.jit(f)(x.copy()), f(x.copy())
    for a, b in zip(*([r] if isinstance(r, np.ndarray) else r for r in (got, want)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("f", "turns"),
    [(ahead, False), (far_ahead, False), (growing_smaller, False), (behind, True), (on_both_sides, True)],
)
def test_reading_ahead_needs_no_other_block(f: Callable[..., Any], turns: bool) -> None:
    loops = tj.jit(f).lower(np.ones(97)).as_text("loops")
    assert ("rotate(" in loops) == ("arena(" in loops) == turns


def test_what_was_written_is_read_back() -> None:
    loops = tj.jit(two_arrays).lower(np.ones(97)).as_text("loops")
    assert "rotate(" not in loops and loops.count(" * 1.01") == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_another_shape_of_the_same_storage(order: tuple[int, int]) -> None:
    """What is ahead in rows is not ahead in a reshaped array."""

    def f(x: Any) -> Any:
        for _ in range(STEPS):
            a = (x * 1.5).reshape(8, 12) if order[0] else np.ascontiguousarray((x * 1.5).reshape(12, 8))
            b = a.reshape(-1)
            t = b[1:] + 1
            a[:-1] = 0.5 * a[1:] + a[:-1]
            x = a.reshape(96) + np.sum(t)
        return x

    x = np.random.default_rng(3).normal(size=96)
    np.testing.assert_allclose(tj.jit(f)(x), f(x), rtol=1e-13)


def test_what_was_written_is_read_back_from_the_copy() -> None:
    """What a second update overwrites is copied away before; parts of it are then read there, too."""

    def lattice(x: Any) -> Any:
        v = 2 * x
        i = v[1:] - 0.5 * x[:-1]
        v[1:] = i
        p = np.inner(v[2:], x[1:-1])
        old = v.copy()
        v[1:] = i - p * x[:-1]
        return np.inner(v[3:], x[3:]), p * old[2:], np.sum(i * x[1:])

    x = np.random.default_rng(0).normal(size=8)
    for got, want in zip(tj.jit(lattice)(x), lattice(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("n", [5, 8, 33])
def test_burgs_method_has_its_gradient(n: int) -> None:
    """Two series that are updated from each other, as in the estimate of an autoregressive model."""

    def burg(x: Any) -> Any:
        u, v, total = x[::-1].copy(), x[::-1].copy(), 0.0
        last_u, last_v = np.empty_like(u), np.empty_like(v)
        k = 2 * np.inner(v[1:], u[:-1]) / (np.inner(u[:-1], u[:-1]) + np.inner(v[1:], v[1:]))
        for i in range(1, 4):
            last_u[:], last_v[:] = u, v
            u[1:] = last_u[:-1] - k * last_v[1:]
            v[1:] = last_v[1:] - k * last_u[:-1]
            k = 2 * np.inner(v[i + 1 :], u[i:-1]) / (1 + np.inner(v, v))
            total = total + k
        return total

    x, step = np.random.default_rng(0).normal(size=(2, n))
    want = (burg(x + 1e-5 * step) - burg(x - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(burg))(x) @ step, want, rtol=1e-5)
