"""Sylvester's equation, and the square root of a matrix, whose derivative solves one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops import _lazy
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval, b: Aval, q: Aval) -> Aval:
    for x in (a, b):
        c.check_matrix("sylvester", x, square=True)
    c.check_matrix("sylvester", q)
    c.check_same("sylvester", a, b, q)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(op="sylvester", problem=f"{q} does not fit {a} and {b}")
    return q


def _eval(a: Any, b: Any, q: Any) -> Any:
    if not q.size:
        return q.copy()
    solve = _lazy.scipy_linalg().solve_sylvester
    return c.per_matrix(lambda *xs: [solve(*xs)], [(q.shape, q.dtype)], a, b, q, cores=(2, 2, 2))[0]


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """a dx + dx b = dq - da x - x db."""
    (a, b, q), (ta, tb, tq) = primals, tangents
    x = bind(sylvester_op, a, b, q)
    terms = [] if is_zero(tq) else [tq]
    terms += [] if is_zero(ta) else [ops.arithmetic.neg(c.matmul(ta, x))]
    terms += [] if is_zero(tb) else [ops.arithmetic.neg(c.matmul(x, tb))]
    if not terms:
        return x, c.zeros_like_outputs(x)
    right = terms[0]
    for t in terms[1:]:
        right = ops.arithmetic.add(right, t)
    return x, bind(sylvester_op, a, b, right)


def _transpose(ct: Any, a: Any, b: Any, q: Any) -> list[Any]:
    return [None, None, bind(sylvester_op, c.mT(a), c.mT(b), ct)]


sylvester_op = c.factorization(
    "sylvester",
    "the solution of a x + x b = q",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    multi=False,
    transpose=_transpose,
)


def sylvester(a: Any, b: Any, q: Any) -> Any:
    """x with a x + x b = q, for (..., m, m), (..., n, n) and (..., m, n)."""
    return bind(sylvester_op, a, b, q)


# ---------------------------------------------------------------- sqrtm


def _sqrtm_type(a: Aval) -> Aval:
    c.check_matrix("sqrtm", a, square=True)
    return a.with_dtype(c.complex_of(a.dtype))


def _sqrtm_eval(a: Any) -> Any:
    d = c.complex_of(a.dtype)
    if not a.size:
        return a.astype(d)
    with np.errstate(all="ignore"):
        return _lazy.scipy_linalg().sqrtm(a).astype(d)


def _sqrtm_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """x dx + dx x = da (from x x = a)."""
    (a,), (t,) = primals, tangents
    x = bind(sqrtm_op, a)
    return x, c.zeros_like_outputs(x) if is_zero(t) else bind(sylvester_op, x, x, c.to_complex(t))


sqrtm_op = c.factorization(
    "sqrtm",
    "the principal square root of square matrices, complex",
    type=_sqrtm_type,
    eval=_sqrtm_eval,
    jvp=_sqrtm_jvp,
    multi=False,
)


def sqrtm(a: Any) -> Any:
    """The principal square roots of (..., n, n), complex."""
    return bind(sqrtm_op, a)
