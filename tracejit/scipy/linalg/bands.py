"""`scipy.linalg`'s matrices of few diagonals: Cholesky factors and eigenvalues, as of dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy import linalg
from tracejit.numpy.boxes.layouts import lies_in
from tracejit.numpy.operands import raw
from tracejit.scipy.linalg.calling import of_scipy, of_scipy_in_order
from tracejit.scipy.linalg.patterns import banded
from tracejit.scipy.linalg.systems import solve_triangular
from tracejit.tracing import wrap


def _rows(name: str, ab: Any) -> Any:
    """The rows that hold the diagonals, as floats."""
    rows = wrap(raw(ab))
    if rows.ndim != 2:
        raise ArgumentError(
            name=name, problem=f"the diagonals are in the rows of a matrix, not of shape {rows.shape}"
        )
    return rows if dtypes.is_inexact(rows.dtype) else rows.astype(float)


def _half(rows: Any, lower: bool) -> Any:
    width = rows.shape[0] - 1
    return banded(rows, width, 0) if lower else banded(rows, 0, width)


def _diagonals(a: Any, width: int, lower: bool, aside: Any) -> Any:
    """The rows that hold the diagonals of one half of a matrix, and what is `aside` of them."""
    n = a.shape[-1]
    offset = np.arange(width + 1)[:, None] - (0 if lower else width)
    column = np.arange(n)
    row = column + offset
    inside = (row >= 0) & (row < n)
    return tnp.where(inside, a[np.clip(row, 0, n - 1), column + 0 * row], aside)


@of_scipy_in_order
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """The Cholesky factor of a Hermitian matrix of which one half is in the rows of `ab`, in the same form."""
    rows = _rows("cholesky_banded", ab)
    half = _half(rows, lower)
    factor = linalg.cholesky(half, upper=not lower)
    found = _diagonals(factor, rows.shape[0] - 1, lower, rows)
    lies_in(found, (1, 0))  # in Fortran's order, as LAPACK has it
    return found


@of_scipy
def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a x = b, given `cholesky_banded` of a."""
    cb, lower = cb_and_lower
    rows, y = _rows("cho_solve_banded", cb), wrap(raw(b))
    if rows.shape[-1] != y.shape[0]:
        raise ValueError("shapes of cb and b are not compatible.")
    factor = _half(rows, lower)
    adjoint = factor.mT.conj()
    first, second = (factor, adjoint) if lower else (adjoint, factor)
    return solve_triangular(second, solve_triangular(first, y, lower=True))


@of_scipy
def eig_banded(
    a_band: Any, lower: bool = False, eigvals_only: bool = False, overwrite_a_band: bool = False,
    select: Any = "a", select_range: Any = None, max_ev: int = 0, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Eigenvalues and vectors of a Hermitian matrix of which one half is in the rows of `a_band`."""
    half = _half(_rows("eig_banded", a_band), lower)
    return _chosen("eig_banded", half, lower, eigvals_only, select, select_range)


@of_scipy
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: Any = "a", select_range: Any = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues and vectors of a symmetric matrix of three diagonals."""
    main, side = wrap(raw(d)), wrap(raw(e))
    if main.ndim != 1 or side.shape != (main.shape[0] - 1,):
        raise ValueError(f"d ({main.shape[0]}) must have one more element than e ({side.shape})")
    if any(dtypes.is_complex(x.dtype) for x in (main, side)):
        raise TypeError("Only real arrays are supported")
    kind = np.result_type(main.dtype, side.dtype, np.float32)
    low = tnp.diag(main.astype(kind)) + tnp.diag(side.astype(kind), -1)
    return _chosen("eigh_tridiagonal", low, True, eigvals_only, select, select_range)


def _chosen(name: str, half: Any, lower: bool, eigvals_only: bool, select: Any, span: Any) -> Any:
    """All eigenvalues, or those numbered from span[0] to span[1]."""
    if select in ("i", "index", 2):
        first, last = (int(x) for x in span)
        if not 0 <= first <= last < half.shape[0]:
            raise ValueError("select_range out of bounds")
        part = slice(first, last + 1)
    elif select in ("a", "all", 0):
        part = None
    else:
        raise ArgumentError(name=name, problem=f"select={select!r} has no traced form")
    side = "L" if lower else "U"
    if eigvals_only:
        w = linalg.eigvalsh(half, side)
        return w if part is None else w[part]
    w, v = linalg.eigh(half, side)
    return (w, v) if part is None else (w[part], v[:, part].copy())  # put together anew, as SciPy's


@of_scipy
def eigvals_banded(
    a_band: Any, lower: bool = False, overwrite_a_band: bool = False, select: Any = "a",
    select_range: Any = None, check_finite: bool = True,
) -> Any:  # fmt: skip
    """The eigenvalues that `eig_banded` gives."""
    return eig_banded(a_band, lower, True, False, select, select_range)


@of_scipy
def eigvalsh_tridiagonal(
    d: Any, e: Any, select: Any = "a", select_range: Any = None, check_finite: bool = True, tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """The eigenvalues that `eigh_tridiagonal` gives."""
    return eigh_tridiagonal(d, e, True, select, select_range)
