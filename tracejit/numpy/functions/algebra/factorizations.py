"""`numpy.linalg`'s factorizations and eigenvalues, with NumPy's named tuples."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError, MatrixShapeError, TracerBoolError
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.assumed import assumed
from tracejit.numpy.boxes.numbers import pythons_unless_any
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.functions.algebra.matrices import check_side, matrix, result_class
from tracejit.ops.decompositions.common import mH, mT
from tracejit.tracing import caller, wrap

_d = ops.decompositions


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Triangles L with a = L Lᴴ, or (`upper`) U with a = Uᴴ U. One triangle of `a` is read, and
    derivatives are with respect to that one.

    Raises LinAlgError where a matrix is not positive definite, compiled code too.
    """
    x = matrix("cholesky", a)
    low = _d.cholesky.cholesky(_square("cholesky", x, mH) if upper else x, check=True)
    return wrap(mH(low) if upper else low)


def _square(name: str, x: Any, fn: Any) -> Any:
    if len(ops.dims.dims_of(x)) < 2:
        raise MatrixShapeError(op=name, problem="at least two dimensions are needed")
    return fn(x)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """A QRResult; R alone for mode 'r'; LAPACK's packed form for 'raw' (without derivative)."""
    x = matrix("qr", a)
    if mode == "raw":
        h, tau = _d.householder.geqrf(x)
        return wrap(mT(h)), wrap(tau)
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(name="qr", problem=f"Unrecognized mode '{mode}'")
    q, r = _d.qr.qr(x, full_matrices=mode == "complete")
    return wrap(r) if mode == "r" else result_class("qr")(wrap(q), wrap(r))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    w, v = _d.eigh.eigh(matrix("eigh", a), lower=check_side(UPLO), check=True)
    return result_class("eigh")(wrap(w), wrap(v))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices, ascending."""
    return wrap(_d.eigh.eigvalsh(matrix("eigvalsh", a), lower=check_side(UPLO), check=True))


#: Whether NumPy gives real eigenvalues of real matrices as real numbers.
_REAL = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"


def as_numpys(a: Any, *results: Any) -> tuple[Any, ...]:
    """The eigenvalues (the first raw result) and vectors of `a` as NumPy has them: always complex since version 2.5,
    before that the real parts where they are real."""
    return real_parts_of_real(a, *results) if _REAL else tuple(map(wrap, results))


def real_parts_of_real(a: Any, *results: Any) -> tuple[Any, ...]:
    """The results as arrays: the real parts, which lie in complex arrays, if those of a real matrix all are real, by
    the first."""
    made = tuple(map(wrap, results))
    return tuple(x.real for x in made) if _is_real(a, results[0]) else made


def real_of_real(a: Any, *results: Any) -> tuple[Any, ...]:
    """The same as raw results, whose real parts are arrays of their own."""
    return tuple(ops.complexes.real(x) for x in results) if _is_real(a, results[0]) else results


def _is_real(a: Any, found: Any) -> bool:
    """Whether what was found of a real matrix is real. There is a program for either; in loops and branches Python does
    the call over if it is, and if it can."""
    if aval_of(a).dtype.kind == "c" or not caller.does_over():
        return False
    some = ops.compare.ne(ops.complexes.imag(found), 0)
    known = ops.reduce.reduce_or(some, axes=tuple(range(aval_of(some).ndim)))
    if isinstance(known, Value):
        known = assumed(known, lambda: TracerBoolError(aval="bool[]"))
    if known is None:
        pythons_unless_any(some, "real eigenvalues as real numbers")
    return known is not None and not known


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """Eigenvalues and right eigenvectors: complex, also where NumPy's are real, if Python can't take over."""
    x = matrix("eig", a)
    return result_class("eig")(*as_numpys(x, *_d.eig.eig(x, check=True)))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Eigenvalues: complex, also where NumPy finds that all are real, if Python can't take over."""
    x = matrix("eigvals", a)
    return as_numpys(x, _d.eig.eigvals(x, check=True))[0]


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """An SVDResult, or the singular values alone. The vectors that complete a basis have the derivative without a turn
    among each other: that of what depends on the space alone."""
    x = matrix("svd", a)
    if hermitian:
        return _hermitian_svd(x, compute_uv)
    if not compute_uv:
        return wrap(_d.svd.svdvals(x, check=True))
    u, s, vh = _d.svd.svd(x, full_matrices=full_matrices, check=True)
    return result_class("svd")(wrap(u), wrap(s), wrap(vh))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """Singular values, descending."""
    return svd(x, compute_uv=False)


def _hermitian_svd(x: Any, compute_uv: bool) -> Any:
    """From the eigenvalues: their magnitudes, with the signs in vh."""
    tnp = NUMPY_TO_TRACEJIT
    if not compute_uv:
        s = tnp[np.abs](wrap(_d.eigh.eigvalsh(x, check=True)))
        return tnp[np.flip](tnp[np.sort](s), -1)
    w, v = (wrap(o) for o in _d.eigh.eigh(x, check=True))
    sign, s = tnp[np.sign](w), tnp[np.abs](w)
    order = tnp[np.flip](tnp[np.argsort](s), -1)
    sign, s = (tnp[np.take_along_axis](o, order, axis=-1) for o in (sign, s))
    u = tnp[np.take_along_axis](v, order[..., None, :], axis=-1)
    vh = (u * sign[..., None, :]).mT.conj()
    return result_class("svd")(u, s, vh)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sums along diagonals of matrices in the last two axes."""
    return NUMPY_TO_TRACEJIT[np.trace](x, offset, -2, -1, dtype)


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Diagonals of matrices in the last two axes."""
    return NUMPY_TO_TRACEJIT[np.diagonal](x, offset, -2, -1)
