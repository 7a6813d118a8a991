"""Loops that threads share: which ones, and the same bits whoever shares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.running import nodes, trace
from tracejit import lax
from tracejit.lowering.emit import columns, parts
from tracejit.lowering.fuse import lower
from tracejit.lowering.loops import parallel
from tracejit.lowering.loops.nodes import For
from tracejit.lowering.loops.uses import trips
from tracejit.lowering.lowered import Lowered
from tracejit.ops.elementwise.arithmetic import mul
from tracejit.ops.elementwise.transcendental import exp
from tracejit.ops.reductions.reduce import reduce_max, reduce_sum

RNG = np.random.default_rng(7)
VECTOR = RNG.normal(size=5003)
MATRIX = RNG.normal(size=(61, 83))
IMAGES = RNG.normal(size=(3, 12, 11, 2))
KERNEL = RNG.normal(size=(3, 3, 2, 4))
INDICES = RNG.integers(0, 61, 700)


@pytest.fixture
def everything_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads share the smallest loops, a few iterations at a time."""
    for module, name, value in [
        (parallel, "_WORTH", 1),
        (parallel, "_SHARE", 1),
        (parts, "MANY", 1),
        (parts, "_BLOCK", 64),
        (parts, "_LEAST_PART", 8),
        (columns, "MANY", 1),
        (columns, "_PART", 64),
        (columns, "_LEAST_ROWS", 2),
    ]:
        monkeypatch.setattr(module, name, value)
    yield


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def stencil(x: Any) -> Any:
    out = x.copy()
    out[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
    return out


def scatter(x: Any) -> Any:
    out = np.zeros_like(x)
    np.add.at(out, INDICES, x[INDICES[::-1]] * 2)
    return out


def newton(x: Any) -> Any:
    return lax.while_loop(
        lambda c: np.abs(c * c - 2 - x * x) > 1e-9, lambda c: c - (c * c - 2 - x * x) / (2 * c), 1.5 + x * x
    )


def table(x: Any) -> Any:
    """A private array in each lane."""

    def lane(a: Any) -> Any:
        return lax.fori_loop(0, 20, lambda i, t: t.at[i % 7].add(np.sin(a * i)), np.zeros(7)).max()

    return tj.vmap(lane)(x)


def decaying(x: Any) -> Any:
    """One loop of unknown length over all elements."""
    return lax.while_loop(lambda c: np.max(c) > 0.3, lambda c: c * np.cos(0.3 * c), np.abs(x))


def changing_places(x: Any) -> Any:
    """Two private arrays in each lane, that swap."""

    def lane(a: Any) -> Any:
        start = (0, np.full(30, 1.0) * a, np.arange(30.0))
        step = lambda c: (c[0] + 1, c[2][::-1] * 0.9 + np.sin(c[1]), c[1] * a + c[0])
        return lax.while_loop(lambda c: c[0] < 5 + np.abs(a), step, start)[1].max()

    return tj.vmap(lane)(x)


def convolution(x: Any) -> Any:
    dims = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, KERNEL, (1, 1), "SAME", dimension_numbers=dims)


