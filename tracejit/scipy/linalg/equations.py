"""`scipy.linalg`'s equations of matrices: Lyapunov's and Riccati's; and systems whose matrices have a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.control.callbacks.ops import pure_callback
from tracejit.control.custom.public import custom_jvp
from tracejit.errors import ArgumentError
from tracejit.numpy import fft, linalg
from tracejit.numpy.operands import dtype_of, raw
from tracejit.ops import _lazy
from tracejit.ops.decompositions import small
from tracejit.scipy.linalg.calling import of_scipy, refuse
from tracejit.scipy.linalg.patterns import toeplitz
from tracejit.scipy.linalg.systems import solve_sylvester
from tracejit.tracing import wrap


def _adjoint(a: Any) -> Any:
    return a.mT.conj()


def _matrix(name: str, x: Any) -> Any:
    """A square matrix in double precision."""
    m = wrap(raw(x))
    m = m.astype(complex if dtypes.is_complex(m.dtype) else float)
    if m.ndim != 2 or m.shape[0] != m.shape[1]:
        raise ValueError(f"Matrix a should be square: {name} got the shape {m.shape}.")
    return m


@of_scipy
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """x with a x + x aᴴ = q."""
    m = _matrix("solve_continuous_lyapunov", a)
    out = solve_sylvester(m, _adjoint(m), _matrix("solve_continuous_lyapunov", q))
    single = all(dtype_of(raw(x)).char in "fF" for x in (a, q))
    return out.astype("F" if dtypes.is_complex(out.dtype) else "f") if single else out


#: SciPy's older name.
solve_lyapunov = solve_continuous_lyapunov


def _stein(a: Any, q: Any) -> Any:
    """x with a x aᴴ - x + q = 0, as one linear system."""
    n = a.shape[0]
    matrix = np.eye(n * n) - tnp.kron(a, a.conj())
    return linalg.solve(matrix, q.reshape(-1)).reshape(n, n)


# ---------------------------------------------------------------- Riccati's equations


def _riccati(name: str, slope: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's solution of an equation; its derivative solves a linear equation (`slope`), to any order."""

    def solved(a: Any, b: Any, q: Any, r: Any) -> Any:
        function = getattr(_lazy.scipy_linalg(), name)
        kind = np.result_type(a.dtype, b.dtype, q.dtype, r.dtype)
        return pure_callback(
            lambda *xs: np.asarray(function(*map(np.asarray, xs)), kind),
            np.empty(a.shape, kind),
            a,
            b,
            q,
            r,
            vmap_method="sequential",
        )

    rule = custom_jvp(solved)

    @rule.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x = rule(*primals)
        return x, slope(x, *primals, *tangents)

    return rule


def _continuous_slope(x: Any, a: Any, b: Any, q: Any, r: Any, da: Any, db: Any, dq: Any, dr: Any) -> Any:
    """Of aᴴx + xa - xb r⁻¹ bᴴx + q = 0: with k = r⁻¹ bᴴx and c = a - bk, cᴴ dx + dx c + rest = 0."""
    k = linalg.solve(r, _adjoint(b) @ x)
    c = a - b @ k
    half = x @ (da - db @ k)
    rest = half + _adjoint(half) + dq + _adjoint(k) @ dr @ k
    return solve_sylvester(_adjoint(c), c, -rest)


def _discrete_slope(x: Any, a: Any, b: Any, q: Any, r: Any, da: Any, db: Any, dq: Any, dr: Any) -> Any:
    """Of aᴴxa - x - aᴴxb (r + bᴴxb)⁻¹ bᴴxa + q = 0: with the gain k and c = a - bk, cᴴ dx c - dx + rest = 0."""
    k = linalg.solve(r + _adjoint(b) @ x @ b, _adjoint(b) @ x @ a)
    c = a - b @ k
    half = _adjoint(c) @ x @ (da - db @ k)
    rest = half + _adjoint(half) + dq + _adjoint(k) @ dr @ k
    return _stein(_adjoint(c), rest)


_CONTINUOUS = _riccati("solve_continuous_are", _continuous_slope)
_DISCRETE = _riccati("solve_discrete_are", _discrete_slope)


def _operands(a: Any, b: Any, q: Any, r: Any) -> list[Any]:
    """Arrays of one dtype: double precision, complex if one is."""
    xs = [wrap(raw(v)) for v in (a, b, q, r)]
    kind = complex if any(dtypes.is_complex(x.dtype) for x in xs) else float
    return [x.astype(kind) for x in xs]


@of_scipy
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The stabilising x with aᴴx + xa - xb r⁻¹ bᴴx + q = 0. Raises ArgumentError for `e` and `s`."""
    refuse("solve_continuous_are", e=e, s=s)
    return _CONTINUOUS(*_operands(a, b, q, r))


@of_scipy
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The stabilising x with aᴴxa - x - aᴴxb (r + bᴴxb)⁻¹ bᴴxa + q = 0. Raises ArgumentError for `e` and `s`."""
    refuse("solve_discrete_are", e=e, s=s)
    return _DISCRETE(*_operands(a, b, q, r))


# ---------------------------------------------------------------- patterns


@of_scipy
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """x with t x = b for the matrix t with the first column c (and row r), solved as a dense one."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    y = wrap(raw(b))
    matrix = toeplitz(wrap(raw(c)), None if r is None else wrap(raw(r)))
    if matrix.shape[0] != matrix.shape[1] or y.shape[0] != matrix.shape[0]:
        raise ValueError("illegal c and r sizes")
    kind = complex if any(dtypes.is_complex(v.dtype) for v in (matrix, y)) else float
    return linalg.solve(matrix.astype(kind), y.reshape(y.shape[0], -1).astype(kind)).reshape(y.shape)


@of_scipy
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """x with circulant(c) x = b, by transforms. Raises ArgumentError for options, and for more than a vector c."""
    v, y = wrap(raw(c)), wrap(raw(b))
    if v.ndim != 1 or (caxis, baxis, outaxis) not in ((-1, 0, 0), (0, 0, 0)) or singular != "raise":
        raise ArgumentError(name="solve_circulant", problem="these options have no traced form")
    if v.shape[0] != y.shape[0]:
        raise ValueError(f"Shapes of c {v.shape} and b {y.shape} are incompatible")
    spectrum = fft.fft(v)
    size = tnp.abs(spectrum)
    limit = size.max() * v.shape[0] * np.finfo(size.dtype).eps if tol is None else tol
    small.refuse(raw(tnp.any(size <= limit)), "near singular circulant matrix.")
    spectrum = spectrum.reshape((-1,) + (1,) * (y.ndim - 1))
    out = fft.ifft(fft.fft(y, axis=0) / spectrum, axis=0)
    return out if dtypes.is_complex(v.dtype) or dtypes.is_complex(y.dtype) else out.real
