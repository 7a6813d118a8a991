"""`scipy.ndimage` for traced values: linear filters, filters by order, and interpolation of order 0 and 1.

Without traced values they are SciPy's own functions, as are names that are not here. Arrays of integers and
float32 are filtered in float64, and the result has the dtype of the input (or `output`, a dtype or an array).
"""

from __future__ import annotations

import functools as _functools
import itertools as _itertools
import math as _math
import operator as _operator
from typing import Any

import numpy as _np

from tracejit import dtypes as _dtypes
from tracejit import numpy as _tnp
from tracejit import ops as _ops
from tracejit.errors import ArgumentError as _ArgumentError
from tracejit.numpy.operands import dtype_of as _dtype_of
from tracejit.numpy.operands import raw as _raw
from tracejit.numpy.operands import result_type as _result_type
from tracejit.numpy.operands import store as _store
from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.ops.building.dims import normalize_axis as _normalize_axis
from tracejit.scipy.lazily import Part as _Part
from tracejit.tracing import wrap as _wrap

_part = _Part("scipy.ndimage", lambda: _scipy_module("ndimage"))
#: SciPy's name for what lies beyond the edges -> NumPy's.
_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip

#: Weights up to this number are written out as a sum, which fuses with what is around it. So are more of them where
#: the result has integers: it is cut off, and has to have SciPy's bits before that.
_MOST_TERMS = 16


def _input(x: Any) -> Any:
    """The input as a box in the precision that SciPy computes in."""
    kind = _dtypes.complex128 if _dtypes.is_complex(_dtype_of(_raw(x))) else _dtypes.float64
    return _wrap(_raw(x)).astype(kind)


def _kind(x: Any, output: Any) -> Any:
    """The dtype of the result; filters of several passes round to it after each."""
    if output is None:
        return _dtype_of(_raw(x))
    return _np.dtype(output) if isinstance(output, (type, str, _np.dtype)) else output.dtype


def _done(name: str, result: Any, x: Any, output: Any) -> Any:
    """The result in the dtype that is asked for, or in the array that is given."""
    result = result.astype(_kind(x, output))
    return (
        result
        if output is None or isinstance(output, (type, str, _np.dtype))
        else _store(output, result, name)
    )


def _each(value: Any, count: int) -> tuple[Any, ...]:
    """One value an axis, from one for all or a sequence."""
    if isinstance(value, (list, tuple, _np.ndarray)) and _np.ndim(value):
        if len(value) != count:
            raise _ArgumentError(name="ndimage", problem=f"{len(value)} values for {count} axes")
        return tuple(value)
    return (value,) * count