KERNELS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "pointwise": (lambda x: np.exp(-x * x) * np.tanh(x) + np.sin(x), VECTOR),
    "a strided view": (lambda x: np.exp(x[::3]) + x[1::3], VECTOR[:3000]),
    "transposed": (lambda x: np.cos(x.T) + 1, RNG.normal(size=(70, 90))),
    "sum": (lambda x: np.sum(np.sin(x)), VECTOR),
    "sum of a broadcast": (lambda x: np.sum(x[:, :40] * x[:40, :1].T), MATRIX),
    "complex sum": (lambda x: np.sum(np.exp(1j * x)), VECTOR),
    "mean and variance": (lambda x: (x.mean(), x.var()), VECTOR),
    "max and min": (lambda x: (np.max(x * x), np.min(x), np.any(x > 3), np.sum(x > 0)), VECTOR),
    "argmax": (lambda x: (np.argmax(np.cos(x)), np.argmin(x)), VECTOR),
    "half precision": (lambda x: np.sum(x.astype(np.float16)), VECTOR),
    "product": (lambda x: np.prod(1 + x * 1e-3), VECTOR),
    "rows": (lambda x: x.sum(axis=1), MATRIX),
    "columns": (lambda x: (np.sin(x).sum(axis=0), x.max(axis=0), (x > 0).sum(axis=0)), MATRIX),
    "columns of a batch": (lambda x: x.sum(axis=(0, 2)), IMAGES),
    "narrow columns": (lambda x: x.sum(axis=1), IMAGES.reshape(3, -1, 2)),
    "softmax": (softmax, MATRIX),
    "layer norm": (layer_norm, MATRIX),
    "stencil": (stencil, MATRIX),
    "gather": (lambda x: x[INDICES] * 2, MATRIX),
    "scatter": (scatter, MATRIX),
    "running sums": (lambda x: (np.cumsum(x, axis=1), np.cumsum(x, axis=0)), MATRIX),
    "concatenated": (lambda x: np.concatenate([x * 2, np.sin(x)], axis=1), MATRIX),
    "small products": (lambda x: np.einsum("bij,bjk->bik", x, x), RNG.normal(size=(40, 3, 3))),
    "products by BLAS": (lambda x: np.einsum("bij,bjk->bik", x, x), RNG.normal(size=(9, 30, 30))),
    "packed products": (lambda x: np.einsum("bijk,bjil->bkl", x, x), RNG.normal(size=(5, 9, 9, 12))),
    "convolution": (convolution, IMAGES),
    "lanes of while loops": (tj.vmap(newton), VECTOR[:999]),
    "lanes with arrays": (table, VECTOR[:99]),
    "a while loop over arrays": (decaying, VECTOR[:700]),
    "lanes with arrays that swap": (changing_places, VECTOR[:57]),
    "mapped rows": (lambda x: lax.map(lambda r: np.sort(r * r)[::2] + r.sum(), x), MATRIX),
    "special": (lambda x: tj.scipy.special.j0(x) + tj.scipy.special.gammainc(1.5, x * x), VECTOR[:500]),
}
GRADIENTS = [
    "pointwise", "transposed", "sum", "mean and variance", "max and min", "rows", "softmax", "layer norm", "stencil",
    "gather", "scatter", "running sums", "concatenated", "small products", "convolution", "lanes with arrays",
    "lanes of while loops", "a while loop over arrays",
]  # fmt: skip


def leaves(result: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in tj.tree.leaves(result)]


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    def scalar(x: Any) -> Any:
        out = f(x)
        return sum(np.sum(np.sin(o * 1.0)) for o in (out if isinstance(out, tuple) else (out,)))

    return scalar


def same_bits(f: Callable[..., Any], x: np.ndarray) -> list[np.ndarray]:
    """The results, which are the same for every number of threads."""
    compiled = tj.jit(f)
    want = None
    for count in (1, 2, 3, 8):
        with tj.config.override(num_threads=count):
            got = leaves(compiled(x))
        want = want or got
        assert [g.tobytes() for g in got] == [w.tobytes() for w in want], count
    return want or []


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", KERNELS)
def test_the_same_bits_at_every_number_of_threads(name: str, everything_is_worth_it: None) -> None:
    f, x = KERNELS[name]
    got, want = same_bits(f, x), leaves(f(x))
    for g, w in zip(got, want, strict=True):
        rtol = 1e-2 if w.dtype == np.float16 else 1e-11
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


@pytest.mark.sample(16)
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_same_bits_of_gradients(name: str, everything_is_worth_it: None) -> None:
    f, x = KERNELS[name]
    (got,) = same_bits(tj.grad(total(f)), x)
    (want,) = leaves(tj.grad(total(f))(x))
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def test_in_place_updates_of_arguments(everything_is_worth_it: None) -> None:
    def f(x: Any, i: Any) -> Any:
        x[1:] = x[:-1] * 2 + np.sin(x[1:])
        x[i] += 1
        return x.sum()

    index = np.arange(0, 5000, 7)
    want = VECTOR.copy()
    f(want, index)
    compiled, got = tj.jit(f), []
    for count in (1, 3, 8):
        got.append(VECTOR.copy())
        with tj.config.override(num_threads=count):
            compiled(got[-1], index)
        np.testing.assert_allclose(got[-1], want, rtol=1e-12)
        np.testing.assert_array_equal(got[-1], got[0])


