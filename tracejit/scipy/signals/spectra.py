"""`scipy.signal`'s spectra of segments: periodograms, cross spectra, spectrograms, short-time Fourier transforms."""

from __future__ import annotations

import math
import operator
from itertools import pairwise
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy import fft
from tracejit.numpy.operands import cast, dtype_of, raw, shape_of
from tracejit.ops._lazy import scipy_signal
from tracejit.ops.building.dims import normalize_axis
from tracejit.tracing import to_raw, wrap


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Without its mean ('constant'), or its line of least squares ('linear') between break points `bp`."""
    x = raw(data)
    x = x if dtypes.is_inexact(dtype_of(x)) and dtype_of(x).itemsize >= 4 else cast(x, dtypes.float64)
    axis = normalize_axis("detrend", axis, len(shape_of(x)))
    if type in ("constant", "c"):
        return wrap(x) - tnp.mean(wrap(x), axis=axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ArgumentError(name="detrend", problem="trend type must be 'linear' or 'constant'")
    n = shape_of(x)[axis]
    ends = np.sort(np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]])))
    if ends[-1] > n:
        raise ArgumentError(
            name="detrend", problem="breakpoints must be less than length of data along given axis"
        )
    basis = np.zeros((n, 2 * (len(ends) - 1)), dtype_of(x))
    for k, (start, stop) in enumerate(pairwise(ends)):
        line = np.linspace(-1, 1, stop - start) if stop - start > 1 else np.zeros(1)
        basis[start:stop, 2 * k] = 1 / math.sqrt(stop - start)
        basis[start:stop, 2 * k + 1] = line / max(math.sqrt(float(line @ line)), 1e-300)
    rows = tnp.moveaxis(wrap(x), axis, -1)
    rows = rows - (rows @ basis) @ basis.T
    return tnp.moveaxis(rows, -1, axis)


_detrended = detrend  # functions of spectra have a parameter of this name


class _Segments:
    """How a signal is cut into segments: `window` (known while tracing), `step`, `nfft`, what is taken off each."""

    def __init__(self, n: int, window: Any, nperseg: Any, noverlap: Any, nfft: Any, trend: Any) -> None:
        if isinstance(window, (str, tuple)):
            count = 256 if nperseg is None else operator.index(nperseg)
            if not 1 <= count <= n:
                raise ArgumentError(
                    name="welch", problem=f"segments of {count} elements in {n} have no traced form"
                )
            self.window = scipy_signal().get_window(window, count)
        else:
            self.window = np.asarray(_known(window))
            if self.window.ndim != 1 or (nperseg is not None and nperseg != self.window.size):
                raise ValueError("value specified for nperseg is different from length of window")
        self.count = self.window.size
        overlap = self.count // 2 if noverlap is None else operator.index(noverlap)
        if overlap >= self.count:
            raise ValueError("noverlap must be less than nperseg.")
        self.step = self.count - overlap
        self.nfft = self.count if nfft is None else operator.index(nfft)
        if self.nfft < self.count:
            raise ValueError("nfft must be greater than or equal to nperseg.")
        if not (trend is False or isinstance(trend, str)):
            raise ArgumentError(name="welch", problem="a function as detrend has no traced form")
        self.trend: Any = trend

    def scale(self, fs: Any, scaling: str) -> Any:
        if scaling in ("density", "psd"):
            return 1.0 / (fs * (self.window * self.window).sum())
        if scaling == "spectrum":
            return 1.0 / self.window.sum() ** 2
        raise ValueError(f"Unknown scaling: {scaling!r}")

    def transforms(self, x: Any, one_sided: bool) -> Any:
        """Of each segment of the last axis: shape (..., segments, frequencies)."""
        parts = tnp.sliding_window_view(x, self.count, axis=-1)[..., :: self.step, :]
        if self.trend is not False:
            parts = _detrended(parts, axis=-1, type=self.trend)
        parts = parts * self.window.astype(parts.real.dtype)
        return (fft.rfft if one_sided else fft.fft)(parts, self.nfft)

    def scaled(self, x: Any, one_sided: bool, fs: Any, scaling: str) -> Any:
        """The transforms, whose squares are powers."""
        out = self.transforms(x, one_sided)
        return (out * self.scale(fs, scaling) ** 0.5).astype(out.dtype)

    def frequencies(self, fs: Any, one_sided: bool) -> Any:
        return (fft.rfftfreq if one_sided else fft.fftfreq)(self.nfft, 1 / fs)

    def doubled(self, power: Any) -> Any:
        """One-sided spectra have the power of the negative frequencies too."""
        inner = np.full(self.nfft // 2 + 1, 2.0)
        inner[0] = 1.0
        if self.nfft % 2 == 0:
            inner[-1] = 1.0
        return power * inner.astype(power.real.dtype)


def _known(x: Any) -> Any:
    value = to_raw(x)
    if not isinstance(value, (np.ndarray, list, tuple)):
        raise ArgumentError(name="welch", problem="a window of traced values has no traced form")
    return value


def _signal(x: Any, axis: Any) -> tuple[Any, int]:
    """The signal along its last axis, in floating point, and where that axis was."""
    x = wrap(raw(x))
    x = x if dtypes.is_inexact(x.dtype) and x.dtype.itemsize >= 4 else x.astype(float)
    axis = normalize_axis("welch", operator.index(axis), x.ndim)
    return tnp.moveaxis(x, axis, -1), axis


def _one_sided(wanted: bool, *xs: Any) -> bool:
    return bool(wanted) and not any(dtypes.is_complex(x.dtype) for x in xs)


def _power(x: Any, y: Any, cut: _Segments, fs: Any, wanted: bool, scaling: str) -> tuple[Any, bool]:
    """The cross spectra of segments, shape (..., segments, frequencies), and whether they are one-sided."""
    one_sided = _one_sided(wanted, x, y)
    left = cut.transforms(x, one_sided)
    power = tnp.abs(left) ** 2 if y is x else left.conj() * cut.transforms(y, one_sided)
    power = (power * cut.scale(fs, scaling)).astype(power.dtype)
    return (cut.doubled(power) if one_sided else power), one_sided


def _averaged(power: Any, average: str) -> Any:
    if average == "mean":
        return power.mean(axis=-2)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    odd = np.arange(1, power.shape[-2] + 1, 2)[1:]
    bias = 1.0 + (1.0 / odd - 1.0 / (odd - 1)).sum() if power.shape[-2] > 1 else 1.0
    if not dtypes.is_complex(power.dtype):
        return tnp.median(power, axis=-2) / bias
    return (tnp.median(power.real, axis=-2) + 1j * tnp.median(power.imag, axis=-2)) / bias


def _cross(
    x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, trend: Any, one_sided: bool,
    scaling: str, axis: int, average: str,
) -> tuple[Any, Any]:  # fmt: skip
    rows, place = _signal(x, axis)
    others = rows if y is x else _signal(y, axis)[0]
    n = max(rows.shape[-1], others.shape[-1])
    if y is not x:
        rows, others = (tnp.pad(r, [(0, 0)] * (r.ndim - 1) + [(0, n - r.shape[-1])]) for r in (rows, others))
    cut = _Segments(n, window, nperseg, noverlap, nfft, trend)
    power, one = _power(rows, others, cut, fs, one_sided, scaling)
    out = tnp.moveaxis(_averaged(power, average), -1, place)
    return cut.frequencies(fs, one), _real_part(out) if y is x else out


def _real_part(power: Any) -> Any:
    """Powers as SciPy has them: in the memory of complex numbers."""
    return power.astype(np.result_type(power.dtype, np.complex64)).real


def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """Frequencies, and the cross power spectral density by Welch's method: the mean over overlapping segments."""
    options = (window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _cross(x, y, fs, *options)


def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    average: str = "mean",
) -> Any:  # fmt: skip
    """Frequencies, and the power spectral density by Welch's method."""
    options = (window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return _cross(x, x, fs, *options)


def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    """Frequencies, and the power spectral density of the whole signal."""
    n = wrap(raw(x)).shape[axis]
    if nfft is not None and nfft < n:
        raise ArgumentError(name="periodogram", problem="nfft below the length has no traced form")
    if not isinstance(window, (str, tuple)) and np.size(_known(window)) != n:
        raise ValueError("the size of the window must be the same size of the input on the specified axis")
    return _cross(x, x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis, "mean")


def coherence(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", axis: int = -1,
) -> Any:  # fmt: skip
    """Frequencies, and |Pxy|² / (Pxx Pyy)."""
    options = (window, nperseg, noverlap, nfft, detrend, True, "density", axis, "mean")
    freqs, both = _cross(x, y, fs, *options)
    return freqs, tnp.abs(both) ** 2 / _cross(x, x, fs, *options)[1] / _cross(y, y, fs, *options)[1]


def _times(cut: _Segments, n: int, fs: Any) -> Any:
    return np.arange(cut.count / 2, n - cut.count / 2 + 1, cut.step) / fs


def _in_place(out: Any, place: int) -> Any:
    """(..., segments, frequencies), as (frequencies where the axis was, segments last)."""
    return tnp.moveaxis(tnp.moveaxis(out, -2, -1), -2, place)


def spectrogram(
    x: Any, fs: Any = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, mode: str = "psd",
) -> Any:  # fmt: skip
    """Frequencies, times, and the spectra of segments, in the modes "psd", "complex" and "magnitude"."""
    rows, place = _signal(x, axis)
    if noverlap is None:
        noverlap = (256 if nperseg is None else operator.index(nperseg)) // 8
    cut = _Segments(rows.shape[-1], window, nperseg, noverlap, nfft, detrend)
    one = _one_sided(return_onesided, rows)
    if mode == "psd":
        out, one = _power(rows, rows, cut, fs, return_onesided, scaling)
        out = _real_part(out)
    elif mode in ("complex", "magnitude"):
        out = cut.scaled(rows, one, fs, scaling)
        out = tnp.abs(out) if mode == "magnitude" else out
    else:
        raise ArgumentError(name="spectrogram", problem=f"mode={mode!r} has no traced form")
    return cut.frequencies(fs, one), _times(cut, rows.shape[-1], fs), _in_place(out, place)


def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None, nfft: Any = None,
    detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros", padded: bool = True,
    axis: int = -1, scaling: str = "spectrum",
) -> Any:  # fmt: skip
    """Frequencies, times, and the transforms of segments of a signal with zeros around it."""
    if boundary not in ("zeros", None):
        raise ArgumentError(name="stft", problem=f"boundary={boundary!r} has no traced form")
    rows, place = _signal(x, axis)
    cut = _Segments(rows.shape[-1], window, nperseg, noverlap, nfft, detrend)
    side = cut.count // 2 if boundary else 0
    n = rows.shape[-1] + 2 * side
    more = (-(n - cut.count) % cut.step) % cut.count if padded else 0
    rows = tnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(side, side + more)])
    one = _one_sided(return_onesided, rows)
    out = cut.scaled(rows, one, fs, scaling)
    times = _times(cut, n + more, fs) - (cut.count / 2 / fs if boundary else 0)
    return cut.frequencies(fs, one), times, _in_place(out, place)


def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Any = 0
) -> Any:
    """Zeros between the elements, a filter, and every `down`-th element of what it gives."""
    if mode != "constant" or cval != 0:
        raise ArgumentError(name="upfirdn", problem=f"mode={mode!r} with cval={cval} has no traced form")
    up, down = operator.index(up), operator.index(down)
    rows, place = _signal(x, axis)
    taps = wrap(raw(h))
    dtype = np.result_type(rows.dtype, taps.dtype, np.float32)
    rows, taps = rows.astype(dtype), taps.astype(dtype)
    n = rows.shape[-1]
    spread = tnp.concatenate([rows[..., None], tnp.zeros((*rows.shape, up - 1), dtype)], axis=-1)
    spread = spread.reshape((-1, 1, n * up))[..., : (n - 1) * up + 1]
    ends = (taps.size - 1, taps.size - 1)
    out = wrap(ops.conv.plain_correlation(raw(spread), raw(taps[None, None, ::-1]), [ends]))[..., ::down]
    return tnp.moveaxis(out.reshape((*rows.shape[:-1], out.shape[-1])), -1, place)


__all__ = ["coherence", "csd", "periodogram", "spectrogram", "stft", "upfirdn", "welch"]
