"""The Cholesky factorization."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
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
        return None
    rows, bad = small.cholesky(a)
    if check:
        small.refuse(bad, "Matrix is not positive definite")
    rows = rows if check else small.nan_where(bad, rows)
    return small.assembled(small.flat(rows), dims_of(a), len(dims_of(a)) - 2)


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


def cholesky(a: Any, *, check: bool = False) -> Any:
    """Lower triangles L with a = L Lᴴ, for stacks (..., n, n) of Hermitian matrices.

    Only the lower triangle of `a` is read, and the derivative is that of this function. Where `a` is not
    positive definite: NaN, or with `check` NumPy's LinAlgError.
    """
    return bind(cholesky_op, a, check=check)
