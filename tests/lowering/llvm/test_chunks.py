"""Loops that threads share are functions; those that differ in their arrays only are one."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tj

N = 200_000


@pytest.fixture(params=[1, 3])
def threads(request):
    with tj.config.override(num_threads=request.param):
        yield


def shared(f, *args):
    """(results, how many functions of chunks with exp or tanh there are, how many such loops are shared)."""
    compiled = tj.jit(f).lower(*args).compile()
    text = compiled.as_text("source")
    bodies = re.findall(r"^define internal i32 @(chunk\d+)\((.*?)^}", text, re.MULTILINE | re.DOTALL)
    launched = re.findall(r"\(ptr @(chunk\d+), ", text)
    assert set(launched) == {name for name, _ in bodies}
    functions = {name for name, body in bodies if re.search("exp|tanh", body)}
    return compiled(*args), len(functions), sum(name in functions for name in launched)


@pytest.mark.sample(2)
def test_equal_layers_are_one_function(threads):
    x, w = np.random.default_rng(0).standard_normal((2, 300, 300)) / 20

    def network(x, w):
        for _ in range(4):
            x = np.tanh(w @ x)
        return x

    got, functions, launched = shared(network, x, w)
    assert (functions, launched) == (1, 4)
    np.testing.assert_allclose(got, network(x, w), rtol=1e-12, atol=1e-14)


def test_gradients_of_equal_layers(threads):
    x, *ws = np.random.default_rng(1).standard_normal((6, 300, 300)) / 20

    def loss(ws, x):
        for w in ws:
            x = np.tanh(w @ x)
        return (x * x).sum()

    got, functions, launched = shared(tj.grad(loss), ws, x)
    assert functions < launched / 2
    eager = tj.grad(loss)(ws, x)
    for a, b in zip(got, eager, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: np.exp(x * 2.0), lambda x: np.exp(x * 3.0)),
        (lambda x: np.exp(x + 1.0), lambda x: np.exp(x - 1.0)),
        (lambda x: np.exp(x), lambda x: np.exp(x.astype(np.float32))),
        (lambda x: np.exp(x[::2]), lambda x: np.exp(x[1::2])),
        (lambda x: np.exp(x[: N // 2] * x[N // 2 :]), lambda x: np.exp(x[::2] * x[1::2])),
    ],
    ids=["constants", "operations", "dtypes", "offsets", "strides"],
)
def test_loops_that_differ(threads, one, other):
    x, y = np.linspace(1, 2, N), np.linspace(-2, -1, N - 1000)  # of one length they would be one loop
    (a, b), functions, launched = shared(lambda x, y: (one(x), other(y)), x, y)
    assert functions == launched == 2
    np.testing.assert_allclose(a, one(x), rtol=3e-16)
    np.testing.assert_allclose(b, other(y), rtol=3e-7 if b.dtype == np.float32 else 3e-16)


def test_values_around_the_loops_are_given(threads):
    """Each loop of the one function gets its own; sizes too."""

    def f(x, y, i, j):
        return np.exp(np.sort(x) * x[i]), np.exp(np.sort(y) * y[j])

    x, y = np.linspace(1, 2, N), np.linspace(3, 4, N + 5000)
    got, functions, launched = shared(f, x, y, 5, 7)
    assert (functions, launched) == (1, 2)
    for a, b in zip(got, f(x, y, 5, 7), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-16)
