"""Schur and Hessenberg forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.primitive import not_differentiable
from tracejit.ops import _lazy
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval) -> list[Aval]:
    c.check_matrix("schur", a, square=True)
    return [a, a]


def _eval(a: Any) -> list[Any]:
    if not a.size:
        return [a.copy(), a.copy()]
    schur = _lazy.scipy_linalg().schur
    return c.per_matrix(lambda x: schur(x, "real" if x.dtype.kind == "f" else "complex"),
                        [(a.shape, a.dtype)] * 2, a, cores=(2,))  # fmt: skip


schur_op = c.factorization(
    "schur",
    "a = z t zᴴ with t (quasi) upper triangular",
    type=_type,
    eval=_eval,
    jvp=not_differentiable("the phases of its vectors are LAPACK's choice; use the real form, eig or eigh"),
)


def schur(a: Any) -> list[Any]:
    """[t, z] of (..., n, n): a = z t zᴴ, z unitary; the real form for real matrices."""
    return bind(schur_op, a)


def _hessenberg_type(a: Aval) -> list[Aval]:
    c.check_matrix("hessenberg", a, square=True)
    n = a.shape[-1]
    if type(n) is not int:
        raise TypeRuleError(op="hessenberg", problem=f"the size of {a} is a traced integer")
    return [a, Aval((*a.shape[:-2], max(n - 1, 0)), a.dtype)]


def _hessenberg_eval(a: Any) -> list[Any]:
    n = a.shape[-1]
    shapes = [(a.shape, a.dtype), ((*a.shape[:-2], max(n - 1, 0)), a.dtype)]
    if a.size == 0 or n == 1:
        return [a.copy(), np.zeros(*shapes[1])]
    gehrd = _lazy.lapack("gehrd", a.dtype)
    return c.per_matrix(lambda x: gehrd(x)[:2], shapes, a, cores=(2,))


hessenberg_op = c.factorization(
    "hessenberg",
    "the packed Hessenberg form: the form, the reflectors below it, and their factors",
    type=_hessenberg_type,
    eval=_hessenberg_eval,
    jvp=not_differentiable("the Hessenberg form has no derivative rule"),
)


def hessenberg(a: Any) -> list[Any]:
    """[packed form (..., n, n), taus (..., n - 1)], as LAPACK's gehrd has them."""
    return bind(hessenberg_op, a)
