"""The real Schur form and the Hessenberg form: a = z f zᵀ with an orthogonal z, and an f with zeros of its own.

Where a changes, z turns: dz = z w with a skew w, and df = zᵀ da z - w f + f w. The elements of w are those for which f
keeps its zeros (Giles 2008 has factorizations of which w is known in closed form): a dense linear system with as many
unknowns as there are zeros, for matrices that are not large. The phases of complex forms are LAPACK's choice: these
have no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.custom.public import custom_jvp
from tracejit.numpy import linalg
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as tnp
from tracejit.numpy.operands import shape_of
from tracejit.ops.decompositions import common as c
from tracejit.tracing import to_raw, wrap

_d = ops.decompositions


@custom_jvp
def schur_form(a: Any) -> tuple[Any, Any]:
    """T and Z with a = Z T Zᵀ, of real matrices; T has blocks of two rows for pairs of complex eigenvalues."""
    t, z = _d.schur.schur(to_raw(a))
    return wrap(t), wrap(z)


@schur_form.defjvp
def _schur_slope(primals: Any, tangents: Any) -> Any:
    t, z = schur_form(primals[0])
    n = t.shape[-1]
    pairs = np.stack(np.tril_indices(n, -1))
    rows, columns = pairs

    def conditions(x: Any, t: Any) -> Any:
        # The two numbers on the diagonal of a block are equal, and what is below them is not zero.
        block = (rows == columns + 1) & (t[..., rows, columns] != 0)
        return tnp[np.where](block, x[..., rows, rows] - x[..., columns, columns], x[..., rows, columns])

    return (t, z), _slopes(t, z, tangents[0], pairs, conditions)


@custom_jvp
def hessenberg_form(a: Any) -> tuple[Any, Any]:
    """H and Q with a = Q H Qᵀ, of real matrices; the first column of Q is that of the identity."""
    packed, taus = _d.schur.hessenberg(to_raw(a))
    return wrap(c.triu(packed, -1)), reflected(packed, taus)


@hessenberg_form.defjvp
def _hessenberg_slope(primals: Any, tangents: Any) -> Any:
    h, q = hessenberg_form(primals[0])
    rows, columns = np.tril_indices(h.shape[-1], -2)
    # As many as there are pairs of columns without the first one.
    pairs = np.stack([rows, columns + 1])
    return (h, q), _slopes(h, q, tangents[0], pairs, lambda x, _: x[..., rows, columns])


def reflected(packed: Any, taus: Any) -> Any:
    """Q of a packed Hessenberg form."""
    shape = shape_of(packed)
    n = shape[-1]
    one = wrap(c.eye_like(packed))
    if n < 2:
        return one
    inner = _d.householder.householder_product(ops.slices.slice(
        packed, start_indices=(*(0 for _ in shape[:-2]), 1, 0), limit_indices=(*shape[:-1], n - 1)
    ), taus)  # fmt: skip
    corner = tnp[np.pad](wrap(inner), [(0, 0)] * (len(shape) - 2) + [(1, 0), (1, 0)])
    first = (np.arange(n)[:, None] == 0) & (np.arange(n) == 0)
    return tnp[np.where](first, one, corner)


def _slopes(f: Any, z: Any, da: Any, pairs: Any, conditions: Any) -> tuple[Any, Any]:
    """df and dz, where z turns in the planes of the `pairs` of its columns, and `conditions` of df are zero."""
    m = z.mT @ da @ z
    rows, columns = pairs
    count = len(rows)
    if not count:
        return m, tnp[np.zeros_like](z)
    planes = np.zeros((count, *f.shape[-2:]), f.dtype)
    planes[range(count), rows, columns] = 1
    planes[range(count), columns, rows] = -1
    forms = f[..., None, :, :]
    by_plane = conditions(planes @ forms - forms @ planes, forms)
    found = linalg.solve(by_plane.mT, conditions(m, f)[..., None])
    w = tnp[np.sum](found[..., None] * planes, axis=-3)
    return m - w @ f + f @ w, z @ w
