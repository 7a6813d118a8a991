"""Signals at other rates, sections forwards and backwards."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import raw
from tracejit.ops._lazy import scipy_signal
from tracejit.ops.building.dims import normalize_axis
from tracejit.scipy.hosting import calls
from tracejit.scipy.imaging.shapes import ranked
from tracejit.scipy.signals.filters import _continued, sosfilt, sosfilt_zi
from tracejit.scipy.signals.spectra import upfirdn
from tracejit.tracing import wrap

_BACKGROUNDS = {"mean": tnp.mean, "median": tnp.median, "minimum": tnp.min, "maximum": tnp.max}


def _hosted(name: str, *args: Any) -> Any:
    """The call of SciPy's function by the program."""
    return calls.of(getattr(scipy_signal(), name))(*args)


def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """The sections `sos` forwards and backwards, on a signal that is continued at its ends. How far depends on zeros
    among the sections, unless `padlen` says it."""
    x, sections = wrap(raw(x)), wrap(raw(sos))
    axis = normalize_axis("sosfiltfilt", axis, x.ndim)
    rows = tnp.moveaxis(x, axis, -1)
    edge, unused = 0, None
    if padlen is not None and padtype is not None:
        edge = operator.index(padlen)
    elif padtype is not None:
        edge = 3 * (2 * sections.shape[0] + 1)
        unused = 3 * tnp.minimum(*(tnp.sum(sections[:, column] == 0) for column in (2, 5)))
    if rows.shape[-1] <= edge:
        if unused is None or rows.shape[-1] <= edge - 3 * sections.shape[0]:
            raise ValueError(
                f"The length of the input vector x must be greater than padlen, which is {edge}."
            )
        raise ArgumentError(
            name="sosfiltfilt", problem=f"a signal of at most {edge} elements without `padlen`"
        )
    rows = _continued(rows, padtype, edge)
    start = sosfilt_zi(sections)
    start = start.reshape(start.shape[0], *[1] * (rows.ndim - 1), 2)
    for _ in range(2):
        if unused is not None:
            # Constant values before the first one leave the filter in the state in which it begins.
            first = lax.dynamic_index_in_dim(rows, unused, rows.ndim - 1)
            rows = tnp.where(np.arange(rows.shape[-1]) < unused, first, rows)
        rows, _state = sosfilt(sections, rows, axis=-1, zi=start * rows[..., :1])
        rows = rows[..., ::-1]
    return tnp.moveaxis(rows[..., edge : rows.shape[-1] - edge], -1, axis)


def _odd(sizes: Any, what: str) -> Any:
    if any(operator.index(s) % 2 != 1 for s in sizes):
        raise ValueError(what)
    return sizes


