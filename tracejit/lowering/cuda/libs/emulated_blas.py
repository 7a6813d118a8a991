"""cuBLAS on the emulated device: the functions of `by_address.CuBlas` that `cublas` calls, by NumPy.

As in cuBLAS matrices are stored by columns, and arguments that it refuses are refused.
"""

from __future__ import annotations

import ctypes
import threading
from functools import partial
from typing import Any

import numpy as np

from tracejit import dtypes

_NAMES = {0: "float32", 1: "float64", 2: "float16", 4: "complex64", 5: "complex128"}
_COMPUTED = {"float64": 70, "complex128": 70}
_LETTERS = {"s": 0, "d": 1, "c": 4, "z": 5}
_modes = threading.local()  # as handles are


bytes = 512  # of the memory that it works in


def handle(stream: int, room: int) -> int:
    """What stands for the library's state. The memory that it works in is not as it was."""
    ctypes.memset(room, 0xA5, bytes)
    return 1


def setMathMode(handle: int, mode: int) -> None:
    """How exactly to compute: here always as exactly as possible."""


def setPointerMode(handle: int, mode: int) -> None:
    """Where the results of `dot` go: 0 to the host, 1 to the device."""
    _modes.pointer = mode


def gemmEx(*args: Any) -> None:
    """One product: as `gemmStridedBatchedEx` without what is said of several."""
    handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, by, how = args
    gemmStridedBatchedEx(
        handle, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, 1, by, how
    )


def gemmStridedBatchedEx(*args: Any) -> None:
    """C = alpha op(A) op(B) + beta C for matrices at regular distances."""
    _, ta, tb, m, n, k, alpha, a, at, lda, da, b, bt, ldb, db, beta, c, ct, ldc, dc, batch, by, _ = args
    dtype = _dtype(at)
    if not at == bt == ct or by != _COMPUTED.get(dtype.name, 68):
        raise ValueError("CUBLAS_STATUS_NOT_SUPPORTED")
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    scale, keep = _number(alpha, wide), _number(beta, wide)
    for i in range(batch):
        x = _matrix(a + i * da * dtype.itemsize, *_sizes(m, k, ta), lda, dtype).astype(wide)
        y = _matrix(b + i * db * dtype.itemsize, *_sizes(k, n, tb), ldb, dtype).astype(wide)
        z = _matrix(c + i * dc * dtype.itemsize, m, n, ldc, dtype)
        got = scale * ((x.T if ta else x) @ (y.T if tb else y))
        z[...] = (got + keep * z if keep else got).astype(dtype)


def _gemv(kind: int, handle: int, t: int, m: int, n: int, alpha: int, a: int, lda: int, *rest: int) -> None:
    x, step, beta, y, stride = rest
    dtype = _dtype(kind)
    matrix = _matrix(a, m, n, lda, dtype)
    matrix = matrix.T if t else matrix
    given = _vector(x, matrix.shape[1], step, dtype)
    out = _vector(y, matrix.shape[0], stride, dtype)
    got, keep = _number(alpha, dtype) * (matrix @ given), _number(beta, dtype)
    out[...] = got + keep * out if keep else got


def _dot(kind: int, handle: int, n: int, x: int, step: int, y: int, stride: int, result: int) -> None:
    dtype = _dtype(kind)
    assert _modes.pointer == 1, "the result would go to the host"
    _vector(result, 1, 1, dtype)[0] = _vector(x, n, step, dtype) @ _vector(y, n, stride, dtype)


sgemv, dgemv, cgemv, zgemv = (partial(_gemv, _LETTERS[c]) for c in "sdcz")
sdot, ddot, cdotu, zdotu = (partial(_dot, _LETTERS[c]) for c in "sdcz")


def _dtype(kind: int) -> np.dtype:
    return np.dtype(_NAMES[kind]) if kind in _NAMES else dtypes.bfloat16


def _sizes(rows: int, columns: int, transposed: int) -> tuple[int, int]:
    return (columns, rows) if transposed else (rows, columns)


def _number(address: int, dtype: np.dtype) -> Any:
    return _vector(address, 1, 1, dtype)[0]


def _vector(address: int, count: int, step: int, dtype: np.dtype) -> np.ndarray:
    if count < 1 or step < 1:
        raise ValueError("CUBLAS_STATUS_INVALID_VALUE")
    return _elements(address, ((count - 1) * step + 1), dtype)[::step]


def _matrix(address: int, rows: int, columns: int, leading: int, dtype: np.dtype) -> np.ndarray:
    if min(rows, columns) < 1 or leading < rows:
        raise ValueError("CUBLAS_STATUS_INVALID_VALUE")
    whole = _elements(address, (columns - 1) * leading + rows, dtype)
    return np.lib.stride_tricks.as_strided(whole, (rows, columns), (dtype.itemsize, leading * dtype.itemsize))


def _elements(address: int, count: int, dtype: np.dtype) -> np.ndarray:
    if address % dtype.itemsize:
        raise ValueError("CUBLAS_STATUS_INVALID_VALUE")
    raw: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(raw, np.uint8).view(dtype)
