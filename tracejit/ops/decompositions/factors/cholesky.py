"""The Cholesky factorization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.primitive import not_differentiable
from tracejit.ir.values import is_zero
from tracejit.ops import _lazy
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions import small
from tracejit.ops.decompositions.triangular import triangular_solve
from tracejit.tracing import bind


def _type(a: Aval, *, check: bool) -> Aval:
    c.check_matrix("cholesky", a, square=True)
    return a


def _eval(a: Any, *, check: bool) -> Any:
    if check:
        return np.linalg.cholesky(a)
    return c.nan_where_failing(np.linalg.cholesky, a, np.linalg.LinAlgError)


def _formula(a: Any, *, check: bool) -> Any:
    if not small.is_small(a):
        return _by_routine(a, check)
    rows, bad = small.cholesky(a)
    if check:
        small.refuse(bad, "Matrix is not positive definite")
    rows = rows if check else small.nan_where(bad, rows)
    return small.assembled(small.flat(rows), dims_of(a), len(dims_of(a)) - 2)


def _by_routine(a: Any, check: bool) -> Any:
    """By LAPACK's routine, without Python; None where it has none for such matrices."""
    dims = dims_of(a)
    if any(isinstance(d, Dim) for d in dims) or aval_of(a).dtype.name not in c.LETTERS or 0 in dims:
        return None
    low, info = potrf(a)
    bad = ops.compare.ne(info, np.int32(0))
    if check:
        small.refuse(bad, "Matrix is not positive definite")
        return low
    whole = ops.shape.broadcast_in_dim(bad, shape=dims, broadcast_dimensions=tuple(range(len(dims) - 2)))
    return c.select(whole, np.full((), np.nan, aval_of(a).dtype), low)


def halved(x: Any) -> Any:
    """The lower triangle, the diagonal halved: Murray's Φ."""
    half = ops.arithmetic.mul(x, 0.5)
    return c.select(c.mask(x, "eq"), half, c.tril(x))


def _jvp(primals: Any, tangents: Any, *, check: bool) -> tuple[Any, Any]:
    """dL = L Φ(L⁻¹ dA L⁻ᴴ) (I. Murray, Differentiation of the Cholesky decomposition, 2016, eq. 8)."""
    (a,), (t,) = primals, tangents
    low = bind(cholesky_op, a, check=check)
    if is_zero(t):
        return low, c.zeros_like_outputs(low)
    inner = triangular_solve(low, c.from_lower(t), left_side=True, lower=True)
    inner = triangular_solve(low, inner, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    return low, c.matmul(low, halved(inner))


cholesky_op = c.factorization(
    "cholesky",
    "the lower triangle L with a = L Lᴴ; reads the lower triangle of a",
    type=_type,
    eval=_eval,
    spelled=c.spelled("cholesky"),
    jvp=_jvp,
    multi=False,
    effects=c.check_effects,
    formula=_formula,
    on_device="cholesky",
)


# ---------------------------------------------------------------- LAPACK's routine


def _potrf_type(a: Aval) -> list[Aval]:
    c.check_matrix("potrf", a, square=True)
    return [a, Aval(a.shape[:-2], c.I32)]


def _potrf_eval(a: Any) -> list[Any]:
    lead = a.shape[:-2]
    if not a.size:
        return [np.zeros(a.shape, a.dtype), np.zeros(lead, c.I32)]
    routine = _lazy.lapack("potrf", a.dtype)

    def one(x: Any) -> list[Any]:
        low, info = routine(x, lower=1, clean=1)
        return [low, [info]]

    low, infos = c.per_matrix(one, [(a.shape, a.dtype), ((*lead, 1), c.I32)], a, cores=(2,))
    return [low, infos.reshape(lead)]


def _potrf_routine(k: Any, ins: Any, outs: Any, avals: Any) -> bool:
    """LAPACK's potrf of each matrix in the result's own place: rows there are LAPACK's columns, so that the lower
    triangle is its upper one."""
    *lead, n, _ = avals[0].shape
    lanes = math.prod(lead)
    if not lanes * n or avals[0].dtype.name not in c.LETTERS:
        return False
    out, infos = outs
    upper, size, info = c.place(k, "U"), c.place(k, n), c.place(k, 0)
    routine = k.external(f"lapack:{c.LETTERS[avals[0].dtype.name]}potrf", "void(ptr,ptr,ptr,ptr,ptr)")
    with k.loop(0, lanes) as lane:
        start = k.mul(lane, n * n)
        with k.loop(0, n) as i:
            row = k.add(start, k.mul(i, n))
            with k.loop(0, k.add(i, 1)) as j:
                k.store(out, k.add(row, j), k.load(ins[0], k.add(row, j)))
            with k.loop(k.add(i, 1), n) as j:
                k.store(out, k.add(row, j), k.const(0, avals[0].dtype))
        k.call(routine, (upper, size, (out, start), size, info), work=c.work_of_call(n**3 // 3))
        k.store(infos, lane, k.cast(k.get(info), c.I32))
    return True


potrf_op = c.factorization(
    "potrf",
    "LAPACK's potrf: the lower triangle L with a = L Lᴴ, and the order of the first minor that is not positive, or 0",
    type=_potrf_type,
    eval=_potrf_eval,
    jvp=not_differentiable("the routine has no derivative rule; use cholesky"),
    formula=lambda a: None,
    routine=_potrf_routine,
    on_device="potrf",
)


def potrf(a: Any) -> list[Any]:
    """[L, info] of (..., n, n): LAPACK's factor, zero above the diagonal, and int32 (...): 0, or the order of the first
    leading minor that is not positive, where L is not complete."""
    return bind(potrf_op, a)


def cholesky(a: Any, *, check: bool = False) -> Any:
    """Lower triangles L with a = L Lᴴ, for stacks (..., n, n) of Hermitian matrices.

    Only the lower triangle of `a` is read, and the derivative is that of this function. Where `a` is not
    positive definite: NaN, or with `check` NumPy's LinAlgError.
    """
    return bind(cholesky_op, a, check=check)