def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """The median of each window of `kernel_size` elements; there are zeros beyond the ends. Windows that are larger
    than the signal are left to Python, since SciPy warns."""
    x = wrap(raw(volume))
    x = x.reshape(1) if x.ndim == 0 else x
    if x.dtype.kind not in "iu" and x.dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={x.dtype} is not supported by medfilt")
    given = np.asarray(3 if kernel_size is None else kernel_size)
    sizes = [int(s) for s in (given if given.ndim else [given] * x.ndim)]
    _odd(sizes, "Each element of kernel_size should be odd.")
    if any(s > n for s, n in zip(sizes, x.shape, strict=False)):
        leave_if(np.bool_(True), "SciPy's warning of a window that is larger than the signal")
    return ranked(x, math.prod(sizes) // 2, sizes, None, None, "constant")


def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """The median of each window of an image; there are zeros beyond its edges."""
    x = wrap(raw(input))
    if x.dtype not in (np.uint8, np.float32, np.float64):
        return medfilt(input, kernel_size)
    if x.ndim != 2:
        raise ValueError("object too deep for desired array" if x.ndim > 2 else "object of too small depth")
    given = np.asarray(3 if kernel_size is None else kernel_size)
    sizes = [int(s) for s in (given if given.ndim else [given] * 2)]
    _odd(sizes, "Each element of kernel_size should be odd.")
    return ranked(x, math.prod(sizes) // 2, sizes, None, None, "constant")


def order_filter(a: Any, domain: Any, rank: Any) -> Any:
    """The element of that rank in each window of the shape `domain`; there are zeros beyond the ends."""
    x, shape = wrap(raw(a)), np.asarray(domain)
    _odd(shape.shape, "Each dimension of domain argument should have an odd number of elements.")
    if x.dtype.kind not in "iu" and x.dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={x.dtype} is not supported by order_filter")
    return ranked(x, rank, None, shape, None, "constant")


def resample_poly(
    x: Any, up: Any, down: Any, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
    cval: Any = None,
) -> Any:  # fmt: skip
    """The signal at up/down times its rate, by a filter between; with another `padtype` than "constant", "mean",
    "median", "minimum" and "maximum" the program calls SciPy."""
    plain = padtype in _BACKGROUNDS or (padtype == "constant" and cval in (None, 0))
    if not plain or isinstance(raw(window) if hasattr(window, "dtype") else None, Value):
        return _hosted("resample_poly", x, up, down, axis, window, padtype, cval)
    if up != int(up) or down != int(down):
        raise ValueError(f"{'up' if up != int(up) else 'down'} must be an integer")
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    common = math.gcd(int(up), int(down))
    up, down = int(up) // common, int(down) // common
    x = wrap(raw(x))
    axis = normalize_axis("resample_poly", axis, x.ndim)
    if up == down == 1:
        return tnp.array(x)
    n_in = x.shape[axis]
    n_out = -(-n_in * up // down)
    h, half = _filter(window, max(up, down), x.dtype)
    h = h * up
    before = down - half % down
    removed = (half + before) // down
    after = 0
    while _length(h.size + before + after, n_in, up, down) < n_out + removed:
        after += 1
    h = np.concatenate([np.zeros(before, h.dtype), h, np.zeros(after, h.dtype)])
    ground = _BACKGROUNDS[padtype](x, axis=axis, keepdims=True) if padtype in _BACKGROUNDS else None
    y = tnp.copy(upfirdn(h, x if ground is None else x - ground, up, down, axis))  # not a view with steps
    y = tnp.moveaxis(tnp.moveaxis(y, axis, 0)[removed : removed + n_out], 0, axis)
    return y if ground is None else y + ground


def _filter(window: Any, rate: int, dtype: Any) -> tuple[np.ndarray, int]:
    """The filter of a window's name, or the filter that is given, and half its length."""
    if isinstance(window, list) or hasattr(window, "dtype"):
        h = np.array(raw(window) if hasattr(window, "dtype") else window)
        if h.ndim > 1:
            raise ValueError("window must be 1-D")
        return h, (h.size - 1) // 2
    h = scipy_signal().firwin(20 * rate + 1, 1.0 / rate, window=window)
    return h.astype(dtype) if dtype.kind in "fc" else h, 10 * rate


def _length(taps: int, n: int, up: int, down: int) -> int:
    """How long the result of `upfirdn` is."""
    return ((n - 1) * up + taps - 1) // down + 1


def decimate(
    x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> Any:
    """Every `q`-th element after a filter: Chebyshev's of order `n` (8), or with "fir" one of 20 q + 1 weights. With
    other filters, or a signal of other dtypes, the program calls SciPy."""
    x, q = wrap(raw(x)), operator.index(q)
    if ftype not in ("iir", "fir") or x.dtype != np.float64 or (ftype == "fir" and not zero_phase):
        return _hosted("decimate", x, q, n, ftype, axis, zero_phase)
    if ftype == "fir":
        taps = scipy_signal().firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        return resample_poly(x, 1, q, axis, taps)
    sos = scipy_signal().cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
    y = sosfiltfilt(sos, x, axis) if zero_phase else sosfilt(wrap(sos), x, axis)
    return tnp.moveaxis(tnp.moveaxis(y, axis, 0)[::q], 0, axis)


def sawtooth(t: Any, width: Any = 1) -> Any:
    """A wave that rises from -1 to 1 in `width` of the period 2 pi, and falls in the rest."""
    t, w = tnp.broadcast_arrays(wrap(raw(t)).astype(float), tnp.asarray(width).astype(float))
    at = tnp.mod(t, 2 * math.pi)
    rises = at < w * 2 * math.pi
    up = at / (math.pi * tnp.where(rises, w, 1.0)) - 1
    down = (math.pi * (w + 1) - at) / (math.pi * tnp.where(rises, 1.0, 1 - w))
    return tnp.where((w > 1) | (w < 0), np.nan, tnp.where(rises, up, down))
