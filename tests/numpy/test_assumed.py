"""Lengths that only the program knows, where Python runs over the items; numbers of arrays as Python's; integers that C
code needs."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

X = np.array([1.5, -2.0, 3.25, 0.5])


def _same(f: Any, *calls: Any, traces: int | None = None) -> None:
    compiled = tj.jit(f, fallback=True)
    for args in calls:
        assert repr(compiled(*args)) == repr(f(*args))
    assert traces is None or compiled.trace_count == traces


def test_comprehensions_over_lengths_that_depend_on_values() -> None:
    _same(lambda x: {f"{v:.1f}": v for v in x[x > 0]}, (X,), (X + 1,), (-X,))
    _same(lambda x: [[v, v * v] for v in x[x > 0]], (X,), (-X,), (X * 2,), traces=2)
    _same(lambda x: dict(enumerate(x[x > 0])), (X,), (-X,), traces=2)
    _same(
        lambda k: {int(a): int(b) for a, b in zip(*np.unique(k, return_counts=True), strict=True)},
        (np.array([1, 2, 2]),),
    )
    _same(lambda x: np.flatnonzero(x > 1).tolist(), (X,), (-X,), traces=2)


def test_lengths_are_not_taken_for_known_elsewhere() -> None:
    f = lambda x: {f"{v:.1f}": v for v in x[x > 0]}
    with pytest.raises(TracejitError):
        tj.jit(f, fallback=False)(X)
    with pytest.raises(TracejitError):
        tj.vmap(tj.jit(f))(X[None])


def test_lists_of_many_numbers_or_of_times_are_pythons() -> None:
    for x in (np.zeros(2000), np.array([3], "M8[D]")):
        with pytest.raises(TracejitError):
            tj.jit(lambda x: x.tolist(), fallback=False)(x)


def test_items_and_lists_of_numbers() -> None:
    m = X.reshape(2, 2)
    _same(
        lambda x: (x.item(0), x.item(-1), x.sum().item(), x[:1].item(), type(x.item(1)).__name__),
        (X,),
        (-X,),
        traces=1,
    )
    _same(lambda x: (x.tolist(), x.item(1, 0), x.item((0, 1)), sum(x[0].tolist())), (m,), (-m,), traces=1)
    _same(
        lambda x: ((x > 0).tolist(), x.astype(np.int32).tolist(), x.astype(np.float32).tolist()), (X,), (-X,)
    )
    _same(lambda x: (x.astype(complex) * 1j).tolist(), (X,), (X + 1,), traces=1)
    _same(lambda x: [type(v).__name__ for v in x.tolist()], (X,), (np.arange(3),))
    for bad in (lambda x: x.item(), lambda x: x.item(9), lambda x: x.item(0, 0)):
        with pytest.raises(Exception) as want:
            bad(X)
        with pytest.raises(want.type):
            tj.jit(bad, fallback=True)(X)


def test_derivatives_of_items_and_lists() -> None:
    def f(x: Any) -> Any:
        a, *rest = x.tolist()
        return a * sum(rest) + np.sin(x.item(2)) * x[1].item()

    check_grads(tj.jit(f), (X,), order=2)
    for e in np.eye(4):
        want = (f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6
        assert abs(tj.jit(tj.grad(f))(X) @ e - want) < 1e-8
    lanes = tj.vmap(tj.jit(f))(np.stack([X, 2 * X]))
    assert np.allclose(lanes, [f(X), f(2 * X)], rtol=1e-14)


def test_integers_that_c_code_takes() -> None:
    def f(x: Any, w: Any) -> Any:
        window: Any = deque(maxlen=w)
        for v in x:
            window.append(v)
        return sum(window) / len(window)

    _same(f, (X, 2), (X + 1, 2), (X, 3), traces=2)
    _same(lambda x, k: np.pad(x, k // 2, mode="edge") + np.uint8(k), (X, 3), (-X, 3), (X, 2), traces=2)


def test_histograms_of_small_integers() -> None:
    img = np.array([0, 7, 255, 7, 128], np.uint8)
    for span in ((0, 256), None):
        want = np.histogram(img, 8, span)
        got = tj.jit(lambda x, s=span: np.histogram(x, 8, s), fallback=False)(img)
        assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
        assert got[1].dtype == want[1].dtype
