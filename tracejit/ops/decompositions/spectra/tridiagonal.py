"""Tridiagonal systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import is_zero
from tracejit.ops import _lazy
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(dl: Aval, d: Aval, du: Aval, b: Aval) -> Aval:
    c.check_matrix("tridiagonal_solve", b)
    if not dl.shape == d.shape == du.shape == b.shape[:-1]:
        raise ShapeError(op="tridiagonal_solve", problem=f"the diagonals {dl}, {d}, {du} do not fit {b}")
    c.check_same("tridiagonal_solve", dl, d, du, b, lead=False)
    return b


def _eval(dl: Any, d: Any, du: Any, b: Any) -> Any:
    if not b.size:
        return b.copy()
    if b.shape[-2] == 1:
        with np.errstate(all="ignore"):
            return b / d[..., None]
    gtsv = _lazy.lapack("gtsv", b.dtype)

    def one(low: Any, middle: Any, high: Any, y: Any) -> list[Any]:
        *_, x, info = gtsv(low[1:], middle, high[:-1], y)
        return [x if info == 0 else np.full_like(y, np.nan)]

    return c.per_matrix(one, [(b.shape, b.dtype)], dl, d, du, b, cores=(1, 1, 1, 2))[0]


def _shifted(v: Any, by: int) -> Any:
    """Vectors moved by one place, with a zero coming in."""
    shape = dims_of(v)
    if shape[-1] == 0:
        return v
    n = len(shape)
    zero = ops.shape.broadcast_to(aval_of(v).dtype.type(0), (*shape[:-1], 1))
    if by > 0:
        part = ops.shape.slice(v, start_indices=(0,) * n, limit_indices=(*shape[:-1], shape[-1] - 1))
        return ops.concat.concatenate(zero, part, dimension=n - 1)
    part = ops.shape.slice(v, start_indices=(*(0 for _ in shape[:-1]), 1), limit_indices=shape)
    return ops.concat.concatenate(part, zero, dimension=n - 1)


def _rows_shifted(x: Any, by: int) -> Any:
    return c.mT(_shifted(c.mT(x), by))


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """dx = T⁻¹ (db - dT x)."""
    (dl, d, du, b), (tl, t, tu, tb) = primals, tangents
    x = bind(tridiagonal_solve_op, dl, d, du, b)
    shape = dims_of(b)
    terms = [] if is_zero(tb) else [tb]
    for change, row in ((tl, 1), (t, 0), (tu, -1)):
        if not is_zero(change):
            moved = _rows_shifted(x, row) if row else x
            terms.append(ops.arithmetic.neg(ops.arithmetic.mul(c.rows(change, shape), moved)))
    if not terms:
        return x, c.zeros_like_outputs(x)
    right = terms[0]
    for term in terms[1:]:
        right = ops.arithmetic.add(right, term)
    return x, bind(tridiagonal_solve_op, dl, d, du, right)


def _transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
    """Tᵀ has the diagonals exchanged, each moved by one place."""
    return [None, None, None, bind(tridiagonal_solve_op, _shifted(du, 1), d, _shifted(dl, -1), ct)]


tridiagonal_solve_op = c.factorization(
    "tridiagonal_solve",
    "the solution of T x = b for tridiagonal matrices",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    multi=False,
    transpose=_transpose,
)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """x with T x = b: diagonals (..., n) below (its first element is not read), at and above (its last
    element is not read); right-hand sides (..., n, k). A singular T gives NaN."""
    return bind(tridiagonal_solve_op, dl, d, du, b)
