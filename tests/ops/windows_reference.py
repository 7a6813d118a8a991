"""Gather and scatter, one window after another, as the definition says."""

from __future__ import annotations

from typing import Any

import numpy as np


def windows(shape: Any, indices: np.ndarray, dn: Any, sizes: Any, mode: str) -> Any:
    """Each position's batch index, the window's start in every axis, and whether to use it."""
    for b in np.ndindex(indices.shape[:-1]):
        start = [0] * len(shape)
        for d, p in zip(dn.operand_batching_dims, dn.start_indices_batching_dims, strict=True):
            start[d] = b[p]
        inside = True
        for n, d in enumerate(dn.start_index_map):
            at, last = int(indices[b][n]), shape[d] - sizes[d]
            inside &= 0 <= at <= last
            start[d] = min(max(at, 0), last)
        yield b, start, inside or mode != "fill"


def _places(dn: Any, out_ndim: int, b: Any, window: Any, ndim: int) -> tuple[int, ...]:
    out = [0] * out_ndim
    for p, i in zip(dn.batch_positions(out_ndim), b, strict=True):
        out[p] = i
    for p, d in zip(dn.offset_dims, dn.window_dims(ndim), strict=True):
        out[p] = window[d]
    return tuple(out)


def gather(
    x: np.ndarray, indices: np.ndarray, dn: Any, sizes: Any, mode: str, fill: Any = np.nan
) -> np.ndarray:
    ndim = indices.ndim - 1 + len(dn.offset_dims)
    shape = [0] * ndim
    for p, n in zip(dn.batch_positions(ndim), indices.shape[:-1], strict=True):
        shape[p] = n
    for p, d in zip(dn.offset_dims, dn.window_dims(x.ndim), strict=True):
        shape[p] = sizes[d]
    out = np.full(shape, fill, x.dtype)
    for b, start, use in windows(x.shape, indices, dn, sizes, mode):
        for w in np.ndindex(*sizes):
            if use:
                place = tuple(s + i for s, i in zip(start, w, strict=True))
                out[_places(dn, ndim, b, w, x.ndim)] = x[place]
    return out


def scatter(
    x: np.ndarray, indices: np.ndarray, u: np.ndarray, dn: Any, sizes: Any, mode: str, combine: Any
) -> Any:
    out = x.copy()
    for b, start, use in windows(x.shape, indices, dn, sizes, mode):
        for w in np.ndindex(*sizes):
            if use:
                place = tuple(s + i for s, i in zip(start, w, strict=True))
                new = u[_places(dn, u.ndim, b, w, x.ndim)]
                out[place] = combine(out[place], new)
    return out
