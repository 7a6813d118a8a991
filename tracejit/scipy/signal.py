"""`scipy.signal` for traced values: convolutions, correlations, detrend; its filters and spectra are in `signals`.

Without traced values they are SciPy's own functions. Names that are not here are SciPy's.
"""

from __future__ import annotations

import math as _math
import operator as _operator
from typing import Any

import numpy as _np

from tracejit import dtypes as _dtypes
from tracejit import ops as _ops
from tracejit.errors import ArgumentError as _ArgumentError
from tracejit.errors import DynamicExtentError as _DynamicExtentError
from tracejit.numpy import NUMPY_TO_TRACEJIT as _TNP
from tracejit.numpy import fft as _fft
from tracejit.numpy.operands import cast as _cast
from tracejit.numpy.operands import convert as _convert
from tracejit.numpy.operands import dtype_of as _dtype_of
from tracejit.numpy.operands import raw as _raw
from tracejit.numpy.operands import result_type as _result_type
from tracejit.numpy.operands import shape_of as _shape_of
from tracejit.ops._lazy import scipy_signal as _scipy_signal
from tracejit.ops.building.dims import normalize_axis as _normalize_axis
from tracejit.scipy.lazily import Part as _Part
from tracejit.scipy.signals import design as _design
from tracejit.scipy.signals import filters as _filters
from tracejit.scipy.signals import fractions as _fractions
from tracejit.scipy.signals import peaks as _peaks
from tracejit.scipy.signals import responses as _responses
from tracejit.scipy.signals import sampling as _sampling
from tracejit.scipy.signals import sections as _sections
from tracejit.scipy.signals import spectra as _spectra
from tracejit.scipy.signals import systems as _systems
from tracejit.scipy.signals import transforms as _transforms
from tracejit.scipy.written import peaks as _written_peaks
from tracejit.tracing import wrap as _wrap

_part = _Part("scipy.signal", _scipy_signal)
_MODES = ("full", "same", "valid")
_PADS = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}
_LARGE = 512  # elements of the smaller operand from which transforms are cheaper


