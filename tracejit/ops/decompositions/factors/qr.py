"""The QR factorization."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import NotDifferentiableError
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions.triangular import triangular_solve
from tracejit.tracing import bind


def _type(a: Aval, *, full_matrices: bool) -> list[Aval]:
    c.check_matrix("qr", a)
    *lead, m, n = a.shape
    k = m if full_matrices else c.least("qr", m, n)
    return [a.with_shape((*lead, m, k)), a.with_shape((*lead, k, n))]


def _eval(a: Any, *, full_matrices: bool) -> list[Any]:
    return list(np.linalg.qr(a, "complete" if full_matrices else "reduced"))


def _spelled(*, full_matrices: bool) -> str:
    return f"numpy.linalg.qr({{0}}, {'complete' if full_matrices else 'reduced'!r})"


def _jvp(primals: Any, tangents: Any, *, full_matrices: bool) -> tuple[Any, Any]:
    """S. Walter, L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010 (tall matrices);
    of a wide one, the first columns are factorized and the others are projected."""
    (a,), (t,) = primals, tangents
    q, r = outs = bind(qr_op, a, full_matrices=full_matrices)
    if is_zero(t):
        return outs, c.zeros_like_outputs(outs)
    m, n = dims_of(a)[-2:]
    if full_matrices and m != n and not (type(m) is int and type(n) is int and m < n):
        raise NotDifferentiableError(
            op="qr", reason="the columns of a complete q that complete the basis are not determined by a"
        )
    if m == n or c.least("qr", m, n) == n:
        return outs, _tall(q, r, t)
    dq, dr = _tall(q, _part(r, 0, m), _part(t, 0, m))
    # R₂ = Qᴴ A₂, so dR₂ = dQᴴ Q R₂ + Qᴴ dA₂
    rest = ops.arithmetic.add(
        c.matmul(c.matmul(c.mH(dq), q), _part(r, m, n)), c.matmul(c.mH(q), _part(t, m, n))
    )
    return outs, [dq, ops.concat.concatenate(dr, rest, dimension=len(dims_of(a)) - 1)]


def _part(x: Any, start: int, stop: int) -> Any:
    shape = dims_of(x)
    low = (*(0 for _ in shape[:-1]), start)
    return ops.shape.slice(x, start_indices=low, limit_indices=(*shape[:-1], stop))


def _tall(q: Any, r: Any, t: Any) -> list[Any]:
    """dQ = Q Ω + (I - Q Qᴴ) dA R⁻¹ and dR = (Qᴴ dA R⁻¹ - Ω) R, with the skew-Hermitian Ω that leaves
    R triangular and its diagonal real, as LAPACK has it."""
    moved = triangular_solve(r, t, left_side=False, lower=False)
    inner = c.matmul(c.mH(q), moved)
    low = c.tril(inner, -1)
    omega = ops.arithmetic.sub(low, c.mH(low))
    if c.is_complex(inner):
        turn = ops.complexes.complex(0, ops.complexes.imag(inner))
        omega = ops.arithmetic.add(omega, c.select(c.mask(inner, "eq"), turn))
    rest = ops.arithmetic.sub(inner, omega)
    dq = ops.arithmetic.add(moved, c.matmul(q, ops.arithmetic.neg(rest)))
    return [dq, c.matmul(rest, r)]


qr_op = c.factorization(
    "qr",
    "a = Q R: orthonormal columns and an upper triangle",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    spelled=_spelled,
    on_device="qr",
)


def qr(a: Any, *, full_matrices: bool = True) -> list[Any]:
    """[q, r] of (..., m, n); q has min(m, n) columns, with `full_matrices` m of them.

    Differentiable unless m > n and `full_matrices`. The first min(m, n) columns of `a` must be independent
    for that.
    """
    return bind(qr_op, a, full_matrices=bool(full_matrices))
