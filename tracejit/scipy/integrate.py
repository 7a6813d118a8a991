"""`scipy.integrate` for traced values: integrals of samples. Other names are SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as _np

from tracejit import dtypes as _dtypes
from tracejit import numpy as _tnp
from tracejit.errors import ArgumentError as _ArgumentError
from tracejit.errors import SolverFailedError as _SolverFailedError
from tracejit.errors import SolverOptionError as _SolverOptionError
from tracejit.numpy.boxes.numbers import fail_if as _fail_if
from tracejit.numpy.operands import dtype_of as _dtype_of
from tracejit.numpy.operands import raw as _raw
from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.ops.building.dims import normalize_axis as _normalize_axis
from tracejit.scipy.integrating import ode as _ode
from tracejit.scipy.integrating import odeint as _odeint
from tracejit.scipy.integrating import quadrature as _quadrature
from tracejit.scipy.integrating import weighted as _weighted
from tracejit.scipy.integrating.boundaries import solver as _boundaries
from tracejit.scipy.integrating.vectorized import cubature as _cubature_rules
from tracejit.scipy.integrating.vectorized import elements as _elements
from tracejit.scipy.integrating.vectorized import sums as _sums
from tracejit.scipy.lazily import Part as _Part
from tracejit.tracing import to_raw as _to_raw
from tracejit.tracing import wrap as _wrap

_part = _Part("scipy.integrate", lambda: _scipy_module("integrate"))
solve_ivp = _part.solver(_ode.solve_ivp, _ode.OWN)
solve_bvp = _part.solver(_boundaries.solve_bvp)
odeint = _part.solver(_odeint.odeint)
quad = _part.solver(_weighted.quad)
quad_vec = _part.solver(_quadrature.quad_vec)
fixed_quad = _part.solver(_quadrature.fixed_quad)
dblquad = _part.solver(_quadrature.dblquad)
tplquad = _part.solver(_quadrature.tplquad)
nquad = _part.solver(_quadrature.nquad)
cubature = _part.solver(_cubature_rules.cubature)
nsum = _part.solver(_sums.nsum)
tanhsinh = _part.solver(_elements.tanhsinh)


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
    _check_points(y)
    out = _tnp.cumsum(d * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        out = _tnp.concatenate([_tnp.zeros_like(out, shape=(*out.shape[:-1], 1)), out], axis=-1)
    return _tnp.moveaxis(out, -1, axis)


def _check_points(y: Any) -> None:
    if not y.shape[-1]:
        raise ValueError("At least one point is required along `axis`.")


def _over(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is 0, as between two samples at one place."""
    if isinstance(b, (int, float)):
        return a / b if b else a * 0.0
    some = b != 0
    return _tnp.where(some, a / _tnp.where(some, b, 1.0), 0.0)


def _pairs(y: Any, h: Any) -> Any:
    """Simpson's rule on pairs of intervals of any widths: the parabola through each three points."""
    a, b, c = y[..., :-2:2], y[..., 1:-1:2], y[..., 2::2]
    if not getattr(h, "ndim", 0):
        return (h / 3 * (a + 4 * b + c)).sum(axis=-1)
    h0, h1 = h[..., ::2], h[..., 1::2]
    both = h0 + h1
    ratio = _over(h0, h1)
    terms = a * (2 - _over(1.0, ratio)) + b * (both * _over(both, h0 * h1)) + c * (2 - ratio)
    return (both / 6 * terms).sum(axis=-1)


@_part.function
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the composite Simpson's rule; of an odd number of intervals, the last one is integrated
    over the parabola through the last three samples (Cartwright 2017)."""
    y, h = _samples("simpson", y, x, dx, axis)
    n = y.shape[-1]
    if n % 2:
        return _pairs(y, h)
    ends = h[..., -2:] if getattr(h, "ndim", 0) else None
    if n == 2:
        return 0.5 * (h if ends is None else h[..., 0]) * (y[..., 0] + y[..., 1])
    before, last = (h, h) if ends is None else (ends[..., 0], ends[..., 1])
    inner = _pairs(y[..., :-1], h if ends is None else h[..., :-1])
    new = _over(2 * last**2 + 3 * before * last, 6 * (before + last))
    old = _over(last**2 + 3 * before * last, 6 * before)
    older = _over(last**3, 6 * before * (before + last))
    return inner + new * y[..., -1] + old * y[..., -2] - older * y[..., -3]


@_part.function
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The integrals up to each sample but the first, over the parabola through each sample and its neighbours
    (Cartwright 2017); `initial` is put in front, and added to them. `x` must increase."""
    y, h = _samples("cumulative_simpson", y, x, dx, axis)
    _check_points(y)
    if y.shape[-1] < 3:
        out = _tnp.cumsum(h * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    else:
        if x is not None:
            _check_increasing(h)
        h = _tnp.broadcast_to(h, (*y.shape[:-1], y.shape[-1] - 1))
        left = _first_intervals(y, h)
        right = _first_intervals(y[..., ::-1], h[..., ::-1])[..., ::-1]
        n = y.shape[-1] - 1
        even = _np.arange(n) % 2 == 0
        even[-1] = False
        pad = _tnp.zeros_like(left[..., :1])
        # The interval number i starts a parabola if i is even, and ends one otherwise; the last one ends one.
        steps = _tnp.where(
            even, _tnp.concatenate([left, pad], axis=-1), _tnp.concatenate([pad, right], axis=-1)
        )
        out = _tnp.cumsum(steps, axis=-1)
    if initial is not None:
        start = _tnp.broadcast_to(
            _tnp.moveaxis(_tnp.asarray(initial), axis, -1) if _tnp.ndim(initial) else initial,
            (*out.shape[:-1], 1),
        )
        out = _tnp.concatenate([start, out + start], axis=-1)
    return _tnp.moveaxis(out, -1, axis)


def _first_intervals(y: Any, h: Any) -> Any:
    """For each three samples, the integral of their parabola over the first of the two intervals."""
    a, b, c, f, g = y[..., :-2], y[..., 1:-1], y[..., 2:], h[..., :-1], h[..., 1:]
    both = f + g
    return f / 6 * ((3 - f / both) * a + (3 + f * f / (g * both) + f / both) * b - f * f / (g * both) * c)


def _check_increasing(h: Any) -> None:
    bad = _to_raw(_tnp.any(h <= 0))
    _fail_if(bad, _SolverFailedError, "Input x must be strictly increasing.")


@_part.function
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """The integral by Romberg's rule, of 2**k + 1 samples."""
    if show:
        raise _SolverOptionError(function="romb", problem="show=True", remedy="leave it away")
    y, _ = _samples("romb", y, None, dx, axis)
    n = y.shape[-1] - 1
    if n < 1 or n & (n - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h = n * _tnp.asarray(dx).astype(float)
    row = [(y[..., 0] + y[..., -1]) / 2.0 * h]
    step = n
    while step > 1:
        step //= 2
        h = h / 2
        new = [0.5 * (row[0] + 2 * h * y[..., step : n : 2 * step].sum(axis=-1))]
        for j, old in enumerate(row, 1):
            new.append(new[-1] + (new[-1] - old) / ((1 << (2 * j)) - 1))
        row = new
    return row[-1]


__all__ = [
    "cubature",
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "nsum",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_bvp",
    "solve_ivp",
    "tanhsinh",
    "tplquad",
    "trapezoid",
]

__getattr__, __dir__ = _part.others(__all__)
