"""The LU factorization with partial pivoting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.primitive import ZERO_TANGENT
from tracejit.ir.values import Zero, is_zero
from tracejit.ops import _lazy
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions import small
from tracejit.ops.decompositions.stacks import eliminate, permutation_of
from tracejit.ops.decompositions.triangular import triangular_solve
from tracejit.tracing import bind


def _type(a: Aval) -> list[Aval]:
    c.check_matrix("lu", a)
    *lead, m, n = a.shape
    return [a, Aval((*lead, c.least("lu", m, n)), c.I32), Aval((*lead, m), c.I32)]


def _eval(a: Any) -> list[Any]:
    m, n = a.shape[-2:]
    k = min(m, n)
    if not a.size:
        lead = a.shape[:-2]
        order = np.broadcast_to(np.arange(m, dtype=np.int32), (*lead, m)).copy()
        pivots = np.broadcast_to(np.arange(k, dtype=np.int32), (*lead, k)).copy()
        return [a.copy(), pivots, order]
    lanes = a.size // (m * n)
    if c.is_many(lanes, k):
        lu, pivots = eliminate(a)
        return [lu, pivots, permutation_of(pivots, m)]
    getrf = _lazy.lapack("getrf", a.dtype)
    shapes = [(a.shape, a.dtype), ((*a.shape[:-2], k), c.I32)]
    lu, pivots = c.per_matrix(lambda x: getrf(x)[:2], shapes, a, cores=(2,))
    return [lu, pivots, permutation_of(pivots, m)]


def _formula(a: Any) -> list[Any] | None:
    if not small.is_small(a):
        return None
    rows, pivots, order = small.eliminate(a)
    dims = dims_of(a)
    return [
        small.assembled(small.flat(rows), dims, len(dims) - 2),
        *(small.assembled(parts, dims[:-1], len(dims) - 2) for parts in (pivots, order)),
    ]


def _routine(k: Any, ins: Any, outs: Any, avals: Any) -> bool:
    """LAPACK's getrf of each matrix, square ones of real numbers: transposed in the result's own place."""
    *lead, m, n = avals[0].shape
    lanes = math.prod(lead)
    if m != n or not lanes * n or c.is_many(lanes, n) or avals[0].dtype.name not in c.LETTERS:
        return False
    out, pivots, order = outs
    size, info = c.place(k, n), c.place(k, 0)
    name = f"lapack:{c.LETTERS[avals[0].dtype.name]}getrf"
    with k.loop(0, lanes) as lane:
        start, first = k.mul(lane, n * n), k.mul(lane, n)
        with k.loop(0, n) as i, k.loop(0, n) as j:
            value = k.load(ins[0], k.add(start, k.add(k.mul(i, n), j)))
            k.store(out, k.add(start, k.add(k.mul(j, n), i)), value)
        places = (out, start), size, (pivots, first), info
        k.call(
            k.external(name, "void(ptr,ptr,ptr,ptr,ptr,ptr)"),
            (size, size, *places),
            work=c.work_of_call(n**3),
        )
        with k.loop(0, n) as i, k.loop(0, i) as j:
            above, below = (k.add(start, k.add(k.mul(p, n), q)) for p, q in ((j, i), (i, j)))
            x, y = k.load(out, above), k.load(out, below)
            k.store(out, above, y)
            k.store(out, below, x)
        with k.loop(0, n) as i:
            k.store(order, k.add(first, i), k.cast(i, c.I32))
        with k.loop(0, n) as i:
            here = k.add(first, i)
            pivot = k.sub(k.load(pivots, here), k.const(1, c.I32))
            there = k.add(first, k.cast(pivot, c.I64))
            x, y = k.load(order, here), k.load(order, there)
            k.store(pivots, here, pivot)
            k.store(order, here, y)
            k.store(order, there, x)
    return True


def take_rows(x: Any, permutation: Any) -> Any:
    """Rows of stacks of matrices in the order that `permutation` (..., rows) says."""
    index = c.rows(permutation, dims_of(x))
    n = len(dims_of(x))
    return ops.gather.take_along_axis(x, index, n - 2, mode="promise_in_bounds", unique_indices=True)


def unit_lower(lu: Any) -> Any:
    """L, square, of packed factors (..., m, n): completed by columns of the identity where m > n."""
    return _completed(ops.arithmetic.add(c.tril(lu, -1), c.eye_like(lu)))


def upper(lu: Any) -> Any:
    """U, square, of packed factors (..., m, n): completed by rows of the identity where n > m."""
    return c.mT(_completed(c.tril(c.mT(lu))))


def _completed(low: Any) -> Any:
    """A lower trapezoid (..., m, n) as a square triangle, by cutting it or adding columns of the identity."""
    *lead, m, n = shape = dims_of(low)
    k = c.least("lu", m, n)
    if n != k:
        low = ops.shape.slice(low, start_indices=(0,) * len(shape), limit_indices=(*lead, m, k))
    if m == k:
        return low
    tail = ops.create.convert_element_type(c.grid((m, m - k), "eq", -k), dtype=aval_of(low).dtype)
    tail = ops.shape.broadcast_to(tail, (*lead, m, m - k))
    return ops.concat.concatenate(low, tail, dimension=len(shape) - 1)


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """With F = L⁻¹ P dA U⁻¹: dL = L tril(F, -1), dU = triu(F) U, where L and U are completed to be square.

    (F. de Hoog, R. Anderssen, M. Lukas, Differentiation of matrix functionals using triangular
    factorization, 2011; for rectangles the completion makes both formulas those of the square case.)
    """
    (a,), (t,) = primals, tangents
    lu, _, permutation = outs = bind(lu_op, a)
    none = [Zero(aval_of(o).tangent()) for o in outs]
    if is_zero(t) or 0 in dims_of(a)[-2:]:
        return outs, none
    low, up = unit_lower(lu), upper(lu)
    inner = triangular_solve(low, take_rows(t, permutation), left_side=True, lower=True, unit_diagonal=True)
    inner = triangular_solve(up, inner, left_side=False, lower=False)
    change = ops.arithmetic.add(c.matmul(low, c.tril(inner, -1)), c.matmul(c.triu(inner), up))
    return outs, [change, *none[1:]]


lu_op = c.factorization(
    "lu",
    "P a = L U with partial pivoting: packed factors, row interchanges, the permutation",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    formula=_formula,
    routine=_routine,
    on_device="lu",
)


def lu(a: Any) -> list[Any]:
    """[LU, pivots, permutation] of (..., m, n): a[permutation] = L U, L below the diagonal with ones on it.

    pivots (int32, min(m, n)): row i was exchanged with row pivots[i], one after the other;
    permutation (int32, m) is what they make together. A singular matrix has a zero on U's diagonal.
    """
    return bind(lu_op, a)


# ---------------------------------------------------------------- pivots to permutation


def _permutation_type(pivots: Aval, *, permutation_size: int) -> Aval:
    if pivots.dtype.kind not in "iu":
        raise TypeRuleError(op="lu_pivots_to_permutation", problem=f"pivots are integers, not {pivots}")
    if not pivots.shape or c.bound_of(pivots.shape[-1]) > permutation_size:
        raise ShapeError(
            op="lu_pivots_to_permutation",
            problem=f"{pivots} are too many for a permutation of {permutation_size}",
        )
    return Aval((*pivots.shape[:-1], permutation_size), pivots.dtype)


def _permutation_eval(pivots: Any, *, permutation_size: int) -> Any:
    if not pivots.size:
        shape = (*pivots.shape[:-1], permutation_size)
        return np.broadcast_to(np.arange(permutation_size, dtype=pivots.dtype), shape).copy()
    return permutation_of(pivots, permutation_size).astype(pivots.dtype)


lu_pivots_to_permutation_op = c.factorization(
    "lu_pivots_to_permutation",
    "the permutation that row interchanges make together",
    type=_permutation_type,
    eval=_permutation_eval,
    jvp=ZERO_TANGENT,
    multi=False,
)


def lu_pivots_to_permutation(pivots: Any, *, permutation_size: int) -> Any:
    """The permutation (..., permutation_size) of `lu`'s pivots (..., k)."""
    return bind(lu_pivots_to_permutation_op, pivots, permutation_size=int(permutation_size))