def _axes(x: Any, axes: Any) -> tuple[int, ...]:
    chosen = range(x.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(_normalize_axis("ndimage", _operator.index(a), x.ndim) for a in chosen)


def _pad(x: Any, axis: int, before: int, after: int, mode: str, cval: Any) -> Any:
    if mode not in _MODES:
        raise _ArgumentError(name="ndimage", problem=f"boundary mode {mode!r} is not one of {sorted(_MODES)}")
    options = {"constant_values": cval} if _MODES[mode] == "constant" else {}
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    return _tnp.pad(x, widths, mode=_MODES[mode], **options)


def _reach(size: int, origin: int) -> tuple[int, int]:
    """How many elements before and after its place a window of `size` reads."""
    origin = _operator.index(origin)
    if not -(size // 2) <= origin <= (size - 1) // 2:
        raise _ArgumentError(name="ndimage", problem="invalid origin")
    return size // 2 + origin, size - 1 - size // 2 - origin


def _correlate1d(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int, kind: Any) -> Any:
    weights = _wrap(_raw(weights))
    if weights.ndim != 1 or not weights.shape[0]:
        raise _ArgumentError(name="correlate1d", problem="no filter weights given")
    before, after = _reach(weights.shape[0], origin)
    padded = _pad(x, axis, before, after, mode, cval)
    if weights.shape[0] > _MOST_TERMS and _dtypes.is_inexact(kind):
        return _by_convolution(padded, weights, (axis,))
    padded = _tnp.moveaxis(padded, axis, 0)
    n = x.shape[axis]
    terms = (padded[k : k + n] * weights[k] for k in range(weights.shape[0]))
    return _tnp.moveaxis(_functools.reduce(_operator.add, terms), 0, axis)


def _by_convolution(padded: Any, weights: Any, axes: tuple[int, ...]) -> Any:
    """The correlation along `axes` as one operation, whose size in the program is that of one."""
    dtype = _result_type(padded, weights)
    x, last = padded.astype(dtype), tuple(range(-len(axes), 0))
    x = _tnp.moveaxis(x, axes, last)
    rest, extents = x.shape[: -len(axes)], x.shape[-len(axes) :]
    out = _ops.conv.plain_correlation(
        _raw(x.reshape((-1, 1, *extents))), _raw(weights.astype(dtype)[None, None])
    )
    sizes = tuple(n - k + 1 for n, k in zip(extents, weights.shape, strict=True))
    return _tnp.moveaxis(_wrap(out).reshape((*rest, *sizes)), last, axes)


@_part.function
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The correlation with a vector along one axis."""
    x = _input(input)
    axis = _normalize_axis("correlate1d", axis, x.ndim)
    out = _correlate1d(x, weights, axis, mode, cval, origin, _kind(input, output))
    return _done("correlate1d", out, input, output)


@_part.function
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The convolution with a vector along one axis."""
    w = _wrap(_raw(weights))[::-1]
    origin = -origin if w.shape[0] % 2 else -origin - 1
    return correlate1d(_wrap(_raw(input)), w, axis, output, mode, cval, origin)


def _padded(x: Any, sizes: tuple[int, ...], axes: Any, mode: Any, cval: Any, origin: Any) -> Any:
    """x with what windows of these sizes read beyond its edges. For SciPy windows lie along the sorted axes, but some
    of its functions take their sizes in the order of `axes`."""
    if list(axes) != sorted(axes):
        raise _ArgumentError(
            name="ndimage", problem="axes that are not in increasing order have no traced form"
        )
    places = zip(axes, sizes, _each(origin, len(axes)), _each(mode, len(axes)), strict=True)
    for axis, size, shift, how in places:
        x = _pad(x, axis, *_reach(size, shift), how, cval)
    return x


def _neighbours(x: Any, sizes: tuple[int, ...], axes: Any, mode: Any, cval: Any, origin: Any) -> Any:
    """For every element its window: x's shape, and the window's sizes in new axes at the end."""
    padded = _padded(x, sizes, axes, mode, cval, origin)
    return _tnp.sliding_window_view(padded, sizes, axis=axes)


@_part.function
def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The correlation with an array of weights."""
    x, w = _input(input), _wrap(_raw(weights))
    axes = _axes(x, axes)
    if w.ndim != len(axes):
        raise _ArgumentError(name="correlate", problem="weights have one axis for each filtered axis")
    if not isinstance(mode, str):
        raise _ArgumentError(name="correlate", problem="a sequence of modes is not supported")
    if _math.prod(w.shape) > _MOST_TERMS and _dtypes.is_inexact(_kind(input, output)):
        padded = _padded(x, w.shape, axes, mode, cval, origin)
        return _done("correlate", _by_convolution(padded, w, axes), input, output)
    windows = _neighbours(x, w.shape, axes, mode, cval, origin)
    terms = (windows[(..., *at)] * w[at] for at in _itertools.product(*map(range, w.shape)))
    return _done("correlate", _functools.reduce(_operator.add, terms), input, output)


@_part.function
def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The convolution with an array of weights."""
    w = _wrap(_raw(weights))
    origins = tuple(-o - (n % 2 == 0) for o, n in zip(_each(origin, w.ndim), w.shape, strict=True))
    flipped = w[(slice(None, None, -1),) * w.ndim]
    return correlate(_wrap(_raw(input)), flipped, output, mode, cval, origins, axes=axes)


def _gaussian(sigma: float, order: int, radius: int) -> _np.ndarray:
    """Weights of a Gaussian, or of its derivative: q(x) exp(-x²/2σ²) with q ← q' - x/σ² q for each order."""
    x = _np.arange(-radius, radius + 1)
    bell = _np.exp(-0.5 / (sigma * sigma) * x**2)
    q = _np.polynomial.Polynomial([1.0])
    for _ in range(order):
        q = q.deriv() - _np.polynomial.Polynomial([0.0, 1 / (sigma * sigma)]) * q
    return q(x) * (bell / bell.sum())


@_part.function
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """The convolution with a Gaussian of a standard deviation of `sigma` elements, or with its derivative."""
    sigma = float(sigma)
    reach = int(truncate * sigma + 0.5) if radius is None else _operator.index(radius)
    if order < 0 or reach < 0:
        raise _ArgumentError(name="gaussian_filter1d", problem="order and radius must not be negative")
    weights = _gaussian(sigma, order, reach)[::-1]
    return correlate1d(_wrap(_raw(input)), weights, axis, output, mode, cval, 0)


@_part.function
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Gaussian filters along `axes`, one after the other."""
    x, kind = _wrap(_raw(input)), _kind(input, output)
    axes = _axes(x, axes)
    parts = zip(axes, *(_each(v, len(axes)) for v in (sigma, order, mode, radius)), strict=True)
    for axis, s, k, how, reach in parts:
        if s > 1e-15:
            x = gaussian_filter1d(x, s, axis, k, kind, how, cval, truncate, radius=reach)
    return _done("gaussian_filter", x, input, output)


@_part.function
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """Means of `size` elements along one axis."""
    if size < 1:
        raise _ArgumentError(name="uniform_filter1d", problem="incorrect filter size")
    return correlate1d(_wrap(_raw(input)), _np.full(size, 1 / size), axis, output, mode, cval, origin)


@_part.function
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Means of boxes of `size` elements."""
    x, kind = _wrap(_raw(input)), _kind(input, output)
    axes = _axes(x, axes)
    for axis, n, how, shift in zip(axes, *(_each(v, len(axes)) for v in (size, mode, origin)), strict=True):
        x = uniform_filter1d(x, n, axis, kind, how, cval, shift) if n > 1 else x
    return _done("uniform_filter", x, input, output)


def _by_order(name: str, pick: Any) -> Any:
    """A filter that chooses from the window's elements: `pick(elements, their number)`, elements last."""

    def filtered(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
        cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        x = _wrap(_raw(input))
        axes = _axes(x, axes)
        if footprint is None and size is None:
            raise _ArgumentError(name=name, problem="no footprint or filter size provided")
        sizes = _each(size, len(axes)) if footprint is None else _np.shape(footprint)
        windows = _neighbours(x, tuple(map(_operator.index, sizes)), axes, mode, cval, origin)
        elements = windows.reshape((*x.shape, _math.prod(sizes)))
        if footprint is not None:
            elements = elements[..., _np.flatnonzero(_np.asarray(footprint))]
        return _done(name, pick(elements, elements.shape[-1]), input, output)

    filtered.__name__ = filtered.__qualname__ = name
    filtered.__doc__ = f"`scipy.ndimage.{name}`, for traced values too."
    return _part.function(filtered)


maximum_filter = _by_order("maximum_filter", lambda x, n: x.max(axis=-1))
minimum_filter = _by_order("minimum_filter", lambda x, n: x.min(axis=-1))
median_filter = _by_order("median_filter", lambda x, n: _tnp.sort(x, axis=-1)[..., n // 2])


def _edges(name: str, across: list[float]) -> Any:
    def edges(
        input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
    ) -> Any:  # fmt: skip
        x, kind = _wrap(_raw(input)), _kind(input, output)
        axis = _normalize_axis(name, axis, x.ndim)
        modes = _each(mode, x.ndim)
        x = correlate1d(x, _np.array([-1.0, 0, 1]), axis, kind, modes[axis], cval)
        for other in range(x.ndim):
            if other != axis:
                x = correlate1d(x, _np.array(across), other, kind, modes[other], cval)
        return _done(name, x, input, output)

    edges.__name__ = edges.__qualname__ = name
    edges.__doc__ = f"`scipy.ndimage.{name}`, for traced values too."
    return _part.function(edges)


sobel = _edges("sobel", [1.0, 2, 1])
prewitt = _edges("prewitt", [1.0, 1, 1])


@_part.function
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """The sum of second differences along `axes`."""
    x, kind = _wrap(_raw(input)), _kind(input, output)
    axes = _axes(x, axes)
    weights = _np.array([1.0, -2, 1])
    terms = [
        correlate1d(x, weights, a, kind, m, cval) for a, m in zip(axes, _each(mode, len(axes)), strict=True)
    ]
    return _done("laplace", _functools.reduce(_operator.add, terms), input, output)


@_part.function
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """`input` at `coordinates` (one row an axis): the nearest element (order 0) or multilinear between the
    nearest ones (order 1), in the modes 'constant', 'nearest' and 'grid-constant'.

    Raises ArgumentError for other orders and modes.
    """
    x, at = _input(input), _wrap(_raw(coordinates))
    if order not in (0, 1) or mode not in ("constant", "nearest", "grid-constant"):
        problem = f"order {order} in mode {mode!r} has no traced form; orders are 0 and 1"
        raise _ArgumentError(name="map_coordinates", problem=problem)
    if at.shape[0] != x.ndim:
        raise _ArgumentError(name="map_coordinates", problem="invalid shape for coordinate array")
    places: list[list[tuple[Any, Any]]] = []
    inside: Any = True
    for axis, n in enumerate(x.shape):
        c = at[axis].astype(_dtypes.float64)
        if mode == "nearest":
            c = _tnp.clip(c, 0, n - 1)
        elif mode == "constant":
            inside = (c >= 0) & (c <= n - 1) & inside
        low = _tnp.floor(c + 0.5) if order == 0 else _tnp.floor(c)
        places.append([(low, 1.0)] if order == 0 else [(low, 1 - (c - low)), (low + 1, c - low)])
    total: Any = 0.0
    for corner in _itertools.product(*places):
        index, weight, known = [], 1.0, True
        for (place, part), n in zip(corner, x.shape, strict=True):
            known = (place >= 0) & (place <= n - 1) & known
            index.append(_tnp.clip(place, 0, n - 1).astype(_dtypes.int64))
            weight = weight * part
        total = total + weight * _tnp.where(known, x[tuple(index)], cval)
    return _done("map_coordinates", _tnp.where(inside, total, cval), input, output)


__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "laplace",
    "map_coordinates",
    "maximum_filter",
    "median_filter",
    "minimum_filter",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

__getattr__, __dir__ = _part.others(__all__)
