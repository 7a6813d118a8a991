"""Products by the device's library: every layout that it reads in place, types, loops around them, and what is said."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING, on_device
from tests.lowering.cuda.test_planner import kinds
from tracejit.lowering.cuda.libs import cublas, emulated_blas
from tracejit.lowering.cuda.nodes import Control, Kernel, Library
from tracejit.lowering.cuda.planner import every
from tracejit.lowering.emit import libraries

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "LEAST", 1)


def made(*shape: int, dtype: Any = float) -> np.ndarray:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


A, B, V, BATCH, OTHERS = made(7, 5), made(5, 6), made(5), made(3, 7, 5), made(3, 5, 6)
#: Functions, arguments, and what kernels have to do beside the library.
CASES = {
    "matrices": (lambda x, y: x @ y, (A, B), 0),
    "left transposed": (lambda x, y: x.T @ y, (A.T.copy(), B), 0),
    "right transposed": (lambda x, y: x @ y.T, (A, B.T.copy()), 0),
    "both transposed": (lambda x, y: y.T @ x.T, (A, B), 0),
    "part": (lambda x, y: x[1:6, :4] @ y[:4], (A, B), 0),
    "steps of rows": (lambda x, y: x[::2] @ y, (A, B), 0),
    "steps of columns": (lambda x, y: x[:, ::2] @ y[::2], (A, B), 1),
    "reversed": (lambda x, y: x[::-1] @ y, (A, B), 1),
    "matrix and vector": (lambda x, y: x @ y, (A, V), 0),
    "transposed and vector": (lambda x, y: x.T @ y, (A.T.copy(), V), 0),
    "vector and matrix": (lambda x, y: x @ y, (V, B), 0),
    "vector and transposed": (lambda x, y: x @ y.T, (V, B.T.copy()), 0),
    "column of a matrix": (lambda x, y: x @ y[:, 2], (A, B), 0),
    "row and matrix": (lambda x, y: x[2:3] @ y, (A, B), 0),
    "vectors": (lambda x, y: x[:, 1] @ y[:, 2], (A.T.copy(), B), 1),
    "one term": (lambda x, y: x[:, :1] @ y[:1], (A, B), 0),
    "batch": (lambda x, y: x @ y, (BATCH, OTHERS), 0),
    "batch transposed": (lambda x, y: x.swapaxes(1, 2) @ y, (BATCH.swapaxes(1, 2).copy(), OTHERS), 0),
    "batch of one": (lambda x, y: x @ y, (BATCH[:1], OTHERS[:1]), 0),
    "batch and matrix": (lambda x, y: x @ y, (BATCH, B), 0),
    "batch of vectors": (lambda x, y: np.einsum("bij,bj->bi", x, y), (BATCH, made(3, 5)), 0),
    "batch of dots": (lambda x, y: np.einsum("bj,bj->b", x, y), (made(3, 5), made(3, 5)), 0),
    "batch last": (lambda x, y: np.einsum("ijb,jkb->bik", x, y), (made(7, 5, 3), made(5, 6, 3)), 2),
    "several axes that are no one": (
        lambda x, y: np.tensordot(x, y, ((0, 2), (2, 0))),
        (made(4, 3, 5), made(5, 6, 4)),
        2,
    ),
    "several axes": (lambda x, y: np.tensordot(x, y, 2), (made(4, 3, 5), made(3, 5, 6)), 0),
    "into a part": (lambda x, y: np.concatenate([x @ y, y[:2]]), (A, B), 1),
    "of a sum": (lambda x, y: (x + 1) @ (y * 2), (A, B), 2),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_layouts(name: str, dtype: Any) -> None:
    f, args, _ = CASES[name]
    args = [made(*x.shape, dtype=dtype) for x in args]
    program, _ = on_device(f, *args)
    steps = [s for s in every(program.plan.steps) if isinstance(s, Library)]
    with tj.config.override(cuda=SETTING):
        got = tj.device_get(tj.jit(f, device="cuda")(*args))
    want = f(*args)
    tolerance = 1e-13 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    assert len(steps) == 1 and program.hosts is None


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c[2] == 0])
def test_what_lies_right_is_not_copied(name: str) -> None:
    f, args, _ = CASES[name]
    program, _ = on_device(f, *args)
    assert not any(isinstance(s, Kernel) for s in program.plan.steps)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16, "complex128"])
def test_types(dtype: Any) -> None:
    x, y = made(17, 33, dtype=dtype), made(33, 9, dtype=dtype)
    dot = tj.lax.dot  # which keeps bfloat16
    for f in (dot, lambda x, y: dot(x[0], y), lambda x, y: dot(x, y[:, 0])):
        program, (got, *_) = on_device(f, x, y)
        assert kinds(program.plan.steps)[-1] == "library"
        wide = np.float32 if np.dtype(dtype).itemsize == 2 else dtype
        want = np.asarray(f(x.astype(wide), y.astype(wide))).astype(dtype)
        assert got.dtype == np.dtype(dtype)
        tolerance = {2: 2e-2, 4: 1e-5}.get(np.dtype(dtype).itemsize, 1e-13)
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=tolerance, atol=tolerance)


def test_integers_and_nothing_are_kernels() -> None:
    for x, y in ((np.arange(12).reshape(3, 4), np.arange(8).reshape(4, 2)), (made(3, 0), made(0, 2))):
        program, (got, *_) = on_device(lambda x, y: x @ y, x, y)
        assert kinds(program.plan.steps) == ["block"] and np.array_equal(got, x @ y)


def test_few_multiplications_are_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "LEAST", 7 * 5 * 6 + 1)
    program, (got, *_) = on_device(lambda x, y: np.tanh(x @ y), A, B)
    assert kinds(program.plan.steps) == ["block"]
    np.testing.assert_allclose(got, np.tanh(A @ B), rtol=1e-13)


def recurrence(x, w):
    h = x[0]
    for row in x:
        h = np.tanh(h @ w + row)
    return h


def test_a_loop_around_products_is_the_hosts() -> None:
    x, w = made(6, 4, 5), made(5, 5)
    program, outs = on_device(recurrence, x, w)
    assert any(isinstance(s, Control) for s in program.plan.steps) and program.hosts is None
    got = next(o for o in outs if o.shape == (4, 5))
    np.testing.assert_allclose(got, recurrence(x, w), rtol=1e-12, atol=1e-14)


def halve(x):
    while (x @ x).max() > 1e-3:
        x = x @ x * 0.5
    return x


def test_a_while_loop_around_products() -> None:
    x = made(5, 5) * 0.3
    _, outs = on_device(halve, x)
    np.testing.assert_allclose(next(o for o in outs if o.shape == (5, 5)), halve(x), rtol=1e-12)


def test_derivatives_and_batches() -> None:
    def loss(v, w, x):
        return np.mean(np.tanh(np.tanh(x @ v) @ w) ** 2)

    args = made(5, 8), made(8, 3), made(11, 5)
    with tj.config.override(cuda=SETTING):
        got = tj.device_get(tj.jit(tj.grad(loss, argnums=(0, 1)), device="cuda")(*args))
        rows = tj.device_get(tj.jit(tj.vmap(lambda r: r @ args[0]), device="cuda")(args[2]))
    for g, w in zip(got, tj.grad(loss, argnums=(0, 1))(*args), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows, args[2] @ args[0], rtol=1e-13)


def test_the_plan_and_explain_say_it() -> None:
    with tj.config.override(cuda=SETTING):
        f = tj.jit(lambda x, y: x @ y, device="cuda")
        text = str(tj.explain(f)(A, B))
        assert f.lower(A, B).compile().as_text("plan").splitlines() == [
            "a graph, where an earlier run had the same addresses, of:",
            "  library: product of 7×5 and 5×6, float64",
        ]
    assert "library: product of 7×5 and 5×6, float64" in text


@pytest.mark.skipif(SETTING != "emulate", reason="cuBLAS itself is not asked here")
def test_arguments_that_cublas_refuses_are_refused() -> None:
    x = np.zeros(4)
    with pytest.raises(ValueError, match="INVALID_VALUE"):
        emulated_blas.dgemv(
            1, 0, 3, 1, x.ctypes.data, x.ctypes.data, 2, x.ctypes.data, 1, *[x.ctypes.data] * 2, 1
        )
    assert cublas.layout(3, 4, 4, 1) == (0, 4) and cublas.layout(3, 4, 1, 3) == (1, 3)
