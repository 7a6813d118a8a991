"""Lengths that only the program knows: joined arrays, equal lengths that are checked, numbers of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ShapeError
from tracejit.test_util import check_grads

X = np.array([3.0, -1.0, 2.0, 5.0, -2.0])
CASES: dict[str, Any] = {
    "joined": lambda x, n: (np.concatenate([x[x > 0], x, x[x < 0]]), np.append(x[x > 2], 1.0), np.hstack([x[:n], x])),
    "rows": lambda x, n: (np.vstack([x[x > 0], x[x > 0]]), np.concatenate([x.reshape(5, 1)[:n], np.ones((1, 1))])),
    "sorted by a pivot": lambda x, n: (np.concatenate((x[x < 1], x[x == 1], x[x > 1])),),
    "tiled": lambda x, n: (np.tile(x[x > 0], 2), np.tile(x[:n], (2, 1)), np.pad(x[x > 0], (1, 2))),
    "repeated": lambda x, n: (np.repeat(x, n), np.repeat(x[:n], 2), np.repeat(x, (x > 0) * 2)),
    "counted": lambda x, n: (np.bincount(np.abs(x).astype(int)), np.bincount(np.abs(x[:n]).astype(int))),
    "ranges": lambda x, n: (np.arange(n), np.arange(1, n, 2), np.arange(n, -2, -1), np.zeros((n, 2)), np.eye(n)),
    "spaced": lambda x, n: (np.linspace(0, x[0], n), np.linspace(x[:2], 1, n, endpoint=False, axis=1)),
    "inserted": lambda x, n: (np.insert(x, n, 7), np.insert(x, x[:2].astype(int), [1, 2]), np.delete(x, n)),
    "parts": lambda x, n: (*np.array_split(x[:n], 3), *np.array_split(x[x > 0], 2)),
    "slices": lambda x, n: (x[n::2], x[:n:-2], x[::-1][:n], x[1 : n : 3 - 2 * n]),
}  # fmt: skip


def test_shapes_of_traced_lengths_under_vmap() -> None:
    factors = np.array([2.0, 3.0, -1.0])

    def f(x: Any) -> Any:
        kept = x[x > 0]
        return tj.vmap(lambda c: np.stack([kept * c, kept]).reshape(-1))(factors)

    jitted = tj.jit(f, fallback=False)
    for x in (X, -X, np.abs(X)):
        want = [np.stack([x[x > 0] * c, x[x > 0]]).reshape(-1) for c in factors]
        np.testing.assert_array_equal(jitted(x), want)
    assert jitted.trace_count == 1 and "reshape" in jitted.lower(X).as_text()


def test_derivatives_of_loops_over_arrays_of_traced_length() -> None:
    """The length of what a loop carries is found among all that goes in unchanged, and what it carries."""

    def f(x: Any) -> Any:
        kept = x[x > 0]
        total = kept * 0
        for _ in range(40):
            total = total * 0.5 + kept * 2.0
        return total.sum()

    slope = tj.jit(tj.grad(f), fallback=False)
    factor = 2 * (1 - 0.5**40) / (1 - 0.5)
    for x in (X, -X):
        np.testing.assert_allclose(slope(x), (x > 0) * factor, rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_lengths_of_traced_numbers(name: str) -> None:
    f = lambda x, n: CASES[name](x, n)
    jitted = tj.jit(f)
    for x in (X, -np.abs(X), np.abs(X)):
        for n in (np.int64(0), np.int64(2), np.int64(4)):
            for got, want in zip(jitted(x, n), f(x, n), strict=True):
                assert got.dtype == want.dtype and got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=1e-15)
    assert jitted.trace_count == 1


def test_equal_lengths_are_checked() -> None:
    f = lambda x, y: x[x > 0] * y[y > 0]
    jitted = tj.jit(f)
    np.testing.assert_array_equal(jitted(X, X[::-1]), f(X, X[::-1]))
    with pytest.raises(ShapeError, match="3 and 2 elements"):
        jitted(X, np.array([1.0, 2.0, -3.0, -4.0, -5.0]))
    left = tj.jit(f, fallback=True)
    one = np.array([2.0, -1.0, -1.0, -1.0, -1.0])
    np.testing.assert_array_equal(left(X, one), f(X, one))  # NumPy repeats the one: Python does it
    with pytest.raises(ValueError, match="could not be broadcast together with shapes"):
        left(X, np.array([1.0, 2.0, -3.0, -4.0, -5.0]))
    known = tj.jit(lambda x: x[x > 0] + np.arange(3.0))
    assert known(X).tolist() == [3, 3, 7]
    with pytest.raises(ShapeError):
        known(-X)


def test_results_own_their_memory() -> None:
    for f in (lambda x: x[x > 0], lambda x: np.outer(x[x > 0], x[x > 0]), np.flatnonzero):
        got = tj.jit(f)(X)
        assert got.base is None and got.flags.owndata and got.flags.c_contiguous


def test_a_slice_with_a_traced_step_is_a_view() -> None:
    def f(x: Any, k: Any) -> Any:
        part = x[::k]
        part *= 10
        x[1::k] = 0
        return part, x

    for k in (-3, -1, 2, 9):
        ours, theirs = X.copy(), X.copy()
        got, want = tj.jit(f)(ours, np.int64(k)), f(theirs, np.int64(k))
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(got[0], want[0])
        assert np.shares_memory(got[0], ours) and got[1] is ours
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        tj.jit(f)(X.copy(), np.int64(0))


def test_slices_whose_three_numbers_are_traced() -> None:
    f, x = tj.jit(lambda x, i, j, k: x[i:j:k]), np.arange(10.0)
    for i, j, k in (
        (2, 8, 3),
        (8, 2, 3),
        (8, 2, -3),
        (2, 8, -3),
        (0, 0, 1),
        (9, -1, -2),
        (5, 5, -1),
        (-4, 99, 2),
    ):
        assert f(x, *map(np.int64, (i, j, k))).tolist() == x[i:j:k].tolist()


def test_integers_that_decide_lengths_are_known() -> None:
    f = tj.jit(lambda x, n: np.linspace(0, 1, n) + x)
    assert f(1.0, 3).shape == (3,) and f(1.0, 4).shape == (4,)
    assert f.trace_count == 2 and f.options.sizes  # one program for each, with static shapes


def test_derivatives_of_joined_and_repeated_arrays() -> None:
    n = np.int64(3)
    for f in (
        lambda x: (np.concatenate([x[x > 0], x[:n]]) ** 2).prod(),
        lambda x: np.sin(np.repeat(x, (x > 0) * 2)).sum() + np.tile(x[x > 1], 2).prod(),
        lambda x: (x[x > 0] * x[:n]).sum(),
        lambda x: (np.linspace(x[0], x[1], n) ** 3).sum() + (x[::n] ** 2).sum(),
    ):
        check_grads(f, (X,), order=1)
        np.testing.assert_allclose(tj.jit(tj.grad(f))(X), tj.grad(f)(X), rtol=1e-12)
        tangent = np.arange(5.0)
        got = tj.jit(lambda x, f=f, t=tangent: tj.jvp(f, (x,), (t,))[1])(X)
        np.testing.assert_allclose(got, tj.grad(f)(X) @ tangent, rtol=1e-12)


def test_numbers_up_to_a_length_are_not_the_length() -> None:
    """A number that is repeated everywhere is read as one; the length of `arange(n)` is no such number."""

    def f(x: np.ndarray) -> tuple[Any, ...]:
        n = len(x[x > 0])
        return np.arange(n) == np.zeros(n, int), np.arange(n) + np.ones(n, int), np.eye(n, 1), np.eye(1, n)

    x = np.array([1.0, -1.0, 2.0, 3.0])
    for got, want in zip(tj.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)
