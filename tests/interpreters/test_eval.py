"""Evaluation, and updates in place where nothing else refers to the array."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import LeakedTracerError
from tracejit.interpreters.eval import ROOT, EvalTrace
from tracejit.ir.primitive import REGISTRY
from tracejit.tracing import bind_update, current_trace

UPDATE = REGISTRY["dynamic_update_slice"]


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[bool, int]]]:
    """For every eager update: was the array that came back the one that was given, and its size."""
    seen: list[tuple[bool, int]] = []
    original = EvalTrace.update

    def watched(self: EvalTrace, op: Any, holder: list[Any], rest: Any, params: Any) -> Any:
        before = id(holder[0])
        out = original(self, op, holder, rest, params)
        seen.append((id(out) == before, np.size(out)))
        return out

    monkeypatch.setattr(EvalTrace, "update", watched)
    yield seen


def copies(updates: list[tuple[bool, int]]) -> int:
    return sum(not same for same, size in updates if size > 1)


def test_evaluation_is_the_root() -> None:
    assert current_trace() is ROOT and ROOT.parent is None


def test_an_array_that_nothing_else_holds_is_overwritten() -> None:
    holder = [np.zeros(3)]
    before = id(holder[0])
    out = bind_update(UPDATE, holder, np.ones(1), np.int64(1))
    assert id(out) == before and out.tolist() == [0, 1, 0]


def test_an_array_that_somebody_holds_is_copied() -> None:
    mine = np.zeros(3)
    out = bind_update(UPDATE, [mine], np.ones(1), np.int64(1))
    assert out is not mine and mine.tolist() == [0, 0, 0]


def test_views_and_read_only_arrays_are_copied() -> None:
    base = np.zeros((2, 3))
    assert bind_update(UPDATE, [base[0]], np.ones(1), np.int64(1)).tolist() == [0, 1, 0]
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert bind_update(UPDATE, [frozen], np.ones(1), np.int64(1)).tolist() == [0, 1, 0]
    assert not base.any() and not frozen.any()


def fill(x: Any) -> Any:
    out = np.zeros(x.shape)
    for n in range(x.shape[0]):
        out[n] = x[n] * x[n]
    return out


@pytest.mark.parametrize("n", [8, 64])
def test_n_eager_writes_copy_at_most_once_forward_and_backward(updates: Any, n: int) -> None:
    np.testing.assert_allclose(tj.grad(lambda x: fill(x).sum())(np.arange(float(n))), 2 * np.arange(n))
    assert len(updates) >= 2 * n  # n writes, and n reads transposed into additions
    assert copies(updates) <= 2


@pytest.mark.parametrize("n", [8, 64])
def test_writes_under_jvp_and_vmap(updates: Any, n: int) -> None:
    x = np.arange(float(n))
    np.testing.assert_allclose(tj.jvp(fill, (x,), (np.ones(n),))[1], 2 * x)
    assert copies(updates) <= 2  # the primal's and the tangent's


@pytest.mark.parametrize("n", [8, 64])
def test_overwriting_the_argument_is_linear_too(updates: Any, n: int) -> None:
    def bump(x: Any) -> Any:
        for k in range(1, x.shape[0]):
            x[k] += 0.5 * x[k - 1]
        return x.sum()

    x = np.arange(float(n))
    got = tj.grad(bump)(x)
    assert x.tolist() == list(range(n))
    want = np.array([sum(0.5**k for k in range(n - i)) for i in range(n)])
    np.testing.assert_allclose(got, want)
    assert copies(updates) <= 3


def test_results_are_numpys() -> None:
    assert type(tj.numpy.sum(np.ones(3))) is np.float64
    assert type(tj.numpy.sin(np.ones(3))) is np.ndarray


def test_a_value_that_another_thread_uses_is_told_to_its_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # the thread's own error
    found: list[Any] = []

    def f(x: Any) -> Any:
        thread = threading.Thread(target=lambda: found.append(2 * x))
        thread.start()
        thread.join()
        return sum(found, 0.0) + x

    with pytest.raises(LeakedTracerError):
        tj.grad(f)(1.0)
    assert not found
    f(1.0)
    assert found == [2.0]
