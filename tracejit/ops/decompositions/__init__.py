"""Matrix factorizations and what is solved with them, one file a family.

In come matrices in the last two axes, and out go their factors or solutions, with the leading axes kept. They run
LAPACK through NumPy and SciPy; their derivatives are formulas of other ops, linear in the tangents, so that every
one can be transposed. Read `common`, `small` (matrices small enough to be written out) and `triangular`, then
`factors/`, `systems/`, `spectra/`.
"""

from tracejit.ops.decompositions import common, triangular
from tracejit.ops.decompositions.factors import cholesky, householder, lu, qr, svd
from tracejit.ops.decompositions.spectra import eig, eigh, schur, tridiagonal
from tracejit.ops.decompositions.systems import determinant, exponential, pinv, solve, sylvester

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
