"""The matrix exponential and its Fréchet derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.values import is_zero
from tracejit.ops import _lazy
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import instantiate
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval) -> Aval:
    c.check_matrix("expm", a, square=True)
    return a


def _eval(a: Any) -> Any:
    return _lazy.scipy_linalg().expm(a).astype(a.dtype, copy=False) if a.size else a.copy()


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (a,), (t,) = primals, tangents
    out = bind(expm_op, a)
    return out, c.zeros_like_outputs(out) if is_zero(t) else bind(expm_frechet_op, a, t)


expm_op = c.factorization(
    "expm", "the exponential of square matrices", type=_type, eval=_eval, jvp=_jvp, multi=False
)


def expm(a: Any) -> Any:
    """The exponentials of (..., n, n)."""
    return bind(expm_op, a)


# ---------------------------------------------------------------- the Fréchet derivative


def _frechet_type(a: Aval, e: Aval) -> Aval:
    c.check_matrix("expm_frechet", a, square=True)
    c.check_same("expm_frechet", a, e)
    c.check_matrix("expm_frechet", e, square=True)
    return e


def _frechet_eval(a: Any, e: Any) -> Any:
    """The corner of exp [[a, e], [0, a]] (C. Van Loan, Computing integrals involving the matrix exponential,
    1978), `e` brought to the size of `a` since a corner far larger costs digits."""
    if not a.size:
        return a.copy()
    size, length = (np.abs(x).sum(-2, keepdims=True).max(-1, keepdims=True) for x in (a, e))
    factor = np.where(
        (length > 0) & np.isfinite(length), np.maximum(size, 1) / np.where(length > 0, length, 1), 1
    )
    block = np.block([[a, e * factor], [np.zeros_like(a), a]])
    n = a.shape[-1]
    return (_lazy.scipy_linalg().expm(block)[..., :n, n:] / factor).astype(a.dtype)


def _block(corner: Any, side: Any) -> Any:
    """[[a, e], [0, a]]."""
    n = len(dims_of(corner))
    zeros = ops.shape.broadcast_to(aval_of(corner).dtype.type(0), dims_of(corner))
    top = ops.concat.concatenate(corner, side, dimension=n - 1)
    return ops.concat.concatenate(
        top, ops.concat.concatenate(zeros, corner, dimension=n - 1), dimension=n - 2
    )


def _corner(x: Any, n: int) -> Any:
    shape = dims_of(x)
    low = (*(0 for _ in shape[:-1]), n)
    return ops.shape.slice(x, start_indices=low, limit_indices=(*shape[:-2], n, 2 * n))


def _frechet_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """L(a, e) is a corner of exp B, so its derivative is that corner of L(B, dB)."""
    (a, e), (ta, te) = primals, tangents
    out = bind(expm_frechet_op, a, e)
    if is_zero(ta):
        return out, c.zeros_like_outputs(out) if is_zero(te) else bind(expm_frechet_op, a, te)
    change = bind(expm_frechet_op, _block(a, e), _block(ta, instantiate(te)))
    return out, _corner(change, dims_of(a)[-1])


def _frechet_transpose(ct: Any, a: Any, e: Any) -> list[Any]:
    """<ct, L(a, e)> = <L(aᵀ, ct), e>, by the power series."""
    return [None, c.mT(bind(expm_frechet_op, a, c.mT(ct)))]


expm_frechet_op = c.factorization(
    "expm_frechet",
    "the derivative of the exponential at a in the direction e; linear in e",
    type=_frechet_type,
    eval=_frechet_eval,
    jvp=_frechet_jvp,
    multi=False,
    transpose=_frechet_transpose,
)


def expm_frechet(a: Any, e: Any) -> Any:
    """The derivatives of the exponential at `a` in the directions `e`, both (..., n, n)."""
    return bind(expm_frechet_op, a, e)
