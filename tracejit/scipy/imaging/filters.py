"""`scipy.ndimage`'s linear filters and filters by order.

Without traced values they are SciPy's own functions, as are names that are not here. Arrays of integers and
float32 are filtered in float64, and the result has the dtype of the input (or `output`, a dtype or an array).
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import dtype_of, raw, result_type, store
from tracejit.ops._lazy import scipy_module
from tracejit.ops.building.dims import normalize_axis
from tracejit.scipy.lazily import Part
from tracejit.tracing import caller, to_raw, wrap

PART = Part("scipy.ndimage", lambda: scipy_module("ndimage"))
#: SciPy's name for what lies beyond the edges -> NumPy's.
_MODES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip

#: Weights up to this number are written out as a sum, which fuses with what is around it. So are more of them where
#: the result has integers: it is cut off, and has to have SciPy's bits before that.
_MOST_TERMS = 16


def precise(x: Any) -> Any:
    """The input as a box in the precision that SciPy computes in."""
    kind = dtypes.complex128 if dtypes.is_complex(dtype_of(raw(x))) else dtypes.float64
    return wrap(raw(x)).astype(kind)


def kind_of(x: Any, output: Any) -> Any:
    """The dtype of the result; filters of several passes round to it after each."""
    if output is None:
        return dtype_of(raw(x))
    return np.dtype(output) if isinstance(output, (type, str, np.dtype)) else output.dtype


def done(name: str, result: Any, x: Any, output: Any) -> Any:
    """The result in the dtype that is asked for, or in the array that is given. Numbers are truth values if they are
    not zero once they are cut off."""
    kind = kind_of(x, output)
    cut = kind.kind == "b" and result.dtype.kind != "b"
    if cut and dtype_of(raw(x)).kind != "b":
        raise ArgumentError(
            name=name, problem="numbers as truth values, between axes any byte, have no traced form"
        )
    result = tnp.trunc(result) != 0 if cut else result.astype(kind)
    return (
        result if output is None or isinstance(output, (type, str, np.dtype)) else store(output, result, name)
    )


def each(value: Any, count: int) -> tuple[Any, ...]:
    """One value an axis, from one for all or a sequence."""
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value):
        if len(value) != count:
            raise ArgumentError(name="ndimage", problem=f"{len(value)} values for {count} axes")
        return tuple(value)
    return (value,) * count


def axes_of(x: Any, axes: Any) -> tuple[int, ...]:
    chosen = range(x.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(normalize_axis("ndimage", operator.index(a), x.ndim) for a in chosen)


def pad(x: Any, axis: int, before: int, after: int, mode: str, cval: Any) -> Any:
    if mode not in _MODES:
        raise ArgumentError(name="ndimage", problem=f"boundary mode {mode!r} is not one of {sorted(_MODES)}")
    options = {"constant_values": cval} if _MODES[mode] == "constant" else {}
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    return tnp.pad(x, widths, mode=_MODES[mode], **options)


def _reach(size: int, origin: int) -> tuple[int, int]:
    """How many elements before and after its place a window of `size` reads."""
    origin = operator.index(origin)
    if not -(size // 2) <= origin <= (size - 1) // 2:
        raise ArgumentError(name="ndimage", problem="invalid origin")
    return size // 2 + origin, size - 1 - size // 2 - origin


def _correlate1d(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int, kind: Any) -> Any:
    weights = wrap(raw(weights))
    if weights.ndim != 1 or not weights.shape[0]:
        raise ArgumentError(name="correlate1d", problem="no filter weights given")
    before, after = _reach(weights.shape[0], origin)
    padded = pad(x, axis, before, after, mode, cval)
    if weights.shape[0] > _MOST_TERMS and dtypes.is_inexact(kind):
        return _by_convolution(padded, weights, (axis,))
    padded = tnp.moveaxis(padded, axis, 0)
    n = x.shape[axis]
    parts = [padded[k : k + n] for k in range(weights.shape[0])]
    if dtypes.is_inexact(kind) or dtypes.is_complex(x.dtype):
        terms = [part * weights[k] for k, part in enumerate(parts)]
    else:
        terms = _in_scipys_order(parts, raw(weights))
    return tnp.moveaxis(functools.reduce(operator.add, terms), 0, axis)


def _in_scipys_order(parts: list[Any], weights: Any) -> list[Any]:
    """The terms of a correlation as SciPy adds them, whose sum is cut off: those of symmetric weights by pairs, after
    the middle one; the last one first of others. Raises ArgumentError for traced weights."""
    if isinstance(weights, Value):
        problem = "traced weights have no traced form where the result is of integers"
        raise ArgumentError(name="correlate1d", problem=problem)
    half, eps = len(parts) // 2, np.finfo(float).eps
    if len(parts) % 2:
        for sign in (1, -1):
            if np.all(np.abs(weights[:half] - sign * weights[:half:-1]) <= eps):
                pairs = zip(parts[:half], parts[:half:-1], weights, strict=False)
                return [parts[half] * weights[half], *((a + sign * b) * w for a, b, w in pairs)]
    return [parts[-1] * weights[-1], *(a * w for a, w in zip(parts[:-1], weights, strict=False))]


def _by_convolution(padded: Any, weights: Any, axes: tuple[int, ...]) -> Any:
    """The correlation along `axes` as one operation, whose size in the program is that of one."""
    dtype = result_type(padded, weights)
    x, last = padded.astype(dtype), tuple(range(-len(axes), 0))
    x = tnp.moveaxis(x, axes, last)
    rest, extents = x.shape[: -len(axes)], x.shape[-len(axes) :]
    out = ops.conv.plain_correlation(
        raw(x.reshape((-1, 1, *extents))), raw(weights.astype(dtype)[None, None])
    )
    sizes = tuple(n - k + 1 for n, k in zip(extents, weights.shape, strict=True))
    return tnp.moveaxis(wrap(out).reshape((*rest, *sizes)), last, axes)


@PART.function
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The correlation with a vector along one axis."""
    x = precise(input)
    axis = normalize_axis("correlate1d", axis, x.ndim)
    out = _correlate1d(x, weights, axis, mode, cval, origin, kind_of(input, output))
    return done("correlate1d", out, input, output)


