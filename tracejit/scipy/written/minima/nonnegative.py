"""Least squares with unknowns that are not negative: algorithm NNLS of C. L. Lawson and R. J. Hanson, Solving Least
Squares Problems (1974)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.rotations import added
from tracejit.scipy.written.minima.triangles import upper_solved


def nnls(a: Any, b: Any, most: Any) -> Any:
    """(x, whether less than `most` steps were enough)."""
    n = a.shape[1]
    x = np.zeros(n)
    free = np.zeros(n, dtype=bool)
    refused = np.zeros(n, dtype=bool)
    steps = np.int64(0)
    going = True
    enough = True
    while going:
        # Added in one order, so that the same columns have the same slopes, and the first one is taken.
        slope = added((b - np.dot(a, x))[:, None] * a)
        wanted = np.where(free | refused, -np.inf, slope)
        j = np.argmax(wanted)
        if not wanted[j] > 0:
            going = False
        else:
            column = a[:, j]
            there = np.dot(a, _least(a, column, free))
            beside, size = np.sqrt(np.sum((column - there) ** 2)), np.sqrt(np.sum(there**2))
            s = _least(a, b, free | (np.arange(n) == j))
            # A column that depends on those in use, or whose unknown is negative, is none to take.
            if not size + beside * 0.01 > size or not s[j] > 0:
                refused[j] = True
            else:
                refused = np.zeros(n, dtype=bool)
                free[j] = True
                inner = True
                while inner:
                    steps += 1
                    leaving = free & ~(s > 0)
                    if steps >= most:  # as SciPy counts them
                        enough = inner = going = False
                    elif not np.any(leaving):
                        x = s
                        inner = False
                    else:
                        parts = np.where(leaving, x / np.where(leaving, x - s, 1.0), np.inf)
                        k = np.argmin(parts)
                        x = np.where(free, x + parts[k] * (s - x), 0.0)
                        free = free & (x > 0) & (np.arange(n) != k)
                        x = np.where(free, x, 0.0)
                        s = _least(a, b, free)
    return x, enough


def _least(a: Any, b: Any, free: Any) -> Any:
    """The least squares in the unknowns that are `free`; others are zero."""
    n = a.shape[1]
    rows = np.concatenate((np.where(free[None, :], a, 0.0), np.diag(np.where(free, 0.0, 1.0))), axis=0)
    q, r = np.linalg.qr(rows)
    return np.where(free, upper_solved(r, np.dot(np.concatenate((b, np.zeros(n))), q)), 0.0)
