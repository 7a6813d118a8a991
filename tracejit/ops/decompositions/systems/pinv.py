"""The pseudo-inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval, rcond: Aval, *, hermitian: bool) -> Aval:
    c.check_matrix("pinv", a, square=hermitian)
    if rcond.shape != a.shape[:-2]:
        raise ShapeError(op="pinv", problem=f"the limits {rcond} do not fit the matrices {a}")
    return a.with_shape((*a.shape[:-2], a.shape[-1], a.shape[-2]))


def _jvp(primals: Any, tangents: Any, *, hermitian: bool) -> tuple[Any, Any]:
    """dP = -P dA P + P Pᴴ dAᴴ (I - A P) + (I - P A) dAᴴ Pᴴ P (G. Golub, V. Pereyra, The differentiation
    of pseudo-inverses and nonlinear least squares problems whose variables separate, 1973, eq. 4.12).

    It holds while the rank does not change and what `rcond` cuts off is zero up to rounding, and does not
    mind repeated singular values.
    """
    (a, rcond), (t, _) = primals, tangents
    p = bind(pinv_op, a, rcond, hermitian=hermitian)
    if is_zero(t):
        return p, c.zeros_like_outputs(p)
    a, t = (c.from_lower(a), c.from_lower(t)) if hermitian else (a, t)
    out = ops.arithmetic.neg(c.matmul(c.matmul(p, t), p))
    m, n = dims_of(a)[-2:]
    square = m == n
    left = ops.arithmetic.sub(c.eye_like(c.matmul(a, p)), c.matmul(a, p))
    right = ops.arithmetic.sub(c.eye_like(c.matmul(p, a)), c.matmul(p, a))
    back = c.mH(t)
    if square or m > n:
        out = ops.arithmetic.add(out, c.matmul(c.matmul(c.matmul(p, c.mH(p)), back), left))
    if square or m < n:
        out = ops.arithmetic.add(out, c.matmul(right, c.matmul(back, c.matmul(c.mH(p), p))))
    return p, out


pinv_op = c.factorization(
    "pinv",
    "pseudo-inverses; singular values up to rcond times the largest count as 0",
    type=_type,
    eval=lambda a, rcond, *, hermitian: np.linalg.pinv(a if hermitian else c.finite(a), rcond, hermitian),
    jvp=_jvp,
    multi=False,
)


def pinv(a: Any, rcond: Any, *, hermitian: bool = False) -> Any:
    """Pseudo-inverses (..., n, m) of (..., m, n); `rcond` (...) is a real limit for each."""
    return bind(pinv_op, a, rcond, hermitian=bool(hermitian))
