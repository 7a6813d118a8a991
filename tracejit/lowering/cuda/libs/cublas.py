"""Products of matrices by cuBLAS.

cuBLAS stores matrices by columns, as BLAS does: what is computed is the transpose of the product, from the right
operand and the left one. Numbers of 32 bits are multiplied as such, not as TF32; those of 16 bits are added with 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
#: CUDA's numbers of types (cudaDataType), and cuBLAS's of how products are added (cublasComputeType_t).
_TYPES = {"float32": 0, "float64": 1, "float16": 2, "complex64": 4, "complex128": 5, "bfloat16": 14}
_BY_32, _BY_64 = 68, 70
_COMPUTED = {"float64": _BY_64, "complex128": _BY_64}
_BEST = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses the algorithm
_ON_HOST, _ON_DEVICE = 0, 1  # where factors and the results of dot are
_WHOLE = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: parts of a sum are not rounded to 16 bits


def takes(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether cuBLAS multiplies matrices of these types."""
    return all(a.dtype.name in _TYPES for a in avals)


def product(library: Any, blas: Any) -> Callable[..., None]:
    """The function of a state of cuBLAS's and the addresses of x, y and z that makes z = x y, matrices (batch, row,
    column). `blas` has cuBLAS's functions (`by_address.CuBlas`)."""
    x, y, z = *library.ins, *library.outs
    (batch, m, k), n = x.shape, y.shape[2]
    starts = [v.offset * v.dtype.itemsize for v in (x, y, z)]
    if batch == 1 and x.dtype.name in _LETTERS and 1 in (m, n):
        run = _dot(x, y, k, blas) if m == n == 1 else _with_vector(x, y, z, blas)
    else:
        run = _matrices(x, y, z, blas)

    def call(handle: Any, *addresses: int) -> None:
        run(handle, *[a + s for a, s in zip(addresses, starts, strict=True)])

    return call


def layout(rows: int, columns: int, row: int, column: int) -> tuple[int, int]:
    """How cuBLAS reads the transpose of a matrix with these strides: 0 as it is stored or 1 transposed, and its leading
    dimension."""
    if columns == 1:
        column = 1
    elif rows == 1 and column != 1:
        row = 1
    if column == 1:
        return 0, max(row, columns)
    assert row == 1
    return 1, max(column, rows)


def _matrices(x: Any, y: Any, z: Any, blas: Any) -> Callable[..., None]:
    (batch, m, k), n = x.shape, y.shape[2]
    tx, ldx = layout(m, k, *x.strides[1:])
    ty, ldy = layout(k, n, *y.strides[1:])
    tz, ldz = layout(m, n, *z.strides[1:])
    name = x.dtype.name
    kind, by = _TYPES[name], _COMPUTED.get(name, _BY_32)
    is_short = x.dtype.itemsize == 2
    factor = np.dtype(np.float32) if is_short else x.dtype
    factors = np.array([1, 0], factor)
    one, zero = factors.ctypes.data, factors.ctypes.data + factor.itemsize
    steps = [v.strides[0] if batch > 1 else 0 for v in (x, y, z)]
    if tz:  # z is stored by columns: its transpose is what rows would give, from the operands as they are
        order, sizes, flips = (0, 1), (m, n, k), (1 - tx, 1 - ty)
        leading, moves = (ldx, ldy, ldz), (steps[0], steps[1], steps[2])
    else:
        order, sizes, flips = (1, 0), (n, m, k), (ty, tx)
        leading, moves = (ldy, ldx, ldz), (steps[1], steps[0], steps[2])

    def run(handle: Any, *places: int) -> None:
        first, second = places[order[0]], places[order[1]]
        if is_short:
            blas.setMathMode(handle, _WHOLE)
        try:
            if batch == 1:
                blas.gemmEx(
                    handle, *flips, *sizes, one, first, kind, leading[0], second, kind, leading[1],
                    zero, places[2], kind, leading[2], by, _BEST,
                )  # fmt: skip
            else:
                blas.gemmStridedBatchedEx(
                    handle, *flips, *sizes, one, first, kind, leading[0], moves[0], second, kind, leading[1],
                    moves[1], zero, places[2], kind, leading[2], moves[2], batch, by, _BEST,
                )  # fmt: skip
        finally:
            if is_short:
                blas.setMathMode(handle, 0)

    run.factors = factors  # type: ignore[attr-defined]  # the addresses of which are handed on
    return run


def _with_vector(x: Any, y: Any, z: Any, blas: Any) -> Callable[..., None]:
    """A matrix times a vector; the matrix is y, transposed, where x is a row."""
    (_, m, k), n = x.shape, y.shape[2]
    if n == 1:
        swapped, rows, strides, step, out = False, m, x.strides[1:], y.strides[1], z.strides[1]
    else:
        swapped, rows, strides, step, out = True, n, y.strides[:0:-1], x.strides[2], z.strides[2]
    flipped, leading = layout(rows, k, *strides)
    sizes = (rows, k) if flipped else (k, rows)
    factors = np.array([1, 0], x.dtype)
    one, zero = factors.ctypes.data, factors.ctypes.data + factors.itemsize
    name = f"{_LETTERS[x.dtype.name]}gemv"

    def run(handle: Any, a: int, v: int, to: int) -> None:
        if swapped:
            a, v = v, a
        getattr(blas, name)(handle, 1 - flipped, *sizes, one, a, leading, v, step, zero, to, max(out, 1))

    run.factors = factors  # type: ignore[attr-defined]
    return run


def _dot(x: Any, y: Any, k: int, blas: Any) -> Callable[..., None]:
    """The product of two vectors, whose result stays on the device."""
    letter = _LETTERS[x.dtype.name]
    name = f"{letter}dot" if letter in "sd" else f"{letter}dotu"
    steps = x.strides[2], y.strides[1]

    def run(handle: Any, a: int, b: int, to: int) -> None:
        blas.setPointerMode(handle, _ON_DEVICE)
        try:
            getattr(blas, name)(handle, k, a, steps[0], b, steps[1], to)
        finally:
            blas.setPointerMode(handle, _ON_HOST)

    return run
