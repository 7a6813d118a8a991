"""Small real matrices in native code: elimination written out, an operation an element.

A call into LAPACK takes longer than all the arithmetic of a 4x4 matrix. Elements are raw values of the shape of the
leading axes, so that stacks are computed side by side and single matrices live in registers. Pivots are chosen as
LAPACK's getrf and `stacks.eliminate` do: the first element of the largest magnitude.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Dim
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.values import dtype_of

#: Up to this size elimination is written out. The code grows with the cube: 8 take half a second to compile.
_LARGEST = 4

Rows = list[list[Any]]


def is_small(a: Any) -> bool:
    """Whether `a` is a stack of square real matrices that are eliminated in native code."""
    *lead, m, n = dims = dims_of(a)
    if any(isinstance(d, Dim) for d in dims) or dtype_of(a).kind != "f":
        return False
    return m == n and 0 < n <= _LARGEST and 0 not in lead


def elements(a: Any) -> Rows:
    """The elements of matrices (..., m, n), each an array of the leading axes."""
    m, n = dims_of(a)[-2:]
    return [[_taken(_taken(a, -2, i), -1, j) for j in range(n)] for i in range(m)]


def vector(x: Any) -> list[Any]:
    """The elements of vectors (..., n)."""
    return [_taken(x, -1, i) for i in range(dims_of(x)[-1])]


def right_sides(b: Any) -> list[Any]:
    """The rows of (..., n, k) as arrays (..., k), or (...) where k is 1."""
    parts = [_taken(b, -2, i) for i in range(dims_of(b)[-2])]
    return [_taken(p, -1, 0) for p in parts] if dims_of(b)[-1] == 1 else parts


def _taken(x: Any, axis: int, index: int) -> Any:
    """`x[index]` along an axis counted from the end."""
    dims = list(dims_of(x))
    axis += len(dims)
    start, limit = [0] * len(dims), dims.copy()
    start[axis], limit[axis] = index, index + 1
    part = ops.slices.slice(x, start_indices=start, limit_indices=limit)
    return ops.shape.squeeze(part, dimensions=(axis,))


def assembled(parts: list[Any], shape: Any, lead: int) -> Any:
    """Parts of arrays that come one after the other behind the `lead` leading axes, as an array of `shape`."""
    wide = [ops.shape.expand_dims(p, (lead,)) for p in parts]
    return ops.shape.reshape(ops.concat.concatenate(*wide, dimension=lead), shape=shape)


def flat(rows: Rows) -> list[Any]:
    """All elements in C order."""
    return [x for row in rows for x in row]


def _like(x: Any, b: Any) -> Any:
    """Elements `x` of matrices, for all columns of right-hand sides `b`."""
    dims = dims_of(b)
    if not dims_of(x) or dims_of(x) == dims:
        return x
    return ops.shape.broadcast_to(ops.shape.expand_dims(x, (len(dims) - 1,)), dims)


def _less(x: Any, f: Any, y: Any) -> Any:
    """x - f y."""
    return ops.arithmetic.sub(x, ops.arithmetic.mul(_like(f, x), y))


def _over(x: Any, f: Any) -> Any:
    return ops.arithmetic.div(x, _like(f, x))


# ---------------------------------------------------------------- elimination


def eliminate(a: Any) -> tuple[Rows, list[Any], list[Any]]:
    """Packed L and U of (..., n, n), the pivots and the permutation, as elements."""
    rows, lead = elements(a), dims_of(a)[:-2]
    n = len(rows)
    order = [ops.shape.broadcast_to(np.int32(i), lead) for i in range(n)]
    pivots = list(order)
    for k in range(n):
        pivots[k] = _largest(rows, k, pivots[k])
        for j in range(k + 1, n):
            hit = ops.compare.eq(pivots[k], np.int32(j))
            order[k], order[j] = _exchanged(hit, order[k], order[j])
            pairs = [_exchanged(hit, x, y) for x, y in zip(rows[k], rows[j], strict=True)]
            rows[k], rows[j] = [x for x, _ in pairs], [y for _, y in pairs]
        pivot = rows[k][k]
        safe = ops.compare.select(ops.compare.eq(pivot, 0.0), 1.0, pivot)  # a zero column stays
        for j in range(k + 1, n):
            rows[j][k] = factor = ops.arithmetic.div(rows[j][k], safe)
            for i in range(k + 1, n):
                rows[j][i] = _less(rows[j][i], factor, rows[k][i])
    return rows, pivots, order


def _largest(rows: Rows, k: int, place: Any) -> Any:
    """The row, from the k-th on, with the first largest element of column k."""
    best = ops.arithmetic.abs(rows[k][k])
    for j in range(k + 1, len(rows)):
        size = ops.arithmetic.abs(rows[j][k])
        more = ops.compare.gt(size, best)
        best, place = ops.compare.select(more, size, best), ops.compare.select(more, np.int32(j), place)
    return place


def _exchanged(hit: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return ops.compare.select(hit, y, x), ops.compare.select(hit, x, y)


def substitute(rows: Rows, b: list[Any], *, lower: bool, unit: bool) -> list[Any]:
    """x with L x = b (`lower`) or U x = b: a triangle of `rows`, right-hand sides of any columns."""
    n, x = len(rows), list(b)
    for i in range(n) if lower else range(n - 1, -1, -1):
        for j in range(i) if lower else range(i + 1, n):
            x[i] = _less(x[i], rows[i][j], x[j])
        x[i] = x[i] if unit else _over(x[i], rows[i][i])
    return x


def transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def chosen(order: list[Any], b: list[Any]) -> list[Any]:
    """b[order] of rows."""
    return [_sought([ops.compare.eq(p, np.int32(j)) for j in range(len(b))], b) for p in order]


def placed(order: list[Any], b: list[Any]) -> list[Any]:
    """x with x[order] = b."""
    return [_sought([ops.compare.eq(p, np.int32(j)) for p in order], b) for j in range(len(b))]


def _sought(hits: list[Any], b: list[Any]) -> Any:
    """The row where one of `hits` is."""
    out = b[-1]
    for hit, x in zip(hits[:-1], b[:-1], strict=True):
        out = ops.compare.select(_like(hit, x), x, out)
    return out


def inverse(rows: Rows, order: list[Any]) -> Rows:
    """The rows of the inverse of what has these factors."""
    dtype = dtype_of(rows[0][0])
    columns = []
    for j in range(len(rows)):
        unit = [ops.create.convert_element_type(ops.compare.eq(p, np.int32(j)), dtype=dtype) for p in order]
        y = substitute(rows, unit, lower=True, unit=True)
        columns.append(substitute(rows, y, lower=False, unit=False))
    return transposed(columns)


# ---------------------------------------------------------------- Cholesky


def cholesky(a: Any) -> tuple[Rows, Any]:
    """The rows of L with a = L Lᵀ, and where `a` is not positive definite. Only the lower triangle is read."""
    rows = elements(a)
    n = len(rows)
    zero = ops.shape.broadcast_to(dtype_of(a).type(0), dims_of(a)[:-2])
    bad = []
    for j in range(n):
        for k in range(j):
            rows[j][j] = _less(rows[j][j], rows[j][k], rows[j][k])
        bad.append(ops.compare.le(rows[j][j], 0.0))
        rows[j][j] = ops.transcendental.sqrt(rows[j][j])
        for i in range(j + 1, n):
            for k in range(j):
                rows[i][j] = _less(rows[i][j], rows[i][k], rows[j][k])
            rows[i][j] = _over(rows[i][j], rows[j][j])
            rows[j][i] = zero
    return rows, functools.reduce(ops.compare.or_, bad)


# ---------------------------------------------------------------- what can fail


def any_zero(rows: Rows) -> Any:
    """Whether there is a zero on the diagonal."""
    zeros = [ops.compare.eq(rows[i][i], 0.0) for i in range(len(rows))]
    return functools.reduce(ops.compare.or_, zeros)


def refuse(bad: Any, message: str) -> None:
    """LinAlgError where `bad` is true of a matrix."""
    wrong = ops.create.convert_element_type(bad, dtype=np.dtype(np.int64))
    failure = ops.index_check.Raising(np.linalg.LinAlgError, message)
    ops.index_check.check_index(wrong, size=1, axis=0, failure=failure)


def nan_where(bad: Any, rows: Rows) -> Rows:
    """NaN in all elements of matrices for which `bad` is true."""
    return [[ops.compare.select(bad, np.nan, x) for x in row] for row in rows]
