"""`scipy.integrate` for traced values: integrals of samples. Other names are SciPy's."""

from __future__ import annotations

from typing import Any

from tracejit import dtypes as _dtypes
from tracejit import numpy as _tnp
from tracejit.errors import ArgumentError as _ArgumentError
from tracejit.numpy.operands import dtype_of as _dtype_of
from tracejit.numpy.operands import raw as _raw
from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.ops.building.dims import normalize_axis as _normalize_axis
from tracejit.scipy import ode as _ode
from tracejit.scipy.lazily import Part as _Part
from tracejit.tracing import wrap as _wrap

_part = _Part("scipy.integrate", lambda: _scipy_module("integrate"))
solve_ivp = _part.solver(_ode.solve_ivp)
odeint = _part.solver(_ode.odeint)


def _samples(name: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """The samples with their axis at the end, and the distances between them (a number where all are equal)."""
    y = _wrap(_raw(y))
    y = y if _dtypes.is_inexact(_dtype_of(_raw(y))) else y.astype(float)
    axis = _normalize_axis(name, axis, y.ndim)
    y = _tnp.moveaxis(y, axis, -1)
    if x is None:
        return y, dx
    x = _wrap(_raw(x))
    if x.shape[-1 if x.ndim == 1 else axis] != y.shape[-1]:
        raise _ArgumentError(name=name, problem="x and y have different lengths along the axis")
    return y, _tnp.diff(x if x.ndim == 1 else _tnp.moveaxis(x, axis, -1), axis=-1)


@_part.function
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    y, d = _samples("trapezoid", y, x, dx, axis)
    return (d * (y[..., 1:] + y[..., :-1]) / 2.0).sum(axis=-1)


@_part.function
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The integrals up to each sample but the first; `initial=0` puts a 0 in front."""
    if initial is not None and initial != 0:
        raise _ArgumentError(name="cumulative_trapezoid", problem="`initial` must be `None` or `0`")
    y, d = _samples("cumulative_trapezoid", y, x, dx, axis)
    out = _tnp.cumsum(d * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        out = _tnp.concatenate([_tnp.zeros_like(out, shape=(*out.shape[:-1], 1)), out], axis=-1)
    return _tnp.moveaxis(out, -1, axis)


def _pairs(y: Any, h: Any) -> Any:
    """Simpson's rule on pairs of intervals of any widths: the parabola through each three points."""
    a, b, c = y[..., :-2:2], y[..., 1:-1:2], y[..., 2::2]
    if not getattr(h, "ndim", 0):
        return (h / 3 * (a + 4 * b + c)).sum(axis=-1)
    h0, h1 = h[..., ::2], h[..., 1::2]
    both = h0 + h1
    terms = a * (2 - h1 / h0) + b * (both * both / (h0 * h1)) + c * (2 - h0 / h1)
    return (both / 6 * terms).sum(axis=-1)


@_part.function
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the composite Simpson's rule; of an odd number of intervals, the last one is integrated
    over the parabola through the last three samples (Cartwright 2017). Distances must not be 0."""
    y, h = _samples("simpson", y, x, dx, axis)
    n = y.shape[-1]
    if n % 2:
        return _pairs(y, h)
    ends = h[..., -2:] if getattr(h, "ndim", 0) else None
    if n == 2:
        return 0.5 * (h if ends is None else h[..., 0]) * (y[..., 0] + y[..., 1])
    before, last = (h, h) if ends is None else (ends[..., 0], ends[..., 1])
    inner = _pairs(y[..., :-1], h if ends is None else h[..., :-1])
    new = (2 * last**2 + 3 * before * last) / (6 * (before + last))
    old = (last**2 + 3 * before * last) / (6 * before)
    older = last**3 / (6 * before * (before + last))
    return inner + new * y[..., -1] + old * y[..., -2] - older * y[..., -3]


__all__ = ["cumulative_trapezoid", "odeint", "simpson", "solve_ivp", "trapezoid"]


def __getattr__(name: str) -> Any:
    return _part.other(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_scipy_module("integrate"))})
