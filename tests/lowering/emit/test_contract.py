"""Matrix products of operands that BLAS cannot read as they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import ops
from tracejit.ops.convolution.sliding import Windows, sliding_windows
from tracejit.tracing import to_raw, wrap


def windows_times(windows: Windows, numbers: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        view = sliding_windows(to_raw(x), windows)
        return wrap(ops.linalg.dot_general(view, to_raw(w), dimension_numbers=numbers))

    return f


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_overlapping_windows_are_packed_batch_by_batch(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 40, 3)).astype(dtype), rng.normal(size=(5, 3, 4, 6)).astype(dtype)
    windows = Windows((1,), (4,), (2,), (1,))
    f = windows_times(windows, (((2, 3), (1, 2)), ((0,), (0,))))
    view = np.asarray(sliding_windows(x, windows))
    want = np.einsum("npct,ncto->npo", view, w)
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(tj.jit(f)(x, w), want, rtol=tolerance, atol=tolerance)
    text = tj.jit(f).lower(x, w).compile().as_text("loops")
    assert "pack" in text and "228" in text  # 19 windows of 12 elements: one batch's


def test_both_operands_packed() -> None:
    x = np.random.default_rng(0).normal(size=(3, 30))
    windows = Windows((1,), (9,), (1,), (1,))
    view = np.asarray(sliding_windows(x, windows))

    def f(x: Any) -> Any:
        v = sliding_windows(to_raw(x), windows)
        return wrap(ops.linalg.dot_general(v, v, dimension_numbers=(((1,), (1,)), ((0,), (0,)))))

    np.testing.assert_allclose(tj.jit(f)(x), np.einsum("bpt,bpu->btu", view, view), rtol=1e-12)


def test_inside_a_loop() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3, 20))
    w = np.random.default_rng(1).normal(size=(3, 8, 13))
    windows = Windows((1,), (8,), (1,), (1,))
    f = windows_times(windows, (((2,), (1,)), ((0,), (0,))))
    got = tj.jit(lambda x, w: tj.lax.map(lambda r: f(r, w), x))(x, w)
    want = [np.einsum("bpt,bto->bpo", np.asarray(sliding_windows(r, windows)), w) for r in x]
    np.testing.assert_allclose(got, np.stack(want), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("shape", [(1, 700), (700, 1), (30, 40), (64, 9), (9, 64)])
def test_vectors_by_matrices_in_the_cache(dtype: Any, shape: tuple[int, int]) -> None:
    """Loops along the memory of the matrix, whichever way it lies; BLAS only for complex numbers."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape).astype(dtype)
    x, y = rng.normal(size=shape[1]).astype(dtype), rng.normal(size=shape[0]).astype(dtype)
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    for m in (a, np.asfortranarray(a)):
        f = tj.jit(lambda a, x, y: (a @ x, y @ a, a.T @ y, x[::-1] @ a.T))
        for found, want in zip(f(m, x, y), (a @ x, y @ a, y @ a, a @ x[::-1]), strict=True):
            np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)
        text = f.lower(m, x, y).compile().as_text("loops")
        assert ("gemv" in text) is (dtype is np.complex128)


def test_large_matrices_go_to_blas() -> None:
    f = tj.jit(lambda a, x: a @ x)
    assert "gemv" in f.lower(np.ones((600, 600)), np.ones(600)).compile().as_text("loops")


def test_extents_that_grow() -> None:
    """The rows before a loop's index, none at first."""

    def f(a: Any) -> Any:
        return tj.lax.fori_loop(
            0, 40, lambda i, c: c.at[i].set(a[i] - (c[:i] @ a[i]) @ c[:i] / 40), np.zeros((40, 40))
        )

    a, want = np.random.default_rng(0).normal(size=(40, 40)), np.zeros((40, 40))
    for i in range(40):
        want[i] = a[i] - (want[:i] @ a[i]) @ want[:i] / 40
    np.testing.assert_allclose(tj.jit(f)(a), want, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_long_sums_over_several_axes_are_taken_in_parts(dtype: Any, batch: tuple[int, ...]) -> None:
    """The first contracted axis one entry after another: neither operand is copied whole."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*batch, 33, 12, 20, 20)).astype(dtype)
    y = rng.normal(size=(*batch, 33, 17, 20, 20)).astype(dtype)
    n = len(batch)
    numbers = (((n, n + 2, n + 3), (n, n + 2, n + 3)), ((0,) * n, (0,) * n))

    def f(x: Any, y: Any) -> Any:
        return wrap(ops.linalg.dot_general(to_raw(x), to_raw(y), dimension_numbers=numbers))

    text = tj.jit(f).lower(x, y).compile().as_text("loops")
    assert (
        text.count("gemm") == 1
        and f"{33 * 12 * 20 * 20}]" not in text.split("in range", 1)[0].split("out0")[1]
    )
    tolerance = 1e-3 if dtype is np.float32 else 1e-11
    want = np.einsum("...nchw,...ndhw->...cd", x, y)
    np.testing.assert_allclose(tj.jit(f)(x, y), want, rtol=tolerance, atol=tolerance)


def test_gradients_of_convolutions_take_image_by_image() -> None:
    from scipy.signal import correlate

    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(9, 8, 22, 22)), rng.normal(size=(5, 8, 3, 3))
    ct = rng.normal(size=(9, 5, 20, 20))

    def f(k: Any) -> Any:
        return (tj.lax.conv_general_dilated(x, k, (1, 1), "VALID") * ct).sum()

    want = [[sum(correlate(a[c], b[o], "valid") for a, b in zip(x, ct, strict=True)) for c in range(8)]
            for o in range(5)]  # fmt: skip
    np.testing.assert_allclose(tj.jit(tj.grad(f))(k), want, rtol=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_matrices_and_vectors(dtype: Any) -> None:
    """Of all lengths about a vector register, in each layout; the sum of a row is one of multiples of the rows."""
    rng = np.random.default_rng(0)
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    for m, n in ((1, 2), (3, 1), (2, 3), (7, 9), (10, 10), (5, 64), (65, 3), (11, 15), (8, 13)):
        whole = rng.normal(size=(2 * m, n + 1)).astype(dtype)
        u, v = rng.normal(size=m).astype(dtype), rng.normal(size=n).astype(dtype)
        f = tj.jit(lambda u, a, v: (u @ a, a @ v, v @ a.T, a.T @ u))
        for a in (whole[::2, 1:], np.asfortranarray(whole[::2, 1:]), whole[:m, :n].copy()):
            for got, want in zip(f(u, a, v), (u @ a, a @ v, v @ a.T, a.T @ u), strict=True):
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_a_vector_times_a_small_matrix_goes_along_its_rows() -> None:
    """The column of an array times the array, in a loop: no sum over elements that lie apart."""

    def f(a: Any) -> Any:
        v = a[0]
        for k in range(100):
            v = v - a[:, k % 10] @ a
        return v

    a = np.random.default_rng(0).normal(size=(10, 10)) / 10
    run = tj.jit(f)
    np.testing.assert_allclose(run(a), f(a), rtol=1e-10)
    text = run.lower(a).compile().as_text("loops")
    # Eight sums in one register and two in another: they are set to 0, and added to.
    assert text.count("range(8, 10)") == 2
