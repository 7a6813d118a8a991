"""scipy.signal's chirp transforms, values of splines, and filters in other forms."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.numpy import fft
from tracejit.numpy.operands import raw
from tracejit.ops._lazy import scipy_signal
from tracejit.ops.building.dims import normalize_axis
from tracejit.scipy.hosting import calls
from tracejit.tracing import wrap


def _hosted(name: str, *args: Any) -> Any:
    """The call that a program makes, where there is no form for these options."""
    return calls.of(getattr(scipy_signal(), name))(*args)


# ---------------------------------------------------------------- chirp transforms (Bluestein)


def _chirp(x: Any, m: int, w: Any, a: Any, axis: int) -> Any:
    """sum_k x[k] a**-k w(j k) for j < m, where w(v) is `w` of the half square numbers v."""
    axis = normalize_axis("czt", axis, x.ndim)
    n = x.shape[axis]
    if n < 1 or m < 1:
        raise ValueError(f"Invalid number of CZT data points ({n}) or output points ({m})")
    k = np.arange(max(m, n))
    up = w(k * k / 2)
    size = 2 ** math.ceil(math.log2(n + m - 1)) if n + m > 2 else 1
    inverse = tnp.concatenate([1 / up[n - 1 : 0 : -1], 1 / up[:m]])
    rows = tnp.moveaxis(x, axis, -1) * (a(-k[:n]) * up[:n])
    out = fft.ifft(fft.fft(inverse, size) * fft.fft(rows, size))[..., n - 1 : n + m - 1] * up[:m]
    return tnp.moveaxis(out, -1, axis)


def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """The z-transform at the `m` points a w**-j."""
    x = wrap(raw(x))
    count = x.shape[axis] if m is None else operator.index(m)
    given = (lambda v: tnp.exp(-2j * math.pi / count * v)) if w is None else (lambda v: (w + 0j) ** v)
    return _chirp(x, count, given, lambda k: (a + 0j) ** k, axis)


def zoom_fft(
    x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: int = -1
) -> Any:  # fmt: skip
    """The Fourier transform at `m` frequencies between those of `fn`."""
    x = wrap(raw(x))
    count = x.shape[axis] if m is None else operator.index(m)
    first, last = (fn[0], fn[1]) if np.ndim(fn) else (0.0, fn)
    steps = count - 1 if endpoint else count
    each = (last - first) / fs / max(steps, 1)
    return _chirp(
        x,
        count,
        lambda v: tnp.exp(-2j * math.pi * each * v),
        lambda k: tnp.exp(2j * math.pi * first / fs * k),
        axis,
    )


# ---------------------------------------------------------------- splines


def _pieces(x: Any, reach: float, functions: Any) -> Any:
    """A function of |x| that is given in pieces: (end, function), zero beyond the last."""
    size, out = tnp.where(x > 0, x, -x), 0.0 * x
    for end, fn in reversed(functions):
        inside = size <= end
        out = tnp.where(inside, fn(tnp.where(inside, size, 0.0)), out)
    return out


def _cubic(x: Any) -> Any:
    return _pieces(x, 2, [(1, lambda s: 2 / 3 - 0.5 * s**2 * (2 - s)), (2, lambda s: (2 - s) ** 3 / 6)])


def _quadratic(x: Any) -> Any:
    return _pieces(x, 1.5, [(0.5, lambda s: 0.75 - s**2), (1.5, lambda s: (s - 1.5) ** 2 / 2)])


def _spline_value(basis: Any, width: int, cj: Any, newx: Any, dx: Any, x0: Any) -> Any:
    """Points beyond an end are mirrored there; coefficients beyond it are the last one, as in SciPy."""
    c = wrap(raw(cj))
    x = (wrap(raw(newx)).astype(float) - x0) / dx
    n = c.shape[0]
    span = max(2 * (n - 1), 1)
    x = tnp.mod(x, span)
    x = tnp.where(x > n - 1, span - x, x)
    first = tnp.floor(x - width / 2).astype(int) + 1
    out = 0.0 * x
    for k in range(width):
        out = out + c[tnp.clip(first + k, 0, n - 1)] * basis(x - (first + k))
    return out


def cspline1d_eval(cj: Any, newx: Any, dx: Any = 1.0, x0: Any = 0) -> Any:
    """The values of a cubic spline with coefficients `cj` at x0 + j dx."""
    return _spline_value(_cubic, 4, cj, newx, dx, x0)


def qspline1d_eval(cj: Any, newx: Any, dx: Any = 1.0, x0: Any = 0) -> Any:
    """The same of a quadratic spline."""
    return _spline_value(_quadratic, 3, cj, newx, dx, x0)


# ---------------------------------------------------------------- forms of filters


def sos2tf(sos: Any) -> tuple[Any, Any]:
    """The polynomials of a chain of filters of second order."""
    sections = wrap(raw(sos))
    sections = sections if dtypes.is_inexact(sections.dtype) else sections.astype(float)
    ones = tnp.ones(1, sections.dtype)
    product = functools.partial(functools.reduce, tnp.convolve)
    return product([ones, *sections[:, :3]]), product([ones, *sections[:, 3:]])


def bilinear(b: Any, a: Any, fs: Any = 1.0) -> tuple[Any, Any]:
    """The digital filter for an analogue one, by s = 2 fs (z - 1)/(z + 1)."""
    b, a = (tnp.atleast_1d(wrap(raw(v))) for v in (b, a))
    if b.ndim != 1 or a.ndim != 1:
        return _hosted("bilinear", b, a, fs)
    degree = max(b.shape[0], a.shape[0]) - 1

    def moved(p: Any) -> Any:
        out: Any = tnp.zeros(degree + 1, tnp.result_type(p.dtype, float))
        for n in range(p.shape[0]):
            power = p.shape[0] - 1 - n
            rest = np.poly1d([1.0, -1.0]) ** power * np.poly1d([1.0, 1.0]) ** (degree - power)
            out = out + p[n] * (2.0 * fs) ** power * np.asarray(rest.coeffs)
        return out

    top, bottom = moved(b), moved(a)
    return top / bottom[0], bottom / bottom[0]


def group_delay(system: Any, w: Any = 512, whole: bool = False, fs: Any = 2 * math.pi) -> tuple[Any, Any]:
    """The frequencies, and the delay of a filter's group of waves at each."""
    b, a = (tnp.atleast_1d(wrap(raw(v))) for v in system)
    w = 512 if w is None else w
    if isinstance(w, (int, np.integer)):
        at = np.linspace(0, 2 * np.pi if whole else np.pi, int(w), endpoint=False)
    else:
        at = 2 * math.pi * tnp.atleast_1d(wrap(raw(w))) / fs
    c = tnp.convolve(b, tnp.conj(a[::-1]))
    z = tnp.exp(-1j * at)
    top, bottom = tnp.polyval((c * np.arange(c.shape[0]))[::-1], z), tnp.polyval(c[::-1], z)
    singular = tnp.abs(bottom) < 10 * np.finfo(float).eps
    delay = tnp.real(top / tnp.where(singular, 1.0, bottom)) - (a.shape[0] - 1)
    return at * fs / (2 * math.pi), tnp.where(singular, 0.0, delay)


__all__ = [
    "bilinear",
    "cspline1d_eval",
    "czt",
    "group_delay",
    "qspline1d_eval",
    "sos2tf",
    "zoom_fft",
]
