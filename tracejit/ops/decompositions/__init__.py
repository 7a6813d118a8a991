"""Matrix factorizations and what is solved with them, one file a family.

All take matrices in the last two axes and keep the leading ones. They run LAPACK through NumPy and SciPy;
their derivatives are formulas of other ops, linear in the tangents, so that every one can be transposed.
"""

from tracejit.ops.decompositions import (
    cholesky,
    common,
    determinant,
    eig,
    eigh,
    exponential,
    householder,
    lu,
    pinv,
    qr,
    schur,
    solve,
    svd,
    sylvester,
    triangular,
    tridiagonal,
)

__all__ = [
    "cholesky",
    "common",
    "determinant",
    "eig",
    "eigh",
    "exponential",
    "householder",
    "lu",
    "pinv",
    "qr",
    "schur",
    "solve",
    "svd",
    "sylvester",
    "triangular",
    "tridiagonal",
]
