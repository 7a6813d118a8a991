"""`tracejit.numpy.linalg`: all of `numpy.linalg`, for traced values too."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.docstrings import complete as _complete
from tracejit.numpy.functions.algebra.factorizations import (
    cholesky,
    diagonal,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
    trace,
)
from tracejit.numpy.functions.algebra.norms import matrix_norm, norm, vector_norm
from tracejit.numpy.functions.algebra.systems import (
    cond,
    cross,
    det,
    inv,
    lstsq,
    matmul,
    matrix_power,
    matrix_rank,
    matrix_transpose,
    multi_dot,
    outer,
    pinv,
    slogdet,
    solve,
    tensordot,
    tensorinv,
    tensorsolve,
    vecdot,
)

LinAlgError = np.linalg.LinAlgError

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


_complete(__name__)


def __getattr__(name: str) -> Any:
    """What NumPy may add."""
    if hasattr(np.linalg, name):
        return getattr(np.linalg, name)
    raise AttributeError(f"neither numpy.linalg nor tracejit.numpy.linalg has {name!r}")
