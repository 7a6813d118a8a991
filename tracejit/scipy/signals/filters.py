"""Filters of `scipy.signal` that are made of `lfilter`, convolutions and transforms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.control.structured.loops import scan
from tracejit.errors import ArgumentError, SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if, leave_if
from tracejit.numpy.operands import convert, dtype_of, raw, result_type
from tracejit.ops._lazy import scipy_signal
from tracejit.ops.building.dims import normalize_axis
from tracejit.scipy.ndimage import convolve1d
from tracejit.tracing import to_raw, wrap


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The filter a[0] y[n] = b[0] x[n] + b[1] x[n-1] + … - a[1] y[n-1] - …, as one loop; with the initial
    state `zi` also the last state. It is the transposed direct form II."""
    dtype = result_type(b, a, x, *([] if zi is None else [zi]))
    dtype = dtype if dtypes.is_inexact(dtype) else dtypes.float64
    taps, back, signal = (wrap(convert(v, dtype)) for v in (b, a, x))
    if taps.ndim != 1 or back.ndim != 1 or not signal.ndim:
        raise ArgumentError(name="lfilter", problem="b and a are vectors, and x has at least one axis")
    count = max(taps.shape[0], back.shape[0])
    taps, back = (tnp.pad(v / back[0], (0, count - v.shape[0])) for v in (taps, back))
    axis = normalize_axis("lfilter", axis, signal.ndim)
    rows = tnp.moveaxis(signal, axis, 0)
    shape = (count - 1, *rows.shape[1:])
    if zi is None:
        state = wrap(ops.shape.broadcast_to(dtype.type(0), shape))
    else:
        state = tnp.broadcast_to(tnp.moveaxis(wrap(convert(zi, dtype)), axis, 0), shape)
    spread = (slice(None), *[None] * (rows.ndim - 1))
    late, damp, zero = taps[1:][spread], back[1:][spread], np.zeros((1, *rows.shape[1:]), dtype)

    def step(z: Any, v: Any) -> tuple[Any, Any]:
        if count == 1:
            return z, taps[0] * v
        y = taps[0] * v + z[0]
        return tnp.concatenate([z[1:], zero]) + late * v - damp * y, y

    last, out = scan(step, wrap(to_raw(state)), rows)
    out = tnp.moveaxis(out, 0, axis)
    return out if zi is None else (out, tnp.moveaxis(last, 0, axis))


def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """The state of the filter (b, a) after the outputs `y` and the inputs `x`, the last ones first, in SciPy's order of
    sums. SciPy divides by a[0] where that is not 1, and so would lose its derivative at 1."""
    given = [b, a, y] if x is None else [b, a, y, x]
    dtype = result_type(*given)
    dtype = dtype if dtypes.is_inexact(dtype) else dtypes.float64
    taps, back = (tnp.atleast_1d(wrap(raw(v))) for v in (b, a))
    if taps.ndim != 1 or back.ndim != 1 or not back.shape[0]:
        raise ArgumentError(name="lfiltic", problem="b and a are vectors, and a has at least one element")
    ahead, behind = taps.shape[0] - 1, back.shape[0] - 1
    before, after = (_begun(v, n, dtype) for v, n in ((x, ahead), (y, behind)))
    state = []
    for m in range(max(ahead, behind)):
        level = wrap(ops.shape.broadcast_to(dtype.type(0), ()))
        if m < ahead:
            level = (taps[m + 1 :] * before[: ahead - m]).sum().astype(dtype)
        if m < behind:
            level = (level - (back[m + 1 :] * after[: behind - m]).sum()).astype(dtype)
        state.append(level)
    leave_if(to_raw(back[0] == 0), "SciPy's error for a first coefficient that is zero")
    return (tnp.stack(state) / back[0]).astype(dtype) if state else tnp.zeros(0, dtype)


def _begun(v: Any, count: int, dtype: np.dtype) -> Any:
    """The last values of a signal, before which there were zeros."""
    v = wrap(raw(tnp.zeros(count, dtype) if v is None else v)).astype(dtype)
    if v.ndim != 1:
        raise ArgumentError(name="lfiltic", problem="the values before are vectors")
    return tnp.concatenate([v, tnp.zeros(count - v.shape[0])]) if v.shape[0] < count else v


