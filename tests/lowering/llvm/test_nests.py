"""Programs with many loops: their nests are functions, and compiling them takes time in proportion to their number."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.llvm import nests

X = np.random.default_rng(3).random((4, 12, 12, 9))


def pooled(number):
    """A function that takes the largest of windows one after another, in as many nests as there are windows."""

    def f(x):
        out = np.empty((4, number, 9))
        for n in range(number):
            out[:, n] = np.max(x[:, n // 4 : n // 4 + 2, n % 4 : n % 4 + 2], axis=(1, 2))
        return out

    return f


def compiled(number):
    return tj.jit(pooled(number), capture=False).lower(X).compile()


def test_nests_of_long_programs_are_functions(monkeypatch):
    assert "@nest" not in compiled(2).as_text("source")
    monkeypatch.setattr(nests, "_MANY", 8)
    tj.clear_caches()
    many = compiled(2)
    text = many.as_text("source")
    functions = re.findall(r"^define internal i32 @(nest\d+)", text, re.MULTILINE)
    assert len(functions) >= 2 and set(re.findall(r"call i32 @(nest\d+)", text)) == set(functions)
    np.testing.assert_array_equal(many(X), pooled(2)(X))


def test_sizes_indices_and_failures_inside():
    def f(x, indices, scale):
        for _ in range(12):
            x = np.cumsum(np.take(x, indices, axis=0) * scale, axis=0)[: len(x)]
            x = x / (1 + abs(x).max(axis=1, keepdims=True))
        return x

    indices = np.arange(12)[::-1]
    for size in (16, 48):
        x = X.reshape(12, -1)[:, :size]
        np.testing.assert_allclose(tj.jit(f)(x, indices, 0.5), f(x, indices, 0.5), rtol=1e-12)
    with pytest.raises(IndexError, match="index 12 is out of bounds"):
        tj.jit(f, fallback=False)(x, indices + 1, 0.5)


@pytest.mark.exhaustive
def test_time_to_compile_grows_with_the_program():
    """The cost in processor time of 4 times as many nests, in programs that the disk does not know."""
    with tj.config.override(cache="off"):
        spent = []
        for number in (12, 48):
            start = time.process_time()
            compiled(number)
            spent.append(time.process_time() - start)
    assert spent[1] < 8 * spent[0]  # in one function it was 14 times as much
