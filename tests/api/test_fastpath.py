"""The fast path gives what the general way gives, and steps aside when anything else comes."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.fastpath import fast_key
from tracejit.api.jitted import Jitted

X = np.arange(6.0).reshape(2, 3)


def test_keys_have_types_shapes_and_layouts() -> None:
    keys = {fast_key((a,)) for a in (X, X.T, X[:, ::2], X.astype(np.float32), 1.0, 1, True)}
    assert len(keys) == 7
    assert fast_key((X, 2.0)) == fast_key((X + 1, 3.0))
    assert fast_key(([X],)) is None and fast_key((np.float64(1),)) is None and fast_key(("s",)) is None


def general_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []
    original = Jitted._call

    def watched(self: Jitted, args: Any, kwargs: Any) -> Any:
        seen.append(1)
        return original(self, args, kwargs)

    monkeypatch.setattr(Jitted, "_call", watched)
    return seen


def test_the_second_call_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = general_calls(monkeypatch)
    f = tj.jit(lambda x, s: x * s)
    for s in (2.0, 3.0, -1.0):
        np.testing.assert_array_equal(f(X, s), X * s)
    assert len(seen) == 1
    np.testing.assert_array_equal(f(X.T, 2.0), X.T * 2)
    np.testing.assert_array_equal(f(X, 2), X * 2)
    assert len(seen) == 3


def test_scalars_come_out_as_scalars() -> None:
    f = tj.jit(lambda x: x.sum())
    assert [type(f(X)) for _ in range(3)] == [np.float64] * 3


STATE = types.SimpleNamespace(w=np.ones(3), k=1.0)


def captured(x: Any) -> Any:
    return x * STATE.w + STATE.k


def test_guards_hold_on_the_fast_path() -> None:
    f = tj.jit(captured)
    try:
        f(X)
        f(X)
        STATE.w[0] = 7.0
        np.testing.assert_array_equal(f(X), captured(X))
        STATE.w = np.arange(6.0)[::2]  # another layout
        np.testing.assert_array_equal(f(X), captured(X))
        assert f.trace_count == 1
        STATE.k = 2.0
        np.testing.assert_array_equal(f(X), captured(X))
        assert f.trace_count == 2
    finally:
        STATE.w, STATE.k = np.ones(3), 1.0


def test_not_while_tracing_or_disabled() -> None:
    f = tj.jit(lambda x: np.sin(x))
    f(X)
    f(X)
    np.testing.assert_allclose(tj.grad(lambda x: f(x).sum())(X), np.cos(X))
    with tj.disable_jit():
        np.testing.assert_array_equal(f(X), np.sin(X))


@pytest.mark.parametrize("bad", [X.astype(">f8"), np.lib.stride_tricks.as_strided(X, (2, 3), (24, 8))])
def test_layouts_that_need_a_copy(bad: np.ndarray) -> None:
    f = tj.jit(lambda x: x + 1)
    for _ in range(3):
        np.testing.assert_array_equal(f(bad), np.asarray(bad, np.float64) + 1)


def test_results_are_new_every_time() -> None:
    f = tj.jit(lambda x: x + 1)
    outs = [f(X) for _ in range(4)]
    assert not any(np.shares_memory(a, b) for n, a in enumerate(outs) for b in outs[:n])


def test_many_signatures() -> None:
    f = tj.jit(lambda x: x.sum())
    big = np.ones((300, 4))
    for n in range(1, 300):  # more layouts than are remembered
        assert f(big[::n]) == 4 * len(big[::n])
