"""Elimination for stacks of many small matrices: every step is one NumPy call for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np


def substitute(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    """x with a x = b by substitution: `a` (..., n, n) triangular, `b` (..., n, k)."""
    n = a.shape[-1]
    x = np.empty_like(b)
    with np.errstate(all="ignore"):
        for i in range(n) if lower else range(n - 1, -1, -1):
            done = slice(0, i) if lower else slice(i + 1, n)
            row = b[..., i, :] - np.matmul(a[..., i, None, done], x[..., done, :])[..., 0, :]
            x[..., i, :] = row if unit else row / a[..., i, i, None]
    return x


def eliminate(a: Any) -> tuple[Any, Any]:
    """(packed L and U, pivots) of (..., m, n) with partial pivoting, as LAPACK's getrf."""
    lu = np.array(a, order="C")
    m, n = lu.shape[-2:]
    flat = lu.reshape(-1, m, n)
    lanes = np.arange(len(flat))
    pivots = np.empty((len(flat), min(m, n)), np.int32)
    with np.errstate(all="ignore"):
        for k in range(min(m, n)):
            best = k + np.argmax(_size(flat[:, k:, k]), 1)
            pivots[:, k] = best
            rows = flat[lanes, best]
            flat[lanes, best] = flat[:, k]
            flat[:, k] = rows
            pivot = flat[:, k, k, None]
            flat[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)  # a zero column stays, as in LAPACK
            flat[:, k + 1 :, k + 1 :] -= flat[:, k + 1 :, k, None] * flat[:, k, None, k + 1 :]
    return lu, pivots.reshape(*a.shape[:-2], min(m, n))


def _size(x: Any) -> Any:
    """|re| + |im|: what LAPACK compares."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def permutation_of(pivots: Any, size: int) -> Any:
    """The row permutation that the interchanges (row i with row pivots[i]) make, for stacks of them."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    if len(flat) <= _FEW:
        return np.array([_exchanged(p, size) for p in flat.tolist()], np.int32).reshape(
            *pivots.shape[:-1], size
        )
    out = np.tile(np.arange(size, dtype=np.int32), (len(flat), 1))
    lanes = np.arange(len(flat))
    for i in range(pivots.shape[-1]):
        j = flat[:, i]
        out[:, i], out[lanes, j] = out[lanes, j], out[:, i].copy()
    return out.reshape(*pivots.shape[:-1], size)


_FEW = 8  # lanes up to which plain Python is faster


def _exchanged(pivots: list[int], size: int) -> list[int]:
    out = list(range(size))
    for i, j in enumerate(pivots):
        out[i], out[j] = out[j], out[i]
    return out
