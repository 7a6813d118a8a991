"""Differences, slopes, integrals, interpolation, unwrapping of phases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, ShapeError
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.masking.calls import require_some
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.arrays.joining import concatenate
from tracejit.numpy.functions.arrays.shaping import box_of, moveaxis, reshape
from tracejit.numpy.functions.order.searching import searchsorted
from tracejit.numpy.functions.order.selection import clip, take, where
from tracejit.numpy.functions.statistics.reductions import axes_of, axis_of, single_axis
from tracejit.numpy.operands import cast, dtype_of, raw, result_type, shape_of
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import wrap


@implements(np.diff, "diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th difference along an axis, after values put in front and behind."""
    x = box_of(a)
    if not x.ndim:
        raise ArgumentError(name="diff", problem="diff requires input that is at least one dimensional")
    if n < 0:
        raise ArgumentError(name="diff", problem=f"order must be non-negative but got {n}")
    if n == 0:
        return a
    k = axis_of("diff", axis, x.ndim)
    before, after = (_end(e, x, k) for e in (prepend, append))
    parts = [p for p in (before, x, after) if p is not None]
    x = concatenate(parts, k) if len(parts) > 1 else x
    head = (slice(None),) * k
    for _ in range(n):
        hi, lo = x[(*head, slice(1, None))], x[(*head, slice(None, -1))]
        x = hi != lo if x.dtype.kind == "b" else hi - lo
    return x


def _end(value: Any, x: Any, k: int) -> Any:
    if value is None or value is np._NoValue:
        return None
    e = box_of(value)
    return e if e.ndim else NP[np.broadcast_to](e, tuple(1 if j == k else d for j, d in enumerate(x.shape)))


@implements(np.ediff1d, "ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of the flattened array, with values around; of the array's dtype."""
    x = reshape(ary, (-1,))
    parts = [x[1:] - x[:-1]]
    for value, first in ((to_begin, True), (to_end, False)):
        if value is not None:
            v = box_of(value)
            if not np.can_cast(v.dtype, x.dtype, "same_kind"):
                problem = "dtype of `to_begin` and `to_end` must be compatible with `ary` under the `same_kind` rule"
                raise ArgumentTypeError(name="ediff1d", problem=problem)
            parts.insert(0 if first else len(parts), reshape(v, (-1,)).astype(x.dtype))
    return concatenate(parts)


@implements(np.gradient, "gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes by differences of second order inside and of `edge_order` (1 or 2) at the ends.

    `varargs`: nothing, one distance, or for each axis a distance or the coordinates.
    """
    x = box_of(f)
    axes = axes_of("gradient", axis, x.ndim)
    if x.dtype.kind == "b" and axes:
        raise ArgumentTypeError(name="gradient", problem="truth values can't be subtracted")
    x = x if dtypes.is_inexact(x.dtype) else x.astype(float)
    if edge_order not in (1, 2):
        raise ArgumentError(name="gradient", problem="'edge_order' greater than 2 not supported")
    steps = _steps(x, axes, varargs)
    out = [_slope(x, h, k, edge_order) for h, k in zip(steps, axes, strict=True)]
    return out[0] if len(out) == 1 else tuple(out)


def _steps(x: Any, axes: tuple[int, ...], given: tuple[Any, ...]) -> list[Any]:
    """For each axis a number, or the distances of neighbours."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and not shape_of(raw(given[0])):
        return list(given) * len(axes)
    if len(given) != len(axes):
        raise ArgumentTypeError(name="gradient", problem="invalid number of arguments")
    return [_distances(h, x.shape[k]) for h, k in zip(given, axes, strict=True)]


def _distances(h: Any, n: Any) -> Any:
    shape = shape_of(raw(h))
    if not shape:
        return h
    if len(shape) != 1:
        raise ArgumentError(name="gradient", problem="distances must be either scalars or 1d")
    if shape[0] != n:
        raise ArgumentError(
            name="gradient", problem="when 1d, distances must match the length of the corresponding dimension"
        )
    c = box_of(h)
    d = diff(c if dtypes.is_inexact(c.dtype) else c.astype(float))
    known = extents.known(raw(d)) if not isinstance(raw(d), ops.values.Value) else None
    return d[0] if known is not None and (known == known[0]).all() else d


def _slope(x: Any, h: Any, k: int, order: int) -> Any:
    if type(x.shape[k]) is int and x.shape[k] < order + 1:
        raise ArgumentError(
            name="gradient",
            problem="shape of array too small: at least (edge_order + 1) elements are required",
        )

    def cut(a: int | None, b: int | None) -> Any:
        return x[(slice(None),) * k + (slice(a, b),)]

    even = not shape_of(raw(h))
    low = [cut(n, n + 1) for n in range(order + 1)]
    high = [cut(-1 - n, -n or None) for n in range(order + 1)]
    if even:
        inner = (cut(2, None) - cut(None, -2)) / (2.0 * h)
        first, last = _ends(low, h, h, order), -_ends(high, h, h, order)
        return concatenate([first, inner, last], k).astype(x.dtype)
    d = box_of(h)
    first = _ends(low, d[0], d[1] if order == 2 else d[0], order)
    last = -_ends(high, d[-1], d[-2] if order == 2 else d[-1], order)
    a, b = d[:-1], d[1:]
    wide = (-1,) + (1,) * (x.ndim - k - 1)
    left, middle, right = -b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))
    inner = sum(
        reshape(w, wide) * part
        for w, part in zip((left, middle, right), (cut(None, -2), cut(1, -1), cut(2, None)), strict=True)
    )
    return concatenate([first, inner, last], k).astype(x.dtype)


