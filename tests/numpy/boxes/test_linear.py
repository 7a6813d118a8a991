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
