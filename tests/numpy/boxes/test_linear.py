"""Extents that are equal by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

X = np.arange(1.0, 31.0)


def windows(x):
    for k in range(5, 14):
        yield x[: k - 1] @ x[: k - 1]
        yield x[k - 2 : k + 2] @ x[1:5]
        yield x[2 * k :] @ x[k + k :]
        yield x[20 - k : 20] @ x[:k][::-1]
        yield x[k - 3 : k] @ x[-(3 - k) : k]
        yield x[k * 2 : 2 * k + 3] @ x[:3]


@pytest.mark.parametrize("n", range(6))
def test_windows(n):
    wanted = sum(list(windows(X))[n::6])

    def f(x):
        s = 0.0
        for k in range(5, 14):
            one = (
                lambda: x[: k - 1] @ x[: k - 1],
                lambda: x[k - 2 : k + 2] @ x[1:5],
                lambda: x[2 * k :] @ x[k + k :],
                lambda: x[20 - k : 20] @ x[:k][::-1],
                lambda: x[k - 3 : k] @ x[-(3 - k) : k],
                lambda: x[k * 2 : 2 * k + 3] @ x[:3],
            )[n]
            s += one()
        return s

    assert tj.jit(f)(X) == pytest.approx(wanted, rel=1e-14)
    assert "native loop of 9 steps" in str(tj.explain(tj.jit(f))(X))


def test_a_filter_has_windows_of_known_size():
    def smooth(x, kernel):
        y = np.zeros_like(x)
        w = len(kernel) // 2
        for i in range(w, len(x) - w):
            y[i] = np.sum(x[i - w : i + w + 1] * kernel)
        return y

    kernel = np.array([1.0, 2.0, 4.0, 2.0, 1.0])
    np.testing.assert_allclose(tj.jit(smooth)(X, kernel), smooth(X, kernel), rtol=1e-14)
    assert "native loop of 26 steps" in str(tj.explain(tj.jit(smooth))(X, kernel))


def test_sizes_that_may_differ_are_told_apart():
    def f(x, n):
        return x[:n] @ x[: n + 1]

    with pytest.raises(tj.errors.ShapeError):
        tj.jit(f)(X, 3)


def rows_of_csr(ptr, idx, data, x):
    y = np.zeros(len(ptr) - 1)
    for i in range(len(y)):
        y[i] = data[ptr[i] : ptr[i + 1]] @ x[idx[ptr[i] : ptr[i + 1]]]
    return y


def test_what_is_read_twice_is_one_extent():
    ptr = np.array([0, 2, 2, 5, 6, 9, 11])
    idx = np.array([0, 3, 1, 2, 5, 4, 0, 1, 5, 2, 3])
    args = ptr, idx, X[:11], X[10:16]
    np.testing.assert_allclose(tj.jit(rows_of_csr)(*args), rows_of_csr(*args), rtol=1e-14)
    assert "native loop of 6 steps" in str(tj.explain(tj.jit(rows_of_csr))(*args))


def test_what_was_written_in_between_is_another_extent():
    def f(ptr, x):
        s = 0.0
        for i in range(5):
            a = x[: ptr[i]]
            ptr[i] += 1
            s += a @ x[: ptr[i]]
        return s

    with pytest.raises(tj.errors.ShapeError):
        tj.jit(f)(np.arange(3, 9), X)
