"""Piecewise polynomials: PPoly, cubic Hermite interpolants, and those that choose their slopes (splines, PCHIP, Akima).

Sources: de Boor, A Practical Guide to Splines (cubic); Fritsch and Butland 1984, Moler 2004 (PCHIP); Akima 1970.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting.likeness import Like, as_array, floats, increasing, placed, refuse, require
from tracejit.scipy.interpolating.zeros import zeros_of
from tracejit.scipy.linalg import solve_banded


class PPoly(metaclass=Like):
    """`sum(c[k, i] * (t - x[i])**(K - k))` for t in the interval i; c: (K + 1, m, ...), x: (m + 1,)."""

    c: Any
    x: Any
    extrapolate: Any
    axis: int

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.x, c = increasing(x), floats(c)
        if axis:
            c = tnp.moveaxis(tnp.moveaxis(c, axis + 1, 0), axis + 1, 0)
        self._set(c, extrapolate, axis)

    def _set(self, c: Any, extrapolate: Any, axis: int) -> None:
        if c.ndim < 2 or c.shape[1] != self.x.size - 1:
            raise ValueError("number of coefficients != len(x)-1")
        self.c, self.axis = c, axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def __call__(self, x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        """The values, or the `nu`-th derivatives, at `x`."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        at = tnp.asarray(x).astype(float)
        t = at.reshape(-1)
        first, last = self.x[0], self.x[-1]
        if extrapolate == "periodic":
            t = first + tnp.mod(t - first, last - first)
        inside = (t >= first) & (t <= last) if not extrapolate else None
        out = self._at(t, operator.index(nu))
        if inside is not None:
            out = tnp.where(inside.reshape(-1, *[1] * (out.ndim - 1)), out, np.nan)
        return placed(out.reshape(*at.shape, *out.shape[1:]), at.ndim, self.axis)

    def _at(self, t: Any, nu: int) -> Any:
        i = tnp.clip(
            tnp.searchsorted(lax.stop_gradient(self.x), lax.stop_gradient(t), "right") - 1, 0, self.x.size - 2
        )
        return self.in_intervals(t, nu, i)

    def in_intervals(self, t: Any, nu: int, i: Any) -> Any:
        """The derivatives at places that lie in the intervals `i`."""
        c = self.c[:, i]
        s = (t - self.x[i]).reshape(-1, *[1] * (c.ndim - 2))
        degree = self.c.shape[0] - 1
        out = tnp.zeros_like(c[0]) * s
        for k in range(degree - nu + 1):
            out = out * s + c[k] * float(math.perm(degree - k, nu))
        return out

    def derivative(self, nu: int = 1) -> Any:
        """The piecewise polynomial of the `nu`-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        degree = self.c.shape[0] - 1
        if nu > degree:
            c = tnp.zeros_like(self.c[:1])
        else:
            factors = np.array([float(math.perm(degree - k, nu)) for k in range(degree - nu + 1)])
            c = self.c[: degree - nu + 1] * factors.reshape(-1, *[1] * (self.c.ndim - 1))
        return PPoly.made(c=c, x=self.x, extrapolate=self.extrapolate, axis=self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """The piecewise polynomial of the `nu`-th integral, continuous, 0 at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            n = c.shape[0]
            c = c / np.arange(n, 0, -1.0).reshape(-1, *[1] * (c.ndim - 1))
            c = tnp.concatenate([c, tnp.zeros_like(c[:1])])
            h = tnp.diff(self.x).reshape(-1, *[1] * (c.ndim - 2))
            ends = c[0] * h
            for row in c[1:-1]:
                ends = (ends + row) * h
            starts = tnp.concatenate([tnp.zeros_like(ends[:1]), tnp.cumsum(ends, axis=0)[:-1]])
            c = tnp.concatenate([c[:-1], starts[None]])
        kept = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly.made(c=c, x=self.x, extrapolate=kept, axis=self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            refuse("PPoly.integrate", 'extrapolate="periodic"', "integrate within one period")
        f = self.antiderivative()
        f.axis = 0
        return as_array(f(b, extrapolate=extrapolate) - f(a, extrapolate=extrapolate))

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Where it is zero, in order of the intervals."""
        return self.solve(0.0, discontinuity, extrapolate)

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Where it is `y`, in order of the intervals; of one polynomial in each interval."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if self.c.ndim != 2 or self.c.dtype.kind == "c":
            refuse("PPoly.solve", "several or complex polynomials", "solve for one of them at a time")
        y = tnp.asarray(y).astype(float)
        if y.ndim:
            raise ValueError("`y` must be a scalar.")

        def find(c: Any, x: Any, y: Any) -> Any:
            found = scipy_module("interpolate").PPoly(c, x).solve(y, discontinuity, extrapolate)
            # Zeros far away are there or not by how coefficients are rounded.
            far = 1e6 * (abs(x[0]) + abs(x[-1]))
            return found if np.all(np.abs(found) <= far) else np.array([np.nan])

        most = self.c.shape[0] * (self.c.shape[1] + 1)
        told = "where a piecewise polynomial has a value in a whole interval, or far away"
        return zeros_of(lambda t: self._at(t, 0) - y, find, most, told, self.c, self.x, y)


def _data(x: Any, y: Any, axis: int, least: int = 2) -> tuple[Any, Any, Any]:
    """The breakpoints, their distances (with the data's dimensions), and the data with its axis in front."""
    x, y = increasing(x), floats(y)
    axis = operator.index(axis) % y.ndim
    if x.size != y.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    if x.size < least:
        raise ValueError(f"`x` must contain at least {least} elements.")
    require(tnp.all(tnp.isfinite(y)), "`y` must contain only finite values.")
    y = tnp.moveaxis(y, axis, 0)
    return x, tnp.diff(x).reshape(-1, *[1] * (y.ndim - 1)), y


class CubicHermiteSpline(PPoly):
    """The piecewise cubic with values `y` and slopes `dydx` at `x`."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, h, y = _data(x, y, axis)
        ndim = y.ndim
        self._hermite(x, h, y, tnp.moveaxis(floats(dydx), axis, 0), axis % ndim, extrapolate)

    def _hermite(self, x: Any, h: Any, y: Any, s: Any, axis: int, extrapolate: Any) -> None:
        slope = tnp.diff(y, axis=0) / h
        t = (s[:-1] + s[1:] - 2 * slope) / h
        self.x = x
        self._set(tnp.stack([t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1]]), extrapolate, axis)


class CubicSpline(CubicHermiteSpline):
    """The cubic spline through (x, y): twice continuously differentiable, with the conditions `bc_type` at the ends."""

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, h, y = _data(x, y, axis)
        ends = [bc_type] * 2 if isinstance(bc_type, str) else list(bc_type)
        periodic = [isinstance(e, str) and e == "periodic" for e in ends]
        if any(periodic):
            if not all(periodic):
                raise ValueError(
                    "'periodic' `bc_type` is defined for both curve ends and cannot be used with other boundary "
                    "conditions."
                )
            s = _periodic_slopes(x, h, y)
            kept = "periodic" if extrapolate is None else extrapolate
            self._hermite(x, h, y, s, axis % y.ndim, kept)
            return
        s = _spline_slopes(x, h, y, [_condition(e, y) for e in ends])
        self._hermite(x, h, y, s, axis % y.ndim, extrapolate)


def _periodic_slopes(x: Any, h: Any, y: Any) -> Any:
    """The slopes at the points where the ends are one point."""
    same = tnp.abs(y[0] - y[-1]) <= 1e-15 + 1e-15 * tnp.abs(y[-1])
    require(tnp.all(same), "The first and last `y` point must be identical (within machine precision).")
    n, w, d = x.size - 1, tnp.diff(x), tnp.diff(y, axis=0) / h
    if n == 1:
        return tnp.zeros_like(y)
    last = np.roll(np.arange(n), 1)  # the interval before each point
    one = np.eye(n)
    matrix = (
        one * (2 * (w[last] + w))[:, None]
        + one[last] * w[:, None]
        + one[np.roll(np.arange(n), -1)] * w[last][:, None]
    )
    right = 3 * (h * d[last] + h[last] * d)
    s = tnp.linalg.solve(matrix, right.reshape(n, -1)).reshape(right.shape)
    return tnp.concatenate([s, s[:1]])


def _condition(bc: Any, y: Any) -> Any:
    """A condition: "not-a-knot", or (order of the derivative, its values)."""
    if isinstance(bc, str):
        if bc == "not-a-knot":
            return bc
        if bc not in ("clamped", "natural"):
            raise ValueError(f"bc_type={bc} is not allowed.")
        return (1 if bc == "clamped" else 2), tnp.zeros_like(y[0])
    order, value = bc
    if order not in (1, 2):
        raise ValueError("The specified derivative order must be 1 or 2.")
    value = floats(value)
    if value.shape != y.shape[1:]:
        raise ValueError(f"`deriv_value` shape {value.shape} is not the expected one {y.shape[1:]}.")
    return order, value


def _spline_slopes(x: Any, h: Any, y: Any, ends: list[Any]) -> Any:
    """The slopes at the points, by the equations of a continuous second derivative."""
    n, d = x.size, tnp.diff(y, axis=0) / h
    free = [isinstance(e, str) for e in ends]
    if n == 2:
        ends = [(1, d[0]) if f else e for e, f in zip(ends, free, strict=True)]
    elif n == 3 and all(free):  # both conditions are the same one: the parabola
        curve = (d[1] - d[0]) / (h[0] + h[1])
        return tnp.stack([d[0] - curve * h[0], d[0] + curve * h[0], d[1] + curve * h[1]])
    w = tnp.diff(x)
    first = _end_row(ends[0], w[0], w[1] if n > 2 else w[0], h[0], d[0], d[1] if n > 2 else d[0], 1)
    last = _end_row(ends[1], w[-1], w[-2] if n > 2 else w[-1], h[-1], d[-1], d[-2] if n > 2 else d[-1], -1)
    diagonal = tnp.concatenate([first[0][None], 2 * (w[:-1] + w[1:]), last[0][None]])
    upper = tnp.concatenate([tnp.zeros(1), first[1][None], w[:-1]])
    lower = tnp.concatenate([w[1:], last[1][None], tnp.zeros(1)])
    inner = 3 * (h[1:] * d[:-1] + h[:-1] * d[1:])
    right = tnp.concatenate([first[2][None], inner, last[2][None]])
    s = solve_banded((1, 1), tnp.stack([upper, diagonal, lower]), right.reshape(n, -1))
    return s.reshape(right.shape)


def _end_row(end: Any, w: Any, w2: Any, h: Any, d: Any, d2: Any, side: int) -> tuple[Any, Any, Any]:
    """The equation at an end: the coefficient of its slope and of the next one's, and the right-hand side. `w` is the
    interval there, `w2` the next one; `h` and `d` are its width and slope."""
    if isinstance(end, str):
        both = w + w2
        return w2, both, ((h + 2 * both) * w2 * d + h**2 * d2) / both
    order, value = end
    if order == 1:
        return tnp.ones_like(w), tnp.zeros_like(w), value + 0 * d
    return 2 * w, w, -side * 0.5 * value * h**2 + 3 * d * h


class PchipInterpolator(CubicHermiteSpline):
    """The monotone piecewise cubic through (x, y)."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, h, y = _data(x, y, axis)
        if y.dtype.kind == "c":
            raise ValueError("`PchipInterpolator` only works with real values for `y`.")
        self._hermite(x, h, y, pchip_slopes(h, y), axis % y.ndim, extrapolate)


def pchip_slopes(h: Any, y: Any) -> Any:
    """The slopes of the monotone interpolant of `y` along its first axis, with the distances `h` of its points."""
    d = tnp.diff(y, axis=0) / h
    if y.shape[0] == 2:
        return tnp.concatenate([d, d])
    flat = (tnp.sign(d[1:]) != tnp.sign(d[:-1])) | (d[1:] == 0) | (d[:-1] == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    a, b = tnp.where(flat, 1.0, d[:-1]), tnp.where(flat, 1.0, d[1:])
    mean = tnp.where(flat, 0.0, (w1 + w2) / (w1 / a + w2 / b))
    first = _pchip_end(h[0], h[1], d[0], d[1])
    last = _pchip_end(h[-1], h[-2], d[-1], d[-2])
    return tnp.concatenate([first[None], mean, last[None]])


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The values, or derivatives, at `x` of the monotone piecewise cubic through (xi, yi)."""
    p = PchipInterpolator(xi, yi, axis=axis)
    if isinstance(der, int):
        return p(x) if der == 0 else p.derivative(der)(x)
    return [p.derivative(nu)(x) for nu in der]


def _pchip_end(h0: Any, h1: Any, d0: Any, d1: Any) -> Any:
    """By three points, which keeps the shape."""
    s = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    wrong = tnp.sign(s) != tnp.sign(d0)
    steep = (tnp.sign(d0) != tnp.sign(d1)) & (tnp.abs(s) > 3 * tnp.abs(d0))
    return tnp.where(wrong, 0.0, tnp.where(steep, 3 * d0, s))


class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's piecewise cubic through (x, y), or the modified one ("makima")."""

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, h, y = _data(x, y, axis)
        if y.dtype.kind == "c":
            raise ValueError("`Akima1DInterpolator` only works with real values for `y`.")
        kept = False if extrapolate is None else extrapolate
        slopes = _akima_slopes(h, y, method) if x.size > 2 else tnp.concatenate([tnp.diff(y, axis=0) / h] * 2)
        self._hermite(x, h, y, slopes, axis % y.ndim, kept)


def _akima_slopes(h: Any, y: Any, method: str) -> Any:
    d = tnp.diff(y, axis=0) / h
    before, after = 2 * d[0] - d[1], 2 * d[-1] - d[-2]
    m = tnp.concatenate([(2 * before - d[0])[None], before[None], d, after[None], (2 * after - d[-1])[None]])
    change = tnp.abs(tnp.diff(m, axis=0))
    if method == "makima":
        change = change + tnp.abs(m[1:] + m[:-1]) / 2
    left, right = change[2:], change[:-2]
    both = left + right
    level = lax.stop_gradient(both)
    there = level > 1e-9 * tnp.max(level, initial=-np.inf)
    safe = tnp.where(there, both, 1.0)
    weighted = (left * m[1:-2] + right * m[2:-1]) / safe
    return tnp.where(there, weighted, 0.5 * (m[3:] + m[:-3]))
