"""Interpolation of data on a line or a grid: interp1d, RegularGridInterpolator, interpn."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from tracejit import dtypes, lax
from tracejit import numpy as tnp
from tracejit.scipy.hosting.likeness import Like, floats, increasing, placed, refuse, require
from tracejit.scipy.interpolating.piecewise import pchip_slopes
from tracejit.scipy.interpolating.splines import basis, knots_of, make_interp_spline, slope_of, value_at

_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
#: Methods of grids -> degrees of splines.
_SPLINES = {
    f"{name}{legacy}": k
    for name, k in (("slinear", 1), ("cubic", 3), ("quintic", 5))
    for legacy in ("", "_legacy")
}
_STEPS = ("nearest", "nearest-up", "previous", "next")


class interp1d(metaclass=Like):
    """A function through (x, y): linear, by steps, or a spline."""

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: Any = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        x, y = tnp.asarray(x).astype(float), floats(y)
        self.kind = (
            kind if isinstance(kind, str) else next((n for n, d in _DEGREES.items() if d == kind), kind)
        )
        if self.kind not in ("linear", *_STEPS, *_DEGREES):
            refuse("interp1d", f"kind={kind!r}", "use make_interp_spline")
        self.axis = axis % y.ndim
        y = tnp.moveaxis(y, self.axis, 0)
        if x.size != y.shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = tnp.argsort(lax.stop_gradient(x), kind="mergesort")
            x, y = x[order], y[order]
        self.x, self.y = x, y
        self.extrapolates = isinstance(fill_value, str)
        if self.extrapolates and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        given = bounds_error is False or isinstance(fill_value, tuple) or not _is_nan(fill_value)
        self.bounds_error = not self.extrapolates and (
            bounds_error is True or (bounds_error is None and not given)
        )
        if self.extrapolates and self.kind in ("previous", "next"):  # known on one side only
            fill_value = (np.nan, y[-1]) if self.kind == "previous" else (y[0], np.nan)
            self.extrapolates = False
        self.fill = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
        if self.kind in _DEGREES:
            self.spline = make_interp_spline(x, y, _DEGREES[self.kind])

    def __call__(self, x: Any) -> Any:
        """The values at `x`."""
        at = tnp.asarray(x).astype(float)
        p = at.reshape(-1)
        out = self.spline(p) if self.kind in _DEGREES else self._at(p)
        below, above = p < self.x[0], p > self.x[-1]
        if self.bounds_error:
            require(
                ~(tnp.any(below) | tnp.any(above)), "A value in x_new is outside of the interpolation range."
            )
        elif not self.extrapolates:
            tail = [1] * (out.ndim - 1)
            out = tnp.where(below.reshape(-1, *tail), self.fill[0], out)
            out = tnp.where(above.reshape(-1, *tail), self.fill[1], out)
        return placed(out.reshape(*at.shape, *out.shape[1:]), at.ndim, self.axis)

    def _at(self, p: Any) -> Any:
        x, y, n = lax.stop_gradient(self.x), self.y, self.x.size
        q = lax.stop_gradient(p)
        if self.kind == "linear":
            i = tnp.clip(tnp.searchsorted(x, q), 1, n - 1)
            low, high = self.x[i - 1], self.x[i]
            w = (p - low).reshape(-1, *[1] * (y.ndim - 1))
            slope = (y[i] - y[i - 1]) / (high - low).reshape(-1, *[1] * (y.ndim - 1))
            return slope * w + y[i - 1]
        if self.kind == "previous":
            i = tnp.searchsorted(tnp.nextafter(x, -np.inf), q) - 1
        elif self.kind == "next":
            i = tnp.searchsorted(tnp.nextafter(x, np.inf), q)
        else:  # halves go down, or up
            i = tnp.searchsorted((x[1:] + x[:-1]) / 2, q, "left" if self.kind == "nearest" else "right")
        out = y[tnp.clip(i, 0, n - 1)]
        return tnp.where(tnp.isnan(q).reshape(-1, *[1] * (y.ndim - 1)), np.nan, out)


def _is_nan(x: Any) -> bool:
    return isinstance(x, float) and x != x


class RegularGridInterpolator(metaclass=Like):
    """A function through values on a grid of any number of dimensions: "linear", "nearest", a spline ("slinear",
    "cubic", "quintic") or "pchip". Splines are solved for exactly, whatever `solver` says."""

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        _check_method("RegularGridInterpolator", method)
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.grid = tuple(increasing(p, "The points must be strictly ascending.") for p in points)
        values = tnp.asarray(values)
        self.values = floats(values)
        self.dtype = values.dtype if values.dtype.kind in "fc" else self.values.dtype
        if len(self.grid) > self.values.ndim:
            raise ValueError(
                f"There are {len(self.grid)} point arrays, but values has {self.values.ndim} dimensions"
            )
        for n, p in enumerate(self.grid):
            if p.size != self.values.shape[n]:
                raise ValueError(
                    f"There are {p.size} points and {self.values.shape[n]} values on dimension {n}"
                )

    def __call__(self, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
        """The values at the points `xi`, shape (..., number of dimensions)."""
        method = self.method if method is None else method
        _check_method("RegularGridInterpolator", method)
        d = len(self.grid)
        if nu is not None and (method not in _SPLINES or len(nu) != d):
            raise ValueError("Derivatives `nu` are for splines, one for each dimension")
        at = _points(xi, d)
        p = at.reshape(-1, d)
        inside = tnp.ones(p.shape[0], bool)
        for n, g in enumerate(self.grid):
            inside = inside & (p[:, n] >= g[0]) & (p[:, n] <= g[-1])
        if self.bounds_error:
            require(tnp.all(inside), "One of the requested xi is out of bounds")
        out = self._values(p, method, nu)
        tail = [1] * (out.ndim - 1)
        if not self.bounds_error and self.fill_value is not None:
            out = tnp.where(inside.reshape(-1, *tail), out, self.fill_value)
        out = tnp.where(tnp.any(tnp.isnan(p), axis=1).reshape(-1, *tail), np.nan, out)
        if method in ("nearest", "pchip"):  # SciPy computes the others in double precision
            out = out.astype(self.dtype)
        return out.reshape(*at.shape[:-1], *self.values.shape[d:])

    def _values(self, p: Any, method: str, nu: Any) -> Any:
        k = _SPLINES.get(method, 3 if method == "pchip" else 1)
        for n, g in enumerate(self.grid if method not in ("linear", "nearest") else ()):
            if g.size <= k:
                raise ValueError(
                    f"There are {g.size} points in dimension {n}, but method {method} requires at least {k + 1} points "
                    "per dimension."
                )
        if method in ("linear", "nearest"):
            return self._corners(p, method == "nearest")
        require(tnp.all(tnp.isfinite(self.values)), "The values must be finite.")
        if method in _SPLINES:
            return self._splines(p, k, nu)
        if dtypes.is_complex(self.values.dtype):
            raise ValueError("`PchipInterpolator` only works with real values.")
        return self._monotone(p)

    def _splines(self, p: Any, k: int, nu: Any) -> Any:
        """The values of the tensor product of splines, as sums of the data with weights for each dimension."""
        out = None
        for n, g in enumerate(self.grid):
            t, c, degree = knots_of(g, k), tnp.eye(g.size), k
            matrix = basis(t, k, g)
            for _ in range(0 if nu is None else operator.index(nu[n])):
                t, c, degree = slope_of(t, c, degree)
            rows = value_at(t, c, degree, p[:, n]) if degree >= 0 else tnp.zeros((p.shape[0], g.size))
            weights = tnp.linalg.solve(matrix.T, rows.T).T
            if out is None:
                out = tnp.tensordot(weights, self.values, 1)
            else:
                out = tnp.sum(weights.reshape(*weights.shape, *[1] * (out.ndim - 2)) * out, axis=1)
        return out

    def _monotone(self, p: Any) -> Any:
        """PCHIP along the last dimension of the grid, along the one before it of what that gives, and so on."""
        d, at = len(self.grid), np.arange(p.shape[0])
        out = self.values[None]
        for n in range(d - 1, -1, -1):
            if n < d - 1:
                require(tnp.all(tnp.isfinite(out)), "`y` must contain only finite values.")
            y = tnp.moveaxis(out, n + 1, 0)
            x = self.grid[n]
            h = tnp.diff(x).reshape(-1, *[1] * (y.ndim - 1))
            slopes = pchip_slopes(h, y)
            i = tnp.searchsorted(lax.stop_gradient(x), lax.stop_gradient(p[:, n]), "right") - 1
            i = tnp.clip(i, 0, x.size - 2)
            row = at if y.shape[1] > 1 or p.shape[0] == 1 else 0 * at
            width = (x[i + 1] - x[i]).reshape(-1, *[1] * (y.ndim - 2))
            s = (p[:, n] - x[i]).reshape(-1, *[1] * (y.ndim - 2))
            low, first, last = y[i, row], slopes[i, row], slopes[i + 1, row]
            slope = (y[i + 1, row] - low) / width
            bend = (first + last - 2 * slope) / width
            out = ((bend / width * s + (slope - first) / width - bend) * s + first) * s + low
        return out

    def _corners(self, p: Any, nearest: bool) -> Any:
        """The sum over the corners of the cells that the points `p` lie in."""
        places, weights = [], []
        for n, g in enumerate(self.grid):
            if g.size == 1:
                refuse("RegularGridInterpolator", "an axis of one point", "leave the axis away")
            i = tnp.clip(
                tnp.searchsorted(lax.stop_gradient(g), lax.stop_gradient(p[:, n])) - 1, 0, g.size - 2
            )
            w = (p[:, n] - g[i]) / (g[i + 1] - g[i])
            places.append((i, i + 1))
            weights.append((1 - w, w))
        tail = [1] * (self.values.ndim - len(self.grid))
        if nearest:
            index = tuple(tnp.where(w[1] <= 0.5, i, j) for (i, j), w in zip(places, weights, strict=True))
            spoilt = sum((0 * w[1] for w in weights), start=tnp.zeros(p.shape[0]))  # NaN where a point is
            return self.values[index] + lax.stop_gradient(spoilt).reshape(-1, *tail)
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(self.grid)):
            weight: Any = 1.0
            for n, side in enumerate(corner):
                weight = weight * weights[n][side]
            index = tuple(places[n][side] for n, side in enumerate(corner))
            total = total + self.values[index] * weight.reshape(-1, *tail)
        return total


def _check_method(function: str, method: Any) -> None:
    if method not in ("linear", "nearest", "pchip", *_SPLINES):
        refuse(function, f"method={method!r}", 'use "linear" or "cubic"')


def _points(xi: Any, d: int) -> Any:
    """Points as one array, with their coordinates in its last axis."""
    if isinstance(xi, tuple) and len(xi) == 1:
        (xi,) = xi
    if isinstance(xi, tuple):
        parts = tnp.broadcast_arrays(*[tnp.asarray(x).astype(float) for x in xi])
        at = tnp.stack(list(parts), axis=-1)
    else:
        at = tnp.asarray(xi).astype(float)
        if at.ndim == 1 and at.size % d == 0:  # points, one after the other
            at = at.reshape(-1, d)
    if at.shape[-1] != d:
        raise ValueError(
            f"The requested sample points xi have dimension {at.shape[-1]} but this interpolator has {d}"
        )
    return at


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """The values at `xi` of the function through `values` on a grid; see RegularGridInterpolator."""
    _check_method("interpn", method)
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
