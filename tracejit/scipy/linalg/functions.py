"""Functions of matrices: exponential, square root, and what the exponential gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.numpy import linalg
from tracejit.numpy.functions.algebra.factorizations import real_of_real
from tracejit.numpy.functions.algebra.matrices import matrices, matrix
from tracejit.ops.decompositions import common as c
from tracejit.scipy.linalg.calling import of_scipy
from tracejit.tracing import wrap

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