@PART.function
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """The convolution with a vector along one axis."""
    w = wrap(raw(weights))[::-1]
    origin = -origin if w.shape[0] % 2 else -origin - 1
    return correlate1d(wrap(raw(input)), w, axis, output, mode, cval, origin)


def padded(x: Any, sizes: tuple[int, ...], axes: Any, mode: Any, cval: Any, origin: Any) -> Any:
    """x with what windows of these sizes read beyond its edges. For SciPy windows lie along the sorted axes, but some
    of its functions take their sizes in the order of `axes`."""
    if list(axes) != sorted(axes):
        raise ArgumentError(
            name="ndimage", problem="axes that are not in increasing order have no traced form"
        )
    places = zip(axes, sizes, each(origin, len(axes)), each(mode, len(axes)), strict=True)
    for axis, size, shift, how in places:
        x = pad(x, axis, *_reach(size, shift), how, cval)
    return x


def neighbours(x: Any, sizes: tuple[int, ...], axes: Any, mode: Any, cval: Any, origin: Any) -> Any:
    """For every element its window: x's shape, and the window's sizes in new axes at the end."""
    around = padded(x, sizes, axes, mode, cval, origin)
    return tnp.sliding_window_view(around, sizes, axis=axes)


@PART.function
def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The correlation with an array of weights."""
    x, w = precise(input), wrap(raw(weights))
    axes = axes_of(x, axes)
    if w.ndim != len(axes):
        raise ArgumentError(name="correlate", problem="weights have one axis for each filtered axis")
    if not isinstance(mode, str):
        raise ArgumentError(name="correlate", problem="a sequence of modes is not supported")
    if math.prod(w.shape) > _MOST_TERMS and dtypes.is_inexact(kind_of(input, output)):
        around = padded(x, w.shape, axes, mode, cval, origin)
        return done("correlate", _by_convolution(around, w, axes), input, output)
    windows = neighbours(x, w.shape, axes, mode, cval, origin)
    terms = (windows[(..., *at)] * w[at] for at in itertools.product(*map(range, w.shape)))
    return done("correlate", functools.reduce(operator.add, terms), input, output)


@PART.function
def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """The convolution with an array of weights."""
    w = wrap(raw(weights))
    origins = tuple(-o - (n % 2 == 0) for o, n in zip(each(origin, w.ndim), w.shape, strict=True))
    flipped = w[(slice(None, None, -1),) * w.ndim]
    return correlate(wrap(raw(input)), flipped, output, mode, cval, origins, axes=axes)


def _gaussian(sigma: float, order: int, radius: int) -> np.ndarray:
    """Weights of a Gaussian, or of its derivative: q(x) exp(-x²/2σ²) with q ← q' - x/σ² q for each order."""
    x = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 / (sigma * sigma) * x**2)
    q = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        q = q.deriv() - np.polynomial.Polynomial([0.0, 1 / (sigma * sigma)]) * q
    return q(x) * (bell / bell.sum())


@PART.function
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """The convolution with a Gaussian of a standard deviation of `sigma` elements, or with its derivative."""
    sigma = float(sigma)
    reach = int(truncate * sigma + 0.5) if radius is None else operator.index(radius)
    if order < 0 or reach < 0:
        raise ArgumentError(name="gaussian_filter1d", problem="order and radius must not be negative")
    weights = _gaussian(sigma, order, reach)[::-1]
    return correlate1d(wrap(raw(input)), weights, axis, output, mode, cval, 0)


