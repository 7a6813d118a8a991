"""Operations of libraries on arrays, `ins` and `outs`: `on` has the functions of NumPy and SciPy, or of CuPy.

Where a library cannot say what the host's function would (a matrix that is not positive definite, numbers that are not
finite), they raise HostDecidesError, or LinAlgError as the library does: then the host's function is called, which
raises what it raises on the CPU.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.lazily import LazyModule

_scipy: Any = LazyModule("scipy.linalg")
_cupy: Any = LazyModule("cupy")
_cupyx: Any = LazyModule("cupyx")
_cupyx_linalg: Any = LazyModule("cupyx.scipy.linalg")
_LANES, _LEAST = 64, 32  # matrices of a stack at most, and their size at least
#: Rows and columns at least of matrices of which eigenvalues, singular values and QR are computed on a card, which are
#: many small steps there.
_LEAST_OF_MANY_STEPS = 128
_FLOATS = ("float32", "float64", "complex64", "complex128")


class HostDecidesError(Exception):
    """What the library gave, or would give, may not be what the host's function gives."""


class OnHost:
    """The functions of NumPy and SciPy, for the emulated device."""

    xp: Any = np

    @staticmethod
    def host(x: Any) -> np.ndarray:
        """A copy on the host."""
        return x.copy()

    @staticmethod
    def put(x: Any, host: Any) -> None:
        """Copy from the host."""
        x[...] = host

    @staticmethod
    def linalg(name: str, *args: Any, **options: Any) -> Any:
        """A function of numpy.linalg. Raises LinAlgError."""
        return getattr(np.linalg, name)(*args, **options)

    @staticmethod
    def lu(x: Any) -> tuple[Any, np.ndarray]:
        """Packed factors of one matrix, and its interchanges of rows on the host."""
        (getrf,) = _scipy.get_lapack_funcs(("getrf",), (x,))
        return getrf(x)[:2]

    @staticmethod
    def substituted(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
        """The solution of a triangular system."""
        (trsm,) = _scipy.get_blas_funcs(("trsm",), (a, b))
        return trsm(1, a, b, lower=lower, trans_a=trans, diag=unit)


class OnCard:
    """The functions of CuPy."""

    @property
    def xp(self) -> Any:
        """CuPy."""
        return _cupy

    @staticmethod
    def host(x: Any) -> np.ndarray:
        """A copy on the host."""
        return x.get()

    @staticmethod
    def put(x: Any, host: Any) -> None:
        """Copy from the host."""
        x[...] = _cupy.asarray(host)

    @staticmethod
    def linalg(name: str, *args: Any, **options: Any) -> Any:
        """A function of cupy.linalg. Raises LinAlgError."""
        with _cupyx.errstate(linalg="raise"):
            return getattr(_cupy.linalg, name)(*args, **options)

    @staticmethod
    def lu(x: Any) -> tuple[Any, np.ndarray]:
        """Packed factors of one matrix, and its interchanges of rows on the host."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a zero on the diagonal, for which the program itself looks
            packed, pivots = _cupyx_linalg.lu_factor(x, check_finite=False)
        return packed, pivots.get()

    @staticmethod
    def substituted(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
        """The solution of a triangular system."""
        return _cupyx_linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)


def _is_finite(on: Any, x: Any) -> bool:
    return bool(on.xp.isfinite(x).all())


# ---------------------------------------------------------------- sorting


def sorts(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether one array is sorted, of numbers of which all libraries know the order."""
    return (
        len(avals) == 1
        and avals[0].dtype.kind in "iuf"
        and avals[0].dtype.name not in ("float16", "bfloat16")
    )


def sort(on: Any, ins: Any, outs: Any, *, axis: int, **_: Any) -> None:
    """As numpy.sort."""
    outs[0][...] = on.xp.sort(ins[0], axis=axis)


def argsort(on: Any, ins: Any, outs: Any, *, axis: int, **_: Any) -> None:
    """As numpy.argsort; always stable."""
    outs[0][...] = on.xp.argsort(ins[0], axis=axis, kind="stable")


# ---------------------------------------------------------------- Fourier transforms


def transforms(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether there are transforms of numbers of a type."""
    return avals[0].dtype.name in _FLOATS


def fft(on: Any, ins: Any, outs: Any, *, axes: tuple[int, ...], norm: str) -> None:
    """As numpy.fft.fftn."""
    outs[0][...] = on.xp.fft.fftn(ins[0], axes=axes, norm=norm) if axes else ins[0]


def ifft(on: Any, ins: Any, outs: Any, *, axes: tuple[int, ...], norm: str) -> None:
    """As numpy.fft.ifftn."""
    outs[0][...] = on.xp.fft.ifftn(ins[0], axes=axes, norm=norm) if axes else ins[0]


def rfft(on: Any, ins: Any, outs: Any, *, axis: int, norm: str) -> None:
    """As numpy.fft.rfft."""
    outs[0][...] = on.xp.fft.rfft(ins[0], axis=axis, norm=norm)


# ---------------------------------------------------------------- matrices


def factorizes(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether matrices are square and not too many, nor too small for a device to be faster."""
    *lead, m, n = avals[0].shape
    return avals[0].dtype.name in _FLOATS and m == n >= _LEAST and math.prod(lead) <= _LANES


def cholesky(on: Any, ins: Any, outs: Any, *, check: bool) -> None:
    """The lower triangle L with a = L Lᴴ."""
    outs[0][...] = on.linalg("cholesky", ins[0])
    if not _is_finite(on, outs[0]):
        raise HostDecidesError


def potrf(on: Any, ins: Any, outs: Any) -> None:
    """As `cholesky`, of matrices that are positive definite; the host says of others which minor is not."""
    try:
        cholesky(on, ins, outs, check=True)
    except np.linalg.LinAlgError:
        raise HostDecidesError from None
    outs[1][...] = 0


def lu(on: Any, ins: Any, outs: Any) -> None:
    """Packed factors, interchanges and the order of rows that these make."""
    if not _is_finite(on, ins[0]):
        raise HostDecidesError
    n = ins[0].shape[-1]
    matrices, packed = (x.reshape(-1, n, n) for x in (ins[0], outs[0]))
    pivots = np.empty((len(matrices), n), np.int32)
    order = np.tile(np.arange(n, dtype=np.int32), (len(matrices), 1))
    for lane, x in enumerate(matrices):
        packed[lane], pivots[lane] = on.lu(x)
        row = order[lane]
        for i, j in enumerate(pivots[lane].tolist()):
            row[i], row[j] = row[j], row[i]
    on.put(outs[1], pivots.reshape(outs[1].shape))
    on.put(outs[2], order.reshape(outs[2].shape))


def substitutes(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether systems are solved: a zero on the diagonal is not looked for."""
    a, b = avals
    is_checked = params["check"] and not params["unit_diagonal"]
    return (
        factorizes(avals, params) and a.dtype == b.dtype and a.shape[:-2] == b.shape[:-2] and not is_checked
    )


def substitute(on: Any, ins: Any, outs: Any, *, left_side: bool, lower: bool, transpose_a: bool,
               conjugate_a: bool, unit_diagonal: bool, check: bool) -> None:  # fmt: skip
    """The solution of op(a) x = b or x op(a) = b, the latter as that of the transposed system."""
    a, b, out = (x.reshape(-1, *x.shape[-2:]) for x in (*ins, *outs))
    if conjugate_a:
        a = a.conj()
    trans = transpose_a if left_side else not transpose_a
    for lane in range(len(a)):
        right = b[lane] if left_side else b[lane].T
        x = on.substituted(a[lane], right, int(trans), lower, unit_diagonal)
        out[lane] = x if left_side else x.T


# ---------------------------------------------------------------- spectra


def decomposes(avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether matrices are large, and not too many."""
    *lead, m, n = avals[0].shape
    return avals[0].dtype.name in _FLOATS and min(m, n) >= _LEAST_OF_MANY_STEPS and math.prod(lead) <= _LANES


def _decomposed(on: Any, x: Any, outs: Any, name: str, *args: Any, **options: Any) -> None:
    """Results of a function of `linalg`, which are those of a finite matrix."""
    if not _is_finite(on, x):
        raise HostDecidesError
    made = on.linalg(name, x, *args, **options)
    for out, got in zip(outs, made if len(outs) > 1 else (made,), strict=True):
        out[...] = got
        if not _is_finite(on, out):
            raise HostDecidesError


def eigh(on: Any, ins: Any, outs: Any, *, lower: bool, check: bool) -> None:
    """As numpy.linalg.eigh."""
    _decomposed(on, ins[0], outs, "eigh", "L" if lower else "U")


def eigvalsh(on: Any, ins: Any, outs: Any, *, lower: bool, check: bool) -> None:
    """As numpy.linalg.eigvalsh."""
    _decomposed(on, ins[0], outs, "eigvalsh", "L" if lower else "U")


def svd(on: Any, ins: Any, outs: Any, *, full_matrices: bool, check: bool) -> None:
    """As numpy.linalg.svd."""
    _decomposed(on, ins[0], outs, "svd", full_matrices)


def svdvals(on: Any, ins: Any, outs: Any, *, check: bool) -> None:
    """As numpy.linalg.svdvals."""
    _decomposed(on, ins[0], outs, "svd", compute_uv=False)


def qr(on: Any, ins: Any, outs: Any, *, full_matrices: bool) -> None:
    """As numpy.linalg.qr."""
    _decomposed(on, ins[0], outs, "qr", "complete" if full_matrices else "reduced")
