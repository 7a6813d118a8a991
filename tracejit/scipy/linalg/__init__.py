"""`scipy.linalg` for traced values: the same names and arguments.

Without traced values they are SciPy's own functions. Stacks of matrices are taken in the leading axes.
`overwrite_…` is ignored. What is not finite, or so ill-conditioned that SciPy may warn, is left to Python where it can
take over; elsewhere `check_finite` changes nothing.
"""

from typing import Any as _Any

import numpy as _np

from tracejit.numpy.dispatch import LIBRARIES as _LIBRARIES
from tracejit.ops import _lazy
from tracejit.scipy.hosting.calls import others as _others
from tracejit.scipy.linalg.bands import (
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
)
from tracejit.scipy.linalg.equations import (
    solve_circulant,
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_lyapunov,
    solve_toeplitz,
)
from tracejit.scipy.linalg.factors import (
    cho_factor,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    hessenberg,
    lu,
    lu_factor,
    orthogonal_procrustes,
    polar,
    qr,
    schur,
    svd,
    svdvals,
)
from tracejit.scipy.linalg.functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    funm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from tracejit.scipy.linalg.patterns import block_diag, circulant, hankel, khatri_rao, toeplitz
from tracejit.scipy.linalg.powers import fractional_matrix_power, logm, signm
from tracejit.scipy.linalg.systems import (
    cho_solve,
    det,
    inv,
    lstsq,
    lu_solve,
    norm,
    pinv,
    solve,
    solve_banded,
    solve_sylvester,
    solve_triangular,
    solveh_banded,
)

LinAlgError = _np.linalg.LinAlgError

__all__ = [
    "LinAlgError",
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "hessenberg",
    "inv",
    "khatri_rao",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "orthogonal_procrustes",
    "polar",
    "qr",
    "schur",
    "signm",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]


def _entries(module: _Any) -> dict[_Any, _Any]:
    return {getattr(module, name): globals()[name] for name in __all__ if name[0].islower()}


_LIBRARIES["scipy.linalg"] = _entries

__getattr__, __dir__ = _others(__name__, _lazy.scipy_linalg, __all__)