# ---------------------------------------------------------------- which loops


def shared(low: Lowered) -> list[For]:
    return [s for s in nodes(low.program.body) if isinstance(s, For) and s.grain]


def lengths(low: Lowered) -> list[float]:
    return [trips(s) for s in shared(low)]


def lowered(f: Callable[..., Any], *shapes: tuple[int, ...]) -> Lowered:
    return lower(trace(f, *(np.zeros(s) for s in shapes)), [None] * len(shapes), {})


def test_only_large_loops_are_shared() -> None:
    assert not shared(lowered(exp, (10_000,)))
    (loop,) = shared(lowered(exp, (1_000_000,)))
    assert loop.grain & (loop.grain - 1) == 0 and 1 << 12 <= loop.grain <= 1 << 16


def test_blocks_of_a_transpose_count_with_their_length() -> None:
    """Blocks of 32 x 32 were taken for 1000 x 1000, so that threads shared a matrix of 64 x 64."""

    def work(n: int) -> float:
        found = tj.explain(lambda x: np.exp(x.T) + x)(np.ones((n, n))).findings
        (loop,) = [f for f in found if f.topic == "threads"]
        return loop.facts["work"] / n**2

    assert 2 < work(64) < 20 and 2 < work(512) < 20


def test_the_outermost_loop_is_shared_if_it_is_long_enough() -> None:
    def f(x: Any) -> Any:
        return mul(exp(x), exp(x))

    def rows(x: Any) -> Any:
        return reduce_max(exp(x), axes=(1,))

    assert lengths(lowered(rows, (3000, 700))) == [3000]
    assert lengths(lowered(f, (2, 1_000_000))) == [2_000_000]


def test_a_sum_of_everything_is_shared_by_blocks() -> None:
    low = lowered(lambda x: reduce_sum(exp(x), axes=(0,)), (1_000_000,))
    assert lengths(low) == [-(-1_000_000 // parts._BLOCK)]
    assert not shared(lowered(lambda x: reduce_sum(x, axes=(0,)), (50_000,)))


def test_rows_kept_for_a_later_phase_are_each_threads_own() -> None:
    low = tj.jit(softmax).lower(np.zeros((2000, 400))).compile()
    text = low.as_text("loops")
    assert "private(f64[400])" in text and "# parallel" in text
    assert low.memory_analysis()["arena_bytes"] == 0
    assert low.memory_analysis()["temporary_bytes"] == 400 * 8


def test_what_calls_out_is_not_shared(everything_is_worth_it: None) -> None:
    """BLAS has threads of its own, and callbacks need the interpreter."""
    products = tj.jit(lambda x: np.einsum("bij,bjk->bik", x, x)).lower(np.zeros((4, 80, 80)))
    assert "dgemm" in products.as_text("loops") and "# parallel" not in products.as_text("loops")
    calls = tj.jit(lambda x: lax.map(lambda r: tj.pure_callback(np.sin, r, r), x)).lower(np.zeros((40, 30)))
    assert "callback" in calls.as_text("loops") and "# parallel" not in calls.as_text("loops")


def test_products_that_blas_computes_in_one_thread_are_shared(everything_is_worth_it: None) -> None:
    text = tj.jit(lambda x: np.einsum("bij,bjk->bik", x, x)).lower(np.zeros((40, 30, 30))).as_text("loops")
    assert "dgemm" in text and "# parallel" in text


def test_loops_that_carry_something_are_not_shared(everything_is_worth_it: None) -> None:
    text = tj.jit(lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x)).lower(VECTOR).as_text("loops")
    assert "carry" in text and "# parallel" not in text
    text = tj.jit(lambda x: np.cumsum(x)).lower(VECTOR).as_text("loops")
    assert "# parallel" not in text
