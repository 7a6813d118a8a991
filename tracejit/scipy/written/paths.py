"""The exact distribution of Kolmogorov's and Smirnov's distance of two samples: paths in a lattice."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy import special


def beyond_square(n: int, h: Any) -> Any:
    """Of the paths from a corner of a square of side n to the other, the share that come h from the diagonal."""
    p = np.float64(0.0)
    k = np.int64(n) // h
    while k >= 0:
        share = np.float64(1.0)
        for j in range(h):
            share = (n - k * h - j) * share / (n + k * h + j + 1.0)
        p = share * (1.0 - p)
        k -= 1
    return 2.0 * p


def beyond_either(m: int, n: int, g: int, h: Any) -> Any:
    """Of the paths in a lattice of m by n steps (g divides both), the share that come h g / (m n) from the diagonal.

    Column by column, of the paths to each point the share that was outside before: they come from the left or from
    below.
    """
    mg = m // g
    ng = n // g
    share = np.ones(n + 1)
    for j in range(n + 1):
        if mg * j < h:
            share[j] = 0.0
    for i in range(1, m + 1):
        value = np.float64(0.0)
        for j in range(n + 1):
            if np.abs(ng * i - mg * j) >= h:
                value = np.float64(1.0)
            else:
                value = (share[j] * i + value * j) / (i + j)
            share[j] = value
    return share[n]


def beyond_one_of_square(n: int, h: Any) -> Any:
    """Of the paths from a corner of a square to the other, the share that come h from the diagonal on one side."""
    p = np.float64(1.0)
    for j in range(h):
        p = p * (n - j) / (n + j + 1.0)
    return p


def below_one(m: int, n: int, g: int, h: Any) -> Any:
    """The number of paths in a lattice of m by n steps, m ≥ n, that come h g / (m n) from the diagonal on one side."""
    mg = m // g
    ng = n // g
    count = n + (mg - h) // mg
    before = np.zeros(n + 1)
    at = np.zeros(n + 1, dtype=np.int64)
    for j in range(n + 1):
        at[j] = (h + mg * j + ng - 1) // ng
    found = np.float64(0.0)
    for j in range(count):
        paths = special.binom(np.float64(at[j] + j), np.float64(j))
        for i in range(j):
            paths = paths - special.binom(np.float64(at[j] - at[i] + j - i), np.float64(j - i)) * before[i]
        before[j] = paths
        found = found + paths * special.binom(np.float64(m - at[j] + n - j), np.float64(n - j))
    if count == 0:
        found = special.binom(np.float64(m + n), np.float64(n))
    return found
