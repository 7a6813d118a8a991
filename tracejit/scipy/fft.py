"""`scipy.fft` for traced values: Fourier, cosine and sine transforms.

Without traced values they are SciPy's own functions. float32 and complex64 (and float16) give single precision,
all else double. `overwrite_x` and `workers` are ignored. Names that are not here are SciPy's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as _np

from tracejit import dtypes as _dtypes
from tracejit import lax as _lax
from tracejit import numpy as _tnp
from tracejit import ops as _ops
from tracejit.errors import ArgumentError as _ArgumentError
from tracejit.numpy import asarray as _np_asarray
from tracejit.numpy import fft as _np_fft
from tracejit.numpy.operands import cast as _cast
from tracejit.numpy.operands import dtype_of as _dtype_of
from tracejit.numpy.operands import raw as _raw
from tracejit.numpy.operands import shape_of as _shape_of
from tracejit.ops._lazy import scipy_fft as _scipy_fft
from tracejit.ops.building.dims import normalize_axis as _normalize_axis
from tracejit.scipy.lazily import Part as _Part
from tracejit.scipy.signals import hankel as _hankel
from tracejit.tracing import wrap as _wrap

_part = _Part("scipy.fft", _scipy_fft)
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}

# ---------------------------------------------------------------- Fourier transforms


def _single(x: Any) -> Any:
    """float16 is transformed in single precision, results included."""
    r = _raw(x)
    return _wrap(_cast(r, _np.dtype(_np.float32))) if _dtype_of(r) == _np.float16 else x


def _one_axis(name: str) -> Any:
    transform = getattr(_np_fft, name)

    def call(
        x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None,
        *, plan: Any = None,
    ) -> Any:  # fmt: skip
        return transform(_single(x), n, axis, norm)

    call.__name__ = name
    return _part.function(call)


def _several_axes(name: str, default: Any) -> Any:
    transform = getattr(_np_fft, name)

    def call(
        x: Any, s: Any = None, axes: Any = default, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(s, int):
            s = (s,)
        if isinstance(axes, int):
            axes = (axes,)
        return transform(_single(x), s, axes, norm)

    call.__name__ = name
    return _part.function(call)


fft, ifft = _one_axis("fft"), _one_axis("ifft")
rfft, irfft = _one_axis("rfft"), _one_axis("irfft")
hfft = _one_axis("hfft")
fftn, ifftn = _several_axes("fftn", None), _several_axes("ifftn", None)
rfftn, irfftn = _several_axes("rfftn", None), _several_axes("irfftn", None)
fft2, ifft2 = _several_axes("fft2", (-2, -1)), _several_axes("ifft2", (-2, -1))
rfft2, irfft2 = _several_axes("rfft2", (-2, -1)), _several_axes("irfft2", (-2, -1))


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _conjugated(a: Any, n: Any, axis: int, norm: Any) -> Any:
    """`rfft` with conjugate results. SciPy has no imaginary part where there can be none, not a negative zero."""
    out = _np_fft.rfft(a, n, axis, _SWAPPED[norm])
    size = a.shape[axis] if n is None else operator.index(n)
    none = _np.arange(out.shape[axis]) * 2 % size == 0
    none = none.reshape(-1, *[1] * (a.ndim - 1 - _normalize_axis("ihfft", axis, a.ndim)))
    return _lax.complex(out.real, _tnp.where(none, 0, -out.imag).astype(out.real.dtype))


@_part.function
def ihfft(
    x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None,
    *, plan: Any = None,
) -> Any:  # fmt: skip
    if norm not in _SWAPPED:
        raise _ArgumentError(name="ihfft", problem=f"Invalid norm value {norm!r}")
    return _conjugated(_np_asarray(_single(x)), n, operator.index(axis), norm)


def _hermitian(name: str, default: Any) -> Any:
    """A transform of what is Hermitian, which is one of real numbers the other way."""
    inverse = name[0] == "i"

    def call(
        x: Any, s: Any = None, axes: Any = default, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        if norm not in _SWAPPED:
            raise _ArgumentError(name=name, problem=f"Invalid norm value {norm!r}")
        a = _np_asarray(_single(x))
        sizes = (s,) if isinstance(s, int) else s
        axes = (axes,) if isinstance(axes, int) else axes
        if axes is None:
            axes = tuple(range(a.ndim - len(sizes), a.ndim)) if sizes is not None else tuple(range(a.ndim))
        if not inverse:
            return _np_fft.irfftn(a.conj(), sizes, axes, _SWAPPED[norm])
        if not len(axes) or (sizes is not None and len(sizes) != len(axes)):
            return _np_fft.rfftn(a, sizes, axes)  # says what is wrong
        out = _conjugated(a, None if sizes is None else sizes[-1], axes[-1], norm)
        return _np_fft.ifftn(out, None if sizes is None else sizes[:-1], axes[:-1], norm)

    call.__name__ = name
    return _part.function(call)


hfftn, ihfftn = _hermitian("hfftn", None), _hermitian("ihfftn", None)
hfft2, ihfft2 = _hermitian("hfft2", (-2, -1)), _hermitian("ihfft2", (-2, -1))
fht, ifht = _part.function(_hankel.fht), _part.function(_hankel.ifht)


@_part.function
def fftshift(x: Any, axes: Any = None) -> Any:
    """The zero frequency moved to the middle."""
    return _np_fft.fftshift(x, axes)


@_part.function
def ifftshift(x: Any, axes: Any = None) -> Any:
    """What fftshift did undone."""
    return _np_fft.ifftshift(x, axes)


# ---------------------------------------------------------------- cosine and sine transforms


def _factor(norm: Any, name: str, length: int, inverse: bool) -> float:
    """The scale, `length` being twice the number of intervals of the transform."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise _ArgumentError(name=name, problem=f"Invalid norm value {norm!r}")
    if norm == "ortho":
        return 1 / math.sqrt(length)
    return 1 / length if (norm == "forward") is not inverse else 1.0