@PART.function
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Gaussian filters along `axes`, one after the other."""
    x, kind = wrap(raw(input)), kind_of(input, output)
    axes = axes_of(x, axes)
    parts = zip(axes, *(each(v, len(axes)) for v in (sigma, order, mode, radius)), strict=True)
    for axis, s, k, how, reach in parts:
        if s > 1e-15:
            x = gaussian_filter1d(x, s, axis, k, kind, how, cval, truncate, radius=reach)
    return done("gaussian_filter", x, input, output)


@PART.function
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """Means of `size` elements along one axis."""
    if size < 1:
        raise ArgumentError(name="uniform_filter1d", problem="incorrect filter size")
    if dtypes.is_inexact(kind := kind_of(input, output)):
        return correlate1d(wrap(raw(input)), np.full(size, 1 / size), axis, output, mode, cval, origin)
    x = precise(input)
    axis = normalize_axis("uniform_filter1d", axis, x.ndim)
    _leave_fractions(x, dtype_of(raw(input)), size, cval if mode in ("constant", "grid-constant") else 0)
    sums = _correlate1d(x, np.ones(size), axis, mode, cval, origin, kind)
    return done("uniform_filter1d", sums / size, input, output)


def _leave_fractions(x: Any, kind: np.dtype, size: int, cval: Any) -> None:
    """SciPy's sum gains and loses an element at each place: in the end it has what the last bits of all have lost. So
    Python does the call unless `size` numbers of x and `cval` are integers whose sum is exact."""
    if not (isinstance(cval, (int, float, np.number)) and float(cval).is_integer()):
        raise ArgumentError(name="uniform_filter1d", problem="a fraction beyond the edges has no traced form")
    if (kind.kind not in "biu" or kind.itemsize > 4) and caller.does_over():
        exact = (tnp.trunc(x) == x) & (tnp.abs(x) < 2.0**53 / size)
        leave_if(to_raw(~tnp.all(exact)), "what the last bits of a sum have lost")


@PART.function
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Means of boxes of `size` elements."""
    x, kind = wrap(raw(input)), kind_of(input, output)
    axes = axes_of(x, axes)
    for axis, n, how, shift in zip(axes, *(each(v, len(axes)) for v in (size, mode, origin)), strict=True):
        x = uniform_filter1d(x, n, axis, kind, how, cval, shift) if n > 1 else x
    return done("uniform_filter", x, input, output)


def _by_order(name: str, pick: Any) -> Any:
    """A filter that chooses from the window's elements: `pick(elements, their number)`, elements last."""

    def filtered(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
        cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        x = wrap(raw(input))
        axes = axes_of(x, axes)
        if footprint is None and size is None:
            raise ArgumentError(name=name, problem="no footprint or filter size provided")
        sizes = each(size, len(axes)) if footprint is None else np.shape(footprint)
        windows = neighbours(x, tuple(map(operator.index, sizes)), axes, mode, cval, origin)
        elements = windows.reshape((*x.shape, math.prod(sizes)))
        if footprint is not None:
            elements = elements[..., np.flatnonzero(np.asarray(footprint))]
        return done(name, pick(elements, elements.shape[-1]), input, output)

    filtered.__name__ = filtered.__qualname__ = name
    filtered.__doc__ = f"`scipy.ndimage.{name}`, for traced values too."
    return PART.function(filtered)


maximum_filter = _by_order("maximum_filter", lambda x, n: x.max(axis=-1))
minimum_filter = _by_order("minimum_filter", lambda x, n: x.min(axis=-1))
median_filter = _by_order("median_filter", lambda x, n: tnp.sort(x, axis=-1)[..., n // 2])


def _edges(name: str, across: list[float]) -> Any:
    def edges(
        input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
    ) -> Any:  # fmt: skip
        x, kind = wrap(raw(input)), kind_of(input, output)
        if kind.kind == "b":
            raise ArgumentError(name=name, problem="differences as truth values have no traced form")
        axis = normalize_axis(name, axis, x.ndim)
        modes = each(mode, x.ndim)
        x = correlate1d(x, np.array([-1.0, 0, 1]), axis, kind, modes[axis], cval)
        for other in range(x.ndim):
            if other != axis:
                x = correlate1d(x, np.array(across), other, kind, modes[other], cval)
        return done(name, x, input, output)

    edges.__name__ = edges.__qualname__ = name
    edges.__doc__ = f"`scipy.ndimage.{name}`, for traced values too."
    return PART.function(edges)


sobel = _edges("sobel", [1.0, 2, 1])
prewitt = _edges("prewitt", [1.0, 1, 1])


@PART.function
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """The sum of second differences along `axes`."""
    x, kind = wrap(raw(input)), kind_of(input, output)
    axes = axes_of(x, axes)
    weights = np.array([1.0, -2, 1])
    terms = [
        correlate1d(x, weights, a, kind, m, cval) for a, m in zip(axes, each(mode, len(axes)), strict=True)
    ]
    return done("laplace", functools.reduce(operator.add, terms), input, output)


__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "laplace",
    "maximum_filter",
    "median_filter",
    "minimum_filter",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]
