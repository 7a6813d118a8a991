"""`tracejit.numpy.fft`: NumPy's discrete Fourier transforms for traced values.

Also what `np.fft.f(x)` calls for a traced `x`. dtypes are NumPy's: float32 and complex64 give single
precision, integers, booleans and float64 give double. Lengths, axes and norms are static.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.docstrings import complete as _complete
from tracejit.errors import ArgumentError, ArgumentTypeError, DynamicExtentError
from tracejit.ir.avals import Dim
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.operands import cast, dtype_of, raw, shape_of
from tracejit.ops.building.dims import normalize_axis
from tracejit.tracing import wrap

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

fftfreq, rfftfreq = np.fft.fftfreq, np.fft.rfftfreq
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _norm(name: str, norm: Any) -> str:
    if norm is None:
        return "backward"
    if norm not in _OPPOSITE:
        problem = f"Invalid norm value {norm!r}; should be 'backward', 'ortho' or 'forward'"
        raise ArgumentError(name=name, problem=problem)
    return norm


def _length(name: str, n: Any) -> int:
    n = operator.index(n)
    if n < 1:
        raise ArgumentError(name=name, problem=f"Invalid number of FFT data points ({n}) specified")
    return n


def _axis(name: str, x: Any, axis: Any) -> int:
    return normalize_axis(name, operator.index(axis), len(shape_of(x)))


def _size(name: str, x: Any, axis: int) -> int:
    n = shape_of(x)[axis]
    if isinstance(n, Dim):
        raise DynamicExtentError(op=name, problem=f"the size of axis {axis} is a traced integer")
    return n


def _resized(name: str, x: Any, n: int, axis: int) -> Any:
    """A raw value cropped, or padded with zeros at its end, to `n` elements along `axis`."""
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (0, n - _size(name, x, axis), 0)
    return ops.concat.pad(x, 0, padding_config=config)


@functools.cache
def _result(np_function: Callable[..., Any], d: np.dtype) -> np.dtype:
    """The dtype that NumPy gives; raises NumPy's TypeError where there is none."""
    return np_function(np.ones(2, d)).dtype


def _operand(a: Any, np_function: Callable[..., Any]) -> Any:
    """The raw value as the numbers that NumPy transforms: of 4 or 8 bytes, real ones as they are."""
    x = raw(a)
    d = dtype_of(x)
    double = _result(np_function, d).name in ("float64", "complex128")
    if d.kind == "c":
        return cast(x, np.dtype(np.complex128 if double else np.complex64))
    return cast(x, dtypes.float64 if double else np.dtype(np.float32))


# ---------------------------------------------------------------- one axis


