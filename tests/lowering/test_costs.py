"""Costs of compiled programs against counts by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

N, M, K, L = 4096, 300, 200, 100
X = np.linspace(0.5, 1.5, N)
A, B = np.ones((M, K)), np.ones((K, L))
F = X.astype(np.float32)
Z = X + 1j


def triangle(x: Any) -> Any:
    s = 0.0
    for i in range(50):
        for j in range(i):
            s = s + x[i] * x[j]
    return s


def horner(x: Any) -> Any:
    y = 0.5
    for c in (1.0, 2.0, 3.0):
        y = y * x + c
    return y


def jacobi(u: Any) -> Any:
    for _ in range(30):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)


def five_points(u: Any) -> Any:
    return u[:-4] + u[4:] - 4 * (u[1:-3] + u[3:-1]) + 6 * u[2:-2]


#: name -> (function, arguments, flops, transcendentals, bytes); None: not counted by hand.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float, float, float | None]] = {
    "square and add": (lambda x: x * x + 1, (X,), 2 * N, 0, 16 * N),
    "in float32": (lambda x: x * x + 1, (F,), 2 * N, 0, 8 * N),
    "two arrays": (lambda x, y: x - y, (X, X + 1), N, 0, 24 * N),
    "two results": (lambda x: (x + 1, x * 2), (X,), 2 * N, 0, 24 * N),
    "division": (lambda x: 1 / x, (X,), N, 0, 16 * N),
    "sign": (lambda x: -abs(x), (X,), 2 * N, 0, 16 * N),
    "exponential": (lambda x: np.exp(x) * x, (X,), N, N, 16 * N),
    "root": (lambda x: np.sqrt(x), (X,), 0, N, 16 * N),
    "two functions": (lambda x: np.sin(x) + np.log(x), (X,), N, 2 * N, 16 * N),
    "maximum": (lambda x: np.maximum(x, 1.0), (X,), 0, 0, 16 * N),  # a comparison
    "comparison": (lambda x: x > 1, (X,), 0, 0, 9 * N),
    "choice": (lambda x: np.where(x > 1, x, 0.0), (X,), 0, 0, 16 * N),
    "copy": (lambda x: x[::-1].copy(), (X,), 0, 0, 16 * N),
    "integers": (lambda n: n * 2 + 1, (np.arange(N),), 0, 0, 16 * N),
    "complex product": (lambda z: z * z, (Z,), 6 * N, 0, 32 * N),
    "complex sum": (lambda z: z + z.conj(), (Z,), 3 * N, 0, 32 * N),
    "polynomial": (horner, (X,), 6 * N, 0, 16 * N),
    "transposed": (lambda a: a.T + 1, (A,), M * K, 0, 16 * M * K),
    "broadcast": (lambda a, v: a * v, (A, np.ones(K)), M * K, 0, 16 * M * K + 8 * K),
    "product": (lambda a, b: a @ b, (A, B), 2 * M * K * L, 0, 8 * (M * K + K * L + M * L)),
    "product in float32": (
        lambda a, b: a @ b,
        (A.astype("f4"), B.astype("f4")),
        2 * M * K * L,
        0,
        4 * (M * K + K * L + M * L),
    ),
    "complex matrices": (lambda a: a @ a, (np.ones((50, 50)) + 1j,), 8 * 50**3, 0, None),
    "product and bias": (lambda a, b: a @ b + 1, (A, B), 2 * M * K * L + M * L, 0, None),
    "running sum": (lambda x: np.cumsum(x), (X,), N - 1, 0, 16 * N),
    "scan": (lambda x: tj.lax.scan(lambda c, v: (c * 0.5 + v, c), 0.0, x), (X,), 2 * N, 0, 16 * N + 8),
    "derivative": (tj.grad(lambda x: (np.sin(x) * x).sum()), (X,), 2 * N, 2 * N, 16 * N),
    "lanes": (tj.vmap(lambda x: x * x), (X,), N, 0, 16 * N),
    "loop in a loop": (triangle, (X[:50].copy(),), 50 * 49, 0, 8 * 50 + 8),
    # A sum of k terms is k additions, to zero.
    "softmax": (softmax, (A,), 3 * M * K, M * K, 16 * M * K),
    # x - mean is computed twice: it costs less than to store it.
    "layer norm": (layer_norm, (A,), 6 * M * K + 3 * M, M, 16 * M * K),
    "matrix and vector": (lambda a, v: a @ v, (A, np.ones(K)), 2 * M * K, 0, 8 * (M * K + K + M)),
    "inner product": (lambda a, b: a @ b, (X[:64], X[64:128]), 2 * 64, 0, 8 * 129),
    "batch of products": (
        lambda a, b: a @ b,
        (np.ones((5, 20, 30)), np.ones((5, 30, 10))),
        5 * 2 * 20 * 30 * 10,
        0,
        8 * 5 * (600 + 300 + 200),
    ),
    "outer product": (lambda a, b: np.outer(a, b), (X[:30], X[:40]), 1200, 0, 8 * (30 + 40 + 1200)),
    "five points": (five_points, (X,), 6 * (N - 4), 0, 8 * (2 * N - 4)),
    "convolution": (
        lambda x, k: np.convolve(x, k, "valid"),
        (X, np.ones(5)),
        9 * (N - 4),
        0,
        8 * (2 * N + 1),
    ),
    "convolution of images": (
        lambda x, k: tj.lax.conv(x, k, (1, 1), "VALID"),
        (np.ones((1, 2, 12, 14)), np.ones((3, 2, 3, 3))),
        2 * 3 * 10 * 12 * 18,
        0,
        None,
    ),
    "columns": (lambda a: a.sum(axis=0), (A,), M * K, 0, None),
    "gathered": (lambda x, i: x[i], (X, np.arange(100)), 0, 0, None),
    "gradient of a product": (
        tj.grad(lambda a, b: ((a @ b) ** 2).sum(), (0, 1)),
        (A, B),
        3 * 2 * M * K * L + M * L,
        0,
        None,
    ),
    "nothing": (lambda x: x[:0], (X,), 0, 0, 0),
    "steps of a stencil": (jacobi, (np.ones((40, 40)),), 30 * 4 * 38 * 38, 0, None),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_costs_are_those_counted_by_hand(name: str) -> None:
    f, args, flops, functions, moved = CASES[name]
    found = tj.jit(f).lower(*args).compile().cost_analysis()
    assert (found["flops"], found["transcendentals"]) == (flops, functions)
    assert moved is None or found["bytes accessed"] == moved
    assert (found["unknown"], found["opaque"]) == (0, [])
    for key in ("flops", "transcendentals", "bytes accessed"):
        assert found[key] == sum(nest[key] for nest in found["nests"])


@pytest.mark.parametrize(
    ("f", "arg", "routine", "moved"),
    [
        (np.fft.fft, X, "fft", (8 + 16) * N),
        (np.linalg.cholesky, 3 * np.eye(K, dtype=complex), "cholesky", 32 * K * K),
        (np.sort, X, "numpy:sort:float64:0", 16 * N + 8 * N),  # it sorts a copy in its place
    ],
    ids=["fft", "cholesky", "sort"],
)
def test_routines_of_libraries_are_told_of(f: Any, arg: Any, routine: str, moved: int) -> None:
    found = tj.jit(f).lower(arg).compile().cost_analysis()
    assert found["opaque"] == [routine] and found["bytes accessed"] == moved
    assert (found["flops"], found["transcendentals"], found["unknown"]) == (0, 0, 0)


def test_a_long_sum_is_compensated() -> None:
    found = tj.jit(lambda x: x.sum()).lower(X).compile().cost_analysis()
    assert N - 1 <= found["flops"] <= 1.02 * N and found["transcendentals"] == 0


def test_nests_say_what_they_compute() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.linalg.cholesky(a @ b + 1000 * np.eye(K)), np.exp(a).sum(axis=0)

    found = tj.jit(f).lower(A[:K], np.ones((K, K))).compile().cost_analysis()
    assert found["opaque"] == ["lapack:dpotrf"]
    product = max(found["nests"], key=lambda nest: nest["flops"])
    assert "dot_general" in product["what"] and product["operations"]["fmul"] >= K**3
    assert math.isclose(product["intensity"], product["flops"] / product["bytes accessed"])
    assert sum(nest["functions"].get("exp", 0) for nest in found["nests"]) == K * K


def test_loops_that_end_by_a_value_are_told_of() -> None:
    f = tj.jit(lambda x: tj.lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1])
    assert f.lower(X).compile().cost_analysis()["unknown"] == 1
