"""Lists whose length only the program knows."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tests.programs import corpus_buffers as _  # noqa: F401 - enters its programs
from tests.programs import corpus_paths, corpus_positions
from tests.programs.corpus_queues import NATIVE
from tests.programs.observe import Maker, verdict


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    "maker", NATIVE + corpus_paths.NATIVE + corpus_positions.NATIVE, ids=lambda m: m.__name__
)
def test_what_should_be_native_is(maker: Maker) -> None:
    assert verdict(maker) == ("native", "")


def test_room_is_made_where_there_is_too_little() -> None:
    @tj.jit
    def halved(x):
        steps = []
        while x > 1:
            steps.append(x)
            x = x * 0.999
        return steps

    def plain(x):
        steps = []
        while x > 1:
            steps.append(x)
            x = x * 0.999
        return steps

    assert halved(2.0) == plain(2.0) and halved.trace_count == 1
    assert halved(1e3) == plain(1e3) and halved.trace_count == 2  # there are 6905 of them
    assert halved(5.0) == plain(5.0) and halved.trace_count == 2


def test_arrays_of_an_adaptive_integration_and_their_derivative() -> None:
    def path(y, end, tolerance):
        t, h, times, states = 0.0, 0.1, [0.0], [y]
        while t < end:
            h = min(h, end - t)
            slope = np.array([y[1], -np.sin(y[0])])
            middle = y + 0.5 * h * slope
            step = h * np.array([middle[1], -np.sin(middle[0])])
            error = np.abs(step - h * slope).max()
            if error < tolerance:
                t, y = t + h, y + step
                times.append(t)
                states.append(y)
            h *= 1.5 if error < tolerance / 4 else 0.6 if error >= tolerance else 1.0
        return np.array(times), np.array(states)

    fast = tj.jit(path, fallback=False)
    for end, tolerance in ((3.0, 1e-2), (5.0, 1e-3), (0.0, 1e-3)):
        for a, b in zip(
            fast(np.array([1.0, 0.2]), end, tolerance),
            path(np.array([1.0, 0.2]), end, tolerance),
            strict=True,
        ):
            assert np.allclose(a, b, rtol=1e-12) and a.shape == b.shape
    assert fast.trace_count == 1

    def loss(y):
        return np.sum(path(y, 3.0, 1e-2)[1] ** 2)

    y, e = np.array([1.0, 0.2]), 1e-6
    slope = tj.jit(tj.grad(loss), fallback=False)(y)
    assert np.allclose(slope, [(loss(y + d) - loss(y - d)) / (2 * e) for d in e * np.eye(2)], rtol=1e-5)
    assert np.allclose(slope, tj.grad(loss)(y), rtol=1e-12)


def test_one_trace_serves_all_lengths() -> None:
    @tj.jit
    def found(x, limit):
        out = []
        for i in range(len(x)):
            if x[i] > limit:
                out.append(i)
        return out

    x = np.arange(40.0)
    assert [len(found(x, k)) for k in (0.5, 20.5, 39.5)] == [39, 19, 0]
    assert found.trace_count == 1 and tj.explain(found)(x, 0.5).fallback is None


def test_lists_that_are_cleared_begin_anew() -> None:
    def groups(x, limit):
        out, group = [], []
        for i in range(len(x)):
            group.append(x[i])
            if x[i] > limit:
                out.append(sum(group) + 100 * len(group))
                group.clear()
        return out, group, len(group)

    x = np.sin(np.arange(30.0))
    for limit in (0.9, 0.5, 2.0):
        assert tj.jit(groups, fallback=False)(x, limit) == groups(x, limit)


def test_an_index_out_of_range_is_pythons_error() -> None:
    def f(x, i):
        out = []
        for k in range(len(x)):
            if x[k] > 0:
                out.append(x[k])
        return out[i]

    x = np.arange(30.0)
    assert tj.jit(f, fallback=False)(x, 3) == 4.0
    with pytest.raises(IndexError, match="list index out of range"):
        tj.jit(f, fallback=False)(x, 29)


def test_what_needs_the_items_is_refused() -> None:
    def f(x):
        out = []
        for k in range(len(x)):
            if x[k] > 0:
                out.append(x[k])
        return repr(out)

    with pytest.raises(tj.errors.BufferedListError):
        tj.jit(f, fallback=False)(np.ones(30))
