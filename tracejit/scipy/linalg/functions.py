"""Functions of matrices: exponential, square root, and what the exponential gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy import linalg
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.functions.algebra.factorizations import real_of_real, real_parts_of_real
from tracejit.numpy.functions.algebra.matrices import matrices, matrix
from tracejit.ops.decompositions import common as c
from tracejit.scipy.linalg.calling import leave, of_scipy, of_scipy_in_order
from tracejit.scipy.solving import ask
from tracejit.tracing import caller, to_raw, wrap

_d = ops.decompositions
_F64 = np.dtype(float)


@of_scipy
def expm(A: Any) -> Any:
    """The matrix exponential; its derivative is Fréchet's, to any order."""
    return wrap(_d.exponential.expm(matrix("expm", A)))


@of_scipy
def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """(expm(A), its derivative in the direction E), or the derivative alone."""
    a, e = (
        c.to_complex(x) if c.is_complex(x) else ops.create.convert(x, _F64)
        for x in matrices("expm_frechet", A, E)
    )
    leave(
        "expm_frechet",
        a,
        "the order in which SciPy's result lies in memory depends on the norm of the matrix",
    )
    change = wrap(_d.exponential.expm_frechet(a, e))
    return (wrap(_d.exponential.expm(a)), change) if compute_expm else change


@of_scipy
def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    """The principal square root: complex, also where SciPy finds that it is real, if Python can't take over."""
    x = matrix("sqrtm", A)
    return wrap(real_of_real(x, _d.sylvester.sqrtm(x))[0])


def _exp(x: Any, factor: complex) -> Any:
    """exp(factor x), complex if the factor or x is."""
    x = c.to_complex(x) if factor.imag else x
    return wrap(_d.exponential.expm(ops.arithmetic.mul(x, factor if factor.imag else factor.real)))


def _circular(A: Any) -> tuple[Any, Any]:
    """cos and sin."""
    x = matrix("cosm", A)
    plus = _exp(x, 1j)
    if not c.is_complex(x):
        return plus.real, plus.imag
    minus = _exp(x, -1j)
    return (plus + minus) * 0.5, (plus - minus) * -0.5j


def _hyperbolic(A: Any) -> tuple[Any, Any]:
    x = matrix("coshm", A)
    plus, minus = _exp(x, 1 + 0j), _exp(x, -1 + 0j)
    return (plus + minus) * 0.5, (plus - minus) * 0.5


@of_scipy
def cosm(A: Any) -> Any:
    """The matrix cosine."""
    return _circular(A)[0]


@of_scipy
def sinm(A: Any) -> Any:
    """The matrix sine."""
    return _circular(A)[1]


@of_scipy
def tanm(A: Any) -> Any:
    """The matrix tangent."""
    return linalg.solve(*_circular(A))


@of_scipy
def coshm(A: Any) -> Any:
    """The matrix hyperbolic cosine."""
    return _hyperbolic(A)[0]


@of_scipy
def sinhm(A: Any) -> Any:
    """The matrix hyperbolic sine."""
    return _hyperbolic(A)[1]


@of_scipy
def tanhm(A: Any) -> Any:
    """The matrix hyperbolic tangent."""
    return linalg.solve(*_hyperbolic(A))


@of_scipy_in_order
def funm(A: Any, func: Any, disp: bool = True) -> Any:
    """The function of a square matrix that `func`, which maps vectors of numbers, says. It goes by the eigenvectors,
    so that it has derivatives; where eigenvalues are so near to one another that SciPy prints how inaccurate its result
    may be, SciPy does it. So it does for `disp=False`, which asks for this estimate."""
    a = wrap(matrix("funm", A))
    for bad, problem in (
        (not disp, "disp=False is not available for traced values"),
        (a.ndim != 2 or not a.shape[0], f"a matrix of shape {a.shape} has no traced form"),
        (a.dtype not in (np.dtype(float), np.dtype(complex)), f"{a.dtype} has no traced form"),
    ):
        if bad:
            raise ArgumentError(name="funm", problem=problem)
    values, vectors = linalg.eig(a.astype(complex))

    def function(x: Any) -> Any:
        return tnp.asarray(ask(func, x)).astype(complex)

    if caller.does_over():
        _leave_close(a, values, vectors)
        on_cut = function(values.real + 0j) != function((values.real + 0j).conj())
        near = tnp.abs(values.imag) <= 1e-10 * tnp.max(tnp.abs(values))
        leave_if(
            to_raw(tnp.any(on_cut & near)), "the side of a branch cut on which rounding puts an eigenvalue"
        )
    out = linalg.solve(vectors.T, (vectors * function(values)).T).T
    if dtypes.is_complex(a.dtype):
        return wrap(to_raw(out))  # in C order
    small = tnp.all(tnp.abs(out.imag) <= 1e6 * np.finfo(float).eps)  # SciPy gives real numbers then
    out = out.real + 1j * tnp.where(small, 0, out.imag)
    return real_parts_of_real(to_raw(a), to_raw(out))[0]


def _leave_close(a: Any, values: Any, vectors: Any) -> None:
    """Leave a matrix to SciPy if its estimate of the error may make it print, or if it is nearly defective."""
    n, eps = a.shape[0], float(np.finfo(float).eps)
    gaps = tnp.abs(values[:, None] - values) + tnp.where(np.eye(n, dtype=bool), tnp.abs(values), 0)
    least = tnp.min(gaps)
    squares = tnp.sum(tnp.abs(a) ** 2) - tnp.sum(tnp.abs(values) ** 2)
    above = tnp.sqrt(
        n * tnp.maximum(squares, 0)
    )  # at least the norm of what Schur's form has above its diagonal
    bad = above > 1000 * tnp.where(least == 0, eps, least)
    scale = tnp.linalg.svdvals(vectors)
    leave_if(
        to_raw(bad | (scale[-1] < 1e-6 * scale[0])), "what SciPy prints of an inaccurate function of a matrix"
    )
