"""associative_scan against loops in Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import AxisError, LoopLengthError, ScanResultError
from tracejit.test_util import check_grads

X = np.random.default_rng(0).normal(size=(4, 5, 3))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_products(axis: int, reverse: bool) -> None:
    flipped = np.flip(X, axis) if reverse else X
    want = np.cumprod(flipped, axis)
    want = np.flip(want, axis) if reverse else want
    f = lambda x: lax.associative_scan(np.multiply, x, reverse=reverse, axis=axis)
    for run in (f, tj.jit(f)):
        np.testing.assert_allclose(run(X), want, rtol=1e-13)
    check_grads(f, (X,), order=1, atol=1e-5, rtol=1e-5)


def test_matrices_are_multiplied_in_order() -> None:
    ms = np.random.default_rng(1).normal(size=(6, 2, 2))
    want = list(itertools.accumulate(ms, lambda a, b: a @ b))
    np.testing.assert_allclose(lax.associative_scan(np.matmul, ms), want, rtol=1e-12)
    np.testing.assert_allclose(tj.jit(lambda m: lax.associative_scan(np.matmul, m))(ms), want, rtol=1e-12)


def test_trees_and_linear_recurrences() -> None:
    a, b = np.random.default_rng(2).uniform(0.5, 1, (2, 20))

    def combine(p: Any, q: Any) -> Any:
        return p[0] * q[0], q[0] * p[1] + q[1]

    _, y = tj.jit(lambda a, b: lax.associative_scan(combine, (a, b)))(a, b)
    want, last = [], 0.0
    for n in range(20):
        last = a[n] * last + b[n]
        want.append(last)
    np.testing.assert_allclose(y, want, rtol=1e-13)
    np.testing.assert_allclose(
        tj.vmap(lambda a: lax.associative_scan(np.add, a))(X[0]), np.cumsum(X[0], 1), rtol=1e-13
    )


def test_short_ones() -> None:
    assert lax.associative_scan(np.add, np.zeros((0, 3))).shape == (0, 3)
    assert lax.associative_scan(np.add, np.ones((1, 3))).tolist() == [[1, 1, 1]]
    assert lax.associative_scan(np.add, np.array([1, 2, 3])).tolist() == [1, 3, 6]


def test_what_makes_no_sense_is_named() -> None:
    with pytest.raises(LoopLengthError, match="sizes"):
        lax.associative_scan(lambda a, b: a, (np.ones(2), np.ones(3)))
    with pytest.raises(LoopLengthError, match="no arrays"):
        lax.associative_scan(np.add, ())
    with pytest.raises(AxisError):
        lax.associative_scan(np.add, X, axis=5)
    with pytest.raises(ScanResultError):
        lax.associative_scan(lambda a, b: (a, b), X)
