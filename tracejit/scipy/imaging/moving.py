"""`scipy.ndimage`'s functions that move images by splines of order 0 to 5."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import raw, store
from tracejit.scipy.imaging import splines
from tracejit.scipy.imaging.filters import PART, kind_of, precise
from tracejit.tracing import caller, to_raw, wrap


def check(name: str, order: Any, mode: Any, ndim: int = 1) -> None:
    if type(order) is not int or not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in splines.MODES:
        raise ArgumentError(
            name=name, problem=f"boundary mode {mode!r} is not one of {sorted(splines.MODES)}"
        )
    if (order + 1) ** ndim > splines.MOST_TERMS:
        raise ArgumentError(name=name, problem=f"order {order} in {ndim} dimensions has no traced form")


def given(name: str, out: Any, x: Any, output: Any) -> Any:
    """The result in the dtype that is asked for: integers are rounded, halves away from zero. Where the last bits
    decide an integer or a truth value, Python does the call."""
    kind = kind_of(x, output)
    if kind.kind in "biu" and caller.does_over():
        near = tnp.abs(out - tnp.floor(out) - 0.5) < 1e-9 * (1 + tnp.abs(out))
        near = (out != 0) & (out != 1) if kind.kind == "b" else near
        leave_if(to_raw(tnp.any(near)), "a number that the last bits round up or down")
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        out = tnp.clip(tnp.trunc(out + tnp.where(out > 0, 0.5, -0.5)), float(limits.min), float(limits.max))
    out = tnp.trunc(out) != 0 if kind.kind == "b" else out.astype(kind)
    asked = output is None or isinstance(output, (type, str, np.dtype))
    return out if asked else store(output, out, name)


def _whole(x: Any, output: Any) -> bool:
    return kind_of(x, output).kind in "iu"


def _each(value: Any, count: int) -> list[Any]:
    if np.ndim(value):
        made = tnp.asarray(value)
        if made.shape != (count,):
            raise RuntimeError("sequence argument must have length equal to input rank")
        return [made[k] for k in range(count)]
    return [value] * count


@PART.function
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Any:
    """The coefficients of the spline through the elements, along one axis."""
    check("spline_filter1d", order, mode)
    x = precise(input)
    output = np.complex128 if output is np.float64 and dtypes.is_complex(x.dtype) else output
    return given("spline_filter1d", splines.coefficients(x, order, axis % x.ndim, mode), input, output)


@PART.function
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients of the spline through the elements."""
    check("spline_filter", order, mode)
    x = precise(input)
    if order < 2:
        raise RuntimeError("spline order not supported")
    for axis in range(x.ndim):
        x = splines.coefficients(x, order, axis, mode)
    output = np.complex128 if output is np.float64 and dtypes.is_complex(x.dtype) else output
    return given("spline_filter", x, input, output)


@PART.function
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The spline of that order through `input` at `coordinates` (one row an axis). Differentiable by both."""
    x, at = precise(input), wrap(raw(coordinates)).astype(float)
    check("map_coordinates", order, mode, x.ndim)
    if at.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    x, pads = splines.filtered(x, order, mode, cval, prefilter)
    out = splines.values(x, [at[k] + pads for k in range(x.ndim)], order, mode, cval)
    return given("map_coordinates", out, input, output)


@PART.function
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image moved by `shift` elements along each axis. Differentiable by both."""
    x = precise(input)
    check("shift", order, mode)
    ways = _each(shift, x.ndim)
    sizes = x.shape
    x, pads = splines.filtered(x, order, mode, cval, prefilter)
    places = [np.arange(n) - by + pads + tnp.zeros(n) for n, by in zip(sizes, ways, strict=True)]
    return given("shift", splines.by_axes(x, places, order, mode, cval, _whole(input, output)), input, output)


@PART.function
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    """The image with `zoom` times as many elements along each axis; these numbers are known while tracing."""
    x = precise(input)
    check("zoom", order, mode)
    factors = [float(f) for f in _each(zoom, x.ndim)]
    sizes, wanted = x.shape, [round(n * f) for n, f in zip(x.shape, factors, strict=True)]
    if all(f == 1 for f in factors) and prefilter:
        return given("zoom", x, input, output)
    x, pads = splines.filtered(x, order, mode, cval, prefilter)
    places = []
    for n, m in zip(sizes, wanted, strict=True):
        whole, parts = (n, m) if grid_mode else (n - 1, m - 1)
        step = whole / parts if parts else 1.0
        grid = (np.arange(m) + 0.5) * step - 0.5 if grid_mode else np.arange(m) * step
        places.append(wrap(raw(grid + pads)))
    return given("zoom", splines.by_axes(x, places, order, mode, cval, _whole(input, output)), input, output)


@PART.function
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The spline at `matrix` times each place of the result, plus `offset`. Differentiable by all three."""
    x, a = precise(input), wrap(raw(matrix)).astype(float)
    check("affine_transform", order, mode, 1 if a.ndim == 1 else x.ndim)
    shape = x.shape if output_shape is None else tuple(map(int, output_shape))
    if a.ndim == 2 and a.shape[1] == x.ndim + 1 and a.shape[0] in (x.ndim, x.ndim + 1):
        offset, a = a[: x.ndim, x.ndim], a[: x.ndim, : x.ndim]
    if a.shape[0] != x.ndim or (a.ndim == 2 and a.shape[1] != len(shape)) or a.ndim not in (1, 2):
        raise RuntimeError("affine matrix has wrong number of rows")
    moved = _each(offset, x.ndim)
    x, pads = splines.filtered(x, order, mode, cval, prefilter)
    if a.ndim == 1:
        places = [np.arange(n) * a[k] + moved[k] + pads for k, n in enumerate(shape)]
        return given(
            "affine_transform",
            splines.by_axes(x, places, order, mode, cval, _whole(input, output)),
            input,
            output,
        )
    grid = [g.astype(float) for g in np.indices(shape)]
    places = [sum(a[k, j] * g for j, g in enumerate(grid)) + moved[k] + pads for k in range(x.ndim)]
    return given("affine_transform", splines.values(x, places, order, mode, cval), input, output)


__all__ = ["affine_transform", "map_coordinates", "shift", "spline_filter", "spline_filter1d", "zoom"]
