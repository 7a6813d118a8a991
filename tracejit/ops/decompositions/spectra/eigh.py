"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval, *, lower: bool, check: bool) -> list[Aval]:
    c.check_matrix("eigh", a, square=True)
    return [Aval(a.shape[:-1], c.real_of(a.dtype)), a]


def _eval(a: Any, *, lower: bool, check: bool) -> list[Any]:
    side = "L" if lower else "U"
    if check:
        return list(np.linalg.eigh(a, side))
    both = c.nan_where_failing(lambda x: tuple(np.linalg.eigh(x, side)), a, np.linalg.LinAlgError)
    return list(both)


def _jvp(primals: Any, tangents: Any, **params: bool) -> tuple[Any, Any]:
    """dw = diag(Vᴴ dA V), dV = V (F ∘ Vᴴ dA V) with F_ij = 1 / (w_j - w_i) (Giles 2008, 3.1).

    F is 0 between eigenvalues that are equal up to rounding, where the vectors have no derivative. Vectors
    are free to turn: this is the derivative that leaves vᴴ dv = 0.
    """
    (a,), (t,) = primals, tangents
    w, v = outs = bind(eigh_op, a, **params)
    if is_zero(t):
        return outs, c.zeros_like_outputs(outs)
    shape = dims_of(a)
    top = c.largest(w, shape)
    factor = c.reciprocal_gaps(c.rows(w, shape), c.columns(w, shape), top, c.bound_of(shape[-1]))
    factor = c.to_complex(factor) if c.is_complex(v) else factor
    inner = c.matmul(c.mH(v), c.matmul(c.from_lower(t, params["lower"]), v))
    return outs, [c.real(c.diagonal(inner)), c.matmul(v, ops.arithmetic.mul(factor, inner))]


eigh_op = c.factorization(
    "eigh",
    "eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices",
    type=_type,
    eval=_eval,
    spelled=lambda *, lower, check: c.spelled("eigh", repr("L" if lower else "U"))(check=check),
    jvp=_jvp,
    effects=c.check_effects,
    on_device="eigh",
)


def eigh(a: Any, *, lower: bool = True, check: bool = False) -> list[Any]:
    """[w, v] of Hermitian (..., n, n): a v = v diag(w), w ascending and real. One triangle of `a` is read.

    Raises LinAlgError where the iteration does not converge if `check`, else gives NaN there.
    """
    return bind(eigh_op, a, lower=bool(lower), check=check)


# ---------------------------------------------------------------- the values alone


def _values_type(a: Aval, *, lower: bool, check: bool) -> Aval:
    c.check_matrix("eigvalsh", a, square=True)
    return Aval(a.shape[:-1], c.real_of(a.dtype))


def _values_eval(a: Any, *, lower: bool, check: bool) -> Any:
    side = "L" if lower else "U"
    if check:
        return np.linalg.eigvalsh(a, side)
    return _values_or_nan(a, side)


def _values_or_nan(a: Any, side: Any) -> Any:
    try:
        return np.linalg.eigvalsh(a, side)
    except np.linalg.LinAlgError:
        return c.nan_where_failing(lambda x: tuple(np.linalg.eigh(x, side)), a, np.linalg.LinAlgError)[0]


def _values_jvp(primals: Any, tangents: Any, **params: bool) -> tuple[Any, Any]:
    """dw_i = v_iᴴ dA v_i: the vectors are computed only here."""
    (a,), (t,) = primals, tangents
    if is_zero(t):
        w = bind(eigvalsh_op, a, **params)
        return w, c.zeros_like_outputs(w)
    w, v = bind(eigh_op, a, **params)
    moved = ops.arithmetic.mul(c.conj(v), c.matmul(c.from_lower(t, params["lower"]), v))
    return w, c.real(ops.reduce.reduce_sum(moved, axes=(len(dims_of(v)) - 2,)))


eigvalsh_op = c.factorization(
    "eigvalsh",
    "eigenvalues of Hermitian matrices, ascending",
    type=_values_type,
    eval=_values_eval,
    spelled=lambda *, lower, check: c.spelled("eigvalsh", repr("L" if lower else "U"))(check=check),
    jvp=_values_jvp,
    multi=False,
    effects=c.check_effects,
    on_device="eigvalsh",
)


def eigvalsh(a: Any, *, lower: bool = True, check: bool = False) -> Any:
    """The eigenvalues that `eigh` gives, without vectors."""
    return bind(eigvalsh_op, a, lower=bool(lower), check=check)