def _along(name: str, x: Any, type: int, axis: int, norm: Any, inverse: bool, orthogonal: Any) -> Any:
    """One transform of a raw value along one axis."""
    cosine = "dct" in name
    kind = _INVERSE[type] if inverse else type
    n = _shape_of(x)[axis]
    if not isinstance(n, int) or n < (2 if cosine and type == 1 else 1):
        raise _ArgumentError(name=name, problem=f"Invalid number of data points ({n}) specified")
    factor = _factor(norm, name, 2 * (n - 1 if cosine else n + 1) if type == 1 else 2 * n, inverse)
    special = (0,) if cosine else (n - 1,)
    special = (0, n - 1) if kind == 1 else special
    orthogonal = norm == "ortho" if orthogonal is None else orthogonal
    weighs = orthogonal and (cosine or kind != 1)
    if weighs and kind in (1, 3):
        x = _ops.fft.weigh(x, axis, special, math.sqrt(2))
    x = (_ops.cosine.dct if cosine else _ops.cosine.dst)(x, type=kind, axis=axis)
    if weighs and kind in (1, 2):
        x = _ops.fft.weigh(x, axis, special, math.sqrt(0.5))
    return x if factor == 1.0 else _ops.arithmetic.mul(x, factor)


def _numbers(x: Any) -> Any:
    """A raw value as numbers of single or double precision."""
    r = _raw(x)
    d = _dtype_of(r)
    if d.kind == "c":
        return r
    single = d in (_np.dtype(_np.float16), _np.dtype(_np.float32))
    return _cast(r, _np.dtype(_np.float32) if single else _dtypes.float64)


def _checked(name: str, type: Any) -> int:
    if type not in _INVERSE:
        raise _ArgumentError(name=name, problem=f"invalid type {type!r}, it is 1, 2, 3 or 4")
    return type


def _resized(name: str, x: Any, n: Any, axis: int) -> Any:
    size = operator.index(n)
    if size < 1:
        raise _ArgumentError(name=name, problem=f"Invalid number of data points ({size}) specified")
    config = [(0, 0, 0)] * len(_shape_of(x))
    config[axis] = (0, size - _shape_of(x)[axis], 0)
    return _ops.concat.pad(x, 0, padding_config=config)


def _real_transform(name: str, inverse: bool) -> Callable[..., Any]:
    def call(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        r = _numbers(x)
        axis = _normalize_axis(name, operator.index(axis), len(_shape_of(r)))
        r = r if n is None else _resized(name, r, n, axis)
        return _wrap(_along(name, r, _checked(name, type), axis, norm, inverse, orthogonalize))

    call.__name__ = name
    return _part.function(call)


def _real_transforms(name: str, inverse: bool) -> Callable[..., Any]:
    def call(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        r = _numbers(x)
        ndim = len(_shape_of(r))
        sizes = (s,) if isinstance(s, int) else s
        if axes is None:
            axes = range(ndim) if sizes is None else range(ndim - len(sizes), ndim)
        axes = [axes] if isinstance(axes, int) else axes
        axes = [_normalize_axis(name, operator.index(a), ndim) for a in axes]
        if sizes is not None and len(sizes) != len(axes):
            raise _ArgumentError(name=name, problem="axes and s have different lengths")
        for n, axis in zip(sizes if sizes is not None else (), axes, strict=False):
            r = r if n in (None, -1) else _resized(name, r, n, axis)
        for axis in axes:
            r = _along(name, r, _checked(name, type), axis, norm, inverse, orthogonalize)
        return _wrap(r)

    call.__name__ = name
    return _part.function(call)


dct, idct = _real_transform("dct", False), _real_transform("idct", True)
dst, idst = _real_transform("dst", False), _real_transform("idst", True)
dctn, idctn = _real_transforms("dctn", False), _real_transforms("idctn", True)
dstn, idstn = _real_transforms("dstn", False), _real_transforms("idstn", True)

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "fht",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ifht",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]

__getattr__, __dir__ = _part.others(__all__)