def _ends(values: list[Any], a: Any, b: Any, order: int) -> Any:
    """The slope at the first of two or three values with the distances a and b between them."""
    if order == 1:
        return (values[1] - values[0]) / a
    weights = -(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))
    return weights[0] * values[0] + weights[1] * values[1] + weights[2] * values[2]


@implements(np.trapezoid, "trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    y = box_of(y)
    axis = single_axis("trapezoid", axis, y.ndim)
    y = moveaxis(y, axis, -1)
    if x is not None:
        x = box_of(x)
        dx = diff(x) if x.ndim == 1 else diff(moveaxis(x, axis, -1))
    return (dx * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


@implements(np.unwrap, "unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """Jumps of more than half a period removed; integers stay integers for an integer period."""
    x = box_of(p)
    axis = single_axis("unwrap", axis, x.ndim)
    x = moveaxis(x, axis, -1)
    d = diff(x)
    dtype = result_type(d, period)
    whole = dtype.kind in "iu"
    high = period // 2 if whole else period / 2
    low = -high
    wrapped = TABLE["remainder"](d - low, period) + low
    if not whole or period % 2 == 0:
        wrapped = where((wrapped == low) & (d > 0), high, wrapped)
    fix = where(TABLE["absolute"](d) < (period / 2 if discont is None else discont), 0, wrapped - d)
    fix = fix.astype(dtype)
    out = concatenate([x[..., :1].astype(dtype), x[..., 1:] + NP[np.cumsum](fix, -1)], -1)
    return moveaxis(out.astype(dtype), -1, axis)


@implements(np.interp, "interp", arrays=False)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Piecewise linear interpolation in increasing `xp` (in any order with a `period`).

    The derivative with respect to `x` is the slope of the piece to the right, 0 outside.
    """
    if "c" in (dtype_of(raw(x)).kind, dtype_of(raw(xp)).kind):
        raise ArgumentTypeError(name="interp", problem="cannot cast complex x or xp to float64")
    x, xp, fp = (wrap(_double(v)) for v in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1:
        raise ShapeError(
            op="interp", problem="object too deep for desired array: data points are 1-D sequences"
        )
    if shape_of(xp) != shape_of(fp):
        raise ArgumentError(name="interp", problem="fp and xp are not of the same length")
    require_some("interp", extents.of_dim(shape_of(xp)[0]), problem="array of sample points is empty")
    if period is not None:
        x, xp, fp, left, right = _periodic(x, xp, fp, period)
    n = xp.shape[0]
    last = max(n - 1, 1) if type(n) is int else TABLE["maximum"](n - 1, 1)
    i = clip(searchsorted(xp, x, side="right"), 1, last)
    j = TABLE["minimum"](i, n - 1)
    x0, x1, f0, f1 = take(xp, i - 1), take(xp, j), take(fp, i - 1), take(fp, j)
    same = x1 == x0
    slope = (f1 - f0) / where(same, 1.0, x1 - x0)
    out = where(same, f1, f0 + (x - x0) * slope)
    out = where(x == x1, f1, out)
    out = where(x < xp[0], fp[0] if left is None else left, out)
    out = where(x > xp[-1], fp[-1] if right is None else right, out)
    return where(TABLE["isnan"](x), x, out)


def _double(v: Any) -> Any:
    r = raw(v)
    return cast(r, dtypes.complex128 if dtype_of(r).kind == "c" else dtypes.float64)


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, ...]:
    if type(period) in (int, float) and period == 0:
        raise ArgumentError(name="interp", problem="period must be a non-zero value")
    period = TABLE["absolute"](period)
    x, xp = TABLE["remainder"](x, period), TABLE["remainder"](xp, period)
    order = NP[np.argsort](xp)
    xp, fp = xp[order], fp[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]]), None, None