def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """The analytic signal of the real signal `x`, by its transform without the negative frequencies."""
    x = wrap(raw(x))
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    axis = normalize_axis("hilbert", axis, x.ndim)
    n = x.shape[axis] if N is None else operator.index(N)
    if n <= 0:
        raise ValueError("N must be positive.")
    weights = np.zeros(n)
    weights[0] = 1
    weights[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        weights[n // 2] = 1
    shape = [1] * x.ndim
    shape[axis] = n
    transform = tnp.fft.fft(x, n, axis=axis)
    return tnp.fft.ifft(transform * weights.reshape(shape).astype(x.real.dtype), axis=axis)


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The filter of the sections `sos`, shape (sections, 6), one after the other; with the initial states `zi`, shape
    (sections, ..., 2, ...), also the last ones."""
    sos, out = wrap(raw(sos)), wrap(raw(x))
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    fail_if(to_raw(tnp.any(sos[:, 3] != 1)), SolverFailedError, "sos[:, 3] should be all ones")
    states = None if zi is None else wrap(raw(zi))
    last = []
    for n in range(sos.shape[0]):
        if states is None:
            out = lfilter(sos[n, :3], sos[n, 3:], out, axis=axis)
        else:
            out, state = lfilter(sos[n, :3], sos[n, 3:], out, axis=axis, zi=states[n])
            last.append(state)
    return out if states is None else (out, tnp.stack(last))


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of a filter after a long constant signal of 1. SciPy's leading zeros of `a` are not there."""
    return _steady(*(tnp.atleast_1d(wrap(raw(v))).astype(float) for v in (b, a)))


def sosfilt_zi(sos: Any) -> Any:
    """The states of the sections of a filter after a long constant signal of 1."""
    sos = wrap(raw(sos)).astype(float)
    states, level = [], 1.0
    for n in range(sos.shape[0]):
        states.append(level * _steady(sos[n, :3], sos[n, 3:]))
        level = level * sos[n, :3].sum() / sos[n, 3:].sum()
    return tnp.stack(states)


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """The filter (b, a) forwards and backwards, on a signal that is continued at its ends. Raises ArgumentError for
    `method="gust"`."""
    if method != "pad":
        raise ArgumentError(name="filtfilt", problem=f"method={method!r} has no traced form")
    b, a, x = tnp.atleast_1d(wrap(raw(b))), tnp.atleast_1d(wrap(raw(a))), wrap(raw(x))
    axis = normalize_axis("filtfilt", axis, x.ndim)
    rows = tnp.moveaxis(x, axis, -1)
    edge = 3 * max(b.size, a.size) if padlen is None else operator.index(padlen)
    edge = 0 if padtype is None else edge
    if rows.shape[-1] <= edge:
        problem = f"The length of the input vector x must be greater than padlen, which is {edge}."
        raise ValueError(problem)
    rows = _continued(rows, padtype, edge)
    start = _steady(b, a)
    for _ in range(2):
        rows, _state = lfilter(b, a, rows, axis=-1, zi=start * rows[..., :1])
        rows = rows[..., ::-1]
    rows = rows[..., edge : rows.shape[-1] - edge]
    return tnp.moveaxis(rows, -1, axis)


def _continued(rows: Any, padtype: Any, edge: int) -> Any:
    if padtype not in ("even", "odd", "constant", None):
        problem = (
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
        raise ValueError(problem)
    if not edge:
        return rows
    first, last = rows[..., :1], rows[..., -1:]
    left, right = rows[..., edge:0:-1], rows[..., -2 : -edge - 2 : -1]
    if padtype == "odd":
        left, right = 2 * first - left, 2 * last - right
    elif padtype == "constant":
        left, right = tnp.broadcast_to(first, left.shape), tnp.broadcast_to(last, right.shape)
    return tnp.concatenate([left, rows, right], axis=-1)


def _steady(b: Any, a: Any) -> Any:
    """The state of the filter after a long constant signal of 1."""
    n = max(b.size, a.size)
    first = a[0]
    b, a = (tnp.pad(v / first, (0, n - v.size)) for v in (b, a))
    if n == 1:
        return tnp.zeros(0)
    shift = np.eye(n - 1, k=1)
    matrix = np.eye(n - 1) - shift + a[1:, None] * np.eye(1, n - 1)
    return tnp.linalg.solve(matrix, b[1:] - a[1:] * b[0])


def savgol_filter(
    x: Any,
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """The values, or derivatives, of polynomials that fit each `window_length` samples best."""
    x = wrap(raw(x))
    x = x if dtype_of(raw(x)) in (dtypes.float64, np.dtype(np.float32)) else x.astype(float)
    axis = normalize_axis("savgol_filter", axis, x.ndim)
    window, order, deriv = (operator.index(v) for v in (window_length, polyorder, deriv))
    taps = scipy_signal().savgol_coeffs(window, order, deriv=deriv)
    scale = tnp.asarray(delta).astype(float) ** deriv if deriv else 1.0
    if mode != "interp":
        if mode not in ("mirror", "constant", "nearest", "wrap"):
            raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
        return convolve1d(x, taps, axis=axis, mode=mode, cval=cval) / scale
    if window > x.shape[axis]:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    half = window // 2
    rows = tnp.moveaxis(x, axis, 0)
    middle = convolve1d(rows, taps, axis=0, mode="constant")[half : rows.shape[0] - half]
    fits = np.polynomial.polynomial.polyfit(np.arange(window), np.eye(window), order)
    slopes = np.polynomial.polynomial.polyder(fits, deriv, axis=0) if deriv else fits
    ends = np.polynomial.polynomial.polyval(np.arange(window), slopes).T.astype(x.dtype)
    first = tnp.tensordot(ends[:half], rows[:window], 1)
    last = tnp.tensordot(ends[window - half :], rows[-window:], 1)
    return tnp.moveaxis(tnp.concatenate([first, middle, last]), 0, axis) / scale
