"""The singular value decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import NotDifferentiableError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval, *, full_matrices: bool, check: bool) -> list[Aval]:
    c.check_matrix("svd", a)
    *lead, m, n = a.shape
    k = c.least("svd", m, n)
    p, q = (m, n) if full_matrices else (k, k)
    values = Aval((*lead, k), c.real_of(a.dtype))
    return [a.with_shape((*lead, m, p)), values, a.with_shape((*lead, q, n))]


def _eval(a: Any, *, full_matrices: bool, check: bool) -> list[Any]:
    def svd(x: Any) -> tuple[Any, ...]:
        return tuple(np.linalg.svd(c.finite(x), full_matrices))

    return list(svd(a) if check else c.nan_where_failing(svd, a, np.linalg.LinAlgError))


def _jvp(primals: Any, tangents: Any, *, full_matrices: bool, check: bool) -> tuple[Any, Any]:
    """J. Townsend, Differentiating the singular value decomposition, 2016; for complex matrices
    Z.-Q. Wan, S.-X. Zhang, Automatic differentiation for complex valued SVD, 2019: the phase that u and v
    share is free, and the turn of the diagonal is shared by both.

    Between singular values that are equal up to rounding, and for those that are 0, what would be
    infinite is left out. The vectors that complete the bases turn among each other as they like: their derivative is
    that without such a turn, which any function of the space that they span has.
    """
    (a,), (t,) = primals, tangents
    u, s, vh = outs = bind(svd_op, a, full_matrices=full_matrices, check=check)
    if is_zero(t):
        return outs, c.zeros_like_outputs(outs)
    m, n = dims_of(a)[-2:]
    k = dims_of(s)[-1]
    if full_matrices and m != n and not (type(m) is int and type(n) is int):
        raise NotDifferentiableError(
            op="svd", reason="of full_matrices with sizes that are not known it has none"
        )
    v = c.mH(vh)
    (u, more_u), (v, more_v) = _parted(u, k), _parted(v, k)
    inner = c.matmul(c.mH(u), c.matmul(t, v))
    square = dims_of(inner)
    factor = _fit(_coefficients(s, square, c.bound_of(k)), inner)
    over = _fit(_inverse(s, c.bound_of(k)), inner)
    scaled = ops.arithmetic.mul(inner, _fit(c.columns(s, square), inner))
    other = ops.arithmetic.mul(inner, _fit(c.rows(s, square), inner))
    du = ops.arithmetic.mul(factor, ops.arithmetic.add(scaled, c.mH(scaled)))
    dv = ops.arithmetic.mul(factor, ops.arithmetic.add(other, c.mH(other)))
    if c.is_complex(a):
        turn = ops.complexes.complex(0, ops.arithmetic.mul(ops.complexes.imag(inner), 0.5))
        turn = c.select(c.mask(inner, "eq"), ops.arithmetic.mul(turn, c.columns(over, square)))
        du, dv = ops.arithmetic.add(du, turn), ops.arithmetic.sub(dv, turn)
    du, dv = c.matmul(u, du), c.matmul(v, dv)
    if m != k:
        du = ops.arithmetic.add(du, _outside(u, c.matmul(t, v), over))
    if n != k:
        dv = ops.arithmetic.add(dv, _outside(v, c.matmul(c.mH(t), u), over))
    if more_u is not None:
        du = ops.concat.concatenate(
            du, _completing(u, v, c.mH(t), more_u, over), dimension=len(dims_of(a)) - 1
        )
    if more_v is not None:
        dv = ops.concat.concatenate(dv, _completing(v, u, t, more_v, over), dimension=len(dims_of(a)) - 1)
    return outs, [du, c.real(c.diagonal(inner)), c.mH(dv)]


def _coefficients(s: Any, shape: Any, k: int) -> Any:
    """1 / (s_j² - s_i²), 0 where it would be infinite."""
    low, high, top = c.rows(s, shape), c.columns(s, shape), c.largest(s, shape)
    sums = c.reciprocal_gaps(ops.arithmetic.neg(low), high, top, k)
    return ops.arithmetic.mul(sums, c.reciprocal_gaps(low, high, top, k))


def _inverse(s: Any, k: int) -> Any:
    """1 / s, 0 for singular values that are zero up to rounding."""
    n = len(dims_of(s))
    row = ops.shape.expand_dims(s, (n - 1,))
    shape = dims_of(row)
    none = ops.shape.broadcast_to(aval_of(s).dtype.type(0), shape)
    return ops.shape.squeeze(c.reciprocal_gaps(none, row, c.largest(s, shape), k), dimensions=(n - 1,))


def _fit(x: Any, like: Any) -> Any:
    return c.to_complex(x) if c.is_complex(like) else x


def _outside(q: Any, moved: Any, over: Any) -> Any:
    """(I - Q Qᴴ) moved S⁻¹."""
    rest = ops.arithmetic.sub(moved, c.matmul(q, c.matmul(c.mH(q), moved)))
    return ops.arithmetic.mul(rest, c.columns(over, dims_of(rest)))


def _parted(q: Any, k: int) -> tuple[Any, Any]:
    """The first k columns, and the others; None if there are none."""
    *lead, m, n = dims_of(q)
    if n == k:
        return q, None
    low = tuple(0 for _ in lead)
    first = ops.slices.slice(q, start_indices=(*low, 0, 0), limit_indices=(*lead, m, k))
    return first, ops.slices.slice(q, start_indices=(*low, 0, k), limit_indices=(*lead, m, n))


def _completing(q: Any, other: Any, t: Any, more: Any, over: Any) -> Any:
    """The derivative of the vectors that complete q: it keeps them orthogonal to q."""
    moved = c.matmul(c.mH(other), c.matmul(t, more))
    turn = ops.arithmetic.mul(moved, _fit(c.rows(over, dims_of(moved)), moved))
    return ops.arithmetic.neg(c.matmul(q, turn))


svd_op = c.factorization(
    "svd",
    "a = u diag(s) vh, with s descending",
    type=_type,
    eval=_eval,
    spelled=c.spelled("svd", "{full_matrices}", of=c.FINITE),
    jvp=_jvp,
    effects=c.check_effects,
    on_device="svd",
)


def svd(a: Any, *, full_matrices: bool = True, check: bool = False) -> list[Any]:
    """[u, s, vh] of (..., m, n), with min(m, n) vectors each, or (`full_matrices`) m and n of them.

    Without convergence: NaN, or with `check` LinAlgError.
    """
    return bind(svd_op, a, full_matrices=bool(full_matrices), check=check)


# ---------------------------------------------------------------- the values alone


def _values_type(a: Aval, *, check: bool) -> Aval:
    return _type(a, full_matrices=False, check=check)[1]


def _values_eval(a: Any, *, check: bool) -> Any:
    try:
        return np.linalg.svd(c.finite(a), compute_uv=False)
    except np.linalg.LinAlgError:
        if check:
            raise
        return _eval(a, full_matrices=False, check=False)[1]


def _values_jvp(primals: Any, tangents: Any, *, check: bool) -> tuple[Any, Any]:
    """ds_i = Re(u_iᴴ dA v_i): the vectors are computed only here."""
    (a,), (t,) = primals, tangents
    if is_zero(t):
        s = bind(svdvals_op, a, check=check)
        return s, c.zeros_like_outputs(s)
    u, s, vh = bind(svd_op, a, full_matrices=False, check=check)
    moved = ops.arithmetic.mul(c.conj(u), c.matmul(t, c.mH(vh)))
    return s, c.real(ops.reduce.reduce_sum(moved, axes=(len(dims_of(a)) - 2,)))


svdvals_op = c.factorization(
    "svdvals",
    "singular values, descending",
    type=_values_type,
    eval=_values_eval,
    spelled=c.spelled("svd", "compute_uv=False", of=c.FINITE),
    jvp=_values_jvp,
    multi=False,
    effects=c.check_effects,
    on_device="svdvals",
)


def svdvals(a: Any, *, check: bool = False) -> Any:
    """The singular values (..., min(m, n)) that `svd` gives."""
    return bind(svdvals_op, a, check=check)
