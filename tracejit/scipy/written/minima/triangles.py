"""Cholesky factors and triangular systems, of matrices that may turn out not to be positive definite."""

from __future__ import annotations

from typing import Any

import numpy as np


def factored(a: Any, n: Any = None) -> Any:
    """The upper triangular U with U' U = a, as far as there is one; and 0, or the number of the row that has none. Of
    `a` here, and of U below, only the first `n` rows count if it is given."""
    n = len(a) if n is None else n
    u = np.zeros(a.shape)
    failed = np.int64(0)
    k = 0
    while k < n and failed == 0:
        row = a[k] - np.dot(u[:, k], u)
        if row[k] > 0:
            u[k] = np.where(np.arange(len(a)) >= k, row / np.sqrt(row[k]), 0.0)
            k += 1
        else:
            failed = np.int64(k + 1)
    return u, failed


def upper_solved(u: Any, b: Any, n: Any = None) -> Any:
    """x with U x = b."""
    n = len(b) if n is None else n
    x = np.zeros(b.shape)
    for i in range(n):
        k = n - 1 - i
        x[k] = (b[k] - np.dot(u[k], x)) / u[k, k]
    return x


def lower_solved(u: Any, b: Any, n: Any = None) -> Any:
    """x with U' x = b."""
    n = len(b) if n is None else n
    x = np.zeros(b.shape)
    for k in range(n):
        x[k] = (b[k] - np.dot(u[:, k], x)) / u[k, k]
    return x


def smallest(u: Any) -> Any:
    """Estimates of the smallest singular value of U and of its right vector: Cline, Moler, Stewart and Wilkinson, An
    estimate for the condition number of a matrix (1979)."""
    n = len(u)
    p = np.zeros(n)
    w = np.zeros(n)
    for k in range(n):
        after = np.where(np.arange(n) > k, u[k], 0.0)
        up, down = (1 - p[k]) / u[k, k], (-1 - p[k]) / u[k, k]
        rest = np.where(np.arange(n) > k, p, 0.0)
        above, below = rest + after * up, rest + after * down
        better = np.abs(up) + np.sum(np.abs(above)) >= np.abs(down) + np.sum(np.abs(below))
        w[k] = up if better else down
        p = np.where(np.arange(n) > k, above if better else below, p)
    v = upper_solved(u, w)
    length = np.sqrt(np.dot(v, v))
    return np.sqrt(np.dot(w, w)) / length, v / length
