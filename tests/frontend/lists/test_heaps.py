"""Heaps of traced length leave their items in Python's order."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

import tracejit as tj


def sorted_by_heap(x, y, replaces):
    heap, out = [], []
    for i in range(len(x)):
        if x[i] >= 0 or not heap:
            heapq.heappush(heap, (x[i], y[i]))
        elif replaces:
            out.append(heapq.heapreplace(heap, (-x[i], y[i])))
        else:
            out.append(heapq.heappop(heap))
    return heap, out


@pytest.mark.parametrize("replaces", [False, True])
def test_the_order_of_equal_items_is_pythons(replaces: bool) -> None:
    rng = np.random.default_rng(0)
    fast = tj.jit(lambda x, y: sorted_by_heap(x, y, replaces), fallback=False)
    for _ in range(20):
        x, y = rng.integers(-2, 5, 60), rng.integers(0, 3, 60) / 2
        assert fast(x, y) == sorted_by_heap(x, y, replaces)


def test_an_empty_heap_raises() -> None:
    def f(x):
        heap = []
        for i in range(len(x)):
            if x[i] > 0:
                heapq.heappush(heap, x[i])
        return heapq.heappop(heap)

    assert tj.jit(f, fallback=False)(np.arange(20.0)) == 1.0
    with pytest.raises(IndexError, match="index out of range"):
        tj.jit(f, fallback=False)(-np.ones(20))


def smallest(x):
    heap, total = [], 0.0
    for i in range(len(x)):
        heapq.heappush(heap, (np.sin(x[i]), i))
    while len(heap) > 5:
        v, i = heapq.heappop(heap)
        total += v * v * i
    return total + heap[0][0]


def test_derivatives_and_lanes_go_through_heaps() -> None:
    x = np.random.default_rng(0).normal(size=12)
    expected = [(smallest(x + 1e-6 * e) - smallest(x - 1e-6 * e)) / 2e-6 for e in np.eye(12)]
    np.testing.assert_allclose(tj.jit(tj.grad(smallest))(x), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tj.jit(tj.jacfwd(smallest))(x), expected, rtol=1e-6, atol=1e-8)
    lanes = tj.jit(tj.vmap(smallest))(np.stack([x, -x, x[::-1]]))
    np.testing.assert_allclose(lanes, [smallest(x), smallest(-x), smallest(x[::-1])], rtol=1e-12)
