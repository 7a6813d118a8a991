"""Eigenvalues and eigenvectors of general square matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions.systems.solve import inv
from tracejit.tracing import bind


def _type(a: Aval, *, check: bool) -> list[Aval]:
    c.check_matrix("eig", a, square=True)
    d = c.complex_of(a.dtype)
    return [Aval(a.shape[:-1], d), Aval(a.shape, d)]


def _complex_eig(a: Any) -> tuple[Any, Any]:
    d = c.complex_of(a.dtype)
    w, v = np.linalg.eig(a)
    return w.astype(d), v.astype(d)


def _eval(a: Any, *, check: bool) -> list[Any]:
    if check:
        return list(_complex_eig(a))
    finite = np.isfinite(a).all((-2, -1))
    w, v = c.nan_where_failing(
        _complex_eig, np.where(finite[..., None, None], a, 0).astype(a.dtype), np.linalg.LinAlgError
    )
    if not finite.all():
        w, v = np.where(finite[..., None], w, np.nan), np.where(finite[..., None, None], v, np.nan)
    return [w, v]


def _jvp(primals: Any, tangents: Any, *, check: bool) -> tuple[Any, Any]:
    """dw = diag(V⁻¹ dA V), dV = V (F ∘ V⁻¹ dA V) with F_ij = 1 / (w_j - w_i) (Giles 2008, 3.1), and then
    each vector scaled so that it keeps its length, and its largest element real: LAPACK's normalisation
    (C. Boeddeker et al., On the computation of complex-valued gradients, 2017, 4.20)."""
    (a,), (t,) = primals, tangents
    w, v = outs = bind(eig_op, a, check=check)
    if is_zero(t):
        return outs, c.zeros_like_outputs(outs)
    inverse = inv(v)
    inner = c.matmul(c.matmul(inverse, c.to_complex(t)), v)
    shape = dims_of(a)
    dv = c.matmul(v, ops.arithmetic.mul(_gaps(w, shape), inner))
    return outs, [c.diagonal(inner), ops.arithmetic.sub(dv, _drift(v, dv, shape))]


def _gaps(w: Any, shape: Any) -> Any:
    """1 / (w_j - w_i), 0 where they are equal up to rounding."""
    gap = ops.arithmetic.sub(c.columns(w, shape), c.rows(w, shape))
    size = ops.arithmetic.abs(ops.create.stop_gradient(gap))
    top = c.largest(w, shape)
    eps = np.finfo(ops.values.dtype_of(size)).eps
    tiny = ops.compare.le(size, ops.arithmetic.mul(top, eps * max(c.bound_of(shape[-1]), 1)))
    return c.select(tiny, 0.0, ops.arithmetic.reciprocal(c.select(tiny, 1.0, gap)))


def _drift(v: Any, dv: Any, shape: Any) -> Any:
    """What of dv is a change of length and phase, v times a number for each vector."""
    n = len(shape)
    along = ops.reduce.reduce_sum(ops.arithmetic.mul(c.conj(v), dv), axes=(n - 2,))
    size = ops.arithmetic.abs(ops.create.stop_gradient(v))
    first = ops.reduce.argmax(size, axes=(n - 2,)) if shape[-1] != 0 else None
    if first is None:
        return dv
    index = ops.shape.expand_dims(first, (n - 2,))
    options = {"mode": "promise_in_bounds", "unique_indices": True}
    at = ops.gather.take_along_axis(v, index, n - 2, **options)
    dat = ops.gather.take_along_axis(dv, index, n - 2, **options)
    turn = ops.shape.squeeze(
        ops.arithmetic.mul(ops.complexes.imag(dat), ops.arithmetic.reciprocal(ops.complexes.real(at))),
        dimensions=(n - 2,),
    )
    number = ops.complexes.complex(ops.complexes.real(along), turn)
    return ops.arithmetic.mul(c.columns(number, shape), v)


eig_op = c.factorization(
    "eig",
    "eigenvalues and eigenvectors of square matrices, complex",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    effects=c.check_effects,
)


def eig(a: Any, *, check: bool = False) -> list[Any]:
    """[w, v] of (..., n, n), both complex: a v = v diag(w), vectors of length 1 in the columns.

    Raises LinAlgError for elements that are not finite, or without convergence, if `check`; else NaN there.
    """
    return bind(eig_op, a, check=check)


# ---------------------------------------------------------------- the values alone


def _values_type(a: Aval, *, check: bool) -> Aval:
    return _type(a, check=check)[0]


def _values_eval(a: Any, *, check: bool) -> Any:
    try:
        return np.linalg.eigvals(a).astype(c.complex_of(a.dtype))
    except np.linalg.LinAlgError:
        if check:
            raise
        return _eval(a, check=False)[0]


def _values_jvp(primals: Any, tangents: Any, *, check: bool) -> tuple[Any, Any]:
    """dw_i = (V⁻¹ dA V)_ii, without the off-diagonal products."""
    (a,), (t,) = primals, tangents
    if is_zero(t):
        w = bind(eigvals_op, a, check=check)
        return w, c.zeros_like_outputs(w)
    w, v = bind(eig_op, a, check=check)
    moved = ops.arithmetic.mul(c.mT(inv(v)), c.matmul(c.to_complex(t), v))
    return w, ops.reduce.reduce_sum(moved, axes=(len(dims_of(v)) - 2,))


eigvals_op = c.factorization(
    "eigvals",
    "eigenvalues of square matrices, complex",
    type=_values_type,
    eval=_values_eval,
    spelled=c.spelled("eigvals"),
    jvp=_values_jvp,
    multi=False,
    effects=c.check_effects,
)


def eigvals(a: Any, *, check: bool = False) -> Any:
    """The eigenvalues that `eig` gives (perhaps in another order), without vectors."""
    return bind(eigvals_op, a, check=check)
