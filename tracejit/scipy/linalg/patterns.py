"""Matrices with a pattern."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import ArgumentError
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as tnp
from tracejit.numpy.functions.arrays.shaping import atleast_2d, box_of, reshape
from tracejit.numpy.operands import result_type
from tracejit.scipy.linalg.calling import of_scipy


@of_scipy
def block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal of one that is zero elsewhere; leading axes broadcast."""
    blocks = [atleast_2d(box_of(a)) for a in arrs]
    dtype = result_type(*blocks)
    lead = np.broadcast_shapes(*(b.shape[:-2] for b in blocks))
    width = sum(b.shape[-1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        n = b.shape[-1]
        wide = tnp[np.broadcast_to](b.astype(dtype), (*lead, *b.shape[-2:]))
        sides = [(0, 0)] * (len(lead) + 1) + [(start, width - start - n)]
        rows.append(tnp[np.pad](wide, sides))
        start += n
    return tnp[np.concatenate](rows, -2)


def _flat(name: str, x: Any) -> Any:
    v = box_of(x)
    if v.ndim == 0:
        return reshape(v, (1,))
    if v.ndim > 1:
        raise ArgumentError(name=name, problem=f"takes vectors; an array of shape {v.shape} is none")
    return v


def _picked(first: Any, second: Any, index: Any) -> Any:
    """Elements of two vectors joined, by a constant matrix of positions."""
    dtype = result_type(first, second)
    return tnp[np.concatenate]([first.astype(dtype), second.astype(dtype)])[index]


@of_scipy
def toeplitz(c: Any, r: Any = None) -> Any:
    """Constant diagonals: `c` is the first column, `r` the first row (the conjugate of `c` by default)."""
    column = _flat("toeplitz", c)
    row = column.conj() if r is None else _flat("toeplitz", r)
    m, n = column.shape[0], row.shape[0]
    gap = np.arange(m)[:, None] - np.arange(n)
    return _picked(column, row, np.where(gap >= 0, gap, m - gap))


@of_scipy
def circulant(c: Any) -> Any:
    """Each column is the one before it, rotated by one place."""
    v = box_of(c)
    n = v.shape[-1]
    return v[..., (np.arange(n)[:, None] - np.arange(n)) % n]


@of_scipy
def hankel(c: Any, r: Any = None) -> Any:
    """Constant anti-diagonals: `c` is the first column, `r` the last row (zeros by default)."""
    column = _flat("hankel", c)
    row = column * 0 if r is None else _flat("hankel", r)
    m, n = column.shape[0], row.shape[0]
    place = np.arange(m)[:, None] + np.arange(n)
    return _picked(column, row, np.where(place < m, place, place + 1))


@of_scipy
def khatri_rao(a: Any, b: Any) -> Any:
    """The Kronecker products of the columns."""
    x, y = box_of(a), box_of(b)
    out = x[..., :, None, :] * y[..., None, :, :]
    return reshape(out, (*out.shape[:-3], -1, out.shape[-1]))


def banded(ab: Any, low: int, high: int) -> Any:
    """The dense matrix of `low` diagonals below and `high` above, in the rows of `ab`."""
    n = ab.shape[-1]
    row, column = np.indices((n, n))
    place = high + row - column
    inside = (place >= 0) & (place <= low + high)
    picked = ab[..., np.clip(place, 0, low + high), column]
    return tnp[np.where](inside, picked, ab.dtype.type(0))