def _complex_fft(np_function: Callable[..., Any], transform: Callable[..., Any]) -> Any:
    name = np_function.__name__

    def call(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        x = _operand(a, np_function)
        axis = _axis(name, x, axis)
        x = _resized(name, x, _length(name, _size(name, x, axis) if n is None else n), axis)
        return wrap(transform(x, axes=(axis,), norm=_norm(name, norm)))

    call.__name__ = name
    return implements(np_function)(call)


fft = _complex_fft(np.fft.fft, ops.fft.fft)
ifft = _complex_fft(np.fft.ifft, ops.fft.ifft)


def _complex(x: Any) -> Any:
    d = dtype_of(x)
    return x if d.kind == "c" else cast(x, np.result_type(d, np.complex64))


def _rfft(name: str, x: Any, n: Any, axis: Any, norm: str) -> Any:
    axis = _axis(name, x, axis)
    x = _resized(name, x, _length(name, _size(name, x, axis) if n is None else n), axis)
    return ops.fft.rfft(x, axis=axis, norm=norm)


def _irfft(name: str, x: Any, n: Any, axis: Any, norm: str) -> Any:
    axis = _axis(name, x, axis)
    n = _length(name, 2 * (_size(name, x, axis) - 1) if n is None else n)
    x = _resized(name, _complex(x), n // 2 + 1, axis)
    return ops.fft.irfft(x, n=n, axis=axis, norm=norm)


def _real(name: str, a: Any, np_function: Callable[..., Any]) -> Any:
    x = raw(a)
    if dtype_of(x).kind == "c":
        raise ArgumentTypeError(name=name, problem="transforms real numbers; the operand is complex")
    return _operand(a, np_function)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The n // 2 + 1 first values of the transform of real numbers."""
    return wrap(_rfft("rfft", _real("rfft", a, np.fft.rfft), n, axis, _norm("rfft", norm)))


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """`n` real numbers (twice as many as `a` has, less 2, if None) from half of their transform."""
    out = _irfft("irfft", _operand(a, np.fft.irfft), n, axis, _norm("irfft", norm))
    return wrap(cast(out, _result(np.fft.irfft, dtype_of(raw(a)))))


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The real transform of `n` numbers of which `a`, the first half, has conjugates as the second."""
    x = _complex(_operand(a, np.fft.hfft))
    out = _irfft("hfft", ops.complexes.conj(x), n, axis, _OPPOSITE[_norm("hfft", norm)])
    return wrap(cast(out, _result(np.fft.hfft, dtype_of(raw(a)))))


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The inverse of hfft."""
    out = _rfft("ihfft", _real("ihfft", a, np.fft.ihfft), n, axis, _OPPOSITE[_norm("ihfft", norm)])
    return wrap(ops.complexes.conj(out))


# ---------------------------------------------------------------- several axes


def _lengths_and_axes(
    name: str, x: Any, s: Any, axes: Any, inverse_real: bool = False
) -> tuple[list[int], list[int]]:
    """Lengths and axes as NumPy finds them: `s` fits `axes`, or the last axes; -1 in it keeps the length."""
    ndim = len(shape_of(x))
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(ndim)
    axes = [_axis(name, x, a) for a in axes]
    sizes = [_size(name, x, a) for a in axes]
    given = sizes if s is None else [n if m is None or m == -1 else m for m, n in zip(s, sizes, strict=False)]
    if s is not None and len(s) != len(axes):
        raise ArgumentError(name=name, problem="Shape and axes have different lengths")
    if inverse_real and axes and (s is None or s[-1] is None or s[-1] == -1):
        given[-1] = 2 * (given[-1] - 1)
    return [_length(name, n) for n in given], axes


def _over_axes(
    name: str, x: Any, transform: Callable[..., Any], lengths: Sequence[int], axes: Sequence[int], norm: str
) -> Any:
    """The transform over axes, one after the other from the last if one is given twice."""
    if len(set(axes)) == len(axes):
        for n, axis in zip(lengths, axes, strict=True):
            x = _resized(name, x, n, axis)
        return transform(x, axes=tuple(axes), norm=norm) if axes else _complex(x)
    for n, axis in reversed(list(zip(lengths, axes, strict=True))):
        x = transform(_resized(name, x, n, axis), axes=(axis,), norm=norm)
    return x


def _complex_fftn(np_function: Callable[..., Any], transform: Callable[..., Any], default: Any) -> Any:
    name = np_function.__name__

    def call(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        x = _operand(a, np.fft.fft)
        lengths, axes = _lengths_and_axes(name, x, s, axes)
        if not axes:
            return wrap(raw(a))
        return wrap(_over_axes(name, x, transform, lengths, axes, _norm(name, norm)))

    call.__name__ = name
    return implements(np_function, arrays=True)(call)


fftn = _complex_fftn(np.fft.fftn, ops.fft.fft, None)
ifftn = _complex_fftn(np.fft.ifftn, ops.fft.ifft, None)
fft2 = _complex_fftn(np.fft.fft2, ops.fft.fft, (-2, -1))
ifft2 = _complex_fftn(np.fft.ifft2, ops.fft.ifft, (-2, -1))


def _rfftn(np_function: Callable[..., Any], default: Any) -> Any:
    name = np_function.__name__

    def call(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        x, norm = _real(name, a, np.fft.rfft), _norm(name, norm)
        lengths, axes = _lengths_and_axes(name, x, s, axes)
        if not axes:
            raise ArgumentError(name=name, problem="at least 1 axis must be transformed")
        x = _rfft(name, x, lengths[-1], axes[-1], norm)
        return wrap(_over_axes(name, x, ops.fft.fft, lengths[:-1], axes[:-1], norm))

    call.__name__ = name
    return implements(np_function)(call)


def _irfftn(np_function: Callable[..., Any], default: Any) -> Any:
    name = np_function.__name__

    def call(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        x, norm = _complex(_operand(a, np.fft.fft)), _norm(name, norm)
        lengths, axes = _lengths_and_axes(name, x, s, axes, inverse_real=True)
        if not axes:
            raise ArgumentError(name=name, problem="at least 1 axis must be transformed")
        x = _over_axes(name, x, ops.fft.ifft, lengths[:-1], axes[:-1], norm)
        out = _irfft(name, x, lengths[-1], axes[-1], norm)
        return wrap(cast(out, _result(np.fft.irfft, dtype_of(raw(a)))) if len(axes) == 1 else out)

    call.__name__ = name
    return implements(np_function)(call)


rfftn, rfft2 = _rfftn(np.fft.rfftn, None), _rfftn(np.fft.rfft2, (-2, -1))
irfftn, irfft2 = _irfftn(np.fft.irfftn, None), _irfftn(np.fft.irfft2, (-2, -1))


# ---------------------------------------------------------------- order of frequencies


def _shifted(np_function: Callable[..., Any], amount: Callable[[int], int]) -> Any:
    name = np_function.__name__

    def call(x: Any, axes: Any = None) -> Any:
        ndim = len(shape_of(raw(x)))
        if axes is None and not ndim:
            raise ArgumentError(name=name, problem="a number has no axes")
        axes = range(ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
        axes = tuple(normalize_axis(name, operator.index(a), ndim) for a in axes)
        moves = tuple(amount(_size(name, raw(x), a)) for a in axes)
        return NUMPY_TO_TRACEJIT[np.roll](x, moves, axes)

    call.__name__ = name
    return implements(np_function)(call)


fftshift = _shifted(np.fft.fftshift, lambda n: n // 2)
ifftshift = _shifted(np.fft.ifftshift, lambda n: -(n // 2))


_complete(__name__)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"tracejit.numpy.fft has no {name!r}; use numpy.fft.{name} on values that are not traced"
    )