def _operands(name: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    """Raw operands of one dtype and rank, the larger one first where the mode is 'valid'."""
    dtype = _result_type(in1, in2)
    x, w = _convert(in1, dtype), _convert(in2, dtype)
    if mode not in _MODES:
        raise _ArgumentError(name=name, problem="acceptable mode flags are 'valid', 'same', or 'full'")
    a, b = _shape_of(x), _shape_of(w)
    if len(a) != len(b):
        raise _ArgumentError(name=name, problem="in1 and in2 should have the same dimensionality")
    if mode == "valid" and not all(m >= n for m, n in zip(a, b, strict=True)):
        if not all(m <= n for m, n in zip(a, b, strict=True)):
            raise _ArgumentError(
                name=name, problem="one input is at least as large as the other in every dimension"
            )
        return w, x
    return x, w


def _reversed(x: Any) -> Any:
    return _ops.shape.rev(x, dimensions=tuple(range(len(_shape_of(x)))))


def _conj(x: Any) -> Any:
    return _ops.complexes.conj(x) if _dtype_of(x).kind == "c" else x


def _direct(x: Any, w: Any, mode: str) -> Any:
    """The convolution of raw operands by sums of products."""
    # The middle of the full result, 'same', begins (n - 1) // 2 elements in.
    after = {"full": lambda n: n - 1, "valid": lambda n: 0, "same": lambda n: (n - 1) // 2}[mode]
    before = {"full": lambda n: n - 1, "valid": lambda n: 0, "same": lambda n: n // 2}[mode]
    pads = [(before(n), after(n)) for n in _shape_of(w)]
    x, w = (_ops.shape.expand_dims(a, (0, 1)) for a in (x, _reversed(w)))
    out = _ops.conv.plain_correlation(x, w, pads)
    return _ops.shape.squeeze(out, dimensions=(0, 1))


def _is_empty(x: Any, w: Any) -> bool:
    return 0 in _shape_of(x) or 0 in _shape_of(w)


@_part.function
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of arrays of any rank; by Fourier transforms if `method` is 'fft', or if it is 'auto'
    and they are large arrays of floats."""
    x, w = _operands("convolve", in1, in2, mode)
    if _is_empty(x, w):
        return _wrap(_np.zeros(0, _dtype_of(x)))
    sizes = (*_shape_of(x), *_shape_of(w))
    if not all(type(n) is int for n in sizes):
        raise _DynamicExtentError(op="convolve", problem="the size of an array is a traced integer")
    floats = _dtypes.is_inexact(_dtype_of(x))
    small = min(_math.prod(_shape_of(x)), _math.prod(_shape_of(w)))
    if method == "fft" or (method == "auto" and floats and small >= _LARGE):
        out = _raw(fftconvolve(in1, in2, mode))
        out = out if floats else _ops.arithmetic.rint(out)
        return _wrap(_cast(out, _dtype_of(x)))
    if method not in ("auto", "direct"):
        raise _ArgumentError(name="convolve", problem="acceptable methods are 'auto', 'direct', or 'fft'")
    return _wrap(_direct(x, w, mode))


@_part.function
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The cross-correlation: `in2` reversed and conjugated, convolved with `in1`."""
    return convolve(_wrap(_raw(in1)), _wrap(_conj(_reversed(_raw(in2)))), mode, method)


@_part.function
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution by Fourier transforms, along `axes` (all if None; the others broadcast)."""
    x, w = _raw(in1), _raw(in2)
    ndim = len(_shape_of(x))
    if ndim != len(_shape_of(w)) or mode not in _MODES:
        raise _ArgumentError(name="fftconvolve", problem=f"ranks differ, or mode {mode!r} is unknown")
    if _is_empty(x, w):
        return _wrap(_np.zeros(0, _result_type(in1, in2)))
    axes = range(ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    axes = [_normalize_axis("fftconvolve", _operator.index(a), ndim) for a in axes]
    m, n = ([_shape_of(a)[k] for k in axes] for a in (x, w))
    if mode == "valid" and not all(a >= b for a, b in zip(m, n, strict=True)):
        if not all(a <= b for a, b in zip(m, n, strict=True)):
            raise _ArgumentError(
                name="fftconvolve", problem="one input is at least as large as the other in every dimension"
            )
        x, w, m, n = w, x, n, m
    full = [a + b - 1 for a, b in zip(m, n, strict=True)]
    out = _wrap(x) * _wrap(w) if not axes else _by_transforms(x, w, full, axes)
    sizes = {"full": full, "same": m, "valid": [a - b + 1 for a, b in zip(m, n, strict=True)]}[mode]
    for axis, whole, size in zip(axes, full, sizes, strict=True):
        start = (whole - size) // 2
        out = out[(slice(None),) * axis + (slice(start, start + size),)]
    return out


def _by_transforms(x: Any, w: Any, full: list[int], axes: list[int]) -> Any:
    real = _dtype_of(x).kind != "c" and _dtype_of(w).kind != "c"
    forward, back = (_fft.rfftn, _fft.irfftn) if real else (_fft.fftn, _fft.ifftn)
    single = _np.dtype(_np.float16)
    x, w = (_cast(a, _np.dtype(_np.float32)) if _dtype_of(a) == single else a for a in (x, w))
    return back(forward(_wrap(x), full, axes) * forward(_wrap(w), full, axes), full, axes)


@_part.function
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The convolution of matrices; beyond its edges `in1` is `fillvalue`, wraps around or is mirrored."""
    x, w = _operands("convolve2d", in1, in2, mode)
    if len(_shape_of(x)) != 2:
        raise _ArgumentError(name="convolve2d", problem="inputs must both be 2-D arrays")
    if boundary not in _PADS:
        raise _ArgumentError(name="convolve2d", problem="boundary is 'fill', 'wrap' or 'symm'")
    if mode == "valid" or (boundary == "fill" and type(fillvalue) in (int, float) and fillvalue == 0):
        return _wrap(_direct(x, w, mode))
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    pads = [(n - 1, n - 1) for n in _shape_of(w)]
    padded = _TNP[_np.pad](_wrap(x), pads, mode=_PADS[boundary], **options)
    out = _wrap(_direct(_raw(padded), w, "valid"))
    if mode == "full":
        return out
    starts = [(n - 1) // 2 for n in _shape_of(w)]
    return out[tuple(slice(s, s + n) for s, n in zip(starts, _shape_of(x), strict=True))]


@_part.function
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The cross-correlation of matrices."""
    x, w = _raw(in1), _raw(in2)
    swapped = mode == "valid" and any(m < n for m, n in zip(_shape_of(x), _shape_of(w), strict=True))
    if swapped:
        x, w = w, x
    if mode == "same":  # its middle is that of the correlation, which begins one element later for even sizes
        out = correlate2d(_wrap(x), _wrap(w), "full", boundary, fillvalue)
        starts = [n // 2 for n in _shape_of(w)]
        return out[tuple(slice(s, s + n) for s, n in zip(starts, _shape_of(x), strict=True))]
    out = convolve2d(_wrap(x), _wrap(_conj(_reversed(w))), mode, boundary, fillvalue)
    return _wrap(_conj(_reversed(_raw(out)))) if swapped else out


coherence = _part.function(_spectra.coherence)
csd = _part.function(_spectra.csd)
detrend = _part.function(_spectra.detrend)
filtfilt = _part.function(_filters.filtfilt)
hilbert = _part.function(_filters.hilbert)
lfilter = _part.function(_filters.lfilter)
lfilter_zi = _part.function(_filters.lfilter_zi)
lfiltic = _part.function(_filters.lfiltic)
periodogram = _part.function(_spectra.periodogram)
savgol_filter = _part.function(_filters.savgol_filter)
sosfilt = _part.function(_filters.sosfilt)
sosfilt_zi = _part.function(_filters.sosfilt_zi)
spectrogram = _part.function(_spectra.spectrogram)
stft = _part.function(_spectra.stft)
upfirdn = _part.function(_spectra.upfirdn)
welch = _part.function(_spectra.welch)

medfilt = _part.function(_sampling.medfilt)
medfilt2d = _part.function(_sampling.medfilt2d)
order_filter = _part.function(_sampling.order_filter)
decimate = _part.function(_sampling.decimate)
resample_poly = _part.function(_sampling.resample_poly)
sawtooth = _part.function(_sampling.sawtooth)
sosfiltfilt = _part.function(_sampling.sosfiltfilt)

__all__ = [
    "coherence",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "decimate",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "medfilt",
    "medfilt2d",
    "order_filter",
    "periodogram",
    "resample_poly",
    "savgol_filter",
    "sawtooth",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "spectrogram",
    "stft",
    "upfirdn",
    "welch",
]

_part.written(
    "_peak_finding",
    _written_peaks._local_maxima_1d,
    _written_peaks._peak_prominences,
    _written_peaks._peak_widths,
)
_part.helper("_peak_finding._select_by_peak_distance")(_peaks.by_distance)
_part.helper("_peak_finding._unpack_condition_args")(_peaks.bounds)

globals().update({n: _part.function(getattr(_transforms, n)) for n in _transforms.__all__})
__all__ += _transforms.__all__

for _name in _responses.__all__:
    _of_tuples = _part.function(getattr(_responses, _name))
    _part.names[_name] = _systems.of_tuples(_of_tuples, _name, _name.startswith("d"))
    globals()[_name] = _part.names[_name]
__all__ += _responses.__all__

for _module in (_design, _fractions, _sections, _systems):
    globals().update({n: _part.function(getattr(_module, n)) for n in _module.__all__})
    __all__ += _module.__all__

_part.helper("windows.tukey")(_design.tukey)

__getattr__, __dir__ = _part.others(__all__)
