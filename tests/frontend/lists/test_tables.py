"""Dicts and sets whose keys only the program knows."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tests.programs import corpus_tables
from tests.programs.observe import Maker, verdict


@pytest.mark.sample(10)
@pytest.mark.parametrize("maker", corpus_tables.NATIVE, ids=lambda m: m.__name__)
def test_what_should_be_native_is(maker: Maker) -> None:
    assert verdict(maker) == ("native", "")


def counts(k):
    found = {}
    for v in k:
        found[int(v)] = found.get(int(v), 0) + 1
    return found


def test_room_is_made_where_there_is_too_little() -> None:
    fast = tj.jit(counts, fallback=False)
    keys = np.random.default_rng(0).integers(-(2**62), 2**62, 3000)
    for n in (100, 3000, 100):
        assert list(fast(keys[:n]).items()) == list(counts(keys[:n]).items())


def test_keys_whose_hashes_collide() -> None:
    fast = tj.jit(counts, fallback=False)
    for keys in (np.arange(900) << 40, np.arange(-450, 450), np.arange(900) * 2**32, np.full(900, -1)):
        assert list(fast(keys).items()) == list(counts(keys).items())


def test_derivatives_by_values() -> None:
    keys = np.array([3, 1, 3, 2, 1, 3])

    def f(x):
        sums = {}
        for i in range(len(keys)):
            sums[int(keys[i] + 0 * x[i])] = sums.get(int(keys[i] + 0 * x[i]), 0.0) + x[i].item()
        total = 0.0
        for v in sums.values():
            total += v * v
        return total

    x = np.linspace(0.5, 2.0, 6)
    group = np.array([x[keys == k].sum() for k in keys])
    np.testing.assert_allclose(tj.jit(tj.grad(f), fallback=False)(x), 2 * group, rtol=1e-14)


def test_an_item_is_taken_out_of_a_set_of_outside():
    def stepping():
        left: set[float] = {1.5}

        def f(x):
            taken = left.pop()
            left.add(taken * 2)
            return taken * x.sum()

        return f

    f, g = stepping(), tj.jit(stepping())
    x = np.ones(3)
    assert [g(x) for _ in range(4)] == [f(x) for _ in range(4)]
